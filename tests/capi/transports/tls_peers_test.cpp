// Tests what peers do over tls that are not zlink: other protocols, older ones, odd records, and
// ends at the wrong moment.
#include "sockets.hpp"
#include "tls_peer.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::greeting;
using zlink::test::message;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::ready;
using zlink::test::tls_peer;

constexpr auto failed_handshake = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

// A server that expects certificates of nobody, and what an honest client gets from it.
class tls_server : public ::testing::Test {
protected:
    void TearDown() override {
        test_socket honest = zmq.socket(ZMQ_DEALER);
        honest.connect(endpoint);
        honest.send("of a friend");
        EXPECT_EQ(server.receive(), "of a friend") << "it does not go on";
    }
    tls_peer *open_peer() {
        peers.push_back(std::make_unique<tls_peer>(raw_peer(endpoint), tls_peer::role::client));
        return peers.back().get();
    }
    tls_peer *established_peer() {
        tls_peer *const peer = open_peer();
        EXPECT_TRUE(peer->shake_hands());
        EXPECT_TRUE(peer->shake_hands_of_zmtp("DEALER"));
        return peer;
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER);
    monitor events{zmq, server};
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    std::vector<std::unique_ptr<tls_peer>> peers;
};

TEST_F(tls_server, refuses_a_client_that_speaks_zmtp_in_the_clear) {
    raw_peer plain(endpoint);
    plain.send(greeting() + ready("PAIR"));
    EXPECT_TRUE(plain.is_closed_by_other_side());
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
}

TEST_F(tls_server, refuses_a_plain_tcp_socket_of_the_library) {
    test_socket plain = zmq.socket(ZMQ_PAIR);
    plain.set(ZMQ_RECONNECT_IVL, -1);
    monitor at_plain(zmq, plain);
    plain.connect("tcp" + endpoint.substr(3));
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
    EXPECT_NE(at_plain.next(ZMQ_EVENT_DISCONNECTED).event, 0);
}

TEST_F(tls_server, refuses_garbage_and_empty_records) {
    std::string many_empty_records;
    for (int i = 0; i < 100; ++i)
        many_empty_records += std::string("\x16\3\1\0\0", 5);
    for (const std::string &octets :
         {std::string(600, '\0'), std::string(600, '\x16'), std::string("GET / HTTP/1.1\r\n\r\n"),
          many_empty_records, std::string("\x16\3\1\xff\xff", 5)}) {
        SCOPED_TRACE(octets.substr(0, 5));
        raw_peer plain(endpoint);
        plain.send(octets);
        EXPECT_TRUE(plain.is_closed_by_other_side());
        EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
    }
}

TEST_F(tls_server, refuses_a_client_of_tls_1_2) {
    tls_peer old(raw_peer(endpoint), tls_peer::role::client, TLS1_2_VERSION);
    EXPECT_FALSE(old.shake_hands());
    EXPECT_EQ(old.alert(), TLS1_AD_PROTOCOL_VERSION);
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
}

TEST_F(tls_server, closes_a_client_that_is_silent_or_slow) {
    server.unbind(endpoint);
    server.set(ZMQ_HANDSHAKE_IVL, 50);
    ASSERT_EQ(zmq_bind(server.handle(), endpoint.c_str()), 0);
    raw_peer silent(endpoint);
    EXPECT_TRUE(silent.is_closed_by_other_side());
    EXPECT_EQ(events.next(failed_handshake).value, EAGAIN);
    raw_peer slow(endpoint);
    slow.send("\x16\3\1");
    EXPECT_TRUE(slow.is_closed_by_other_side());
    EXPECT_EQ(events.next(failed_handshake).value, EAGAIN);
    server.unbind(endpoint);
    server.set(ZMQ_HANDSHAKE_IVL, 30000);
    ASSERT_EQ(zmq_bind(server.handle(), endpoint.c_str()), 0);
}

TEST_F(tls_server, sees_a_client_go_in_the_middle_of_the_handshake) {
    raw_peer(endpoint).send(std::string("\x16\3\1\2\0\1\0\1", 8));
    EXPECT_EQ(events.next(failed_handshake).value, ECONNRESET);
    raw_peer(endpoint).close();
    EXPECT_EQ(events.next(failed_handshake).value, ECONNRESET);
}

