// Tests what zlink_stats and zlink_peers tell beyond counts of messages: how deep the queues were,
// what is subscribed to, how fast peers answer, and why connections do not come about.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>

#include "lent_bodies.hpp"
#include "processor_time.hpp"
#include "raw_peer.hpp"
#include "stats.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;

std::string prometheus(context &zmq) { return text_of(zmq, ZLINK_STATS_PROMETHEUS); }

class the_stats_in_detail : public ::testing::Test {
protected:
    context zmq;
};

class the_stats_in_detail_over : public the_stats_in_detail,
                                 public ::testing::WithParamInterface<const char *> {
protected:
    bool is_inproc() const { return GetParam() == std::string("inproc"); }
    std::string place() const {
        const std::string scheme = GetParam();
        return scheme == "tcp" ? "tcp://127.0.0.1:*" : scheme == "ipc" ? "ipc://*" : "inproc://detail";
    }
};

TEST_P(the_stats_in_detail_over, keep_the_highest_number_that_a_full_queue_had) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_SNDHWM, 7);
    pull.set(ZMQ_RCVHWM, 7);
    const std::string body(200'000, 'x');
    push.connect(pull.bind(place()));
    ASSERT_NE(push.send(body), -1);
    std::uint64_t sent = 1;
    while (push.send(body, ZMQ_DONTWAIT) != -1)
        ++sent;
    while (sent-- > 0)
        ASSERT_TRUE(pull.receive());
    EXPECT_TRUE(eventually([&] { return stats_of(push).queued_out == 0; }));
    const zlink_stats_t stats = stats_of(push);
    EXPECT_GE(stats.highest_out, is_inproc() ? 14u : 3u)
        << "the mark, less what a connection has taken without a word";
    EXPECT_LE(stats.highest_out, 14u);
    EXPECT_GT(stats.highest_out_octets, (stats.highest_out - 1) * body.size());
    EXPECT_LE(stats.highest_out_octets, stats.highest_out * (body.size() + 9) + 100);
    const std::vector<seen_peer> peers = peers_of(push);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_EQ(peers[0].numbers.highest_out, stats.highest_out);
    EXPECT_EQ(peers[0].numbers.highest_out_octets, stats.highest_out_octets);
    push.disconnect(push.last_endpoint());
    EXPECT_EQ(stats_of(push).highest_out, stats.highest_out) << "although that queue has gone";
    EXPECT_NE(prometheus(zmq).find("type=\"PUSH\",direction=\"out\"} " + std::to_string(stats.highest_out)),
              std::string::npos);
}

TEST_P(the_stats_in_detail_over, see_what_waits_while_somebody_asks) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind(place()));
    for (int i = 0; i < 30; ++i)
        ASSERT_NE(push.send("x"), -1);
    ASSERT_TRUE(pull.receive());
    EXPECT_TRUE(eventually([&] { return stats_of(pull).queued_in == 29; }));
    EXPECT_GE(stats_of(pull).highest_in, 29u);
}

TEST_P(the_stats_in_detail_over, count_the_subscriptions_of_each_peer_and_all) {
    test_socket pub = zmq.socket(ZMQ_XPUB), one = zmq.socket(ZMQ_SUB), two = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_XPUB_VERBOSER, 1);
    const std::string endpoint = pub.bind(place());
    for (const char *topic : {"a", "b", "c"})
        one.set(ZMQ_SUBSCRIBE, topic);
    one.set(ZMQ_SUBSCRIBE, "a");  // a second time
    two.set(ZMQ_SUBSCRIBE, "a");
    one.connect(endpoint);
    two.connect(endpoint);
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(pub.receive());
    EXPECT_EQ(stats_of(pub).subscriptions, 4u);
    EXPECT_EQ(stats_of(one).subscriptions, 3u);
    EXPECT_EQ(stats_of(two).subscriptions, 1u);
    std::vector<std::uint64_t> each;
    for (const seen_peer &peer : peers_of(pub))
        each.push_back(peer.numbers.subscriptions);
    std::sort(each.begin(), each.end());
    EXPECT_EQ(each, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_NE(prometheus(zmq).find("zlink_subscriptions{"), std::string::npos);
    ASSERT_EQ(zmq_setsockopt(one.handle(), ZMQ_UNSUBSCRIBE, "b", 1), 0);
    ASSERT_TRUE(pub.receive());
    EXPECT_EQ(stats_of(pub).subscriptions, 3u);
    EXPECT_EQ(stats_of(one).subscriptions, 2u);
    one.close();
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(pub.receive());
    EXPECT_EQ(stats_of(pub).subscriptions, 1u);
}

