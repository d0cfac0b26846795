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

/// An event of the second version: its numbers, and its addresses.
struct versioned_event {
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> addresses;
};

versioned_event next_event(test_socket &events) {
    versioned_event found;
    const std::vector<std::string> frames = events.receive_all();
    const auto number = [&](std::size_t at) {
        std::uint64_t value = 0;
        EXPECT_EQ(frames.at(at).size(), sizeof value);
        std::memcpy(&value, frames.at(at).data(), sizeof value);
        return value;
    };
    for (std::size_t i = 0; i < 2 + number(1); ++i)
        found.numbers.push_back(number(i));
    found.addresses.assign(frames.begin() + static_cast<std::ptrdiff_t>(found.numbers.size()), frames.end());
    return found;
}

TEST(drafts, monitor_a_socket_with_events_of_the_second_version_which_have_both_addresses) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PULL), connected = zmq.socket(ZMQ_PUSH), events = zmq.socket(ZMQ_PAIR);
    const auto watch = [&](test_socket &which, std::uint64_t mask) {
        return zmq_socket_monitor_versioned(which.handle(), "inproc://events", mask,
                                            ZMQ_CURRENT_EVENT_VERSION_DRAFT, ZMQ_PAIR);
    };
    ASSERT_EQ(watch(bound, ZMQ_EVENT_LISTENING | ZMQ_EVENT_HANDSHAKE_SUCCEEDED), 0);
    events.connect("inproc://events");
    const std::string endpoint = bound.bind("tcp://127.0.0.1:*");
    const versioned_event listening = next_event(events);
    ASSERT_EQ(listening.numbers.size(), 3u);
    EXPECT_EQ(listening.numbers[0], std::uint64_t{ZMQ_EVENT_LISTENING});
    EXPECT_EQ(listening.addresses, (std::vector<std::string>{endpoint, ""}));

    test_socket others = zmq.socket(ZMQ_PAIR);
    ASSERT_EQ(zmq_socket_monitor_versioned(connected.handle(), "inproc://others",
                                           ZMQ_EVENT_CONNECTED | ZMQ_EVENT_PIPES_STATS, 2, ZMQ_PAIR),
              0);
    others.connect("inproc://others");
    EXPECT_FAILS(EAGAIN, zmq_socket_monitor_pipes_stats(connected.handle()));
    connected.connect(endpoint);
    EXPECT_EQ(next_event(others).addresses, (std::vector<std::string>{"", endpoint}));
    const versioned_event accepted = next_event(events);
    EXPECT_EQ(accepted.numbers, (std::vector<std::uint64_t>{ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 1, 0}));
    ASSERT_EQ(accepted.addresses.size(), 2u);
    EXPECT_EQ(accepted.addresses[0], endpoint);
    EXPECT_EQ(accepted.addresses[1].substr(0, 16), "tcp://127.0.0.1:");
    EXPECT_FAILS(EINVAL, zmq_socket_monitor_pipes_stats(bound.handle()));
    EXPECT_FAILS(ENOTSOCK, zmq_socket_monitor_pipes_stats(nullptr));
}

TEST(drafts, have_a_monitor_of_the_second_version_name_peers_behind_their_addresses) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_ROUTER), peer = zmq.socket(ZMQ_DEALER), events = zmq.socket(ZMQ_PAIR);
    peer.set(ZMQ_ROUTING_ID, "worker");
    ASSERT_EQ(zmq_socket_monitor_versioned(bound.handle(), "inproc://events",
                                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZLINK_EVENT_PEER_NAMES, 2,
                                           ZMQ_PAIR),
              0);
    events.connect("inproc://events");
    peer.connect(bound.bind("tcp://127.0.0.1:*"));
    const versioned_event found = next_event(events);
    ASSERT_EQ(found.addresses.size(), 4u);
    EXPECT_EQ(found.addresses[2], "worker");
    EXPECT_EQ(found.addresses[3], "") << "nobody has said who it is";
}

TEST(drafts, have_a_monitor_tell_how_much_waits_for_each_peer) {
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR), peer = zmq.socket(ZMQ_PAIR), events = zmq.socket(ZMQ_PAIR);
    pair.bind("inproc://pair");
    peer.connect("inproc://pair");
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(pair.send("to it"), 5);
    ASSERT_EQ(peer.send("from it"), 7);
    ASSERT_EQ(zmq_socket_monitor_versioned(pair.handle(), "inproc://events", ZMQ_EVENT_ALL_V2, 2, ZMQ_PAIR),
              0);
    events.connect("inproc://events");
    ASSERT_EQ(zmq_socket_monitor_pipes_stats(pair.handle()), 0);
    EXPECT_EQ(next_event(events).numbers, (std::vector<std::uint64_t>{ZMQ_EVENT_PIPES_STATS, 2, 3, 1}));
    ASSERT_EQ(zmq_socket_monitor(pair.handle(), "inproc://first", -1), 0);
    EXPECT_FAILS(EINVAL, zmq_socket_monitor_pipes_stats(pair.handle()));
}

