// Fuzz target: a socket connecting to ws, and a server that says anything, as a web server or in its place.
#include "web_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace zlink::test;
    if (size < 2)
        return 0;
    address_of_fuzzed_sockets = "ws://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    fuzzed_socket &caller = speech.socket();
    raw_listener called;
    const std::string endpoint = "ws" + called.endpoint().substr(3);
    ZLINK_INVARIANT(zmq_connect(caller.handle(), endpoint.c_str()) == 0);
    raw_peer stranger = called.accept();
    ZLINK_INVARIANT(stranger.is_open());
    say_over_web(speech, caller.stranger(), stranger, true);
    caller.part_from(stranger);
    caller.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(caller.handle(), endpoint.c_str()) == 0 || zmq_errno() == ENOENT);
    return 0;
}
