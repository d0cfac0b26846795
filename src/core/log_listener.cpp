// The thread that a function of the application's runs on; see log_listener.hpp. Map: whose thread
// this is; the state that thread and log share; start, lines, end.
#include "core/log_listener.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "core/platform.hpp"

namespace zlink {

namespace {

constinit thread_local const void *log_of_this_thread = nullptr;

}  // namespace

bool log_listener::is_told_for(const void *log) noexcept { return log_of_this_thread == log; }

struct log_listener::state {
    struct line {
        log_level level;
        std::string text;
    };

    state(function what_it_is, void *argument) noexcept : what(what_it_is), arg(argument) {}
    /// On the thread, until the end.
    void run() noexcept;
    void tell(const line &one) const noexcept { what(arg, static_cast<int>(one.level), one.text.c_str()); }

    const function what;
    void *const arg;
    std::mutex mutex;  // guards the rest
    std::condition_variable news;
    std::deque<line> waiting;
    std::size_t left_out = 0;
    bool has_ended = false;
};

void log_listener::state::run() noexcept {
    std::unique_lock lock(mutex);
    for (;;) {
        news.wait(lock, [this] { return has_ended || !waiting.empty() || left_out > 0; });
        std::deque<line> lines = std::exchange(waiting, {});
        const std::size_t missing = std::exchange(left_out, 0);
        if (lines.empty() && missing == 0)
            return;
        lock.unlock();
        for (const line &each : lines)
            tell(each);
        if (missing > 0)
            try {
                tell({log_level::warn, std::to_string(missing) + " lines were left out: the log is slow"});
            } catch (const std::bad_alloc &) {
            }
        lock.lock();
    }
}

error log_listener::start(function what, void *arg, const void *log,
                          std::unique_ptr<log_listener> &out) noexcept {
    try {
        std::unique_ptr<log_listener> made(new log_listener);
        made->shared_ = std::make_shared<state>(what, arg);
        platform::stay_loaded();
        const platform::signal_shield shield;
        made->thread_ = std::thread([shared = made->shared_, log] {
            platform::name_this_thread("zlink-log");
            log_of_this_thread = log;
            shared->run();
        });
        out = std::move(made);
        return error::none;
    } catch (const std::system_error &) {
        return error::no_thread;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

void log_listener::add(log_level level, std::string line) noexcept {
    std::lock_guard guard(shared_->mutex);
    try {
        if (shared_->waiting.size() < most_events_waiting)
            shared_->waiting.push_back({level, std::move(line)});
        else
            ++shared_->left_out;
    } catch (const std::bad_alloc &) {
        ++shared_->left_out;
    }
    shared_->news.notify_one();
}

/// The join may not be cancelled: the caller is in the middle of something, and the thread will
/// look at the end that it has been shown.
void log_listener::end() noexcept {
    if (!thread_.joinable())
        return;
    {
        std::lock_guard guard(shared_->mutex);
        shared_->has_ended = true;
        shared_->news.notify_one();
    }
    const platform::cancellation_shield shield;
    if (is_this_thread())
        thread_.detach();
    else
        thread_.join();
}

}  // namespace zlink
