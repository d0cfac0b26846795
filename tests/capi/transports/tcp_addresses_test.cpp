// tcp: the addresses it binds and connects to, what it refuses, listening again, and streams cut
// anywhere.
#include "raw_peer.hpp"
#include "sockets.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::long_header;
using zlink::test::message;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

std::string port_of(const std::string &endpoint) { return endpoint.substr(endpoint.rfind(':') + 1); }

void expect_passes(test_socket &from, test_socket &to, const std::string &text = "hello") {
    ASSERT_EQ(from.send(text), static_cast<int>(text.size())) << zmq_strerror(zmq_errno());
    EXPECT_EQ(to.receive(), text);
}

bool has_ipv6() {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    any.set(ZMQ_IPV6, 1);
    return zmq_bind(any.handle(), "tcp://[::1]:*") == 0;
}

// ---- Binding ----

TEST(asio_tcp, chooses_a_port_that_can_be_connected_to) {
    context zmq;
    for (const char *wildcard : {"tcp://*:*", "tcp://*:0", "tcp://0.0.0.0:*", "tcp://127.0.0.1:*",
                                 "tcp://127.0.0.1:0", "tcp://lo:*"}) {
        SCOPED_TRACE(wildcard);
        test_socket pull = zmq.socket(ZMQ_PULL);
        test_socket push = zmq.socket(ZMQ_PUSH);
        const std::string port = port_of(pull.bind(wildcard));
        EXPECT_GT(std::stoi(port), 0);
        push.connect("tcp://127.0.0.1:" + port);
        EXPECT_EQ(push.last_endpoint(), "tcp://127.0.0.1:" + port);
        expect_passes(push, pull);
    }
}

TEST(asio_tcp, names_the_address_of_an_interface) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_TRUE(any.bind("tcp://lo:*").starts_with("tcp://127.0.0.1:"));
}

TEST(asio_tcp, listens_on_several_ports_with_one_socket) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    std::vector<test_socket> pushes;
    std::vector<std::string> endpoints;
    for (int i = 0; i < 5; ++i) {
        endpoints.push_back(pull.bind(scratch_endpoint("tcp")));
        pushes.push_back(zmq.socket(ZMQ_PUSH));
        pushes.back().connect(endpoints.back());
        expect_passes(pushes.back(), pull, std::to_string(i));
    }
    std::sort(endpoints.begin(), endpoints.end());
    EXPECT_EQ(std::adjacent_find(endpoints.begin(), endpoints.end()), endpoints.end());
}

TEST(asio_tcp, connects_by_name) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string port = port_of(pull.bind(scratch_endpoint("tcp")));
    push.connect("tcp://localhost:" + port);
    expect_passes(push, pull);
}

TEST(asio_tcp, refuses_a_port_that_is_taken) {
    context zmq;
    test_socket first = zmq.socket(ZMQ_PULL);
    test_socket second = zmq.socket(ZMQ_PULL);
    const std::string endpoint = first.bind(scratch_endpoint("tcp"));
    EXPECT_FAILS(EADDRINUSE, zmq_bind(second.handle(), endpoint.c_str()));
    EXPECT_FAILS(EADDRINUSE, zmq_bind(first.handle(), endpoint.c_str()));
    raw_listener stranger;
    EXPECT_FAILS(EADDRINUSE, zmq_bind(second.handle(), stranger.endpoint().c_str()));
    // A refused bind leaves the socket as it was.
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(second.bind(scratch_endpoint("tcp")));
    expect_passes(push, second);
}

TEST(asio_tcp, refuses_addresses_that_are_not_of_this_machine) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    // RFC 5737: nobody has this address.
    EXPECT_FAILS(EADDRNOTAVAIL, zmq_bind(any.handle(), "tcp://192.0.2.1:*"));
    EXPECT_FAILS(ENODEV, zmq_bind(any.handle(), "tcp://no-such-interface:*"));
    EXPECT_FAILS(ENODEV, zmq_bind(any.handle(), "tcp://127.0.0.1.1:*"));
}

