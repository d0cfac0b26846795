// The way of a session to its next connection: one attempt at a time, and the waits between them.
//
// A dialer that is worth keeping is kept from attempt to attempt. Between two there is a timer,
// which the session is called by; it is made before it is needed, for memory may be short then.
// Threads:  the loop's.
// Owns:     the dialer and the timer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/settings.hpp"
#include "session/backoff.hpp"
#include "transport/transport.hpp"

namespace zlink {

class dialing {
public:
    explicit dialing(const settings &options) noexcept
        : backoff_(options.reconnect_interval_ms, options.reconnect_interval_max_ms) {}

    /// Until this was called nobody dials.
    void use(const transport &kind) noexcept { transport_ = &kind; }
    bool is_used() const noexcept { return transport_ != nullptr; }

    /// Whether something is under way that may lead to a connection.
    bool is_going_on() const noexcept { return is_trying_ || is_waiting(); }
    /// Whether an attempt is.
    bool is_trying() const noexcept { return is_trying_; }
    /// The descriptor of the attempt under way; -1 when there is none.
    int descriptor() const noexcept { return is_trying_ ? dialer_->descriptor() : -1; }

    /// Gets ready for an attempt, which the dialer then makes. Nothing is under way when it fails.
    error begin(const std::string &address, const settings &options, const batching &sizes,
                loop &io) noexcept {
        if (!dialer_) {
            if (const error e = transport_->make_dialer(address, options, sizes, io, dialer_); failed(e))
                return e;
        }
        is_trying_ = true;
        return error::none;
    }
    dialer &attempt() noexcept { return *dialer_; }
    /// The attempt is over, if there was one.
    void end_attempt() noexcept {
        if (std::exchange(is_trying_, false) && !dialer_->is_for_more_attempts())
            dialer_.reset();
    }
    /// The attempt is not to go on.
    void break_off() noexcept {
        is_trying_ = false;
        dialer_.reset();
    }

    /// Has `on_time` called after each wait. False when memory is short.
    bool make_timer(loop &io, std::function<void()> on_time) noexcept {
        if (!timer_)
            timer_ = io.make_timer(std::move(on_time));
        return timer_ != nullptr;
    }
    std::chrono::milliseconds next_delay(std::uint64_t random, bool was_refused) noexcept {
        return backoff_.next(random, was_refused);
    }
    /// Needs the timer.
    void wait_until(time_point when) noexcept { timer_->expires_at(when); }
    /// There is a connection: the next delay is a short one.
    void note_success() noexcept { backoff_.reset(); }

    /// Nothing comes any more.
    void end() noexcept {
        break_off();
        timer_.reset();
    }

private:
    bool is_waiting() const noexcept { return timer_ && timer_->is_pending(); }

    const transport *transport_ = nullptr;
    std::unique_ptr<dialer> dialer_;
    std::unique_ptr<timer> timer_;
    backoff backoff_;
    bool is_trying_ = false;  // the dialer is: else it is kept for the next attempt
};

}  // namespace zlink
