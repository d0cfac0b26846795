// Many peers at once that begin an upgrade to WebSocket and do not go on: over ws, and over wss.
#include "own_memory.hpp"
#include "sockets.hpp"
#include "web_peer.hpp"

#include <sys/resource.h>

namespace {

using namespace zlink_test;
using zlink::test::allocated;
using zlink::test::upgrade;
using zlink::test::web_peer;
using zlink::test::web_ready;

class ws_flood : public ::testing::TestWithParam<const char *> {
protected:
    static bool may_open(rlim_t count) {
        rlimit descriptors{};
        ::getrlimit(RLIMIT_NOFILE, &descriptors);
        descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, count);
        ::setrlimit(RLIMIT_NOFILE, &descriptors);
        return descriptors.rlim_cur >= count;
    }
    bool is_secure() const { return std::string_view(GetParam()) == "wss"; }
    void start(int interval_ms, int backlog) {
        server.set(ZMQ_HANDSHAKE_IVL, interval_ms);
        server.set(ZMQ_BACKLOG, backlog);
        endpoint = server.bind(std::string(GetParam()) + "://127.0.0.1:*");
        honest.connect(endpoint);
    }
    void talk() {
        const std::string body = std::to_string(++sent);
        ASSERT_EQ(honest.send(body), static_cast<int>(body.size()));
        ASSERT_EQ(server.receive(), body);
        ASSERT_EQ(server.send(body), static_cast<int>(body.size()));
        ASSERT_EQ(honest.receive(), body);
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER), honest = zmq.socket(ZMQ_DEALER);
    std::string endpoint;
    int sent = 0;
};

TEST_P(ws_flood, of_stalled_upgrades_is_closed_in_time_and_keeps_no_honest_peer_out) {
    constexpr int stalled = 2000;
    if (!may_open(3 * stalled))
        GTEST_SKIP() << "the system allows too few descriptors";
    start(1000, stalled);
    monitor events(zmq, server, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    // Each at one of the steps: nothing, half a request, a request that is granted, half of what follows it; or half a record of TLS.
    const std::string words[] = {"", "GET / HTTP/1.1\r\nHost", upgrade(),
                                 upgrade() + web_ready("DEALER").substr(0, 9)};
    const std::string hello("\x16\3\1\2\0\1\0\1", 8);
    std::vector<web_peer> peers;
    for (int i = 0; i < stalled; ++i) {
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.is_open()) << i;
        ASSERT_TRUE(peer.send(is_secure() ? hello.substr(0, i % 9) : words[i % 4]));
        peers.push_back(std::move(peer));
        if (i % 100 == 0) {
            ASSERT_NO_FATAL_FAILURE(talk());
        }
    }
    for (int i = 0; i < stalled; ++i) {
        ASSERT_EQ(events.next().value, EAGAIN) << i;
        if (i % 100 == 0) {
            ASSERT_NO_FATAL_FAILURE(talk());
        }
    }
    for (web_peer &peer : peers)
        ASSERT_TRUE(peer.is_closed_by_other_side());
    ASSERT_NO_FATAL_FAILURE(talk());
    honest.close();
    test_socket late = zmq.socket(ZMQ_DEALER);
    late.connect(endpoint);
    EXPECT_EQ(late.send("x"), 1);
    EXPECT_EQ(server.receive(), "x");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_P(ws_flood, of_heads_that_do_not_end_takes_little_memory_each) {
    // OpenSSL keeps more than this library does.
    const std::size_t most = (is_secure() ? 128 : 32) * 1024;
    constexpr int stalled = 200;
    start(0, stalled);
    ASSERT_NO_FATAL_FAILURE(talk());
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 0; i < 60; ++i)
        head += "X" + std::to_string(i) + ": " + std::string(100, 'x') + "\r\n";
    // As long as the record it claims would be.
    const std::string hello = std::string("\x16\3\1\x40\0\1\0\x3f\xfc\3\3", 11) + std::string(8'000, 'x');
    std::vector<web_peer> peers;
    const std::size_t before = allocated();
    for (int i = 0; i < stalled; ++i) {
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().send(is_secure() ? hello : head));
    }
    for (int i = 0; i < 10; ++i)
        ASSERT_NO_FATAL_FAILURE(talk());
    EXPECT_LE(allocated(), before + stalled * most);
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
