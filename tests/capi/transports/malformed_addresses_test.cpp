// Addresses that cannot be understood: the number is libzmq's, and monitors hear which part it is.
#include "sockets.hpp"

#include <ranges>

namespace {

using namespace zlink_test;

struct malformed {
    std::string endpoint;
    int number;
    std::string words;
};

const std::string names_are_not_looked_up = "; names are not looked up to bind to them";

const malformed to_any[] = {
    {"127.0.0.1:5555", EINVAL, "there is no scheme in front, such as tcp://"},
    {"://127.0.0.1:5555", EINVAL, "there is no scheme in front, such as tcp://"},
    {"tcp://", EINVAL, "there is no address behind tcp://"},
    {"inproc://", EINVAL, "there is no address behind inproc://"},
    {"carrier-pigeon://loft", EPROTONOSUPPORT, "there is no transport carrier-pigeon in this library"},
    {"tcp://127.0.0.1", EINVAL, "there is no port behind 127.0.0.1"},
    {"tcp://127.0.0.1:", EINVAL, "there is no port behind 127.0.0.1"},
    {"tcp://[::1]", EINVAL, "there is no port behind [::1]"},
    {"tcp://127.0.0.1:5555/path", EINVAL, "only ws:// and wss:// take a path: 5555/path"},
    {"ipc://@", EINVAL, "there is no name behind the @"},
    {"ipc://" + std::string(108, 'x'), ENAMETOOLONG,
     "of the 108 octets of this name a local socket takes 107"},
    {"ws://127.0.0.1/path", EINVAL, "there is no port behind 127.0.0.1"},
    {"ws://127.0.0.1:5555/a#b", EINVAL, "the path may have neither blanks nor #, and no octet beyond ASCII"},
    {"ws://127.0.0.1:5555/" + std::string(8192, 'x'), EINVAL, "the path is longer than 7 KiB"},
};

const malformed to_bind_to[] = {
    {"tcp://127.0.0.1:http", EINVAL, "the port http is no number from 1 to 65535, nor * for any"},
    {"tcp://127.0.0.1:65536", EINVAL, "the port 65536 is no number from 1 to 65535, nor * for any"},
    {"tcp://lo;127.0.0.1:5555", EINVAL,
     "a source in front of a semicolon is for connecting: lo;127.0.0.1:5555"},
    {"tcp://:5555", ENODEV, "there is no host in front of the port; * stands for all interfaces"},
    {"tcp://[::1:5555", ENODEV, "the brackets do not match: [::1"},
    {"tcp://[::1]:5555", ENODEV, "::1 is an address of IPv6, and ZMQ_IPV6 is not set"},
    {"tcp://nowhere7:5555", ENODEV,
     "no interface and no numeric address: nowhere7" + names_are_not_looked_up},
    {"ws://127.0.0.1:x/path", EINVAL, "the port x is no number from 1 to 65535, nor * for any"},
};

const malformed to_connect_to[] = {
    {"tcp://127.0.0.1:http", EINVAL, "the port http is no number up to 65535"},
    {"tcp://127.0.0.1:*", EINVAL, "the port * is no number up to 65535"},
    {"tcp://*:5555", EINVAL, "* is no host to connect to"},
    {"tcp://a b:5555", EINVAL, "there are characters that no host has in a b"},
    {"tcp://-a:5555", EINVAL, "no host begins as -a"},
    {"tcp://" + std::string(256, 'a') + ":5555", EINVAL, "the host is longer than 255 octets"},
    {"tcp://;127.0.0.1:5555", EINVAL, "there is no source in front of the semicolon"},
    {"tcp://lo:x;127.0.0.1:5555", EINVAL,
     "of the source, the port x is no number from 1 to 65535, nor * for any"},
};

// These, like libzmq's, can be connected to, again and again: each attempt fails.
const malformed of_no_use[] = {
    {"tcp://:5555", EINVAL, "there is no host in front of the port"},
    {"tcp://[::1:5555", EHOSTUNREACH, "the brackets do not match: [::1"},
    {"tcp://[::1]:5555", EHOSTUNREACH, "::1 is an address of IPv6, and ZMQ_IPV6 is not set"},
    {"ws://[fe80::2]:5555/path", EHOSTUNREACH, "fe80::2 is an address of IPv6, and ZMQ_IPV6 is not set"},
};

// Another scheme than ws is in every library.
bool is_built(const malformed &each) { return zmq_has("ws") || !each.endpoint.starts_with("ws://"); }

class malformed_address : public ::testing::Test {
protected:
    void expect_reason(const malformed &each) {
        const monitor_event found = events.next();
        EXPECT_EQ(found.event, ZMQ_EVENT_REASON) << each.endpoint;
        EXPECT_EQ(found.value, each.number) << each.endpoint;
        EXPECT_EQ(found.endpoint, each.endpoint);
        EXPECT_EQ(found.words, each.words);
    }
    void expect_no_bind(const malformed &each, bool has_transport = true) {
        EXPECT_FAILS(each.number, zmq_bind(socket.handle(), each.endpoint.c_str()));
        expect_reason(each);
        if (has_transport) {
            EXPECT_EQ(events.next().event, ZMQ_EVENT_BIND_FAILED) << each.endpoint;
        }
    }
    void expect_no_connect(const malformed &each) {
        EXPECT_FAILS(each.number, zmq_connect(socket.handle(), each.endpoint.c_str()));
        expect_reason(each);
    }

