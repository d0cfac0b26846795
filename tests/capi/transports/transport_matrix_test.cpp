// The bidirectional and publishing patterns over every transport, with either side binding.
#include "both_ways.hpp"
#include "sockets.hpp"
#include "transports.hpp"

#include <tuple>

namespace {

using namespace zlink_test;

constexpr std::size_t matrix_sizes[] = {0, 1, 255, 256, 8191, 8192, 65536};

// Octets that differ from one position, and from one message, to the next.
// Every size alone and in messages of several parts.
std::vector<frames> all_messages() {
    std::vector<frames> all;
    unsigned number = 0;
    for (const std::size_t size : matrix_sizes) {
        all.push_back({body_of(size, ++number)});
        all.push_back({body_of(size, ++number), "", body_of(size, ++number)});
        all.push_back({"head", body_of(size, ++number)});
    }
    return all;
}

frames with_id(const std::string &id, const frames &message) {
    frames out{id};
    out.insert(out.end(), message.begin(), message.end());
    return out;
}

// One after the other, then all at once.
void expect_passes(test_socket &from, const std::string &to_id, test_socket &to, const std::string &from_id) {
    const std::vector<frames> all = all_messages();
    const auto sent = [&](const frames &message) {
        return from.send_all(to_id.empty() ? message : with_id(to_id, message));
    };
    const auto expected = [&](const frames &message) {
        return from_id.empty() ? message : with_id(from_id, message);
    };
    for (const frames &message : all) {
        ASSERT_TRUE(sent(message)) << zmq_strerror(zmq_errno());
        ASSERT_EQ(to.receive_all(), expected(message));
    }
    for (const frames &message : all)
        ASSERT_TRUE(sent(message)) << zmq_strerror(zmq_errno());
    for (const frames &message : all)
        ASSERT_EQ(to.receive_all(), expected(message));
}

class matrix : public either_binds {};

TEST_P(matrix, pair_and_pair) {
    test_socket first = zmq.socket(ZMQ_PAIR);
    test_socket second = zmq.socket(ZMQ_PAIR);
    link(first, second);
    expect_passes(first, "", second, "");
    expect_passes(second, "", first, "");
}

TEST_P(matrix, pub_and_sub) {
    test_socket pub = zmq.socket(ZMQ_PUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    ASSERT_EQ(sub.set(ZMQ_SUBSCRIBE, ""), 0);
    link(pub, sub);
    // Whatever is published before the subscription arrives is dropped.
    ASSERT_TRUE(eventually([&] {
        pub.send("first");
        sub.get(ZMQ_EVENTS);
        return sub.receive(ZMQ_DONTWAIT).has_value();
    }));
    pub.send("last");
    std::optional<std::string> found;
    do
        found = sub.receive();
    while (found == "first");
    ASSERT_EQ(found, "last");
    expect_passes(pub, "", sub, "");
}

TEST_P(matrix, pub_and_sub_by_topic) {
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    ASSERT_EQ(sub.set(ZMQ_SUBSCRIBE, "news"), 0);
    link(pub, sub);
    // A bound socket takes notice of a peer during a call.
    ASSERT_TRUE(eventually([&] {
        sub.get(ZMQ_EVENTS);
        return pub.receive(ZMQ_DONTWAIT) == "\1news";
    }));
    for (const std::size_t size : matrix_sizes) {
        ASSERT_TRUE(pub.send_all({"new", body_of(size, 1)}));
        ASSERT_TRUE(pub.send_all({"newspaper", body_of(size, 2)}));
        ASSERT_TRUE(pub.send_all({"old", "news"}));
        EXPECT_EQ(sub.receive_all(), (frames{"newspaper", body_of(size, 2)}));
    }
}

TEST_P(matrix, router_and_dealer) {
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    ASSERT_EQ(dealer.set(ZMQ_ROUTING_ID, "dealer"), 0);
    link(router, dealer);
    expect_passes(dealer, "", router, "dealer");
    expect_passes(router, "dealer", dealer, "");
}

TEST_P(matrix, router_and_router) {
    test_socket first = zmq.socket(ZMQ_ROUTER);
    test_socket second = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(first.set(ZMQ_ROUTING_ID, "first"), 0);
    ASSERT_EQ(second.set(ZMQ_ROUTING_ID, "second"), 0);
    ASSERT_EQ(first.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    ASSERT_EQ(second.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    link(first, second);
    // A router learns who is there while it is used.
    ASSERT_TRUE(eventually([&] { return first.send("second", ZMQ_SNDMORE) != -1; }));
    ASSERT_EQ(first.send("hello"), 5);
    ASSERT_EQ(second.receive_all(), (frames{"first", "hello"}));
    expect_passes(first, "second", second, "first");
    expect_passes(second, "first", first, "second");
}

INSTANTIATE_TEST_SUITE_P(transports, matrix,
                         ::testing::Combine(::testing::ValuesIn(built_transports()), ::testing::Bool()),
                         [](const auto &which) {
                             return std::get<0>(which.param) +
                                    (std::get<1>(which.param) ? "_first_binds" : "_second_binds");
                         });

TEST(transport_matrix, has_what_every_build_has) {
    for (const char *transport : {"tcp", "ipc", "inproc"})
        EXPECT_EQ(zmq_has(transport), 1) << transport;
    EXPECT_EQ(zmq_has("carrier pigeon"), 0);
}

TEST(transport_matrix, refuses_the_transports_that_are_not_built) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    for (const char *transport : {"udp", "pgm", "norm", "tipc", "vmci"}) {
        if (zmq_has(transport))
            continue;
        const std::string endpoint = std::string(transport) + "://127.0.0.1:5555";
        SCOPED_TRACE(endpoint);
        EXPECT_FAILS(EPROTONOSUPPORT, zmq_bind(any.handle(), endpoint.c_str()));
        EXPECT_FAILS(EPROTONOSUPPORT, zmq_connect(any.handle(), endpoint.c_str()));
    }
}

}  // namespace
