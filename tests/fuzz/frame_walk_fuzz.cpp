// Fuzz target: the frame walk. Whatever the octets, it stays inside them, and walking them in two
// pieces finds the same as walking them at once.
//
// Input:    limits:1 | split:1 | stream.
#include <cstddef>
#include <cstdint>

#include "core/invariant.hpp"
#include "zmtp/frame_walk.hpp"

using namespace zlink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size < 2)
        return 0;
    walk_limits limits;
    if (data[0] & 1)
        limits.max_body = data[0];
    if (data[0] & 2)
        limits.max_messages = data[0] >> 2;
    const byte_span stream(data + 2, size - 2);

    bool in_message = false;
    const walk_result whole = walk_frames(stream, in_message, limits);
    ZLINK_INVARIANT(whole.octets <= stream.size() && whole.message_octets <= whole.octets);
    ZLINK_INVARIANT(whole.messages <= limits.max_messages);
    ZLINK_INVARIANT((whole.messages > 0) == (whole.message_octets > 0));
    ZLINK_INVARIANT(whole.octets == 0 || in_message == (whole.octets > whole.message_octets));

    bool still_in_message = false;
    const byte_span front = stream.first(data[1] % (stream.size() + 1));
    const walk_result first = walk_frames(front, still_in_message, limits);
    ZLINK_INVARIANT(first.octets <= front.size() && first.messages <= whole.messages);
    if (first.stop == walk_stop::need_more) {
        limits.max_messages -= first.messages;
        const walk_result second = walk_frames(stream.subspan(first.octets), still_in_message, limits);
        ZLINK_INVARIANT(first.octets + second.octets == whole.octets);
        ZLINK_INVARIANT(first.messages + second.messages == whole.messages);
        ZLINK_INVARIANT(second.stop == whole.stop && still_in_message == in_message);
    }
    return 0;
}
