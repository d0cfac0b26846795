// A connection as a script: the handshake, the timers, what goes wrong, and the end.
#include "session/connection.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "stepped_connection.hpp"

namespace zlink {
namespace {

using namespace test;
using namespace std::chrono_literals;

const octets hello("!\2", 2);
const octets our_first_words = greeting() + testing::ready("DEALER", testing::property("Identity", ""));

// ---- the handshake ----

TEST(connection, is_established_by_a_handshake_in_any_pieces) {
    const octets theirs = greeting() + ready("DEALER");
    for (const bool is_server : {false, true})
        for (std::size_t size = 1; size <= theirs.size(); ++size) {
            SCOPED_TRACE(size);
            driven one(socket_type::dealer);
            one.start(is_server);
            EXPECT_EQ(one.state.output, our_first_words.substr(0, 10)) << "before it knows who is there";
            for (std::size_t at = 0; at < theirs.size(); at += size) {
                EXPECT_FALSE(one.it->is_established());
                EXPECT_EQ(one.established, 0);
                one.arrive(std::string_view(theirs).substr(at, size));
            }
            EXPECT_TRUE(one.it->is_established());
            EXPECT_EQ(one.established, 1);
            EXPECT_EQ(one.broken, 0);
            EXPECT_EQ(one.state.output, our_first_words);
            EXPECT_GE(one.drained, 1);
            EXPECT_TRUE(one.it->drain());
            ASSERT_NO_FATAL_FAILURE(one.expect({hello}));
        }
}

TEST(connection, is_told_of_when_the_socket_can_learn_its_name) {
    driven one(socket_type::router);
    one.takes_when_told = true;
    one.start();
    one.arrive(greeting());
    EXPECT_TRUE(one.log.empty());
    one.arrive(ready("DEALER", testing::property("Identity", "somebody")));
    EXPECT_EQ(one.log, std::vector<octets>{"!\2somebody"});
    EXPECT_TRUE(one.had_peer_when_told);
}

TEST(connection, is_told_of_when_a_publisher_knows_that_its_peer_takes_all) {
    driven one(socket_type::pub);
    one.takes_when_told = true;
    one.start();
    one.arrive(octets("\1\0", 2) + octets("\5\0hello", 7));
    EXPECT_EQ(one.log, (std::vector<octets>{hello, octets("=\1", 2)}));
}

TEST(connection, says_nothing_before_the_stream_has_shaken_hands) {
    for (const bool is_raw : {false, true}) {
        driven one(is_raw ? socket_type::stream : socket_type::dealer);
        one.state.own_handshake = error::again;
        one.start();
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(one.state.is_read_awaited);
            EXPECT_EQ(one.established, 0);
            EXPECT_EQ(one.state.output, "");
            one.state.receive("");
        }
        one.state.own_handshake = error::none;
        one.state.receive("");
        EXPECT_EQ(one.established, is_raw);
        EXPECT_EQ(one.state.output.empty(), is_raw);
        EXPECT_EQ(one.broken, 0);
        EXPECT_TRUE(one.state.is_read_awaited);
    }
}

TEST(connection, is_not_made_where_the_stream_s_handshake_fails) {
    for (const bool is_at_once : {false, true}) {
        driven one(socket_type::stream);
        one.state.own_handshake = is_at_once ? error::protocol : error::again;
        one.start();
        one.state.own_handshake = error::protocol;
        if (!is_at_once)
            one.state.receive("");
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.system, error::protocol);
        EXPECT_FALSE(one.reason.was_established);
        EXPECT_EQ(one.established, 0);
    }
}

TEST(connection, has_one_time_for_both_handshakes) {
    for (const bool is_stream_done : {false, true}) {
        settings options = socket_of(socket_type::dealer);
        options.handshake_interval_ms = 100;
        driven one(options);
        one.state.own_handshake = error::again;
        one.start();
        one.pass(60ms);
        if (is_stream_done)
            one.state.own_handshake = error::none;
        one.state.receive("");
        EXPECT_EQ(one.state.output.empty(), !is_stream_done);
        one.pass(39ms);
        EXPECT_EQ(one.broken, 0);
        one.pass(1ms);
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.failure, failure_kind::handshake_timeout);
    }
}

