// Fuzz targets of whole sockets, ten from one source (CMakeLists.txt): one that is bound or
// connects, and a stranger that says anything.
//
// ZLINK_FUZZ_BINDS       whether the socket is bound and the stranger the client, or it connects
// ZLINK_FUZZ_HANDSHAKE   over ipc: whether what is made up comes after a good NULL handshake
// ZLINK_FUZZ_TLS         the stranger speaks inside TLS or in its place
// ZLINK_FUZZ_WEB         the stranger speaks as a web client or server, or in its place; with
//                        ZLINK_FUZZ_TLS, inside TLS
#include "socket_target.hpp"
#if ZLINK_FUZZ_TLS
#include "tls_target.hpp"
#endif
#if ZLINK_FUZZ_WEB
#include "web_target.hpp"
#endif

using namespace zlink::test;

#if ZLINK_FUZZ_TLS || ZLINK_FUZZ_WEB

namespace {

#if !ZLINK_FUZZ_TLS
const std::string scheme = "ws";
#elif ZLINK_FUZZ_WEB
const std::string scheme = "wss";
#else
const std::string scheme = "tls";
#endif

void talk(const fuzzed_speech &speech, [[maybe_unused]] unsigned piece, raw_peer &stranger) {
    constexpr bool is_server = !ZLINK_FUZZ_BINDS;
    ZLINK_INVARIANT(stranger.is_open());
#if !ZLINK_FUZZ_WEB
    say_over_tls(speech, piece, stranger, is_server);
#elif ZLINK_FUZZ_TLS
    stranger_of_tls inside(stranger, is_server);
    say_over_web(speech, speech.socket().stranger(), inside, is_server);
#else
    say_over_web(speech, speech.socket().stranger(), stranger, is_server);
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size < 2)
        return 0;
#if ZLINK_FUZZ_TLS
    secure_fuzzed_sockets();
#endif
    address_of_fuzzed_sockets = scheme + "://127.0.0.1:*";
    const fuzzed_speech speech(data, size);
    fuzzed_socket &fuzzed = speech.socket();
#if ZLINK_FUZZ_BINDS
    raw_peer stranger(fuzzed.endpoint());
    talk(speech, data[1], stranger);
    fuzzed.part_from(stranger);
    fuzzed.serve_honest_peer();
#else
    raw_listener called;
    const std::string endpoint = scheme + called.endpoint().substr(3);
    ZLINK_INVARIANT(zmq_connect(fuzzed.handle(), endpoint.c_str()) == 0);
    raw_peer stranger = called.accept();
    talk(speech, data[1], stranger);
    fuzzed.part_from(stranger);
    fuzzed.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(fuzzed.handle(), endpoint.c_str()) == 0 || zmq_errno() == ENOENT);
#endif
    return 0;
}

#else

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
#if ZLINK_FUZZ_BINDS
    fuzz_bound_socket(data, size, ZLINK_FUZZ_HANDSHAKE);
#else
    fuzz_connecting_socket(data, size, ZLINK_FUZZ_HANDSHAKE);
#endif
    return 0;
}

#endif