TEST(asio_tcp, refuses_to_bind_what_is_no_address) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    for (const char *endpoint : {"", "tcp", "tcp:", "tcp://", "tcp:/127.0.0.1:*", "127.0.0.1:5555",
                                 "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:port",
                                 "tcp://127.0.0.1:-1", "tcp://127.0.0.1:0;127.0.0.1:5555"}) {
        SCOPED_TRACE(endpoint);
        EXPECT_FAILS(EINVAL, zmq_bind(any.handle(), endpoint));
    }
    EXPECT_EQ(any.last_endpoint(), "");
    EXPECT_FAILS(EPROTONOSUPPORT, zmq_bind(any.handle(), "tcpp://127.0.0.1:*"));
}

TEST(asio_tcp, unbinding_ends_the_connections_and_binding_again_brings_them_back) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    const std::string endpoint = connected(zmq, pull, push);
    expect_passes(push, pull);
    monitor watch(zmq, push, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    ASSERT_EQ(pull.unbind(endpoint), 0);
    EXPECT_FAILS(ENOENT, pull.unbind(endpoint));
    // libzmq ends the connections during calls on the socket.
    EXPECT_TRUE(eventually([&] {
        pull.get(ZMQ_EVENTS);
        return !raw_peer(endpoint).is_open();
    }));
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    ASSERT_TRUE(eventually([&] { return zmq_bind(pull.handle(), endpoint.c_str()) == 0; }));
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    expect_passes(push, pull, "again");
}

TEST(asio_tcp, another_socket_may_take_over_a_port) {
    context zmq;
    std::string endpoint = scratch_endpoint("tcp");
    for (int i = 0; i < 5; ++i) {
        test_socket pull = zmq.socket(ZMQ_PULL);
        test_socket push = zmq.socket(ZMQ_PUSH);
        // The listener of the one before is closed in the background.
        ASSERT_TRUE(eventually([&] { return zmq_bind(pull.handle(), endpoint.c_str()) == 0; })) << endpoint;
        endpoint = pull.last_endpoint();
        push.connect(endpoint);
        expect_passes(push, pull);
    }
}

// ---- IPv6 ----

TEST(asio_tcp, passes_over_ipv6) {
    if (!has_ipv6())
        GTEST_SKIP() << "no IPv6 here";
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_IPV6, 1);
    push.set(ZMQ_IPV6, 1);
    const std::string endpoint = pull.bind("tcp://[::1]:*");
    EXPECT_TRUE(endpoint.starts_with("tcp://[::1]:")) << endpoint;
    push.connect(endpoint);
    expect_passes(push, pull);
    EXPECT_EQ(pull.unbind(endpoint), 0);
}

TEST(asio_tcp, an_ipv6_socket_hears_both_families) {
    if (!has_ipv6())
        GTEST_SKIP() << "no IPv6 here";
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.set(ZMQ_IPV6, 1);
    const std::string endpoint = pull.bind("tcp://*:*");
    EXPECT_TRUE(endpoint.starts_with("tcp://[::]:")) << endpoint;
    for (const char *host : {"127.0.0.1", "[::1]", "localhost"}) {
        SCOPED_TRACE(host);
        test_socket push = zmq.socket(ZMQ_PUSH);
        push.set(ZMQ_IPV6, 1);
        push.connect("tcp://" + std::string(host) + ":" + port_of(endpoint));
        expect_passes(push, pull);
    }
}

TEST(asio_tcp, does_not_bind_an_ipv6_address_unless_told) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_FAILS(ENODEV, zmq_bind(any.handle(), "tcp://[::1]:*"));
}

// ---- Source addresses ----

