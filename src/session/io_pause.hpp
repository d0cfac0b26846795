// When the I/O thread leaves a connection alone, until when, and why: its sender writes for itself,
// small messages come together, or another thread is at the stream.
//
// Threads:  whoever holds the write turn; all but note_senders_write() the I/O thread's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/waiter.hpp"
#include "pipe/flow/write_policy.hpp"
#include "session/collector.hpp"
#include "session/deferral.hpp"

namespace zlink {

class io_pause {
public:
    enum class reason : std::uint8_t { none, sender_writes, messages_collect, stream_is_busy };

    reason why() const noexcept { return why_; }
    bool is_on() const noexcept { return why_ != reason::none; }
    /// The end of the last one.
    time_point until() const noexcept { return until_; }
    /// The I/O thread is back.
    void end() noexcept { why_ = reason::none; }

    // ---- a sender that writes for itself ----

    /// Octets that the thread that sends has written, in a large write.
    void note_senders_write(std::size_t octets) noexcept { senders_octets_ += octets; }
    /// Whether it is in a stream of such writes since it was left alone last.
    bool is_sender_at_it(time_point now) const noexcept {
        return senders_octets_ - octets_seen_ >= deferral_.octets_of_stream(now);
    }
    void leave_to_sender(time_point now) noexcept {
        octets_seen_ = senders_octets_;
        collector_.stop();
        begin(reason::sender_writes, deferral_.defer(now, until_));
    }
    /// Nothing was left.
    void note_drained(time_point now) noexcept { deferral_.note_drained(now); }

    // ---- small messages that come together ----

    /// All there was is written. Whether the next messages may collect; `now`: when that began.
    bool collects_after(time_point now, std::size_t octets, std::uint64_t messages) noexcept {
        return begin_collecting(collector_.note_written(now, octets, messages));
    }
    /// Does that where there was nothing.
    bool collects_without_any(time_point now) noexcept {
        return begin_collecting(collector_.note_nothing(now));
    }
    void stop_collecting() noexcept { collector_.stop(); }

    // ---- another thread at the stream ----

    void leave_to_others(time_point now) noexcept {
        begin(reason::stream_is_busy, now + write_policy::pause_for_others);
    }

private:
    void begin(reason why, time_point until) noexcept {
        why_ = why;
        until_ = until;
    }
    bool begin_collecting(bool collects) noexcept {
        if (collects)
            begin(reason::messages_collect, collector_.due());
        return collects;
    }

    reason why_ = reason::none;
    time_point until_{};
    deferral deferral_;
    collector collector_;
    std::uint64_t senders_octets_ = 0;
    std::uint64_t octets_seen_ = 0;  // of these, when the connection was left to the sender last
};

}  // namespace zlink
