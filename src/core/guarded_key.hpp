// A secret of 32 octets that lasts as long as an option or a policy has it, on pages of its own
// (sodium_malloc): between pages that nobody may touch, not written any more, not in a core, and
// not in a swap file where the process may lock that much (RLIMIT_MEMLOCK).
//
// Wiped:    when it goes.
// Threads:  any may read it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"

namespace zlink {

class guarded_key {
public:
    static constexpr std::size_t size = 32;

    /// `octets`: so many. Throws bad_alloc where there is no such memory, or libsodium does not
    /// start.
    explicit guarded_key(byte_span octets);
    ~guarded_key();
    guarded_key(const guarded_key &) = delete;
    guarded_key &operator=(const guarded_key &) = delete;

    const std::uint8_t *data() const noexcept { return octets_; }

private:
    std::uint8_t *const octets_;
};

}  // namespace zlink
