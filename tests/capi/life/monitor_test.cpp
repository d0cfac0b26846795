// Monitors: which events a socket reports, in what order, and what stops them.
#include "sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace zlink_test;

// A listener with as many connections waiting as it takes: further ones stay under way.
class full_backlog {
public:
    full_backlog() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address_;
        EXPECT_EQ(::bind(listener_, as_sockaddr(), length), 0);
        EXPECT_EQ(::listen(listener_, 0), 0);
        EXPECT_EQ(::getsockname(listener_, as_sockaddr(), &length), 0);
        for (int &each : waiting_) {
            each = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            (void)::connect(each, as_sockaddr(), length);
        }
    }
    ~full_backlog() {
        for (const int each : waiting_)
            ::close(each);
        ::close(listener_);
    }
    std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

private:
    sockaddr *as_sockaddr() { return reinterpret_cast<sockaddr *>(&address_); }

    const int listener_;
    sockaddr_in address_{};
    int waiting_[4];
};

TEST(monitor, a_listener_tells_of_its_life_and_its_peers) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound);
    const std::string endpoint = bound.bind(scratch_endpoint("tcp"));
    const monitor_event listening = watch.next();
    EXPECT_EQ(listening.event, ZMQ_EVENT_LISTENING);
    EXPECT_EQ(listening.endpoint, endpoint);
    EXPECT_GT(listening.value, 2);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    peer.connect(endpoint);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    peer.close();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(bound.unbind(endpoint), 0);
    const monitor_event closed = watch.next();
    EXPECT_EQ(closed.event, ZMQ_EVENT_CLOSED);
    EXPECT_EQ(closed.endpoint, endpoint);
}

TEST(monitor, a_connecting_socket_tells_of_its_connection) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = bound.bind(scratch_endpoint("tcp"));
    monitor watch(zmq, peer);
    peer.connect(endpoint);
    monitor_event found = watch.next();
    if (found.event == ZMQ_EVENT_CONNECT_DELAYED)
        found = watch.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(found.endpoint, endpoint);
    EXPECT_GT(found.value, 2);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    bound.close();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(watch.next(ZMQ_EVENT_CONNECT_RETRIED).event, ZMQ_EVENT_CONNECT_RETRIED);
}

int cut_off_first(void *socket) {
    zlink_peer_t first{};
    const auto keep = [](void *arg, const zlink_peer_t *peer, std::size_t) {
        *static_cast<zlink_peer_t *>(arg) = *peer;
        return 1;
    };
    (void)zlink_peers(socket, keep, &first);
    return zlink_disconnect(socket, first.id);
}

TEST(monitor, names_the_peer_of_each_event_where_that_is_asked_for) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_ROUTER), peer = zmq.socket(ZMQ_DEALER);
    peer.set(ZMQ_ROUTING_ID, "worker");
    peer.set(ZMQ_RECONNECT_IVL, -1);
    monitor watch(zmq, bound, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS | ZLINK_EVENT_PEER_NAMES);
    const std::string endpoint = bound.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(watch.next(ZMQ_EVENT_LISTENING).address, "") << "it is about nobody";
    peer.connect(endpoint);
    const std::string address = watch.next(ZMQ_EVENT_ACCEPTED).address;
    EXPECT_EQ(address.substr(0, 16), "tcp://127.0.0.1:");
    EXPECT_NE(address, endpoint);
    ASSERT_EQ(zlink_wait_ready(bound.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    ASSERT_EQ(cut_off_first(bound.handle()), 0);
    for (const int kind : {ZMQ_EVENT_HANDSHAKE_SUCCEEDED, ZMQ_EVENT_REASON, ZMQ_EVENT_DISCONNECTED}) {
        const monitor_event found = watch.next(kind);
        EXPECT_EQ(found.event, kind);
        EXPECT_EQ(found.address, address);
        EXPECT_EQ(found.routing_id, "worker");
        EXPECT_EQ(found.words.empty(), kind != ZMQ_EVENT_REASON);
    }
}

TEST(monitor, names_the_peer_that_is_gone_and_the_one_that_is_connected_to) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER), peer = zmq.socket(ZMQ_ROUTER);
    bound.set(ZMQ_ROUTING_ID, "server");
    const std::string endpoint = bound.bind("tcp://127.0.0.1:*");
    monitor watch(zmq, peer, ZMQ_EVENT_ALL | ZLINK_EVENT_PEER_NAMES);
    peer.connect(endpoint);
    EXPECT_EQ(watch.next(ZMQ_EVENT_CONNECTED).address, endpoint);
    EXPECT_EQ(watch.next(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).routing_id, "server");
    bound.close();
    const monitor_event gone = watch.next(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(gone.routing_id, "server");
    EXPECT_NE(gone.address.find("127.0.0.1"), std::string::npos);
}

