// Peers that are none, or break the protocol: each loses its connection, and nothing else happens.
#define ZMQ_BUILD_DRAFT_API
#include <zmq.h>

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "own_memory.hpp"
#include "raw_peer.hpp"

using namespace zlink::test;

namespace {

std::string octets_of(std::initializer_list<int> values) {
    std::string out;
    for (const int value : values)
        out += static_cast<char>(value);
    return out;
}

std::string chance(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::string out;
    while (out.size() < count)
        out += static_cast<char>(generator());
    return out;
}

const std::string ping("\0\0", 2);  // the data of a PING without a limit

class hostile_peer : public testing::TestWithParam<const char *> {
protected:
    void SetUp() override {
        endpoint = pull.bind(GetParam());
        ASSERT_FALSE(endpoint.empty());
        ASSERT_TRUE(push.connect(endpoint));
        expect_honest_peer_is_served();
    }
    void expect_honest_peer_is_served() {
        const std::string text = "honest " + std::to_string(++count);
        EXPECT_TRUE(push.send(text));
        EXPECT_EQ(pull.receive(), text);
    }
    /// `said` by a peer ends its connection.
    void expect_refused(const std::string &what, const std::string &said) {
        SCOPED_TRACE(what);
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.is_open());
        (void)peer.send(said);
        EXPECT_TRUE(peer.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }

    zmq_context context;
    zmq_socket_of pull{context, ZMQ_PULL};
    zmq_socket_of push{context, ZMQ_PUSH};
    std::string endpoint;
    int count = 0;
};

TEST_P(hostile_peer, is_refused_when_it_does_not_greet) {
    // Without a signature it may be a peer of ZMTP 1.0, until it breaks the rules of that.
    expect_refused("HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody\r\n"
                           "Accept: text/html, */*\r\n\r\n");
    expect_refused("TLS hello",
                   octets_of({0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03}) +
                       chance(506, 1));
    expect_refused("zeros", std::string(100, '\0'));
    expect_refused("ones", std::string(100, '\xff'));
    const std::string start_of_1_0 = octets_of({1, 0});
    expect_refused("ZMTP 1.0, an empty frame", start_of_1_0 + octets_of({0, 0}));
    expect_refused("ZMTP 1.0, reserved flags", start_of_1_0 + octets_of({2, 4}));
    expect_refused("ZMTP 1.0, a size of 2^63",
                   start_of_1_0 + octets_of({0xff, 0x80, 0, 0, 0, 0, 0, 0, 1, 0}));
    expect_refused("ZMTP 1.0, a routing id of 256 octets_of", octets_of({0xff, 0, 0, 0, 0, 0, 0, 1, 1, 0}));
    const std::string start_of_2_0 = octets_of({0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1});
    expect_refused("ZMTP 2.0, a socket that does not fit", start_of_2_0 + octets_of({2}));
    expect_refused("ZMTP 2.0, an unknown socket", start_of_2_0 + octets_of({200}));
    expect_refused("ZMTP 2.0, a routing id with flags", start_of_2_0 + octets_of({8, 1, 0}));
    expect_refused("ZMTP 2.0, a command", start_of_2_0 + octets_of({8, 0, 0, 4, 1, 'x'}));
    expect_refused("another mechanism", greeting("PLAIN"));
    expect_refused("an unknown mechanism", greeting("NULLNULLNULLNULLNULL"));
    for (unsigned seed = 0; seed < 20; ++seed)
        expect_refused("random octets_of", "\xff" + chance(8, seed) + "\x7d" + chance(190, seed));
}

TEST_P(hostile_peer, is_refused_when_it_does_not_say_ready) {
    expect_refused("a message", greeting() + message("hello"));
    expect_refused("a message with more", greeting() + message("hello", true));
    expect_refused("HELLO", greeting() + command("HELLO", "xx"));
    expect_refused("PING", greeting() + command("PING", ping));
    expect_refused("SUBSCRIBE", greeting() + command("SUBSCRIBE", "x"));
    expect_refused("an unknown command", greeting() + command("WHATEVER"));
    expect_refused("an empty command", greeting() + frame(4, ""));
    expect_refused("a name beyond the end", greeting() + frame(4, "\x09READY"));
    expect_refused("half a property", greeting() + command("READY", "\x0bSocket"));
    expect_refused("a property longer than its command",
                   greeting() + command("READY", "\x0bSocket-Type\xff\xff\xff\xff"));
    expect_refused("a socket that does not fit", greeting() + ready("SUB"));
    expect_refused("an unknown socket", greeting() + ready("PUSHY"));
    expect_refused("ERROR", greeting() + command("ERROR", "\003"
                                                          "400"));
    expect_refused("a command of 1 GiB", greeting() + long_header(4, 1u << 30));
    expect_refused("a command of 2^63", greeting() + long_header(4, std::uint64_t{1} << 63));
    for (unsigned seed = 0; seed < 20; ++seed)
        expect_refused("random octets_of", greeting() + octets_of({0x40}) + chance(200, seed));
}

TEST_P(hostile_peer, is_refused_when_it_breaks_the_rules_of_traffic) {
    const std::string hands = greeting() + ready("PUSH");
    for (const int flags : {0x08, 0x10, 0x20, 0x40, 0x80, 0xf8})
        expect_refused("reserved flags", hands + frame(static_cast<std::uint8_t>(flags), "x"));
    expect_refused("a command with more", hands + frame(5, "\4PING"));
    expect_refused("a size of 2^63", hands + long_header(0, std::uint64_t{1} << 63));
    expect_refused("a size of 2^64-1", hands + long_header(0, UINT64_MAX));
    expect_refused("a size of 2^64-9", hands + long_header(0, UINT64_MAX - 8));
    expect_refused("READY again", hands + ready("PUSH"));
    expect_refused("HELLO", hands + command("HELLO", "x"));
    expect_refused("a PING without a limit", hands + command("PING", "x"));
    expect_refused("a nameless command", hands + frame(4, ""));
    expect_refused("a command of 1 GiB", hands + long_header(4, 1u << 30));
}

TEST_P(hostile_peer, loses_only_what_it_has_not_finished) {
    raw_peer peer(endpoint);
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    // Two whole messages, half of a third, and the end.
    ASSERT_TRUE(
        peer.send(message("one") + message("two", true) + message("two's end") + message("three", true)));
    peer.close();
    EXPECT_EQ(pull.receive(), "one");
    EXPECT_EQ(pull.receive(), "two");
    EXPECT_EQ(pull.receive(), "two's end");
    expect_honest_peer_is_served();
}

TEST_P(hostile_peer, that_claims_much_and_sends_little_costs_little) {
    std::vector<raw_peer> peers;
    const long before = resident();
    for (int i = 0; i < 64; ++i) {
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().shake_hands("PUSH"));
        ASSERT_TRUE(peers.back().send(long_header(0, 1u << 30) + "x"));
    }
    expect_honest_peer_is_served();
    EXPECT_LT(resident() - before, 16 << 20);
    peers.clear();
    expect_honest_peer_is_served();
}

