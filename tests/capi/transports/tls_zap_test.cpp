// ZMQ_TLS_ZAP: a handler is asked about clients whose certificates are good, before anything of
// them is taken (RFC 27).
#define ZMQ_BUILD_DRAFT_API
#include "tls_refusal.hpp"
#include "transports.hpp"
#include "zap_handler.hpp"

#include <openssl/sha.h>

#include <future>
#include <mutex>

namespace {

using namespace zlink_test;
using zlink::test::greeting;
using zlink::test::message;
using zlink::test::raw_peer;
using zlink::test::ready;
using zlink::test::tls_peer;

std::string property(const std::string &name, const std::string &value) {
    return std::string(1, static_cast<char>(name.size())) + name + std::string(3, '\0') +
           static_cast<char>(value.size()) + value;
}

std::string digest_of(const identity &whom) {
    unsigned char *der = nullptr;
    const int size = i2d_X509(whom.certificate(), &der);
    std::string out(SHA256_DIGEST_LENGTH, '\0');
    SHA256(der, static_cast<std::size_t>(size), reinterpret_cast<unsigned char *>(out.data()));
    OPENSSL_free(der);
    return out;
}

// A certificate with a name that the text of its extension cannot say: one of these octets.
identity with_name(int kind, const std::string &octets) {
    identity made({.name = "odd", .alternatives = "", .usage = "clientAuth"}, &good().authority);
    X509 *const x = made.certificate();
    GENERAL_NAMES *const names = GENERAL_NAMES_new();
    GENERAL_NAME *const name = GENERAL_NAME_new();
    ASN1_STRING *const text = kind == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
    ASN1_STRING_set(text, octets.data(), static_cast<int>(octets.size()));
    GENERAL_NAME_set0_value(name, kind, text);
    sk_GENERAL_NAME_push(names, name);
    EXPECT_EQ(X509_add1_ext_i2d(x, NID_subject_alt_name, names, 0, X509V3_ADD_REPLACE), 1);
    GENERAL_NAMES_free(names);
    EXPECT_GT(X509_sign(x, good().authority.key(), EVP_sha256()), 0);
    return made;
}

class tls_zap : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { ASSERT_EQ(server.set(ZMQ_TLS_ZAP, 1), 0); }
    std::string serve() {
        show(server, of(good().server));
        server.set(ZMQ_TLS_CA, good().ca);
        return server.bind(GetParam() + "://127.0.0.1:*");
    }
    void call(const std::string &endpoint, const identity &whom) {
        show(client, of(whom));
        client.set(ZMQ_TLS_CA, good().ca);
        client.set(ZMQ_RECONNECT_IVL, 20);
        client.connect(endpoint);
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    const identity alice{{.name = "alice",
                          .alternatives = "DNS:alice.example,IP:192.0.2.7,IP:2001:db8::1,"
                                          "URI:spiffe://example/alice,email:alice@example",
                          .usage = "clientAuth"},
                         &good().authority};
};
INSTANTIATE_TEST_SUITE_P(transports, tls_zap, ::testing::ValuesIn(where_built({"tls", "wss"})),
                         transport_name);

TEST_P(tls_zap, tells_the_handler_what_the_certificate_says_and_lets_in_whom_it_accepts) {
    std::promise<frames> told;
    handler judge(zmq, ZMQ_REP, [&](const frames &asked) {
        told.set_value(asked);
        return reply_to(asked, "200", "the user", property("X-Role", "boss"));
    });
    server.set(ZMQ_ZAP_DOMAIN, "");
    server.set(ZMQ_ROUTING_ID, "desk");
    ASSERT_EQ(client.set(ZMQ_METADATA, "X-Role:thief"), 0);
    call(serve(), alice);
    EXPECT_EQ(told.get_future().get(),
              (frames{"1.0", "1", "", "127.0.0.1", "desk", "TLS", digest_of(alice), "CN=alice",
                      "DNS:alice.example", "IP:192.0.2.7", "IP:2001:db8::1", "URI:spiffe://example/alice"}));
    client.send("x"), client.send("y");
    EXPECT_EQ(user_id_of(server), "the user");
    EXPECT_EQ(property_of_next(server, "X-Role"), "boss") << "the peer has said something else of itself";
}

TEST_P(tls_zap, has_the_subject_for_user_id_where_the_handler_names_none) {
    handler judge(zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200", ""); });
    call(serve(), alice);
    client.send("x");
    EXPECT_EQ(user_id_of(server), "CN=alice");
}

TEST_P(tls_zap, keeps_out_whom_the_handler_refuses_until_it_does_not) {
    handler judge(zmq, ZMQ_REP, [tries = 0](const frames &asked) mutable {
        return reply_to(asked, ++tries == 1 ? "400" : tries == 2 ? "300" : "200");
    });
    monitor at_server(zmq, server, everything), at_client(zmq, client);
    call(serve(), alice);
    for (const char *status : {"400", "300"}) {
        monitor_event why = at_server.next(ZMQ_EVENT_REASON);
        EXPECT_EQ(why.words, std::string("the authentication handler does not accept the peer: ") + status);
        expect_failure(at_server, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, std::stoi(status));
        EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, ECONNRESET);
    }
    client.send("x");
    EXPECT_EQ(user_id_of(server), "alice");
    EXPECT_EQ(judge.asked(), 3) << "a session that is resumed is asked about, too";
}

TEST_P(tls_zap, lets_nobody_in_without_a_handler) {
    monitor at_server(zmq, server);
    call(serve(), alice);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT);
    handler judge(zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200"); });
    client.send("x");
    EXPECT_EQ(server.receive(), "x");
}

TEST_P(tls_zap, lets_nobody_in_by_an_answer_that_is_none) {
    handler judge(zmq, ZMQ_REP, [](const frames &) { return frames{"1.0", "1", "201", "", "", ""}; });
    monitor at_server(zmq, server);
    call(serve(), alice);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).value,
              ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE);
}

