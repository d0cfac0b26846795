/* Publishes the weather, once somebody has subscribed. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static void publish(void *publisher, const char *topic, const char *text) {
    zmq_send(publisher, topic, strlen(topic), ZMQ_SNDMORE); /* two parts, one message */
    zmq_send(publisher, text, strlen(text), 0);
}

int main(void) {
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_XPUB); /* a PUB that hears of subscriptions */
    if (zmq_bind(publisher, "tcp://127.0.0.1:5556") != 0) {
        fprintf(stderr, "publisher: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    char notice[100]; /* 1 and the topic */
    if (zmq_recv(publisher, notice, sizeof notice, 0) < 0)
        return 1;
    publish(publisher, "weather.oslo", "snow");
    publish(publisher, "traffic", "dense");
    publish(publisher, "weather.rome", "sun");
    publish(publisher, "weather", "end");
    zmq_close(publisher);
    return zmq_ctx_term(context); /* waits until all is sent */
}
