// Fuzz target: the decoder of ZMTP 1.0. Whatever the octets and the pieces, what comes out is the
// same, fits its place, and is what encodes to those octets again, as far as they were in the
// shortest form.
//
// Input:    pieces: (size:1 | octets)*.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <vector>

#include "core/invariant.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/framing.hpp"

using namespace zlink;

namespace {

std::vector<std::uint8_t> decoded(frame_decoder &decoder, byte_span piece) {
    std::vector<std::uint8_t> memory(decoder.lead(piece.size()));
    const std::size_t at = memory.size();
    memory.insert(memory.end(), piece.begin(), piece.end());
    const std::size_t count = decoder.decode(byte_span(memory).subspan(at), memory.data()).octets;
    ZLINK_INVARIANT(count <= memory.size());
    memory.resize(count);
    return memory;
}

/// Encodes whole frames of a queue.
std::vector<std::uint8_t> encoded(byte_span frames) {
    std::vector<std::uint8_t> out;
    for (frame_header header; get_frame_header(frames.data(), frames.size(), header);) {
        const byte_span body = frames.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        framing_of_zmtp_1_0().encode(header.flags, body, out);
        frames = frames.subspan(header.header_size + body.size());
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    std::vector<std::uint8_t> wire, out;
    const auto decoder = framing_of_zmtp_1_0().make_decoder();
    for (std::size_t at = 0; at < size;) {
        const std::size_t wanted = data[at++];
        const byte_span piece(data + at, std::min(wanted, size - at));
        wire.insert(wire.end(), piece.begin(), piece.end());
        const auto more = decoded(*decoder, piece);
        out.insert(out.end(), more.begin(), more.end());
        at += piece.size();
    }
    const auto at_once = decoded(*framing_of_zmtp_1_0().make_decoder(), wire);
    ZLINK_INVARIANT(at_once == out);

    bool in_message = false;
    const walk_result walked = walk_frames(out, in_message, {});
    ZLINK_INVARIANT(walked.stop != walk_stop::command);
    const auto again =
        decoded(*framing_of_zmtp_1_0().make_decoder(), encoded(byte_span(out).first(walked.octets)));
    ZLINK_INVARIANT(std::equal(again.begin(), again.end(), out.begin()) && again.size() == walked.octets);
    return 0;
}
