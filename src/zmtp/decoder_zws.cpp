// Frames of the queue out of the messages of WebSocket. See decoder_zws.hpp.
//
// Map: the steps by the parts of a WebSocket frame (header, octet of flags, body); messages in
// fragments and their memory; control frames and events.
#include "zmtp/decoder_zws.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace zlink {

namespace {

// The body of a message in fragments is aligned as those of large frames are.
constexpr std::size_t body_at = [] {
    constexpr std::size_t alignment = 64;
    std::size_t at = long_header_size;
    while ((sizeof(chunk) + at) % alignment)
        ++at;
    return at;
}();
constexpr std::size_t first_fragment_memory = 256;

constexpr bool is_control(std::uint8_t opcode) noexcept { return opcode & 0x8; }

}  // namespace

// Headers grow where the wire says the length in 16 bits and the queue in 64: by 5 octets at most,
// and not for less than 256 of a body. An event is at most 4 octets longer than what it says, which
// may have come before, and no call writes more than a Pong and two others.
std::size_t decoder_zws::lead(std::size_t most) const noexcept {
    constexpr std::size_t growth = 5;
    constexpr std::size_t events = 2 * (max_control_payload + 4) + ping_number_size + 4;
    return (most / (max_short_body + 1) + 1) * growth + longest_header + events;
}

/// Goes on until `in` is used up, something has to be taken by the caller first, or all is over.
/// Each step takes an octet or goes to another stage, so it comes to an end.
frame_decoder::decoded decoder_zws::decode(byte_span in, std::uint8_t *const out) noexcept {
    const std::size_t whole = in.size();
    std::uint8_t *end = out;
    gave_event_ = has_stopped_ = false;
    while (!in.empty() && !has_stopped_ && at_ != stage::over) {
        switch (at_) {
        case stage::header:
            end = take_header(in, end);
            break;
        case stage::flags:
            end = take_flags(in, end);
            break;
        case stage::command:
            end = take_command(in, end);
            break;
        case stage::body:
            end = take_body(in, end);
            break;
        case stage::fragment:
            end = take_fragment(in, end);
            break;
        case stage::control:
            end = take_control(in, end);
            break;
        case stage::over:
            break;
        }
    }
    // Behind a Close or a fault nothing has a meaning: it is swallowed.
    if (at_ == stage::over)
        in = {};
    // The header of a body has promised its octets: no command may stand among them.
    if (kept_ != 0 && at_ != stage::body)
        end = put_kept(end);
    return {whole - in.size(), static_cast<std::size_t>(end - out)};
}

/// Octets of the body under way that were read straight to where they stay: only their mask is
/// taken off. The caller reads no further than that body.
void decoder_zws::pass(std::span<std::uint8_t> octets) noexcept {
    if (octets.empty())
        return;
    if (!form_.is_client) {
        mask_octets(octets.data(), octets.data(), octets.size(), key_);
        key_ = advanced(key_, octets.size());
    }
    left_ -= octets.size();
    if (left_ == 0)
        at_ = stage::header;
}

