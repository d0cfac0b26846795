// Fuzz target: a bound socket, and a peer that connects and says anything.
#include "socket_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::fuzz_bound_socket(data, size, false);
    return 0;
}
