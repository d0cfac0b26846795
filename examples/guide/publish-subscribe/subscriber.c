/* Prints the weather. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* One part as a string, cut where it is too long. */
static int receive(void *socket, char *text, int room) {
    int size = zmq_recv(socket, text, room - 1, 0);
    text[size < 0 ? 0 : size < room ? size : room - 1] = 0;
    return size;
}

int main(void) {
    char topic[100], text[100];
    void *context = zmq_ctx_new();
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "weather", 7); /* all topics that begin so */
    zmq_connect(subscriber, "tcp://127.0.0.1:5556");
    while (receive(subscriber, topic, sizeof topic) >= 0 &&
           receive(subscriber, text, sizeof text) >= 0 && strcmp(text, "end") != 0)
        printf("%s %s\n", topic, text);
    zmq_close(subscriber);
    return zmq_ctx_term(context);
}