TEST(connection, is_established_with_a_stream_that_is_full_at_any_octet) {
    for (std::size_t cut = 0; cut <= our_first_words.size(); ++cut)
        for (const std::size_t step : {std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
            SCOPED_TRACE(cut);
            driven one(socket_type::dealer);
            one.state.room = cut;
            one.start();
            one.send({"first"});
            one.arrive(greeting() + ready("DEALER") + message("in"));
            EXPECT_EQ(one.established, 1);
            EXPECT_EQ(one.state.output, our_first_words.substr(0, cut));
            for (int i = 0; i < 200 && one.state.is_room_awaited; ++i)
                one.make_room(step);
            EXPECT_EQ(one.state.output, our_first_words + message("first"));
            ASSERT_NO_FATAL_FAILURE(one.expect({hello, "=in"}));
        }
}

TEST(connection, takes_what_stands_behind_the_handshake_for_traffic) {
    const octets wire = greeting() + ready("DEALER") + message("a") + ping(0, "x") + part("b") + message("") +
                        message(body_of(5000));
    for (std::size_t cut = 0; cut <= wire.size(); cut += cut < 150 ? 1 : 97)
        for (const std::uint64_t mark : {0u, 1u}) {
            SCOPED_TRACE(cut);
            driven one(socket_type::dealer, mark);
            one.start();
            one.arrive(wire.substr(0, cut));
            one.arrive(wire.substr(cut));
            EXPECT_EQ(one.established, 1);
            ASSERT_NO_FATAL_FAILURE(one.expect({hello, "=a", "+b", "=", "=" + body_of(5000)}));
            EXPECT_EQ(one.state.output, our_first_words + pong("x"));
            EXPECT_TRUE(one.it->has_delivered());
        }
}

TEST(connection, says_whom_it_reaches_in_front_of_all_messages) {
    driven one(socket_type::router);
    one.start();
    one.arrive(greeting() + ready("DEALER", testing::property("Identity", "peer")) + message("in"));
    ASSERT_NO_FATAL_FAILURE(one.expect({hello + "peer", "=in"}));
}

TEST(connection, greets_the_other_application_in_front_of_what_waits_in_the_pipe) {
    settings options = socket_of(socket_type::dealer);
    options.hello_message = "good day";
    driven one(options);
    one.send({"waits"});
    one.start();
    one.arrive(greeting() + ready("DEALER"));
    EXPECT_EQ(one.state.output, our_first_words + message("good day") + message("waits"));
}

TEST(connection, ends_when_the_host_has_no_pipe_for_it) {
    driven one(socket_type::dealer);
    one.gives_pipe = false;
    one.start();
    one.arrive(greeting() + ready("DEALER") + message("for nobody"));
    EXPECT_EQ(one.established, 1);
    EXPECT_EQ(one.broken, 1);
    EXPECT_TRUE(one.reason.was_established);
    one.take();
    EXPECT_TRUE(one.log.empty());
}

TEST(connection, says_an_error_to_a_peer_that_it_does_not_talk_to_and_ends) {
    const octets error = testing::command_frame("ERROR", "\x18Incompatible-Socket-Type");
    for (const bool has_room : {true, false}) {
        driven one(socket_type::dealer);
        one.start();
        one.arrive(greeting());
        const octets before = one.state.output;
        if (!has_room)
            one.state.room = 0;
        one.arrive(ready("PUSH"));
        EXPECT_EQ(one.broken, 1);
        EXPECT_FALSE(one.reason.was_established);
        EXPECT_FALSE(one.reason.may_retry);
        EXPECT_EQ(one.reason.failure, failure_kind::protocol);
        EXPECT_EQ(one.state.output, before + (has_room ? error : octets()));
        EXPECT_EQ(one.established, 0);
    }
}

TEST(connection, ends_once_wherever_the_handshake_breaks_off_or_goes_wrong) {
    const octets theirs = greeting() + ready("DEALER");
    for (std::size_t cut = 0; cut < theirs.size(); ++cut) {
        SCOPED_TRACE(cut);
        {
            driven one(socket_type::dealer);
            one.start();
            one.state.is_reset = true;
            one.arrive(theirs.substr(0, cut));
            one.state.let_read();
            EXPECT_EQ(one.broken, 1);
            EXPECT_EQ(one.reason.system, error::connection_reset);
            EXPECT_FALSE(one.reason.was_established);
            EXPECT_EQ(one.io.pending(), 0u);
        }
        for (const int change : {0x01, 0x20, 0x80, 0xff}) {
            driven one(socket_type::dealer);
            one.start();
            octets hurt = theirs;
            hurt[cut] = static_cast<char>(hurt[cut] ^ change);
            one.arrive(hurt);
            one.pass(31s);
            EXPECT_TRUE(one.broken == 1 || one.it->is_established());
            one.arrive("more");
            EXPECT_LE(one.broken, 1);
        }
    }
}

TEST(connection, gives_a_silent_peer_no_longer_than_the_handshake_may_take) {
    for (const std::size_t cut : {0u, 1u, 20u, 70u}) {
        driven one(socket_type::dealer);
        one.start();
        one.pass(20s);
        one.arrive((greeting() + ready("DEALER")).substr(0, cut));
        one.pass(9999ms);
        EXPECT_EQ(one.broken, 0);
        one.pass(2ms);
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.failure, failure_kind::handshake_timeout);
        EXPECT_EQ(one.io.pending(), 0u);
    }
}

