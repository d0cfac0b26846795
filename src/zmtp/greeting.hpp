// The greeting that opens a connection: 64 octets each way.
//
// Wire:     signature:10 | major:1 | minor:1 | mechanism:20 | as-server:1 | filler:31.
//           RFC 23/ZMTP 3.1, "The Greeting"
//           signature:10 | revision:1 | socket-type:1.   RFC 15/ZMTP 2.0
//           The first 11 octets tell the version. ZMTP 1.0 has no greeting: what comes is a frame.
#pragma once

#include <array>
#include <string_view>

#include "core/bytes.hpp"

namespace zlink {

constexpr std::size_t greeting_size = 64;
/// All that may go to a peer of which nothing is known: to one of ZMTP 1.0 it is the header of a
/// frame.
constexpr std::size_t signature_size = 10;
/// Enough to know the version; all that may go to a peer that is of ZMTP 2.0 or later.
constexpr std::size_t partial_greeting_size = 11;
constexpr std::size_t zmtp_2_0_greeting_size = 12;

using greeting_octets = std::array<std::uint8_t, greeting_size>;

/// Our greeting: version 3.1. `mechanism` is at most 20 octets. The signature is libzmq's, which a
/// ZMTP 1.0 peer takes for the header of the frame with our routing id.
greeting_octets make_greeting(std::string_view mechanism, bool as_server,
                              std::size_t routing_id_size = 0) noexcept;

enum class greeting_version {
    undecided,  // needs more octets
    zmtp_1_0,   // no greeting but the length of an identity frame
    zmtp_2_0,   // a signature, then revision 0, 1 or 2
    zmtp_3,     // a signature, then major version 3 or later: 64 octets
    not_zmtp,   // a broken signature
};

/// Tells the version from what has arrived of a greeting; `undecided` only while less than 11
/// octets have. The eight octets between the ends of the signature mean nothing and are not looked
/// at.
greeting_version detect_version(byte_span start) noexcept;

/// For a person: what a peer speaks that began so, where that is no ZMTP (core/stranger.hpp).
std::string_view describe_stranger(byte_span start) noexcept;

/// The fields of a whole greeting of a version 3 peer.
struct greeting_view {
    explicit greeting_view(const greeting_octets &octets) noexcept : octets_(octets) {}

    std::uint8_t major() const noexcept { return octets_[10]; }
    std::uint8_t minor() const noexcept { return octets_[11]; }
    /// In ZMTP 2.0, the number of its socket type.
    std::uint8_t socket_type_2_0() const noexcept { return octets_[11]; }
    /// ZMTP 3.0 has neither SUBSCRIBE nor CANCEL.
    bool is_3_0() const noexcept { return major() == 3 && minor() == 0; }
    /// Compares all 20 octets, padding included.
    bool has_mechanism(std::string_view name) const noexcept;
    bool as_server() const noexcept { return octets_[32] != 0; }

private:
    const greeting_octets &octets_;
};

}  // namespace zlink
