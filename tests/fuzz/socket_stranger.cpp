// The choice of one target, as CMakeLists.txt gives it.
#include "socket_stranger.hpp"

const zlink::test::fuzzed_stranger zlink::test::stranger_of_target{ZLINK_FUZZ_STRANGER};
