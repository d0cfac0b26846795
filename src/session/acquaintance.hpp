// A session's knowledge of the peers before: whether there was one, whether its pipe has had one,
// and whether the pipe has brought anything of one.
//
// Each of these implies the one before it. A pipe that is given up takes the last two along.
#pragma once

#include <cstdint>

namespace zlink {

class acquaintance {
public:
    /// A peer has come in, and the pipe serves it.
    void meet() noexcept {
        if (what_ != state::heard)
            what_ = state::met;
    }
    /// The pipe has got a message of the peer that it has met, or about it.
    void hear() noexcept {
        if (what_ == state::met)
            what_ = state::heard;
    }
    /// The pipe has gone: the next peer gets another one.
    void lose_pipe() noexcept {
        if (what_ != state::nobody)
            what_ = state::lost;
    }

    /// Whether a peer was there, with whatever pipe.
    bool has_met() const noexcept { return what_ != state::nobody; }
    /// Whether the pipe has had a peer.
    bool has_met_by_pipe() const noexcept { return what_ == state::met || what_ == state::heard; }
    /// Whether the pipe has carried a message to the application.
    bool has_heard() const noexcept { return what_ == state::heard; }

private:
    enum class state : std::uint8_t {
        nobody,
        lost,  // met, by a pipe that has gone
        met,
        heard
    };
    state what_ = state::nobody;
};

}  // namespace zlink
