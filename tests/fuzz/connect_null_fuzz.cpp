// Fuzz target: a connecting socket, and a server that says anything after a good NULL handshake.
#include "socket_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::fuzz_connecting_socket(data, size, true);
    return 0;
}
