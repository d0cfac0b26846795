// Frames of the queue into the messages of WebSocket. See framing_zws.hpp.
//
// Map: headers; frames one by one; small ones together; what the conversation says; the decoder.
#include "zmtp/framing_zws.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "zmtp/decoder_zws.hpp"

namespace zlink {

namespace {

std::uint8_t *put_web_header(std::uint8_t *out, std::uint8_t opcode, std::uint64_t length,
                             bool is_masked) noexcept {
    out[0] = web_header::final_bit | opcode;
    const std::uint8_t mask = is_masked ? web_header::mask_bit : 0;
    if (length < web_header::length_16) {
        out[1] = static_cast<std::uint8_t>(mask | length);
        return out + web_header::shortest;
    }
    if (length <= UINT16_MAX) {
        out[1] = mask | web_header::length_16;
        put_u16(out + web_header::shortest, static_cast<std::uint16_t>(length));
        return out + web_header::shortest + 2;
    }
    out[1] = mask | web_header::length_64;
    put_u64(out + web_header::shortest, length);
    return out + web_header::shortest + 8;
}

// The mask of what is left of a body is what a cover holds.
void set_mask(body_cover &how, const mask_key &key) noexcept {
    std::copy(key.begin(), key.end(), how.state.begin());
}

mask_key mask_of(const body_cover &how) noexcept {
    mask_key key;
    std::copy_n(how.state.begin(), key.size(), key.begin());
    return key;
}

}  // namespace

framing_zws::framing_zws(const form &how)
    : form_(how), keys_(how.is_client ? std::make_unique<mask_keys>() : nullptr) {}

std::optional<mask_key> framing_zws::put_header(std::uint8_t opcode, byte_span prefix, std::size_t body_size,
                                                std::vector<std::uint8_t> &out) const {
    constexpr std::size_t longest = 16;
    std::array<std::uint8_t, longest> head;
    std::uint8_t *end =
        put_web_header(head.data(), opcode, std::uint64_t{prefix.size()} + body_size, keys_ != nullptr);
    mask_key key{};
    if (keys_) {
        key = keys_->next();
        end = std::copy(key.begin(), key.end(), end);
    }
    for (std::size_t i = 0; i < prefix.size(); ++i)
        *end++ = prefix[i] ^ key[i];
    out.insert(out.end(), head.data(), end);
    if (!keys_)
        return {};
    return advanced(key, prefix.size());
}

void framing_zws::put(std::uint8_t opcode, byte_span prefix, byte_span body,
                      std::vector<std::uint8_t> &out) const {
    if (const std::optional<mask_key> key = put_header(opcode, prefix, body.size(), out))
        append_masked(out, body, *key);
    else
        out.insert(out.end(), body.begin(), body.end());
}

std::optional<body_cover> framing_zws::encode_header(std::uint8_t flags, std::size_t body_size,
                                                     std::vector<std::uint8_t> &out) const {
    const std::uint8_t octet = flags & frame_flag::more ? zws_octet::more : zws_octet::last;
    const std::optional<mask_key> key =
        put_header(web_opcode::binary, form_.is_raw ? byte_span() : byte_span(&octet, 1), body_size, out);
    if (!key)
        return {};
    body_cover how{.takes_slices = true};
    set_mask(how, *key);
    return how;
}

void framing_zws::cover(body_cover &how, byte_span in, std::uint8_t *out) const noexcept {
    const mask_key key = mask_of(how);
    mask_octets(out, in.data(), in.size(), key);
    set_mask(how, advanced(key, in.size()));
}

void framing_zws::append_covered(body_cover how, byte_span body, std::vector<std::uint8_t> &out) const {
    append_masked(out, body, mask_of(how));
}

/// Does the work of encode_small() for the short frames that `in` begins with, masked and behind
/// the octet of flags. Stops at any other, and near the end of either memory: it reads and writes
/// up to 15 octets beyond a body, which belong to the next frame, and that overwrites them.
std::uint8_t *framing_zws::encode_short(byte_span &in, std::size_t most, std::span<std::uint8_t> out,
                                        bool &in_message, std::uint64_t &messages) const noexcept {
    constexpr std::size_t head = web_header::shortest + std::tuple_size_v<mask_key> + 1;
    constexpr std::size_t longest = web_header::length_16 - 2;  // with the octet in front of it
    constexpr std::size_t room = head + longest + mask_step;
    most = std::min(most, longest);
    const std::uint8_t *from = in.data();
    const std::uint8_t *const end = from + in.size();
    std::uint8_t *to = out.data();
    std::uint8_t *const to_end = to + out.size();
    std::uint8_t flags = 0;
    std::uint64_t ended = 0;
    mask_keys &keys = *keys_;
    while (static_cast<std::size_t>(end - from) >= room && static_cast<std::size_t>(to_end - to) >= room) {
        const std::size_t size = from[1];
        if ((from[0] & ~frame_flag::more) != 0 || size > most)
            break;
        flags = from[0];
        ended += !flags;
        const mask_key key = keys.next();
        to[0] = web_header::final_bit | web_opcode::binary;
        to[1] = static_cast<std::uint8_t>(web_header::mask_bit | (size + 1));
        std::memcpy(to + web_header::shortest, key.data(), key.size());
        static_assert(frame_flag::more == zws_octet::more && zws_octet::last == 0);
        to[head - 1] = key[0] ^ flags;
        mask_steps(to + head, from + short_header_size, size, advanced(key, 1));
        to += head + size;
        from += short_header_size + size;
    }
    if (from != in.data())
        in_message = flags != 0;
    messages += ended;
    in = {from, end};
    return to;
}

std::size_t framing_zws::encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out,
                                      bool &in_message, std::uint64_t &messages) const noexcept {
    constexpr std::size_t longest_head = 15;
    const std::size_t prefix = form_.is_raw ? 0 : 1;
    std::uint8_t *end = out.data();
    if (keys_ && !form_.is_raw)
        end = encode_short(in, most, out, in_message, messages);
    for (frame_header header; get_frame_header(in.data(), in.size(), header);) {
        const auto size = static_cast<std::size_t>(header.body_size);
        if (header.is_command() || size > most || size > in.size() - header.header_size ||
            size + longest_head > static_cast<std::size_t>(out.data() + out.size() - end))
            break;
        in_message = header.has_more();
        messages += !in_message;
        const std::uint8_t *const body = in.data() + header.header_size;
        in = in.subspan(header.header_size + size);
        end = put_web_header(end, web_opcode::binary, prefix + size, keys_ != nullptr);
        if (!keys_) {
            *end = in_message ? zws_octet::more : zws_octet::last;
            std::memcpy(end += prefix, body, size);
        } else {
            const mask_key key = keys_->next();
            end = std::copy(key.begin(), key.end(), end);
            *end = key[0] ^ (in_message ? zws_octet::more : zws_octet::last);
            mask_octets(end += prefix, body, size, prefix ? advanced(key, 1) : key);
        }
        end += size;
    }
    return static_cast<std::size_t>(end - out.data());
}

