// Fuzz targets of whole sockets, compiled once: one that is bound or connects, and a stranger that
// says anything. A target is this, and its choice in socket_stranger.cpp.
#include "socket_stranger.hpp"
#include "socket_target.hpp"
#ifdef ZLINK_WITH_TLS
#include "tls_target.hpp"
#endif
#include "web_target.hpp"

using namespace zlink::test;

namespace {

std::string scheme() {
    if (!stranger_of_target.speaks_tls)
        return "ws";
    return stranger_of_target.speaks_websocket ? "wss" : "tls";
}

void talk(const fuzzed_speech &speech, [[maybe_unused]] unsigned piece, raw_peer &stranger) {
    const bool is_server = !stranger_of_target.calls;
    ZLINK_INVARIANT(stranger.is_open());
    if (!stranger_of_target.speaks_tls)
        return say_over_web(speech, speech.socket().stranger(), stranger, is_server);
#ifdef ZLINK_WITH_TLS
    if (!stranger_of_target.speaks_websocket)
        return say_over_tls(speech, piece, stranger, is_server);
    stranger_of_tls inside(stranger, is_server);
    say_over_web(speech, speech.socket().stranger(), inside, is_server);
#endif
}

void fuzz_bound_socket_over_tcp(const fuzzed_speech &speech) {
    fuzzed_socket &fuzzed = speech.socket();
    raw_peer stranger(fuzzed.endpoint());
    talk(speech, speech.piece(), stranger);
    fuzzed.part_from(stranger);
    fuzzed.serve_honest_peer();
}

void fuzz_connecting_socket_over_tcp(const fuzzed_speech &speech) {
    fuzzed_socket &fuzzed = speech.socket();
    raw_listener called;
    const std::string endpoint = scheme() + called.endpoint().substr(3);
    ZLINK_INVARIANT(zmq_connect(fuzzed.handle(), endpoint.c_str()) == 0);
    raw_peer stranger = called.accept();
    talk(speech, speech.piece(), stranger);
    fuzzed.part_from(stranger);
    fuzzed.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(fuzzed.handle(), endpoint.c_str()) == 0 || zmq_errno() == ENOENT);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const fuzzed_stranger &target = stranger_of_target;
    if (!target.speaks_tls && !target.speaks_websocket) {
        (target.calls ? fuzz_bound_socket : fuzz_connecting_socket)(data, size, target.shakes_hands);
        return 0;
    }
    if (size < 2)
        return 0;
#ifdef ZLINK_WITH_TLS
    if (target.speaks_tls)
        secure_fuzzed_sockets();
#endif
    address_of_fuzzed_sockets = scheme() + "://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    (target.calls ? fuzz_bound_socket_over_tcp : fuzz_connecting_socket_over_tcp)(speech);
    return 0;
}