/// Each fault is found on the first octet that shows it, so that it is the same however the octets
/// were cut.
std::uint16_t decoder_zws::judge(byte_span in, parsed_header &out) const noexcept {
    const std::uint8_t first = in[0];
    out.opcode = first & web_header::opcode_bits;
    out.is_final = first & web_header::final_bit;
    if (first & web_header::reserved_bits)
        return web_status::protocol_error;
    if (is_control(out.opcode)) {
        if (out.opcode > web_opcode::pong || !out.is_final)
            return web_status::protocol_error;
    } else if (in_fragments() != (out.opcode == web_opcode::continuation) ||
               out.opcode > web_opcode::binary) {
        return web_status::protocol_error;
    } else if (out.opcode == web_opcode::text) {
        return web_status::unacceptable_type;
    }
    if (in.size() < web_header::shortest)
        return 0;
    // A client masks what it sends, and a server does not (RFC 6455, section 5.1).
    const bool is_masked = in[1] & web_header::mask_bit;
    const std::uint8_t length = in[1] & ~web_header::mask_bit;
    if (is_masked == form_.is_client || (is_control(out.opcode) && length > max_control_payload))
        return web_status::protocol_error;
    // A length has to be in the shortest of its three forms (section 5.2).
    std::size_t size = web_header::shortest + (length == web_header::length_16   ? 2
                                               : length == web_header::length_64 ? 8
                                                                                 : 0);
    if (in.size() < size)
        return 0;
    out.length = length;
    if (length == web_header::length_16) {
        out.length = get_u16(in.data() + web_header::shortest);
        if (out.length < web_header::length_16)
            return web_status::protocol_error;
    } else if (length == web_header::length_64) {
        out.length = get_u64(in.data() + web_header::shortest);
        if (out.length <= UINT16_MAX || out.length >> 63)
            return web_status::protocol_error;
    }
    if (is_masked) {
        if (in.size() < size + out.key.size())
            return 0;
        std::memcpy(out.key.data(), in.data() + size, out.key.size());
        size += out.key.size();
    }
    out.size = static_cast<std::uint8_t>(size);
    return 0;
}

/// Takes messages in a row that are whole, and of one short frame: what take_header() and all that
/// follows it would make of them. Anything else stays.
std::uint8_t *decoder_zws::take_small(byte_span &in, std::uint8_t *out) noexcept {
    // The frame that is written is shorter than the one that is read, so that it does not overtake
    // what is still to be read of the same memory.
    const std::size_t mask = form_.is_client ? 0 : std::tuple_size_v<mask_key>;
    const std::uint8_t *p = in.data();
    const std::uint8_t *const end = p + in.size();
    while (end - p > 2) {
        const std::size_t length = p[1] ^ (form_.is_client ? 0 : web_header::mask_bit);
        if (p[0] != (web_header::final_bit | web_opcode::binary) || length >= web_header::length_16 ||
            length == 0 || length + mask + 2 > static_cast<std::size_t>(end - p))
            break;
        mask_key key{};
        if (mask)
            std::memcpy(key.data(), p + 2, sizeof key);
        const std::uint8_t *const payload = p + 2 + mask;
        const std::uint8_t flags = payload[0] ^ key[0];
        const std::size_t size = length - 1;
        if (flags > zws_octet::more || size > form_.max_body)
            break;
        out[0] = flags;
        out[1] = static_cast<std::uint8_t>(size);
        if (mask)
            mask_octets(out + 2, payload + 1, size, advanced(key, 1));
        else
            std::memmove(out + 2, payload + 1, size);
        out += 2 + size;
        p = payload + length;
    }
    in = {p, end};
    return out;
}

std::uint8_t *decoder_zws::take_header(byte_span &in, std::uint8_t *out) noexcept {
    // Not where the caller takes frames one by one, where other messages wait to be continued, or
    // where a Ping has to go in front.
    if (have_ == 0 && !form_.is_raw && !stops_ && !in_fragments() && kept_ == 0) {
        out = take_small(in, out);
        if (in.empty())
            return out;
    }
    parsed_header header;
    // Most headers stand whole in what was read. Others are put together octet by octet, so that a
    // fault is told before the rest has come.
    if (have_ == 0) {
        if (const std::uint16_t status = judge(in, header))
            return put_fault(status, out);
        if (header.size > 0) {
            in = in.subspan(header.size);
            return begin_frame(header, in, out);
        }
    }
    while (!in.empty()) {
        header_[have_++] = in.front();
        in = in.subspan(1);
        if (const std::uint16_t status = judge(byte_span(header_).first(have_), header))
            return put_fault(status, out);
        if (header.size > 0) {
            have_ = 0;
            return begin_frame(header, in, out);
        }
    }
    return out;
}

