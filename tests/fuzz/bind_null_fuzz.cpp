// Fuzz target: a bound socket, and a peer that says anything after a good NULL handshake.
#include "socket_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::fuzz_bound_socket(data, size, true);
    return 0;
}
