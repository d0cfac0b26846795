// Many peers at once that begin an upgrade to WebSocket and do not go on: over ws, and over wss.
#include "flooded_server.hpp"
#include "web_peer.hpp"
#ifdef ZLINK_TESTS_WITH_TLS
#include "tls_peer.hpp"
#endif

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;
using zlink::test::upgrade;
using zlink::test::web_peer;
using zlink::test::web_ready;

class ws_flood : public ::testing::TestWithParam<const char *>, protected flooded_server {
protected:
    bool is_secure() const { return std::string_view(GetParam()) == "wss"; }
    std::string address() const { return std::string(GetParam()) + "://127.0.0.1:*"; }
    /// `stall(i)` makes the peer with that number.
    template <class Stall>
    void expect_closed_in_time(Stall &&stall) {
        std::vector<web_peer> peers;
        flooded_server::expect_closed_in_time(
            address(), [&](int i) { peers.push_back(stall(i)); },
            [&] {
                for (web_peer &peer : peers)
                    ASSERT_TRUE(peer.is_closed_by_other_side());
            });
    }
};

#ifdef ZLINK_TESTS_WITH_TLS
using zlink::test::tls_peer;

// Has finished TLS and said `words` in it.
web_peer stalled_in_tls(const std::string &endpoint, const std::string &words) {
    static const tls_peer settings(raw_peer(), tls_peer::role::client);
    tls_peer peer(raw_peer(endpoint), settings);
    EXPECT_TRUE(peer.shake_hands());
    EXPECT_TRUE(words.empty() || peer.send(words));
    return web_peer(std::move(peer.octets()));  // without its own state, which is no cost of the server
}
#endif

// Each at one of the steps: nothing, half a request, a request that is granted, half of what follows it.
const std::string words_of_step[] = {"", "GET / HTTP/1.1\r\nHost", upgrade(),
                                     upgrade() + web_ready("DEALER").substr(0, 9)};

TEST_P(ws_flood, of_stalled_upgrades_is_closed_in_time_and_keeps_no_honest_peer_out) {
    // Or half a record of TLS.
    const std::string hello("\x16\3\1\2\0\1\0\1", 8);
    expect_closed_in_time([&](int i) {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.is_open()) << i;
        EXPECT_TRUE(peer.send(is_secure() ? hello.substr(0, i % 9) : words_of_step[i % 4]));
        return peer;
    });
}

#ifdef ZLINK_TESTS_WITH_TLS
TEST_P(ws_flood, of_upgrades_that_stall_inside_tls_is_closed_in_time_too) {
    if (!is_secure())
        GTEST_SKIP() << "there is no TLS here";
    expect_closed_in_time([&](int i) { return stalled_in_tls(endpoint, words_of_step[i % 4]); });
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_P(ws_flood, of_heads_that_do_not_end_takes_little_memory_each) {
    // OpenSSL keeps more than this library does.
    const std::size_t most = (is_secure() ? 48 : 16) * 1024;
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 60; ++i)
        head += "X" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n";
    std::vector<web_peer> peers;
    const auto stall = [&] {
#ifdef ZLINK_TESTS_WITH_TLS
        if (is_secure()) {
            peers.push_back(stalled_in_tls(endpoint, head));
            // And a record that does not end.
            ASSERT_TRUE(peers.back().send(std::string("\x17\3\3\x40\0", 5) + std::string(4'000, 'x')));
            return;
        }
#endif
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().send(head));
    };
    EXPECT_LE(cost_of_each(address(), stall), most);
}
#endif

INSTANTIATE_TEST_SUITE_P(over, ws_flood,
#ifdef ZLINK_TESTS_WITH_TLS
                         ::testing::Values("ws", "wss"),
#else
                         ::testing::Values("ws"),
#endif
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
