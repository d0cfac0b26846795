// A subscriber is told how many messages its publisher had no room for: by an event of its own, in
// front of the next message that it gets.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include "raw_peer.hpp"
#include "sockets.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;
using zlink::test::command;
using zlink::test::greeting;
using zlink::test::property;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

class gap_monitor {
public:
    gap_monitor(context &owner, test_socket &of, int mask = ZLINK_EVENT_GAPS) {
        static int made = 0;
        const std::string endpoint = "inproc://gap-monitor-" + std::to_string(++made);
        EXPECT_EQ(zmq_socket_monitor(of.handle(), endpoint.c_str(), mask), 0);
        reader_ = owner.socket(ZMQ_PAIR);
        reader_.connect(endpoint);
    }
    struct event {
        std::uint32_t lost = 0;
        std::string endpoint;
    };
    // Those that are there.
    std::vector<event> take() {
        std::vector<event> all;
        for (frames next; !(next = reader_.receive_all(ZMQ_DONTWAIT)).empty();) {
            std::uint16_t kind = 0;
            std::memcpy(&kind, next[0].data(), sizeof kind);
            EXPECT_EQ(kind, ZLINK_EVENT_GAP);
            event &what = all.emplace_back();
            std::memcpy(&what.lost, next[0].data() + sizeof kind, sizeof what.lost);
            what.endpoint = next.at(1);
        }
        return all;
    }

private:
    test_socket reader_;
};

zlink_stats_t numbers_of(const test_socket &socket) {
    zlink_stats_t stats;
    EXPECT_EQ(zlink_stats(socket.handle(), &stats, sizeof stats), 0);
    return stats;
}

std::string count(std::uint64_t lost) {
    std::string out;
    for (int shift = 56; shift >= 0; shift -= 8)
        out += static_cast<char>(lost >> shift);
    return out;
}
std::string gap(std::uint64_t lost) { return command("GAP", count(lost)); }

// A transport, and whether the subscriber binds.
class gap_over : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
protected:
    void SetUp() override {
        pub = zmq.socket(ZMQ_XPUB);
        sub = zmq.socket(ZMQ_SUB);
        told.emplace(zmq, sub);
    }
    std::string transport() const { return std::get<0>(GetParam()); }
    void seal() {
        char open[41], hidden[41];
        ASSERT_EQ(zmq_curve_keypair(open, hidden), 0);
        pub.set(ZMQ_CURVE_SERVER, 1);
        pub.set(ZMQ_CURVE_SECRETKEY, hidden);
        sub.set(ZMQ_CURVE_SERVERKEY, open);
        sub.set(ZMQ_CURVE_PUBLICKEY, open);
        sub.set(ZMQ_CURVE_SECRETKEY, hidden);
    }
    void link() {
        pub.set(ZMQ_SNDHWM, 10);
        sub.set(ZMQ_RCVHWM, 10);
        sub.set(ZMQ_SUBSCRIBE, "");
        test_socket &bound = std::get<1>(GetParam()) ? sub : pub;
        endpoint = bound.bind(scratch_endpoint(transport()));
        (std::get<1>(GetParam()) ? pub : sub).connect(endpoint);
        // One that is bound subscribes at its peer in a call of its own.
        ASSERT_TRUE(eventually([&] {
            (void)sub.get(ZMQ_EVENTS);
            return zlink_wait_ready(pub.handle(), ZLINK_READY_SUBSCRIBERS, 1, 0) == 0;
        }));
    }

    // Sends numbered messages of `parts` until some were lost.
    void send_until_lost(std::uint64_t lost, std::size_t parts, std::size_t size) {
        const std::uint64_t before = numbers_of(pub).dropped_hwm;
        while (numbers_of(pub).dropped_hwm < before + lost)
            send_next(parts, size);
    }
    void send_next(std::size_t parts, std::size_t size) {
        frames message{std::to_string(sent++)};
        for (std::size_t i = 1; i < parts; ++i)
            message.emplace_back(size, 'x');
        message.back().resize(std::max(message.back().size(), size), ' ');
        octets_of_last = 0;
        for (const std::string &each : message)
            octets_of_last += each.size() + (each.size() < 256 ? 2 : 9);
        ASSERT_TRUE(pub.send_all(message));
    }
    // Receives the next message, which is whole; what was lost in front of it, and no more, has
    // been told.
    void receive_next(std::size_t parts) {
        const frames message = sub.receive_all();
        ASSERT_EQ(message.size(), parts);
        const std::uint64_t number = std::strtoull(message[0].c_str(), nullptr, 10);
        for (const gap_monitor::event &each : told->take()) {
            EXPECT_EQ(each.endpoint, endpoint);
            lost += each.lost;
            ++events;
        }
        ++received;
        ASSERT_EQ(number + 1, received + lost);
        last = number;
    }
    void check(std::size_t parts, std::size_t size) {
        link();
        for (int round = 0; round < 3 && !HasFatalFailure(); ++round) {
            send_until_lost(7, parts, size);
            // The first one that there is room for has the news in front of it.
            while (last + 1 < sent && !HasFatalFailure()) {
                const bool has_more = received + numbers_of(pub).dropped_hwm < sent;
                if (!has_more) {
                    send_next(parts, size);
                    continue;
                }
                receive_next(parts);
            }
        }
        EXPECT_EQ(received + lost, sent);
        EXPECT_EQ(lost, numbers_of(pub).dropped_hwm);
        EXPECT_GE(events, 3u);
    }

    context zmq;
    test_socket pub, sub;
    std::optional<gap_monitor> told;
    std::string endpoint;
    std::uint64_t sent = 0, received = 0, lost = 0, last = 0, events = 0, octets_of_last = 0;
};

