/* A publisher that says which of its subscribers are too slow. */
#include <stdio.h>
#include <zmq.h>

static int show(void *arg, const zlink_peer_t *peer, size_t size) {
    (void)arg, (void)size;
    if (peer->dropped_hwm > 0)
        printf("%llu lost, %llu wait: %s\n", (unsigned long long)peer->dropped_hwm,
               (unsigned long long)peer->queued_out,
               *peer->address ? peer->address : "a thread of this program");
    return 0; /* go on */
}

static void *subscribe(void *context, int mark) {
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(subscriber, ZMQ_RCVHWM, &mark, sizeof mark);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "", 0);
    zmq_connect(subscriber, "inproc://news");
    return subscriber;
}

int main(void) {
    int on = 1, mark = 100;
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_XPUB);
    zmq_setsockopt(publisher, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(publisher, ZMQ_XPUB_VERBOSE, &on, sizeof on);
    zmq_bind(publisher, "inproc://news");
    void *quick = subscribe(context, 1000), *slow = subscribe(context, 10);
    zmq_recv(publisher, NULL, 0, 0); /* both are there */
    zmq_recv(publisher, NULL, 0, 0);

    for (int i = 0; i < 200; ++i)
        zmq_send(publisher, "news", 4, 0);
    zlink_peers(publisher, show, NULL);

    zmq_close(quick);
    zmq_close(slow);
    zmq_close(publisher);
    return zmq_ctx_term(context);
}
