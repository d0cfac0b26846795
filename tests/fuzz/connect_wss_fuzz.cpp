// Fuzz target: a socket connecting to wss, and a server that says anything, inside TLS, as a web server or in its place.
#include "tls_target.hpp"
#include "web_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    secure_fuzzed_sockets();
    address_of_fuzzed_sockets = "wss://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    fuzzed_socket &caller = speech.socket();
    raw_listener called;
    const std::string endpoint = "wss" + called.endpoint().substr(3);
    ZLINK_INVARIANT(zmq_connect(caller.handle(), endpoint.c_str()) == 0);
    raw_peer stranger = called.accept();
    ZLINK_INVARIANT(stranger.is_open());
    {
        stranger_of_tls inside(stranger, true);
        say_over_web(speech, caller.stranger(), inside, true);
    }
    caller.part_from(stranger);
    caller.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(caller.handle(), endpoint.c_str()) == 0 || zmq_errno() == ENOENT);
    return 0;
}
