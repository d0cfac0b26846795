// The functions that libzmq calls drafts: those that are built do what they say, the others answer
// ENOTSUP.
#define ZMQ_BUILD_DRAFT_API
#include <signal.h>

#include "sockets.hpp"

namespace {

using namespace zlink_test;

TEST(drafts, set_and_read_options_of_a_context_as_numbers_and_as_text) {
    context zmq;
    int threads = 3;
    std::size_t size = sizeof threads;
    EXPECT_EQ(zmq_ctx_set_ext(zmq.handle(), ZMQ_IO_THREADS, &threads, size), 0);
    threads = 0;
    EXPECT_EQ(zmq_ctx_get_ext(zmq.handle(), ZMQ_IO_THREADS, &threads, &size), 0);
    EXPECT_EQ(threads, 3);
    EXPECT_FAILS(EINVAL, zmq_ctx_set_ext(zmq.handle(), ZMQ_IO_THREADS, &threads, 1));
    EXPECT_FAILS(EFAULT, zmq_ctx_set_ext(&threads, ZMQ_IO_THREADS, &threads, sizeof threads));
    EXPECT_FAILS(EFAULT, zmq_ctx_get_ext(&threads, ZMQ_IO_THREADS, &threads, &size));

    EXPECT_EQ(zmq_ctx_set_ext(zmq.handle(), ZMQ_THREAD_NAME_PREFIX, "frontend", 8), 0);
    char name[16] = "";
    size = sizeof name;
    EXPECT_EQ(zmq_ctx_get_ext(zmq.handle(), ZMQ_THREAD_NAME_PREFIX, name, &size), 0);
    EXPECT_STREQ(name, "frontend");
    EXPECT_EQ(size, 9u);
    size = 8;
    EXPECT_FAILS(EINVAL, zmq_ctx_get_ext(zmq.handle(), ZMQ_THREAD_NAME_PREFIX, name, &size));
}

TEST(drafts, copy_a_buffer_into_a_new_message) {
    const std::string body(1000, 'x');
    zmq_msg_t message;
    ASSERT_EQ(zmq_msg_init_buffer(&message, body.data(), body.size()), 0);
    EXPECT_EQ(std::string(static_cast<char *>(zmq_msg_data(&message)), zmq_msg_size(&message)), body);
    EXPECT_EQ(zmq_msg_routing_id(&message), 0u);
    EXPECT_STREQ(zmq_msg_group(&message), "");
    EXPECT_FAILS(ENOTSUP, zmq_msg_set_routing_id(&message, 1));
    EXPECT_FAILS(ENOTSUP, zmq_msg_set_group(&message, "weather"));
    EXPECT_EQ(zmq_msg_close(&message), 0);
    EXPECT_FAILS(EFAULT, zmq_msg_set_routing_id(&message, 1));
    EXPECT_FAILS(EFAULT, zmq_msg_init_buffer(nullptr, body.data(), body.size()));
    EXPECT_FAILS(EFAULT, zmq_msg_init_buffer(&message, nullptr, 1));
    ASSERT_EQ(zmq_msg_init_buffer(&message, nullptr, 0), 0);
    EXPECT_EQ(zmq_msg_close(&message), 0);
}

void expect_of_each(int number, void *s) {
    EXPECT_FAILS(number, zmq_join(s, "weather"));
    EXPECT_FAILS(number, zmq_leave(s, "weather"));
    EXPECT_EQ(zmq_connect_peer(s, "inproc://peer"), 0u);
    EXPECT_EQ(zmq_errno(), number);
    EXPECT_FAILS(number, zmq_disconnect_peer(s, 1));
    EXPECT_FAILS(number, zmq_socket_get_peer_state(s, "peer", 4));
    EXPECT_FAILS(number, zmq_socket_monitor_pipes_stats(s));
    EXPECT_FAILS(number, zmq_socket_monitor_versioned(s, "inproc://events", ZMQ_EVENT_ALL_V2,
                                                      ZMQ_CURRENT_EVENT_VERSION_DRAFT, ZMQ_PAIR));
}

TEST(drafts, are_not_supported_where_their_socket_types_are_not_built) {
    context zmq;
    expect_of_each(ENOTSUP, zmq.socket(ZMQ_ROUTER).handle());
    expect_of_each(ENOTSOCK, nullptr);
}

TEST(drafts, monitor_a_socket_with_events_of_the_first_version) {
    context zmq;
    test_socket watched = zmq.socket(ZMQ_PULL), events = zmq.socket(ZMQ_PAIR);
    ASSERT_EQ(zmq_socket_monitor_versioned(watched.handle(), "inproc://events", ZMQ_EVENT_ALL_V1,
                                           ZMQ_CURRENT_EVENT_VERSION, ZMQ_PAIR),
              0);
    ASSERT_EQ(zmq_connect(events.handle(), "inproc://events"), 0);
    ASSERT_EQ(zmq_bind(watched.handle(), "tcp://127.0.0.1:*"), 0);
    std::uint16_t kind = 0;
    unsigned char event[6];
    ASSERT_EQ(zmq_recv(events.handle(), event, sizeof event, 0), 6);
    std::memcpy(&kind, event, sizeof kind);
    EXPECT_EQ(kind, ZMQ_EVENT_LISTENING);
    EXPECT_FAILS(ENOTSUP, zmq_socket_monitor_versioned(watched.handle(), "inproc://events", ZMQ_EVENT_ALL_V1,
                                                       ZMQ_CURRENT_EVENT_VERSION, ZMQ_PUB));
    EXPECT_EQ(zmq_socket_monitor_versioned(watched.handle(), nullptr, 0, ZMQ_CURRENT_EVENT_VERSION, 0), 0);
}

TEST(drafts, poll_with_a_mask_of_signals_is_not_supported_and_without_one_polls) {
    zmq_pollitem_t none[1] = {};
    sigset_t mask;
    sigemptyset(&mask);
    EXPECT_FAILS(ENOTSUP, zmq_ppoll(none, 0, 0, &mask));
    EXPECT_EQ(zmq_ppoll(none, 0, 0, nullptr), 0);
}

}  // namespace