TEST(drafts, have_a_monitor_name_the_peer_that_so_much_waits_for_where_that_is_asked_for) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_ROUTER), peer = zmq.socket(ZMQ_DEALER), events = zmq.socket(ZMQ_PAIR);
    peer.set(ZMQ_ROUTING_ID, "worker");
    ASSERT_EQ(zmq_socket_monitor_versioned(bound.handle(), "inproc://events",
                                           ZMQ_EVENT_PIPES_STATS | ZLINK_EVENT_PEER_NAMES, 2, ZMQ_PAIR),
              0);
    events.connect("inproc://events");
    peer.connect(bound.bind("tcp://127.0.0.1:*"));
    ASSERT_EQ(zlink_wait_ready(bound.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    ASSERT_EQ(zmq_socket_monitor_pipes_stats(bound.handle()), 0);
    const versioned_event found = next_event(events);
    ASSERT_EQ(found.addresses.size(), 4u);
    EXPECT_EQ(found.addresses[1].substr(0, 16), "tcp://127.0.0.1:");
    EXPECT_EQ(found.addresses[2], "worker");
    EXPECT_EQ(found.addresses[3], "") << "nobody has said who it is";
}

TEST(drafts, tell_whether_a_peer_of_a_router_has_room) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER), slow = zmq.socket(ZMQ_DEALER), other = zmq.socket(ZMQ_PAIR);
    const auto state = [&](const char *id) {
        return zmq_socket_get_peer_state(router.handle(), id, std::strlen(id));
    };
    ASSERT_EQ(router.set(ZMQ_SNDHWM, 1), 0);
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    ASSERT_EQ(slow.set(ZMQ_RCVHWM, 1), 0);
    ASSERT_EQ(slow.set(ZMQ_ROUTING_ID, std::string("slow")), 0);
    EXPECT_FAILS(EHOSTUNREACH, state("slow"));
    router.bind("inproc://router");
    slow.connect("inproc://router");
    EXPECT_EQ(state("slow"), ZMQ_POLLOUT);
    while (zmq_send(router.handle(), "slow", 4, ZMQ_SNDMORE | ZMQ_DONTWAIT) == 4)
        ASSERT_EQ(zmq_send(router.handle(), "x", 1, 0), 1);
    EXPECT_EQ(state("slow"), 0);
    EXPECT_FAILS(EHOSTUNREACH, state("nobody"));
    EXPECT_FAILS(ENOTSUP, zmq_socket_get_peer_state(other.handle(), "slow", 4));
    EXPECT_FAILS(EFAULT, zmq_socket_get_peer_state(router.handle(), nullptr, 0));
    EXPECT_FAILS(ENOTSOCK, zmq_socket_get_peer_state(nullptr, "slow", 4));
}

TEST(drafts, a_poll_with_a_mask_lets_a_blocked_signal_in_while_it_sleeps) {
    static volatile sig_atomic_t handled = 0;
    struct sigaction handler {};
    handler.sa_handler = [](int) { handled = handled + 1; };
    ASSERT_EQ(sigaction(SIGUSR1, &handler, nullptr), 0);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
    ASSERT_EQ(raise(SIGUSR1), 0);
    context zmq;
    test_socket idle = zmq.socket(ZMQ_PULL), busy = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(busy.bind("inproc://busy"));
    zmq_pollitem_t item{idle.handle(), 0, ZMQ_POLLIN, 0};
    EXPECT_EQ(zmq_ppoll(&item, 1, 1, nullptr), 0);
    EXPECT_EQ(zmq_ppoll(&item, 1, 1, &blocked), 0);
    EXPECT_EQ(handled, 0);
    EXPECT_FAILS(EINTR, zmq_ppoll(&item, 1, -1, &before));
    EXPECT_EQ(handled, 1);
    ASSERT_EQ(raise(SIGUSR1), 0);
    EXPECT_FAILS(EINTR, zmq_ppoll(&item, 1, 0, &before));
    EXPECT_EQ(handled, 2);
    ASSERT_EQ(push.send("x"), 1);
    item.socket = busy.handle();
    EXPECT_EQ(zmq_ppoll(&item, 1, -1, &before), 1);
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

}  // namespace
