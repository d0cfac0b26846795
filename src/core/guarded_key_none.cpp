// In place of guarded_key.cpp where libsodium is not built in. Nothing makes use of such a key
// there, and its octets stand with the secrets of connections.
#include "core/guarded_key.hpp"

#include <cstring>

#include "core/invariant.hpp"
#include "core/secret_arena.hpp"

namespace zlink {

guarded_key::guarded_key(byte_span octets) : octets_(secret_arena::take(1)) {
    static_assert(size == secret_arena::unit);
    ZLINK_INVARIANT(octets.size() == size);
    std::memcpy(octets_, octets.data(), size);
}

guarded_key::~guarded_key() { secret_arena::give_back(octets_, 1); }

}  // namespace zlink
