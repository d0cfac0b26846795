// A thread that asks the system, and may outlive its loop; see name_lookup.hpp. Map: a question;
// the thread.
#include "reactor/name_lookup.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <netdb.h>
#include <new>
#include <thread>
#include <utility>

#include "core/platform.hpp"
#include "core/reason.hpp"

namespace zlink {

namespace {

error from_system(int status) noexcept {
    if (status == EAI_MEMORY)
        return error::no_memory;
    return status == EAI_SYSTEM ? from_errno(errno) : error::host_unreachable;
}

}  // namespace

// ---- A question ---------------------------------------------------------------------------------

void name_question::ask_system() noexcept {
    addrinfo hints{};
    hints.ai_family = allow_ipv6_ ? AF_UNSPEC : AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo *found = nullptr;
    if (const int status = ::getaddrinfo(host_.c_str(), service_.c_str(), &hints, &found); status != 0) {
        failure_ = from_system(status);
        words_ = status == EAI_SYSTEM ? nullptr : ::gai_strerror(status);
        return;
    }
    try {
        for (const addrinfo *each = found; each; each = each->ai_next) {
            if (each->ai_addrlen > sizeof(sockaddr_storage))
                continue;
            resolved_address &a = found_.emplace_back();
            a.length = each->ai_addrlen;
            std::memcpy(&a.address, each->ai_addr, each->ai_addrlen);
        }
        failure_ = found_.empty() ? error::host_unreachable : error::none;
    } catch (const std::bad_alloc &) {
        found_.clear();
        failure_ = error::no_memory;
    }
    ::freeaddrinfo(found);
}

void name_question::leave_words() const noexcept {
    reason::try_leave([this] { return "cannot find the address of " + host_ + ": " + words_; });
}

void name_question::run() noexcept {
    const auto self = std::exchange(while_posted_, nullptr);
    if (words_)
        leave_words();
    if (const handler call = std::exchange(done_, nullptr))
        call(std::exchange(found_, {}), failure_);
}

// ---- The thread ---------------------------------------------------------------------------------

struct name_lookup::state {
    std::mutex mutex;  // guards all
    std::condition_variable news;
    std::deque<std::shared_ptr<name_question>> asked;
    loop *io;  // null: closed
    bool has_thread = false;
};

name_lookup::name_lookup(loop &io) : state_(std::make_shared<state>()) { state_->io = &io; }

void name_lookup::ask(std::shared_ptr<name_question> what) {
    std::lock_guard guard(state_->mutex);
    if (!state_->has_thread) {
        platform::stay_loaded();
        platform::signal_shield shield;
        std::thread([shared = state_] {
            platform::name_this_thread("ZMQbg/names");
            look_up_all(shared);
        }).detach();
        state_->has_thread = true;
    }
    state_->asked.push_back(std::move(what));
    state_->news.notify_one();
}

void name_lookup::close() noexcept {
    std::lock_guard guard(state_->mutex);
    state_->io = nullptr;
    state_->asked.clear();
    state_->news.notify_one();
}

void name_lookup::look_up_all(const std::shared_ptr<state> &shared) noexcept {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->news.wait(lock, [&] { return !shared->io || !shared->asked.empty(); });
        if (!shared->io)
            return;
        const std::shared_ptr<name_question> next = std::move(shared->asked.front());
        shared->asked.pop_front();
        if (!next->is_wanted_.load(std::memory_order_relaxed))
            continue;
        lock.unlock();
        next->ask_system();
        lock.lock();
        if (!shared->io)
            return;
        next->while_posted_ = next;
        shared->io->post(*next);
    }
}

}  // namespace zlink
