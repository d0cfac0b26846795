/* What docs/steering.md shows: waits for peers, limits in octets, drains a socket, hears of slow peers and is rid of them, and
 * waits in a loop of its own.
 *
 *     cc -Iinclude examples/steering.c -o steering -Lbuild/release/lib -lzmq -Wl,-rpath,"$PWD/build/release/lib"
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void check(int is_well, const char *what) {
    if (!is_well) {
        fprintf(stderr, "steering: %s: %s\n", what, zmq_strerror(zmq_errno()));
        exit(1);
    }
}

static void start(void *publisher) {
    if (zlink_wait_ready(publisher, ZLINK_READY_SUBSCRIBERS, 2, 5000) != 0)
        fprintf(stderr, "not all are here: %s\n", zmq_strerror(zmq_errno()));
    zmq_send(publisher, "first", 5, 0);
}

static void limit(void *publisher) {
    uint64_t octets = 64 * 1024 * 1024;
    int rule = ZLINK_SLOW_PEER_DISCONNECT;
    zmq_setsockopt(publisher, ZLINK_SNDHWM_BYTES, &octets, sizeof octets);
    zmq_setsockopt(publisher, ZLINK_SLOW_PEER, &rule, sizeof rule);
}

static void tell_slow(void *events) {
    const char *names[] = {"endpoint", "address", "routing id", "user"};
    unsigned char head[6], name[256];
    uint16_t event;
    uint32_t lost;
    int i;
    if (zmq_recv(events, head, sizeof head, ZMQ_DONTWAIT) != sizeof head)
        return;
    memcpy(&event, head, sizeof event);
    memcpy(&lost, head + sizeof event, sizeof lost);
    if (event == ZLINK_EVENT_SLOW_PEER)
        printf("a slow peer has lost %" PRIu32, lost);
    for (i = 0; i < 4; ++i) {
        int size = zmq_recv(events, name, sizeof name, 0);
        if (size > 0)
            printf(", %s %.*s", names[i], size, (const char *)name);
    }
    printf("\n");
}

static int take_tasks(void *pull) {
    struct pollfd item = {-1, POLLIN, 0};
    size_t size = sizeof item.fd;
    char task[256];
    int taken = 0;
    zmq_getsockopt(pull, ZLINK_EVENT_FD, &item.fd, &size);
    while (poll(&item, 1, 50) == 1) /* returns again while there is a message */
        if (zmq_recv(pull, task, sizeof task, ZMQ_DONTWAIT) >= 0)
            ++taken;
    return taken;
}

static void stop(void *push) {
    zlink_drain_t result;
    int no_linger = 0;
    if (zlink_drain(push, 2000, &result, sizeof result) != 0)
        printf("%" PRIu64 " unsent\n", result.left);
    printf("%" PRIu64 " lost\n", result.lost);
    zmq_setsockopt(push, ZMQ_LINGER, &no_linger, sizeof no_linger);
    zmq_close(push);
}

static int find_worst(void *arg, const zlink_peer_t *peer, size_t size) {
    zlink_peer_t *worst = arg;
    (void)size;
    if (peer->dropped_hwm >= worst->dropped_hwm)
        *worst = *peer; /* its strings are gone afterwards, its numbers are not */
    return 0;
}

static void cut_worst(void *publisher) {
    zlink_peer_t worst = {0};
    zlink_peers(publisher, find_worst, &worst);
    if (zlink_disconnect(publisher, worst.id) != 0)
        fprintf(stderr, "it has gone by itself\n");
}

int main(void) {
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_PUB), *push = zmq_socket(context, ZMQ_PUSH);
    void *pull = zmq_socket(context, ZMQ_PULL), *subscribers[2], *events = zmq_socket(context, ZMQ_PAIR);
    char body[16];
    int i;

    limit(publisher);
    check(zmq_socket_monitor(publisher, "inproc://events", ZLINK_EVENT_SLOW_PEERS) == 0, "monitor");
    check(zmq_connect(events, "inproc://events") == 0, "connect");
    check(zmq_bind(publisher, "inproc://news") == 0 && zmq_bind(pull, "inproc://work") == 0, "bind");
    for (i = 0; i < 2; ++i) {
        subscribers[i] = zmq_socket(context, ZMQ_SUB);
        check(zmq_setsockopt(subscribers[i], ZMQ_SUBSCRIBE, "", 0) == 0, "subscribe");
        check(zmq_connect(subscribers[i], "inproc://news") == 0, "connect");
    }
    start(publisher);
    for (i = 0; i < 2; ++i)
        check(zmq_recv(subscribers[i], body, sizeof body, 0) == 5, "receive");
    tell_slow(events);
    cut_worst(publisher);

    check(zmq_connect(push, "inproc://work") == 0, "connect");
    for (i = 0; i < 3; ++i)
        check(zmq_send(push, "task", 4, 0) == 4, "send");
    check(take_tasks(pull) == 3, "take");
    stop(push);

    for (i = 0; i < 2; ++i)
        zmq_close(subscribers[i]);
    zmq_close(pull);
    zmq_close(events);
    zmq_close(publisher);
    zmq_ctx_term(context);
    return 0;
}