TEST_P(gap_over, tells_of_each_small_message_that_was_lost) { check(1, 0); }
TEST_P(gap_over, tells_of_each_large_message_that_was_lost) { check(1, 20000); }
TEST_P(gap_over, tells_of_each_very_large_message_that_was_lost) { check(1, 300000); }
TEST_P(gap_over, splits_no_message_of_many_parts) { check(3, 100); }

TEST_P(gap_over, tells_inside_the_boxes_of_curve) {
    if (transport() == "inproc" || !zmq_has("curve"))
        return;
    seal();
    check(2, 50);
}

TEST_P(gap_over, is_no_message_and_no_octets_of_the_traffic) {
    check(1, 64);
    const zlink_stats_t of_pub = numbers_of(pub), of_sub = numbers_of(sub);
    EXPECT_EQ(of_pub.messages_sent, received);
    EXPECT_EQ(of_sub.messages_received, received);
    // Beside the messages there is what is said of a peer when it comes, which is less than one
    // gap.
    EXPECT_LT(of_pub.octets_sent - received * octets_of_last, gap(0).size());
    EXPECT_LT(of_sub.octets_received - received * octets_of_last, gap(0).size());
}

INSTANTIATE_TEST_SUITE_P(transports, gap_over,
                         ::testing::Combine(::testing::ValuesIn(built_transports()), ::testing::Bool()),
                         [](const auto &row) {
                             return std::get<0>(row.param) +
                                    (std::get<1>(row.param) ? "_bound" : "_connected");
                         });

// ---- marks ----

// Fills a pair of sockets by a mark in octets, takes a part, and fills again: what each step let
// through.
std::vector<std::uint64_t> steps_by_octets(bool hears, bool in_messages) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    std::optional<gap_monitor> told;
    if (hears)
        told.emplace(zmq, sub);
    for (test_socket *each : {&pub, &sub}) {
        each->set(ZMQ_SNDHWM, in_messages ? 5 : 0);
        each->set(ZMQ_RCVHWM, in_messages ? 5 : 0);
        const std::uint64_t octets = in_messages ? 0 : 100;
        EXPECT_EQ(zmq_setsockopt(each->handle(), ZLINK_SNDHWM_BYTES, &octets, sizeof octets), 0);
        EXPECT_EQ(zmq_setsockopt(each->handle(), ZLINK_RCVHWM_BYTES, &octets, sizeof octets), 0);
    }
    sub.set(ZMQ_SUBSCRIBE, "");
    sub.connect(pub.bind(scratch_endpoint("inproc")));
    std::vector<std::uint64_t> steps;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 50; ++i)
            EXPECT_EQ(pub.send("0123456789"), 10);
        const zlink_stats_t now = numbers_of(pub);
        for (const std::uint64_t each :
             {now.messages_sent, now.octets_sent, now.dropped_hwm, now.queued_out, now.queued_out_octets})
            steps.push_back(each);
        std::uint64_t taken = 0;
        while (taken < 7 && sub.receive(ZMQ_DONTWAIT))
            ++taken;
        steps.push_back(taken);
        // One message, and what was lost in front of it.
        EXPECT_EQ(pub.send("0123456789"), 10);
    }
    EXPECT_TRUE(!told || told->take().size() >= 1);
    return steps;
}

