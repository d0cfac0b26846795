// Picks what may be subscriptions out of the messages of a peer, for a publisher that can receive
// nothing else.
//
// Wire:     RFC 29: a frame that begins with 1 or 0, the first of a message or, from an XSUB, any.
// Out:      messages of such frames alone. One stands for the frames in front of the first of them
//           that is not the first of its message, and one for those behind the last.
#pragma once

#include "core/bytes.hpp"
#include "pipe/in_band.hpp"
#include "pipe/sender.hpp"

namespace zlink {

class subscription_sieve {
public:
    /// Whether a frame with this body, or the first octets of one, is passed on.
    static bool wants(byte_span body) noexcept { return !body.empty() && body[0] <= in_band::subscribe; }
    /// Whether the pipe has got frames of a message that goes on.
    bool is_inside() const noexcept { return has_passed_; }

    /// The next frame of a message. One that is not wanted may come without its body.
    error take(sender &to, bool has_more, byte_span body) noexcept {
        const std::uint8_t flags = has_more ? frame_flag::more : 0;
        const bool is_wanted = wants(body);
        error e = error::none;
        if (is_wanted && !is_first_ && !has_passed_)
            e = to.write(frame_flag::more, {});
        if (!failed(e) && is_wanted)
            e = to.write(flags, body);
        else if (!failed(e) && has_passed_ && !has_more)
            e = to.write(flags, {});
        if (failed(e))
            return e;
        has_passed_ = has_passed_ || is_wanted;
        is_first_ = !has_more;
        if (!has_more && std::exchange(has_passed_, false))
            to.publish();
        return error::none;
    }

private:
    bool is_first_ = true;  // what comes next, of its message
    bool has_passed_ = false;
};

}  // namespace zlink
