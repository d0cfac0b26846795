// The send of a large body that may wait for room in its stream: how long that is worth it, and
// what is left to be written.
//
// Flow:     the socket makes one around the send, and the pace has it then. Where the pipe has
//           filled the stream it leaves the write turn here, in the middle of publish():
//           is_needed(). The socket begins a wait for the descriptor, ends it, and asks again. With
//           room the pipe writes on; without, or when this goes, the rest is copied if it has to
//           be, and left to the I/O thread. The message was published before: it is sent, however a
//           wait ends.
// Limits:   all waits together are about as long as it would take to copy the body into new memory,
//           each a quarter of that and 20 ms at most. Meanwhile nothing else may be written to the
//           pipe.
// Threads:  the socket's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "pipe/pipe.hpp"

namespace zlink {

/// The time that a sender waits for room for one body. It is told the time.
class room_patience {
public:
    explicit room_patience(std::size_t octets) noexcept
        : longest_(std::min(longest_wait, longest_look + std::chrono::nanoseconds(octets / 4))),
          remaining_(longest_look + std::chrono::nanoseconds(octets)) {}
    /// Until when a wait may last that begins now. Not later than now: there is none any more.
    time_point begin(time_point now) noexcept {
        begun_ = now;
        return now + std::min(remaining_, longest_);
    }
    /// That wait is over. Returns how long it was.
    duration end(time_point now) noexcept {
        remaining_ -= now - begun_;
        return now - begun_;
    }

private:
    static constexpr duration longest_look = std::chrono::milliseconds(1);
    static constexpr duration longest_wait = std::chrono::milliseconds(20);
    // At once: a reader that takes new memory for a large body reads nothing meanwhile.
    duration longest_;
    duration remaining_;
    time_point begun_{};
};

class room_wait {
public:
    /// `deadline`: of the send, which waits no longer.
    room_wait(pace &whose, time_point deadline) noexcept : pace_(whose), deadline_(deadline) {
        pace_.set_room(this);
    }
    ~room_wait() {
        pace_.set_room(nullptr);
        if (is_needed())
            finish(connection_port::written::full);
    }
    room_wait(const room_wait &) = delete;
    room_wait &operator=(const room_wait &) = delete;

    // ---- the socket ----

    /// Whether the stream is to be waited for.
    bool is_needed() const noexcept { return static_cast<bool>(turn_); }
    int descriptor() const noexcept { return turn_.server()->descriptor(); }
    const pipe_end &pipe() const noexcept { return *end_; }
    /// Whether the end of the connection waits for the turn.
    bool is_claimed() const noexcept { return turn_.is_claimed(); }
    /// Begins a wait, and says until when it may last. False when none is worth it any more: then
    /// is_needed() neither.
    bool begin_wait(time_point &until) noexcept {
        const time_point now = pace_.now();
        until = std::min(patience_.begin(now), deadline_);
        if (until > now)
            return true;
        finish(connection_port::written::full);
        return false;
    }
    /// The wait is over. Writes on if there is room.
    void end_wait(bool has_room) noexcept {
        pace_.note_wait_for_room(has_room, patience_.end(pace_.now()));
        connection_port::written result = connection_port::written::full;
        if (!has_room || !end_->write_while_taken(turn_, true, result))
            finish(result);
    }

    // ---- the pipe ----

    /// Takes over the write of `whose` last message. False, and nothing done, when there is one
    /// already.
    bool begin(pipe_end &whose, writing &turn, std::size_t octets, bool is_in_place) noexcept {
        if (is_needed())
            return false;
        end_ = &whose;
        turn_ = std::move(turn);
        patience_ = room_patience(octets);
        in_place_ = is_in_place ? octets : 0;
        return true;
    }

private:
    void finish(connection_port::written result) noexcept {
        end_->end_large_write(turn_, result, in_place_);
        end_->tell_reader(true);
    }

    pace &pace_;
    const time_point deadline_;
    pipe_end *end_ = nullptr;
    writing turn_;
    room_patience patience_{0};
    std::size_t in_place_ = 0;
};

}  // namespace zlink
