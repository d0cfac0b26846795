/* Answers requests until it is told to end (kill, Ctrl-C); then those that have come already. */
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <zmq.h>

static int answer(void *server, int flags) {
    char request[100];
    int size = zmq_recv(server, request, sizeof request, flags);
    if (size < 0)
        return 0;
    return zmq_send(server, "done", 4, 0) == 4;
}

int main(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are other threads, which inherit it */
    int told = signalfd(-1, &signals, SFD_CLOEXEC);

    void *context = zmq_ctx_new();
    void *server = zmq_socket(context, ZMQ_REP);
    if (zmq_bind(server, "tcp://127.0.0.1:5559") != 0)
        return 1;
    zmq_pollitem_t items[] = {{server, 0, ZMQ_POLLIN, 0}, {NULL, told, ZMQ_POLLIN, 0}};
    int answered = 0;
    while (zmq_poll(items, 2, -1) > 0 && !items[1].revents)
        answered += answer(server, ZMQ_DONTWAIT);

    while (answer(server, ZMQ_DONTWAIT)) /* what has come meanwhile */
        ++answered;
    zmq_close(server);
    zmq_ctx_term(context); /* waits until the answers are sent */
    printf("%d answered\n", answered);
    return 0;
}