TEST_P(hostile_peer, that_sends_ten_octets_of_a_large_frame_costs_no_more_than_32_kib) {
    constexpr std::size_t most = 32 * 1024;
    for (const std::uint64_t claim :
         {std::uint64_t{256} << 10, std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
        SCOPED_TRACE(claim);
        std::vector<raw_peer> peers;
        const std::size_t before = allocated();
        const long resident_before = resident();
        for (int i = 0; i < 50; ++i) {
            peers.emplace_back(endpoint);
            ASSERT_TRUE(peers.back().shake_hands("PUSH"));
            ASSERT_TRUE(peers.back().send(long_header(0, claim) + "0123456789"));
        }
        for (raw_peer &each : peers)  // a second read
            ASSERT_TRUE(each.send("x"));
        expect_honest_peer_is_served();
        EXPECT_LE(allocated(), before + peers.size() * most);
        EXPECT_LE(resident(), resident_before + static_cast<long>(peers.size() * most));
    }
}

TEST_P(hostile_peer, is_understood_however_its_octets_are_cut) {
    const std::string large(100000, 'l');
    const std::string all = greeting() + ready("PUSH") + message("a", true) + command("PING", ping) +
                            message("") + message(std::string(300, 'b')) + message(large) + message("end");
    const auto expect_all = [&] {
        EXPECT_EQ(pull.receive(), "a");
        EXPECT_EQ(pull.receive(), "");
        EXPECT_EQ(pull.receive(), std::string(300, 'b'));
        EXPECT_EQ(pull.receive(), large);
        EXPECT_EQ(pull.receive(), "end");
    };
    raw_peer at_once(endpoint);
    ASSERT_TRUE(at_once.send(all));
    expect_all();
    raw_peer in_octets(endpoint);
    ASSERT_TRUE(in_octets.send_slowly(std::string_view(all).substr(0, 600)));
    ASSERT_TRUE(in_octets.send(std::string_view(all).substr(600)));
    expect_all();
    // Nothing comes until both have greeted: a peer that waits for each step is served as well.
    raw_peer in_steps(endpoint);
    ASSERT_TRUE(in_steps.send(all.substr(0, 10)));
    EXPECT_EQ(in_steps.receive(10).size(), 10u);
    ASSERT_TRUE(in_steps.send(all.substr(10, 54)));
    EXPECT_EQ(in_steps.receive(54).size(), 54u);
    ASSERT_TRUE(in_steps.send(all.substr(64)));
    expect_all();
}

TEST_P(hostile_peer, gets_its_pings_answered_at_the_end_of_a_message_and_not_more_than_it_reads) {
    raw_peer peer(endpoint);
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    for (const std::string context : {"", "x", "0123456789abcdef"}) {
        ASSERT_TRUE(peer.send(command("PING", ping + context)));
        EXPECT_EQ(peer.receive_frame(), std::pair(std::uint8_t{4}, "\4PONG" + context));
    }
    ASSERT_TRUE(peer.send(command("PONG", "nobody asked") + command("WHATEVER", "nobody knows")));
    const long before = resident();
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += command("PING", ping + "0123456789abcdef");
    for (int i = 0; i < 200; ++i)
        ASSERT_TRUE(peer.send(many));
    ASSERT_TRUE(peer.send(message("still there")));
    EXPECT_EQ(pull.receive(), "still there");
    EXPECT_LT(resident() - before, 16 << 20);
}

TEST_P(hostile_peer, that_asks_to_be_given_up_in_silence_is) {
    raw_peer peer(endpoint);
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    ASSERT_TRUE(peer.send(command("PING", octets_of({0, 1}))));  // a tenth of a second
    EXPECT_EQ(peer.receive_frame().second, "\4PONG");
    EXPECT_TRUE(peer.is_closed_by_other_side());
    expect_honest_peer_is_served();
}

INSTANTIATE_TEST_SUITE_P(transports, hostile_peer, testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param, 3); });

