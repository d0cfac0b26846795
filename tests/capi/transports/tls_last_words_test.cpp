// Tests that what a peer inside TLS is told last reaches it, also where it has sent more than
// anybody reads: a Close over wss, and an alert.
#include "sockets.hpp"
#include "tls_peer.hpp"
#include "web_peer.hpp"

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;
using zlink::test::tls_peer;
using zlink::test::upgrade;
using zlink::test::web_close;
using zlink::test::web_message;
using zlink::test::web_ready;

const std::string sealed_body(300 << 10, 'x');  // more than is read at a time

/// The end of the stream, and no reset.
void expect_end(raw_peer &peer) {
    char octet;
    ASSERT_TRUE(peer.has_input());
    EXPECT_EQ(::recv(peer.descriptor(), &octet, 1, 0), 0) << std::strerror(errno);
}

std::string receive_to_close_notify(tls_peer &peer) {
    std::string all;
    for (std::string octet; !(octet = peer.receive(1)).empty();)
        all += octet;
    EXPECT_TRUE(SSL_get_shutdown(peer.tls()) & SSL_RECEIVED_SHUTDOWN);
    return all;
}

class tls_last_words : public ::testing::Test {
protected:
    test_socket bound() {
        test_socket made = zmq.socket(ZMQ_DEALER);
        made.set(ZMQ_TLS_CERT, good().cert);
        made.set(ZMQ_TLS_KEY, good().key);
        return made;
    }
    context zmq;
};

TEST_F(tls_last_words, of_a_refused_upgrade_come_whole_however_much_stands_behind_it) {
    if (!zmq_has("wss"))
        GTEST_SKIP() << "built without WebSocket";
    test_socket server = bound();
    const std::string endpoint = server.bind("wss://127.0.0.1:*");
    for (int i = 0; i < 10; ++i) {
        tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
        ASSERT_TRUE(peer.shake_hands());
        ASSERT_TRUE(peer.send(upgrade("/elsewhere") + sealed_body));
        EXPECT_TRUE(receive_to_close_notify(peer).starts_with("HTTP/1.1 404 "));
        expect_end(peer.octets());
    }
}

TEST_F(tls_last_words, of_a_fault_in_traffic_come_whole_however_much_stands_behind_it) {
    if (!zmq_has("wss"))
        GTEST_SKIP() << "built without WebSocket";
    test_socket server = bound();
    const std::string endpoint = server.bind("wss://127.0.0.1:*");
    for (int i = 0; i < 10; ++i) {
        tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
        ASSERT_TRUE(peer.shake_hands());
        ASSERT_TRUE(peer.send(upgrade() + web_ready("DEALER")));
        ASSERT_TRUE(peer.send(web_message("not masked", false) + sealed_body));
        EXPECT_TRUE(receive_to_close_notify(peer).ends_with(web_close(1002, false)));
        expect_end(peer.octets());
    }
}

TEST_F(tls_last_words, of_tls_itself_come_whole_however_much_stands_behind_its_reason) {
    test_socket server = bound();
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    // A ClientHello of four octets that mean nothing.
    const std::string bad_hello("\x16\x03\x01\x00\x08\x01\x00\x00\x04none", 13);
    for (int i = 0; i < 10; ++i) {
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send(bad_hello + sealed_body));
        const std::string alert = peer.receive(7);
        ASSERT_EQ(alert.size(), 7u);
        EXPECT_EQ(alert.substr(0, 1), "\x15");
        EXPECT_EQ(alert[5], 2) << "fatal";
        expect_end(peer);
    }
}

TEST_F(tls_last_words, of_tls_itself_in_traffic_come_whole_however_much_stands_behind_its_reason) {
    test_socket server = bound();
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    // A record that nobody has encrypted.
    const std::string bad_record = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
    for (int i = 0; i < 10; ++i) {
        tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
        ASSERT_TRUE(peer.shake_hands());
        ASSERT_TRUE(peer.shake_hands_of_zmtp("DEALER"));
        ASSERT_TRUE(peer.octets().send(bad_record + sealed_body));
        EXPECT_EQ(peer.receive(1), "");
        EXPECT_EQ(peer.alert(), SSL_AD_BAD_RECORD_MAC);
        expect_end(peer.octets());
    }
}

}  // namespace