/// While the octet of flags is not known the frame may be a command or a message: the larger limit
/// holds, and that octet comes on top. Raw messages have no such octet.
std::uint64_t decoder_zws::most_in_payload() const noexcept {
    if (form_.is_raw)
        return form_.max_body;
    const std::uint64_t most = std::max(form_.max_body, form_.max_command);
    return most == UINT64_MAX ? most : most + 1;
}

/// The length is judged here, before anything is kept for it.
std::uint8_t *decoder_zws::begin_frame(const parsed_header &header, byte_span in,
                                       std::uint8_t *out) noexcept {
    left_ = header.length;
    key_ = header.key;
    is_final_ = header.is_final;
    opcode_ = header.opcode;
    if (is_control(opcode_)) {
        at_ = stage::control;
        control_size_ = 0;
        return left_ == 0 ? end_control(out) : out;
    }
    if (in_fragments() || !is_final_)
        return begin_fragment(out);
    if (left_ > most_in_payload())
        return put_fault(web_status::too_big, out);
    // A frame of ZWS without an octet of flags is a fault; a raw message without octets is none.
    if (!form_.is_raw) {
        at_ = stage::flags;
        return left_ == 0 ? put_fault(web_status::protocol_error, out) : out;
    }
    return left_ == 0 ? out : begin_body(0, in, out);
}

/// The key goes on with each octet: what comes next is unmasked from where it stands.
std::uint8_t decoder_zws::next_octet(byte_span &in) noexcept {
    const std::uint8_t octet = in.front() ^ key_[0];
    key_ = advanced(key_, 1);
    --left_;
    in = in.subspan(1);
    return octet;
}

/// Commands and messages have limits of their own, so that the length is judged again, by the right
/// one.
std::uint8_t *decoder_zws::take_flags(byte_span &in, std::uint8_t *out) noexcept {
    const std::uint8_t flags = next_octet(in);
    if (!is_known(flags))
        return put_fault(web_status::protocol_error, out);
    if (left_ > limit_of(flags))
        return put_fault(web_status::too_big, out);
    if (flags == zws_octet::command && left_ > 0) {
        at_ = stage::command;
        return out;
    }
    return begin_body(flags, in, out);
}

/// The octet is looked at and left in the body. A zero there would make of a peer's command one of
/// the events that are told here.
std::uint8_t *decoder_zws::take_command(byte_span &in, std::uint8_t *out) noexcept {
    const std::uint8_t first = in.front() ^ key_[0];
    return first == 0 ? put_fault(web_status::protocol_error, out) : begin_body(zws_octet::command, in, out);
}

/// A Ping or Pong that would come in the middle of the frame goes in front of it. The header of the
/// queue's frame is written at once, since its size is known; the body follows as it comes, without
/// memory of its own.
std::uint8_t *decoder_zws::begin_body(std::uint8_t flags, byte_span in, std::uint8_t *out) noexcept {
    if (kept_ != 0 && left_ > in.size())
        out = put_kept(out);
    at_ = left_ > 0 ? stage::body : stage::header;
    has_stopped_ = stops_ && left_ == 0;
    return put_frame_header(out, static_cast<std::size_t>(left_),
                            flags == zws_octet::command ? frame_flag::command : flags);
}

/// Takes octets of the payload without their mask.
std::size_t decoder_zws::unmask(byte_span &in, std::uint8_t *to, std::uint64_t most) noexcept {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, in.size()));
    if (!form_.is_client) {
        mask_octets(to, in.data(), count, key_);
        key_ = advanced(key_, count);
    } else if (to != in.data()) {
        std::memmove(to, in.data(), count);
    }
    in = in.subspan(count);
    left_ -= count;
    return count;
}

std::uint8_t *decoder_zws::take_body(byte_span &in, std::uint8_t *out) noexcept {
    const std::size_t count = unmask(in, out, left_);
    if (left_ == 0) {
        at_ = stage::header;
        has_stopped_ = stops_;
    }
    return out + count;
}

// ---- messages in fragments ----