TEST(gap_in_queues, takes_no_room_by_the_marks) {
    for (const bool in_messages : {false, true})
        EXPECT_EQ(steps_by_octets(true, in_messages), steps_by_octets(false, in_messages));
}

TEST(gap_in_queues, is_not_where_the_newest_alone_is_kept) {
    raw_listener listener;
    context zmq;
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_CONFLATE, 1);
    gap_monitor told(zmq, sub);
    sub.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.send(greeting()));
    ASSERT_EQ(peer.receive(64).size(), 64u);
    EXPECT_EQ(peer.receive_frame().second.find("X-Zlink-Gap"), std::string::npos);
    for (const int type : {ZMQ_SUB, ZMQ_XSUB}) {  // in front of connections over inproc, too
        test_socket pub = zmq.socket(ZMQ_PUB), near = zmq.socket(type);
        near.set(ZMQ_CONFLATE, 1);
        pub.set(ZMQ_SNDHWM, 1);
        gap_monitor of_near(zmq, near);
        near.connect(pub.bind(scratch_endpoint("inproc")));
        ASSERT_NE(type == ZMQ_SUB ? near.set(ZMQ_SUBSCRIBE, "") : near.send(std::string(1, 1)), -1);
        for (int i = 0; i < 50; ++i)
            ASSERT_NE(pub.send("x"), -1);
        if (type == ZMQ_SUB) {
            ASSERT_EQ(near.receive(), "x");
            EXPECT_TRUE(of_near.take().empty());
        }
    }
}

// ---- on the wire ----

const std::string asks = property("X-Zlink-Gap", "1");

bool shake_hands(raw_peer &peer, std::string_view type, const std::string &more = {}) {
    return peer.send(greeting() + command("READY", property("Socket-Type", type) + more)) &&
           peer.receive(64).size() == 64 && peer.receive_frame().second.substr(0, 6) == "\5READY";
}

// A publisher with a mark of 10, and a bare subscriber that takes nothing until it is asked to.
class gap_on_wire : public ::testing::Test {
protected:
    gap_on_wire() {
        pub.set(ZMQ_SNDHWM, 10);
        pub.set(ZMQ_SNDBUF, 4096);
    }
    void subscribe(raw_peer &peer, const std::string &more) {
        ASSERT_TRUE(shake_hands(peer, "SUB", more));
        ASSERT_TRUE(peer.send(command("SUBSCRIBE", "")));
        ASSERT_EQ(zlink_wait_ready(pub.handle(), ZLINK_READY_SUBSCRIBERS, 1, patience_ms), 0);
    }
    void send_until_lost(std::uint64_t lost) {
        const std::uint64_t before = numbers_of(pub).dropped_hwm;
        while (numbers_of(pub).dropped_hwm < before + lost)
            ASSERT_NE(pub.send(std::to_string(sent++) + std::string(3000, ' ')), -1);
    }
    // Takes a frame; what was counted as lost stands in front of the message that it is lost
    // before.
    void take(raw_peer &peer) {
        const auto [flags, body] = peer.receive_frame();
        if (flags & 4) {
            ASSERT_EQ(body.size(), 12u);
            ASSERT_EQ(body.substr(0, 4), "\3GAP");
            std::uint64_t lost = 0;
            for (const char octet : body.substr(4))
                lost = lost << 8 | static_cast<std::uint8_t>(octet);
            next += lost;
            ++gaps;
            return;
        }
        ASSERT_EQ(flags & 0xfd, 0);
        number = std::strtoull(body.c_str(), nullptr, 10);
        ++messages;
    }

    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    std::uint64_t sent = 0, next = 0, number = 0, messages = 0, gaps = 0;
};

TEST_F(gap_on_wire, stands_in_front_of_the_message_that_the_lost_ones_were_in_front_of) {
    raw_peer peer(pub.bind("tcp://127.0.0.1:*"));
    subscribe(peer, asks);
    for (int round = 0; round < 3; ++round) {
        send_until_lost(20);
        const std::uint64_t gaps_before = gaps;
        while (gaps == gaps_before || number + 1 < sent) {
            if (number + 1 >= sent || messages + numbers_of(pub).dropped_hwm >= sent) {
                ASSERT_NE(pub.send(std::to_string(sent++) + std::string(3000, ' ')), -1);
                continue;
            }
            const std::uint64_t before = messages;
            take(peer);
            if (HasFatalFailure())
                return;
            if (messages > before) {
                ASSERT_EQ(number, next);
                next = number + 1;
            }
        }
    }
    EXPECT_EQ(messages + numbers_of(pub).dropped_hwm, sent);
}

