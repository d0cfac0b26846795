/* A publisher that tells each newcomer what was said last. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static const struct {
    const char *topic, *value;
} latest[] = {{"rate.eur", "1.08"}, {"rate.gbp", "1.27"}};

int main(void) {
    int on = 1;
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_XPUB);
    zmq_setsockopt(publisher, ZMQ_XPUB_VERBOSE, &on, sizeof on); /* each one, not only new topics */
    if (zmq_bind(publisher, "tcp://127.0.0.1:5557") != 0)
        return 1;

    void *subscriber = zmq_socket(context, ZMQ_SUB); /* mostly in another program */
    zmq_connect(subscriber, "tcp://127.0.0.1:5557");
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "rate.eur", 8);

    char notice[100]; /* 1 and the topic, or 0 and the topic where a subscription ends */
    int size = zmq_recv(publisher, notice, sizeof notice - 1, 0);
    if (size < 1 || size > (int)sizeof notice - 1)
        return 1;
    notice[size] = 0;
    for (int i = 0; i < 2; ++i)
        if (notice[0] == 1 && strcmp(notice + 1, latest[i].topic) == 0) {
            zmq_send(publisher, latest[i].topic, strlen(latest[i].topic), ZMQ_SNDMORE);
            zmq_send(publisher, latest[i].value, strlen(latest[i].value), 0);
        }

    char value[20];
    size = zmq_recv(subscriber, notice, sizeof notice, 0);
    int length = zmq_recv(subscriber, value, sizeof value, 0);
    if (size < 0 || size > (int)sizeof notice || length < 0 || length > (int)sizeof value)
        return 1;
    printf("%.*s %.*s\n", size, notice, length, value);
    zmq_close(subscriber);
    zmq_close(publisher);
    return zmq_ctx_term(context);
}
