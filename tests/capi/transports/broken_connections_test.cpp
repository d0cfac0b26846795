// Connections that break at bad moments: memory comes back, the next connection starts with a whole
// message, others go on.
#include "lent_bodies.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::command;
using zlink::test::greeting;
using zlink::test::long_header;
using zlink::test::message;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::ready;

class asio_error_recovery : public ::testing::TestWithParam<std::string> {
protected:
    test_socket narrow_socket(int type) {
        test_socket made = zmq.socket(type);
        made.set(ZMQ_SNDBUF, little_room);
        made.set(ZMQ_SNDHWM, 0);
        made.set(ZMQ_RCVHWM, 0);
        made.set(ZMQ_RECONNECT_IVL, 5);
        return made;
    }
    /// A socket connected to `listener`.
    test_socket calling_socket(int type) {
        test_socket made = narrow_socket(type);
        made.connect(listener.endpoint());
        return made;
    }
    raw_peer next_peer(const char *type = "PULL") {
        raw_peer peer = listener.accept();
        keep_little(peer);
        EXPECT_TRUE(peer.shake_hands(type));
        return peer;
    }

    lent_bodies bodies;
    raw_listener listener{GetParam()};
    context zmq;
};

TEST_P(asio_error_recovery, a_body_cut_by_a_reset_is_dropped_and_the_next_connection_starts_behind_it) {
    test_socket push = calling_socket(ZMQ_PUSH);
    raw_peer peer = next_peer();
    const std::string large = octets(2 * beyond_the_kernel);
    ASSERT_TRUE(bodies.send(push, large));
    ASSERT_TRUE(bodies.send(push, "second"));
    ASSERT_EQ(push.send("third"), 5);
    EXPECT_EQ(peer.receive(9), long_header(0, large.size()));
    EXPECT_EQ(peer.receive(70000).size(), 70000u);
    EXPECT_EQ(bodies.given_back(), 0);
    reset(peer);
    peer = next_peer();
    EXPECT_GE(bodies.given_back(), 1);
    const std::string expected = message("second") + message("third");
    EXPECT_EQ(peer.receive(expected.size()), expected);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 2; }));
}

TEST_P(asio_error_recovery, a_message_cut_between_its_parts_is_dropped_whole) {
    test_socket push = calling_socket(ZMQ_PUSH);
    raw_peer peer = next_peer();
    const std::string part = octets(20000);
    ASSERT_TRUE(bodies.send(push, part));
    ASSERT_TRUE(bodies.send(push, part, ZMQ_SNDMORE));
    ASSERT_TRUE(bodies.send(push, octets(2 * beyond_the_kernel), ZMQ_SNDMORE));
    ASSERT_TRUE(bodies.send(push, part, ZMQ_SNDMORE));
    ASSERT_EQ(push.send("last part"), 9);
    ASSERT_TRUE(bodies.send(push, "next message"));
    const std::string whole = message(part) + message(part, true);
    EXPECT_TRUE(peer.receive(whole.size()) == whole);
    EXPECT_EQ(peer.receive(70000).size(), 70000u);
    reset(peer);
    peer = next_peer();
    EXPECT_GE(bodies.given_back(), 4);
    EXPECT_EQ(peer.receive_frame(), std::make_pair(std::uint8_t{0}, std::string("next message")));
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == bodies.lent(); }));
}

TEST_P(asio_error_recovery, resets_during_the_handshake_lose_nothing) {
    test_socket push = calling_socket(ZMQ_PUSH);
    const std::string text = octets(beyond_the_kernel);
    ASSERT_TRUE(bodies.send(push, text));
    const std::string hands = greeting() + ready("PULL");
    for (const std::size_t said : {0ul, 1ul, 11ul, 63ul, 64ul, 65ul, 70ul, hands.size() - 1}) {
        raw_peer peer = listener.accept();
        ASSERT_TRUE(peer.is_open()) << said;
        EXPECT_TRUE(peer.send(hands.substr(0, said)));
        EXPECT_EQ(peer.receive(10).size(), 10u);
        reset(peer);
    }
    EXPECT_EQ(bodies.given_back(), 0);
    raw_peer peer = next_peer();
    EXPECT_EQ(peer.receive(9), long_header(0, text.size()));
    EXPECT_TRUE(peer.receive(text.size()) == text);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
}

