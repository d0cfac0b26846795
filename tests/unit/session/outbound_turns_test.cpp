// Tests who writes, who waits for a full stream, and what may wait for more.
#include "session/outbound.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepped_writer.hpp"
#include "web_script.hpp"

namespace zlink {
namespace {

using namespace test;

/// A writer that has everything still to write, in each form and for each place where the stream
/// may stop it.
template <class Look>
void at_each_cut(bool is_leased, Look &&look) {
    for (const form &how : forms()) {
        const octets wire = all_said(how);
        for (const std::size_t cut : places(wire)) {
            if (cut == wire.size())
                continue;
            SCOPED_TRACE(::testing::Message() << how.name << " " << cut << (is_leased ? " leased" : ""));
            writer it(socket_type::dealer, how.first_words);
            EXPECT_EQ(it.write(), written::all);
            ASSERT_TRUE(!is_leased || it.out->lease_out());
            for (const frames &each : said())
                it.send(each);
            look(it, wire, cut);
        }
    }
}

// ---- senders that write for themselves ----

TEST(outbound, is_written_by_the_sender_once_the_handshake_is_out) {
    writer it;
    it.send({"a"});
    EXPECT_FALSE(it.near->write_now());
    it.peer->output().assign(5, 'R');
    it.state.room = 3;
    EXPECT_EQ(it.write_all(), written::refused);
    EXPECT_FALSE(it.near->write_now()) << "the handshake is not over";
    EXPECT_EQ(it.write_on(), written::all);
    it.send({"b", "c"});
    EXPECT_TRUE(it.near->write_now());
    EXPECT_EQ(it.state.output, octets(5, 'R') + message("a") + part("b") + message("c"));
    EXPECT_EQ(it.write(), written::all);
}

TEST(outbound, is_written_by_the_loops_thread_alone_while_a_command_waits) {
    at_each_cut(false, [](writer &it, const octets &wire, std::size_t cut) {
        it.state.until_busy = cut;
        EXPECT_EQ(it.write_all(), written::held);
        it.peer->output().assign(5, 'R');
        EXPECT_EQ(it.write_all(), written::held);
        it.state.until_busy = SIZE_MAX;
        EXPECT_FALSE(it.near->write_now());
        EXPECT_EQ(it.state.output, wire.substr(0, cut)) << "else it might never come to the end of a message";
        EXPECT_EQ(it.write_all(), written::all);
        EXPECT_EQ(it.state.output.size(), wire.size() + 5);
        it.send({"b"});
        EXPECT_TRUE(it.near->write_now());
    });
}

TEST(outbound, says_that_all_is_written_only_when_it_is_though_a_command_begins_to_wait_meanwhile) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    octets wire;
    for (const char fill : {'a', 'b', 'c', 'd'}) {
        const octets body(200'000, fill);
        it.send({body});
        wire += message(body);
    }
    it.state.in_write = [&] {
        it.peer->output().assign(5, 'R');
        EXPECT_EQ(it.write_at_once(), written::refused) << "the sender has the turn";
    };
    EXPECT_TRUE(it.near->write_now());
    EXPECT_EQ(it.state.output.size(), wire.size());
    EXPECT_EQ(it.write_all(), written::all);
    EXPECT_TRUE(it.state.output == wire + octets(5, 'R'));
}

TEST(outbound, leaves_a_stream_that_the_sender_found_full_to_the_loops_thread) {
    at_each_cut(false, [](writer &it, const octets &wire, std::size_t cut) {
        it.state.room = cut;
        it.loop_woken = 0;
        while (!it.out->is_full())
            EXPECT_FALSE(it.near->write_now());
        EXPECT_GE(it.loop_woken, 1);
        EXPECT_TRUE(it.out->has_work());
        it.state.room = SIZE_MAX;
        EXPECT_FALSE(it.near->write_now());
        EXPECT_EQ(it.state.output, wire.substr(0, cut)) << "it waits for the stream";
        EXPECT_FALSE(it.state.is_room_awaited) << "which is for the loop's thread to do";
        EXPECT_EQ(it.write(), written::refused);
        EXPECT_EQ(it.write_on(), written::all);
        EXPECT_TRUE(it.state.output == wire);
    });
}

TEST(outbound, has_who_leased_a_full_stream_wait_for_it) {
    at_each_cut(true, [](writer &it, const octets &wire, std::size_t cut) {
        it.state.room = cut;
        EXPECT_EQ(it.write_all(), written::full);
        EXPECT_EQ(it.write_all(), written::refused);
        EXPECT_FALSE(it.state.is_room_awaited);
        // The borrower finds room, a little and then all of it.
        it.state.room = 2;
        (void)it.near->write_now(connection_port::occasion::ready);
        it.state.room = SIZE_MAX;
        while (!it.near->write_now(connection_port::occasion::ready)) {
        }
        EXPECT_TRUE(it.state.output == wire);
        it.out->end_lease();
        EXPECT_EQ(it.write(), written::all);
        EXPECT_FALSE(it.state.is_room_awaited);
        EXPECT_TRUE(it.out->is_drained());
    });
}

TEST(outbound, waits_for_a_full_stream_itself_once_a_lease_is_over) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    ASSERT_TRUE(it.out->lease_out());
    it.send({"abc"});
    it.state.room = 2;
    EXPECT_EQ(it.write(), written::full);
    it.out->end_lease();
    EXPECT_EQ(it.write(), written::refused);
    EXPECT_EQ(it.write_on(), written::all);
    EXPECT_EQ(it.state.output, message("abc"));
}

TEST(outbound, is_not_leased_while_there_is_something_that_only_the_loops_thread_may_do) {
    writer it;
    EXPECT_FALSE(it.out->lease_out()) << "the handshake is not written out";
    EXPECT_EQ(it.write(), written::all);
    it.peer->output().push_back('P');
    EXPECT_FALSE(it.out->lease_out());
    EXPECT_EQ(it.write(), written::all);
    {
        const writing turn = it.far->take_turn();
        EXPECT_FALSE(it.out->lease_out());
    }
    EXPECT_TRUE(it.out->lease_out());
    it.out->end_lease();
    it.out->finish();
    EXPECT_TRUE(it.out->is_finished());
    EXPECT_FALSE(it.out->lease_out());
}

// ---- streams that another thread is at ----

TEST(outbound, comes_back_in_a_moment_to_a_stream_that_another_thread_is_at) {
    for (const bool is_leased : {false, true}) {
        at_each_cut(is_leased, [](writer &it, const octets &wire, std::size_t cut) {
            it.state.until_busy = cut;
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(it.write_all(), written::held);
                EXPECT_EQ(it.out->due(), it.io.now() + write_policy::pause_for_others);
                EXPECT_EQ(it.state.output, wire.substr(0, cut));
                EXPECT_FALSE(it.out->is_full());
                EXPECT_TRUE(it.out->is_held_up());
            }
            EXPECT_FALSE(it.state.is_room_awaited) << "there is room all the time";
            it.state.until_busy = SIZE_MAX;
            EXPECT_EQ(it.write_all(), written::all);
            EXPECT_TRUE(it.state.output == wire);
            EXPECT_FALSE(it.out->is_held_up());
        });
    }
}

