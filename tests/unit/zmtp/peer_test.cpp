// Whole conversations: handshakes, commands in traffic, heartbeats, and every way they fail.
#include "zmtp/peer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "script.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;

const octets pull_ready = ready("PULL");
const settings pull = socket_of(socket_type::pull);
const settings pub = socket_of(socket_type::pub);

peer_script established(const settings &options, const char *peer_type) {
    peer_script script(options);
    script.expects_write(signature()).receives(greeting());
    script.expects_write(rest_of_greeting() + ready(socket_type_name(options.type)))
        .receives(ready(peer_type))
        .expects("established");
    return script;
}

settings with_heartbeats(socket_type type, int interval, int timeout, int ttl) {
    settings options = socket_of(type);
    options.heartbeat_interval_ms = interval;
    options.heartbeat_timeout_ms = timeout;
    options.heartbeat_ttl_ms = ttl;
    return options;
}

TEST(peer, greets_and_sends_ready_without_waiting_for_the_peers) {
    established(pull, "PUSH").run().fails_at_every_step();
}

TEST(peer, is_the_same_for_both_sides_of_a_connection) {
    peer_script(pull, true)
        .expects_write(signature())
        .receives(greeting() + ready("PUSH") + message("early"))
        .expects_write(rest_of_greeting() + pull_ready)
        .expects("established")
        .expects("message early")
        .run();
}

TEST(peer, exchanges_messages_and_commands_however_the_octets_arrive) {
    std::mt19937 random(11);
    peer_script script = established(pub, "SUB");
    script.receives(command_frame("SUBSCRIBE", "topic") + part("a") + ping(0, "ctx") + message("b") +
                    command_frame("CANCEL", "topic") + command_frame("SUBSCRIBE", octets(2000, 't')) +
                    pong("?") + command_frame("UNKNOWN", "x") + message(octets(700, 'm')) + ping(0) +
                    command_frame("SUBSCRIBE"));
    script.expects_write(pong("ctx") + pong());
    script.expects("subscribe topic").expects("message a|b").expects("cancel topic");
    script.expects("subscribe " + octets(2000, 't'))
        .expects("message " + octets(700, 'm'))
        .expects("subscribe ");
    script.run().is_the_same_in_any_split(2000, [&] { return static_cast<unsigned>(random()); });
}

TEST(peer, takes_gaps_of_eight_octets_where_it_has_asked_for_them) {
    const octets seven = octets(7, 0);
    settings asking = socket_of(socket_type::sub);
    asking.hears_gaps = true;
    const auto hears = [&](const settings &own, const octets &said, const std::string &what) {
        const bool is_sub = own.type == socket_type::sub;
        const octets asked =
            is_sub && own.hears_gaps && !own.conflate ? property("X-Zlink-Gap", "1") : octets();
        peer_script(own)
            .expects_write(signature())
            .receives(greeting())
            .expects_write(rest_of_greeting() + ready(socket_type_name(own.type), asked))
            .receives(ready(is_sub ? "PUB" : "SUB"))
            .expects("established")
            .receives(said)
            .expects(what)
            .run();
    };
    hears(asking, command_frame("GAP", seven + octets(1, 5)), "gap 5");
    hears(asking, command_frame("GAP", octets(8, 0)), "gap 0");
    hears(asking, command_frame("GAP", octets(8, 0xff)), "gap 18446744073709551615");
    hears(asking, command_frame("GAP", seven), "close protocol 10000011");
    hears(asking, command_frame("GAP", octets(9, 0)), "close protocol 10000011");
    hears(asking, command_frame("GAP"), "close protocol 10000011");
    // A command that is not known: to one that has not asked, to a publisher, and where the newest
    // alone is kept.
    hears(socket_of(socket_type::sub), command_frame("GAP", octets(8, 0)) + message("a"), "message a");
    settings newest = socket_of(socket_type::sub);
    newest.hears_gaps = newest.conflate = true;
    hears(newest, command_frame("GAP") + message("a"), "message a");
    settings xpub = socket_of(socket_type::xpub);
    xpub.hears_gaps = true;
    hears(xpub, command_frame("GAP", octets(8, 0)) + message("a"), "message a");
}

