/* Asks another thread, with NNG. */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/supplemental/util/platform.h>
#include <stdio.h>

static void serve(void *arg) {
    char body[100];
    size_t size = sizeof body;
    if (nng_recv(*(nng_socket *)arg, body, &size, 0) == 0)
        nng_send(*(nng_socket *)arg, body, size, 0);
}

int main(void) {
    nng_socket server, client;
    nng_thread *thread;
    char body[100];
    size_t size = sizeof body;
    nng_rep0_open(&server);
    nng_req0_open(&client);
    nng_socket_set_ms(client, NNG_OPT_RECVTIMEO, 5000);
    if (nng_listen(server, "tcp://127.0.0.1:5574", NULL, 0) != 0)
        return 1;
    nng_thread_create(&thread, serve, &server);
    nng_dial(client, "tcp://127.0.0.1:5574", NULL, 0);

    nng_send(client, "anybody there?", 14, 0);
    if (nng_recv(client, body, &size, 0) == 0)
        printf("%.*s\n", (int)size, body);
    nng_thread_destroy(thread);
    nng_close(client);
    nng_close(server);
    return 0;
}
