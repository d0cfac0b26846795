// Tests that what a peer is told last reaches it, also where it has sent more than anybody reads:
// an answer of HTTP, a Close, an ERROR command.
#include "eventually.hpp"
#include "sockets.hpp"
#include "web_peer.hpp"

#include <cerrno>

namespace {

using namespace zlink_test;
using zlink::test::greeting;
using zlink::test::ready;
using zlink::test::upgrade;
using zlink::test::web_close;
using zlink::test::web_message;
using zlink::test::web_peer;
using zlink::test::web_ready;

/// All that comes up to the end of the stream; what went wrong behind it otherwise.
std::string receive_to_the_end(zlink::test::raw_peer &peer) {
    std::string out;
    char buffer[4096];
    while (peer.has_input()) {
        const ssize_t n = ::recv(peer.descriptor(), buffer, sizeof buffer, 0);
        if (n == 0)
            return out;
        if (n < 0)
            return out + "<" + std::strerror(errno) + ">";
        out.append(buffer, static_cast<std::size_t>(n));
    }
    return out + "<no end>";
}

const std::string long_body(300 << 10, 'x');  // more than is read at a time

class last_words : public ::testing::Test {
protected:
    /// A client that does not read before it has sent all this.
    std::string answer_to(const std::string &octets) {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.send(octets));
        return receive_to_the_end(peer);
    }
    web_peer caller() {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.call("DEALER"));
        return peer;
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
};

TEST_F(last_words, of_a_refused_upgrade_come_whole_however_much_stands_behind_it) {
    for (int i = 0; i < 20; ++i) {
        const std::string answer = answer_to(upgrade("/elsewhere") + long_body);
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 ")) << answer;
        EXPECT_TRUE(answer.ends_with("There is nothing at this path.\n")) << answer;
        EXPECT_TRUE(answer_to(std::string(1, '\x16') + long_body).starts_with("HTTP/1.1 400 "));
    }
}

TEST_F(last_words, of_a_fault_in_traffic_come_whole_however_much_stands_behind_it) {
    for (int i = 0; i < 20; ++i) {
        web_peer peer = caller();
        ASSERT_TRUE(peer.send(web_message("not masked", false) + long_body));
        EXPECT_EQ(receive_to_the_end(peer), web_close(1002, false));
    }
}

TEST_F(last_words, of_a_handshake_come_whole_however_much_stands_behind_it) {
    for (int i = 0; i < 20; ++i) {
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.send(upgrade() + web_ready("PUSH") + long_body));
        ASSERT_TRUE(peer.receive_head().starts_with("HTTP/1.1 101 "));
        const std::string rest = receive_to_the_end(peer);
        EXPECT_TRUE(rest.ends_with(web_close(1008, false)) || rest.ends_with(web_close(1002, false))) << rest;
    }
}

TEST(last_words_of_zmtp, come_whole_however_much_stands_behind_it) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = server.bind("tcp://127.0.0.1:*");
    for (int i = 0; i < 20; ++i) {
        zlink::test::raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send(greeting() + ready("PUSH") + long_body));
        const std::string all = receive_to_the_end(peer);
        EXPECT_NE(all.find("\5ERROR"), std::string::npos) << all;
        EXPECT_FALSE(all.ends_with(">")) << all;
    }
}

TEST_F(last_words, keep_no_descriptor_for_a_peer_that_sends_without_end) {
    web_peer peer = caller();
    ASSERT_TRUE(peer.send(web_message("not masked", false)));
    constexpr int more_than_systems_hold = 64;
    bool is_taken = true;
    for (int i = 0; i < more_than_systems_hold && is_taken; ++i)
        is_taken = peer.send(std::string(1 << 20, 'x'));
    EXPECT_FALSE(is_taken);
}

TEST_F(last_words, keep_no_descriptor_for_a_peer_that_is_silent) {
    web_peer peer = caller();
    ASSERT_TRUE(peer.send(web_message("not masked", false)));
    EXPECT_EQ(receive_to_the_end(peer), web_close(1002, false));
    // Sooner or later there is nobody who takes an octet.
    EXPECT_TRUE(eventually([&] { return !peer.send("x"); }));
}

TEST_F(last_words, are_waited_for_by_nobody_else) {
    monitor events(zmq, server, ZMQ_EVENT_DISCONNECTED);
    web_peer silent = caller();
    ASSERT_TRUE(silent.send(web_message("not masked", false)));
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    web_peer next = caller();
    ASSERT_TRUE(server.send_all({"for the next"}));
    EXPECT_EQ(next.receive_web_message(), "for the next");
}

// The wait of a socket that lingers is for session_parting_test, which has time of its own.
TEST_F(last_words, let_a_context_end_while_the_peer_says_nothing) {
    context another;
    test_socket bound = another.socket(ZMQ_DEALER);
    web_peer silent(bound.bind("ws://127.0.0.1:*"));
    ASSERT_TRUE(silent.send(upgrade("/elsewhere")));
    EXPECT_TRUE(receive_to_the_end(silent).starts_with("HTTP/1.1 404 "));
    bound.close();
    EXPECT_EQ(another.term(), 0);
}

}  // namespace