TEST(peer, fails_in_one_defined_way_whatever_octet_of_a_conversation_is_wrong) {
    peer_script script = established(pub, "SUB");
    script.receives(command_frame("SUBSCRIBE", "topic")).receives(part("a") + message("b"));
    script.receives(ping(0, "ctx")).receives(command_frame("CANCEL", "topic"));
    script.fails_at_every_step();
    settings router = socket_of(socket_type::router);
    peer_script(router)
        .receives(greeting())
        .receives(ready("DEALER", property("Identity", "me") + property("X-a", "b")))
        .receives(message("hello"))
        .fails_at_every_step();
}

TEST(peer, reports_the_peers_properties_when_established) {
    settings router = socket_of(socket_type::router);
    peer_driver driver(router);
    driver.feed(greeting() + ready("DEALER", property("Identity", "me") + property("X-a", "b")));
    EXPECT_TRUE(driver.machine().is_established());
    EXPECT_EQ(driver.machine().info().routing_id, "me");
    EXPECT_STREQ(driver.machine().info().find("X-a"), "b");
    EXPECT_FALSE(driver.machine().info().is_shared());
}

TEST(peer, ignores_padding_filler_and_role_in_the_greeting) {
    octets odd = greeting("NULL", 9, 200);
    for (const std::size_t at : {1, 2, 3, 4, 5, 6, 7, 8, 32, 33, 63})
        odd[at] = '\x5a';
    peer_script(pull)
        .expects_write(signature())
        .receives(odd + ready("PUSH"))
        .expects_write(rest_of_greeting() + pull_ready)
        .expects("established")
        .run();
}

TEST(peer, refuses_a_stranger_at_the_octet_that_shows_it) {
    const octets signature_of_a_stranger("\xff\0\0\0\0\0\0\0\1\x7d", 10);
    for (const octets &input : {signature_of_a_stranger, signature_of_a_stranger + octets(64, '\x11')})
        peer_script(pull).expects_write(signature()).receives(input).expects("close protocol 10000000").run();
}

TEST(peer, says_no_more_than_the_other_side_is_known_to_understand) {
    peer_driver driver(pull);
    EXPECT_EQ(driver.take_written(), signature());
    const octets whole = greeting();
    for (std::size_t i = 0; i < whole.size(); ++i) {
        SCOPED_TRACE("octet " + std::to_string(i));
        driver.feed(whole.substr(i, 1));
        octets expected;
        if (i == 9)
            expected = whole.substr(10, 1);
        else if (i == 10)
            expected = whole.substr(11);
        else if (i == 63)
            expected = pull_ready;
        EXPECT_EQ(driver.take_written(), expected);
    }
}

TEST(peer, refuses_another_mechanism_after_a_whole_greeting_of_its_own) {
    for (const char *name : {"PLAIN", "CURVE", "null", "NULLX", "", "NUL"})
        peer_script(pull)
            .expects_write(signature())
            .receives(greeting(name) + ready("PUSH"))
            .expects_write(rest_of_greeting())
            .expects("close mechanism_mismatch 11000002")
            .run();
    octets tail = greeting();
    tail[31] = 'x';
    peer_script(pull)
        .expects_write(signature())
        .receives(tail)
        .expects_write(rest_of_greeting())
        .expects("close mechanism_mismatch 11000002")
        .run();
}

TEST(peer, is_closed_from_the_start_without_its_mechanism) {
    settings options = pull;
    options.mechanism = mechanism_kind::gssapi;
    peer_script(options).expects("close mechanism_mismatch 11000002 for good").run();
}