TEST_F(the_stats_in_detail, tell_how_long_a_peer_takes_to_answer) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_HEARTBEAT_IVL, 5);
    pull.set(ZMQ_HEARTBEAT_TIMEOUT, 60'000);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(eventually([&] { return stats_of(pull).heartbeats >= 3; }));
    const std::vector<seen_peer> peers = peers_of(pull);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_GE(peers[0].numbers.heartbeats, 3u);
    EXPECT_GT(peers[0].numbers.last_heartbeat_nanoseconds, 0u);
    EXPECT_GE(peers[0].numbers.heartbeat_nanoseconds, peers[0].numbers.last_heartbeat_nanoseconds);
    EXPECT_GT(stats_of(pull).heartbeat_nanoseconds, 0u);
    EXPECT_EQ(stats_of(push).heartbeats, 0u) << "it asks for nothing";
    const std::string text = prometheus(zmq);
    EXPECT_NE(text.find("# TYPE zlink_heartbeat_rtt_seconds histogram\n"), std::string::npos);
    EXPECT_NE(text.find("type=\"PULL\",le=\"0.0001\"} "), std::string::npos) << text;
    EXPECT_NE(text.find("type=\"PULL\",le=\"1.0\"} "), std::string::npos) << text;
    EXPECT_EQ(text.find("type=\"PUSH\",le="), std::string::npos) << "nothing to tell";
}

TEST_F(the_stats_in_detail, tell_why_it_was_connected_again) {
    test_socket push = zmq.socket(ZMQ_PUSH), other = zmq.socket(ZMQ_PUSH);
    for (test_socket *each : {&push, &other})
        each->set(ZMQ_RECONNECT_IVL, 1);
    push.connect("tcp://127.0.0.1:1");
    ASSERT_TRUE(eventually([&] { return stats_of(push).reconnects_refused >= 2; }));
    const zlink_stats_t stats = stats_of(push);
    EXPECT_LE(stats.reconnects - stats.reconnects_refused, 1u);
    EXPECT_EQ(stats.reconnects_other + stats.reconnects_ended + stats.reconnects_reset, 0u);
    other.connect("ipc:///tmp/zlink-nobody-is-there");
    ASSERT_TRUE(eventually([&] { return stats_of(other).reconnects_no_entry >= 1; }));
    const std::string text = prometheus(zmq);
    EXPECT_NE(text.find(",type=\"PUSH\",errno=\"ECONNREFUSED\"} "), std::string::npos) << text;
    EXPECT_NE(text.find(",type=\"PUSH\",errno=\"ENOENT\"} "), std::string::npos) << text;
    EXPECT_EQ(text.find("errno=\"EACCES\""), std::string::npos) << "left out while it is 0";
}

TEST_F(the_stats_in_detail, tell_of_a_peer_that_has_gone_in_good_order) {
    for (const std::string &place : where_built({"tcp://127.0.0.1:*", "ipc://*", "ws://127.0.0.1:*"})) {
        SCOPED_TRACE(place);
        test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
        push.set(ZMQ_RECONNECT_IVL, 1);
        push.connect(pull.bind(place));
        for (int i = 0; i < 100; ++i) {  // so that ipc may have found its short way
            ASSERT_NE(push.send("x"), -1);
            ASSERT_TRUE(pull.receive());
        }
        pull.close();
        ASSERT_TRUE(eventually([&] { return stats_of(push).reconnects >= 2; }));
        const zlink_stats_t stats = stats_of(push);
        EXPECT_EQ(stats.reconnects_ended, 1u);
        EXPECT_EQ(stats.reconnects_reset + stats.reconnects_other, 0u);
    }
}

