// The threads that run the loops, and the choice of the one with the least load; see
// io_threads.hpp.
#include "reactor/io_threads.hpp"

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "memory/of_thread.hpp"
#include "reactor/asio_loop.hpp"

namespace zlink {

struct io_threads::threads {
    std::vector<std::unique_ptr<asio_loop>> loops;
    std::vector<std::thread> running;

    ~threads() { stop(); }

    void start(std::size_t count, const thread_options &options) {
        for (std::size_t i = 0; i < count; ++i)
            loops.push_back(std::make_unique<asio_loop>());
        running.reserve(count);
        platform::expect_exit();
        platform::signal_shield shield;
        for (std::size_t i = 0; i < count; ++i)
            running.emplace_back([io = loops[i].get(),
                                  name = options.name_prefix + "ZMQbg/IO/" + std::to_string(i),
                                  scheduling = options.scheduling] {
                platform::name_this_thread(name.c_str());
                (void)platform::schedule_this_thread(scheduling);
                io->run();
                end_of_thread::come();
            });
    }

    void stop() noexcept {
        if (running.empty())
            return;
        for (std::size_t i = 0; i < running.size(); ++i)
            loops[i]->quit();
        for (std::thread &t : running)
            t.join();
        running.clear();
        // Loops that ended later may have posted to those that ended before.
        for (auto &io : loops)
            io->run_leftovers();
    }
};

io_threads::io_threads(std::unique_ptr<threads> t) noexcept : threads_(std::move(t)) {}
io_threads::~io_threads() = default;

error io_threads::make(std::size_t count, const thread_options &options,
                       std::unique_ptr<io_threads> &out) noexcept {
    try {
        auto t = std::make_unique<threads>();
        t->start(count, options);
        out.reset(new io_threads(std::move(t)));
        return error::none;
    } catch (const boost::system::system_error &e) {  // of the loops
        return from_errno(e.code().value());
    } catch (const std::system_error &e) {  // of the threads
        return from_errno(e.code().value());
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

void io_threads::stop() noexcept { threads_->stop(); }

std::size_t io_threads::size() const noexcept { return threads_->loops.size(); }

io_thread_numbers io_threads::numbers_of(std::size_t index) const noexcept {
    asio_loop &of = *threads_->loops[index];
    const io_tally &done = of.done();
    return {done.wakeups.look(), done.polls.look(), done.reads.look(), done.writes.look(), of.busy()};
}

loop &io_threads::at(std::size_t index) noexcept { return *threads_->loops[index]; }

loop *io_threads::choose(std::uint64_t affinity) noexcept {
    asio_loop *best = nullptr;
    for (std::size_t i = 0; i < threads_->loops.size(); ++i) {
        const bool is_allowed = affinity == 0 || (i < 64 && (affinity >> i & 1));
        asio_loop *candidate = threads_->loops[i].get();
        if (is_allowed && (!best || candidate->load() < best->load()))
            best = candidate;
    }
    return best;
}

void io_threads::add_load(loop &on) noexcept { static_cast<asio_loop &>(on).add_load(); }
void io_threads::remove_load(loop &on) noexcept { static_cast<asio_loop &>(on).remove_load(); }

}  // namespace zlink
