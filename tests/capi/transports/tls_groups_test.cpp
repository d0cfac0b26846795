// The groups for keys over tls: which are agreed on, which are refused, and what a ClientHello that
// offers one costs the thread which serves it.
#include "processor_time.hpp"
#include "sockets.hpp"
#include "tls_refusal.hpp"
#include "transports.hpp"

#include <ctime>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

constexpr const char *all_groups[] = {"X25519",    "P-256",     "X448",      "P-384",     "P-521",
                                      "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"};
constexpr bool is_of_default(std::string_view group) { return group == "X25519" || group == "P-256"; }

// Returns what a client says first whose only key is of this group. Nobody hears it.
std::string hello_with(const char *group) {
    tls_peer client(raw_peer(-1), tls_peer::role::client);
    SSL_set1_groups_list(client.tls(), group);
    BIO *const said = BIO_new(BIO_s_mem());
    SSL_set_bio(client.tls(), BIO_new(BIO_s_mem()), said);
    EXPECT_FALSE(client.shake_hands());
    char *octets = nullptr;
    const long size = BIO_get_mem_data(said, &octets);
    return {octets, static_cast<std::size_t>(size)};
}

class groups : public ::testing::TestWithParam<std::string> {
protected:
    std::string serve() { return server.bind(GetParam() + "://127.0.0.1:*"); }
    // Whether a client that offers this group alone has TLS with the server.
    bool is_accepted(const std::string &endpoint, const char *group) {
        tls_peer client{raw_peer(endpoint), tls_peer::role::client};
        SSL_set1_groups_list(client.tls(), group);
        const bool is_in = client.shake_hands();
        if (!is_in) {
            EXPECT_EQ(client.alert(), SSL3_AD_HANDSHAKE_FAILURE) << group;
        }
        return is_in;
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
};

TEST_P(groups, are_x25519_and_p_256_and_all_others_are_refused_with_an_alert) {
    const std::string endpoint = serve();
    for (const char *group : all_groups)
        EXPECT_EQ(is_accepted(endpoint, group), is_of_default(group)) << group;
}

TEST_P(groups, are_those_that_the_option_names) {
    ASSERT_EQ(server.set(ZMQ_TLS_GROUPS, "P-384:ffdhe2048"), 0);
    const std::string endpoint = serve();
    for (const char *group : all_groups)
        EXPECT_EQ(is_accepted(endpoint, group),
                  group == std::string_view("P-384") || group == std::string_view("ffdhe2048"))
            << group;
}

// Whoever replays a ClientHello has computed nothing.
TEST_P(groups, cost_the_serving_thread_no_more_than_a_few_times_what_x25519_does_whatever_a_client_offers) {
    constexpr int hellos = 16;
    const std::string endpoint = serve();
    const auto cost_of = [&](const char *group) {
        const std::string hello = hello_with(group);
        const std::int64_t before = time_of_others();
        for (int i = 0; i < hellos; ++i) {
            raw_peer stranger(endpoint);
            EXPECT_TRUE(stranger.send(hello));
            EXPECT_TRUE(stranger.has_input());
        }
        return (time_of_others() - before) / hellos;
    };
    (void)cost_of("X25519");  // the first pays for what all have in common
    const std::int64_t usual = cost_of("X25519");
    for (const char *group : all_groups)
        EXPECT_LE(cost_of(group), 5 * usual) << group;
}

TEST_P(groups, of_a_client_are_those_that_the_option_names) {
    raw_listener listening;
    test_socket client = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(client.set(ZMQ_TLS_GROUPS, "P-521:P-384"), 0);
    client.connect(GetParam() + "://127.0.0.1" +
                   listening.endpoint().substr(listening.endpoint().rfind(':')));
    tls_peer server(listening.accept(), tls_peer::role::server);
    server.use(good().server);
    SSL_set1_groups_list(server.tls(), "X25519:P-256:P-384");
    ASSERT_TRUE(server.shake_hands());
    int offered[8];
    ASSERT_EQ(SSL_get1_groups(server.tls(), offered), 2);
    EXPECT_EQ(offered[0], NID_secp521r1);
    EXPECT_EQ(offered[1], NID_secp384r1);
}

TEST_P(groups, that_openssl_does_not_know_are_named_by_bind_and_connect) {
    monitor events(zmq, server, everything);
    test_socket client = zmq.socket(ZMQ_PUSH);
    monitor at_client(zmq, client, everything);
    client.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_CERT, good().cert);
    server.set(ZMQ_TLS_KEY, good().key);
    const std::string address = GetParam() + "://127.0.0.1:1";
    for (const auto &[list, words] :
         {std::pair{"X25519:nonsense:P-256", "ZMQ_TLS_GROUPS: this OpenSSL has no group nonsense"},
          std::pair{":", "ZMQ_TLS_GROUPS names no group"},
          std::pair{
              "brainpoolP256r1",
              "no handshake is possible with ZMQ_TLS_GROUPS and OpenSSL's configuration (OPENSSL_CONF): "}}) {
        ASSERT_EQ(server.set(ZMQ_TLS_GROUPS, list), 0);
        EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), address.c_str()));
        EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words.substr(0, std::string(words).size()), words);
        ASSERT_EQ(client.set(ZMQ_TLS_GROUPS, list), 0);
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), address.c_str()));
        EXPECT_EQ(at_client.next(ZMQ_EVENT_REASON).words.substr(0, std::string(words).size()), words);
    }
}

INSTANTIATE_TEST_SUITE_P(over, groups, ::testing::ValuesIn(where_built({"tls", "wss"})), transport_name);

TEST(option_of_groups, is_read_back_and_may_be_empty_again) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PULL);
    EXPECT_EQ(socket.get_text(ZMQ_TLS_GROUPS), std::string(1, '\0'));
    EXPECT_EQ(socket.set(ZMQ_TLS_GROUPS, "P-256"), 0);
    EXPECT_EQ(socket.get_text(ZMQ_TLS_GROUPS), std::string("P-256\0", 6));
    EXPECT_EQ(socket.set(ZMQ_TLS_GROUPS, ""), 0);
    EXPECT_EQ(socket.get_text(ZMQ_TLS_GROUPS), std::string(1, '\0'));
    EXPECT_FAILS(EINVAL, socket.set(ZMQ_TLS_GROUPS, std::string(256, 'P')));
}

}  // namespace
