// Tests how a connection ends in each of its states: when writing fails, when it is let go, and
// while its reading half is lent.
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

void fail_writing(driven &one) {
    one.state.room = 0;
    one.state.write_failure = error::connection_reset;
    one.send({"in vain"});
    one.run();
}

// ---- writing fails ----

TEST(connection_end, reads_what_came_before_a_write_failed) {
    for (const std::uint64_t mark : {0u, 1u, 2u}) {
        driven one(socket_type::dealer, mark);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.arrive(message("a") + message("b"));
        one.state.input += message("c") + part("d") + message("e") + message(body_of(200'000)) + part("cut");
        fail_writing(one);
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.system, error::connection_reset);
        EXPECT_TRUE(one.reason.was_established);
        EXPECT_EQ(one.taken_when_broken, one.state.input.size()) << "reported before all was read";
        ASSERT_NO_FATAL_FAILURE(one.expect({"=a", "=b", "=c", "+d", "=e", "=" + body_of(200'000)}));
        EXPECT_EQ(one.broken, 1);
    }
}

TEST(connection_end, reads_what_came_before_the_thread_that_sends_failed_to_write) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.input += message("a");
    one.state.room = 0;
    one.state.write_failure = error::connection_reset;
    one.send({"in vain"});
    one.wants_round = false;
    EXPECT_FALSE(one.near->write_now());
    EXPECT_EQ(one.broken, 0) << "that is for the loop's thread to say";
    one.run();
    EXPECT_EQ(one.broken, 1);
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a"}));
}

// This is as over TLS, where a read ends at each of them.
TEST(connection_end, reads_what_came_behind_messages_about_keys_before_a_write_failed) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.messages_about_keys = 3;
    one.state.input += message("a") + message("b");
    fail_writing(one);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.taken_when_broken, one.state.input.size()) << "reported before all was read";
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a", "=b"}));
}

TEST(connection_end, waits_for_the_receiver_where_much_is_beyond_the_mark) {
    driven one(socket_type::dealer, 2);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    std::vector<octets> all;
    for (unsigned i = 0; i < 120; ++i) {
        all.push_back("=" + body_of(100'000, i));
        one.state.input += message(body_of(100'000, i));
    }
    fail_writing(one);
    EXPECT_EQ(one.broken, 0);
    for (int i = 0; i < 4 && one.broken == 0; ++i) {
        one.take();
        one.run();
    }
    EXPECT_EQ(one.broken, 1);
    one.take();
    EXPECT_TRUE(one.log == all);
}

TEST(connection_end, of_a_bad_frame_goes_before_that_of_a_failed_write) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.state.input += message("a") + octets("\x08\1x", 3);
    fail_writing(one);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.failure, failure_kind::protocol);
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a"}));
}

TEST(connection_end, comes_where_a_write_fails_in_the_handshake) {
    for (std::size_t cut = 0; cut < 60; cut += 3) {
        driven one(socket_type::dealer);
        one.state.room = cut;
        one.state.write_failure = error::connection_reset;
        one.start();
        one.arrive(greeting());
        one.make_room(0);
        EXPECT_EQ(one.broken, 1);
        EXPECT_FALSE(one.reason.was_established);
    }
}

// Whatever was said before is no answer to it, and goes to nobody: who waits for that to arrive
// would throw away what the peer sends meanwhile.
TEST(connection_end, has_no_answer_for_the_peer_where_memory_is_short) {
    unsigned n = 1;
    for (bool goes_on = true; goes_on; ++n) {
        SCOPED_TRACE(::testing::Message() << "allocation " << n);
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        for (int i = 0; i < 100; ++i)
            one.state.input += ping(0, "answer me");
        {
            const short_heap heap(n);
            one.arrive("");
            goes_on = short_heap::has_struck();
        }
        EXPECT_EQ(one.broken, goes_on);
        EXPECT_EQ(one.state.output.empty(), goes_on);
        if (goes_on) {
            EXPECT_EQ(one.reason.system, error::no_memory);
            EXPECT_TRUE(one.reason.was_established);
            EXPECT_FALSE(one.reason.has_answer_for_peer);
            EXPECT_FALSE(one.it->release_stream());
        }
        ASSERT_LT(n, 100u);
    }
    EXPECT_GT(n, 4u);
}

// ---- what is lost ----

TEST(connection_end, counts_the_message_that_was_cut_once_and_none_that_it_leaves_in_the_pipe) {
    for (const std::size_t room : {0u, 5u, 6u})
        for (const bool has_socket : {true, false})
            for (const bool is_let_go : {true, false}) {
                SCOPED_TRACE(::testing::Message() << room << has_socket << is_let_go);
                driven one(socket_type::dealer);
                one.environment.counts = std::make_shared<counters>();
                ASSERT_NO_FATAL_FAILURE(one.establish());
                one.state.room = room;
                one.send({"four"});
                one.send({"and more"});
                one.run();
                if (!has_socket)
                    one.near->close(0);
                if (is_let_go) {
                    EXPECT_TRUE(one.it->let_go(false));
                } else {
                    one.state.is_reset = true;
                    one.state.let_read();
                    EXPECT_EQ(one.broken, 1);
                }
                EXPECT_TRUE(one.it->let_go(false)) << "again";
                const auto count = [&](counter what) { return one.environment.counts->get(what); };
                EXPECT_EQ(count(counter::dropped_peer_gone), has_socket && room == 5 ? 1u : 0u);
                EXPECT_EQ(count(counter::dropped_linger), !has_socket && room == 5 ? 1u : 0u);
                EXPECT_EQ(one.far->incoming().under_way().messages, room == 0 ? 2u : 1u);
            }
}

// ---- let_go, drain, finish_writing ----

struct stage {
    const char *name;
    std::function<void(driven &)> reach;
    bool is_drained;
    bool may_finish;
};
std::vector<stage> stages() {
    return {{"fresh", [](driven &one) { one.make(); }, false, false},
            {"the stream's own handshake",
             [](driven &one) {
                 one.state.own_handshake = error::again;
                 one.start();
             },
             false, false},
            {"greeting", [](driven &one) { one.start(); }, true, true},
            {"greeting not written",
             [](driven &one) {
                 one.state.room = 5;
                 one.start();
             },
             false, true},
            {"handshake",
             [](driven &one) {
                 one.start();
                 one.arrive(greeting());
             },
             true, true},
            {"traffic", [](driven &one) { one.establish(); }, true, true},
            {"half a message",
             [](driven &one) {
                 one.establish();
                 one.state.room = 2;
                 one.send({"abc"});
                 one.run();
             },
             false, true},
            {"half a message in",
             [](driven &one) {
                 one.establish();
                 one.arrive(message("whole") + part("a") + message(body_of(50'000)).substr(0, 40'000));
             },
             true, true},
            {"broken",
             [](driven &one) {
                 one.establish();
                 one.state.is_reset = true;
                 one.state.let_read();
             },
             false, false},
            {"writing failed",
             [](driven &one) {
                 one.establish();
                 one.state.room = 0;
                 one.state.write_failure = error::connection_reset;
                 one.send({"abc"});
                 (void)one.near->write_now();
             },
             false, false}};
}

TEST(connection_end, is_let_go_of_at_once_where_no_other_thread_is_inside) {
    for (const stage &each : stages())
        for (const bool drops_unread : {false, true}) {
            SCOPED_TRACE(each.name);
            driven one(socket_type::dealer, 10);
            each.reach(one);
            const int before = one.broken;
            one.state.input += octets(300'000, '\0');  // empty messages, and what a body may be
            const bool is_live = one.it->is_established() && before == 0;
            EXPECT_TRUE(one.it->let_go(drops_unread));
            EXPECT_EQ(one.state.taken == one.state.input.size(), is_live && drops_unread);
            EXPECT_EQ(one.broken, before) << "nothing is reported any more";
            EXPECT_EQ(one.io.pending(), 0u);
            EXPECT_TRUE(one.it->let_go(drops_unread)) << "again";
            one.it.reset();
            EXPECT_FALSE(one.state.is_open);
            EXPECT_EQ(one.broken, before);
            one.far->roll_back();
            one.take();
            for (const octets &frame : one.log)
                EXPECT_TRUE(frame == "=whole" || frame[0] == '!') << frame;
        }
}

TEST(connection_end, can_be_destroyed_in_each_stage_without_being_let_go) {
    for (const stage &each : stages()) {
        SCOPED_TRACE(each.name);
        driven one(socket_type::dealer, 10);
        each.reach(one);
        one.it.reset();
        EXPECT_FALSE(one.state.is_open);
        EXPECT_EQ(one.io.pending(), 0u);
        one.pass(100s);
    }
}

TEST(connection_end, is_drained_where_nothing_is_left_to_write) {
    for (const stage &each : stages()) {
        SCOPED_TRACE(each.name);
        driven one(socket_type::dealer, 10);
        each.reach(one);
        EXPECT_EQ(one.it->drain(), each.is_drained);
        if (!each.is_drained && each.may_finish && one.broken == 0) {
            one.make_room(SIZE_MAX);
            EXPECT_EQ(one.it->drain(), one.broken == 0);
        }
    }
}

TEST(connection_end, finishes_writing_where_that_can_be_done_and_is_worth_it) {
    for (const stage &each : stages())
        for (const bool is_confirmed : {false, true})
            for (const bool may : {false, true}) {
                SCOPED_TRACE(each.name);
                driven one(socket_type::dealer, 10);
                each.reach(one);
                one.state.unconfirmed = is_confirmed ? 0 : 100;
                one.state.may_finish = may;
                EXPECT_EQ(one.it->unconfirmed(), one.state.unconfirmed);
                const bool is_done = one.it->finish_writing();
                EXPECT_EQ(is_done, each.may_finish && may && !is_confirmed);
                EXPECT_EQ(one.state.is_finished, is_done);
            }
}

TEST(connection_end, reads_on_and_writes_nothing_once_it_has_finished_writing) {
    settings options = socket_of(socket_type::dealer);
    options.heartbeat_interval_ms = 100;
    driven one(options);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.near->close(-1);
    one.state.unconfirmed = 10;
    one.state.may_finish = true;
    ASSERT_TRUE(one.it->finish_writing());
    one.it->discard_input();
    one.arrive(message("a") + ping(0, "x"));
    one.pass(10s);
    EXPECT_EQ(one.broken, 0) << "it asks no more whether the peer lives";
    EXPECT_EQ(one.state.output, "");
    one.state.is_reset = true;
    one.state.let_read();
    EXPECT_EQ(one.broken, 1);
}

TEST(connection_end, waits_for_a_sender_that_is_writing) {
    for (const bool is_lost : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.send({"a"});
        one.wants_round = false;
        one.state.in_write = [&] {
            if (is_lost) {
                one.state.is_reset = true;
                one.state.let_read();
                EXPECT_EQ(one.broken, 0) << "while it is used";
            } else {
                EXPECT_FALSE(one.it->let_go(true));
            }
            EXPECT_FALSE(one.it->drain());
            one.wants_round = false;
        };
        (void)one.near->write_now();
        EXPECT_TRUE(one.wants_round) << "the sender says when it has left";
        if (is_lost) {
            one.run();
            EXPECT_EQ(one.broken, 1);
        }
        EXPECT_TRUE(one.it->let_go(true));
    }
}

// ---- the lease ----

TEST(connection_lease, is_granted_and_read_by_the_borrower) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    one.state.input += message("a") + part("b").substr(0, 1);
    EXPECT_TRUE(one.borrowed->read_now(one.borrowers));
    one.take();
    one.leave(false);
    EXPECT_FALSE(one.state.is_leased);
    EXPECT_TRUE(one.state.is_read_awaited);
    one.arrive(part("b").substr(1) + message("c"));
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a", "+b", "=c"}));
}

TEST(connection_lease, is_refused_where_the_loops_thread_is_needed) {
    settings beating = socket_of(socket_type::dealer);
    beating.heartbeat_interval_ms = 1000;
    const struct {
        const char *why;
        settings options;
        bool conflates;
        std::function<void(driven &)> prepare;
    } cases[] = {{"heartbeats", beating, false, [](driven &) {}},
                 {"the newest only", socket_of(socket_type::dealer), true, [](driven &) {}},
                 {"at the mark", socket_of(socket_type::dealer), false,
                  [](driven &one) { one.arrive(message("a") + message("b")); }},
                 {"a time limit of the peer's", socket_of(socket_type::dealer), false,
                  [](driven &one) { one.arrive(ping(100)); }},
                 {"nobody takes what comes", socket_of(socket_type::dealer), false,
                  [](driven &one) { one.it->discard_input(); }}};
    for (const auto &each : cases) {
        SCOPED_TRACE(each.why);
        driven one(each.options, 1, {}, each.conflates);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        each.prepare(one);
        EXPECT_TRUE(one.near->ask_for_lease());
        one.run();
        EXPECT_FALSE(one.state.is_leased);
        EXPECT_TRUE(one.near->is_lease_over());
    }
}

TEST(connection_lease, ends_at_a_command_which_the_loops_thread_obeys) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    one.state.input += message("a") + ping(0, "x") + message("b");
    EXPECT_FALSE(one.borrowed->read_now(one.borrowers));
    EXPECT_EQ(one.state.output, "");
    one.leave(false);
    EXPECT_EQ(one.state.output, pong("x"));
    EXPECT_TRUE(one.state.is_read_awaited);
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a", "=b"}));
}

TEST(connection_lease, ends_at_the_end_of_the_stream_and_with_it_the_connection) {
    for (const bool is_bad : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.borrow();
        one.state.input += message("a") + (is_bad ? octets("\x08\1x", 3) : octets());
        one.state.is_reset = true;
        while (one.borrowed->read_now(one.borrowers)) {
        }
        EXPECT_EQ(one.broken, 0) << "that is for the loop's thread to say";
        one.leave(false);
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.failure == failure_kind::protocol, is_bad);
        EXPECT_EQ(one.reason.system == error::connection_reset, !is_bad);
        ASSERT_NO_FATAL_FAILURE(one.expect({"=a"}));
    }
}

TEST(connection_lease, ends_the_connection_when_the_stream_cannot_be_taken_back) {
    for (const bool is_used : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.borrow();
        one.state.take_back_failure = error::no_memory;
        if (is_used) {
            one.leave(false);
        } else {
            one.borrowed.end(true);
            one.pass(10ms);
        }
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.reason.system, error::no_memory);
        EXPECT_TRUE(one.reason.was_established);
    }
}

TEST(connection_lease, goes_back_unused_and_the_loop_reads_on) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    one.borrowed.end(true);
    one.state.input += message("a");
    one.pass(10ms);
    EXPECT_FALSE(one.state.is_leased);
    one.arrive("");
    ASSERT_NO_FATAL_FAILURE(one.expect({"=a"}));
}

TEST(connection_lease, wakes_a_borrower_for_a_full_stream_and_leaves_the_wait_to_it) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    one.state.room = 2;
    one.socket_woken = 0;
    one.send({"abc"});
    one.wants_round = true;
    one.run();
    EXPECT_EQ(one.socket_woken, 1);
    EXPECT_FALSE(one.state.is_room_awaited);
    one.leave(false);
    EXPECT_TRUE(one.state.is_room_awaited);
    one.make_room(SIZE_MAX);
    EXPECT_EQ(one.state.output, message("abc"));
}

