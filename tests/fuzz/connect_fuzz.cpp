// Fuzz target: a connecting socket, and a server that says anything.
#include "socket_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::fuzz_connecting_socket(data, size, false);
    return 0;
}