// ---- Time limits ----

TEST(silent_peer, is_closed_when_the_handshake_takes_too_long) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    pull.set(ZMQ_HANDSHAKE_IVL, 200);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    std::vector<raw_peer> peers;
    const std::string hands = greeting() + ready("PUSH");
    for (std::size_t size = 0; size < hands.size(); size += 7) {
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().send(hands.substr(0, size)));
    }
    for (raw_peer &peer : peers)
        EXPECT_TRUE(peer.is_closed_by_other_side());
    zmq_socket_of push(context, ZMQ_PUSH);
    push.connect(endpoint);
    EXPECT_TRUE(push.send("honest"));
    EXPECT_EQ(pull.receive(), "honest");
}

TEST(silent_peer, is_pinged_and_given_up) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    pull.set(ZMQ_HEARTBEAT_IVL, 50);
    pull.set(ZMQ_HEARTBEAT_TIMEOUT, 200);
    pull.set(ZMQ_HEARTBEAT_TTL, 1000);
    raw_peer peer(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    for (int i = 1; i <= 3; ++i) {  // one that answers is kept
        EXPECT_EQ(peer.receive_frame(),
                  std::pair(std::uint8_t{4}, "\4PING" + octets_of({0, 10, 0, 0, 0, i})));
        ASSERT_TRUE(peer.send(command("PONG")));
    }
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST(silent_peer, that_its_receiver_does_not_read_is_not_given_up) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    pull.set(ZMQ_RCVHWM, 1);
    pull.set(ZMQ_HEARTBEAT_IVL, 20);
    pull.set(ZMQ_HEARTBEAT_TIMEOUT, 40);
    event_log events(context, pull, "events");
    raw_peer peer(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    ASSERT_TRUE(peer.send(message("1") + message("2") + message("3")));
    for (int i = 0; i < 10; ++i)  // ten intervals without an answer that anybody would read
        EXPECT_EQ(peer.receive_frame().second.substr(0, 5), "\4PING");
    EXPECT_EQ(pull.receive(), "1");
    EXPECT_EQ(pull.receive(), "2");
    EXPECT_EQ(pull.receive(), "3");
    EXPECT_EQ(events.next_of(ZMQ_EVENT_DISCONNECTED).kind, ZMQ_EVENT_DISCONNECTED);  // now it is
}

// ---- Limits ----

TEST(large_frame, beyond_the_limit_closes_the_connection_before_it_arrives) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    const std::int64_t limit = 1000;
    zmq_setsockopt(pull, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    raw_peer within(endpoint);
    ASSERT_TRUE(within.shake_hands("PUSH"));
    ASSERT_TRUE(within.send(message(std::string(1000, 'x'))));
    EXPECT_EQ(pull.receive().size(), 1000u);
    raw_peer beyond(endpoint);
    ASSERT_TRUE(beyond.shake_hands("PUSH"));
    ASSERT_TRUE(beyond.send(message("first") + long_header(0, 1001)));
    EXPECT_TRUE(beyond.is_closed_by_other_side());
    EXPECT_EQ(pull.receive(), "first");
    ASSERT_TRUE(within.send(message("still there")));
    EXPECT_EQ(pull.receive(), "still there");
}

TEST(large_frame, of_many_octets_arrives_whole) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    raw_peer peer(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    for (const std::size_t size : {32760u, 32768u, 65535u, 65536u, 1u << 20, (1u << 20) + 1, 5000000u}) {
        const std::string body = chance(size, 7);
        ASSERT_TRUE(peer.send(message(body, true) + message("tail")));
        EXPECT_EQ(pull.receive(), body) << size;
        EXPECT_EQ(pull.receive(), "tail");
    }
}

TEST(unending_message, closes_the_connection_once_it_holds_what_whole_messages_could) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    pull.set(ZMQ_RCVHWM, 10);
    const std::int64_t limit = 1000;
    zmq_setsockopt(pull, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    const std::string endpoint = pull.bind("tcp://127.0.0.1:*");
    raw_peer honest(endpoint);
    ASSERT_TRUE(honest.shake_hands("PUSH"));
    std::string parts;
    for (int i = 0; i < 900; ++i)
        parts += message(std::string(1000, 'x'), true);
    ASSERT_TRUE(honest.send(parts + message("end")));
    for (int i = 0; i < 900; ++i)
        ASSERT_EQ(pull.receive().size(), 1000u);
    EXPECT_EQ(pull.receive(), "end");
    for (const std::string &part : {message("", true), message(std::string(1000, 'x'), true)}) {
        raw_peer endless(endpoint);
        ASSERT_TRUE(endless.shake_hands("PUSH"));
        std::string many;
        while (many.size() < 1 << 20)
            many += part;
        const long before = resident();
        for (int i = 0; i < 1000 && endless.send(many); ++i) {
        }
        EXPECT_TRUE(endless.is_closed_by_other_side());
        EXPECT_LT(resident() - before, much);
    }
    ASSERT_TRUE(honest.send(message("still there")));
    EXPECT_EQ(pull.receive(), "still there");
}

TEST(unending_message, closes_the_connection_also_when_subscriptions_make_it_long) {
    zmq_context context;
    zmq_socket_of xpub(context, ZMQ_XPUB);
    const std::int64_t limit = 1000;
    zmq_setsockopt(xpub, ZMQ_MAXMSGSIZE, &limit, sizeof limit);
    xpub.set(ZMQ_RCVHWM, 10);
    raw_peer peer(xpub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("SUB"));
    ASSERT_TRUE(peer.send(message("begin", true)));
    std::string many;
    while (many.size() < 1 << 20)
        many += command("SUBSCRIBE", std::string(900, 'x')) + command("CANCEL", std::string(900, 'x'));
    for (int i = 0; i < 100 && peer.send(many); ++i) {
    }
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

class sender_that_never_receives : public testing::TestWithParam<const char *> {};

TEST_P(sender_that_never_receives, keeps_nothing_of_what_its_peer_sends) {
    zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    push.set(ZMQ_RCVHWM, 1);
    raw_peer peer(push.bind(GetParam()));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    const long before = resident();
    const std::string part(1 << 20, 'x');
    // All of it is read: a receiver's mark would hold it back.
    for (int i = 0; i < 64; ++i)
        ASSERT_TRUE(peer.send(message(part, i % 2)));
    ASSERT_TRUE(peer.send(long_header(1, std::uint64_t{64} << 20)));
    for (int i = 0; i < 64; ++i)
        ASSERT_TRUE(peer.send(part));
    std::string small;
    for (int i = 0; i < 10000; ++i)
        small += message("y", i % 2);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(peer.send(small));
    // And commands among it are heard.
    ASSERT_TRUE(peer.send(command("PING", ping + "still there")));
    EXPECT_EQ(peer.receive_frame().second, "\4PONGstill there");
    EXPECT_LT(resident() - before, much);
    ASSERT_TRUE(push.send("work"));
    EXPECT_EQ(peer.receive_frame().second, "work");
}

TEST_P(sender_that_never_receives, keeps_nothing_of_what_subscribers_send_but_subscriptions) {
    zmq_context context;
    zmq_socket_of pub(context, ZMQ_PUB);
    raw_peer peer(pub.bind(GetParam()));
    ASSERT_TRUE(peer.shake_hands("SUB"));
    const long before = resident();
    const std::string part(1 << 20, 'x');
    const std::string large_topic = "\1large" + std::string(100'000, 't');
    ASSERT_TRUE(peer.send(command("SUBSCRIBE", "command")));
    for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(peer.send(message(part, i % 2)));
        if (i == 1) {
            ASSERT_TRUE(peer.send(message("\1message") + message("u", true) + message("\1part", true) +
                                  message("v")));
            ASSERT_TRUE(peer.send(message("\1gone") + message(std::string("\0gone", 5))));
        }
    }
    ASSERT_TRUE(peer.send(long_header(1, std::uint64_t{64} << 20)));
    for (int i = 0; i < 64; ++i)
        ASSERT_TRUE(peer.send(part));
    const std::string large = message(large_topic);
    ASSERT_TRUE(peer.send(message("end")) && peer.send_slowly(large.substr(0, 12)) &&
                peer.send(large.substr(12)));
    std::string small;
    for (int i = 0; i < 10000; ++i)
        small += message("y", i % 2);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(peer.send(small));
    ASSERT_TRUE(peer.send_slowly(message("z", true) + command("SUBSCRIBE", "between") +
                                 message(std::string(300, 'z')) + message("\1slow" + std::string(300, 's'))));
    ASSERT_TRUE(peer.send(command("PING", ping + "still there")));
    EXPECT_EQ(peer.receive_frame().second, "\4PONGstill there");
    EXPECT_LT(resident() - before, much);
    const std::string slow_topic = "slow" + std::string(300, 's');
    for (const std::string &topic :
         {std::string("command"), std::string("message"), std::string("part"), std::string("gone"),
          large_topic.substr(1), std::string("between"), slow_topic})
        ASSERT_TRUE(pub.send(topic));
    for (const std::string &topic : {std::string("command"), std::string("message"), std::string("part"),
                                     large_topic.substr(1), std::string("between"), slow_topic})
        EXPECT_EQ(peer.receive_frame().second, topic);
}

TEST(publisher, takes_subscriptions_inside_messages_only_as_it_is_told) {
    zmq_context context;
    zmq_socket_of pub(context, ZMQ_PUB);
    ASSERT_EQ(pub.set(ZMQ_ONLY_FIRST_SUBSCRIBE, 1), 0);
    raw_peer peer(pub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("SUB"));
    ASSERT_TRUE(peer.send(message("u", true) + message("\1no") + message("\1yes", true) +
                          message("\1too", true) + message("u") + command("PING", ping)));
    EXPECT_EQ(peer.receive_frame().second, "\4PONG");
    for (const char *topic : {"no", "yes", "too"})
        ASSERT_TRUE(pub.send(topic));
    for (const char *topic : {"yes", "too"})
        EXPECT_EQ(peer.receive_frame().second, topic);
}

TEST_P(sender_that_never_receives, keeps_nothing_while_its_thread_reads_for_it) {
    zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    push.set(ZMQ_RCVHWM, 1);
    push.set(ZMQ_SNDHWM, 1);
    raw_peer peer(push.bind(GetParam()));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    const std::string large(1 << 20, 'x');
    std::thread sending([&] {
        for (int i = 0; i < 64; ++i)
            EXPECT_TRUE(peer.send(message(large)));
        for (int i = 0; i < 64; ++i)
            EXPECT_EQ(peer.receive_frame().second.size(), large.size());
    });
    for (int i = 0; i < 64; ++i)
        EXPECT_TRUE(push.send(large));
    sending.join();
}

INSTANTIATE_TEST_SUITE_P(transports, sender_that_never_receives,
                         testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param, 3); });

