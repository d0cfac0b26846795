// Holds what a decoder makes of octets, as the driver has it decode what it has read.
#pragma once

#include <cstdint>
#include <vector>

#include "core/invariant.hpp"
#include "zmtp/framing.hpp"

namespace zlink::test {

using octets = std::vector<std::uint8_t>;

inline void append(octets &out, byte_span more) { out.insert(out.end(), more.begin(), more.end()); }

/// Behind what is in `out`; frames in memory of their own, too.
inline void decode(frame_decoder &decoder, byte_span piece, octets &out) {
    const std::size_t lead = decoder.lead(piece.size());
    octets memory(lead);
    append(memory, piece);
    std::uint8_t *to = memory.data();
    byte_span in = byte_span(memory).subspan(lead);
    while (!in.empty()) {
        const auto step = decoder.decode(in, to);
        ZLINK_INVARIANT(step.taken > 0 && step.taken <= in.size());
        ZLINK_INVARIANT(to + step.octets <= in.data() + step.taken);
        append(out, {to, step.octets});
        to += step.octets;
        in = in.subspan(step.taken);
        block_ref owner;
        for (byte_span apart = decoder.take_frame(owner); !apart.empty(); apart = decoder.take_frame(owner))
            append(out, apart);
    }
}

}  // namespace zlink::test
