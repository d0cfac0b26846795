/* Sends one message, to the server whose key it knows. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* Sets a key as the file has it: NAME = "40 characters". */
static int set_key(void *socket, int option, const char *path, const char *name) {
    char line[200], key[41] = "";
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        char *found = strstr(line, name);
        if (found)
            sscanf(found + strlen(name), " = \"%40[^\"]", key);
    }
    if (file)
        fclose(file);
    return zmq_setsockopt(socket, option, key, strlen(key));
}

int main(void) {
    void *context = zmq_ctx_new();
    void *client = zmq_socket(context, ZMQ_PUSH);
    if (set_key(client, ZMQ_CURVE_PUBLICKEY, "clients/alice.key_secret", "public-key") != 0 ||
        set_key(client, ZMQ_CURVE_SECRETKEY, "clients/alice.key_secret", "secret-key") != 0 ||
        set_key(client, ZMQ_CURVE_SERVERKEY, "server.key", "public-key") != 0)
        return 1;
    zmq_connect(client, "tcp://127.0.0.1:5561");
    zmq_send(client, "sealed", 6, 0);
    zmq_close(client);
    return zmq_ctx_term(context); /* waits until it is sent */
}