/// All fragments together are held to the limit of one frame. What has come is within it, so that
/// nothing overflows.
std::uint8_t *decoder_zws::begin_fragment(std::uint8_t *out) noexcept {
    if (!in_fragments()) {
        fragments_ = form_.is_raw ? fragments::taken : fragments::unmarked;
        flags_ = zws_octet::last;
    }
    const bool is_known_kind = fragments_ != fragments::unmarked;
    const std::uint64_t most = is_known_kind ? limit_of(flags_) : most_in_payload();
    if (left_ > most - size_)
        return put_fault(web_status::too_big, out);
    at_ = stage::fragment;
    return left_ == 0 ? end_fragment(out) : out;
}

/// The octet of flags is the first of the message, in whichever fragment that comes: those before
/// may be empty.
std::uint8_t *decoder_zws::take_fragment(byte_span &in, std::uint8_t *out) noexcept {
    if (fragments_ == fragments::unmarked) {
        flags_ = next_octet(in);
        fragments_ = fragments::taken;
        if (!is_known(flags_))
            return put_fault(web_status::protocol_error, out);
        if (left_ > limit_of(flags_))
            return put_fault(web_status::too_big, out);
    }
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
    if (count > 0) {
        if (size_ == 0)
            // Once, by the first octet: it tells subscriptions from other messages.
            fragments_ = is_wanted(in.front() ^ key_[0]) ? fragments::taken : fragments::unwanted;
        if (fragments_ == fragments::unwanted)
            skip(in, count);
        // For what has arrived, not for what was announced.
        else if (make_room(count))
            unmask(in, memory_->data() + body_at + size_, count);
        else
            return put_fault(web_status::internal_error, out);
        size_ += count;
    }
    return left_ == 0 ? end_fragment(out) : out;
}

/// Whether anybody takes the message whose body begins with this octet.
bool decoder_zws::is_wanted(std::uint8_t first) const noexcept {
    return flags_ == zws_octet::command || takes_ == reception::all ||
           (takes_ == reception::subscriptions && first <= subscribe_octet);
}

/// Octets that are skipped move the key on like those that are read.
void decoder_zws::skip(byte_span &in, std::size_t count) noexcept {
    key_ = advanced(key_, count);
    in = in.subspan(count);
    left_ -= count;
}

/// The message that has begun may be one that nobody takes any more: its memory goes at once, and
/// the rest of it is skipped.
void decoder_zws::take_only(reception what) noexcept {
    takes_ = what;
    if (fragments_ != fragments::taken || !memory_ || is_wanted(memory_->data()[body_at]))
        return;
    fragments_ = fragments::unwanted;
    give_memory_back();
}

std::uint8_t *decoder_zws::end_fragment(std::uint8_t *out) noexcept {
    at_ = stage::header;
    if (!is_final_)
        return out;
    const fragments ended = std::exchange(fragments_, fragments::none);
    if (ended == fragments::unmarked)
        return put_fault(web_status::protocol_error, out);
    // No message, as where it comes in one frame.
    if (form_.is_raw && size_ == 0)
        return out;
    // The frame without a body tells whoever counts that a message has come.
    if (ended == fragments::unwanted) {
        size_ = 0;
        has_stopped_ = stops_;
        return put_frame_header(out, 0, flags_);
    }
    const bool is_command = flags_ == zws_octet::command;
    if (is_command && size_ > 0 && memory_->data()[body_at] == 0)
        return put_fault(web_status::protocol_error, out);
    // A body without octets has no memory yet.
    if (!make_room(0))
        return put_fault(web_status::internal_error, out);
    // take_frame() hands the memory over, and has to be called before the next decode().
    fragments_ = fragments::whole;
    has_stopped_ = true;
    return out;
}

