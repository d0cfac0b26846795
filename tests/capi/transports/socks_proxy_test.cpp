// ZMQ_SOCKS_PROXY: what a connecting socket says to its proxy, and that it goes nowhere without it.
#define ZMQ_BUILD_DRAFT_API
#include "raw_peer.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace {

using namespace zlink::test;
using namespace std::string_literals;

const std::string opened = "\5\0\0\1\0\0\0\0\0\0"s;
const std::string refused = "\5\5\0\1\0\0\0\0\0\0"s;

/// "127.0.0.1:port" of a listener.
std::string address_of(const raw_listener &there) { return there.endpoint().substr(6); }

/// The address that a peer has connected from.
std::string source_of(const raw_peer &peer) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    char text[INET_ADDRSTRLEN] = "";
    if (::getpeername(peer.descriptor(), reinterpret_cast<sockaddr *>(&address), &length) == 0)
        ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    return text;
}

std::string request_for_name(const std::string &name, int port) {
    return "\5\1\0\3"s + static_cast<char>(name.size()) + name + static_cast<char>(port >> 8) +
           static_cast<char>(port);
}

TEST(socks_proxy, carries_a_connection_to_a_name_it_resolves_itself) {
    const zmq_context context;
    raw_listener proxy;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, address_of(proxy)), 0);
    ASSERT_TRUE(push.connect("tcp://far.example:1234"));
    ASSERT_TRUE(push.send("through the proxy"));

    raw_peer at_proxy = proxy.accept();
    EXPECT_EQ(at_proxy.receive(3), "\5\1\0"s);
    ASSERT_TRUE(at_proxy.send_slowly("\5\0"s));
    const std::string request = request_for_name("far.example", 1234);
    EXPECT_EQ(at_proxy.receive(request.size()), request);
    // The far side may speak in the same segment as the proxy.
    ASSERT_TRUE(at_proxy.send(opened + greeting() + ready("PULL")));
    EXPECT_EQ(at_proxy.receive(64).size(), 64u);
    EXPECT_EQ(at_proxy.receive_frame().second.substr(0, 6), "\5READY");
    EXPECT_EQ(at_proxy.receive_frame().second, "through the proxy");
}

TEST(socks_proxy, is_given_user_and_password_where_it_asks) {
    const zmq_context context;
    raw_listener proxy;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, address_of(proxy)), 0);
    ASSERT_EQ(push.set(ZMQ_SOCKS_USERNAME, "bob"), 0);
    ASSERT_EQ(push.set(ZMQ_SOCKS_PASSWORD, "secret"), 0);
    ASSERT_TRUE(push.connect("tcp://10.0.0.1:80"));
    raw_peer at_proxy = proxy.accept();
    EXPECT_EQ(at_proxy.receive(4), "\5\2\0\2"s);
    ASSERT_TRUE(at_proxy.send("\5\2"s));
    EXPECT_EQ(at_proxy.receive(12), "\1\3bob\6secret"s);
    ASSERT_TRUE(at_proxy.send("\1\0"s));
    EXPECT_EQ(at_proxy.receive(10), "\5\1\0\1\12\0\0\1\0\x50"s);
    ASSERT_TRUE(at_proxy.send(opened));
    EXPECT_TRUE(at_proxy.shake_hands("PULL"));
}

TEST(socks_proxy, is_called_from_the_source_that_stands_before_it_or_else_before_the_far_side) {
    const zmq_context context;
    raw_listener proxy;
    const std::string from_the_proxy = "127.0.0.3:0;" + address_of(proxy);
    struct {
        std::string proxy, endpoint, source;
    } const cases[] = {
        {from_the_proxy, "tcp://far.example:1", "127.0.0.3"},
        {"127.0.0.3;" + address_of(proxy), "tcp://far.example:1", "127.0.0.3"},
        {address_of(proxy), "tcp://127.0.0.4:0;far.example:1", "127.0.0.4"},
        {from_the_proxy, "tcp://127.0.0.4:0;far.example:1", "127.0.0.3"},
    };
    for (const auto &each : cases) {
        zmq_socket_of push(context, ZMQ_PUSH);
        ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, each.proxy), 0);
        ASSERT_TRUE(push.connect(each.endpoint)) << each.proxy;
        raw_peer at_proxy = proxy.accept();
        EXPECT_EQ(source_of(at_proxy), each.source) << each.proxy << " " << each.endpoint;
        EXPECT_EQ(at_proxy.receive(3), "\5\1\0"s);
    }
}

TEST(socks_proxy, that_refuses_is_asked_again_and_nobody_else) {
    const zmq_context context;
    raw_listener proxy, far;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, address_of(proxy)), 0);
    ASSERT_TRUE(push.connect(far.endpoint()));
    for (const std::string &answer : {refused, "\5\xff"s, "HTTP/1.1 400"s, ""s}) {
        raw_peer at_proxy = proxy.accept();
        ASSERT_EQ(at_proxy.receive(3), "\5\1\0"s);
        if (answer == refused) {
            ASSERT_TRUE(at_proxy.send("\5\0"s));
            EXPECT_EQ(at_proxy.receive(10).size(), 10u);
        }
        if (answer.empty())
            at_proxy.close();
        else
            EXPECT_TRUE(at_proxy.send(answer) && at_proxy.is_closed_by_other_side());
    }
    ASSERT_TRUE(proxy.accept().is_open());
    EXPECT_FALSE(far.is_called(0));
}

TEST(socks_proxy, that_says_nothing_is_left_after_the_time_for_a_handshake) {
    const zmq_context context;
    raw_listener proxy;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_HANDSHAKE_IVL, 20), 0);
    ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, address_of(proxy)), 0);
    ASSERT_TRUE(push.connect("tcp://far.example:1"));
    raw_peer at_proxy = proxy.accept();
    EXPECT_TRUE(at_proxy.is_closed_by_other_side());
}

TEST(socks_proxy, without_an_address_to_call_fails_the_connect) {
    const zmq_context context;
    for (const char *bad :
         {"nohost", ":1080", "host:0x", "host:99999", "socks5://host:1", ";host:1", "127.0.0.1:x;host:1"}) {
        zmq_socket_of push(context, ZMQ_PUSH);
        ASSERT_EQ(push.set(ZMQ_SOCKS_PROXY, bad), 0);
        EXPECT_FALSE(push.connect("tcp://127.0.0.1:1")) << bad;
        EXPECT_EQ(zmq_errno(), EINVAL) << bad;
        EXPECT_EQ(zmq_setsockopt(push, ZMQ_SOCKS_PROXY, nullptr, 0), 0);
        EXPECT_TRUE(push.connect("tcp://127.0.0.1:1")) << "a null pointer takes the proxy back";
    }
}

}  // namespace