TEST_P(tls_zap, asks_nobody_about_a_client_without_a_good_certificate) {
    handler judge(zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200"); });
    monitor at_server(zmq, server);
    const std::string endpoint = serve();
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    client.connect(endpoint);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, ENOKEY);
    test_socket stranger = zmq.socket(ZMQ_PUSH);
    show(stranger, of(identity({.name = "alice", .usage = "clientAuth"})));
    stranger.set(ZMQ_TLS_CA, good().ca);
    stranger.set(ZMQ_RECONNECT_IVL, -1);
    stranger.connect(endpoint);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EKEYREJECTED);
    EXPECT_EQ(judge.asked(), 0);
}

TEST_P(tls_zap, asks_about_the_name_and_the_password_inside_too) {
    std::mutex one_at_a_time;
    std::vector<std::string> asked_about;
    handler judge(zmq, ZMQ_REP, [&](const frames &asked) {
        const std::lock_guard guard(one_at_a_time);
        asked_about.push_back(asked.at(5));
        return asked.at(5) == "TLS"
                   ? reply_to(asked, "200", "outer", property("X-Outer", "1") + property("X-Both", "outer"))
                   : reply_to(asked, asked.at(7) == "secret" ? "200" : "400", "inner",
                              property("X-Both", "inner"));
    });
    make_plain_server(server);
    make_plain_client(client);
    const std::string endpoint = serve();
    call(endpoint, alice);
    for (int i = 0; i < 3; ++i)
        client.send("x");
    EXPECT_EQ(user_id_of(server), "inner");
    EXPECT_EQ(property_of_next(server, "X-Outer"), "1");
    EXPECT_EQ(property_of_next(server, "X-Both"), "inner");
    test_socket guesser = zmq.socket(ZMQ_PUSH);
    make_plain_client(guesser, "guessed");
    monitor at_guesser(zmq, guesser);
    show(guesser, of(alice));
    guesser.set(ZMQ_TLS_CA, good().ca);
    guesser.connect(endpoint);
    EXPECT_EQ(at_guesser.next(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 400);
    const std::lock_guard guard(one_at_a_time);
    EXPECT_EQ(asked_about, (std::vector<std::string>{"TLS", "PLAIN", "TLS", "PLAIN"}));
}

TEST_P(tls_zap, refuses_names_that_would_be_read_as_others) {
    handler judge(zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200"); });
    monitor at_server(zmq, server, everything);
    const std::string endpoint = serve();
    const struct {
        int kind;
        std::string octets;
        std::string why;
    } cases[] = {{GEN_DNS, std::string("good.example\0.evil", 18), "there is a NUL in one of its names"},
                 {GEN_URI, std::string("urn:good\0evil", 13), "there is a NUL in one of its names"},
                 {GEN_IPADD, "five!", "one of its addresses is none"}};
    for (const auto &each : cases) {
        SCOPED_TRACE(each.why);
        tls_peer odd(raw_peer("tls" + endpoint.substr(3)), tls_peer::role::client);
        const identity whom = with_name(each.kind, each.octets);
        odd.use(whom);
        EXPECT_FALSE(odd.shake_hands() && odd.receive(1).size() == 1);
        const monitor_event said = at_server.next(ZMQ_EVENT_REASON);
        EXPECT_EQ(said.words, "nobody can be asked about the certificate: " + each.why + ": CN=odd");
        EXPECT_EQ(odd.alert(), SSL_AD_BAD_CERTIFICATE);
    }
    EXPECT_EQ(judge.asked(), 0);
}

TEST_P(tls_zap, cannot_do_without_verification) {
    show(server, of(good().server));
    server.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_VERIFY, 0);
    monitor at_server(zmq, server, everything);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), (GetParam() + "://127.0.0.1:*").c_str()));
    EXPECT_EQ(at_server.next(ZMQ_EVENT_REASON).words,
              "ZMQ_TLS_ZAP 1 and ZMQ_TLS_VERIFY 0 exclude each other");
}

