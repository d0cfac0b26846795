// zlink_stats: what a socket and a context have done. Every place where a message ends unread has
// its number, and no message counts twice.
#include <algorithm>
#include <atomic>
#include <thread>

#include "stats.hpp"

namespace {

using namespace zlink_test;

/// Waits until a number of a socket, or of a context, has this value.
template <typename Asked>
void expect_soon(const Asked &what, std::uint64_t zlink_stats_t::*number, std::uint64_t value) {
    EXPECT_TRUE(eventually([&] { return stats_of(what).*number == value; }))
        << stats_of(what).*number << " and not " << value;
}

std::uint64_t all_dropped(const zlink_stats_t &stats) {
    return stats.dropped_hwm + stats.dropped_no_peer + stats.dropped_unroutable +
           stats.dropped_filtered_late + stats.dropped_conflate + stats.dropped_linger +
           stats.dropped_too_large + stats.dropped_peer_gone + stats.dropped_unread + stats.dropped_unwanted;
}

class the_stats : public ::testing::Test {
protected:
    context zmq;
};

class the_stats_over : public the_stats, public ::testing::WithParamInterface<const char *> {
protected:
    std::string place() const {
        const std::string scheme = GetParam();
        return scheme == "tcp" ? "tcp://127.0.0.1:*" : scheme == "ipc" ? "ipc://*" : "inproc://stats";
    }
};

TEST_P(the_stats_over, count_what_is_sent_what_is_received_and_what_waits) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind(place()));
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(push.send_all({"four", "parts of it"}));
    ASSERT_TRUE(pull.has_input());
    for (int i = 0; i < 4; ++i)
        ASSERT_EQ(pull.receive_all().size(), 2u);
    EXPECT_EQ(stats_of(push).messages_sent, 10u);
    constexpr std::uint64_t octets = 2 + 4 + 2 + 11;
    const std::uint64_t hello = GetParam() == std::string("inproc") ? 3 : 0;  // a command
    EXPECT_EQ(stats_of(push).octets_sent, 10 * octets + hello);
    EXPECT_EQ(stats_of(pull).octets_received, 4 * octets + 3);
    EXPECT_EQ(stats_of(pull).messages_received, 4u);
    const auto waits = [&] { return stats_of(push).queued_out + stats_of(pull).queued_in; };
    if (GetParam() == std::string("inproc")) {
        EXPECT_EQ(stats_of(push).queued_out, 6u);
        EXPECT_EQ(stats_of(push).queued_out_octets, 6 * octets);
        EXPECT_EQ(stats_of(pull).queued_in, 6u) << "the same queue, seen from its other end";
    } else {
        EXPECT_TRUE(eventually([&] { return waits() == 6; })) << waits();
        EXPECT_EQ(stats_of(pull).accepts, 1u);
        EXPECT_EQ(stats_of(push).connects, 1u);
    }
    const zlink_stats_t all = stats_of(zmq.handle());
    EXPECT_EQ(all.messages_sent, 10u);
    EXPECT_EQ(all.messages_received, 4u);
    EXPECT_EQ(all.sockets, 2u);
    EXPECT_EQ(all.peers, 2u);
    EXPECT_EQ(all_dropped(all), 0u);
}

TEST_P(the_stats_over, keep_what_closed_sockets_have_done) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind(place()));
    ASSERT_EQ(push.send("one"), 3);
    ASSERT_EQ(push.send("two"), 3);
    ASSERT_TRUE(pull.receive());
    expect_soon(push, &zlink_stats_t::queued_out, GetParam() == std::string("inproc") ? 1 : 0);
    expect_soon(pull, &zlink_stats_t::queued_in, 1);
    push.close();
    pull.close();
    const zlink_stats_t all = stats_of(zmq.handle());
    EXPECT_EQ(all.messages_sent, 2u);
    EXPECT_EQ(all.messages_received, 1u);
    EXPECT_EQ(all.dropped_unread, 1u);
    EXPECT_EQ(all_dropped(all), 1u);
    EXPECT_EQ(all.sockets, 0u);
    EXPECT_EQ(all.peers, 0u);
}