TEST(connection, ends_where_there_is_no_memory_for_a_timer_that_it_needs) {
    driven one(socket_type::dealer);
    one.io.makes_timers = false;
    one.start();
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.system, error::no_memory);
}

// ---- traffic ----

TEST(connection, reads_a_few_times_in_a_row_and_then_lets_others_go_on) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.input += message(body_of(4'000'000)) + message("b");
    one.state.is_read_awaited = false;
    const std::size_t before = one.state.taken;
    one.state.events->on_stream_readable();
    EXPECT_LE(one.state.taken - before, 4 * 280'000u);
    EXPECT_TRUE(one.state.is_read_awaited);
    one.arrive("");
    ASSERT_NO_FATAL_FAILURE(one.expect({"=" + body_of(4'000'000), "=b"}));
}

TEST(connection, waits_for_room_at_the_mark_and_goes_on) {
    driven one(socket_type::dealer, 2);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    for (int i = 0; i < 7; ++i)
        one.arrive(message(octets(1, static_cast<char>('a' + i))));
    EXPECT_FALSE(one.state.is_read_awaited);
    EXPECT_EQ(one.take(), 2u);
    EXPECT_FALSE(one.state.is_read_awaited);
    one.run();
    EXPECT_TRUE(one.state.is_read_awaited) << "there is room";
    one.arrive("");
    EXPECT_FALSE(one.state.is_read_awaited);
    EXPECT_EQ(one.take(), 2u);
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a", "=b", "=c", "=d", "=e", "=f", "=g"}));
    EXPECT_TRUE(one.state.is_read_awaited);
}

TEST(connection, looks_again_for_what_came_while_it_went_to_sleep) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.send({"a"});
    one.wants_round = false;  // as if it had been published before the reader was armed
    one.it->look();
    EXPECT_TRUE(one.wants_round);
    one.run();
    EXPECT_EQ(one.state.output, message("a"));
    one.it->look();
    EXPECT_FALSE(one.wants_round);
}

