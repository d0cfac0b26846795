// Fuzz target: a socket bound to wss, and a client that says anything, inside TLS, as a web client or in its place.
#include "tls_target.hpp"
#include "web_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    secure_fuzzed_sockets();
    address_of_fuzzed_sockets = "wss://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    fuzzed_socket &listener = speech.socket();
    raw_peer stranger(listener.endpoint());
    ZLINK_INVARIANT(stranger.is_open());
    {
        stranger_of_tls inside(stranger, false);
        say_over_web(speech, listener.stranger(), inside, false);
    }
    listener.part_from(stranger);
    listener.serve_honest_peer();
    return 0;
}
