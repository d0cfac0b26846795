// Fuzz target: a socket bound to tls, and a client that says anything, inside TLS or in its place.
#include "tls_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    secure_fuzzed_sockets();
    const fuzzed_speech speech(data, size);
    fuzzed_socket &listener = speech.socket();
    raw_peer stranger(listener.endpoint());
    ZLINK_INVARIANT(stranger.is_open());
    say_over_tls(speech, data[1], stranger, false);
    listener.part_from(stranger);
    listener.serve_honest_peer();
    return 0;
}