TEST(connection_lease, is_called_back_before_a_failed_write_ends_the_connection) {
    for (const bool is_used : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.borrow();
        if (!is_used)
            one.borrowed.end(true);
        one.state.input += message("a");
        one.state.room = 0;
        one.state.write_failure = error::connection_reset;
        one.send({"in vain"});
        one.wants_round = true;
        one.run();
        EXPECT_EQ(one.broken, !is_used);
        if (is_used) {
            EXPECT_TRUE(one.near->is_recalled());
            one.state.input += message("b");
            EXPECT_TRUE(one.borrowed->read_now(one.borrowers));
            one.state.input += message("c");
            one.leave(true);
        }
        EXPECT_EQ(one.broken, 1);
        ASSERT_NO_FATAL_FAILURE(
            one.expect(is_used ? std::vector<octets>{"=a", "=b", "=c"} : std::vector<octets>{"=a"}));
    }
}

TEST(connection_lease, is_called_back_when_the_connection_is_let_go_of) {
    for (const bool drops_unread : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.borrow();
        one.state.input += message("a");
        EXPECT_FALSE(one.it->let_go(drops_unread));
        EXPECT_FALSE(one.it->let_go(drops_unread));
        EXPECT_TRUE(one.near->is_recalled());
        EXPECT_EQ(one.state.taken + message("a").size(), one.state.input.size()) << "not ours to read";
        one.borrowed.end(true);
        EXPECT_TRUE(one.wants_round) << "the borrower says that it has left";
        EXPECT_TRUE(one.it->let_go(drops_unread));
        EXPECT_FALSE(one.state.is_leased);
        EXPECT_EQ(one.broken, 0);
    }
}