/// A connection without a pool makes one for its first message in fragments, and most never see
/// one.
bool decoder_zws::make_room(std::size_t more) noexcept {
    const std::size_t used = body_at + size_;
    if (memory_ && memory_->capacity - used >= more)
        return true;
    if (!pool_) {
        try {
            own_pool_ = chunk_pool::make();
        } catch (...) {
            return false;
        }
        pool_ = own_pool_.get();
    }
    // Half as much again, which pools make twice as much of as long as it is small.
    const std::size_t wanted = std::max(used + more, memory_ ? memory_->capacity + memory_->capacity / 2 : 0);
    chunk *const larger = memory_ ? pool_->grow(memory_, wanted, used)
                                  : pool_->allocate(std::max(wanted, first_fragment_memory));
    if (!larger)
        return false;
    memory_ = larger;
    return true;
}

byte_span decoder_zws::take_frame(block_ref &owner) noexcept {
    if (fragments_ != fragments::whole)
        return {};
    fragments_ = fragments::none;
    // The header goes in front of the body, where body_at has left room for the longest: nothing is
    // moved.
    const std::size_t header = frame_header_size(size_);
    std::uint8_t *const begin = memory_->data() + body_at - header;
    put_frame_header(begin, size_, flags_ == zws_octet::command ? frame_flag::command : flags_);
    owner = block_ref::adopt(std::exchange(memory_, nullptr));
    return {begin, header + std::exchange(size_, 0)};
}

void decoder_zws::forget_fragments() noexcept {
    size_ = 0;
    fragments_ = fragments::none;
    give_memory_back();
}

void decoder_zws::give_memory_back() noexcept {
    if (chunk *const mine = std::exchange(memory_, nullptr))
        mine->release();
}

// ---- control frames ----

std::uint8_t *decoder_zws::take_control(byte_span &in, std::uint8_t *out) noexcept {
    const std::size_t count = unmask(in, control_.data() + control_size_, left_);
    control_size_ = static_cast<std::uint8_t>(control_size_ + count);
    return left_ == 0 ? end_control(out) : out;
}

/// A Ping takes the place of one that is not told yet (RFC 6455, section 5.5.3), and so does a Pong
/// of the size that ours have; others, and those of a handshake, say nothing. A Close comes behind
/// them, ends everything, and takes with it a message that is not whole.
std::uint8_t *decoder_zws::end_control(std::uint8_t *out) noexcept {
    at_ = stage::header;
    if (opcode_ == web_opcode::ping) {
        kept_ |= keeps_ping;
        ping_size_ = control_size_;
        std::memcpy(ping_.data(), control_.data(), control_size_);
        has_stopped_ = stops_;
    } else if (opcode_ == web_opcode::pong) {
        if (control_size_ == ping_number_size && !stops_) {
            kept_ |= keeps_pong;
            std::memcpy(pong_.data(), control_.data(), ping_number_size);
        }
    } else if (opcode_ == web_opcode::close) {
        out = put_kept(out);
        out = put_event(web_event::close, byte_span(control_).first(control_size_), out);
        at_ = stage::over;
        forget_fragments();
    }
    return out;
}

/// The command frame that stands for something that is the conversation's: see Events in
/// decoder_zws.hpp.
std::uint8_t *decoder_zws::put_event(std::uint8_t what, byte_span data, std::uint8_t *out) noexcept {
    gave_event_ = true;
    out = put_frame_header(out, 2 + data.size(), frame_flag::command);
    *out++ = 0;
    *out++ = what;
    return std::copy(data.begin(), data.end(), out);
}

/// The Ping and the Pong that are not told yet.
std::uint8_t *decoder_zws::put_kept(std::uint8_t *out) noexcept {
    const unsigned kept = std::exchange(kept_, std::uint8_t{0});
    if (kept & keeps_pong)
        out = put_event(web_event::pong, pong_, out);
    return kept & keeps_ping ? put_event(web_event::ping, byte_span(ping_).first(ping_size_), out) : out;
}

/// The last event there is. What came before it is told first.
std::uint8_t *decoder_zws::put_fault(std::uint16_t status, std::uint8_t *out) noexcept {
    out = put_kept(out);
    at_ = stage::over;
    forget_fragments();
    std::array<std::uint8_t, 2> octets;
    put_u16(octets.data(), status);
    return put_event(web_event::fault, octets, out);
}

}  // namespace zlink