TEST(peer, says_error_to_an_incompatible_socket_type) {
    peer_script(pull)
        .expects_write(signature())
        .receives(greeting() + ready("SUB"))
        .expects_write(rest_of_greeting() + pull_ready +
                       command_frame("ERROR", octets("\x18") + "Incompatible-Socket-Type"))
        .expects("close protocol 10000018 for good")
        .run();
}

TEST(peer, takes_error_as_final) {
    const auto closes = [](const octets &received, const char *how) {
        peer_script(pull)
            .expects_write(signature())
            .receives(greeting())
            .expects_write(rest_of_greeting() + pull_ready)
            .receives(received + ready("PUSH"))
            .expects(how)
            .run();
    };
    closes(command_frame("ERROR", octets("\3") + "400"), "close authentication 190 for good");
    closes(command_frame("ERROR", "\2no"), "close peer_error 0 for good");
    closes(command_frame("ERROR", "\11no"), "close protocol 10000015");
}

TEST(peer, refuses_whatever_else_comes_instead_of_ready) {
    const auto closes = [](const octets &received, const char *how) {
        peer_script(pull)
            .expects_write(signature())
            .receives(greeting())
            .expects_write(rest_of_greeting() + pull_ready)
            .receives(received)
            .expects(how)
            .run();
    };
    closes(octets("\0", 1), "close protocol 10000001");  // the first octet of a message
    closes(octets("\3"), "close protocol 10000001");
    closes(message("early"), "close protocol 10000001");
    closes(octets("\5"), "close protocol 10000000");
    closes(octets("\x80"), "close protocol 10000000");
    closes(octets("\4\0", 2), "close protocol 10000011");
    closes(command_frame("", "x"), "close protocol 10000011");
    closes(octets("\4\3\5RE"), "close protocol 10000011");
    closes(ping(0), "close protocol 10000001");
    closes(command_frame("SUBSCRIBE"), "close protocol 10000001");
    closes(command_frame("HELLO"), "close protocol 10000001");
    closes(command_frame("WHAT"), "close protocol 10000001");
    closes(command_frame("READY", "\1"), "close protocol 10000018");
    closes(ready("PUSH", property("socket-type", "PUSH")), "close protocol 10000018");
}

TEST(peer, refuses_a_handshake_command_over_64_kib_on_its_header) {
    const auto size = [](std::uint64_t n) {
        octets header(9, '\6');
        put_u64(reinterpret_cast<std::uint8_t *>(header.data()) + 1, n);
        return header;
    };
    for (const std::uint64_t n : {std::uint64_t(65537), std::uint64_t(1) << 40, UINT64_MAX}) {
        peer_driver driver(pull);
        driver.feed(greeting() + size(n));
        EXPECT_EQ(driver.log(), std::vector<std::string>{"close protocol 10000000"});
    }
    const octets longest = property("X-fill", octets(65536 - 6 - 11, 'x'));
    peer_driver driver(pull);
    driver.feed(greeting() + command_frame("READY", longest));
    EXPECT_EQ(driver.log(), std::vector<std::string>{"established"});
}

TEST(peer, ignores_the_message_size_limit_during_the_handshake) {
    settings options = pull;
    for (options.max_message_size = 0; options.max_message_size <= 300; ++options.max_message_size) {
        peer_driver driver(options);
        driver.feed(greeting() + ready("PUSH"));
        EXPECT_TRUE(driver.machine().is_established());
    }
}

TEST(peer, accepts_no_handshake_command_in_traffic) {
    for (const char *name : {"READY", "ERROR", "HELLO", "WELCOME", "INITIATE"})
        established(pull, "PUSH").receives(command_frame(name)).expects("close protocol 10000001").run();
}

TEST(peer, refuses_malformed_commands_in_traffic) {
    for (const octets &bad : {octets("\4\0", 2), octets("\4\2\5A"), octets("\4\3\0AB", 5),
                              octets("\4\4\3A B"), command_frame("PING"), command_frame("PING", "\1")})
        established(pull, "PUSH").receives(bad).expects("close protocol 10000011").run();
}

