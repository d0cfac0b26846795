// Many peers at once that begin an upgrade to WebSocket and do not go on: over ws, and over wss.
// And one that sends Pongs without end.
#include "descriptors.hpp"
#include "flooded_server.hpp"
#include "transports.hpp"
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

class ws_flood : public ::testing::TestWithParam<std::string>, protected flooded_server {
protected:
    bool is_secure() const { return GetParam() == "wss"; }
    std::string address() const { return GetParam() + "://127.0.0.1:*"; }
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
    // Without its own state, which is no cost of the server.
    return web_peer(std::move(peer.octets()));
}
#endif

// Each at one of the steps: nothing, half a request, a request that is granted, half of what
// follows it.
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

/// A peer that has exchanged messages, so often that the connection is read by who waits for it,
/// and sends nothing but Pongs from then on, for as long as a test has patience.
class of_pongs : public ::testing::Test {
protected:
    void SetUp() override {
        self.set(ZMQ_RCVTIMEO, timeout_ms);
        self.set(ZMQ_SNDTIMEO, timeout_ms);
        peer = web_peer(self.bind("ws://127.0.0.1:*"));
        ASSERT_TRUE(peer.call("DEALER"));
        ASSERT_TRUE(self.has_room());
        for (int i = 0; i < 40; ++i) {
            ASSERT_TRUE(peer.send(zlink::test::web_message("x")));
            ASSERT_TRUE(self.has_input());
            ASSERT_EQ(self.receive(), "x");
        }
        flooder = std::thread([this] {
            std::string pongs;
            while (pongs.size() < 60'000)
                pongs += zlink::test::web_frame(zlink::test::opcode::pong, "");
            const auto end = std::chrono::steady_clock::now() + patience;
            while (!is_over && std::chrono::steady_clock::now() < end && peer.send(pongs))
                has_begun = true;
            goes_on = false;
        });
        ASSERT_TRUE(eventually([&] { return has_begun.load(); }));
    }
    void TearDown() override {
        EXPECT_TRUE(goes_on) << "the flood was waited for";
        is_over = true;
        flooder.join();
    }
    void fill() {
        const std::string body(100'000, 'x');
        while (self.send(body, ZMQ_DONTWAIT) != -1) {
        }
    }

    static constexpr int timeout_ms = 20;
    context zmq;
    test_socket self = zmq.socket(ZMQ_DEALER);
    web_peer peer;
    std::atomic<bool> has_begun{false}, is_over{false}, goes_on{true};
    std::thread flooder;
};

TEST_F(of_pongs, a_receiver_ends_in_time) { EXPECT_FAILS(EAGAIN, zmq_recv(self.handle(), nullptr, 0, 0)); }

TEST_F(of_pongs, a_sender_ends_in_time) {
    fill();
    EXPECT_FAILS(EAGAIN, self.send(std::string(100'000, 'x')));
}

TEST_F(of_pongs, a_poll_ends_in_time) {
    EXPECT_FALSE(self.has_input(timeout_ms));
    fill();
    EXPECT_FALSE(self.has_room(timeout_ms));
}

TEST_F(of_pongs, a_poller_ends_in_time) {
    owned_poller poller;
    ASSERT_EQ(zmq_poller_add(poller.get(), self.handle(), nullptr, ZMQ_POLLIN), 0);
    zmq_poller_event_t event{};
    EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, timeout_ms));
    EXPECT_FAILS(EAGAIN, zmq_poller_wait_all(poller.get(), &event, 1, timeout_ms));
}

TEST_F(of_pongs, a_proxy_does_as_it_is_told) {
    test_socket back = zmq.socket(ZMQ_DEALER);
    test_socket control = zmq.socket(ZMQ_PAIR);
    test_socket steers = zmq.socket(ZMQ_PAIR);
    connected(zmq, control, steers, "inproc");
    std::thread proxy(
        [&] { EXPECT_EQ(zmq_proxy_steerable(self.handle(), back.handle(), nullptr, control.handle()), 0); });
    EXPECT_EQ(steers.send("TERMINATE"), 9);
    proxy.join();
}

INSTANTIATE_TEST_SUITE_P(over, ws_flood, ::testing::ValuesIn(where_built({"ws", "wss"})), transport_name);

}  // namespace