TEST_P(asio_error_recovery, what_is_queued_behind_a_break_goes_on_in_order) {
    constexpr unsigned count = 400;
    const auto numbered = [](unsigned i) { return std::to_string(i) + ":" + octets(10000 + i, i); };
    test_socket push = calling_socket(ZMQ_PUSH);
    for (unsigned i = 0; i < count; ++i)
        ASSERT_TRUE(bodies.send(push, numbered(i)));
    unsigned next = 0;
    int breaks = 0;
    while (next < count) {
        raw_peer peer = next_peer();
        ASSERT_TRUE(peer.is_open());
        // The first frame is a whole one, behind all that came before; what the kernel had taken is
        // lost.
        for (unsigned taken = 0; next < count && (taken < 60 || breaks >= 3); ++taken) {
            const auto [flags, body] = peer.receive_frame();
            ASSERT_EQ(flags, 2);
            const auto number = static_cast<unsigned>(std::stoul(body));
            ASSERT_TRUE(body == numbered(number));
            ASSERT_TRUE(taken == 0 ? number >= next : number == next) << number << " after " << next;
            next = number + 1;
        }
        if (next < count) {
            ++breaks;
            EXPECT_EQ(peer.receive(1000).size(), 1000u);  // in the middle of a body
            reset(peer);
        }
    }
    EXPECT_EQ(breaks, 3);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == static_cast<int>(count); }));
}

TEST_P(asio_error_recovery, sending_goes_on_after_each_break) {
    test_socket push = calling_socket(ZMQ_PUSH);
    monitor watch(zmq, push, ZMQ_EVENT_DISCONNECTED);
    for (unsigned i = 0; i < 10; ++i) {
        raw_peer peer = next_peer();
        const std::string text = octets(100000, i);
        ASSERT_TRUE(bodies.send(push, text));
        ASSERT_EQ(push.send("behind"), 6);
        const std::string expected = message(text) + message("behind");
        EXPECT_TRUE(peer.receive(expected.size()) == expected);
        EXPECT_TRUE(eventually([&] { return bodies.given_back() == bodies.lent(); }));
        reset(peer);
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    }
}

TEST_P(asio_error_recovery, a_bad_peer_does_not_disturb_another) {
    test_socket pub = narrow_socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    const std::string endpoint = pub.bind(scratch_endpoint(GetParam()));
    test_socket good = narrow_socket(ZMQ_SUB);
    good.set(ZMQ_SUBSCRIBE, "");
    good.connect(endpoint);
    ASSERT_EQ(pub.receive(), "\1");
    unsigned sent = 0;
    unsigned received = 0;
    const auto body = [](unsigned i) { return octets(50000 + i, i); };
    for (int round = 0; round < 5; ++round) {
        raw_peer bad(endpoint);
        keep_little(bad);
        ASSERT_TRUE(bad.shake_hands("SUB"));
        ASSERT_TRUE(bad.send(command("SUBSCRIBE")));
        ASSERT_EQ(pub.receive(), "\1");
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(bodies.send(pub, body(sent++)));
        ASSERT_EQ(bad.receive(60000).size(), 60000u);  // and then it stalls
        while (received < sent - 10)
            ASSERT_TRUE(good.receive() == body(received++));
        reset(bad);
        while (received < sent)
            ASSERT_TRUE(good.receive() == body(received++));
    }
    pub.close();  // which may have kept what was queued for the last bad peer
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == bodies.lent(); }));
}

