// Many peers at once that begin a handshake of TLS and do not go on.
#include "flooded_server.hpp"
#include "tls_peer.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;
using zlink::test::message;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

// A ClientHello, from a client that has nothing but it.
std::string client_hello() {
    tls_peer peer(raw_peer(-1), tls_peer::role::client);
    BIO *const said = BIO_new(BIO_s_mem());
    SSL_set_bio(peer.tls(), BIO_new(BIO_s_mem()), said);
    EXPECT_FALSE(peer.shake_hands());
    char *octets = nullptr;
    const long size = BIO_get_mem_data(said, &octets);
    return {octets, static_cast<std::size_t>(size)};
}

// The I/O thread does each step of the talk: a peer with heartbeats is read by nobody else.
TEST(tls_flood, of_handshakes_that_begin_together_goes_on_beside_the_talk_of_an_honest_peer) {
    constexpr std::size_t count = 1000;
    flooded_server flood;
    if (!flooded_server::may_open(3 * count))
        GTEST_SKIP() << "the system allows too few descriptors";
    for (test_socket *each : {&flood.server, &flood.honest})
        each->set(ZMQ_HEARTBEAT_IVL, 10'000);
    flood.start("tls://127.0.0.1:*", 30'000, count);
    flood.talk();
    monitor events(flood.zmq, flood.server, ZMQ_EVENT_ACCEPTED);
    std::vector<raw_peer> peers;
    for (std::size_t i = 0; i < count; ++i) {
        peers.emplace_back(flood.endpoint);
        ASSERT_EQ(events.next().event, ZMQ_EVENT_ACCEPTED);
    }
    const std::string hello = client_hello();
    for (raw_peer &peer : peers)
        ASSERT_TRUE(peer.send(hello));
    std::size_t talks = 0;
    for (raw_peer &peer : peers)
        for (; !peer.has_input(0); ++talks)
            ASSERT_NO_FATAL_FAILURE(flood.talk());
    EXPECT_GE(talks, 3u);
}

// So it is with what an established peer may say: messages about keys, as many as it likes before
// each message of its application.

TEST(tls_flood, of_stalled_handshakes_is_closed_in_time_and_keeps_no_honest_peer_out) {
    // Each at one of the steps of a handshake: nothing, half a record, a whole ClientHello that has
    // been answered.
    std::vector<raw_peer> peers;
    std::vector<std::unique_ptr<tls_peer>> answered;
    flooded_server flood;
    const auto stall = [&](int i) {
        raw_peer peer(flood.endpoint);
        ASSERT_TRUE(peer.is_open()) << i;
        if (i % 3 == 1)
            peer.send(std::string("\x16\3\1\2\0\1\0\1", 8));
        if (i % 50 == 2) {
            answered.push_back(std::make_unique<tls_peer>(std::move(peer), tls_peer::role::client));
            BIO *const hello = BIO_new(BIO_s_mem());
            SSL_set_bio(answered.back()->tls(), BIO_new(BIO_s_mem()), hello);
            EXPECT_FALSE(answered.back()->shake_hands());
            char *octets = nullptr;
            const long size = BIO_get_mem_data(hello, &octets);
            answered.back()->octets().send({octets, static_cast<std::size_t>(size)});
        } else {
            peers.push_back(std::move(peer));
        }
    };
    flood.expect_closed_in_time("tls://127.0.0.1:*", stall, [&] {
        for (raw_peer &peer : peers)
            ASSERT_TRUE(peer.is_closed_by_other_side());
        for (const auto &peer : answered)
            ASSERT_TRUE(peer->octets().is_closed_by_other_side());
    });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
class stalled_in_a_handshake : public ::testing::TestWithParam<std::string> {
protected:
    /// Returns what a peer that has said `words` costs.
    std::size_t cost_of(const std::string &words) {
        flooded_server flood;
        std::vector<raw_peer> peers;
        peers.reserve(flooded_server::counted + 1);
        return flood.cost_of_each(GetParam() + "://127.0.0.1:*", [&] {
            peers.emplace_back(flood.endpoint);
            EXPECT_TRUE(peers.back().send(words));
        });
    }

    /// The only record of a ClientHello of 16 KiB.
    const std::string hello = std::string("\x16\3\1\x40\0\1\0\x3f\xfc\3\3", 11) + std::string(16'378, 'x');
    static constexpr std::size_t little = 32 * 1024;
};

TEST_P(stalled_in_a_handshake, a_peer_that_says_nothing_costs_little) { EXPECT_LE(cost_of(""), little); }
TEST_P(stalled_in_a_handshake, a_peer_that_says_little_costs_little) {
    EXPECT_LE(cost_of(hello.substr(0, 1)), little);
    EXPECT_LE(cost_of(hello.substr(0, 8)), little);
}
TEST_P(stalled_in_a_handshake, half_a_client_hello_of_16_kibioctets_costs_little) {
    EXPECT_LE(cost_of(hello.substr(0, 8'000)), little);
}
TEST_P(stalled_in_a_handshake, a_client_hello_but_for_its_last_octet_costs_little) {
    EXPECT_LE(cost_of(hello.substr(0, hello.size() - 1)), little);
}
// OpenSSL itself would wait behind it.
TEST_P(stalled_in_a_handshake, a_client_hello_in_pieces_costs_little) {
    const auto record = [](const std::string &payload) {
        return std::string("\x16\3\1\0", 4) + static_cast<char>(payload.size()) + payload;
    };
    EXPECT_LE(cost_of(record(std::string("\1\0", 2)) + record(std::string("\1\0\3\3", 4))), little);
}
TEST_P(stalled_in_a_handshake, half_an_alert_costs_little) {
    EXPECT_LE(cost_of(std::string("\x15\3\1\0\2\1", 6)), little);
}
TEST_P(stalled_in_a_handshake, a_hello_as_ssl_2_had_it_costs_little) {
    EXPECT_LE(cost_of(std::string("\xbf\xff\1\3\3\0\0", 7)), little);
}
// OpenSSL holds 44 KiB for it: 21 for messages, 8 for what it writes together, the rest for keys
// and itself.
TEST_P(stalled_in_a_handshake, a_client_hello_that_is_answered_costs_what_openssl_needs) {
    EXPECT_LE(cost_of(client_hello()), 52u * 1024);
}

INSTANTIATE_TEST_SUITE_P(over, stalled_in_a_handshake, ::testing::ValuesIn(where_built({"tls", "wss"})),
                         transport_name);
#endif

}  // namespace
