// Sends to many pipes in turn, a message at a time. Full pipes are passed over.
//
// Flow:     select() a pipe, write one frame to it, commit(); a message is published with its last
//           frame. A message never moves to another pipe: when its pipe goes, the rest of it is
//           dropped.
// Threads:  the owner's thread only.
#pragma once

#include "pipe/rotation.hpp"

namespace zlink {

class load_balancer {
public:
    void attach(pipe_end &pipe) { turns_.add(pipe); }
    /// Removes a pipe that is no longer written to; takes back what was not published. One that is
    /// not there is ignored.
    void detach(pipe_end &pipe) noexcept;
    bool has(pipe_end &pipe) const noexcept { return turns_.has(pipe); }
    void activate(pipe_end &pipe) noexcept {
        if (turns_.has(pipe))
            turns_.activate(pipe);
    }

    /// The pipe of the message begun, or else the next one in turn with room. Null when all are
    /// full, or there is none.
    [[gnu::always_inline]] pipe_end *select() noexcept {
        if (__builtin_expect(writing_ != nullptr, 0))
            return writing_;
        do {
            while (pipe_end *pipe = turns_.current()) {
                if (__builtin_expect(pipe->has_credit(), 1))
                    return pipe;
                turns_.park_current();
            }
        } while (turns_.revive());
        return nullptr;
    }
    /// One frame was written to the selected pipe.
    [[gnu::always_inline]] void commit(pipe_end &pipe, bool more) noexcept {
        if (more) {
            writing_ = &pipe;
            return;
        }
        writing_ = nullptr;
        pipe.publish();
        turns_.pass();
    }

    /// The pipe that the next message must go to; null when others may be in turn as well, or a
    /// message has begun.
    pipe_end *only() const noexcept { return is_in_message() ? nullptr : turns_.only(); }

    /// The pipe of the message begun is gone: the frames up to the last one go nowhere, through
    /// drop().
    bool is_dropping() const noexcept { return is_dropping_; }
    void drop(bool more) noexcept { is_dropping_ = more; }
    bool is_in_message() const noexcept { return writing_ || is_dropping_; }

    /// Whether a frame can be sent now.
    bool has_output() noexcept { return is_dropping_ || select(); }
    /// After has_output() has said no: arms all pipes; then run heavy_fence() and settle().
    void arm() noexcept { turns_.arm(); }
    /// True when there is room meanwhile.
    bool settle() noexcept { return turns_.settle(); }

private:
    rotation<writing_side> turns_;
    pipe_end *writing_ = nullptr;  // in the middle of a message to this pipe, whose turn it is
    bool is_dropping_ = false;
};

}  // namespace zlink
