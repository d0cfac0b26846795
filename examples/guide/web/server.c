/* Echoes what a browser, or anybody, sends over WebSocket. */
#include <zmq.h>

int main(void) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    void *context = zmq_ctx_new();
    void *server = zmq_socket(context, ZMQ_ROUTER);
    if (zmq_bind(server, "ws://127.0.0.1:5569/echo") != 0)
        return 1;
    while (zmq_msg_recv(&part, server, 0) >= 0)
        zmq_msg_send(&part, server, zmq_msg_more(&part) ? ZMQ_SNDMORE : 0);
    return 1;
}
