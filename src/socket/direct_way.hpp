// Messages of one small frame that pass a socket's pattern by.
//
// While a socket has one peer, most patterns have nothing to decide: every message goes to that pipe, or comes from it. The
// pattern says so after a message that went the long way, and the socket keeps to it until it calls the pattern again for
// anything else. Where messages carry an address in front (ROUTER), it is the same one each time, and never enters the pipe.
// Where only some are wanted (topics), the pattern is asked for no more than that.
// Threads:  the socket's.
#pragma once

#include <cstring>

#include "core/bytes.hpp"
#include "pipe/copied_body.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// Says which messages are wanted. The others are dropped.
class message_filter {
public:
    virtual bool wants(byte_span body) const noexcept = 0;

protected:
    ~message_filter() = default;
};

/// The pipe that all messages take, and the address in front of each for patterns that have one, or else which are wanted.
/// Null: the pattern decides.
struct direct_way {
    pipe_end *pipe = nullptr;
    byte_span address = {};
    const message_filter *filter = nullptr;

    /// Whether messages go as they are.
    bool is_plain() const noexcept { return pipe && address.empty() && !filter; }
};

class direct_input {
public:
    /// The next frame, and whether more of its message follow; false when the pattern has to be asked.
    [[gnu::always_inline]] bool take(short_frame &out, bool &more) noexcept {
        more = !is_plain_ && !way_.address.empty();
        if (__builtin_expect(is_plain_, 1)) {
            if (!way_.pipe->read_short(out))
                return false;
            is_plain_ = way_.address.empty();
            return true;
        }
        if (more)
            return take_address(out);
        short_frame wanted;  // apart, so that `out` can stay in registers
        if (!way_.filter || !take_wanted(wanted))
            return false;
        out = wanted;
        return true;
    }
    /// Whether take() would give the first frame of a message.
    bool has_message() noexcept {
        short_frame frame;
        return way_.pipe && !is_in_message() && way_.pipe->peek_short(frame) &&
               (!way_.filter || way_.filter->wants({frame.data, frame.size}));
    }
    /// The address was taken, and the frame behind it was not.
    bool is_in_message() const noexcept { return is_plain_ && !way_.address.empty(); }
    void set(direct_way way) noexcept {
        way_ = way.pipe ? way : direct_way{};
        is_plain_ = way_.is_plain();
    }

private:
    [[gnu::noinline]] bool take_wanted(short_frame &out) noexcept {
        while (way_.pipe->read_short(out)) {
            if (way_.filter->wants({out.data, out.size}))
                return true;
        }
        return false;
    }
    [[gnu::always_inline]] bool take_address(short_frame &out) noexcept {
        is_plain_ = way_.pipe->peek_short(out);
        out.data = way_.address.data();
        out.size = way_.address.size();
        out.owner = nullptr;
        return is_plain_;
    }

    direct_way way_;
    bool is_plain_ = false;  // the next frame is a message as it lies there, or the frame behind an address
};

class direct_output {
public:
    /// Sends a frame; false, and nothing done, when the pattern has to be asked.
    [[gnu::always_inline]] bool put(byte_span body, bool more) noexcept {
        if (__builtin_expect(is_plain_, 1)) {
            if (more || !write(body))
                return false;
            is_plain_ = way_.address.empty();
            return true;
        }
        if (!way_.address.empty())
            return more && put_address(body);
        return way_.filter && !more && put_wanted(body);
    }
    /// An address was sent, and there is room for the message behind it, which was not sent.
    bool is_in_message() const noexcept { return is_plain_ && !way_.address.empty(); }
    void set(direct_way way) noexcept {
        way_ = way.pipe ? way : direct_way{};
        is_plain_ = way_.is_plain();
        if (way_.pipe)
            way_.pipe->allow_short_writes();
    }

private:
    [[gnu::always_inline]] bool write(byte_span body) noexcept {
        if (!way_.pipe->write_short(body))
            return false;
        count_copied_body(*way_.pipe, body.size());
        return true;
    }
    [[gnu::noinline]] bool put_wanted(byte_span body) noexcept {
        return way_.pipe->may_write_short() && (!way_.filter->wants(body) || write(body));
    }
    [[gnu::always_inline]] bool put_address(byte_span address) noexcept {
        is_plain_ = address.size() == way_.address.size() && way_.pipe->may_write_short() &&
                    are_equal(address.data(), way_.address.data(), address.size());
        return is_plain_;
    }

    direct_way way_;
    bool is_plain_ = false;  // the next frame is a message as it is, or the frame behind an address
};

}  // namespace zlink
