// Fuzz target: a socket connecting to tls, and a server that says anything, inside TLS or in its place.
#include "tls_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    secure_fuzzed_sockets();
    const fuzzed_speech speech(data, size);
    fuzzed_socket &caller = speech.socket();
    raw_listener called;
    const std::string endpoint = "tls" + called.endpoint().substr(3);
    ZLINK_INVARIANT(zmq_connect(caller.handle(), endpoint.c_str()) == 0);
    raw_peer stranger = called.accept();
    ZLINK_INVARIANT(stranger.is_open());
    say_over_tls(speech, data[1], stranger, true);
    caller.part_from(stranger);
    caller.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(caller.handle(), endpoint.c_str()) == 0 || zmq_errno() == ENOENT);
    return 0;
}