TEST_F(gap_on_wire, is_not_there_for_who_has_not_asked) {
    for (const std::string &more : {std::string(), property("X-Zlink-Gap", "2"), property("X-Zlink", "1")}) {
        const std::string endpoint = pub.bind("tcp://127.0.0.1:*");
        raw_peer peer(endpoint);
        subscribe(peer, more);
        const std::uint64_t dropped = numbers_of(pub).dropped_hwm;
        const std::uint64_t sent_before = sent;
        messages = 0;
        send_until_lost(20);
        for (int i = 0; i < 5; ++i) {
            while (messages + numbers_of(pub).dropped_hwm - dropped < sent - sent_before)
                take(peer);
            ASSERT_NE(pub.send(std::to_string(sent++) + std::string(3000, ' ')), -1);
        }
        EXPECT_EQ(gaps, 0u);
        pub.unbind(endpoint);
        peer.close();
        ASSERT_TRUE(eventually([&] { return numbers_of(pub).peers == 0; }));
    }
}

// A publisher that dials, and the queue that it keeps for its next peer.
class gap_of_kept_queue : public ::testing::Test {
protected:
    gap_of_kept_queue() {
        pub.set(ZMQ_SNDHWM, 10);
        pub.set(ZMQ_RECONNECT_IVL, 1);
        events.emplace(zmq, pub, ZMQ_EVENT_DISCONNECTED);
    }
    void begin(raw_peer &peer, const std::string &more, const std::string &topic) {
        peer = listener.accept();
        ASSERT_TRUE(shake_hands(peer, "SUB", more));
        ASSERT_TRUE(peer.send(command("SUBSCRIBE", topic)));
    }
    // Once the publisher knows of the peer: it has said its topic behind the news of it.
    void await(const std::string &topic) { ASSERT_EQ(pub.receive(), std::string(1, 1) + topic); }
    void lose(raw_peer &peer) {
        peer.close();
        ASSERT_EQ(events->next(ZMQ_EVENT_DISCONNECTED).event, ZMQ_EVENT_DISCONNECTED);
    }
    void send(int from, int to) {
        for (int i = from; i <= to; ++i)
            ASSERT_NE(pub.send("m" + std::to_string(i)), -1);
    }
    // The frames that come, with the numbers of gaps in brackets.
    static std::string take(raw_peer &peer, int frames) {
        std::string out;
        for (; frames > 0; --frames) {
            const auto [flags, body] = peer.receive_frame();
            if (flags == 0xff)
                return out + "<nothing>";
            if (body.substr(0, 5) == "\4PING") {
                ++frames;
                continue;
            }
            if (flags & 4 && body.substr(0, 4) != "\3GAP")
                return out + "<command>";
            out +=
                flags & 4 ? "[" + std::to_string(static_cast<unsigned char>(body.back())) + "]" : body + " ";
        }
        return out;
    }
    // A queue of m1 to m10 and m16, without m11 to m15, that the first peer has left.
    void leave_queue(const std::string &first_asks) {
        pub.connect(listener.endpoint());
        raw_peer first;
        begin(first, first_asks, "m");
        await("m");
        lose(first);
        send(1, 15);
        pub.set(ZMQ_SNDHWM, 20);
        send(16, 16);
        ASSERT_EQ(numbers_of(pub).dropped_hwm, 5u);
    }
    static constexpr const char *kept = "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 ";

    raw_listener listener;
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    std::optional<monitor> events;
};

TEST_F(gap_of_kept_queue, is_an_unknown_number_to_the_next_peer_in_front_of_it_inside_and_behind) {
    leave_queue(asks);
    raw_peer second;
    begin(second, asks, "z");
    EXPECT_EQ(take(second, 13), "[0]" + std::string(kept) + "[0]m16 ");
    await("z");
    send(17, 18);
    EXPECT_EQ(take(second, 3), "[0]m17 m18 ");
    // The numbers of this peer are exact.
    pub.set(ZMQ_SNDHWM, 10);
    lose(second);
    raw_peer third;
    begin(third, asks, "y");
    await("y");
    EXPECT_EQ(take(third, 1), "[0]");
    send(19, 19);
    EXPECT_EQ(take(third, 2), "[0]m19 ");
}