/// A poll reads ahead to know what it says.
TEST_P(the_stats_over, count_once_what_a_poll_has_found_and_nobody_took) {
    for (const auto &[kind, peer_kind] : {std::pair(ZMQ_PULL, ZMQ_PUSH), std::pair(ZMQ_ROUTER, ZMQ_DEALER)}) {
        SCOPED_TRACE(kind);
        context own;
        test_socket near = own.socket(kind), far = own.socket(peer_kind);
        far.connect(near.bind(place()));
        ASSERT_EQ(far.send("one"), 3);
        ASSERT_TRUE(near.has_input());
        near.close();
        const zlink_stats_t all = stats_of(own.handle());
        EXPECT_EQ(all.messages_sent, 1u);
        EXPECT_EQ(all.messages_received, 1u);
        EXPECT_EQ(all.dropped_unwanted, 1u);
        EXPECT_EQ(all_dropped(all), 1u);
    }
}

TEST_P(the_stats_over, count_once_what_a_publisher_is_sent_and_does_not_take) {
    for (const int kind : {ZMQ_PUB, ZMQ_XPUB}) {
        SCOPED_TRACE(kind);
        context own;
        test_socket pub = own.socket(kind), sub = own.socket(ZMQ_XSUB);
        sub.connect(pub.bind(place()));
        for (const char *each : {"one", "two", "three"})
            ASSERT_NE(sub.send(each), -1);
        ASSERT_NE(sub.send("\1topic"), -1);
        // Two of an XPUB, of which one may tell the subscription.
        std::uint64_t left = 3;
        for (int i = 0; kind == ZMQ_XPUB && i < 2; ++i)
            left -= pub.receive() != "\1topic";
        bool is_heard = false;
        ASSERT_TRUE(eventually([&] {
            EXPECT_EQ(pub.set(ZMQ_SNDHWM, 1000), 0);  // takes in what is there
            EXPECT_EQ(pub.send("topic"), 5);
            is_heard = is_heard || sub.receive(ZMQ_DONTWAIT);
            const zlink_stats_t stats = stats_of(pub);
            // The subscription, too, but over inproc.
            const std::uint64_t all = place().starts_with("inproc") ? 3 : 4;
            return is_heard &&
                   (kind == ZMQ_PUB ? stats.dropped_unwanted == 3 : stats.messages_received == all);
        }));
        pub.close();
        const auto dropped = [&] { return stats_of(own.handle()).dropped_unwanted; };
        EXPECT_TRUE(eventually([&] { return dropped() >= left; })) << dropped();
        EXPECT_EQ(stats_of(own.handle()).dropped_unread, 0u);
        sub.close();
        EXPECT_EQ(dropped(), left);
    }
}

TEST_P(the_stats_over, tell_how_much_a_slow_subscriber_has_lost) {
    test_socket pub = zmq.socket(ZMQ_XPUB), sub = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_SNDHWM, 10);
    sub.set(ZMQ_RCVHWM, 10);
    sub.set(ZMQ_SUBSCRIBE, "");
    sub.connect(pub.bind(place()));
    ASSERT_TRUE(pub.receive());  // the subscription
    constexpr std::uint64_t sent = 100;
    const std::string body(100'000, 'x');
    for (std::uint64_t i = 0; i < sent; ++i)
        ASSERT_NE(pub.send(body), -1);
    const zlink_stats_t stats = stats_of(pub);
    EXPECT_GT(stats.dropped_hwm, 0u);
    EXPECT_EQ(stats.messages_sent + stats.dropped_hwm, sent);
    std::uint64_t received = 0;
    while (received < stats.messages_sent && sub.receive())
        ++received;
    EXPECT_EQ(received, stats.messages_sent);
    EXPECT_EQ(stats_of(sub).messages_received, received);
    EXPECT_EQ(all_dropped(stats_of(sub)), 0u);
}

TEST_P(the_stats_over, tell_what_nobody_could_be_given) {
    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
    dealer.connect(router.bind(place()));
    ASSERT_TRUE(router.send_all({"nobody", "one"}));
    ASSERT_TRUE(router.send_all({"nobody", "two", "parts"}));
    EXPECT_EQ(stats_of(router).dropped_unroutable, 2u);
    EXPECT_EQ(stats_of(router).messages_sent, 0u);
    test_socket pub = zmq.socket(ZMQ_PUB);
    ASSERT_TRUE(pub.send_all({"no", "one"}));
    EXPECT_EQ(stats_of(pub).dropped_no_peer, 1u);
    EXPECT_EQ(all_dropped(stats_of(zmq.handle())), 3u);
}

