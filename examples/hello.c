/* A message from a PUSH to a PULL over tcp, within one program.
 *
 * With the shared library, which the program finds again by its run path:
 *     cc -Iinclude examples/hello.c -o hello -Lbuild/release/lib -lzmq -Wl,-rpath,"$PWD/build/release/lib"
 * With the static library, where nothing of it has to be there when the program runs:
 *     cc -Iinclude -DZMQ_STATIC examples/hello.c -o hello build/release/lib/libzmq.a -lssl -lcrypto -lsodium -lstdc++ -lpthread
 */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static int give_up(const char *what) {
    fprintf(stderr, "hello: %s: %s\n", what, zmq_strerror(zmq_errno()));
    return 1;
}

int main(void) {
    const char *endpoint = "tcp://127.0.0.1:5555";
    const char *greeting = "hello";
    char body[16];
    int size;

    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);

    if (zmq_bind(pull, endpoint) != 0)
        return give_up("bind");
    if (zmq_connect(push, endpoint) != 0)
        return give_up("connect");

    if (zmq_send(push, greeting, strlen(greeting), 0) < 0)
        return give_up("send");
    size = zmq_recv(pull, body, sizeof body, 0); /* the size of the message, which may be more than body has room for */
    if (size < 0 || (size_t)size > sizeof body)
        return give_up("receive");
    printf("%.*s\n", size, body);

    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(context);
    return 0;
}