TEST(receiver, with_a_mark_of_one_gets_everything_in_order) {
    zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    pull.set(ZMQ_RCVHWM, 1);
    raw_peer peer(pull.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    std::string all;
    for (int i = 0; i < 2000; ++i)
        all += message("part " + std::to_string(i), true) +
               message(std::string(static_cast<std::size_t>(i % 50), 'x'));
    ASSERT_TRUE(peer.send(all));
    peer.close();
    for (int i = 0; i < 2000; ++i) {
        ASSERT_EQ(pull.receive(), "part " + std::to_string(i));
        ASSERT_EQ(pull.receive().size(), static_cast<std::size_t>(i % 50));
    }
}

TEST(replier, does_not_keep_a_very_long_envelope) {
    zmq_context context;
    zmq_socket_of rep(context, ZMQ_REP);
    raw_peer peer(rep.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    const auto ask = [&](int addresses) {
        const std::string address = message(std::string(1 << 20, 'a'), true);
        for (int i = 0; i < addresses; ++i)
            ASSERT_TRUE(peer.send(address));
        ASSERT_TRUE(peer.send(message("", true) + message("question")));
        EXPECT_EQ(rep.receive(), "question");
        ASSERT_TRUE(rep.send("answer"));
        for (int i = 0; i < addresses; ++i)
            ASSERT_EQ(peer.receive_frame().second.size(), 1u << 20);
        EXPECT_EQ(peer.receive_frame().second, "");
        EXPECT_EQ(peer.receive_frame().second, "answer");
    };
    ask(1);
    const long before = resident();
    ask(200);
    ask(1);
    (void)::malloc_trim(0);  // what the heap keeps between blocks in use is not meant
    EXPECT_LT(resident() - before, 6 * much);
}

TEST(publisher, takes_subscriptions_of_any_size) {
    zmq_context context;
    zmq_socket_of xpub(context, ZMQ_XPUB);
    raw_peer peer(xpub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("SUB"));
    const std::string topic(4 << 20, 't');
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100000}, topic.size()}) {
        const std::string part = topic.substr(0, size);
        ASSERT_TRUE(peer.send(command("SUBSCRIBE", part)));
        EXPECT_EQ(xpub.receive(), "\1" + part);
        ASSERT_TRUE(xpub.send(part + "!"));
        EXPECT_EQ(peer.receive_frame().second, part + "!");
        ASSERT_TRUE(peer.send(command("CANCEL", part)));
        EXPECT_EQ(xpub.receive(), std::string(1, '\0') + part);
    }
}

