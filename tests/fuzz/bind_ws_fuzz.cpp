// Fuzz target: a socket bound to ws, and a client that says anything, as a web client or in its place.
#include "web_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    address_of_fuzzed_sockets = "ws://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    fuzzed_socket &listener = speech.socket();
    raw_peer stranger(listener.endpoint());
    ZLINK_INVARIANT(stranger.is_open());
    say_over_web(speech, listener.stranger(), stranger, false);
    listener.part_from(stranger);
    listener.serve_honest_peer();
    return 0;
}