TEST_P(the_stats_over, tell_what_came_after_its_subscription_had_ended) {
    test_socket pub = zmq.socket(ZMQ_XPUB), sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.set(ZMQ_SUBSCRIBE, "b");
    sub.connect(pub.bind(place()));
    ASSERT_TRUE(pub.receive());
    ASSERT_TRUE(pub.receive());
    for (const char *topic : {"a1", "a2", "b1"})
        ASSERT_NE(pub.send(topic), -1);
    ASSERT_EQ(sub.receive(), "a1");  // the others are under way, or here
    ASSERT_EQ(zmq_setsockopt(sub.handle(), ZMQ_UNSUBSCRIBE, "a", 1), 0);
    ASSERT_EQ(sub.receive(), "b1");
    EXPECT_EQ(stats_of(sub).dropped_filtered_late, 1u);
    EXPECT_EQ(all_dropped(stats_of(zmq.handle())), 1u);
}

TEST_P(the_stats_over, tell_what_newer_messages_have_replaced) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_CONFLATE, 1);
    pull.set(ZMQ_CONFLATE, 1);
    push.connect(pull.bind(place()));
    constexpr std::uint64_t sent = 20;
    for (std::uint64_t i = 0; i < sent; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    std::uint64_t received = 0;
    for (std::optional<std::string> last; last != std::to_string(sent - 1); ++received)
        ASSERT_TRUE(last = pull.receive());
    EXPECT_EQ(stats_of(push).messages_sent, sent);
    EXPECT_EQ(stats_of(pull).messages_received, received);
    EXPECT_EQ(stats_of(push).dropped_conflate * (GetParam() != std::string("inproc")) +
                  stats_of(pull).dropped_conflate,
              sent - received);
}

TEST_P(the_stats_over, tell_what_has_replaced_a_message_that_a_poll_had_found) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    for (test_socket *each : {&push, &pull})
        each->set(ZMQ_CONFLATE, 1);
    push.connect(pull.bind(place()));
    ASSERT_NE(push.send("old"), -1);
    zmq_pollitem_t item{pull.handle(), 0, ZMQ_POLLIN, 0};
    ASSERT_EQ(zmq_poll(&item, 1, -1), 1);
    ASSERT_NE(push.send("new"), -1);
    ASSERT_TRUE(eventually([&] { return stats_of(pull).queued_in == 1; }));
    EXPECT_EQ(stats_of(pull).dropped_unwanted, 0u);
    EXPECT_EQ(pull.receive(), "new");
    EXPECT_EQ(stats_of(pull).messages_received, 2u);
    EXPECT_EQ(stats_of(pull).dropped_unwanted, 1u);
    pull.close();
    EXPECT_EQ(all_dropped(stats_of(zmq.handle())), 1u) << "and once";
}

TEST_P(the_stats_over, count_the_newest_message_that_a_close_leaves_unread) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    for (test_socket *each : {&push, &pull})
        each->set(ZMQ_CONFLATE, 1);
    push.connect(pull.bind(place()));
    for (int i = 0; i < 5; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(pull.set(ZMQ_RCVHWM, 1000), 0);  // takes in that a peer has come, and no message
        return stats_of(pull).queued_in == 1 && stats_of(zmq.handle()).dropped_conflate == 4;
    }));
    pull.close();
    push.close();
    expect_soon(zmq.handle(), &zlink_stats_t::dropped_unread, 1);
    EXPECT_EQ(all_dropped(stats_of(zmq.handle())), 5u);
}

/// Over ipc, where what is written has come.
TEST_F(the_stats, count_what_was_kept_back_at_the_mark_whatever_the_time_to_linger) {
    for (const int linger : {0, 1000, -1}) {
        context here;
        test_socket pull = here.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
        pull.set(ZMQ_RCVHWM, 1);
        pull.set(ZMQ_LINGER, linger);
        push.set(ZMQ_SNDHWM, 0);
        push.connect(pull.bind("ipc://*"));
        for (int i = 0; i < 500; ++i)
            ASSERT_NE(push.send("x"), -1);
        ASSERT_TRUE(pull.receive());
        EXPECT_TRUE(eventually([&] { return stats_of(push).queued_out == 0; }));
        pull.close();
        expect_soon(here.handle(), &zlink_stats_t::dropped_unread, 499);
    }
}

