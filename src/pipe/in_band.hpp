// Command frames that travel on a pipe between its two owners. They never reach the application or,
// as such, the wire.
//
// Layout:   kind:1 | body. Every owner ignores the kinds it has no use for.
#pragma once

#include <cstdint>

namespace zlink::in_band {

constexpr std::uint8_t cancel = 0;     // topic: the peer takes a subscription back
constexpr std::uint8_t subscribe = 1;  // topic: the peer subscribes
constexpr std::uint8_t hello =
    2;  // routing id (may be empty): a peer is there; the first frame of each connection
constexpr std::uint8_t gone = 3;  // empty: the connection broke, the pipe waits for the next one

}  // namespace zlink::in_band