TEST_P(tls_zap, holds_for_clients_only) {
    ASSERT_EQ(client.set(ZMQ_TLS_ZAP, 1), 0);
    ASSERT_EQ(server.set(ZMQ_TLS_ZAP, 0), 0);
    call(serve(), alice);
    client.send("x");
    EXPECT_EQ(user_id_of(server), "nobody") << "nobody was asked, and the server does not verify";
}

TEST_P(tls_zap, takes_nothing_of_a_client_that_waits_and_waits_no_longer_than_a_handshake_may) {
    test_socket quiet = zmq.socket(ZMQ_REP);
    quiet.bind(handlers_endpoint);
    server.set(ZMQ_HANDSHAKE_IVL, 500);
    monitor at_server(zmq, server);
    const std::string endpoint = serve();
    tls_peer peer(raw_peer("tls" + endpoint.substr(3)), tls_peer::role::client);
    peer.use(alice);
    ASSERT_TRUE(peer.shake_hands());
    peer.send(greeting() + ready("PUSH") + message("early"));
    ASSERT_TRUE(quiet.has_input());
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EAGAIN);
    EXPECT_EQ(peer.receive(1), "") << "not so much as a greeting";
    EXPECT_FALSE(server.has_input(0));
}

TEST_P(tls_zap, keeps_no_socket_from_ending) {
    for (const bool client_goes_first : {true, false}) {
        test_socket quiet = zmq.socket(ZMQ_REP);
        quiet.bind(handlers_endpoint);
        test_socket asking = zmq.socket(ZMQ_PULL), calling = zmq.socket(ZMQ_PUSH);
        asking.set(ZMQ_TLS_ZAP, 1);
        calling.connect(asking.bind(GetParam() + "://127.0.0.1:*"));
        ASSERT_TRUE(quiet.has_input());
        test_socket &first = client_goes_first ? calling : asking;
        EXPECT_EQ(first.close(), 0);
        const frames asked = quiet.receive_all();
        EXPECT_TRUE(quiet.send_all(reply_to(asked, "200")));
    }
}

// Over wss the stream is the same.
class tls_zap_resumption : public tls_zap {};
INSTANTIATE_TEST_SUITE_P(transports, tls_zap_resumption, ::testing::Values("tls"));

TEST_P(tls_zap_resumption, is_asked_about_too) {
    std::mutex one_at_a_time;
    std::vector<frames> shown;
    handler judge(zmq, ZMQ_REP, [&](const frames &asked) {
        const std::lock_guard guard(one_at_a_time);
        shown.emplace_back(asked.begin() + 5, asked.end());
        return reply_to(asked, shown.size() < 3 ? "200" : "400");
    });
    const std::string endpoint = serve();
    std::unique_ptr<tls_peer> last;
    for (int i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        auto peer = last ? std::make_unique<tls_peer>(raw_peer(endpoint), *last)
                         : std::make_unique<tls_peer>(raw_peer(endpoint), tls_peer::role::client);
        if (last)
            SSL_set_session(peer->tls(), SSL_get_session(last->tls()));
        else
            peer->use(alice);
        ASSERT_TRUE(peer->shake_hands());
        EXPECT_EQ(SSL_session_reused(peer->tls()), i > 0);
        EXPECT_EQ(peer->shake_hands_of_zmtp("PUSH"), i < 2);
        last = std::move(peer);
    }
    const std::lock_guard guard(one_at_a_time);
    ASSERT_EQ(shown.size(), 3u);
    EXPECT_EQ(shown[1], shown[0]);
    EXPECT_EQ(shown[2], shown[0]);
}

TEST(tls_zap_option, is_read_back) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_REP);
    EXPECT_EQ(socket.get(ZMQ_TLS_ZAP), 0);
    EXPECT_EQ(socket.set(ZMQ_TLS_ZAP, 1), 0);
    EXPECT_EQ(socket.get(ZMQ_TLS_ZAP), 1);
    EXPECT_FAILS(EINVAL, socket.set(ZMQ_TLS_ZAP, 2));
    EXPECT_EQ(socket.get(ZMQ_TLS_REQUIRE_CLIENT_CERT), 0);
}

}  // namespace
