// The threads that close what nobody asked for; see passed_descriptors.hpp. Map: what can be closed
// at once; the closer, whose queue has a fixed size; the system's refusal.
#include "transport/passed_descriptors.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/descriptor_watch.hpp"
#include "core/platform.hpp"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83  // Linux 6.16
#endif

namespace zlink::passed_descriptors {

namespace {

constexpr unsigned most_threads = 4;  // each of which one descriptor may hold up
constexpr std::size_t most_descriptors_waiting = 1024;

/// A socket that does not linger closes at once. Another process that has it, too, may still change
/// that in the last moment.
void close_now(int descriptor) noexcept {
    const linger none{};
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(descriptor);
    descriptor_watch::note_closed();
}

/// Nothing is destroyed at the end of the program: a thread may be held up until then. A child of
/// fork() begins anew: it has none of the threads, and the numbers that waited may be those of its
/// own descriptors by now.
class closer {
public:
    /// False, and nothing taken over, when very many wait already.
    bool take(int descriptor) noexcept {
        bool is_thread_due = false;
        {
            const std::lock_guard guard(platform::locks.closer);
            look_at_generation();
            if (count_ == most_descriptors_waiting)
                return false;
            waiting_[(first_ + count_++) % most_descriptors_waiting] = descriptor;
            is_thread_due = running_ < most_threads;
            running_ += is_thread_due;
        }
        if (is_thread_due && !start() && is_last())
            run();
        return true;
    }

private:
    void look_at_generation() noexcept {
        if (generation_ == platform::fork_generation())
            return;
        generation_ = platform::fork_generation();
        first_ = count_ = 0;
        running_ = 0;
    }
    /// Without the lock: a thread takes memory. False when threads are short.
    bool start() noexcept {
        platform::stay_loaded();  // dlclose would take the code from under the threads
        try {
            const platform::signal_shield shield;
            std::thread([this] {
                platform::name_this_thread("ZMQbg/close");
                run();
            }).detach();
        } catch (...) {
            return false;
        }
        return true;
    }
    /// Says so of one that counts as running, where threads are short; if others run, it is none
    /// any more.
    bool is_last() noexcept {
        const std::lock_guard guard(platform::locks.closer);
        return running_ == 1 || (--running_, false);
    }
    /// For a thread that counts as running, until there is nothing more.
    void run() noexcept {
        std::unique_lock lock(platform::locks.closer);
        while (count_ > 0) {
            const int descriptor = waiting_[first_];
            first_ = (first_ + 1) % most_descriptors_waiting;
            --count_;
            lock.unlock();
            close_now(descriptor);
            lock.lock();
        }
        --running_;
    }

    // Guarded by that lock
    std::array<int, most_descriptors_waiting> waiting_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    unsigned running_ = 0;
    unsigned generation_ = 0;
};

constinit closer shared;

void set_permission(int socket, int value) noexcept {
    (void)::setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value);
}

}  // namespace

void refuse(int socket) noexcept { set_permission(socket, 0); }
void permit(int socket) noexcept { set_permission(socket, 1); }

bool are_refused(int socket) noexcept {
    int value = 1;
    socklen_t size = sizeof value;
    return ::getsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &value, &size) == 0 && value == 0;
}

void close_elsewhere(int descriptor) noexcept {
    if (!shared.take(descriptor))
        close_now(descriptor);
}

}  // namespace zlink::passed_descriptors
