// Misuse: closed, foreign and null pointers, closed messages, impossible arguments. Always an
//         errno, never a crash.
//
// Only zlink promises this; libzmq aborts or reads freed memory in several of these cases.
#include "sockets.hpp"

namespace {

using namespace zlink_test;

// Every function that takes a socket, called with something that is none.
void expect_no_function_takes(void *wrong) {
    char byte = 0;
    std::size_t size = sizeof byte;
    zmq_msg_t message;
    zmq_msg_init(&message);
    EXPECT_FAILS(ENOTSOCK, zmq_close(wrong));
    EXPECT_FAILS(ENOTSOCK, zmq_bind(wrong, "inproc://misuse"));
    EXPECT_FAILS(ENOTSOCK, zmq_connect(wrong, "inproc://misuse"));
    EXPECT_FAILS(ENOTSOCK, zmq_unbind(wrong, "inproc://misuse"));
    EXPECT_FAILS(ENOTSOCK, zmq_disconnect(wrong, "inproc://misuse"));
    EXPECT_FAILS(ENOTSOCK, zmq_setsockopt(wrong, ZMQ_LINGER, &byte, size));
    EXPECT_FAILS(ENOTSOCK, zmq_getsockopt(wrong, ZMQ_LINGER, &byte, &size));
    EXPECT_FAILS(ENOTSOCK, zmq_send(wrong, &byte, 1, ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_send_const(wrong, &byte, 1, ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_recv(wrong, &byte, 1, ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_msg_send(&message, wrong, ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_msg_recv(&message, wrong, ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_socket_monitor(wrong, "inproc://misuse", ZMQ_EVENT_ALL));
    EXPECT_EQ(zmq_msg_close(&message), 0);
}

TEST(misuse, null_is_no_socket) { expect_no_function_takes(nullptr); }

TEST(misuse, a_closed_socket_is_no_socket) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    void *closed = any.handle();
    EXPECT_EQ(any.close(), 0);
    expect_no_function_takes(closed);
}

TEST(misuse, a_closed_socket_is_not_its_successor) {
    context zmq;
    test_socket first = zmq.socket(ZMQ_PAIR);
    void *closed = first.handle();
    first.close();
    std::vector<test_socket> successors;
    for (int i = 0; i < 50; ++i)
        successors.push_back(zmq.socket(ZMQ_PAIR));
    EXPECT_FAILS(ENOTSOCK, zmq_close(closed));
}

TEST(misuse, memory_of_the_program_is_no_socket) {
    alignas(64) char foreign[512] = {};
    expect_no_function_takes(foreign);
    expect_no_function_takes(foreign + 1);
}

TEST(misuse, an_address_of_nothing_is_no_socket) {
    expect_no_function_takes(reinterpret_cast<void *>(0x10));
    expect_no_function_takes(reinterpret_cast<void *>(~std::uintptr_t{0}));
}

TEST(misuse, a_context_is_no_socket) {
    context zmq;
    expect_no_function_takes(zmq.handle());
}

TEST(misuse, what_is_no_context_is_a_fault) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    alignas(64) char foreign[512] = {};
    for (void *wrong : {static_cast<void *>(nullptr), any.handle(), static_cast<void *>(foreign)}) {
        EXPECT_FAILS(EFAULT, zmq_ctx_term(wrong));
        EXPECT_FAILS(EFAULT, zmq_ctx_shutdown(wrong));
        EXPECT_EQ(zmq_socket(wrong, ZMQ_PAIR), nullptr);
        EXPECT_EQ(zmq_errno(), EFAULT);
        EXPECT_EQ(zmq_ctx_set(wrong, ZMQ_IO_THREADS, 1), -1);
        EXPECT_EQ(zmq_ctx_get(wrong, ZMQ_IO_THREADS), -1);
    }
}

TEST(misuse, a_terminated_context_is_no_context) {
    context zmq;
    void *gone = zmq.handle();
    EXPECT_EQ(zmq.term(), 0);
    EXPECT_FAILS(EFAULT, zmq_ctx_term(gone));
    EXPECT_FAILS(EFAULT, zmq_ctx_shutdown(gone));
    EXPECT_EQ(zmq_socket(gone, ZMQ_PAIR), nullptr);
}

TEST(misuse, polling_what_is_no_socket_fails) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    zmq_pollitem_t items[] = {{any.handle(), 0, ZMQ_POLLIN, 0}, {any.handle(), 0, ZMQ_POLLIN, 0}};
    any.close();
    EXPECT_FAILS(ENOTSOCK, zmq_poll(items, 2, 0));
}

TEST(misuse, a_proxy_between_what_are_no_sockets_fails) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    test_socket closed = zmq.socket(ZMQ_PAIR);
    void *gone = closed.handle();
    closed.close();
    EXPECT_EQ(zmq_proxy(any.handle(), gone, nullptr), -1);
    EXPECT_EQ(zmq_proxy(any.handle(), any.handle(), gone), -1);
}

TEST(misuse, null_endpoints_and_nonsense_are_refused) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    for (const char *wrong : {"", "tcp", "tcp:", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "://x",
                              "tcp://127.0.0.1:port", "inproc://"}) {
        EXPECT_EQ(zmq_bind(any.handle(), wrong), -1) << wrong;
        EXPECT_EQ(zmq_connect(any.handle(), wrong), -1) << wrong;
    }
    EXPECT_FAILS(EPROTONOSUPPORT, zmq_bind(any.handle(), "carrier-pigeon://loft"));
    EXPECT_EQ(zmq_bind(any.handle(), nullptr), -1);
    EXPECT_EQ(zmq_connect(any.handle(), nullptr), -1);
}

TEST(misuse, options_of_the_wrong_size_are_refused) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    const std::int64_t eight_bytes = 1;
    EXPECT_FAILS(EINVAL, zmq_setsockopt(any.handle(), ZMQ_LINGER, &eight_bytes, 1));
    EXPECT_FAILS(EINVAL, zmq_setsockopt(any.handle(), ZMQ_LINGER, nullptr, 0));
    EXPECT_FAILS(EINVAL, zmq_setsockopt(any.handle(), 4711, &eight_bytes, sizeof eight_bytes));
    EXPECT_FAILS(EINVAL, zmq_setsockopt(any.handle(), ZMQ_TYPE, &eight_bytes, 4));
    char small;
    std::size_t size = sizeof small;
    EXPECT_FAILS(EINVAL, zmq_getsockopt(any.handle(), ZMQ_LINGER, &small, &size));
    EXPECT_FAILS(EINVAL, zmq_getsockopt(any.handle(), 4711, &small, &size));
}

TEST(misuse, a_closed_message_is_a_fault) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PUSH);
    zmq_msg_t closed;
    zmq_msg_init(&closed);
    EXPECT_EQ(zmq_msg_close(&closed), 0);
    EXPECT_FAILS(EFAULT, zmq_msg_close(&closed));
    zmq_msg_t other;
    zmq_msg_init(&other);
    EXPECT_FAILS(EFAULT, zmq_msg_copy(&other, &closed));
    EXPECT_FAILS(EFAULT, zmq_msg_move(&other, &closed));
    EXPECT_FAILS(EFAULT, zmq_msg_send(&closed, any.handle(), ZMQ_DONTWAIT));
    zmq_msg_close(&other);
}

TEST(misuse, timers_and_counters_of_null_are_faults) {
    void *nothing = nullptr;
    EXPECT_FAILS(EFAULT, zmq_timers_destroy(&nothing));
    EXPECT_FAILS(EFAULT, zmq_timers_execute(nullptr));
    EXPECT_FAILS(EFAULT, zmq_timers_cancel(nullptr, 1));
}

}  // namespace
