// Fuzz target: what a peer with the key of a CURVE connection puts into boxes, and what others put
// around them. What comes out is whole frames in memory of its own, then at most one refusal and
// nothing more.
//
// Input:    form:1 | (how:1 | size:1 | octets)*. How the octets come: in a box with the next number
//           | in one with a number that they begin with | as they are. The form says whether
//           batches were agreed on and into which pieces the stream is cut.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <vector>

#include "core/frame.hpp"
#include "core/invariant.hpp"
#include "decoding.hpp"
#include "zmtp/decoder_curve.hpp"
#include "zmtp/frame_walk.hpp"

using namespace zlink;
using namespace zlink::test;

namespace {

constexpr char prefix[] = "CurveZMQMESSAGEC";
constexpr std::uint64_t last_of_handshake = 2;

const std::shared_ptr<const curve_box> &box() {
    static const octets key(curve_box::key_size, 'k');
    static const auto made = std::make_shared<const curve_box>(key.data(), prefix);
    return made;
}

void append_box(octets &out, std::uint64_t number, byte_span text) {
    const std::size_t body = curve_growth - 1 + text.size();
    std::uint8_t header[long_header_size];
    append(out, {header, static_cast<std::size_t>(put_frame_header(header, body, 0) - header)});
    append(out, as_bytes(curve_message_name));
    std::uint8_t spelled[8];
    put_u64(spelled, number);
    append(out, spelled);
    octets sealed(curve_box::tag_size + text.size());
    box()->seal(number, text[0], text.subspan(1), sealed.data());
    append(out, sealed);
}

octets stream_of(byte_span in) {
    octets out;
    std::uint64_t number = last_of_handshake;
    while (in.size() > 2) {
        const unsigned how = in[0] % 8;
        const byte_span taken = in.subspan(2, std::min<std::size_t>(in[1], in.size() - 2));
        in = in.subspan(2 + taken.size());
        if (taken.empty())
            continue;
        if (how == 6)
            append(out, taken);
        else if (how == 7 && taken.size() > 8)
            append_box(out, get_u64(taken.data()), taken.subspan(8));
        else
            append_box(out, ++number, taken);
    }
    return out;
}

void check(byte_span frames, bool batches) {
    bool in_message = false;
    for (;;) {
        const walk_result walked = walk_frames(frames, in_message, {});
        frames = frames.subspan(walked.octets);
        if (walked.stop == walk_stop::bad_frame) {
            // Only the sizes of the frames in a batch are looked at before the walk.
            ZLINK_INVARIANT(batches || frames.size() == short_header_size);
            return;
        }
        if (walked.stop != walk_stop::command)
            break;
        // No event of a carrier comes out of a box.
        const std::size_t whole = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        ZLINK_INVARIANT(walked.next.header_size > 0 && whole <= frames.size());
        ZLINK_INVARIANT(walked.next.body_size > 0 && frames[walked.next.header_size] != 0);
        frames = frames.subspan(whole);
    }
    // Whatever is left is the header of a frame that is too large.
    ZLINK_INVARIANT(frames.size() <= long_header_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const octets stream = stream_of({data + 1, size - 1});
    const bool batches = data[0] & 1;
    decoder_curve decoder(box(),
                          {.last_received = last_of_handshake,
                           .batches = batches,
                           .limits = {.max_body = 100'000, .max_command = 65536}},
                          nullptr, nullptr);
    octets out;
    const std::size_t piece = data[0] & 2 ? stream.size() + 1 : data[0] / 4 + 1;
    for (std::size_t at = 0; at < stream.size(); at += piece)
        decode(decoder, byte_span(stream).subspan(at, std::min(piece, stream.size() - at)), out);
    check(out, batches);
    return 0;
}