TEST_F(tls_server, sees_a_client_go_in_the_middle_of_a_record) {
    tls_peer *const peer = established_peer();
    // The head of a record of 100 octets, and ten of them.
    peer->octets().send(std::string("\x17\3\3\0\x64", 5) + std::string(10, 'x'));
    peer->octets().finish_writing();
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    EXPECT_FALSE(server.has_input(0));
}

TEST_F(tls_server, closes_at_a_record_that_was_tampered_with) {
    tls_peer *const peer = established_peer();
    peer->send(message("a whole one"));
    EXPECT_EQ(server.receive(), "a whole one");
    peer->octets().send(std::string("\x17\3\3\0\x64", 5) + std::string(100, 'x'));
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    EXPECT_EQ(peer->receive(1), "");
    EXPECT_EQ(peer->alert(), SSL3_AD_BAD_RECORD_MAC);
    EXPECT_FALSE(server.has_input(0));
}

TEST_F(tls_server, takes_records_of_one_octet_and_a_handshake_in_pieces) {
    tls_peer *const peer = open_peer();
    // Nagle is off: each octet is a segment, and mostly a read.
    ASSERT_TRUE(peer->shake_hands_slowly());
    ASSERT_TRUE(peer->send_one_by_one(greeting() + ready("DEALER") + message("slowly") +
                                      message(std::string(3000, 'y'))));
    EXPECT_EQ(server.receive(), "slowly");
    EXPECT_EQ(server.receive(), std::string(3000, 'y'));
}