TEST(outbound, goes_on_at_once_once_the_thread_that_was_at_the_stream_writes) {
    at_each_cut(true, [](writer &it, const octets &wire, std::size_t cut) {
        it.state.until_busy = cut;
        EXPECT_EQ(it.write_all(), written::held);
        it.state.until_busy = SIZE_MAX;
        while (!it.near->write_now(connection_port::occasion::ready)) {
        }
        EXPECT_TRUE(it.state.output == wire);
        EXPECT_FALSE(it.out->is_held_up());
        EXPECT_EQ(it.write(), written::all);
    });
}

TEST(outbound, has_the_loops_thread_write_what_a_sender_cannot_while_that_thread_is_at_the_stream) {
    at_each_cut(false, [](writer &it, const octets &wire, std::size_t cut) {
        it.state.until_busy = cut;
        do {
            it.loop_woken = 0;
            EXPECT_FALSE(it.near->write_now());
            EXPECT_EQ(it.loop_woken, 1);
        } while (!it.out->is_held_up());
        EXPECT_EQ(it.state.output, wire.substr(0, cut));
        EXPECT_FALSE(it.out->is_full());
        it.state.until_busy = SIZE_MAX;
        EXPECT_EQ(it.write_all(), written::all);
        EXPECT_TRUE(it.state.output == wire);
        EXPECT_FALSE(it.out->is_held_up());
    });
}

