// A descriptor registered with a loop, and when it is ready. The one place where transports meet
// Boost.Asio.
//
// Threads:  the loop's. descriptor() from any thread while the object lives.
// Owns:     the descriptor: closed with the object unless released.
#pragma once

#include <utility>

#include "core/error.hpp"
#include "reactor/loop.hpp"

namespace zlink {

class readiness_events {
public:
    virtual ~readiness_events() = default;
    virtual void on_readable() noexcept = 0;
    virtual void on_writable() noexcept = 0;
};

class readiness {
public:
    /// Registers a non-blocking descriptor. When that fails (no_memory, or what epoll_ctl(2) says)
    /// it stays the caller's.
    static error make(loop &io, int descriptor, readiness_events &events, readiness &out) noexcept;

    readiness() noexcept = default;
    /// Closes. No callback comes afterwards.
    ~readiness() { close(); }
    readiness(const readiness &) = delete;
    readiness &operator=(const readiness &) = delete;

    void close() noexcept;
    /// Ends the registration and gives the descriptor away. No callback comes afterwards.
    int release() noexcept;

    /// Asks for one on_readable() as soon as a read would not block, or fails. Asking twice is
    /// asking once. Never calls back from inside, and allocates nothing.
    void wait_readable() noexcept;
    /// Does that for a write.
    void wait_writable() noexcept;

    /// Takes the descriptor out of the loop, which no longer looks at it, until take_back(). A wait
    /// that was asked for is forgotten. False when it cannot be done; then nothing has changed.
    bool lease_out() noexcept;
    /// On failure the descriptor is useless for waiting, and can only be closed.
    error take_back() noexcept;

    int descriptor() const noexcept { return descriptor_; }
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

private:
    struct registration;
    class registration_ref {
    public:
        registration_ref() noexcept = default;
        explicit registration_ref(registration *to) noexcept;
        registration_ref(const registration_ref &other) noexcept : registration_ref(other.to_) {}
        registration_ref(registration_ref &&other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
        registration_ref &operator=(registration_ref other) noexcept {
            std::swap(to_, other.to_);
            return *this;
        }
        ~registration_ref() { reset(); }
        void reset() noexcept;
        registration *operator->() const noexcept { return to_; }
        registration &operator*() const noexcept { return *to_; }
        explicit operator bool() const noexcept { return to_ != nullptr; }

    private:
        registration *to_ = nullptr;
    };

    int descriptor_ = -1;
    registration_ref registration_;
};

}  // namespace zlink
