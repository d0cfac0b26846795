// Says how often a test repeats what takes ThreadSanitizer long.
//
// The other builds do the whole, and so does `make test-long`: ZLINK_TESTS_WHOLE in the environment
// asks for it.
#pragma once

#include <cstdlib>

namespace zlink_test {

/// The whole of a test's rounds or octets, or the part that is enough to find threads at odds.
template <class Amount>
Amount effort(Amount whole, [[maybe_unused]] Amount part) {
#ifdef __SANITIZE_THREAD__
    static const bool is_whole = std::getenv("ZLINK_TESTS_WHOLE") != nullptr;
    return is_whole ? whole : part;
#else
    return whole;
#endif
}

}  // namespace zlink_test