TEST_F(the_stats, tell_what_was_left_when_the_time_to_linger_was_over) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect("tcp://127.0.0.1:1");  // where nobody listens
    for (int i = 0; i < 5; ++i)
        ASSERT_NE(push.send("for nobody"), -1);
    push.close();
    expect_soon(zmq.handle(), &zlink_stats_t::dropped_linger, 5);
    EXPECT_EQ(all_dropped(stats_of(zmq.handle())), 5u);
}

TEST_F(the_stats, tell_a_message_that_is_too_large_and_the_end_that_it_brings) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    zlink_test::test_socket &small = pull;
    std::int64_t most = 10;
    ASSERT_EQ(zmq_setsockopt(small.handle(), ZMQ_MAXMSGSIZE, &most, sizeof most), 0);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_NE(push.send("more than ten octets"), -1);
    expect_soon(pull, &zlink_stats_t::dropped_too_large, 1);
    EXPECT_EQ(stats_of(pull).disconnects_error, 1u);
}

TEST_F(the_stats, tell_connections_that_come_and_go) {
    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    dealer.connect(endpoint);
    ASSERT_NE(dealer.send("hello"), -1);
    ASSERT_EQ(router.receive_all().size(), 2u);
    dealer.close();
    expect_soon(router, &zlink_stats_t::disconnects_peer, 1);
    EXPECT_EQ(stats_of(router).accepts, 1u);
    expect_soon(zmq.handle(), &zlink_stats_t::disconnects_local, 1);
    EXPECT_EQ(stats_of(zmq.handle()).connects, 1u);
}

TEST_F(the_stats, tell_by_which_transports_peers_are_there) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    std::vector<test_socket> all;
    for (const char *const place : {"tcp://127.0.0.1:*", "ipc://*", "inproc://one", "inproc://two"}) {
        all.push_back(zmq.socket(ZMQ_PUSH));
        all.back().connect(pull.bind(place));
        ASSERT_NE(all.back().send("x"), -1);
        ASSERT_TRUE(pull.receive());
    }
    const std::string text = text_of(zmq, ZLINK_STATS_PROMETHEUS);
    const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(has("type=\"PULL\",transport=\"tcp\"} 1\n")) << text;
    EXPECT_TRUE(has("type=\"PULL\",transport=\"ipc\"} 1\n")) << text;
    EXPECT_TRUE(has("type=\"PULL\",transport=\"inproc\"} 2\n")) << text;
    EXPECT_TRUE(has("type=\"PUSH\",transport=\"ipc\"} 1\n")) << text;
    EXPECT_FALSE(has("type=\"PULL\",transport=\"ws\"}")) << text;
    EXPECT_EQ(stats_of(pull).peers, 4u);
}

TEST_F(the_stats, tell_connections_that_unbind_and_disconnect_have_ended) {
    test_socket router = zmq.socket(ZMQ_ROUTER), first = zmq.socket(ZMQ_DEALER),
                second = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    for (test_socket *const each : {&first, &second}) {
        each->connect(endpoint);
        ASSERT_NE(each->send("hello"), -1);
        ASSERT_EQ(router.receive_all().size(), 2u);
    }
    ASSERT_EQ(zmq_disconnect(first.handle(), endpoint.c_str()), 0);
    expect_soon(first, &zlink_stats_t::disconnects_unbind, 1);
    expect_soon(router, &zlink_stats_t::disconnects_peer, 1);
    ASSERT_EQ(zmq_unbind(router.handle(), endpoint.c_str()), 0);
    expect_soon(router, &zlink_stats_t::disconnects_unbind, 1);
    expect_soon(second, &zlink_stats_t::disconnects_peer, 1);
    router.close();
    first.close();
    EXPECT_EQ(stats_of(zmq.handle()).disconnects_local, 0u);
}

