// OpenSSL is taken down while the library's threads are at work in it: at exit(), where the program
// has initialised it itself, or because the program says so.
//
// Method: a child of fork for each. The parent has initialised OpenSSL, for certificates, and makes
//         no context.
// Leaks:  what OpenSSL keeps for a thread that ends when it is over is lost: nobody looks for it
//         where contexts are terminated behind.
#include "certificates.hpp"
#include "children.hpp"
#include "sockets.hpp"
#include "transports.hpp"

#include <atomic>
#include <cstdlib>
#include <openssl/crypto.h>
#include <thread>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace {

using namespace zlink_test;

constexpr int exits = may_fork_in_the_middle ? 20 : 5;

/// One that is still there at exit(). Who holds it the sanitizer does not see.
void *context_for_ever() {
#ifdef __SANITIZE_ADDRESS__
    const __lsan::ScopedDisabler not_lost;
#endif
    return zmq_ctx_new();
}

/// A PULL that listens.
struct server {
    explicit server(void *context, const char *endpoint) : socket(zmq_socket(context, ZMQ_PULL)) {
        must(socket != nullptr);
        must_set(socket, ZMQ_TLS_CERT, good().cert);
        must_set(socket, ZMQ_TLS_KEY, good().key);
        must(zmq_bind(socket, endpoint) == 0);
        char actual[256];
        std::size_t size = sizeof actual;
        must(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, actual, &size) == 0);
        name = actual;
    }
    void receive() const {
        char body[8];
        must(zmq_recv(socket, body, sizeof body, 0) == 5);
    }

    void *socket;
    std::string name;
};

/// A PUSH that waits for as long as its messages take.
void *client_of(void *context, const std::string &endpoint) {
    void *const socket = zmq_socket(context, ZMQ_PUSH);
    must(socket != nullptr);
    must_set(socket, ZMQ_TLS_CA, good().ca);
    must(zmq_connect(socket, endpoint.c_str()) == 0);
    return socket;
}

/// A thread that makes connections for ever. It makes the next when the last is there: no more may
/// wait for the server than it gets done, on however slow a machine.
void make_busy(const std::string &endpoint) {
    std::thread([endpoint, ca = good().ca] {  // copies: static objects go before it does
        void *const context = context_for_ever();
        for (;;) {
            void *const socket = zmq_socket(context, ZMQ_PUSH);
            const int yes = 1;
            (void)zmq_setsockopt(socket, ZMQ_IMMEDIATE, &yes, sizeof yes);
            (void)zmq_setsockopt(socket, ZMQ_TLS_CA, ca.data(), ca.size());
            if (zmq_connect(socket, endpoint.c_str()) == 0)
                (void)zmq_send(socket, "hello", 5, 0);
            (void)zmq_close(socket);
        }
    })
        .detach();
}

TEST(exit_of_a_program_that_has_initialised_openssl, is_clean_with_sockets_busy) {
    (void)good();
    in_children(
        [] {
            void *const context = context_for_ever();
            zmq_ctx_set(context, ZMQ_IO_THREADS, 2);
            const std::string over_web = where_built({"wss://127.0.0.1:*", "tls://127.0.0.1:*"}).front();
            const server first(context, "tls://127.0.0.1:*"), second(context, over_web.c_str());
            for (const server *each : {&first, &first, &second})
                make_busy(each->name);
            for (void *client : {client_of(context, first.name), client_of(context, second.name)})
                must(zmq_send(client, "hello", 5, 0) == 5);
            for (int i = 0; i < 20; ++i)
                first.receive();
            second.receive();
            std::exit(0);
        },
        exits);
}

/// Holds what a static object of a program may hold. It goes behind OpenSSL: it is older.
struct held_for_long {
    ~held_for_long() {
        if (!context)
            return;
        for (void *socket : sockets)
            must(zmq_close(socket) == 0);
        end(zmq_ctx_term(context) == 0);
    }
    void *context = nullptr;
    std::vector<void *> sockets;
} held;

TEST(exit_of_a_program_that_has_initialised_openssl, lets_contexts_be_terminated_behind_openssl) {
    (void)good();
    in_children(
        [] {
            held.context = zmq_ctx_new();
            const server there(held.context, "tls://127.0.0.1:*");
            held.sockets = {there.socket, client_of(held.context, there.name)};
            must(zmq_send(held.sockets[1], "hello", 5, 0) == 5);
            there.receive();
            std::exit(0);
        },
        exits);
}

TEST(openssl_taken_down, lets_nobody_wait_for_a_server_that_does_not_listen) {
    (void)good();
    in_children(
        [] {
            void *const context = zmq_ctx_new();
            const server there(context, "tls://127.0.0.1:*");
            must(zmq_unbind(there.socket, there.name.c_str()) == 0);
            void *const push = client_of(context, there.name);
            void *const events = zmq_socket(context, ZMQ_PAIR);
            must(zmq_socket_monitor(push, "inproc://events", ZMQ_EVENT_CONNECT_RETRIED) == 0);
            must(zmq_connect(events, "inproc://events") == 0);
            must(zmq_send(push, "hello", 5, 0) == 5);
            char event[6];
            must(zmq_recv(events, event, sizeof event, 0) == sizeof event);
            OPENSSL_cleanup();
            for (void *socket : {push, events, there.socket})
                must(zmq_close(socket) == 0);
            must(zmq_ctx_term(context) == 0);
        },
        exits);
}

TEST(openssl_taken_down, ends_tls_and_nothing_else) {
    (void)good();
    in_children(
        [] {
            void *const context = zmq_ctx_new();
            const server there(context, "tls://127.0.0.1:*");
            void *const push = client_of(context, there.name);
            must(zmq_send(push, "hello", 5, 0) == 5);
            there.receive();
            OPENSSL_cleanup();
            must(zmq_bind(there.socket, "tls://127.0.0.1:*") == -1 && zmq_errno() == ETERM);
            must(zmq_connect(push, there.name.c_str()) == -1 && zmq_errno() == ETERM);
            (void)zmq_send(push, "hello", 5, ZMQ_DONTWAIT);  // nobody waits for it
            const server other(context, "tcp://127.0.0.1:*");
            void *const client = client_of(context, other.name);
            must(zmq_send(client, "hello", 5, 0) == 5);
            other.receive();
            for (void *socket : {push, there.socket, client, other.socket})
                must(zmq_close(socket) == 0);
            must(zmq_ctx_term(context) == 0);
        },
        exits);
}

}  // namespace
