// Cuts the input of the targets of conversations.
//
// Input:    first octet, which a target makes itself of | (length:1 | piece)*.
//           No octets are a pause.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zlink::test {

template <class Talk>
void talk_in_pieces(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return;
    Talk talk(data[0]);
    for (std::size_t at = 1; at < size;) {
        const std::size_t wanted = data[at++];
        const std::size_t piece = std::min(wanted, size - at);
        if (piece == 0)
            talk.pass();
        else
            talk.feed({data + at, piece});
        at += piece;
    }
    talk.end();
}

}  // namespace zlink::test
