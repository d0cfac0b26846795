// Fuzz target: the decoder of WebSocket. Whatever the octets and the pieces, what comes out is the
// same but for the Pings, fits its place and is whole frames that the walk takes; and what it makes
// of messages is what encodes to such as decode to them again.
//
// Input:    form:1 | pieces: (size:1 | octets)*.
//           A bit of the form turns what looks like a frame's second octet into that of one that is
//           masked as the side wants it, so that random octets get far.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <vector>

#include "core/invariant.hpp"
#include "decoding.hpp"
#include "zmtp/decoder_zws.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/framing_zws.hpp"

using namespace zlink;
using namespace zlink::test;

namespace {

/// Without the events of Pings, which depend on what comes together.
octets without_pings(byte_span frames) {
    octets out;
    frame_header header;
    while (get_frame_header(frames.data(), frames.size(), header)) {
        const std::size_t size = static_cast<std::size_t>(
            std::min<std::uint64_t>(header.header_size + header.body_size, frames.size()));
        const byte_span body = frames.subspan(header.header_size, size - header.header_size);
        if (!header.is_command() || !web_event::is_one(body) || body[1] != web_event::ping)
            append(out, frames.first(size));
        frames = frames.subspan(size);
    }
    append(out, frames);
    return out;
}

/// Encodes the frames, from the other side.
octets encoded(byte_span frames, framing_zws::form form) {
    form.is_client = !form.is_client;
    const framing_zws other(form);
    octets out;
    frame_header header;
    while (get_frame_header(frames.data(), frames.size(), header) &&
           header.body_size <= frames.size() - header.header_size) {
        const byte_span body = frames.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        if (!header.is_command())
            other.encode(header.flags, body, out);
        else if (!web_event::is_one(body))
            other.encode_command(body, out);
        frames = frames.subspan(header.header_size + body.size());
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    framing_zws::form form;
    form.is_client = data[0] & 1;
    form.is_raw = data[0] & 2;
    if (data[0] & 4)
        form.max_body = data[0] >> 4;
    const bool helps = data[0] & 8;

    octets wire, out;
    decoder_zws decoder(form, nullptr, false);
    for (std::size_t at = 1; at < size;) {
        const std::size_t wanted = data[at++];
        octets piece(data + at, data + at + std::min(wanted, size - at));
        at += piece.size();
        if (helps && piece.size() >= 2) {
            piece[0] &= 0x8f;
            piece[1] = static_cast<std::uint8_t>((piece[1] & 0x1f) | (form.is_client ? 0 : 0x80));
        }
        append(wire, piece);
        decode(decoder, piece, out);
    }
    octets at_once;
    decoder_zws other(form, nullptr, false);
    decode(other, wire, at_once);
    ZLINK_INVARIANT(without_pings(at_once) == without_pings(out));

    bool in_message = false;
    byte_span rest = at_once;
    octets messages;
    for (;;) {
        const walk_result walked = walk_frames(rest, in_message, {.max_body = form.max_body});
        append(messages, rest.first(walked.octets));
        ZLINK_INVARIANT(walked.stop == walk_stop::need_more || walked.stop == walk_stop::command);
        rest = rest.subspan(walked.octets);
        const std::size_t command = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        if (walked.stop != walk_stop::command || walked.next.header_size == 0 || command > rest.size())
            break;
        rest = rest.subspan(command);
    }
    octets again;
    decoder_zws third(form, nullptr, false);
    decode(third, encoded(messages, form), again);
    ZLINK_INVARIANT(again == messages);
    return 0;
}
