// Messages of one small frame that pass a socket's pattern by.
//
// While a socket has one peer, most patterns have nothing to decide: every message goes to that
// pipe, or comes from it. The pattern says so after a message that went the long way, and the
// socket keeps to it until it calls the pattern again for anything else. Where messages carry an
// address in front (ROUTER), it is the same one each time, and never enters the pipe. When only
// some are wanted (topics), the pattern is asked for no more than that.
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

/// A call passes over so many frames that the application does not get; where there are more the
/// next call goes on.
constexpr std::size_t most_frames_passed_over = 8192;

/// The pipe that all messages take, and the address in front of each for patterns that have one, or
/// else which are wanted.
/// Null: the pattern decides.
struct direct_way {
    pipe_end *pipe = nullptr;
    byte_span address = {};
    const message_filter *filter = nullptr;

    /// The kinds of frame that may go this way next: any message as it is, one that is wanted, an
    /// address, or the message behind it.
    enum class frame : std::uint8_t { none, message, wanted, address, addressed };

    frame first_frame() const noexcept {
        if (!pipe)
            return frame::none;
        if (!address.empty())
            return frame::address;
        return filter ? frame::wanted : frame::message;
    }
};

class direct_input {
public:
    /// Whether messages come as they are.
    bool is_plain() const noexcept { return next_ == direct_way::frame::message; }
    /// Only when is_plain(): the next message, if it is small and was seen before; false when
    /// take() has to be asked.
    [[gnu::always_inline]] bool take_at_once(short_frame &out, std::size_t capacity) noexcept {
        return way_.pipe->read_at_once(out, capacity);
    }
    /// Whether an address comes next, or the message behind it.
    bool is_addressed() const noexcept {
        return next_ == direct_way::frame::address || next_ == direct_way::frame::addressed;
    }
    /// Does take_at_once() for an address, of which `more` follows, and the message behind it.
    [[gnu::always_inline]] bool take_addressed_at_once(short_frame &out, std::size_t capacity,
                                                       bool &more) noexcept {
        using enum direct_way::frame;
        more = next_ == address;
        if (next_ == addressed) {
            if (!way_.pipe->read_at_once(out, capacity))
                return false;
            next_ = address;
            return true;
        }
        if (!more || way_.address.size() > capacity || !way_.pipe->peek_at_once(out))
            return false;
        out.data = way_.address.data();
        out.size = way_.address.size();
        out.owner = nullptr;
        next_ = addressed;
        return true;
    }
    /// The next frame, and whether more of its message follow; false when the pattern has to be
    /// asked.
    [[gnu::always_inline]] bool take(short_frame &out, bool &more) noexcept {
        using enum direct_way::frame;
        more = next_ == address;
        if (next_ == message)
            return way_.pipe->read_short(out);
        if (next_ == addressed) {
            if (!way_.pipe->read_short(out))
                return false;
            next_ = address;
            return true;
        }
        if (more)
            return take_address(out);
        short_frame fit;  // apart, so that `out` can stay in registers
        if (next_ != wanted || !take_wanted(fit))
            return false;
        out = fit;
        return true;
    }
    /// Whether a small message that was seen before comes next; false when has_message() has to be
    /// asked.
    [[gnu::always_inline]] bool has_message_at_once() const noexcept {
        using enum direct_way::frame;
        short_frame frame;
        return (next_ == message || next_ == address) && way_.pipe->peek_at_once(frame);
    }
    /// Whether take() would give the first frame of a message.
    bool has_message() noexcept {
        short_frame frame;
        return way_.pipe && !is_in_message() && way_.pipe->peek_short(frame) &&
               (!way_.filter || way_.filter->wants({frame.data, frame.size}));
    }
    /// The address was taken, and the frame behind it was not.
    bool is_in_message() const noexcept { return next_ == direct_way::frame::addressed; }
    void set(direct_way way) noexcept {
        way_ = way.pipe ? way : direct_way{};
        next_ = way_.first_frame();
    }

private:
    /// Passes over a bounded number that are not wanted; the pattern, which is asked then, does the
    /// same.
    [[gnu::noinline]] bool take_wanted(short_frame &out) noexcept {
        for (std::size_t left = most_frames_passed_over; left > 0 && way_.pipe->read_short(out); --left) {
            if (way_.filter->wants({out.data, out.size}))
                return true;
        }
        return false;
    }
    [[gnu::always_inline]] bool take_address(short_frame &out) noexcept {
        if (!way_.pipe->peek_short(out))
            return false;
        out.data = way_.address.data();
        out.size = way_.address.size();
        out.owner = nullptr;
        next_ = direct_way::frame::addressed;
        return true;
    }

    direct_way way_;
    direct_way::frame next_ = direct_way::frame::none;
};

class direct_output {
public:
    using at_once = pipe_end::at_once;

    /// Whether messages go as they are.
    bool is_plain() const noexcept { return next_ == direct_way::frame::message; }
    /// Only when is_plain(): sends a message of at most 255 octets, if that needs no call; refused
    /// when put() has to be asked.
    [[gnu::always_inline]] at_once put_at_once(byte_span body, bool more) noexcept {
        return more ? at_once::refused : write_at_once(body);
    }
    /// Whether an address goes next, or the message behind it.
    bool is_addressed() const noexcept {
        return next_ == direct_way::frame::address || next_ == direct_way::frame::addressed;
    }
    /// Does put_at_once() for an address and the message behind it.
    [[gnu::always_inline]] at_once put_addressed_at_once(byte_span body, bool more) noexcept {
        using enum direct_way::frame;
        if (next_ == address)
            return more && put_address(body) ? at_once::done : at_once::refused;
        if (next_ != addressed || more)
            return at_once::refused;
        const at_once result = write_at_once(body);
        if (result != at_once::refused)
            next_ = address;
        return result;
    }
    /// To follow when a sleeper was found.
    void wake() noexcept { way_.pipe->wake_reader(true); }
    /// Sends a frame; false, and nothing done, when the pattern has to be asked.
    [[gnu::always_inline]] bool put(byte_span body, bool more) noexcept {
        using enum direct_way::frame;
        if (next_ == message)
            return !more && write(body);
        if (next_ == addressed) {
            if (more || !write(body))
                return false;
            next_ = address;
            return true;
        }
        if (next_ == address)
            return more && put_address(body);
        return next_ == wanted && !more && put_wanted(body);
    }
    /// An address was sent, and there is room for the message behind it, which was not sent.
    bool is_in_message() const noexcept { return next_ == direct_way::frame::addressed; }
    void set(direct_way way) noexcept {
        way_ = way.pipe ? way : direct_way{};
        next_ = way_.first_frame();
        if (way_.pipe)
            way_.pipe->allow_short_writes();
    }

private:
    [[gnu::always_inline]] at_once write_at_once(byte_span body) noexcept {
        if (body.size() > max_short_body)
            return at_once::refused;
        const at_once result = way_.pipe->write_at_once(body);
        if (result != at_once::refused)
            count_copied_body(*way_.pipe, body.size());
        return result;
    }
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
        if (address.size() != way_.address.size() || !way_.pipe->may_write_short() ||
            !are_equal(address.data(), way_.address.data(), address.size()))
            return false;
        next_ = direct_way::frame::addressed;
        return true;
    }

    direct_way way_;
    direct_way::frame next_ = direct_way::frame::none;
};

}  // namespace zlink