TEST_P(asio_error_recovery, a_body_that_ends_too_early_is_not_delivered) {
    test_socket pull = narrow_socket(ZMQ_PULL);
    const std::string endpoint = pull.bind(scratch_endpoint(GetParam()));
    test_socket good = narrow_socket(ZMQ_PUSH);
    good.connect(endpoint);
    for (unsigned i = 0; i < 5; ++i) {
        raw_peer bad(endpoint);
        ASSERT_TRUE(bad.shake_hands("PUSH"));
        ASSERT_TRUE(bad.send(long_header(0, 1u << 20) + octets(100000 * i)));
        ASSERT_TRUE(bodies.send(good, octets(200000, i)));
        EXPECT_TRUE(pull.receive() == octets(200000, i));
        reset(bad);
        ASSERT_TRUE(bodies.send(good, octets(100, i)));
        EXPECT_TRUE(pull.receive() == octets(100, i));
    }
    EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), std::nullopt);
}

TEST_P(asio_error_recovery, a_publisher_that_waits_and_does_not_listen_goes_on_when_its_subscriber_is_gone) {
    test_socket pub = narrow_socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_NODROP, 1);
    pub.set(ZMQ_SNDHWM, 1);
    pub.set(ZMQ_RCVHWM, 1);
    raw_peer peer(pub.bind(scratch_endpoint(GetParam())));
    keep_little(peer);
    ASSERT_TRUE(peer.shake_hands("SUB"));
    ASSERT_TRUE(peer.send(command("SUBSCRIBE")));
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(peer.send(message("unread")));
    ASSERT_TRUE(pub.has_input());
    std::thread sender([&] {
        for (int i = 0; i < 5; ++i)
            EXPECT_TRUE(bodies.send(pub, octets(beyond_the_kernel))) << "message " << i;
    });
    EXPECT_EQ(peer.receive(10000).size(), 10000u);
    reset(peer);
    sender.join();
}

TEST_P(asio_error_recovery, a_sender_that_waits_and_does_not_listen_connects_again) {
    test_socket dealer = calling_socket(ZMQ_DEALER);
    dealer.set(ZMQ_SNDHWM, 1);
    dealer.set(ZMQ_RCVHWM, 1);
    raw_peer peer = next_peer("DEALER");
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(peer.send(message(std::to_string(i))));
    std::thread sender([&] {
        for (int i = 0; i < 5; ++i)
            EXPECT_TRUE(bodies.send(dealer, octets(beyond_the_kernel)));
    });
    for (int breaks = 0; breaks < 3; ++breaks) {
        EXPECT_EQ(peer.receive(10000).size(), 10000u);
        reset(peer);
        peer = next_peer("DEALER");
        EXPECT_TRUE(peer.send(message("later")));
    }
    for (int i = 3; i < 5; ++i)
        EXPECT_EQ(peer.receive(9 + beyond_the_kernel).size(), 9 + beyond_the_kernel);
    sender.join();
    // The first connection has brought all it had.
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(dealer.receive(), std::to_string(i));
}

TEST_P(asio_error_recovery, the_end_of_the_context_gives_all_bodies_back) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    push.set(ZMQ_SNDHWM, 4);
    push.set(ZMQ_SNDTIMEO, -1);
    push.connect(listener.endpoint());
    test_socket unheard = zmq.socket(ZMQ_PUSH);  // nobody reads this one at all
    unheard.connect(listener.endpoint());
    raw_peer first = next_peer();
    raw_peer second = listener.accept();
    ASSERT_TRUE(bodies.send(unheard, octets(100000)));
    int error = 0;
    std::thread sender([&] {
        while (bodies.send(push, octets(beyond_the_kernel))) {
        }
        error = zmq_errno();
    });
    EXPECT_EQ(first.receive(10000).size(), 10000u);
    EXPECT_TRUE(eventually([&] { return bodies.lent() >= 6; }));
    EXPECT_EQ(zmq.shutdown(), 0);
    sender.join();
    EXPECT_EQ(error, ETERM);
    EXPECT_EQ(bodies.given_back(), 1);  // the one that was not taken
    push.close();
    unheard.close();
    EXPECT_EQ(zmq.term(), 0);
    EXPECT_EQ(bodies.given_back(), bodies.lent());
}

INSTANTIATE_TEST_SUITE_P(over, asio_error_recovery, ::testing::Values("tcp", "ipc"),
                         [](const auto &which) { return which.param; });

}  // namespace