TEST(publisher, that_does_not_look_is_not_flooded_with_subscriptions) {
    zmq_context context;
    zmq_socket_of pub(context, ZMQ_PUB);
    raw_peer peer(pub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.shake_hands("SUB"));
    const long before = resident();
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += command("SUBSCRIBE", std::string(200, 'x')) + command("CANCEL", std::string(200, 'x'));
    timeval moment{0, 300000};
    (void)::setsockopt(peer.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
    for (int i = 0; i < 200 && peer.send(many); ++i) {
    }
    EXPECT_LT(resident() - before, 24 << 20);  // of about 80 MiB
}

TEST(publisher, that_does_not_look_forgets_subscribers_that_went) {
    zmq_context context;
    zmq_socket_of pub(context, ZMQ_PUB);
    const std::string endpoint = pub.bind("tcp://127.0.0.1:*");
    long before = 0;
    for (int i = 0; i < 3000; ++i) {
        if (i == 300)
            before = resident();
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.shake_hands("SUB"));
        ASSERT_TRUE(peer.send(command("SUBSCRIBE", "topic")));
    }
    EXPECT_LT(resident() - before, 4 << 20);
}

// ---- The connecting side ----

TEST(connecting_socket, comes_back_after_garbage) {
    zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 1);
    raw_listener listener;
    push.connect(listener.endpoint());
    for (int i = 0; i < 5; ++i) {
        raw_peer peer = listener.accept();
        ASSERT_TRUE(peer.is_open());
        (void)peer.send(
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n and so on, and so on, and so on");
        EXPECT_TRUE(peer.is_closed_by_other_side());
    }
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.shake_hands("PULL"));
    EXPECT_TRUE(push.send("at last"));
    EXPECT_EQ(peer.receive_frame().second, "at last");
}

