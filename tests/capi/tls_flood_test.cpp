// Many peers at once that begin a handshake of TLS and do not go on.
#include "sockets.hpp"
#include "tls_peer.hpp"

#include <sys/resource.h>

namespace {

using namespace zlink_test;
using zlink::test::message;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

TEST(tls_flood, of_stalled_handshakes_is_closed_in_time_and_keeps_no_honest_peer_out) {
    constexpr int stalled = 2000;
    rlimit descriptors{};
    ::getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, 3 * stalled);
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
    if (descriptors.rlim_cur < 3 * stalled)
        GTEST_SKIP() << "the system allows " << descriptors.rlim_cur << " descriptors";
    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER), honest = zmq.socket(ZMQ_DEALER);
    server.set(ZMQ_HANDSHAKE_IVL, 1000);
    server.set(ZMQ_BACKLOG, stalled);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    honest.connect(endpoint);
    monitor events(zmq, server, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    // Each at one of the steps of a handshake: nothing, half a record, a whole ClientHello that has been answered.
    std::vector<raw_peer> peers;
    std::vector<std::unique_ptr<tls_peer>> answered;
    int sent = 0;
    const auto talk = [&] {
        const std::string body = std::to_string(++sent);
        ASSERT_EQ(honest.send(body), static_cast<int>(body.size()));
        ASSERT_EQ(server.receive(), body);
        ASSERT_EQ(server.send(body), static_cast<int>(body.size()));
        ASSERT_EQ(honest.receive(), body);
    };
    for (int i = 0; i < stalled; ++i) {
        raw_peer peer(endpoint);
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
    for (raw_peer &peer : peers)
        ASSERT_TRUE(peer.is_closed_by_other_side());
    for (const auto &peer : answered)
        ASSERT_TRUE(peer->octets().is_closed_by_other_side());
    ASSERT_NO_FATAL_FAILURE(talk());
    honest.close();
    test_socket late = zmq.socket(ZMQ_DEALER);
    late.connect(endpoint);
    EXPECT_EQ(late.send("x"), 1);
    EXPECT_EQ(server.receive(), "x");
}

}  // namespace
