/* Opens the library, has messages go over its transports, closes it and does so again: a program that loads plugins. Prints what went, and
 * whether the library stays where it is in memory.
 *
 * Usage: reopened LIBRARY [DIRECTORY]      DIRECTORY holds cert.pem and key.pem; without it nothing goes over tls */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define MESSAGES 100

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found)
        fail(name);
    return found;
}

/* A function of the library, by the type that zmq.h gives it. */
#define CALL(name) ((__typeof__(&name))symbol(library, #name))

static void set_text(void *library, void *socket, int option, const char *directory, const char *file) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (CALL(zmq_setsockopt)(socket, option, path, strlen(path)) != 0)
        fail("zmq_setsockopt");
}

static void protect(void *library, const char *kind, void *pull, void *push, const char *directory) {
    char public_key[41], secret_key[41], own_public[41], own_secret[41];
    const int one = 1;
    if (strcmp(kind, "curve") == 0) {
        if (CALL(zmq_curve_keypair)(public_key, secret_key) != 0 ||
            CALL(zmq_curve_keypair)(own_public, own_secret) != 0)
            fail("zmq_curve_keypair");
        CALL(zmq_setsockopt)(pull, ZMQ_CURVE_SERVER, &one, sizeof one);
        CALL(zmq_setsockopt)(pull, ZMQ_CURVE_SECRETKEY, secret_key, 41);
        CALL(zmq_setsockopt)(push, ZMQ_CURVE_SERVERKEY, public_key, 41);
        CALL(zmq_setsockopt)(push, ZMQ_CURVE_PUBLICKEY, own_public, 41);
        CALL(zmq_setsockopt)(push, ZMQ_CURVE_SECRETKEY, own_secret, 41);
    }
    if (strcmp(kind, "tls") == 0) {
        set_text(library, pull, ZMQ_TLS_CERT, directory, "cert.pem");
        set_text(library, pull, ZMQ_TLS_KEY, directory, "key.pem");
        set_text(library, push, ZMQ_TLS_CA, directory, "cert.pem");
    }
}

static void exchange(void *library, const char *kind, const char *endpoint, const char *directory) {
    void *context = CALL(zmq_ctx_new)();
    void *pull = CALL(zmq_socket)(context, ZMQ_PULL);
    void *push = CALL(zmq_socket)(context, ZMQ_PUSH);
    const int patience = 60000;
    char where[256];
    size_t size = sizeof where;
    int i, got;
    CALL(zmq_setsockopt)(pull, ZMQ_RCVTIMEO, &patience, sizeof patience);
    protect(library, kind, pull, push, directory);
    if (CALL(zmq_bind)(pull, endpoint) != 0 ||
        CALL(zmq_getsockopt)(pull, ZMQ_LAST_ENDPOINT, where, &size) != 0 ||
        CALL(zmq_connect)(push, where) != 0)
        fail(CALL(zmq_strerror)(CALL(zmq_errno)()));
    for (i = 0; i < MESSAGES; ++i)
        if (CALL(zmq_send)(push, &i, sizeof i, 0) != (int)sizeof i)
            fail("zmq_send");
    for (i = 0; i < MESSAGES; ++i)
        if (CALL(zmq_recv)(pull, &got, sizeof got, 0) != (int)sizeof got || got != i)
            fail("zmq_recv");
    if (CALL(zmq_close)(pull) != 0 || CALL(zmq_close)(push) != 0 || CALL(zmq_ctx_term)(context) != 0)
        fail("the end");
    printf("%s ", kind);
}

int main(int count, char **arguments) {
    int round;
    if (count < 2)
        return 2;
    for (round = 0; round < 3; ++round) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail(dlerror());
        exchange(library, "tcp", "tcp://127.0.0.1:*", NULL);
        exchange(library, "ipc", "ipc://*", NULL);
        exchange(library, "inproc", "inproc://here", NULL);
        if (CALL(zmq_has)("curve"))
            exchange(library, "curve", "tcp://127.0.0.1:*", NULL);
        if (count > 2)
            exchange(library, "tls", "tls://127.0.0.1:*", arguments[2]);
        if (dlclose(library) != 0)
            fail("dlclose");
    }
    /* Whether the code is still there after the last dlclose. */
    printf("- %s\n", dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) ? "stays" : "goes");
    return 0;
}