TEST_F(gap_of_kept_queue, is_nothing_to_a_next_peer_that_has_not_asked) {
    leave_queue(asks);
    raw_peer second;
    begin(second, "", "z");
    EXPECT_EQ(take(second, 11), std::string(kept) + "m16 ");
    await("z");
    send(17, 17);
    EXPECT_EQ(take(second, 1), "m17 ");
}

TEST_F(gap_of_kept_queue, is_in_front_of_it_and_behind_where_the_former_peer_had_not_asked) {
    leave_queue("");
    raw_peer second;
    begin(second, asks, "z");
    EXPECT_EQ(take(second, 12), "[0]" + std::string(kept) + "m16 ");
    await("z");
    send(17, 17);
    EXPECT_EQ(take(second, 2), "[0]m17 ");
}

TEST_F(gap_of_kept_queue, is_told_however_the_former_connection_has_ended) {
    for (const char *end : {"closes", "closes, immediate", "is too slow", "is silent"}) {
        SCOPED_TRACE(end);
        raw_listener here;
        test_socket publisher = zmq.socket(ZMQ_XPUB);
        publisher.set(ZMQ_RECONNECT_IVL, 1);
        publisher.set(ZMQ_SNDHWM, 10);
        publisher.set(ZMQ_IMMEDIATE, end == std::string("closes, immediate"));
        const bool is_slow = end == std::string("is too slow"), is_silent = end == std::string("is silent");
        publisher.set(ZLINK_SLOW_PEER, is_slow ? ZLINK_SLOW_PEER_DISCONNECT : ZLINK_SLOW_PEER_AS_TYPE);
        publisher.set(ZMQ_HEARTBEAT_IVL, is_silent ? 20 : 0);
        monitor gone(zmq, publisher, ZMQ_EVENT_DISCONNECTED);
        publisher.connect(here.endpoint());
        raw_peer first = here.accept();
        ASSERT_TRUE(shake_hands(first, "SUB", asks));
        ASSERT_TRUE(first.send(command("SUBSCRIBE", "")));
        ASSERT_EQ(publisher.receive(), std::string(1, 1));
        while (is_slow && numbers_of(publisher).dropped_hwm == 0)
            ASSERT_NE(publisher.send(std::string(100000, ' ')), -1);
        if (!is_slow && !is_silent)
            first.close();
        ASSERT_EQ(gone.next(ZMQ_EVENT_DISCONNECTED).event, ZMQ_EVENT_DISCONNECTED);
        raw_peer second = here.accept();
        ASSERT_TRUE(shake_hands(second, "SUB", asks));
        EXPECT_EQ(take(second, 1), "[0]");
    }
}

TEST_F(gap_on_wire, is_said_by_no_publisher_that_keeps_the_newest_alone) {
    raw_listener here;
    test_socket newest = zmq.socket(ZMQ_PUB);
    newest.set(ZMQ_CONFLATE, 1);
    newest.set(ZMQ_RECONNECT_IVL, 1);
    newest.connect(here.endpoint());
    for (int i = 0; i < 2; ++i) {
        raw_peer peer = here.accept();
        ASSERT_TRUE(shake_hands(peer, "SUB", asks));
        ASSERT_TRUE(peer.send(command("SUBSCRIBE", "")));
        ASSERT_EQ(zlink_wait_ready(newest.handle(), ZLINK_READY_SUBSCRIBERS, 1, patience_ms), 0);
        for (int sent_here = 0; sent_here < 100; ++sent_here)
            ASSERT_NE(newest.send("x"), -1);
        EXPECT_EQ(peer.receive_frame().first, 0);
    }
}

// ---- what a subscriber takes ----

class gap_heard : public ::testing::Test {
protected:
    raw_peer publisher_of(test_socket &sub, std::string_view type = "PUB") {
        sub.set(ZMQ_SUBSCRIBE, "");
        sub.set(ZMQ_RECONNECT_IVL, 1);
        sub.connect(listener.endpoint());
        raw_peer peer = listener.accept();
        EXPECT_TRUE(shake_hands(peer, type));
        return peer;
    }
    raw_listener listener;
    context zmq;
};

