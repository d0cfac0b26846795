// Opens the boxes of CURVE's traffic that pass a stream, by libsodium's own functions.
//
// Seam:     the linker hands the calls by which the library derives the key of one direction to the
//           function in box_watch.cpp, which keeps what it is derived from, and goes on to the real
//           one.
// Source:   RFC 26/CurveZMQ, "MESSAGE Command".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/bytes.hpp"
#include "zmtp/curve_box.hpp"
#include "zmtp/greeting.hpp"

namespace zlink::sim {

/// Whether a whole greeting names the mechanism whose boxes these are.
inline bool names_curve(byte_span greeting) noexcept {
    greeting_octets octets{};
    std::copy_n(greeting.begin(), octets.size(), octets.begin());
    return greeting_view(octets).has_mechanism("CURVE");
}

/// The keys of a run.
class box_watch {
public:
    struct key {
        std::array<std::uint8_t, curve_box::key_size> shared;
        std::array<std::uint8_t, curve_box::prefix_size> prefix;  // of nonces
        bool operator==(const key &) const = default;
    };

    void note(const std::uint8_t *shared, const std::uint8_t *prefix) noexcept;
    /// Opens a box, or returns false where no key does. `by` is where the key was found the last
    /// time, and is now: the boxes of one direction have one key.
    bool open(std::uint64_t number, byte_span box, std::size_t &by, std::vector<std::uint8_t> &text) const;

private:
    std::vector<key> keys_;  // both sides derive each
};

}  // namespace zlink::sim
