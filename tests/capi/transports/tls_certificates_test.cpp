// Which certificates are good enough over tls: names with a wild-card, revocation lists, and
// strength.
#include "tls_refusal.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

// ---- names ----

struct name_in_certificate {
    const char *name;
    const char *certified;
    const char *asked_for;
    bool is_accepted;
};
void PrintTo(const name_in_certificate &n, std::ostream *out) { *out << n.name; }

class certified_name : public ::testing::TestWithParam<name_in_certificate> {};

TEST_P(certified_name, is_matched_from_its_left_most_label_only) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server, signed_with({.name = "x.y.example", .alternatives = GetParam().certified}));
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_TLS_HOSTNAME, GetParam().asked_for);
    client.set(ZMQ_RECONNECT_IVL, -1);
    monitor at_client(zmq, client, everything);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    client.connect(endpoint);
    if (GetParam().is_accepted) {
        client.send("x");
        EXPECT_EQ(server.receive(), "x");
        return;
    }
    std::string got = GetParam().certified;
    for (std::size_t at; (at = got.find("DNS:")) != std::string::npos;)
        got.erase(at, 4);
    expect_refusal(at_client, EKEYREJECTED,
                   std::string("host name mismatch: asked for ") + GetParam().asked_for + ", got " +
                       (got.empty() ? "none" : got),
                   endpoint);
}

const name_in_certificate names[] = {
    {"the_same", "DNS:x.y.example", "x.y.example", true},
    {"the_same_in_capitals", "DNS:X.Y.EXAMPLE", "x.y.example", true},
    {"another", "DNS:z.y.example", "x.y.example", false},
    {"the_subject_only", "", "x.y.example", false},
    {"a_wild_card_for_one_label", "DNS:*.y.example", "x.y.example", true},
    {"a_wild_card_for_two_labels", "DNS:*.example", "x.y.example", false},
    {"a_wild_card_for_none", "DNS:*.x.y.example", "x.y.example", false},
    {"a_wild_card_in_the_middle", "DNS:x.*.example", "x.y.example", false},
    {"a_wild_card_at_the_end", "DNS:x.y.*", "x.y.example", false},
    {"a_wild_card_for_part_of_a_label", "DNS:x*.y.example", "xx.y.example", false},
    {"two_wild_cards", "DNS:*.*.example", "x.y.example", false},
    {"nothing_but_a_wild_card", "DNS:*", "example", false},
};
INSTANTIATE_TEST_SUITE_P(tls, certified_name, ::testing::ValuesIn(names),
                         [](const auto &which) { return which.param.name; });

// ---- whose ----

// Clients may be of one authority, and the server of another, which is none of its clients'
// business. Nor is it the server's whether its own certificate has run out: that is for clients to
// see.
TEST(server_of_tls, may_be_of_another_authority_than_its_clients) {
    const identity elsewhere({.name = "another authority", .is_authority = true});
    const credentials shown[] = {signed_with({}, elsewhere),
                                 signed_with({.valid_from = -2 * day, .valid_to = -day}),
                                 signed_with({.usage = "clientAuth"})};
    for (const credentials &each : shown) {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PULL);
        show(server, each);
        ASSERT_EQ(server.set(ZMQ_TLS_CA, good().ca), 0);
        ASSERT_EQ(server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1), 0);
        EXPECT_EQ(zmq_bind(server.handle(), "tls://127.0.0.1:*"), 0) << zmq_strerror(zmq_errno());
    }
}

// ---- strength ----

// zlink shows nothing weak itself, so the peer is OpenSSL, told to let everything pass.
struct weakness {
    const char *name;
    identity (*make)(const statement &says);
    const char *words;
};
void PrintTo(const weakness &w, std::ostream *out) { *out << w.name; }

class weak_certificate : public ::testing::TestWithParam<weakness> {};

TEST_P(weak_certificate, of_a_server_is_refused) {
    raw_listener listening;
    context zmq;
    test_socket client = zmq.socket(ZMQ_PUSH);
    monitor at_client(zmq, client, everything);
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    const std::string endpoint = "tls" + listening.endpoint().substr(3);
    client.connect(endpoint);
    tls_peer server(listening.accept(), tls_peer::role::server);
    const identity weak = GetParam().make({});
    server.use(weak);
    EXPECT_FALSE(server.shake_hands() && server.receive(1).size() == 1);
    expect_refusal(at_client, EKEYREJECTED, std::string(GetParam().words) + "CN=zlink test server", endpoint);
}

TEST_P(weak_certificate, of_a_client_is_refused) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    show(server, of(good().server));
    server.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    monitor at_server(zmq, server, everything);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    tls_peer client(raw_peer(endpoint), tls_peer::role::client);
    const identity weak = GetParam().make({.name = "a client", .alternatives = "", .usage = "clientAuth"});
    client.use(weak);
    (void)client.shake_hands();
    EXPECT_EQ(client.receive(1), "");
    expect_refusal(at_server, EKEYREJECTED, std::string(GetParam().words) + "CN=a client", endpoint);
}

