// Takes secrets out of memory that is about to be given back or used again.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace zlink {

/// Writes zeros that no optimiser leaves out. Empty memory may stand nowhere, which
/// explicit_bzero(3) does not take.
inline void wipe_octets(std::span<std::uint8_t> octets) noexcept {
    if (!octets.empty())
        ::explicit_bzero(octets.data(), octets.size());
}

}  // namespace zlink