TEST(connecting_socket, does_not_come_back_after_error) {
    zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 1);
    event_log events(context, push, "events");
    raw_listener listener;
    push.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.send(greeting() + command("ERROR", "\003"
                                                        "400")));
    EXPECT_EQ(events.next_of(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 400);
    EXPECT_EQ(events.next().kind, ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(peer.is_closed_by_other_side());
    EXPECT_FALSE(listener.is_called(100));
}

TEST(connecting_socket, sends_what_was_not_sent_to_the_next_peer_and_nothing_twice) {
    zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 1);
    push.set(ZMQ_SNDBUF, 65536);
    raw_listener listener;
    push.connect(listener.endpoint());
    raw_peer first = listener.accept();
    ASSERT_TRUE(first.shake_hands("PULL"));
    constexpr int count = 500;
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(push.send(std::to_string(i), ZMQ_SNDMORE));
        ASSERT_TRUE(push.send(std::string(20000, static_cast<char>('a' + i % 26))));
    }
    // The first peer reads some and goes in the middle of a message.
    int next = 0;
    for (; next < 10; ++next) {
        ASSERT_EQ(first.receive_frame().second, std::to_string(next));
        ASSERT_EQ(first.receive_frame().second.size(), 20000u);
    }
    (void)first.receive(5000);
    first.close();
    raw_peer second = listener.accept();
    ASSERT_TRUE(second.shake_hands("PULL"));
    int previous = next - 1;
    while (previous < count - 1) {
        const auto [flags, number] = second.receive_frame();
        ASSERT_EQ(flags, 1);
        ASSERT_GT(std::stoi(number), previous);  // what lay in the system's buffers is lost
        previous = std::stoi(number);
        const auto [body_flags, body] = second.receive_frame();
        ASSERT_EQ(body_flags & 1, 0);
        ASSERT_EQ(body, std::string(20000, static_cast<char>('a' + previous % 26)));
    }
}

