// When to send a PING and when a peer is dead. Pure: the caller says what time it is.
//
// Wire:     RFC 37/ZMTP 3.1, "Connection Heartbeating".
// Rules:    a PING goes out each interval. With no traffic for `timeout` after a PING the peer is
//           dead; any traffic counts as its answer. The time of a PING that waits for the end of a
//           message begins when it is out, but a peer that takes nothing of that has no more time
//           than another. A PING of the peer's that names a TTL makes it dead after that long in
//           silence.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace zlink {

/// The answers of a peer to PINGs, as far as their time was measured.
struct heartbeat_answers {
    std::uint64_t count = 0;
    std::chrono::nanoseconds last{0};
    std::chrono::nanoseconds sum{0};

    void note(std::chrono::nanoseconds time) noexcept {
        ++count;
        last = time;
        sum += time;
    }
};

/// Measures one PING at a time. Each has a number, which its PONG brings back: a peer that leaves
/// one out makes no other one wrong. Where it brings none back nothing is measured.
class round_trips {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// The number of the next PING.
    std::uint32_t number_next() noexcept { return ++latest_; }
    /// The latest is written.
    void note_ping(time_point now) noexcept {
        if (is_measuring_)
            return;
        is_measuring_ = true;
        number_ = latest_;
        written_ = now;
    }
    /// The time since the PING was written, which answers() has from now on; less than 0 where this
    /// is not the answer to what is measured.
    std::chrono::nanoseconds note_pong(time_point now, std::uint32_t number) noexcept {
        constexpr std::chrono::nanoseconds none{-1};
        if (!is_measuring_ || latest_ - number > latest_ - number_)
            return none;  // an earlier one, or none that was asked
        is_measuring_ = false;
        if (number != number_)
            return none;  // a later one is answered: this one was left out
        const std::chrono::nanoseconds time = std::max(now - written_, std::chrono::nanoseconds::zero());
        answers_.note(time);
        return time;
    }
    const heartbeat_answers &answers() const noexcept { return answers_; }

private:
    std::uint32_t latest_ = 0;
    std::uint32_t number_ = 0;  // of what is measured
    bool is_measuring_ = false;
    time_point written_{};
    heartbeat_answers answers_;
};

class heartbeat {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;
    /// The unit of a TTL on the wire.
    using tenths = std::chrono::duration<std::uint32_t, std::deci>;

    enum class verdict { quiet, ping, dead };

    /// The options' values: `interval_ms` 0 sends no PINGs; `timeout_ms` -1 stands for the
    /// interval, 0 for no limit.
    heartbeat(int interval_ms, int timeout_ms, int ttl_ms) noexcept
        : interval_(std::max(interval_ms, 0)),
          timeout_(timeout_ms < 0 ? interval_ : milliseconds(timeout_ms)),
          ttl_(static_cast<std::uint16_t>(std::clamp(ttl_ms / 100, 0, 65535))) {}

    /// Called when traffic begins; nothing is due before.
    void start(time_point now) noexcept {
        is_running_ = true;
        last_heard_ = now;
        next_ping_ = now + interval_;
    }
    void note_traffic(time_point now) noexcept {
        last_heard_ = now;
        silence_ = silence::none;
    }
    /// The peer has taken octets since check() was called last. If what that asked for is not
    /// written, it waits behind them.
    void note_held_up(time_point now) noexcept {
        if (silence_ == silence::ping_due)
            waiting_since_ = now;
    }
    /// Says that what check() asked for is written.
    void note_written(time_point now) noexcept {
        note_held_up(now);
        if (silence_ == silence::ping_due)
            silence_ = silence::ping_out;
        if (std::exchange(is_ping_due_, false))
            trips_.note_ping(now);
    }
    /// The number of the next PING.
    std::uint32_t number_next() noexcept { return trips_.number_next(); }
    /// A PONG has come: how long it took since the PING of that number was written; less than 0
    /// where that is not measured.
    std::chrono::nanoseconds note_pong(time_point now, std::uint32_t number) noexcept {
        return trips_.note_pong(now, number);
    }
    const heartbeat_answers &answers() const noexcept { return trips_.answers(); }
    /// The peer's latest PING asks to be given up after `ttl` without traffic; 0 takes that back.
    void set_peer_ttl(std::uint16_t ttl) noexcept { peer_ttl_ = tenths(ttl); }
    /// The value of the TTL field of our PINGs.
    std::uint16_t ttl() const noexcept { return ttl_; }

    /// Says what is due. After `ping` the caller sends one, or has one in its output still; ask
    /// again later.
    verdict check(time_point now) noexcept {
        if (!is_running_)
            return verdict::quiet;
        if (now >= death())
            return verdict::dead;
        if (interval_.count() == 0 || now < next_ping_)
            return verdict::quiet;
        next_ping_ = now + interval_;
        is_ping_due_ = true;
        if (silence_ == silence::none) {
            silence_ = silence::ping_due;
            waiting_since_ = now;
        }
        return verdict::ping;
    }
    /// When check() has something to say next, if nothing is heard until then; time_point::max()
    /// for never.
    time_point deadline() const noexcept {
        if (!is_running_)
            return time_point::max();
        return interval_.count() ? std::min(death(), next_ping_) : death();
    }

private:
    /// Nothing was heard since a PING was due, as far as that has gone.
    enum class silence : std::uint8_t {
        none,
        ping_due,  // and it is not written yet
        ping_out
    };

    time_point death() const noexcept {
        time_point when = time_point::max();
        if (silence_ != silence::none && timeout_.count() > 0)
            when = waiting_since_ + timeout_;
        if (peer_ttl_.count() > 0)
            when = std::min(when, last_heard_ + peer_ttl_);
        return when;
    }

    // Constant after construction
    milliseconds interval_;
    milliseconds timeout_;
    std::uint16_t ttl_;

    tenths peer_ttl_{0};
    bool is_running_ = false;
    silence silence_ = silence::none;
    bool is_ping_due_ = false;  // the latest is not written yet
    round_trips trips_;
    time_point waiting_since_{};
    time_point last_heard_{};
    time_point next_ping_{};
};

}  // namespace zlink