TEST(outbound, wakes_a_borrower_that_found_room_while_the_loops_thread_had_the_turn) {
    for (const bool is_leased : {false, true}) {
        writer it;
        EXPECT_EQ(it.write(), written::all);
        ASSERT_TRUE(!is_leased || it.out->lease_out());
        it.send({"abc"});
        it.state.room = 2;
        it.state.in_write = [&] {
            it.state.room = SIZE_MAX;
            EXPECT_FALSE(it.near->write_now(connection_port::occasion::ready));
            EXPECT_TRUE(it.near->awaits_turn());
            it.socket_woken = 0;
        };
        (void)it.write_at_once();
        EXPECT_FALSE(it.near->awaits_turn());
        EXPECT_EQ(it.socket_woken, is_leased);
        EXPECT_TRUE(it.out->is_full()) << "which it was when it was written to";
        EXPECT_EQ(it.near->write_now(connection_port::occasion::ready), true);
        EXPECT_EQ(it.state.output, message("abc"));
        EXPECT_FALSE(it.near->awaits_turn());
    }
}

TEST(outbound, fills_pieces_where_more_comes_soon) {
    batching sizes;
    sizes.piece = 100;
    writer it(socket_type::dealer, {}, 0, sizes);
    EXPECT_EQ(it.write(), written::all);
    it.send({body_of(50)});
    it.send({body_of(60)});
    it.send({body_of(150)});
    EXPECT_FALSE(it.near->write_now(connection_port::occasion::stream));
    EXPECT_EQ(it.state.output.size(), 200u) << "whole pieces";
    it.peer->output().assign(3, 'P');
    EXPECT_EQ(it.write_all(), written::all);
    EXPECT_EQ(it.state.output,
              message(body_of(50)) + message(body_of(60)) + message(body_of(150)) + octets(3, 'P'));
}

TEST(outbound, fills_pieces_with_what_is_translated_later) {
    batching sizes;
    sizes.piece = 1000;
    writer it(socket_type::dealer,
              testing::web_request() + testing::masked_zws(2, testing::ready_body("DEALER")), 0, sizes, false,
              &testing::a_place);
    EXPECT_EQ(it.write(), written::all);
    (void)it.take_output();
    octets wire;
    const auto send = [&](int count, char what) {
        for (; count > 0; --count) {
            it.send({octets(50, what)});
            wire += testing::zws(0, octets(50, what));
        }
        EXPECT_FALSE(it.near->write_now(connection_port::occasion::stream));
        EXPECT_TRUE(it.state.output == wire.substr(0, it.state.output.size()));
    };
    send(30, 'a');
    EXPECT_EQ(it.state.output.size(), 1000u);
    send(10, 'b');
    EXPECT_EQ(it.state.output.size(), 2000u);
    send(40, 'c');
    EXPECT_EQ(it.state.output.size(), 4000u);
    // Control octets wait for the end of what was begun, and not for what came later.
    const octets begun = wire;
    it.send({"later"});
    it.peer->output().assign(3, 'P');
    EXPECT_EQ(it.write_all(), written::all);
    EXPECT_TRUE(it.state.output == begun + "PPP" + testing::zws(0, "later"));
}