using losses = std::vector<std::uint32_t>;

losses taken_from(gap_monitor &told, const std::string &endpoint) {
    losses all;
    for (const gap_monitor::event &each : told.take()) {
        EXPECT_EQ(each.endpoint, endpoint);
        all.push_back(each.lost);
    }
    return all;
}

TEST_F(gap_heard, is_told_with_the_message_behind_it_and_once_for_those_that_follow_each_other) {
    for (const int type : {ZMQ_SUB, ZMQ_XSUB}) {
        raw_listener here;
        test_socket sub = zmq.socket(type);
        gap_monitor told(zmq, sub);
        if (type == ZMQ_SUB)
            sub.set(ZMQ_SUBSCRIBE, "");
        sub.connect(here.endpoint());
        raw_peer pub = here.accept();
        ASSERT_TRUE(shake_hands(pub, type == ZMQ_SUB ? "PUB" : "XPUB"));
        std::string flood;
        for (int i = 0; i < 20000; ++i)
            flood += gap(i % 2);
        ASSERT_TRUE(pub.send(zlink::test::message("a") + flood + zlink::test::message("b") + gap(UINT64_MAX) +
                             gap(UINT64_MAX) + zlink::test::message("c") + gap(3) +
                             zlink::test::message("d", true) + zlink::test::message("e") +
                             zlink::test::message("f")));
        EXPECT_EQ(sub.receive(), "a");
        EXPECT_EQ(taken_from(told, here.endpoint()), losses());
        EXPECT_EQ(sub.receive(), "b");
        EXPECT_EQ(taken_from(told, here.endpoint()), (losses{0, 10000}));
        EXPECT_EQ(sub.receive(), "c");
        EXPECT_EQ(taken_from(told, here.endpoint()), losses{UINT32_MAX});
        EXPECT_EQ(sub.receive_all(), (frames{"d", "e"}));
        EXPECT_EQ(taken_from(told, here.endpoint()), losses{3});
        EXPECT_EQ(sub.receive(), "f");
        EXPECT_EQ(taken_from(told, here.endpoint()), losses());
    }
}

TEST_F(gap_heard, is_told_for_messages_that_the_socket_does_not_deliver_too) {
    test_socket sub = zmq.socket(ZMQ_SUB);
    gap_monitor told(zmq, sub);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.connect(listener.endpoint());
    raw_peer pub = listener.accept();
    ASSERT_TRUE(shake_hands(pub, "PUB"));
    ASSERT_TRUE(pub.send(gap(2) + zlink::test::message("b") + gap(3) + zlink::test::message("a")));
    EXPECT_EQ(sub.receive(), "a");
    EXPECT_EQ(taken_from(told, listener.endpoint()), (losses{2, 3}));
}

TEST_F(gap_heard, names_the_side_that_the_peer_is_on) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    const std::string name = scratch_endpoint("inproc");
    ASSERT_EQ(zmq_socket_monitor_versioned(sub.handle(), name.c_str(), ZLINK_EVENT_GAPS, 2, ZMQ_PAIR), 0);
    test_socket reader = zmq.socket(ZMQ_PAIR);
    reader.connect(name);
    const std::string endpoint = sub.bind(scratch_endpoint("tcp"));
    raw_peer peer(endpoint);
    ASSERT_TRUE(shake_hands(peer, "PUB"));
    sub.set(ZMQ_SUBSCRIBE, "");
    ASSERT_TRUE(peer.send(gap(5) + zlink::test::message("a")));
    EXPECT_EQ(sub.receive(), "a");
    const frames event = reader.receive_all();
    ASSERT_EQ(event.size(), 5u);
    std::uint64_t value = 0;
    std::memcpy(&value, event[2].data(), sizeof value);
    EXPECT_EQ(value, 5u);
    EXPECT_EQ(event[3], endpoint);
    EXPECT_EQ(event[4].substr(0, 16), "tcp://127.0.0.1:");
    EXPECT_NE(event[4], endpoint);
}

