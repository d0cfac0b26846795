/* Takes one message, of those whose keys are in the folder `clients`. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* A key as the file has it: NAME = "40 characters". Else "". */
static void read_key(const char *path, const char *name, char key[41]) {
    char line[200];
    FILE *file = fopen(path, "r");
    *key = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *found = strstr(line, name);
        if (found)
            sscanf(found + strlen(name), " = \"%40[^\"]", key);
    }
    if (file)
        fclose(file);
}

static int is_known(const char *shown) {
    char path[300], key[41];
    int found = 0;
    DIR *folder = opendir("clients");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".key") != 0)
            continue;
        snprintf(path, sizeof path, "clients/%s", entry->d_name);
        read_key(path, "public-key", key);
        found |= strcmp(key, shown) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Is asked about each client (RFC 27), until it is told to end by a message of one part. */
static void *judge(void *handler) {
    for (;;) {
        char part[7][256] = {{0}}, shown[41];
        int size[7] = {0}, count = 0, more;
        size_t room = sizeof more;
        do {
            size[count] = zmq_recv(handler, part[count], sizeof part[count], 0);
            if (size[count] < 0 || size[count] > 255)
                return NULL;
            zmq_getsockopt(handler, ZMQ_RCVMORE, &more, &room);
        } while (++count < 7 && more);
        if (count < 7)
            return NULL;
        /* version, number, domain, address, routing id, mechanism, key */
        int is_good = strcmp(part[5], "CURVE") == 0 && size[6] == 32 &&
                      zmq_z85_encode(shown, (const unsigned char *)part[6], 32) && is_known(shown);
        zmq_send(handler, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(handler, part[1], size[1], ZMQ_SNDMORE);
        zmq_send(handler, is_good ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send(handler, "", 0, ZMQ_SNDMORE);                   /* why */
        zmq_send(handler, shown, is_good ? 40 : 0, ZMQ_SNDMORE); /* the user */
        zmq_send(handler, "", 0, 0);                             /* properties */
    }
}

int main(void) {
    pthread_t thread;
    char secret[41], text[100];
    int on = 1;
    void *context = zmq_ctx_new();
    void *handler = zmq_socket(context, ZMQ_REP);
    zmq_bind(handler, "inproc://zeromq.zap.01");
    pthread_create(&thread, NULL, judge, handler); /* the socket is that thread's now */

    void *server = zmq_socket(context, ZMQ_PULL);
    read_key("server.key_secret", "secret-key", secret);
    zmq_setsockopt(server, ZMQ_CURVE_SERVER, &on, sizeof on);
    zmq_setsockopt(server, ZMQ_CURVE_SECRETKEY, secret, strlen(secret));
    if (zmq_bind(server, "tcp://127.0.0.1:5561") != 0)
        return 1;
    int size = zmq_recv(server, text, sizeof text, 0);
    if (size >= 0 && size <= (int)sizeof text)
        printf("%.*s\n", size, text);
    zmq_close(server);

    void *end = zmq_socket(context, ZMQ_REQ);
    zmq_connect(end, "inproc://zeromq.zap.01");
    zmq_send(end, "end", 3, 0);
    pthread_join(thread, NULL);
    zmq_close(handler);
    zmq_close(end);
    return zmq_ctx_term(context);
}
