// Children of fork() while other threads are inside OpenSSL by way of the library: TLS works in
// them.
//
// Method: threads make what TLS has to know of an endpoint, over and over, and connections; each
//         fork is at any moment of that.
#include "busy_threads.hpp"
#include "certificates.hpp"
#include "children.hpp"
#include "sockets.hpp"

#include <vector>

#ifndef __SANITIZE_THREAD__

namespace {

using namespace zlink_test;

/// A message from a new PUSH to a new PULL, of a new context.
void exchange_a_message() {
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    must(pull && push);
    must_set(pull, ZMQ_TLS_CERT, good().cert);
    must_set(pull, ZMQ_TLS_KEY, good().key);
    must_set(push, ZMQ_TLS_CA, good().ca);
    must(zmq_bind(pull, "tls://127.0.0.1:*") == 0);
    char actual[256], body[8];
    std::size_t size = sizeof actual;
    must(zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, actual, &size) == 0 && zmq_connect(push, actual) == 0);
    must(zmq_send(push, "hello", 5, 0) == 5 && zmq_recv(pull, body, sizeof body, 0) == 5);
    must(zmq_close(push) == 0 && zmq_close(pull) == 0 && zmq_ctx_term(context) == 0);
}

/// Reads the files, and then finds the port taken.
void bind_in_vain(void *socket, const std::string &taken) {
    must(zmq_bind(socket, taken.c_str()) == -1 && zmq_errno() == EADDRINUSE);
}

TEST(parent_busy_with_tls, has_children_that_speak_tls) {
    exchange_a_message();
    context zmq;
    test_socket first = zmq.socket(ZMQ_PULL);
    ASSERT_EQ(first.set(ZMQ_TLS_CERT, good().cert), 0);
    ASSERT_EQ(first.set(ZMQ_TLS_KEY, good().key), 0);
    const std::string taken = first.bind("tls://127.0.0.1:*");
    std::vector<test_socket> vain;
    busy_threads busy;
    for (int i = 0; i < 2; ++i) {
        vain.push_back(zmq.socket(ZMQ_PULL));
        ASSERT_EQ(vain.back().set(ZMQ_TLS_CERT, good().cert), 0);
        ASSERT_EQ(vain.back().set(ZMQ_TLS_KEY, good().key), 0);
        if (may_fork_in_the_middle)
            busy.add([handle = vain.back().handle(), taken] { bind_in_vain(handle, taken); });
    }
    if (may_fork_in_the_middle)
        busy.add(exchange_a_message);
    in_children(exchange_a_message, forks / 2);
}

}  // namespace

#endif
