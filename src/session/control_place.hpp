// The places where the control octets of a connection may stand among the messages that it writes:
// between two, and last of all behind the rest of one.
//
// Threads:  whoever holds the write turn; is_waiting() is stored by the I/O thread, before it
//           asks for the turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink {

class control_place {
public:
    // ---- that they wait ----

    /// Whether control octets wait for the I/O thread: then others write nothing.
    bool is_waiting() const noexcept { return is_waiting_.load(std::memory_order_relaxed); }
    void note_waiting(bool on) noexcept { is_waiting_.store(on, std::memory_order_relaxed); }
    /// There are no messages behind those to come.
    void note_last() noexcept { is_last_ = true; }
    bool is_last() const noexcept { return is_last_; }

    // ---- where the messages are ----

    /// Whether a message has ended, and none has begun.
    bool is_between_messages() const noexcept { return where_ == position::between_messages; }
    /// Whether control octets may be listed now: of those that have begun to go out, the rest.
    bool is_here() const noexcept { return is_between_messages() || written_ > 0; }
    /// Whether nothing of a message may go out: the last ones stand in front of it.
    bool is_end(bool lists_control) const noexcept {
        return is_last_ && (is_between_messages() || lists_control);
    }
    /// Whether the end of the message that has begun is to be looked for.
    bool needs_message_end() const noexcept { return !is_between_messages() && octets_to_end_ == 0; }
    /// That were written since a message was known to end.
    std::uint64_t octets_since_end() const noexcept { return octets_since_end_; }
    void note_message_end(std::uint64_t octets_to_it) noexcept {
        octets_to_end_ = octets_to_it;
        note_write(octets_to_it == 0);
        if (is_between_messages())
            octets_since_end_ = 0;
    }
    /// Whether so many octets of messages go beyond the end that is looked for.
    bool goes_beyond_end(std::uint64_t octets) const noexcept {
        return octets_to_end_ > 0 && octets_to_end_ < octets;
    }
    std::uint64_t octets_to_end() const noexcept { return octets_to_end_; }

    // ---- what was written ----

    void note_write(bool ends_message) noexcept {
        where_ = ends_message ? position::between_messages : position::in_message;
    }
    /// Octets of messages were written. note_write() comes before.
    void note_messages(std::uint64_t octets) noexcept {
        octets_since_end_ += octets;
        if (octets_to_end_ > 0 && octets_to_end_ <= octets)
            octets_since_end_ = octets - octets_to_end_;
        octets_to_end_ -= std::min(octets, octets_to_end_);
        if (is_between_messages())
            octets_since_end_ = 0;
    }
    /// The number of control octets that were written.
    std::size_t written() const noexcept { return written_; }
    void note_control(std::size_t octets) noexcept { written_ += octets; }
    void note_all_control() noexcept { written_ = 0; }

private:
    enum class position : std::uint8_t { between_messages, in_message };

    std::atomic<bool> is_waiting_{false};
    bool is_last_ = false;
    position where_ = position::between_messages;
    // While control octets wait for the end of a message, what is left of it, 0 when not known; and
    // what was written since a message was known to end.
    std::uint64_t octets_to_end_ = 0;
    std::uint64_t octets_since_end_ = 0;
    std::size_t written_ = 0;
};

}  // namespace zlink
