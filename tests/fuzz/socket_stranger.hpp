// Which of the fuzz targets of whole sockets a program is: what the socket does, and what the
// stranger speaks.
#pragma once

namespace zlink::test {

struct fuzzed_stranger {
    bool calls;             // and the socket is bound; else the socket connects to the stranger
    bool shakes_hands;      // over ipc: what is made up comes after a good NULL handshake
    bool speaks_tls;        // or speaks in its place
    bool speaks_websocket;  // or speaks in its place; with TLS, inside it
};

extern const fuzzed_stranger stranger_of_target;

}  // namespace zlink::test