TEST(connection, comes_back_in_a_moment_for_what_a_sender_that_writes_for_itself_may_leave) {
    for (const bool has_timers : {true, false}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.send({body_of(20'000)});
        EXPECT_TRUE(one.near->write_now());
        one.io.makes_timers = has_timers;
        one.run();
        one.send({"left"});
        EXPECT_EQ(one.wants_round, !has_timers) << "nobody is woken for it where somebody comes";
        one.pass(99us);
        EXPECT_EQ(one.state.output == message(body_of(20'000)), has_timers);
        one.pass(1us);
        EXPECT_TRUE(one.state.output == message(body_of(20'000)) + message("left"));
        EXPECT_EQ(one.io.pending(), 0u);
    }
}

TEST(connection, lets_small_messages_come_together_for_50_us) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    octets sent;
    while (one.io.pending() == 0 && sent.size() < 100) {
        one.send({"a"});
        sent += message("a");
        one.run();
    }
    ASSERT_EQ(one.state.output, sent);
    one.send({"b"});
    one.wants_round = false;  // whoever is woken for it finds that it waits
    one.pass(49us);
    EXPECT_EQ(one.state.output, sent);
    one.pass(1us);
    EXPECT_EQ(one.state.output, sent + message("b"));
}

TEST(connection, ends_with_a_bad_frame_and_delivers_what_came_before) {
    const struct {
        octets wire;
        failure_kind failure;
    } ends[] = {{octets("\x08\1x", 3), failure_kind::protocol}, {ready("DEALER"), failure_kind::protocol}};
    for (const auto &each : ends) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.arrive(message("a") + part("cut") + each.wire + message("late"));
        EXPECT_EQ(one.broken, 1);
        EXPECT_TRUE(one.reason.was_established);
        EXPECT_EQ(one.reason.failure, each.failure);
        EXPECT_FALSE(one.far->has_unpublished());
        one.arrive(message("later"));
        one.pass(10s);
        EXPECT_EQ(one.broken, 1);
        ASSERT_NO_FATAL_FAILURE(one.expect({"=a"}));
    }
}

TEST(connection, throws_away_what_comes_once_nobody_takes_it) {
    for (const bool is_at_mark : {false, true}) {
        driven one(socket_type::dealer, 1);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.arrive(is_at_mark ? message("a") + message("b") : part("a"));
        one.near->close(0);
        one.it->discard_input();
        one.run();
        one.arrive(message("c") + message(body_of(100'000)) + ping(0, "x"));
        EXPECT_EQ(one.state.output, pong("x"));
        EXPECT_EQ(one.state.taken, one.state.input.size());
        EXPECT_EQ(one.broken, 0);
        one.state.is_reset = true;
        one.state.let_read();
        EXPECT_EQ(one.broken, 1);
    }
}

// ---- heartbeats ----

settings with_heartbeats(int interval, int timeout) {
    settings options = socket_of(socket_type::dealer);
    options.heartbeat_interval_ms = interval;
    options.heartbeat_timeout_ms = timeout;
    return options;
}

TEST(connection, answers_a_ping_between_messages_once_there_is_room) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.room = 3;
    one.send({"abc"});
    one.run();
    one.arrive(ping(0, "x"));
    EXPECT_EQ(one.state.output, message("abc").substr(0, 3));
    one.make_room(SIZE_MAX);
    EXPECT_EQ(one.state.output, message("abc") + pong("x"));
}

TEST(connection, pings_a_silent_peer_and_ends_when_it_does_not_answer) {
    driven one(with_heartbeats(100, 300));
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.pass(99ms);
    EXPECT_EQ(one.state.output, "");
    one.pass(1ms);
    EXPECT_EQ(one.state.output, our_ping(0, 1));
    for (int i = 0; i < 10; ++i) {
        one.arrive(i % 2 ? pong() : message("alive"));
        one.pass(250ms);
        EXPECT_EQ(one.broken, 0);
    }
    one.pass(51ms);
    EXPECT_EQ(one.broken, 0) << "since the first PING that was not answered";
    one.pass(400ms);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.failure, failure_kind::peer_dead);
    EXPECT_TRUE(one.reason.was_established);
    EXPECT_EQ(one.io.pending(), 0u);
}

TEST(connection, begins_the_time_for_an_answer_when_the_ping_is_out) {
    driven one(with_heartbeats(100, 100));
    ASSERT_NO_FATAL_FAILURE(one.establish());
    const octets body = body_of(300'000);
    one.state.room = 0;
    one.send({body});
    one.run();
    for (int i = 0; i < 10; ++i) {
        one.make_room(1000);
        one.pass(99ms);
        ASSERT_EQ(one.broken, 0) << "the peer takes the body, after " << i;
    }
    one.make_room(SIZE_MAX);
    EXPECT_TRUE(one.state.output == message(body) + our_ping(0, 1));
    one.pass(99ms);
    EXPECT_EQ(one.broken, 0);
    one.pass(1ms);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.failure, failure_kind::peer_dead);
}

TEST(connection, goes_on_waiting_for_input_when_it_has_looked_for_an_answer) {
    driven one(with_heartbeats(100, 300));
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.is_read_awaited = false;  // the event is under way, and finds nothing left
    one.state.input += message("a");
    one.pass(100ms);
    EXPECT_TRUE(one.state.is_read_awaited);
    one.expect({"=a"});
}

TEST(connection, sees_that_the_peer_takes_less_than_the_system_tells) {
    driven one(with_heartbeats(100, 100));
    ASSERT_NO_FATAL_FAILURE(one.establish());
    const octets body = body_of(10'000);
    one.state.room = 10;
    one.send({body});
    one.run();
    one.pass(100ms);
    while (one.state.output.size() < 9'000) {
        one.state.room = 1000;  // and nobody is called
        one.pass(100ms);
        ASSERT_EQ(one.broken, 0) << "after " << one.state.output.size();
    }
    one.state.room = SIZE_MAX;
    one.pass(100ms);
    EXPECT_TRUE(one.state.output.starts_with(message(body) + our_ping(0, 1)));
    one.pass(99ms);
    EXPECT_EQ(one.broken, 0);
    one.pass(1ms);
    EXPECT_EQ(one.broken, 1);
}

/// With a queue that never becomes empty, and a stream that never takes all that is listed: how
/// often it takes a little of what `fill` keeps at the same size, which `queued` counts, until a
/// PING is out. 100 at most.
template <class Fill>
std::size_t turns_until_ping(driven &one, std::size_t &queued, const Fill &fill) {
    fill();
    one.run();
    one.pass(100ms);
    std::size_t turns = 0;
    for (; turns < 100 && one.state.output.find(our_ping(0, 1)) == octets::npos; ++turns) {
        one.make_room(99'999);
        queued -= 99'999;
        fill();
        one.run();
    }
    return turns;
}

TEST(connection, ping_goes_out_soon_between_messages_that_never_end) {
    for (const std::size_t size : {10u, 1000u, 60'000u}) {
        driven one(with_heartbeats(100, 0));
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.state.room = 1;
        std::size_t queued = 0;
        const auto fill = [&] {
            for (; queued < 2'000'000; queued += size)
                one.send({body_of(size)});
        };
        EXPECT_LT(turns_until_ping(one, queued, fill), 10u) << size;
    }
}

/// No memory begins with a message: each ends in the memory in which the next begins.
TEST(connection, ping_goes_out_soon_between_messages_of_frames_that_never_end) {
    for (const bool is_lent : {false, true}) {
        for (const std::size_t size : {10u, 1000u, 60'000u}) {
            const octets body = body_of(size);
            driven one(with_heartbeats(100, 0));
            ASSERT_NO_FATAL_FAILURE(one.establish());
            one.state.room = 1;
            const octets message = part("topic") + part(body) + zlink::test::message("end");
            std::size_t queued = 0;
            const auto fill = [&] {
                for (; queued < 2'000'000; queued += message.size()) {
                    ASSERT_EQ(one.near->write(frame_flag::more, as_bytes("topic")), error::none);
                    ASSERT_EQ(is_lent ? one.near->write_external(frame_flag::more, {}, as_bytes(body))
                                      : one.near->write(frame_flag::more, as_bytes(body)),
                              error::none);
                    one.send({"end"});
                }
            };
            EXPECT_LT(turns_until_ping(one, queued, fill), 10u) << size << (is_lent ? " lent" : " copied");
            const std::size_t at = one.state.output.find(our_ping(0, 1));
            ASSERT_NE(at, octets::npos);
            EXPECT_EQ(at % message.size(), 0u);
            one.make_room(message.size());
            EXPECT_EQ(one.state.output.find(message, at), at + our_ping(0, 1).size());
        }
    }
}

TEST(connection, gives_up_a_peer_that_takes_nothing_of_the_frame_before_the_ping) {
    driven one(with_heartbeats(100, 300));
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.room = 1000;
    one.send({body_of(300'000)});
    one.run();
    one.pass(399ms);
    EXPECT_EQ(one.broken, 0);
    one.pass(1ms);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.failure, failure_kind::peer_dead);
}

TEST(connection, hears_what_has_come_before_it_gives_up_the_peer) {
    for (const std::size_t messages_about_keys : {0u, 1u, 6u}) {
        driven one(with_heartbeats(100, 300));
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.pass(100ms);
        EXPECT_EQ(one.state.output, our_ping(0, 1));
        one.state.messages_about_keys = messages_about_keys;
        one.state.input += pong();
        one.pass(300ms);
        EXPECT_EQ(one.broken, 0) << "the loop was late, not the peer";
        one.pass(400ms);
        EXPECT_EQ(one.broken, 1);
    }
}

TEST(connection, takes_a_peer_for_alive_that_it_does_not_listen_to_itself) {
    driven one(with_heartbeats(100, 300), 1);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.arrive(message("a") + message("b"));
    EXPECT_FALSE(one.state.is_read_awaited);
    one.pass(10s);
    EXPECT_EQ(one.broken, 0);
    one.take();
    one.run();
    one.take();
    one.run();
    one.pass(1s);
    EXPECT_EQ(one.broken, 1);
}

TEST(connection, ends_after_the_silence_that_the_peer_itself_named) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    EXPECT_EQ(one.io.pending(), 0u);
    one.arrive(ping(5, "x"));
    EXPECT_EQ(one.io.pending(), 1u);
    one.pass(400ms);
    one.arrive(message("a"));
    one.pass(499ms);
    EXPECT_EQ(one.broken, 0);
    one.arrive(ping(0));
    one.pass(10s);
    EXPECT_EQ(one.broken, 0) << "it has taken that back";
    one.arrive(ping(5));
    one.pass(500ms);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.failure, failure_kind::peer_dead);
}

// ---- memory ----

TEST(connection, comes_to_one_end_wherever_memory_is_short) {
    const octets wire = greeting() + ready("DEALER", testing::property("Identity", "me")) + message("a") +
                        ping(5, "x") + part("b") + message(body_of(300)) + message(body_of(40'000)) +
                        message("last");
    const std::vector<octets> all{hello + "me",          "=a",   "+b", "=" + body_of(300),
                                  "=" + body_of(40'000), "=last"};
    for (const bool from_there_on : {false, true})
        for (const std::size_t size : {50u, 1'000'000u}) {
            unsigned n = 1;
            for (bool goes_on = true; goes_on; ++n) {
                SCOPED_TRACE(::testing::Message() << "allocation " << n << from_there_on);
                const long before = short_heap::blocks();
                {
                    settings options = socket_of(socket_type::router);
                    options.hello_message = "good day";
                    driven one(options, 2);
                    one.make();
                    {
                        const short_heap heap(n, from_there_on);
                        short_heap::counted([&] { one.it->start(); });
                        one.run();
                        for (std::size_t at = 0; at < wire.size(); at += size) {
                            one.arrive(std::string_view(wire).substr(at, size));
                            one.take();
                            one.run();
                        }
                        one.settle();
                        goes_on = short_heap::has_struck();
                    }
                    if (one.broken == 0) {
                        EXPECT_TRUE(one.log == all);
                    } else {
                        EXPECT_TRUE(goes_on);
                        EXPECT_EQ(one.broken, 1);
                        EXPECT_EQ(one.reason.system, error::no_memory);
                        EXPECT_FALSE(one.far->has_unpublished());
                        one.take();
                        EXPECT_TRUE(one.log.size() < all.size() &&
                                    std::equal(one.log.begin(), one.log.end(), all.begin()));
                    }
                }
                ASSERT_FALSE(::testing::Test::HasFailure());
                EXPECT_EQ(short_heap::blocks(), before) << "a leak";
                ASSERT_LT(n, 200u);
            }
            EXPECT_GT(n, 5u);
        }
}

TEST(connection, counts_what_is_behind_a_ready_that_there_was_no_memory_for_and_behind_nothing_else) {
    const octets frames = octets(8, '\0') + message("x");  // five messages
    const struct {
        octets first;
        std::uint64_t messages;
    } cases[] = {{ready("DEALER"), 5}, {"", 0}, {command_frame("HELLO", "x"), 0}, {command_frame("", ""), 0}};
    for (const auto &each : cases)
        for (const std::size_t size : {1u, 1'000'000u}) {
            unsigned n = 1;
            for (bool goes_on = true; goes_on; ++n) {
                SCOPED_TRACE(::testing::Message() << each.first << " " << size << " allocation " << n);
                driven one(socket_type::dealer);
                one.environment.counts = std::make_shared<counters>();
                one.start();
                one.arrive(greeting() +
                           each.first.substr(0, each.first.size() - std::min(size, each.first.size())));
                {
                    const short_heap heap(n, false);
                    one.arrive(each.first.substr(each.first.size() - std::min(size, each.first.size())) +
                               frames);
                    goes_on = short_heap::has_struck();
                }
                one.take();
                // Behind the hello.
                const std::uint64_t taken = one.log.empty() ? 0 : one.log.size() - 1;
                EXPECT_EQ(taken + one.environment.counts->get(counter::dropped_unread), each.messages);
                ASSERT_LT(n, 100u);
            }
            EXPECT_GT(n, 1u) << "there was an allocation";
        }
}

// ---- a stream whose halves take turns ----

/// Another thread is at the stream after each octet, and leaves it as the next moment comes.
octets written_octet_by_octet(driven &one) {
    for (std::size_t before = SIZE_MAX;
         std::exchange(before, one.state.output.size()) != one.state.output.size();) {
        one.state.until_busy = 1;
        one.pass(write_policy::pause_for_others);
    }
    EXPECT_FALSE(one.state.is_room_awaited);
    return one.state.output;
}

TEST(connection, says_the_same_where_another_thread_is_at_the_stream_after_each_octet) {
    const std::vector<octets> arrivals{"", greeting(), ready("DEALER"), message("in")};
    driven free(socket_type::dealer), busy(socket_type::dealer);
    busy.state.until_busy = 0;
    free.start();
    busy.start();
    for (const octets &each : arrivals) {
        free.arrive(each);
        busy.arrive(each);
        EXPECT_EQ(written_octet_by_octet(busy), free.state.output);
    }
    for (driven *one : {&free, &busy}) {
        one->send({"a", "", "b"});
        one->send({body_of(300)});
        one->run();
    }
    EXPECT_EQ(written_octet_by_octet(busy), free.state.output);
    busy.expect({hello, "=in"});
}

TEST(connection, does_not_leave_it_to_a_borrower_to_write_on_where_that_reads_meanwhile) {
    const octets wire = message("a") + message(body_of(300));
    driven one(socket_type::dealer);
    one.establish();
    one.borrow();
    one.socket_woken = 0;
    one.state.until_busy = 0;
    one.send({"a"});
    one.send({body_of(300)});
    one.run();
    EXPECT_EQ(written_octet_by_octet(one), wire);
    EXPECT_EQ(one.socket_woken, 0);
    one.leave();
    one.expect({});
}

}  // namespace
}  // namespace zlink
