/* A socket in a loop that somebody else has written, here of epoll. */
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

static int has_input(void *socket) {
    int events;
    size_t size = sizeof events;
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) == 0 && (events & ZMQ_POLLIN);
}

int main(void) {
    void *context = zmq_ctx_new();
    void *jobs = zmq_socket(context, ZMQ_PULL);
    if (zmq_bind(jobs, "tcp://127.0.0.1:5567") != 0)
        return 1;

    int descriptor, loop = epoll_create1(EPOLL_CLOEXEC);
    size_t size = sizeof descriptor;
    zmq_getsockopt(jobs, ZMQ_FD, &descriptor, &size);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);

    for (int got = 0; got < 3;) {
        while (has_input(jobs)) { /* to the end: the descriptor tells of news only */
            char job[100];
            int length = zmq_recv(jobs, job, sizeof job, ZMQ_DONTWAIT);
            if (length < 0 || length > (int)sizeof job)
                continue;
            printf("job %.*s\n", length, job);
            ++got;
        }
        if (got < 3)
            epoll_wait(loop, &event, 1, -1); /* the loop's own wait, for all that it has */
    }
    close(loop); /* before the descriptor goes with its socket */
    zmq_close(jobs);
    return zmq_ctx_term(context);
}