TEST(asio_tcp, connects_from_the_address_that_is_given) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string port = port_of(pull.bind(scratch_endpoint("tcp")));
    push.connect("tcp://127.0.0.2:0;127.0.0.1:" + port);
    ASSERT_EQ(push.send("x"), 1);
    zmq_msg_t found;
    zmq_msg_init(&found);
    ASSERT_EQ(zmq_msg_recv(&found, pull.handle(), 0), 1);
    EXPECT_STREQ(zmq_msg_gets(&found, "Peer-Address"), "127.0.0.2");
    zmq_msg_close(&found);
}

TEST(asio_tcp, connects_from_the_port_that_is_given) {
    context zmq;
    const std::string source = deserted_endpoint();
    raw_listener listener;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(source + ";" + listener.endpoint().substr(6));
    const raw_peer peer = listener.accept();
    sockaddr_in from{};
    socklen_t size = sizeof from;
    ASSERT_EQ(::getpeername(peer.descriptor(), reinterpret_cast<sockaddr *>(&from), &size), 0);
    EXPECT_EQ(std::to_string(ntohs(from.sin_port)), port_of(source));
}

// ---- Streams cut anywhere ----

TEST(asio_tcp, takes_a_stream_in_single_octets) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    raw_peer peer(pull.bind(scratch_endpoint("tcp")));
    const int on = 1;
    ::setsockopt(peer.descriptor(), IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
    ASSERT_TRUE(peer.send_slowly(zlink::test::greeting() + zlink::test::ready("PUSH")));
    ASSERT_EQ(peer.receive(64).size(), 64u);
    for (const std::size_t size : {0u, 1u, 255u, 256u, 3000u}) {
        const std::string body(size, 'x');
        ASSERT_TRUE(peer.send_slowly(message("part", true) + message(body)));
        EXPECT_EQ(pull.receive_all(), (frames{"part", body}));
    }
}

TEST(asio_tcp, takes_a_large_message_in_pieces_of_every_size) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    raw_peer peer(pull.bind(scratch_endpoint("tcp")));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    std::string body(3'000'000, '\0');
    for (std::size_t i = 0; i < body.size(); ++i)
        body[i] = static_cast<char>(i * 7 + i / 251);
    const std::string wire = long_header(0, body.size()) + body + message("tail");
    std::thread writer([&] {
        for (std::size_t at = 0, step = 1; at < wire.size(); at += step, step = step * 3 % 65'537)
            ASSERT_TRUE(peer.send(std::string_view(wire).substr(at, step)));
    });
    EXPECT_EQ(pull.receive(), body);
    EXPECT_EQ(pull.receive(), "tail");
    writer.join();
}

TEST(asio_tcp, passes_large_messages_through_small_buffers) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket peer = zmq.socket(ZMQ_PAIR);
    for (test_socket *each : {&bound, &peer}) {
        each->set(ZMQ_SNDBUF, 4096);
        each->set(ZMQ_RCVBUF, 4096);
    }
    connected(zmq, bound, peer);
    const frames large{std::string(2'000'000, 'a'), "", std::string(1'234'567, 'b'), "tail"};
    // Both directions at once: neither side may wait for the other to read first.
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(bound.send_all(large));
        ASSERT_TRUE(peer.send_all(large));
    }
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(peer.receive_all(), large);
        EXPECT_EQ(bound.receive_all(), large);
    }
}

TEST(asio_tcp, writes_on_when_a_slow_reader_reads) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer(push.bind(scratch_endpoint("tcp")));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    const std::string body(8'000'000, 'x');
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(push.send(body + std::to_string(i)), 8'000'001);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(peer.receive(9), long_header(0, body.size() + 1));
        std::string found;
        while (found.size() < body.size() + 1) {
            const std::string piece =
                peer.receive(std::min<std::size_t>(9999, body.size() + 1 - found.size()));
            ASSERT_FALSE(piece.empty());
            found += piece;
        }
        EXPECT_EQ(found, body + std::to_string(i));
    }
}

}  // namespace