TEST(peer, hears_subscriptions_only_as_a_publisher) {
    established(socket_of(socket_type::xpub), "SUB")
        .receives(command_frame("SUBSCRIBE", "a") + command_frame("CANCEL", "a"))
        .expects("subscribe a")
        .expects("cancel a")
        .run();
    established(pull, "PUSH")
        .receives(command_frame("SUBSCRIBE", "a") + message("m"))
        .expects("message m")
        .run();
}

TEST(peer, closes_a_handshake_that_takes_too_long_at_any_octet) {
    const octets input = greeting() + ready("PUSH");
    settings options = pull;
    options.handshake_interval_ms = 500;
    for (std::size_t at = 0; at < input.size(); ++at) {
        peer_driver driver(options);
        driver.pass(200ms);
        driver.feed(std::string_view(input).substr(0, at));
        driver.pass(299ms);
        EXPECT_TRUE(driver.log().empty());
        driver.pass(1ms);
        EXPECT_EQ(driver.log(), std::vector<std::string>{"close handshake_timeout 0"});
    }
    peer_driver driver(options);
    driver.feed(input);
    driver.pass(1h);
    EXPECT_EQ(driver.log(), std::vector<std::string>{"established"});
}

TEST(peer, waits_for_ever_without_a_handshake_interval) {
    settings options = pull;
    options.handshake_interval_ms = 0;
    peer_driver driver(options);
    EXPECT_EQ(driver.machine().deadline(), heartbeat::time_point::max());
}

TEST(peer, encodes_subscriptions_as_the_peer_understands_them) {
    const settings sub = socket_of(socket_type::sub);
    const octets topic(300, 't');
    for (const int minor : {0, 1}) {
        peer_driver driver(sub);
        driver.feed(greeting("NULL", 3, minor) + ready("PUB"));
        std::vector<std::uint8_t> out;
        driver.machine().framing().encode_subscription(true, as_bytes("abc"), out);
        driver.machine().framing().encode_subscription(false, as_bytes(topic), out);
        EXPECT_EQ(text(out), minor ? command_frame("SUBSCRIBE", "abc") + command_frame("CANCEL", topic)
                                   : message("\1abc") + message(octets(1, '\0') + topic));
    }
}

TEST(peer, answers_a_ping_with_up_to_sixteen_octets_of_its_context) {
    const octets context = "0123456789abcdefghij";
    for (std::size_t size = 0; size <= context.size(); ++size)
        established(pull, "PUSH")
            .receives(ping(0, context.substr(0, size)))
            .expects_write(pong(context.substr(0, std::min<std::size_t>(size, 16))))
            .run();
}

TEST(peer, answers_each_of_the_pings_that_arrive_together) {
    octets questions, answers;
    for (int i = 0; i < 100; ++i) {
        questions += ping(0, std::to_string(i));
        answers += pong(std::to_string(i));
    }
    established(pull, "PUSH").receives(questions).expects_write(answers).run();
}

TEST(peer, keeps_so_many_pongs_and_one_ping_however_long_the_stream_is_full) {
    const settings options = with_heartbeats(socket_type::pull, 10, 0, 0);
    peer_driver driver(options);
    driver.feed(greeting() + ready("PUSH"));
    driver.block_writing();
    for (int i = 0; i < 10000; ++i) {
        driver.feed(ping(0, "flood"));
        driver.pass(10ms);
    }
    const octets kept = text(driver.machine().output());
    EXPECT_LT(kept.size(), 4096u + pong("flood").size());
    EXPECT_GT(kept.size(), 4000u);
    const std::size_t first = kept.find(our_ping(0, 1));
    EXPECT_NE(first, octets::npos);
    EXPECT_EQ(kept.find("\4PING", first + 6), octets::npos);
    EXPECT_FALSE(driver.is_closed());
}