framing::small_frame framing_zws::look_at_small(byte_span wire) const noexcept {
    std::size_t size = wire[1] & ~web_header::mask_bit;
    std::size_t at = web_header::shortest;
    if (size == web_header::length_16) {
        size = get_u16(wire.data() + at);
        at += sizeof(std::uint16_t);
    }
    std::uint8_t mask = 0;
    if (keys_) {
        mask = wire[at];
        at += std::tuple_size_v<mask_key>;
    }
    return {at + size, form_.is_raw || (wire[at] ^ mask) == zws_octet::last};
}

void framing_zws::encode_subscription(bool is_subscribe, byte_span topic,
                                      std::vector<std::uint8_t> &out) const {
    if (!form_.is_raw)
        framing::encode_subscription(is_subscribe, topic, out);
}

void framing_zws::encode_command(byte_span body, std::vector<std::uint8_t> &out) const {
    const std::uint8_t octet = zws_octet::command;
    put(web_opcode::binary, {&octet, 1}, body, out);
}

void framing_zws::encode_control(std::uint8_t opcode, byte_span payload,
                                 std::vector<std::uint8_t> &out) const {
    put(opcode, {}, payload, out);
}

void framing_zws::encode_close(std::uint16_t status, std::vector<std::uint8_t> &out) const {
    std::array<std::uint8_t, 2> octets;
    put_u16(octets.data(), status);
    put(web_opcode::close, {}, octets, out);
}

std::unique_ptr<frame_decoder> framing_zws::make_decoder(chunk_pool *pool) const {
    return std::make_unique<decoder_zws>(form_, pool, false);
}

}  // namespace zlink