    context zmq;
    test_socket socket = zmq.socket(ZMQ_DEALER);
    monitor events{zmq, socket, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS};
};

TEST_F(malformed_address, is_told_in_words_whatever_it_is_for) {
    for (const malformed &each : to_any | std::views::filter(is_built)) {
        const bool has_transport = &each >= &to_any[5];
        expect_no_bind(each, has_transport);
        expect_no_connect(each);
    }
}

TEST_F(malformed_address, to_bind_to_is_told_in_words) {
    for (const malformed &each : to_bind_to | std::views::filter(is_built))
        expect_no_bind(each);
}

TEST_F(malformed_address, to_connect_to_is_told_in_words) {
    for (const malformed &each : to_connect_to)
        expect_no_connect(each);
}

TEST_F(malformed_address, that_can_be_connected_to_is_told_in_words_with_the_attempt) {
    socket.set(ZMQ_RECONNECT_IVL, -1);
    for (const malformed &each : of_no_use | std::views::filter(is_built)) {
        ASSERT_EQ(zmq_connect(socket.handle(), each.endpoint.c_str()), 0) << each.endpoint;
        expect_reason(each);
    }
}

TEST_F(malformed_address, of_a_source_that_is_taken_is_told_with_the_attempt) {
    test_socket taken = zmq.socket(ZMQ_DEALER);
    const std::string source = taken.bind("tcp://127.0.0.1:*").substr(6);
    const std::string endpoint = "tcp://" + source + ";127.0.0.1:5555";
    socket.set(ZMQ_RECONNECT_IVL, -1);
    ASSERT_EQ(zmq_connect(socket.handle(), endpoint.c_str()), 0);
    expect_reason({endpoint, EADDRINUSE,
                   "cannot connect from " + source + " to 127.0.0.1:5555: Address already in use"});
}

TEST_F(malformed_address, of_a_proxy_is_told_with_the_option) {
    const std::string endpoint = "tcp://127.0.0.1:5555";
    for (const auto &[proxy, words] :
         {std::pair<std::string, std::string>{"127.0.0.1", "there is no port behind 127.0.0.1"},
          {"127.0.0.1:0", "127.0.0.1:0 is no host and port"},
          {std::string("localhost\0x:1080", 16),
           std::string("there are characters that no host has in localhost\0x", 52)}}) {
        socket.set(ZMQ_SOCKS_PROXY, proxy);
        expect_no_connect({endpoint, EINVAL, "ZMQ_SOCKS_PROXY: " + words});
    }
}

TEST_F(malformed_address, leaves_nothing_behind_for_a_good_one) {
    if (!zmq_has("ws"))
        GTEST_SKIP() << "built without WebSocket";
    expect_no_connect({"ws://127.0.0.1:x/", EINVAL, "the port x is no number up to 65535"});
    socket.bind("ws://127.0.0.1:*/");
    EXPECT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
    socket.bind("ws://127.0.0.1:*/");
    EXPECT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
}

}  // namespace