TEST(connecting_socket, reads_what_its_peer_had_sent_before_it_went) {
    zmq_context context;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 1);
    dealer.set(ZMQ_RCVHWM, 5);
    raw_listener listener;
    dealer.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(peer.send(message(std::to_string(i))));
    ASSERT_TRUE(dealer.send("unread"));  // makes the close a reset
    EXPECT_EQ(dealer.receive(), "0");
    EXPECT_TRUE(peer.has_input());
    peer.close();
    for (int i = 0; i < 20; ++i)
        (void)zmq_send(dealer, "more", 4, ZMQ_DONTWAIT);
    for (int i = 1; i < 100; ++i)
        ASSERT_EQ(dealer.receive(), std::to_string(i));
}

TEST(connecting_socket, reads_what_its_peer_had_sent_beside_descriptors_before_it_went) {
    zmq_context context;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 1);
    dealer.set(ZMQ_RCVHWM, 1);
    raw_listener listener("ipc");
    dealer.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(peer.send_with_descriptor(message(std::to_string(i))));
    peer.close();
    for (int i = 0; i < 20; ++i)
        (void)zmq_send(dealer, "more", 4, ZMQ_DONTWAIT);
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(dealer.receive(), std::to_string(i));
}

TEST(subscriber, says_each_subscription_once_to_each_publisher) {
    zmq_context context;
    zmq_socket_of sub(context, ZMQ_SUB);
    sub.set(ZMQ_RECONNECT_IVL, 1);
    raw_listener listener;
    sub.set(ZMQ_SUBSCRIBE, "early");
    sub.set(ZMQ_SUBSCRIBE, "early");
    sub.connect(listener.endpoint());
    sub.set(ZMQ_SUBSCRIBE, "later");
    raw_peer first = listener.accept();
    ASSERT_TRUE(first.shake_hands("PUB"));
    EXPECT_EQ(first.receive_frame().second, "\x09SUBSCRIBE"
                                            "early");
    EXPECT_EQ(first.receive_frame().second, "\x09SUBSCRIBElater");
    sub.set(ZMQ_SUBSCRIBE, "last");
    EXPECT_EQ(first.receive_frame().second, "\x09SUBSCRIBElast");
    sub.set(ZMQ_UNSUBSCRIBE, "later");
    EXPECT_EQ(first.receive_frame().second, "\6CANCELlater");
    first.close();
    raw_peer second = listener.accept();
    ASSERT_TRUE(second.shake_hands("PUB"));
    sub.set(ZMQ_SUBSCRIBE, "end");
    std::vector<std::string> said;
    while (said.empty() || said.back() != "\x09SUBSCRIBE"
                                          "end")
        said.push_back(second.receive_frame().second);
    EXPECT_EQ(said.size(), 3u);
    EXPECT_EQ(std::count(said.begin(), said.end(),
                         "\x09SUBSCRIBE"
                         "early"),
              1);
    EXPECT_EQ(std::count(said.begin(), said.end(), "\x09SUBSCRIBElast"), 1);
}