const weakness weaknesses[] = {
    {"a_short_key", [](const statement &says) { return identity(says, &good().authority, rsa_key(1024)); },
     "EE certificate key too weak: "},
    {"a_signature_with_sha_1",
     [](const statement &says) {
         statement weak = says;
         weak.digest = EVP_sha1;
         return identity(weak, &good().authority);
     },
     "CA signature digest algorithm too weak: "},
};
INSTANTIATE_TEST_SUITE_P(tls, weak_certificate, ::testing::ValuesIn(weaknesses),
                         [](const auto &which) { return which.param.name; });

// ---- revocation ----

class revocation : public ::testing::Test {
protected:
    // A file of the authority, and of more.
    std::string authorities(const std::string &more) {
        return file_with("with-lists.pem", good().authority.certificate_pem() + more);
    }
    void connect(const std::string &ca, const identity &as_client) {
        show(server, of(good().server));
        server.set(ZMQ_TLS_CA, ca);
        server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
        endpoint = server.bind("tls://127.0.0.1:*");
        show(client, of(as_client));
        client.set(ZMQ_TLS_CA, ca);
        client.set(ZMQ_RECONNECT_IVL, -1);
        client.connect(endpoint);
    }
    void expect_talk() {
        EXPECT_EQ(client.send("x"), 1);
        EXPECT_EQ(server.receive(), "x");
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    monitor at_server{zmq, server, everything}, at_client{zmq, client, everything};
    const identity alice{{.name = "alice", .alternatives = "", .usage = "clientAuth"}, &good().authority};
    const identity mallory{{.name = "mallory", .alternatives = "", .usage = "clientAuth"}, &good().authority};
    std::string endpoint;
};

TEST_F(revocation, keeps_a_client_out_whose_certificate_is_on_the_list) {
    connect(authorities(good().authority.revocation_list({&mallory})), mallory);
    expect_refusal(at_server, EKEYREVOKED, "certificate revoked: CN=mallory", endpoint);
    expect_refusal(at_client, EKEYREVOKED, "the peer refuses our certificate: certificate revoked", endpoint);
}

TEST_F(revocation, keeps_a_client_from_a_server_that_is_on_the_list) {
    connect(authorities(good().authority.revocation_list({&good().server})), alice);
    expect_refusal(at_client, EKEYREVOKED, "certificate revoked: CN=zlink test server", endpoint);
    expect_refusal(at_server, EKEYREVOKED, "the peer refuses our certificate: certificate revoked", endpoint);
}

TEST_F(revocation, lets_others_of_the_same_authority_in) {
    connect(authorities(good().authority.revocation_list({&mallory})), alice);
    expect_talk();
}

TEST_F(revocation, is_looked_up_for_authorities_that_have_a_list_and_not_for_others) {
    const identity other({.name = "another authority", .is_authority = true});
    const identity bob({.name = "bob", .alternatives = "", .usage = "clientAuth"}, &other);
    connect(authorities(other.certificate_pem() + good().authority.revocation_list({&mallory})), bob);
    expect_talk();
}

TEST_F(revocation, of_an_authority_with_an_old_list_lets_nobody_in) {
    connect(authorities(good().authority.revocation_list({&mallory}, -day)), alice);
    expect_refusal(at_client, EKEYREJECTED, "CRL has expired: that of CN=zlink test authority", endpoint);
}

TEST_F(revocation, needs_a_list_that_the_authority_itself_has_signed) {
    const identity namesake({.name = "zlink test authority", .is_authority = true});
    connect(authorities(namesake.revocation_list({})), alice);
    expect_refusal(at_client, EKEYREJECTED, "CRL signature failure: that of CN=zlink test authority",
                   endpoint);
}

TEST_F(revocation, has_lists_that_can_be_read) {
    show(server, of(good().server));
    std::string list = good().authority.revocation_list({&mallory});
    list.replace(list.size() / 2, 1, "!");
    server.set(ZMQ_TLS_CA, authorities(list));
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
    EXPECT_EQ(at_server.next(ZMQ_EVENT_REASON).words.find(certificate_directory().string()), 0u);
}

// ---- a server's own, whose time is over or has not come ----

struct untimely {
    const char *name;
    statement says;
    const char *words;
};

class untimely_certificate : public ::testing::TestWithParam<untimely> {};

TEST_P(untimely_certificate, of_a_server_is_bound_with_and_said_to_be_so) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, everything);
    show(server, signed_with(GetParam().says));
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    const monitor_event reason = events.next();
    EXPECT_EQ(reason.event, ZMQ_EVENT_REASON);
    EXPECT_EQ(reason.words.substr(0, std::strlen(GetParam().words)), GetParam().words);
    EXPECT_EQ(reason.value, 0);
    EXPECT_EQ(reason.endpoint, endpoint);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
}

constexpr long one_day = 24 * 60 * 60;
INSTANTIATE_TEST_SUITE_P(
    tls, untimely_certificate,
    ::testing::Values(untimely{"expired",
                               {.name = "late", .valid_from = -2 * one_day, .valid_to = -one_day},
                               "our certificate has expired: CN=late, "},
                      untimely{"not_yet_valid",
                               {.name = "early", .valid_from = one_day, .valid_to = 2 * one_day},
                               "our certificate is not yet valid: CN=early, "}),
    [](const auto &each) { return std::string(each.param.name); });

TEST(timely_certificate, of_a_server_gives_no_reason) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, everything);
    show(server, signed_with({.name = "in time"}));
    server.bind("tls://127.0.0.1:*");
    EXPECT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
}

}  // namespace
