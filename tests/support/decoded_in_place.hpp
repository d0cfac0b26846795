// Holds what a decoder makes of a piece of what was read, in the memory that it was read into.
#pragma once

#include <string>
#include <string_view>

#include "zmtp/framing.hpp"

namespace zlink::testing {

/// Decodes octets that stand in front of the end of the memory, as a connection does, and returns
/// what is at its start. `spare`: octets of room more than are needed.
inline std::string decoded_in_place(frame_decoder &decoder, std::string_view piece, std::size_t spare = 0) {
    std::string memory(decoder.lead(piece.size() + spare), '?');
    memory += piece;
    auto *const begin = reinterpret_cast<std::uint8_t *>(memory.data());
    const std::size_t at = memory.size() - piece.size();
    memory.resize(decoder.decode({begin + at, piece.size()}, begin).octets);
    return memory;
}

}  // namespace zlink::testing
