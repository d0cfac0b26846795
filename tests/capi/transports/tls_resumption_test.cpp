// Sessions of TLS that are resumed: fewer octets and less work for a peer that comes again, and
// nothing else is different.
#include "tls_refusal.hpp"

namespace {

using namespace zlink_test;
using zlink::test::greeting;
using zlink::test::message;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::ready;
using zlink::test::tls_peer;

// The message that comes next, and whose it is.
std::string receive_from(test_socket &socket, std::string &user) {
    zmq_msg_t found;
    zmq_msg_init(&found);
    const int size = zmq_msg_recv(&found, socket.handle(), 0);
    const char *const name = zmq_msg_gets(&found, "User-Id");
    user = name ? name : "";
    const std::string body(static_cast<const char *>(zmq_msg_data(&found)), std::max(size, 0));
    zmq_msg_close(&found);
    return body;
}

class resumption : public ::testing::Test {
protected:
    // A client of OpenSSL, with the ticket of another, if there is one.
    std::unique_ptr<tls_peer> visit(tls_peer *before = nullptr) {
        auto peer = before ? std::make_unique<tls_peer>(raw_peer(endpoint), *before)
                           : std::make_unique<tls_peer>(raw_peer(endpoint), tls_peer::role::client);
        if (before)
            SSL_set_session(peer->tls(), SSL_get_session(before->tls()));
        else
            peer->use(alice);
        EXPECT_TRUE(peer->shake_hands());
        EXPECT_TRUE(peer->shake_hands_of_zmtp("PUSH"));
        return peer;
    }
    std::string serve() {
        show(server, of(good().server));
        server.set(ZMQ_TLS_CA, good().ca);
        server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
        return server.bind("tls://127.0.0.1:*");
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    const identity alice{{.name = "alice", .alternatives = "", .usage = "clientAuth"}, &good().authority};
    const std::string endpoint = serve();
};

TEST_F(resumption, at_a_server_knows_who_it_was) {
    std::unique_ptr<tls_peer> last;
    for (int i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        auto peer = visit(last.get());
        EXPECT_EQ(SSL_session_reused(peer->tls()), i > 0);
        ASSERT_TRUE(peer->send(message("hello")));
        std::string user;
        EXPECT_EQ(receive_from(server, user), "hello");
        EXPECT_EQ(user, "CN=alice");
        last = std::move(peer);
    }
}

TEST_F(resumption, at_a_server_never_takes_data_before_the_handshake) {
    const auto peer = visit();
    EXPECT_EQ(SSL_SESSION_get_max_early_data(SSL_get_session(peer->tls())), 0u);
}

TEST_F(resumption, at_another_server_is_a_whole_handshake) {
    const auto peer = visit();
    test_socket other = zmq.socket(ZMQ_PULL);
    show(other, of(good().server));
    other.set(ZMQ_TLS_CA, good().ca);
    other.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    tls_peer elsewhere(raw_peer(other.bind("tls://127.0.0.1:*")), *peer);
    SSL_set_session(elsewhere.tls(), SSL_get_session(peer->tls()));
    EXPECT_TRUE(elsewhere.shake_hands());
    EXPECT_FALSE(SSL_session_reused(elsewhere.tls()));
}

TEST_F(resumption, ends_with_the_certificate_that_was_shown) {
    const identity brief({.name = "brief", .alternatives = "", .usage = "clientAuth", .valid_to = 2},
                         &good().authority);
    tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
    peer.use(brief);
    ASSERT_TRUE(peer.shake_hands());
    ASSERT_TRUE(peer.shake_hands_of_zmtp("PUSH"));
    // The time of certificates passes by itself only.
    EXPECT_TRUE(eventually([&] {
        tls_peer again(raw_peer(endpoint), peer);
        SSL_set_session(again.tls(), SSL_get_session(peer.tls()));
        const bool is_let_in = again.shake_hands() && again.shake_hands_of_zmtp("PUSH");
        return !is_let_in && !SSL_session_reused(again.tls());
    }));
}

TEST_F(resumption, of_a_client_takes_each_ticket_once_and_keeps_the_name_of_the_server) {
    raw_listener listening;
    test_socket client = zmq.socket(ZMQ_PULL);
    client.set(ZMQ_RECONNECT_IVL, 1);
    client.set(ZMQ_TLS_CA, good().ca);
    client.connect("tls" + listening.endpoint().substr(3));
    std::unique_ptr<tls_peer> last;
    for (int i = 0; i < 4; ++i) {
        SCOPED_TRACE(i);
        raw_peer octets = listening.accept();
        auto peer = last ? std::make_unique<tls_peer>(std::move(octets), *last)
                         : std::make_unique<tls_peer>(std::move(octets), tls_peer::role::server);
        if (!last)
            peer->use(good().server);
        // No ticket of this connection: the next has none to offer, for the last is used up.
        if (i == 2)
            SSL_set_num_tickets(peer->tls(), 0);
        ASSERT_TRUE(peer->shake_hands());
        EXPECT_EQ(SSL_session_reused(peer->tls()), i == 1 || i == 2);
        ASSERT_TRUE(peer->send(greeting() + ready("PUSH") + message("hello")));
        std::string user;
        EXPECT_EQ(receive_from(client, user), "hello");
        EXPECT_EQ(user, "CN=zlink test server");
        last = std::move(peer);
        last->octets().close();
    }
}

TEST_F(resumption, of_a_client_that_verifies_nobody_proves_nothing_later) {
    raw_listener listening;
    test_socket client = zmq.socket(ZMQ_PULL);
    client.set(ZMQ_RECONNECT_IVL, 1);
    client.set(ZMQ_TLS_VERIFY, 0);
    client.set(ZMQ_TLS_CA, good().ca);
    client.connect("tls" + listening.endpoint().substr(3));
    std::unique_ptr<tls_peer> last;
    for (int i = 0; i < 2; ++i) {
        raw_peer octets = listening.accept();
        auto peer = last ? std::make_unique<tls_peer>(std::move(octets), *last)
                         : std::make_unique<tls_peer>(std::move(octets), tls_peer::role::server);
        if (!last)
            peer->use(identity({}));
        ASSERT_TRUE(peer->shake_hands());
        EXPECT_EQ(SSL_session_reused(peer->tls()), i);
        ASSERT_TRUE(peer->send(greeting() + ready("PUSH") + message("hello")));
        std::string user;
        EXPECT_EQ(receive_from(client, user), "hello");
        EXPECT_EQ(user, "");
        last = std::move(peer);
        last->octets().close();
    }
}

}  // namespace
