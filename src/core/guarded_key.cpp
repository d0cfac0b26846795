// Memory of libsodium's for one key. See guarded_key.hpp.
#include "core/guarded_key.hpp"

#include <cstring>
#include <new>
#include <sodium.h>

#include "core/invariant.hpp"
#include "core/sodium.hpp"

namespace zlink {

namespace {

/// It begins with sodium_init(), behind which such memory may be asked for.
std::uint8_t *take_pages() {
    void *const taken = begin_sodium() ? sodium_malloc(guarded_key::size) : nullptr;
    if (!taken)
        throw std::bad_alloc();
    return static_cast<std::uint8_t *>(taken);
}

}  // namespace

guarded_key::guarded_key(byte_span octets) : octets_(take_pages()) {
    ZLINK_INVARIANT(octets.size() == size);
    std::memcpy(octets_, octets.data(), size);
    (void)sodium_mprotect_readonly(octets_);
}

guarded_key::~guarded_key() { sodium_free(octets_); }

}  // namespace zlink