TEST_F(tls_server, takes_new_keys_whenever_the_peer_wants_them) {
    tls_peer *const peer = established_peer();
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(
            SSL_key_update(peer->tls(), i % 2 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        ASSERT_TRUE(peer->send(message(std::to_string(i))));
        ASSERT_EQ(server.receive(), std::to_string(i));
        ASSERT_EQ(server.send("answer"), 6);
        ASSERT_EQ(peer->receive(8), message("answer"));
    }
}

TEST_F(tls_server, has_the_keys_of_one_handshake_only) {
    tls_peer *const peer = established_peer();
    EXPECT_EQ(SSL_renegotiate(peer->tls()), 0);
    EXPECT_EQ(SSL_session_reused(peer->tls()), 0);
}

TEST_F(tls_server, agrees_on_no_protocol_inside_whatever_a_client_offers) {
    tls_peer *const peer = open_peer();
    const std::string offered("\2h2\10http/1.1", 12);
    SSL_set_alpn_protos(peer->tls(), reinterpret_cast<const unsigned char *>(offered.data()), 12);
    EXPECT_TRUE(peer->shake_hands());
    EXPECT_TRUE(peer->shake_hands_of_zmtp("DEALER"));
    const unsigned char *chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(peer->tls(), &chosen, &size);
    EXPECT_EQ(size, 0u);
}

// Browsers offer these.
TEST(wss_server, agrees_on_no_protocol_but_upgrades_inside_whatever_a_client_offers) {
    if (!zmq_has("wss"))
        GTEST_SKIP() << "built without WebSocket";
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    tls_peer peer(raw_peer(server.bind("wss://127.0.0.1:*")), tls_peer::role::client);
    const std::string offered("\2h2\10http/1.1", 12);
    SSL_set_alpn_protos(peer.tls(), reinterpret_cast<const unsigned char *>(offered.data()), 12);
    ASSERT_TRUE(peer.shake_hands());
    const unsigned char *chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(peer.tls(), &chosen, &size);
    EXPECT_EQ(size, 0u);
    ASSERT_TRUE(peer.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Protocol: ZWS2.0\r\n\r\n"));
    EXPECT_EQ(peer.receive(12), "HTTP/1.1 101");
}

TEST_F(tls_server, speaks_with_authenticated_ciphers_and_modern_groups_only) {
    for (const char *cipher :
         {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
        for (const char *group : {"X25519", "P-256"}) {
            tls_peer *const peer = open_peer();
            SSL_set_ciphersuites(peer->tls(), cipher);
            SSL_set1_groups_list(peer->tls(), group);
            EXPECT_TRUE(peer->shake_hands()) << cipher << " " << group;
        }
    tls_peer *const weak = open_peer();
    SSL_set_ciphersuites(weak->tls(), "TLS_AES_128_CCM_8_SHA256");
    EXPECT_FALSE(weak->shake_hands());
}

TEST_F(tls_server, fills_its_records) {
    tls_peer *const peer = established_peer();
    const std::string body(400'000, 'z');
    const int records = peer->records();
    std::thread reader([&] { EXPECT_EQ(peer->receive(body.size() + 9).substr(9), body); });
    EXPECT_EQ(server.send(body), 400'000);
    reader.join();
    EXPECT_LE(peer->records() - records, 400'000 / 16'384 + 2);
}

TEST_F(tls_server, says_that_it_ends) {
    tls_peer *const peer = established_peer();
    server.close();
    EXPECT_EQ(peer->receive(1), "");
    EXPECT_EQ(SSL_get_shutdown(peer->tls()) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    server = zmq.socket(ZMQ_DEALER);
    server.set(ZMQ_TLS_CERT, good().cert);
    server.set(ZMQ_TLS_KEY, good().key);
    EXPECT_TRUE(eventually([&] { return zmq_bind(server.handle(), endpoint.c_str()) == 0; }));
}

// ---- the library as client ----

class tls_client : public ::testing::Test {
protected:
    void SetUp() override {
        client.set(ZMQ_RECONNECT_IVL, -1);
        client.set(ZMQ_HANDSHAKE_IVL, 10'000);
    }
    raw_peer called() {
        client.connect("tls" + listening.endpoint().substr(3));
        return listening.accept();
    }
    context zmq;
    raw_listener listening;
    test_socket client = zmq.socket(ZMQ_PAIR);
    monitor events{zmq, client};
};

TEST_F(tls_client, refuses_a_server_that_speaks_zmtp_in_the_clear) {
    raw_peer plain = called();
    plain.send(greeting() + ready("PAIR"));
    EXPECT_TRUE(plain.is_closed_by_other_side());
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
}

TEST_F(tls_client, refuses_a_plain_tcp_socket_of_the_library_which_goes_on) {
    test_socket plain = zmq.socket(ZMQ_PAIR), honest = zmq.socket(ZMQ_PAIR);
    monitor at_plain(zmq, plain);
    const std::string endpoint = plain.bind("tcp://127.0.0.1:*");
    client.connect("tls" + endpoint.substr(3));
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    EXPECT_NE(at_plain.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    honest.connect(endpoint);
    honest.send("of a friend");
    EXPECT_EQ(plain.receive(), "of a friend");
}

TEST_F(tls_client, refuses_a_server_of_tls_1_2) {
    tls_peer old(called(), tls_peer::role::server, TLS1_2_VERSION);
    old.use(good().server);
    EXPECT_FALSE(old.shake_hands());
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
}

TEST_F(tls_client, gives_up_a_server_that_is_silent) {
    client.set(ZMQ_HANDSHAKE_IVL, 50);
    raw_peer silent = called();
    EXPECT_EQ(events.next(failed_handshake).value, EAGAIN);
}

TEST_F(tls_client, names_the_server_it_asks_for_but_no_address) {
    client.set(ZMQ_TLS_HOSTNAME, "a.example.");
    tls_peer first(called(), tls_peer::role::server);
    first.use(good().server);
    EXPECT_FALSE(first.shake_hands() && first.receive(1).size() == 1);
    EXPECT_STREQ(SSL_get_servername(first.tls(), TLSEXT_NAMETYPE_host_name), "a.example");

    test_socket other = zmq.socket(ZMQ_PAIR);
    other.connect("tls" + listening.endpoint().substr(3));
    tls_peer second(listening.accept(), tls_peer::role::server);
    second.use(good().server);
    EXPECT_TRUE(second.shake_hands());
    EXPECT_EQ(SSL_get_servername(second.tls(), TLSEXT_NAMETYPE_host_name), nullptr);
}

TEST_F(tls_client, offers_another_key_where_the_server_asks_for_it) {
    tls_peer server(called(), tls_peer::role::server);
    server.use(good().server);
    // Not the one that is offered first: HelloRetryRequest.
    SSL_set1_groups_list(server.tls(), "P-256");
    ASSERT_TRUE(server.shake_hands());
    ASSERT_TRUE(server.shake_hands_of_zmtp("PAIR"));
    EXPECT_EQ(client.send("x"), 1);
    EXPECT_EQ(server.receive(3), message("x"));
}

TEST_F(tls_client, is_not_asked_for_a_certificate_after_the_handshake_and_offers_no_protocol_inside) {
    tls_peer server(called(), tls_peer::role::server);
    server.use(good().server);
    ASSERT_TRUE(server.shake_hands());
    SSL_set_verify(server.tls(), SSL_VERIFY_PEER, nullptr);
    EXPECT_EQ(SSL_verify_client_post_handshake(server.tls()), 0);
    ERR_clear_error();
    EXPECT_FALSE(SSL_client_hello_get0_ext(server.tls(), TLSEXT_TYPE_application_layer_protocol_negotiation,
                                           nullptr, nullptr));
    ASSERT_TRUE(server.shake_hands_of_zmtp("PAIR"));
}

TEST_F(tls_client, outlives_a_server_without_a_certificate) {
    {
        tls_peer server(called(), tls_peer::role::server);
        EXPECT_FALSE(server.shake_hands());
    }
    EXPECT_EQ(events.next(failed_handshake).value, EPROTO);
    EXPECT_NE(events.next(ZMQ_EVENT_DISCONNECTED).event, 0);
}

TEST_F(tls_client, drops_a_message_that_a_cut_has_ended) {
    monitor reasons(zmq, client, ZMQ_EVENT_REASONS | ZMQ_EVENT_DISCONNECTED);
    tls_peer server(called(), tls_peer::role::server);
    server.use(good().server);
    ASSERT_TRUE(server.shake_hands());
    ASSERT_TRUE(server.shake_hands_of_zmtp("PAIR"));
    ASSERT_TRUE(server.send(message("whole") + message("cut off").substr(0, 5)));
    EXPECT_EQ(client.receive(), "whole");
    server.octets().finish_writing();
    const monitor_event found = reasons.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_REASON);
    EXPECT_EQ(found.value, ECONNABORTED);
    EXPECT_EQ(reasons.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_FALSE(client.has_input(0));
}

TEST_F(tls_client, talks_to_a_server_that_hands_out_tickets) {
    tls_peer server(called(), tls_peer::role::server);
    server.use(good().server);
    ASSERT_TRUE(server.shake_hands());
    ASSERT_TRUE(server.send_one_by_one(greeting() + ready("PAIR") + message("hello")));
    EXPECT_EQ(client.receive(), "hello");
    EXPECT_EQ(client.send("world"), 5);
    EXPECT_EQ(server.receive(64 + ready("PAIR").size() + 7).substr(64 + ready("PAIR").size()),
              message("world"));
}

TEST_F(tls_client, goes_through_a_proxy_to_the_server_whose_name_it_asks_for) {
    const identity far_server({.alternatives = "DNS:far.example"}, &good().authority);
    client.set(ZMQ_SOCKS_PROXY, listening.endpoint().substr(6));
    client.connect("tls://far.example:1234");
    raw_peer proxy = listening.accept();
    EXPECT_EQ(proxy.receive(3), std::string("\5\1\0", 3));
    proxy.send(std::string("\5\0", 2));
    EXPECT_EQ(proxy.receive(7 + 11), std::string("\5\1\0\3\13far.example\4\xd2", 18));
    proxy.send(std::string("\5\0\0\1\0\0\0\0\0\0", 10));
    tls_peer server(std::move(proxy), tls_peer::role::server);
    server.use(far_server);
    ASSERT_TRUE(server.shake_hands());
    EXPECT_STREQ(SSL_get_servername(server.tls(), TLSEXT_NAMETYPE_host_name), "far.example");
    ASSERT_TRUE(server.shake_hands_of_zmtp("PAIR"));
    EXPECT_EQ(client.send("x"), 1);
    EXPECT_EQ(server.receive(3), message("x"));
}

TEST_F(tls_client, packs_small_messages_together) {
    raw_peer octets = called();
    constexpr int count = 1000;
    const std::string body(62, 'b');
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(client.send(body), 62);
    tls_peer server(std::move(octets), tls_peer::role::server);
    server.use(good().server);
    ASSERT_TRUE(server.shake_hands());
    ASSERT_TRUE(server.shake_hands_of_zmtp("PAIR"));
    const int records = server.records();
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(server.receive(64), message(body)) << i;
    EXPECT_LE(server.records() - records, 8);
}

}  // namespace