TEST(monitor, a_refused_connection_is_closed_and_tried_again) {
    context zmq;
    const std::string endpoint = deserted_endpoint();
    test_socket peer = zmq.socket(ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, 20);
    monitor watch(zmq, peer);
    peer.connect(endpoint);
    const monitor_event retried = watch.next(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_EQ(retried.event, ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_GE(retried.value, 20);
    EXPECT_EQ(retried.endpoint, endpoint);
}

// The events of an attempt that fails, with the reason in front of the first of those that tell of
// it.
void expect_attempt_to_fail(monitor &watch, const std::string &endpoint, const std::string &words, int why) {
    monitor_event found = watch.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(found.words.substr(0, words.size()), words);
    EXPECT_EQ(found.value, why);
    EXPECT_EQ(found.endpoint, endpoint);
    found = watch.next();
    if (found.event == ZMQ_EVENT_CLOSED)
        found = watch.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_CONNECT_RETRIED);
}

TEST(monitor, each_attempt_that_is_refused_has_a_reason_in_words) {
    context zmq;
    const std::string endpoint = deserted_endpoint();
    test_socket peer = zmq.socket(ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, 1);
    monitor watch(zmq, peer, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS);
    peer.connect(endpoint);
    for (int i = 0; i < 3; ++i)
        expect_attempt_to_fail(watch, endpoint,
                               endpoint.substr(6) + " refuses connections: does anybody listen there?",
                               ECONNREFUSED);
}

TEST(monitor, a_name_that_nobody_knows_has_the_words_of_the_resolver) {
    context zmq;
    const std::string endpoint = "tcp://nowhere.invalid:5555";
    test_socket peer = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, peer, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS);
    peer.connect(endpoint);
    expect_attempt_to_fail(watch, endpoint, "cannot find the address of nowhere.invalid: ", EHOSTUNREACH);
}

TEST(monitor, a_name_to_bind_to_is_refused_in_words) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS);
    EXPECT_FAILS(ENODEV, zmq_bind(bound.handle(), "tcp://localhost:*"));
    const monitor_event found = watch.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_REASON);
    EXPECT_EQ(found.value, ENODEV);
    EXPECT_EQ(found.words,
              "no interface and no numeric address: localhost; names are not looked up to bind to them");
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_BIND_FAILED);
}

TEST(monitor, a_file_that_is_no_socket_has_the_words_of_the_system) {
    context zmq;
    test_socket peer = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, peer, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS);
    peer.connect("ipc:///no/such/place");
    expect_attempt_to_fail(watch, "ipc:///no/such/place",
                           "cannot connect to ipc:///no/such/place: No such file or directory", ENOENT);
}

TEST(monitor, an_attempt_under_way_is_told_to_be_over_when_it_is_disconnected) {
    const full_backlog there;
    context zmq;
    test_socket peer = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, peer);
    peer.connect(there.endpoint());
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_CONNECT_DELAYED);
    ASSERT_EQ(zmq_disconnect(peer.handle(), there.endpoint().c_str()), 0);
    const monitor_event found = watch.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_CLOSED);
    EXPECT_GE(found.value, 0);
    EXPECT_EQ(found.endpoint, there.endpoint());
}

