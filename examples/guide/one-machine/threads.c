/* Two threads that share nothing but a context: no locks. */
#include <pthread.h>
#include <stdio.h>
#include <zmq.h>

static void *square(void *context) {
    void *work = zmq_socket(context, ZMQ_REP); /* a socket belongs to one thread */
    int number;
    zmq_connect(work, "inproc://squares");
    while (zmq_recv(work, &number, sizeof number, 0) == sizeof number) {
        number *= number;
        zmq_send(work, &number, sizeof number, 0);
    }
    zmq_close(work); /* an empty message, or ETERM: the end */
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *context = zmq_ctx_new();
    void *ask = zmq_socket(context, ZMQ_REQ);
    zmq_bind(ask, "inproc://squares"); /* whoever asks may bind, too */
    pthread_create(&thread, NULL, square, context);

    int number = 12;
    zmq_send(ask, &number, sizeof number, 0);
    zmq_recv(ask, &number, sizeof number, 0);
    printf("%d\n", number);
    zmq_close(ask);
    zmq_ctx_term(context); /* the thread's receive fails with ETERM, and it closes its socket */
    return pthread_join(thread, NULL);
}