// ---- The end of a socket ----

/// Ends a context of its own; the test hangs when that does.
class closing_socket : public testing::Test {
protected:
    closing_socket() : s(context, ZMQ_DEALER) {}
    raw_peer meet() {
        s.connect(listener.endpoint());
        return listener.accept();
    }
    void end() {
        s.close();
        zmq_ctx_term(context);
    }
    raw_listener listener;
    void *context = zmq_ctx_new();
    zmq_socket_of s;
};

TEST_F(closing_socket, does_not_wait_longer_than_asked_for_a_peer_that_says_nothing) {
    s.set(ZMQ_LINGER, 100);
    raw_peer peer = meet();
    ASSERT_TRUE(s.send("unsent"));
    end();
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(closing_socket, does_not_wait_longer_than_asked_for_a_peer_that_does_not_read) {
    s.set(ZMQ_LINGER, 100);
    s.set(ZMQ_SNDHWM, 5);
    raw_peer peer = meet();
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    const std::string large(3 << 20, 'x');
    while (s.send(large, ZMQ_DONTWAIT)) {
    }
    end();
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(closing_socket, does_not_wait_at_all_when_told_so) {
    s.set(ZMQ_LINGER, 0);
    raw_peer peer = meet();
    ASSERT_TRUE(s.send("unsent"));
    end();
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(closing_socket, does_not_wait_for_a_peer_that_cannot_come_back) {
    s.set(ZMQ_LINGER, -1);
    s.set(ZMQ_RECONNECT_IVL, -1);
    event_log events(context, s, "events");
    ASSERT_TRUE(s.connect("tcp://127.0.0.1:1"));
    ASSERT_TRUE(s.send("unsent"));
    EXPECT_EQ(events.next_of(ZMQ_EVENT_CLOSED).kind, ZMQ_EVENT_CLOSED);
    s.close();
    events.close();
    zmq_ctx_term(context);
}

TEST_F(closing_socket, delivers_the_last_message_to_a_peer_that_it_does_not_read) {
    s.set(ZMQ_LINGER, -1);
    s.set(ZMQ_RCVHWM, 1);
    raw_peer peer = meet();
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += message(std::string(100, 'x'));
    ASSERT_TRUE(peer.send(many));
    ASSERT_EQ(s.receive(), std::string(100, 'x'));
    const std::string large(1 << 20, 'y');
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(s.send(large));
    std::thread reader([&] {
        for (int i = 0; i < 3; ++i) {
            (void)peer.send(many);  // nobody may be there any more
            EXPECT_EQ(peer.receive_frame().second, large);
        }
        EXPECT_TRUE(peer.is_closed_by_other_side());
        peer.close();
    });
    end();
    reader.join();
}

}  // namespace
