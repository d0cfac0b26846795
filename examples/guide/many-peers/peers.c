/* A router with a hundred peers: who is there, and how much waits for each. */
#include <stdio.h>
#include <zmq.h>

static int count(void *arg, const zlink_peer_t *peer, size_t size) {
    (void)size;
    *(int *)arg += peer->state == ZLINK_PEER_READY && peer->routing_id_size > 0;
    return 0; /* go on */
}

int main(void) {
    enum { CLIENTS = 100 };
    int beat = 5000, longest = 10000, ready = 0;
    void *context = zmq_ctx_new(), *client[CLIENTS];
    zmq_ctx_set(context, ZMQ_IO_THREADS, 2); /* before the first socket */
    void *router = zmq_socket(context, ZMQ_ROUTER);
    zmq_setsockopt(router, ZMQ_HEARTBEAT_IVL, &beat, sizeof beat); /* finds those that vanished */
    if (zmq_bind(router, "ipc://many.sock") != 0)
        return 1;

    for (int i = 0; i < CLIENTS; ++i) {
        char name[20];
        int size = snprintf(name, sizeof name, "client %d", i);
        client[i] = zmq_socket(context, ZMQ_DEALER);
        zmq_setsockopt(client[i], ZMQ_ROUTING_ID, name, size);
        zmq_setsockopt(client[i], ZMQ_RECONNECT_IVL_MAX, &longest, sizeof longest);
        zmq_connect(client[i], "ipc://many.sock");
        zmq_send(client[i], "here", 4, 0);
    }
    for (int parts = 0; parts < 2 * CLIENTS; ++parts) /* the name, and "here" */
        zmq_recv(router, NULL, 0, 0);
    int shown = zlink_peers(router, count, &ready);
    printf("%d peers, %d of them are there\n", shown, ready);

    for (int i = 0; i < CLIENTS; ++i)
        zmq_close(client[i]);
    zmq_close(router);
    return zmq_ctx_term(context);
}