TEST(outbound, comes_back_later_for_what_a_sender_in_a_stream_may_leave) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    it.send({body_of(20'000)});
    EXPECT_TRUE(it.near->write_now());
    it.send({"left"});
    EXPECT_EQ(it.write_at_once(), written::held);
    EXPECT_GT(it.out->due(), it.io.now());
    EXPECT_EQ(it.write_at_once(), written::all) << "it has written nothing since";
    it.send({body_of(20'000)});
    EXPECT_TRUE(it.near->write_now());
    it.send({"left"});
    it.peer->output().push_back('P');
    EXPECT_EQ(it.write_at_once(), written::all) << "control octets do not wait";
    it.send({body_of(20'000)});
    EXPECT_TRUE(it.near->write_now());
    it.send({body_of(200'000)});
    EXPECT_NE(it.write_at_once(), written::held) << "nor does much";
}

TEST(outbound, comes_back_later_for_what_is_translated_and_does_not_fill_a_piece) {
    batching sizes;
    sizes.piece = 15'000;
    writer it(socket_type::dealer,
              testing::web_request() + testing::masked_zws(2, testing::ready_body("DEALER")), 0, sizes, false,
              &testing::a_place);
    EXPECT_EQ(it.write(), written::all);
    const octets both = testing::zws(0, body_of(20'000)) + testing::zws(0, body_of(20'000, 1));
    it.send({body_of(20'000)});
    it.send({body_of(20'000, 1)});
    EXPECT_FALSE(it.near->write_now(connection_port::occasion::stream));
    EXPECT_EQ(it.state.output.size(), 30'000u) << "whole pieces";
    EXPECT_EQ(it.write_at_once(), written::held);
    EXPECT_EQ(it.state.output.size(), 30'000u);
    EXPECT_EQ(it.write_all(), written::all);
    EXPECT_TRUE(it.state.output == both);
    it.send({body_of(20'000)});
    it.send({body_of(20'000)});
    EXPECT_FALSE(it.near->write_now(connection_port::occasion::stream));
    it.send({body_of(120'000)});
    EXPECT_NE(it.write_at_once(), written::held) << "together it is much";
}

TEST(outbound, does_not_look_drained_while_it_holds_what_it_found_before_it_slept) {
    writer it(socket_type::dealer, frame_1_0("you"));
    EXPECT_EQ(it.write(), written::all);
    it.far->note_peer(true);
    EXPECT_TRUE(it.near->is_all_out());
    it.send({"hello"});
    it.far->arm_reader();  // its sender has looked before that, and has not seen it
    it.state.room = 2;
    EXPECT_EQ(it.write_all(), written::refused);
    EXPECT_EQ(it.near->outgoing().under_way().messages, 0u) << "it is taken, and translated";
    EXPECT_FALSE(it.near->is_all_out());
    EXPECT_EQ(it.write_on(), written::all);
    EXPECT_TRUE(it.near->is_all_out());
}

TEST(outbound, lets_small_messages_of_a_stream_come_together) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    written last = written::all;
    for (int i = 0; i < 10 && last != written::held; ++i) {
        it.send({"a"});
        last = it.write_at_once();
    }
    ASSERT_EQ(last, written::held);
    EXPECT_GT(it.out->due(), it.io.now());
    const std::size_t before = it.state.output.size();
    for (int i = 0; i < 20; ++i)
        it.send({"b"});
    it.io.time = it.out->due();
    last = it.write_at_once();
    EXPECT_EQ(it.state.output.size(), before + 60);
    it.peer->output().push_back('P');
    EXPECT_EQ(it.write_at_once(), written::all) << "control octets do not wait";
    EXPECT_EQ(it.state.output.size(), before + 61);
}

TEST(outbound, does_not_let_messages_wait_where_the_sender_would_soon_be_at_its_mark) {
    writer it(socket_type::dealer, {}, 100);
    EXPECT_EQ(it.write(), written::all);
    for (int i = 0; i < 20; ++i) {
        it.send({"a"});
        EXPECT_EQ(it.write(), written::all);
    }
}

TEST(outbound, stops_while_another_thread_writes_which_calls_when_it_has_done) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    it.state.in_write = [&] {
        it.loop_woken = 0;
        EXPECT_EQ(it.write(), written::refused);
        EXPECT_FALSE(it.out->has_work());
        EXPECT_FALSE(it.out->close()) << "there is a writer";
        EXPECT_EQ(it.loop_woken, 0);
    };
    it.send({"a"});
    (void)it.near->write_now();
    EXPECT_GE(it.loop_woken, 1);
    EXPECT_TRUE(it.out->close());
}

}  // namespace
}  // namespace zlink