/// Holds what a PUSH counts that connects to a peer which a test plays, once.
class the_stats_of_a_push_to : public the_stats_in_detail {
protected:
    the_stats_of_a_push_to() {
        push.set(ZMQ_RECONNECT_IVL, 60'000);
        push.set(ZMQ_LINGER, 0);
    }
    zlink::test::raw_peer peer() {
        push.connect(there.endpoint());
        return there.accept();
    }
    void expect_one(std::uint64_t zlink_stats_t::*number) {
        EXPECT_TRUE(eventually([&] { return stats_of(push).reconnects == 1; }));
        EXPECT_EQ(stats_of(push).*number, 1u);
    }

    zlink::test::raw_listener there;
    test_socket push = zmq.socket(ZMQ_PUSH);
};

TEST_F(the_stats_of_a_push_to, a_peer_that_ends_in_good_order) {
    zlink::test::raw_peer other = peer();
    ASSERT_TRUE(other.shake_hands("PULL"));
    other.close();
    expect_one(&zlink_stats_t::reconnects_ended);
}

TEST_F(the_stats_of_a_push_to, a_peer_that_cuts_the_connection) {
    zlink::test::raw_peer other = peer();
    ASSERT_TRUE(other.shake_hands("PULL"));
    zlink_test::reset(other);
    expect_one(&zlink_stats_t::reconnects_reset);
}

TEST_F(the_stats_of_a_push_to, a_peer_that_says_nothing) {
    push.set(ZMQ_HANDSHAKE_IVL, 10);
    const zlink::test::raw_peer other = peer();
    expect_one(&zlink_stats_t::reconnects_timed_out);
}

TEST_F(the_stats_of_a_push_to, a_peer_that_falls_silent) {
    push.set(ZMQ_HEARTBEAT_IVL, 10);
    zlink::test::raw_peer other = peer();
    ASSERT_TRUE(other.shake_hands("PULL"));
    expect_one(&zlink_stats_t::reconnects_timed_out);
}

TEST_F(the_stats_of_a_push_to, a_peer_of_another_mechanism) {
    zlink::test::raw_peer other = peer();
    ASSERT_TRUE(other.send(zlink::test::greeting("PLAIN")));
    expect_one(&zlink_stats_t::reconnects_protocol);
}

TEST_F(the_stats_of_a_push_to, a_peer_that_ends_before_the_handshake_does) {
    zlink::test::raw_peer other = peer();
    ASSERT_TRUE(other.send(zlink::test::greeting()));
    ASSERT_EQ(other.receive(64).size(), 64u);
    EXPECT_EQ(other.receive_frame().second.substr(0, 6), "\5READY");
    other.close();
    expect_one(&zlink_stats_t::reconnects_protocol);
}

TEST_F(the_stats_in_detail, tell_the_mechanism_of_handshakes_that_fail) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_PLAIN_SERVER, 1);
    push.set(ZMQ_RECONNECT_IVL, 1);
    push.connect(pull.bind("tcp://127.0.0.1:*"));  // NULL, which the other one does not take
    ASSERT_TRUE(eventually([&] { return stats_of(pull).handshakes_failed_protocol_by[ZMQ_PLAIN] >= 1; }));
    ASSERT_TRUE(eventually([&] { return stats_of(push).handshakes_failed_protocol_by[ZMQ_NULL] >= 1; }));
    EXPECT_EQ(stats_of(pull).handshakes_failed_protocol_by[ZMQ_NULL], 0u);
    EXPECT_GE(stats_of(pull).handshakes_failed_protocol, 1u);
    const std::string text = prometheus(zmq);
    EXPECT_NE(text.find("type=\"PULL\",reason=\"protocol\",mechanism=\"PLAIN\"} "), std::string::npos)
        << text;
    EXPECT_NE(text.find("type=\"PUSH\",reason=\"protocol\",mechanism=\"NULL\"} "), std::string::npos) << text;
    EXPECT_EQ(text.find("mechanism=\"CURVE\""), std::string::npos) << "left out while it is 0";
}

TEST_F(the_stats_in_detail, show_no_version_of_tls_where_there_is_none) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_NE(push.send("x"), -1);
    ASSERT_TRUE(pull.receive());
    const std::vector<seen_peer> peers = peers_of(push);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_EQ(peers[0].tls_version, "");
}

std::uint64_t open_descriptors() {
    std::uint64_t count = 0;
    for (const auto &each : std::filesystem::directory_iterator("/proc/self/fd"))
        count += each.path().filename().string().size() > 0;
    return count;
}

TEST_F(the_stats_in_detail, count_the_descriptors_that_the_system_counts) {
    test_socket first = zmq.socket(ZMQ_PULL);  // the I/O threads begin
    const std::uint64_t before = open_descriptors(), told = stats_of(zmq.handle()).open_descriptors;
    EXPECT_GE(told, 5u) << "of a thread, a socket and the end";
    const auto agree = [&] {
        return eventually(
            [&] { return open_descriptors() - before == stats_of(zmq.handle()).open_descriptors - told; });
    };
    {
        std::vector<test_socket> all;
        test_socket pull = zmq.socket(ZMQ_PULL);
        const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
        EXPECT_EQ(stats_of(zmq.handle()).open_descriptors, told + 2) << "a socket and a listener";
        EXPECT_TRUE(agree());
        for (int i = 0; i < 5; ++i) {
            all.push_back(zmq.socket(ZMQ_PUSH));
            all.back().connect(endpoint);
            ASSERT_NE(all.back().send("x"), -1);
            ASSERT_TRUE(pull.receive());
        }
        EXPECT_EQ(stats_of(zmq.handle()).open_descriptors, told + 2 + 5 * 3) << "and both ends of each";
        EXPECT_TRUE(agree());
        const std::uint64_t without_loops = open_descriptors();
        for (const int option : {ZMQ_FD, ZLINK_EVENT_FD, ZLINK_ROOM_FD, ZMQ_FD, ZLINK_ROOM_FD})
            EXPECT_GE(pull.get(option), 0);
        EXPECT_EQ(open_descriptors(), without_loops + 1 + 2 + 2);
        EXPECT_TRUE(agree()) << "with those of event loops";
    }
    EXPECT_TRUE(eventually([&] { return stats_of(zmq.handle()).open_descriptors == told; }));
    EXPECT_EQ(stats_of(first).open_descriptors, 0u) << "of a socket";
}

