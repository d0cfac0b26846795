/* Says how long words are. Its first request it forgets, as a server does that is started anew. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *server = zmq_socket(context, ZMQ_ROUTER);
    if (zmq_bind(server, "tcp://127.0.0.1:5558") != 0)
        return 1;
    for (int is_first = 1;; is_first = 0) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        while (zmq_msg_recv(&part, server, 0) >= 0 && zmq_msg_more(&part))
            if (!is_first)
                zmq_msg_send(&part, server, ZMQ_SNDMORE); /* the envelope goes back */
        char answer[20];
        int size = snprintf(answer, sizeof answer, "%zu", zmq_msg_size(&part));
        if (!is_first)
            zmq_send(server, answer, size, 0);
        zmq_msg_close(&part);
    }
}