TEST_F(the_stats, tell_a_connection_whose_routing_id_another_has_taken) {
    test_socket router = zmq.socket(ZMQ_ROUTER), first = zmq.socket(ZMQ_DEALER),
                second = zmq.socket(ZMQ_DEALER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_HANDOVER, 1), 0);
    const std::string endpoint = router.bind("tcp://127.0.0.1:*");
    first.set(ZMQ_RECONNECT_IVL, -1);
    for (test_socket *const each : {&first, &second}) {
        ASSERT_EQ(zmq_setsockopt(each->handle(), ZMQ_ROUTING_ID, "same", 4), 0);
        each->connect(endpoint);
        ASSERT_NE(each->send("hello"), -1);
        ASSERT_EQ(router.receive_all().size(), 2u);
    }
    expect_soon(router, &zlink_stats_t::disconnects_handover, 1);
    expect_soon(first, &zlink_stats_t::disconnects_peer, 1);
    second.close();
    expect_soon(router, &zlink_stats_t::disconnects_peer, 1);
    EXPECT_EQ(stats_of(router).disconnects_local + stats_of(router).disconnects_unbind, 0u);
}

TEST_F(the_stats, tell_handshakes_that_fail_and_attempts_that_follow) {
    test_socket pull = zmq.socket(ZMQ_PULL), sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_RECONNECT_IVL, 1);
    sub.connect(pull.bind("tcp://127.0.0.1:*"));
    EXPECT_TRUE(eventually([&] { return stats_of(sub).handshakes_failed_protocol >= 1; }));
    EXPECT_TRUE(eventually([&] { return stats_of(pull).handshakes_failed_protocol >= 1; }));
    test_socket lonely = zmq.socket(ZMQ_PUSH);
    lonely.set(ZMQ_RECONNECT_IVL, 1);
    lonely.connect("tcp://127.0.0.1:1");
    EXPECT_TRUE(eventually([&] { return stats_of(lonely).reconnects >= 2; }));
    EXPECT_EQ(stats_of(lonely).connects, 0u);
}

TEST_F(the_stats, tell_how_often_and_how_long_senders_have_waited) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_SNDTIMEO, 20);
    EXPECT_FAILS(EAGAIN, push.send("for nobody"));
    EXPECT_FAILS(EAGAIN, push.send("for nobody", ZMQ_DONTWAIT));
    const zlink_stats_t stats = stats_of(push);
    EXPECT_EQ(stats.sends_blocked, 1u);
    EXPECT_GE(stats.send_blocked_nanoseconds, 15'000'000u);
}

TEST_F(the_stats, tell_requests_without_an_envelope) {
    test_socket rep = zmq.socket(ZMQ_REP), dealer = zmq.socket(ZMQ_DEALER);
    dealer.connect(rep.bind("inproc://bare"));
    ASSERT_NE(dealer.send("no delimiter"), -1);
    ASSERT_TRUE(dealer.send_all({"", "request"}));
    ASSERT_EQ(rep.receive(), "request");
    EXPECT_EQ(stats_of(rep).dropped_unwanted, 1u);
}

TEST_F(the_stats, are_told_as_text_under_the_names_of_sockets) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    ASSERT_EQ(push.set(ZLINK_SOCKET_NAME, "orders \"out\""), 0);
    EXPECT_EQ(push.get_text(ZLINK_SOCKET_NAME), std::string("orders \"out\"") + '\0');
    push.connect(pull.bind("inproc://text"));
    for (int i = 0; i < 3; ++i)
        ASSERT_NE(push.send("x"), -1);
    ASSERT_TRUE(pull.receive());
    const std::string text = text_of(zmq, ZLINK_STATS_PROMETHEUS);
    const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(has("# TYPE zlink_messages_sent_total counter\n")) << text;
    EXPECT_TRUE(has("socket=\"orders \\\"out\\\"\",type=\"PUSH\"} 3\n")) << text;
    EXPECT_TRUE(has(" inproc://text\",type=\"PULL\",direction=\"in\"} 2\n")) << text;
    EXPECT_TRUE(has("socket=\"_other\",type=\"\"} 0\n")) << text;
    EXPECT_TRUE(has("\nzlink_build_info{version=\"zlink ")) << text;
    const std::string open = text_of(zmq, ZLINK_STATS_OPENMETRICS);
    EXPECT_TRUE(open.ends_with("# EOF\n")) << open;
    EXPECT_NE(open.find("# TYPE zlink_messages_sent counter\n"), std::string::npos) << open;
    EXPECT_TRUE(text_of(zmq, ZLINK_STATS_JSON).starts_with("{\"library\":\"zlink "));
    EXPECT_FAILS(EINVAL, zlink_stats_text(
                             zmq.handle(), 3, [](void *, const char *, std::size_t) {}, nullptr));
    EXPECT_FAILS(EFAULT, zlink_stats_text(zmq.handle(), 0, nullptr, nullptr));
    EXPECT_FAILS(EINVAL, push.set(ZLINK_SOCKET_NAME, std::string(65, 'x')));
}

