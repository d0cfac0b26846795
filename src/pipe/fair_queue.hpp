// Receives from many pipes in turn, a message at a time: the frames of one message stay together.
//
// Flow:     read() until it says no; then the pipes wait to be looked at again or, before a sleep,
//           are armed. Commands go to the owner as they come. A pipe that was closed is read to its
//           end and then reported, once.
// Owner:    the template parameter of read(), has_input() and end(): `on_command(pipe_end &, const
//           frame_view &)` and `on_end(pipe_end &)`. Both may use the queue but must not read from
//           it; on_end is told after the pipe has been removed.
// Threads:  the owner's thread only.
#pragma once

#include "pipe/rotation.hpp"

namespace zlink {

class fair_queue {
public:
    void attach(pipe_end &pipe) { turns_.add(pipe); }
    /// Adds a pipe of whose first message the first frame was read already; the next frames come
    /// from it.
    void attach_in_message(pipe_end &pipe);
    /// Removes a pipe; a message that was being read from it ends here, and one that was put back
    /// has been read in vain. A pipe that is not there is ignored.
    void detach(pipe_end &pipe) noexcept;
    bool has(pipe_end &pipe) const noexcept { return turns_.has(pipe); }
    void activate(pipe_end &pipe) noexcept {
        if (turns_.has(pipe))
            turns_.activate(pipe);
    }
    /// The pipe's other end was closed. True when no message was left to read: it is removed, and
    /// on_end is not told. Commands in front of the first message are taken: a socket that only
    /// sends would keep the pipe for them.
    template <class Owner>
    bool end(pipe_end &pipe, Owner &owner) {
        if (turns_.has(pipe) && !is_reading(pipe))
            for (frame_view command; pipe.has_command() && pipe.read(command);)
                owner.on_command(pipe, command);
        return end_if_drained(pipe);
    }

    /// Takes the next frame, which is no command. False when there is none.
    template <class Owner>
    bool read(frame_view &out, Owner &owner) {
        if (__builtin_expect(has_front_, 0)) {
            has_front_ = false;
            out = front_;
            // A caller that passes some messages over has seen that this one is wanted.
            if constexpr (!requires { Owner::passes_messages_over; })
                if (__builtin_expect(last_->is_conflating(), 0))
                    read_newer(out, owner);
            return true;
        }
        do {
            while (pipe_end *pipe = reading_ ? reading_ : turns_.current()) {
                if (__builtin_expect(!pipe->read(out), 0)) {
                    leave_drained(*pipe, owner);
                    continue;
                }
                if (__builtin_expect(out.is_command(), 0)) {
                    owner.on_command(*pipe, out);
                    continue;
                }
                last_ = pipe;
                if (__builtin_expect(out.has_more(), 0)) {
                    reading_ = pipe;
                } else {
                    reading_ = nullptr;
                    turns_.pass();
                }
                return true;
            }
        } while (turns_.revive());
        return false;
    }
    /// Whether read() would find a frame. May take it from its pipe to know, which ends the life of
    /// the last one read.
    template <class Owner>
    bool has_input(Owner &owner) {
        frame_view frame;
        if (!has_front() && read(frame, owner))
            put_back(frame);
        return has_front();
    }
    /// Whether a frame is known to be there: put back, or of the message of the last one.
    bool has_front() const noexcept { return has_front_ || reading_; }
    /// Makes the frame read last the next one to be read: the first of its message, or one with
    /// more to come.
    void put_back(const frame_view &frame) noexcept {
        front_ = frame;
        has_front_ = true;
    }

    /// The pipe of the frame read last (or put back).
    pipe_end *last() const noexcept { return last_; }
    /// The pipe that the next frame must come from, and begins a message; null when others may be
    /// in turn as well.
    pipe_end *only() const noexcept { return reading_ || has_front_ ? nullptr : turns_.only(); }
    /// Whether the next frame continues the message of the last one.
    bool is_in_message() const noexcept { return reading_ && !has_front_; }
    /// Whether frames of a message of this pipe are still to come.
    bool is_reading(pipe_end &pipe) const noexcept {
        return reading_ == &pipe || (has_front_ && last_ == &pipe);
    }

    /// After has_input() has said no: arms all pipes; then run heavy_fence() and settle().
    void arm() noexcept { turns_.arm(); }
    /// True when something came meanwhile.
    bool settle() noexcept { return turns_.settle(); }

private:
    template <class Owner>
    void leave_drained(pipe_end &pipe, Owner &owner) {
        reading_ = nullptr;
        if (pipe.slot.is_ending()) {
            turns_.remove(pipe);
            forget(pipe);
            owner.on_end(pipe);
        } else {
            turns_.park_current();
        }
    }
    /// The frame was read ahead from a pipe that keeps the newest: what has come meanwhile takes
    /// its place, and nobody receives it.
    template <class Owner>
    void read_newer(frame_view &out, Owner &owner) {
        pipe_end &from = *last_;
        for (frame_view next; from.read(next);) {
            if (next.is_command()) {
                owner.on_command(from, next);
                continue;
            }
            from.slot.note_in_vain(out);
            out = next;
        }
    }
    bool end_if_drained(pipe_end &pipe) noexcept;
    void forget(pipe_end &pipe) noexcept;

    rotation<reading_side> turns_;
    pipe_end *reading_ = nullptr;  // in the middle of a message of this pipe, whose turn it is
    pipe_end *last_ = nullptr;
    frame_view front_;  // read ahead by has_input()
    bool has_front_ = false;
};

}  // namespace zlink
