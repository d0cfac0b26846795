// The threads that close what nobody asked for; see passed_descriptors.hpp. Map: what can be closed
// at once; the closer, whose queue has a fixed size; the system's refusal.
#include "transport/passed_descriptors.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

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

/// No memory is asked for, and nothing is destroyed at the end of the program: a thread may be held
/// up until then.
class closer {
public:
    /// False, and nothing taken over, when very many wait already, or threads are short.
    bool take(int descriptor) noexcept {
        const std::lock_guard guard(mutex_);
        if (count_ == most_descriptors_waiting || (running_ < most_threads && !start() && running_ == 0))
            return false;
        waiting_[(first_ + count_++) % most_descriptors_waiting] = descriptor;
        return true;
    }

private:
    bool start() noexcept {
        if (!std::exchange(stays_loaded_, true))
            platform::stay_loaded();
        try {
            const platform::signal_shield shield;
            std::thread([this] { run(); }).detach();
        } catch (...) {
            return false;
        }
        ++running_;
        return true;
    }
    void run() noexcept {
        platform::name_this_thread("ZMQbg/close");
        std::unique_lock lock(mutex_);
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

    std::mutex mutex_;  // guards the rest
    std::array<int, most_descriptors_waiting> waiting_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    unsigned running_ = 0;
    bool stays_loaded_ = false;  // dlclose would take the code from under the threads
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
    // A child of fork has none of the threads, and may have found the lock taken.
    static const unsigned generation = platform::fork_generation();
    if (generation != platform::fork_generation() || !shared.take(descriptor))
        close_now(descriptor);
}

}  // namespace zlink::passed_descriptors