TEST(monitor, a_refused_connection_has_the_same_events_with_reasons_and_without) {
    context zmq;
    const std::string endpoint = deserted_endpoint();
    std::vector<int> seen[2];
    for (const bool has_reasons : {false, true}) {
        test_socket peer = zmq.socket(ZMQ_DEALER);
        peer.set(ZMQ_RECONNECT_IVL, 1);
        monitor watch(zmq, peer, ZMQ_EVENT_ALL | (has_reasons ? ZMQ_EVENT_REASONS : 0));
        peer.connect(endpoint);
        while (seen[has_reasons].size() < 9)
            if (const int event = watch.next().event; event != ZMQ_EVENT_REASON)
                seen[has_reasons].push_back(event);
    }
    EXPECT_EQ(seen[0], seen[1]);
}

TEST(monitor, reports_only_the_events_asked_for) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    peer.connect(bound.bind(scratch_endpoint("ipc")));
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
}

TEST(monitor, tells_of_a_peer_that_can_be_sent_to_by_its_routing_id) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    monitor watch(zmq, router, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    const std::string endpoint = router.bind(scratch_endpoint("tcp"));
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE(i);
        const std::string name = "peer " + std::to_string(i);
        test_socket dealer = zmq.socket(ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, name);
        dealer.connect(endpoint);
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        ASSERT_TRUE(router.send_all({name, "welcome"}));
        ASSERT_EQ(dealer.receive_all(), frames{"welcome"});
    }
}

TEST(monitor, tells_of_a_peer_that_has_room_at_once) {
    context zmq;
    const std::string endpoint = scratch_endpoint("tcp");
    test_socket pull = zmq.socket(ZMQ_PULL);
    const std::string bound = pull.bind(endpoint);
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE(i);
        test_socket push = zmq.socket(ZMQ_PUSH);
        push.set(ZMQ_IMMEDIATE, 1);
        monitor watch(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        push.connect(bound);
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        ASSERT_EQ(push.send("x", ZMQ_DONTWAIT), 1);
        ASSERT_EQ(pull.receive(), "x");
    }
}

TEST(monitor, says_when_it_stops) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound);
    watch.stop();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_MONITOR_STOPPED);
}

TEST(monitor, stops_when_its_socket_closes) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound);
    bound.close();
    EXPECT_EQ(watch.next(ZMQ_EVENT_MONITOR_STOPPED).event, ZMQ_EVENT_MONITOR_STOPPED);
}

TEST(monitor, a_second_one_replaces_the_first) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor first(zmq, bound);
    monitor second(zmq, bound);
    EXPECT_EQ(first.next().event, ZMQ_EVENT_MONITOR_STOPPED);
    bound.bind(scratch_endpoint("tcp"));
    EXPECT_EQ(second.next().event, ZMQ_EVENT_LISTENING);
}

TEST(monitor, a_peer_that_speaks_something_else_fails_the_handshake) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, bound);
    const std::string endpoint = bound.bind(scratch_endpoint("tcp"));
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_LISTENING);
    const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_ACCEPTED);
    // A greeting of version 3 that names a mechanism nobody has.
    std::string greeting("\xff\0\0\0\0\0\0\0\1\x7f\3\0NONSENSE", 20);
    greeting.resize(64, '\0');
    ASSERT_EQ(::send(stranger, greeting.data(), greeting.size(), MSG_NOSIGNAL), 64);
    const int found = watch.next().event;
    EXPECT_TRUE(found == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL || found == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        << found;
    ::close(stranger);
}

// No interface has such a name.
std::string no_place(int i) { return "nowhere" + std::to_string(i) + ":1"; }

// Each makes one event, at once, whose endpoint tells which it is.
void fail_to_bind(test_socket &watched, int from, int count) {
    for (int i = from; i < from + count; ++i) {
        const std::string endpoint = "tcp://" + no_place(i);
        EXPECT_FAILS(ENODEV, zmq_bind(watched.handle(), endpoint.c_str()));
    }
}