TEST(connection_lease, is_called_back_when_nobody_takes_what_comes_or_all_is_to_be_written) {
    for (const bool discards : {false, true}) {
        driven one(socket_type::dealer);
        ASSERT_NO_FATAL_FAILURE(one.establish());
        one.borrow();
        one.state.input += message("a");
        if (discards) {
            one.near->close(0);  // as a socket does whose borrower is inside
            one.it->discard_input();
        } else {
            EXPECT_FALSE(one.it->drain());
        }
        EXPECT_TRUE(one.near->is_recalled());
        one.leave(true);
        EXPECT_FALSE(one.state.is_leased);
        EXPECT_TRUE(one.it->drain());
        one.arrive("");
        EXPECT_EQ(one.state.taken, one.state.input.size());
        one.take();
        EXPECT_EQ(one.log.size(), discards ? 0u : 1u);
    }
}

TEST(connection_lease, does_not_keep_the_loops_thread_from_writing) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    one.send({"a"});
    one.run();
    EXPECT_EQ(one.state.output, message("a"));
    EXPECT_TRUE(one.state.is_leased);
    one.leave(false);
}

TEST(connection_lease, ends_where_the_offered_memory_is_withdrawn_and_there_is_no_other) {
    driven one(socket_type::dealer);
    ASSERT_NO_FATAL_FAILURE(one.establish());
    one.borrow();
    octets place(100'000, '?');
    one.borrowed->offer({reinterpret_cast<std::uint8_t *>(place.data()), place.size()});
    one.state.input += message(body_of(place.size())).substr(0, 50'000);
    EXPECT_TRUE(one.borrowed->read_now(one.borrowers));
    ASSERT_TRUE(one.borrowed->fills_offer());
    {
        const short_heap none(1, true);
        EXPECT_EQ(short_heap::counted([&] { return one.borrowed->withdraw_offer(); }),
                  reading_half::offer_end::failed);
    }
    one.leave(false);
    EXPECT_EQ(one.broken, 1);
    EXPECT_EQ(one.reason.system, error::no_memory);
}

}  // namespace
}  // namespace zlink
