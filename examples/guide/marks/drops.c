/* A publisher does not wait: what a slow subscriber has no room for is lost, and counted. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    int mark = 10;
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_XPUB);
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(publisher, ZMQ_SNDHWM, &mark, sizeof mark);
    zmq_setsockopt(subscriber, ZMQ_RCVHWM, &mark, sizeof mark);
    zmq_bind(publisher, "inproc://news");
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "", 0);
    zmq_connect(subscriber, "inproc://news");
    zmq_recv(publisher, NULL, 0, 0); /* the subscription has come */

    for (int i = 0; i < 50; ++i)
        zmq_send(publisher, "news", 4, 0); /* succeeds each time */

    zlink_stats_t stats;
    zlink_stats(publisher, &stats, sizeof stats);
    printf("%llu sent, %llu lost\n", (unsigned long long)stats.messages_sent,
           (unsigned long long)stats.dropped_hwm);

    zmq_close(publisher);
    zmq_close(subscriber);
    return zmq_ctx_term(context);
}
