#!/bin/bash
# zlink-libzmq3-dev: a program compiled with pkg-config asks itself, and is zlink's
set -euo pipefail
cd "$(mktemp -d)"
cat > program.c << 'END'
#include <string.h>
#include <zmq.h>
int main(void) {
    char got[3] = "";
    void *context = zmq_ctx_new();
    void *server = zmq_socket(context, ZMQ_REP), *client = zmq_socket(context, ZMQ_REQ);
    zmq_bind(server, "inproc://here");
    zmq_connect(client, "inproc://here");
    zmq_send(client, "hi", 2, 0);
    zmq_recv(server, got, 2, 0);
    zmq_close(server);
    zmq_close(client);
    zmq_ctx_term(context);
    return strcmp(got, "hi") != 0 || !zmq_has("tls");
}
END
cc program.c -o program $(pkg-config --cflags --libs libzmq)
./program