TEST_F(the_stats_in_detail, tell_what_the_threads_do) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    for (int i = 0; i < 200; ++i) {
        ASSERT_NE(push.send("x"), -1);
        ASSERT_TRUE(pull.receive());
    }
    // On a busy machine the I/O thread may have found work from first to last: it is woken.
    ASSERT_TRUE(eventually([&] {
        zmq.socket(ZMQ_PULL).bind("tcp://127.0.0.1:*");
        return stats_of(zmq.handle()).io_wakeups > 0;
    }));
    const zlink_stats_t stats = stats_of(zmq.handle());
    EXPECT_EQ(stats.io_threads, 1u);
    EXPECT_GE(stats.io_polls, stats.io_wakeups);
    EXPECT_GT(stats.io_reads, 0u);
    EXPECT_GT(stats.io_writes, 0u);
    EXPECT_GT(stats.io_busy_nanoseconds, 0u);
    EXPECT_LT(stats.io_busy_nanoseconds, 60'000'000'000u);
    const std::string text = prometheus(zmq);
    EXPECT_NE(text.find("\",thread=\"0\",call=\"read\"} "), std::string::npos) << text;
    EXPECT_NE(text.find("zlink_io_busy_seconds_total{context=\""), std::string::npos);
    EXPECT_NE(text.find("zlink_open_descriptors{context=\""), std::string::npos);
    EXPECT_NE(text.find("\",kind=\"spare\"} "), std::string::npos);
    EXPECT_NE(text.find("\",kind=\"used\"} "), std::string::npos);
    EXPECT_EQ(text.find("\",kind=\"used\"} 0\n"), std::string::npos) << text;
    for (const char *kind : {"huge", "ring"})
        EXPECT_NE(text.find(std::string("zlink_memory_bytes{context=\"_process\",kind=\"") + kind + "\"} "),
                  std::string::npos);
    EXPECT_EQ(stats_of(pull).io_wakeups, 0u) << "of a socket";
}

/// Returns as many peers as the descriptors of the process allow, or as asked for.
std::size_t possible_peers(std::size_t wanted) {
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t room = limit.rlim_cur == RLIM_INFINITY ? wanted * 3 : limit.rlim_cur;
    return room < 400 ? 0 : std::min(wanted, (room - 200) / 2);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

TEST_F(the_stats_in_detail, are_told_with_little_work_and_shortly_where_there_are_many_peers) {
    const char *const asked = std::getenv("ZLINK_TEST_PEERS");
    const std::size_t peers = possible_peers(asked ? std::strtoul(asked, nullptr, 10) : 2000);
    if (peers == 0)
        GTEST_SKIP() << "too few descriptors";
    context many;
    EXPECT_EQ(zmq_ctx_set(many.handle(), ZMQ_MAX_SOCKETS, 65'000), 0);
    test_socket pull = zmq.socket(ZMQ_PULL), push = many.socket(ZMQ_PUSH);
    pull.set(ZMQ_BACKLOG, 10'000);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    for (std::size_t i = 0; i < peers; ++i)
        push.connect(endpoint);  // a queue and a connection each time
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(pull.set(ZMQ_RCVHWM, 1000), 0);  // takes in who has come
        return stats_of(pull).peers == peers;
    })) << stats_of(pull).peers;
    std::int64_t least = INT64_MAX;  // nanoseconds of this thread's own time
    std::string text;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t begin = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
        text = prometheus(zmq);
        least = std::min(least, nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    std::printf("%zu peers: %.3f ms, %zu octets\n", peers, static_cast<double>(least) / 1e6, text.size());
    EXPECT_LE(text.size(), 256u * 1024);
    // On a quiet machine it takes less than a tenth.
    EXPECT_LE(least, 50'000'000 * (is_sanitized ? 10 : 1));
}

INSTANTIATE_TEST_SUITE_P(every_way, the_stats_in_detail_over, ::testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &given) { return std::string(given.param); });

}  // namespace