TEST_F(gap_heard, is_not_known_where_it_was_not_asked_for) {
    for (const int type : {ZMQ_SUB, ZMQ_XSUB, ZMQ_PULL, ZMQ_XPUB}) {
        SCOPED_TRACE(type);
        raw_listener here;
        test_socket socket = zmq.socket(type);
        std::optional<gap_monitor> told;
        if (type != ZMQ_SUB && type != ZMQ_XSUB)  // their kind cannot ask
            told.emplace(zmq, socket);
        if (type == ZMQ_SUB)
            socket.set(ZMQ_SUBSCRIBE, "");
        socket.connect(here.endpoint());
        raw_peer peer = here.accept();
        ASSERT_TRUE(shake_hands(peer, type == ZMQ_PULL ? "PUSH" : type == ZMQ_XPUB ? "SUB" : "PUB"));
        const std::string last = type == ZMQ_XPUB ? std::string(1, 1) : "a";
        ASSERT_TRUE(peer.send(gap(1) + command("GAP") + command("GAP", "abc") + zlink::test::message(last)));
        EXPECT_EQ(socket.receive(), last);
        EXPECT_TRUE(!told || told->take().empty());
    }
}

TEST_F(gap_heard, is_no_part_of_all_events_and_not_asked_for_by_them) {
    for (const int mask : {ZMQ_EVENT_ALL, -1, ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS}) {
        raw_listener here;
        test_socket sub = zmq.socket(ZMQ_SUB);
        monitor events(zmq, sub, mask);
        sub.connect(here.endpoint());
        raw_peer pub = here.accept();
        ASSERT_TRUE(pub.send(greeting() + command("READY", property("Socket-Type", "PUB"))));
        ASSERT_EQ(pub.receive(64).size(), 64u);
        EXPECT_EQ(pub.receive_frame().second.find("X-Zlink-Gap"), std::string::npos);
    }
}

class gap_between_connections : public gap_heard, public ::testing::WithParamInterface<bool> {};

TEST_P(gap_between_connections, is_of_a_number_that_is_not_known_when_a_connection_is_made_again) {
    test_socket sub = zmq.socket(ZMQ_SUB);
    gap_monitor told(zmq, sub);
    sub.set(ZMQ_IMMEDIATE, GetParam());
    raw_peer pub = publisher_of(sub);
    ASSERT_TRUE(pub.send(zlink::test::message("a")));
    EXPECT_EQ(sub.receive(), "a");
    EXPECT_TRUE(told.take().empty());
    pub.close();
    pub = listener.accept();
    ASSERT_TRUE(shake_hands(pub, "PUB"));
    ASSERT_TRUE(pub.send(zlink::test::message("b")));
    EXPECT_EQ(sub.receive(), "b");
    const auto events = told.take();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].lost, 0u);
    EXPECT_EQ(events[0].endpoint, listener.endpoint());
}

INSTANTIATE_TEST_SUITE_P(queues, gap_between_connections, ::testing::Bool(),
                         [](const auto &row) { return std::string(row.param ? "of_each" : "kept"); });

TEST_F(gap_heard, ends_the_connection_where_it_is_none) {
    const std::string malformed = "the peer sent a malformed command";
    const std::string out_of_place = "the peer sent a message or a command where none of its kind may come";
    const struct {
        const char *what;
        std::string said;
        std::string why;
        int type = ZMQ_SUB;
        const char *peer = "PUB";
    } table[] = {{"without a number", command("GAP"), malformed},
                 {"cut", command("GAP", count(1).substr(1)), malformed},
                 {"too long", command("GAP", count(1) + "x"), malformed},
                 {"inside a message", zlink::test::message("a", true) + gap(1), out_of_place},
                 {"to an XSUB, cut", command("GAP", "abc"), malformed, ZMQ_XSUB, "XPUB"}};
    for (const auto &row : table) {
        SCOPED_TRACE(row.what);
        raw_listener here;
        test_socket socket = zmq.socket(row.type);
        const std::string name = scratch_endpoint("inproc");
        const int mask = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_REASONS;
        ASSERT_EQ(zmq_socket_monitor(socket.handle(), name.c_str(), mask | ZLINK_EVENT_GAPS), 0);
        test_socket reader = zmq.socket(ZMQ_PAIR);
        reader.connect(name);
        socket.connect(here.endpoint());
        raw_peer peer = here.accept();
        ASSERT_TRUE(shake_hands(peer, row.peer));
        ASSERT_TRUE(peer.send(row.said));
        EXPECT_TRUE(peer.is_closed_by_other_side());
        const frames why = reader.receive_all();
        ASSERT_EQ(why.size(), 3u);
        EXPECT_EQ(why[2], row.why);
    }
}

}  // namespace
