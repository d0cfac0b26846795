// Peers that speak something else than ZMTP inside TLS: STREAM, and ROUTER with ZMQ_ROUTER_RAW.
#include "bare_peers.hpp"
#include "tls_peer.hpp"

#include <memory>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

struct way {
    const char *name;
    int type;
};
void PrintTo(const way &which, std::ostream *out) { *out << which.name; }

std::string raw_body_of(std::size_t size) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        body[i] = static_cast<char>(i * 31 + i / 256);
    return body;
}

class raw_over_tls : public testing::TestWithParam<way> {
protected:
    test_socket make() { return make_bare(zmq, GetParam().type); }
    context zmq;
};

TEST_P(raw_over_tls, serves_a_request_and_closes_behind_the_answer) {
    test_socket server = make();
    tls_peer browser(raw_peer(server.bind("tls://127.0.0.1:*")), tls_peer::role::client);
    ASSERT_TRUE(browser.shake_hands());
    const std::string id = told(server);
    ASSERT_EQ(id.size(), 5u);
    ASSERT_TRUE(browser.send("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(octets_from(server, id, 18), "GET / HTTP/1.0\r\n\r\n");
    const std::string answer = raw_body_of(300'000);
    ASSERT_TRUE(server.send_all({id, answer}));
    ASSERT_TRUE(server.send_all({id, ""}));
    EXPECT_EQ(browser.receive(answer.size()), answer);
    EXPECT_EQ(browser.receive(1), "");
    EXPECT_TRUE(SSL_get_shutdown(browser.tls()) & SSL_RECEIVED_SHUTDOWN);
}

TEST_P(raw_over_tls, asks_a_server_and_hears_when_it_closes_and_comes_again) {
    raw_listener listening;
    test_socket client = make();
    client.set(ZMQ_RECONNECT_IVL, 1);
    client.connect("tls" + listening.endpoint().substr(3));
    for (int round = 0; round < 2; ++round) {
        tls_peer server(listening.accept(), tls_peer::role::server);
        server.use(good().server);
        ASSERT_TRUE(server.shake_hands());
        const std::string id = told(client);
        ASSERT_EQ(id.size(), 5u);
        ASSERT_TRUE(client.send_all({id, "GET "}));
        ASSERT_TRUE(client.send_all({id, "/\r\n"}));
        EXPECT_EQ(server.receive(7), "GET /\r\n");
        ASSERT_TRUE(server.send("200"));
        EXPECT_EQ(octets_from(client, id, 3), "200");
        SSL_shutdown(server.tls());
        EXPECT_EQ(told(client), id);
    }
}

TEST_P(raw_over_tls, tells_of_a_peer_when_tls_is_there_and_not_before) {
    test_socket server = make();
    monitor events(zmq, server);
    raw_peer octets(server.bind("tls://127.0.0.1:*"));
    EXPECT_NE(events.next(ZMQ_EVENT_ACCEPTED).event, 0);
    octets.send("\x16");  // the beginning of a record
    EXPECT_FALSE(server.has_input(0));
    octets.close();
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_FALSE(server.has_input(0));
}

TEST_P(raw_over_tls, closes_a_peer_that_does_not_come_to_the_end_of_its_handshake) {
    test_socket server = make();
    server.set(ZMQ_HANDSHAKE_IVL, 50);
    monitor events(zmq, server);
    raw_peer silent(server.bind("tls://127.0.0.1:*"));
    EXPECT_EQ(events.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EAGAIN);
    EXPECT_TRUE(silent.is_closed_by_other_side());
}

TEST_P(raw_over_tls, reads_what_came_in_one_piece_with_the_end_of_the_handshake) {
    test_socket server = make();
    tls_peer peer(raw_peer(server.bind("tls://127.0.0.1:*")), tls_peer::role::client);
    BIO *const in = BIO_new(BIO_s_mem()), *const out = BIO_new(BIO_s_mem());
    SSL_set_bio(peer.tls(), in, out);
    const auto flush = [&] {
        char *octets = nullptr;
        const long size = BIO_get_mem_data(out, &octets);
        EXPECT_TRUE(peer.octets().send({octets, static_cast<std::size_t>(size)}));
        (void)BIO_reset(out);
    };
    while (!peer.shake_hands()) {
        flush();
        const std::string answer = peer.octets().receive(1);
        ASSERT_EQ(BIO_write(in, answer.data(), 1), 1);
    }
    ASSERT_TRUE(peer.send("right behind"));  // with Finished, which has not gone yet
    flush();
    const std::string id = told(server);
    EXPECT_EQ(octets_from(server, id, 12), "right behind");
}

TEST_P(raw_over_tls, carries_much_both_ways_at_once_between_two_of_the_library) {
    const std::string body = raw_body_of(3 << 20);
    test_socket server = make(), client = make();
    client.connect(server.bind("tls://127.0.0.1:*"));
    const std::string at_client = told(client), at_server = told(server);
    ASSERT_TRUE(client.send_all({at_client, body}));
    ASSERT_TRUE(server.send_all({at_server, body}));
    EXPECT_TRUE(octets_from(server, at_server, body.size()) == body);
    EXPECT_TRUE(octets_from(client, at_client, body.size()) == body);
    ASSERT_TRUE(client.send_all({at_client, ""}));
    EXPECT_EQ(told(server), at_server);
}

TEST_P(raw_over_tls, writes_what_was_sent_before_the_socket_was_closed) {
    const std::string body = raw_body_of(2 << 20);
    test_socket server = make();
    server.set(ZMQ_SNDBUF, 4096);
    auto octets = std::make_unique<raw_peer>(server.bind("tls://127.0.0.1:*"));
    tls_peer peer(std::move(*octets), tls_peer::role::client);
    ASSERT_TRUE(peer.shake_hands());
    const std::string id = told(server);
    ASSERT_TRUE(server.send_all({id, body}));
    server.close();
    EXPECT_TRUE(peer.receive(body.size()) == body);
    EXPECT_EQ(peer.receive(1), "");
}

TEST_P(raw_over_tls, refuses_a_server_that_proves_nothing_and_sends_it_nothing) {
    raw_listener listening;
    test_socket client = make();
    client.set(ZMQ_LINGER, 0);
    client.set(ZMQ_RECONNECT_IVL, -1);
    monitor events(zmq, client);
    client.connect("tls" + listening.endpoint().substr(3));
    tls_peer server(listening.accept(), tls_peer::role::server);
    server.use(identity({}));
    (void)server.shake_hands();
    EXPECT_EQ(server.receive(1), "");
    EXPECT_EQ(events.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EKEYREJECTED);
    EXPECT_FALSE(client.has_input(0));
}

const way ways[] = {{"STREAM", ZMQ_STREAM}, {"ROUTER_RAW", ZMQ_ROUTER}};
INSTANTIATE_TEST_SUITE_P(tls, raw_over_tls, testing::ValuesIn(ways),
                         [](const auto &which) { return which.param.name; });

}  // namespace
