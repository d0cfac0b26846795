/* Makes a pair of CURVE keys and prints both, as libzmq's program of this name does. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    char public_key[41], secret_key[41];
    if (zmq_curve_keypair(public_key, secret_key) != 0) {
        fprintf(stderr, "curve_keygen: no keys: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    puts("A new pair of CURVE keys, each as 40 characters of Z85 (RFC 32), to stand in\n"
         "a program or in a file. Give the public key to those who are to know this\n"
         "side, by a way that they can trust. Keep the secret key to this side: who\n"
         "has it can pass for it.\n"
         "\n"
         "== CURVE PUBLIC KEY ==");
    puts(public_key);
    puts("\n== CURVE SECRET KEY ==");
    puts(secret_key);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