TEST_F(the_stats, keep_the_sums_of_sockets_that_have_no_line) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    const std::string endpoint = pull.bind("inproc://many");
    std::vector<test_socket> all;
    for (int i = 0; i < 80; ++i) {
        all.push_back(zmq.socket(ZMQ_PUSH));
        all.back().connect(endpoint);
        ASSERT_NE(all.back().send("x"), -1);
    }
    const std::string text = text_of(zmq, ZLINK_STATS_JSON);
    std::size_t lines = 0, sum = 0;
    const std::string key = "\"messages_sent\":";
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; ++lines)
        sum += std::stoul(text.substr(at += key.size()));
    EXPECT_EQ(lines, 65u);
    EXPECT_EQ(sum, 80u);
    const auto summed = [&] {
        const std::string now = text_of(zmq, ZLINK_STATS_JSON);
        return std::stoul(now.substr(now.find(key, now.find("\"_other\"")) + key.size()));
    };
    EXPECT_EQ(summed(), 80u - 63);
    all.erase(all.begin());
    EXPECT_EQ(summed(), 80u - 62) << "the oldest of those that were summed would have a line by now";
    all.clear();
    EXPECT_EQ(summed(), 80u);
}

TEST_P(the_stats_over, name_the_peer_that_is_slow) {
    test_socket pub = zmq.socket(ZMQ_XPUB), fast = zmq.socket(ZMQ_SUB), slow = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_SNDHWM, 10);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    const std::string endpoint = pub.bind(place());
    for (test_socket *each : {&fast, &slow}) {
        each->set(ZMQ_RCVHWM, 10);
        each->set(ZMQ_SUBSCRIBE, "");
        each->connect(endpoint);
        ASSERT_TRUE(pub.receive());
    }
    const std::string body(100'000, 'x');
    // The kernel takes more of them at any time: they are sent until one was kept back and others
    // wait.
    const auto is_behind = [](const seen_peer &peer) {
        return peer.numbers.dropped_hwm > 0 && peer.numbers.queued_out > 0;
    };
    std::vector<seen_peer> peers;
    std::uint64_t sent = 0;
    ASSERT_TRUE(eventually([&] {
        for (int i = 0; i < 10; ++i, ++sent) {
            EXPECT_NE(pub.send(body), -1);
            EXPECT_TRUE(fast.receive());
        }
        peers = peers_of(pub);
        return std::any_of(peers.begin(), peers.end(), is_behind);
    }));
    ASSERT_EQ(peers.size(), 2u);
    const bool is_first = is_behind(peers[0]);
    const seen_peer &behind = peers[is_first ? 0 : 1], &other = peers[is_first ? 1 : 0];
    EXPECT_EQ(behind.numbers.messages_sent + behind.numbers.dropped_hwm, sent);
    EXPECT_EQ(other.numbers.messages_sent, sent);
    EXPECT_EQ(other.numbers.dropped_hwm, 0u);
    if (GetParam() == std::string("inproc"))
        return;
    if (GetParam() == std::string("tcp")) {
        EXPECT_NE(behind.address, other.address);
    }
    EXPECT_EQ(behind.endpoint, endpoint);
    EXPECT_EQ(behind.mechanism, "NULL");
    EXPECT_EQ(behind.numbers.state, ZLINK_PEER_READY);
    EXPECT_EQ(behind.numbers.is_connecting, 0);
}

TEST_F(the_stats, name_peers_as_they_have_announced_themselves) {
    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "orders");
    dealer.connect(router.bind("tcp://127.0.0.1:*"));
    ASSERT_NE(dealer.send("hello"), -1);
    ASSERT_EQ(router.receive_all().size(), 2u);
    const std::vector<seen_peer> peers = peers_of(router);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_EQ(peers[0].routing_id, "orders");
    EXPECT_TRUE(peers[0].address.starts_with("tcp://127.0.0.1:")) << peers[0].address;
    EXPECT_EQ(peers[0].numbers.messages_received, 1u);
}