TEST(peer, pings_each_interval_and_gives_up_a_silent_peer) {
    const settings options = with_heartbeats(socket_type::pull, 100, 250, 1200);
    peer_script(options)
        .expects_write(signature())
        .receives(greeting() + ready("PUSH"))
        .expects_write(rest_of_greeting() + pull_ready)
        .expects("established")
        .waits(99ms)
        .expects_write("")
        .waits(1ms)
        .expects_write(our_ping(12, 1))
        .receives(pong())
        .waits(100ms)
        .expects_write(our_ping(12, 2))
        .receives("\x00")  // any octet counts
        .waits(200ms)
        .expects_write(our_ping(12, 3) + our_ping(12, 4))
        .waits(150ms)
        .expects_write(our_ping(12, 5))
        .expects("close peer_dead 0")
        .run();
}

TEST(peer, gives_up_a_peer_that_outlives_its_own_ttl_in_silence) {
    established(pull, "PUSH")
        .receives(ping(5, "x"))
        .expects_write(pong("x"))
        .waits(499ms)
        .receives(message("m"))
        .expects("message m")
        .waits(499ms)
        .expects_write("")
        .waits(1ms)
        .expects("close peer_dead 0")
        .run();
}

TEST(peer, sends_no_ping_before_traffic) {
    const settings options = with_heartbeats(socket_type::pull, 10, 10, 0);
    peer_script(options)
        .expects_write(signature())
        .waits(1s)
        .receives(greeting())
        .expects_write(rest_of_greeting() + pull_ready)
        .waits(1s)
        .expects_write("")
        .run();
}

// Every event in every stage has one outcome, also those a driver has no reason to send.
TEST(peer, answers_events_out_of_place_with_wait) {
    const auto is_idle = [](peer &machine, peer::event_kind kind, std::string_view bytes) {
        const auto what = machine.resume({kind, as_bytes(bytes)});
        return what.kind == peer::action_kind::wait && what.consumed == 0;
    };
    peer machine(pull, false);
    EXPECT_TRUE(is_idle(machine, peer::event_kind::octets, greeting()));
    EXPECT_TRUE(is_idle(machine, peer::event_kind::command, "\4PING"));
    EXPECT_TRUE(is_idle(machine, peer::event_kind::time, ""));
    EXPECT_EQ(machine.deadline(), heartbeat::time_point::max());
    machine.resume({peer::event_kind::start, {}, heartbeat::time_point(1h)});
    const auto size = machine.output().size();
    for (int stage = 0; stage < 2; ++stage) {
        EXPECT_TRUE(is_idle(machine, peer::event_kind::start, ""));
        EXPECT_TRUE(is_idle(machine, peer::event_kind::command, "\4PING"));
        EXPECT_TRUE(is_idle(machine, peer::event_kind::octets, ""));
        if (stage == 0) {
            EXPECT_EQ(machine.output().size(), size);
            machine.resume({peer::event_kind::octets, as_bytes(greeting())});
        }
    }
    machine.resume({peer::event_kind::octets, as_bytes(ready("PUSH"))});
    EXPECT_TRUE(machine.is_established());
    EXPECT_TRUE(is_idle(machine, peer::event_kind::start, ""));
    EXPECT_TRUE(is_idle(machine, peer::event_kind::octets, message("m")));
}

TEST(peer, talks_to_another_of_its_kind) {
    const settings sub = socket_of(socket_type::sub);
    peer_driver a(pub, true), b(sub, false);
    for (int turn = 0; turn < 4; ++turn) {
        b.feed(a.take_written());
        a.feed(b.take_written());
    }
    std::vector<std::uint8_t> subscription;
    b.machine().framing().encode_subscription(true, as_bytes("t"), subscription);
    a.feed(text(subscription));
    EXPECT_EQ(a.log(), (std::vector<std::string>{"established", "subscribe t"}));
    EXPECT_EQ(b.log(), std::vector<std::string>{"established"});
}

}  // namespace
}  // namespace zlink