// The numbers of the events that come in order, up to one that does not.
int failures_in_order(monitor &watch, int count) {
    for (int i = 0; i < count; ++i) {
        const monitor_event found = watch.next();
        if (found.event != ZMQ_EVENT_BIND_FAILED || found.endpoint != no_place(i))
            return i;
    }
    return count;
}

TEST(monitor, a_reader_that_is_far_behind_gets_all_that_is_kept_without_a_new_event) {
    constexpr int kept = 3000;  // both marks, and what waits behind them
    context zmq;
    test_socket watched = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, watched);
    fail_to_bind(watched, 0, kept);
    EXPECT_EQ(failures_in_order(watch, kept), kept);
    fail_to_bind(watched, 0, 1);
    EXPECT_EQ(failures_in_order(watch, 1), 1);
}

TEST(monitor, what_was_kept_before_there_was_a_reader_comes_beyond_its_mark_without_a_new_event) {
    constexpr int kept = 1000;
    context zmq;
    test_socket watched = zmq.socket(ZMQ_DEALER);
    const std::string name = scratch_endpoint("inproc");
    ASSERT_EQ(zmq_socket_monitor(watched.handle(), name.c_str(), ZMQ_EVENT_ALL), 0);
    fail_to_bind(watched, 0, kept);
    test_socket reader = zmq.socket(ZMQ_PAIR);
    reader.set(ZMQ_RCVHWM, 1);
    reader.connect(name);
    fail_to_bind(watched, kept, 1001);
    for (int i = 0; i < kept + 1001; ++i) {
        const frames message = reader.receive_all();
        ASSERT_EQ(message.size(), 2u) << i;
        ASSERT_EQ(message[1], no_place(i));
    }
}

// Whoever brings an event, and the reader that makes room, both send on what waits.
TEST(monitor, a_reader_on_another_thread_gets_all_in_order_while_events_come) {
    constexpr int kept = 2001;  // what is kept with the smallest mark at the reader
    context zmq;
    test_socket watched = zmq.socket(ZMQ_DEALER);
    for (int round = 0; round < 5; ++round) {
        const std::string name = scratch_endpoint("inproc");
        ASSERT_EQ(zmq_socket_monitor(watched.handle(), name.c_str(), ZMQ_EVENT_BIND_FAILED), 0);
        test_socket reader = zmq.socket(ZMQ_PAIR);
        reader.set(ZMQ_RCVHWM, 1);
        reader.connect(name);
        int count = 0;
        std::thread reading([&] {
            for (; count < kept; ++count) {
                const frames message = reader.receive_all();
                if (message.size() != 2 || message[1] != no_place(count))
                    return;
            }
        });
        fail_to_bind(watched, 0, kept);
        reading.join();
        EXPECT_EQ(count, kept);
    }
}

TEST(monitor, a_reader_that_is_far_behind_hears_that_the_monitor_stops) {
    constexpr int kept = 3000;
    context zmq;
    test_socket watched = zmq.socket(ZMQ_DEALER);
    monitor watch(zmq, watched);
    fail_to_bind(watched, 0, kept + 10);
    watch.stop();
    EXPECT_EQ(failures_in_order(watch, kept), kept);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_MONITOR_STOPPED);
}

TEST(monitor, needs_an_inproc_address) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    EXPECT_FAILS(EPROTONOSUPPORT, zmq_socket_monitor(bound.handle(), "tcp://127.0.0.1:*", ZMQ_EVENT_ALL));
}

TEST(monitor, needs_an_address_that_is_free) {
    context zmq;
    test_socket taken = zmq.socket(ZMQ_PAIR);
    const std::string name = taken.bind(scratch_endpoint("inproc"));
    test_socket watched = zmq.socket(ZMQ_DEALER);
    EXPECT_FAILS(EADDRINUSE, zmq_socket_monitor(watched.handle(), name.c_str(), ZMQ_EVENT_ALL));
}

}  // namespace