TEST_F(the_stats, show_addresses_where_nobody_is) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect("tcp://127.0.0.1:1");
    ASSERT_NE(push.send("waits"), -1);
    const std::vector<seen_peer> peers = peers_of(push);
    ASSERT_EQ(peers.size(), 1u);
    EXPECT_EQ(peers[0].endpoint, "tcp://127.0.0.1:1");
    EXPECT_EQ(peers[0].address, "");
    EXPECT_EQ(peers[0].numbers.state, ZLINK_PEER_CONNECTING);
    EXPECT_EQ(peers[0].numbers.is_connecting, 1);
    EXPECT_EQ(peers[0].numbers.queued_out, 1u);
    const auto stop = [](void *, const zlink_peer_t *, std::size_t) { return 1; };
    push.connect("tcp://127.0.0.1:2");
    EXPECT_EQ(zlink_peers(push.handle(), stop, nullptr), 1);
    EXPECT_FAILS(EFAULT, zlink_peers(push.handle(), nullptr, nullptr));
    EXPECT_FAILS(ENOTSOCK, zlink_peers(zmq.handle(), stop, nullptr));
}

TEST_F(the_stats, have_a_line_for_each_of_two_sockets_of_one_name) {
    test_socket push = zmq.socket(ZMQ_PUSH), other = zmq.socket(ZMQ_PUSH);
    for (test_socket *each : {&push, &other})
        ASSERT_EQ(each->set(ZLINK_SOCKET_NAME, "worker"), 0);
    const std::string text = text_of(zmq, ZLINK_STATS_PROMETHEUS);
    EXPECT_NE(text.find("zlink_sockets{context=\""), std::string::npos);
    EXPECT_NE(text.find(",socket=\"worker\",type=\"PUSH\"} 1\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" worker\",type=\"PUSH\"} 1\n"), std::string::npos) << text;
}

TEST_P(the_stats_over, never_fall_while_peers_come_and_go) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    const std::string endpoint = pull.bind(place());
    std::atomic<bool> is_over{false};
    std::thread asks([&] {
        for (std::uint64_t before = 0; !is_over;) {
            const std::uint64_t sent = stats_of(zmq.handle()).messages_sent;
            EXPECT_GE(sent, before);
            before = sent;
        }
    });
    constexpr std::uint64_t peers = 100;
    for (std::uint64_t i = 0; i < peers; ++i) {
        test_socket push = zmq.socket(ZMQ_PUSH);
        push.connect(endpoint);
        EXPECT_NE(push.send("x"), -1);
        EXPECT_TRUE(pull.receive());
    }
    is_over = true;
    asks.join();
    EXPECT_EQ(stats_of(zmq.handle()).messages_sent, peers);
    EXPECT_EQ(stats_of(zmq.handle()).messages_received, peers);
}

TEST_F(the_stats, are_cut_or_filled_up_for_programs_of_other_releases) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    struct {
        zlink_stats_t known;
        std::uint64_t newer;
    } larger;
    std::memset(&larger, 0xff, sizeof larger);
    ASSERT_EQ(zlink_stats(push.handle(), &larger.known, sizeof larger), 0);
    EXPECT_EQ(larger.newer, 0u);
    EXPECT_EQ(larger.known.sockets, 1u);
    std::memset(&larger, 0xff, sizeof larger);
    ASSERT_EQ(zlink_stats(push.handle(), &larger.known, sizeof(std::uint64_t)), 0);
    EXPECT_EQ(larger.known.messages_sent, 0u);
    EXPECT_EQ(larger.known.messages_received, UINT64_MAX) << "nothing is written beyond the size";
}

TEST_F(the_stats, are_those_of_a_socket_or_context_and_of_nothing_else) {
    zlink_stats_t stats;
    EXPECT_FAILS(ENOTSOCK, zlink_stats(nullptr, &stats, sizeof stats));
    EXPECT_FAILS(ENOTSOCK, zlink_stats(&stats, &stats, sizeof stats));
    EXPECT_FAILS(EFAULT, zlink_stats(zmq.handle(), nullptr, sizeof stats));
}

INSTANTIATE_TEST_SUITE_P(every_way, the_stats_over, ::testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &way) { return std::string(way.param); });

}  // namespace
