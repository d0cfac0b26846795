// Both ends of a pipe in one thread: marks, credit, and what is under way.
#include "pipe/pipe.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>

#include "core/debug_counters.hpp"
#include "core/message.hpp"
#include "core/platform.hpp"
#include "pipe_pair.hpp"

namespace zlink {
namespace {

using test::pipe_pair;

/// Takes the next message, of so many octets, as a socket does or as a connection.
void take_one(pipe_end &reader, end_kind as, std::size_t octets) {
    if (as == end_kind::socket) {
        frame_view frame;
        ASSERT_TRUE(reader.read(frame));
        ASSERT_EQ(frame_header_size(frame.size) + frame.size, octets);
        return;
    }
    writing turn = reader.take_turn();
    std::array<iovec, 8> ranges;
    ASSERT_GE(turn.gather(ranges.data(), ranges.size(), octets).octets, octets);
    turn.release(octets);
}

TEST_F(pipe_pair, knows_messages_and_octets_exactly_for_bodies_of_every_kind_and_either_reader) {
    for (const end_kind reads : {end_kind::socket, end_kind::connection}) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{64}, std::size_t{300}, std::size_t{20'000},
                                       frame_queue::own_block_from}) {
            open(0, false, reads);
            amount sent, taken;
            const std::string body(size, 'x');
            const auto expect_all_told = [&] {
                for (const passage &way : {writer->outgoing(), reader->incoming()}) {
                    EXPECT_EQ(way.published, sent) << size;
                    EXPECT_EQ(way.taken, taken) << size;
                    EXPECT_EQ(way.under_way(),
                              (amount{sent.messages - taken.messages, sent.octets - taken.octets}));
                }
                EXPECT_EQ(writer->incoming().published, amount{});
            };
            const auto note = [&](amount &all) {
                all.messages += 1;
                all.octets += frame_header_size(size) + size;
            };
            for (int i = 0; i < 3; ++i) {
                ASSERT_TRUE(send(body));
                note(sent);
                ASSERT_EQ(writer->write_external(0, {}, as_bytes(body)), error::none);
                writer->roll_back();
                expect_all_told();
                ASSERT_EQ(writer->write_external(0, {}, as_bytes(body)), error::none);
                writer->publish();
                note(sent);
                expect_all_told();
            }
            for (; taken.messages < sent.messages; note(taken)) {
                EXPECT_EQ(writer->outgoing().taken.octets, taken.octets);
                take_one(*reader, reads, frame_header_size(size) + size);
            }
            expect_all_told();
        }
    }
}

TEST_F(pipe_pair, notes_its_depth_when_there_is_no_room_and_looks_once_however_often_it_is_asked) {
    open(4);
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(send("x"));
#ifdef ZMQ_DEBUG_COUNTERS
    debug_counters::reset();
#endif
    for (int i = 0; i < 1000; ++i)
        ASSERT_FALSE(writer->has_credit());
#ifdef ZMQ_DEBUG_COUNTERS
    EXPECT_EQ(debug_counters::get(debug_counters::count::depth_looks), 1u);
#endif
    frame_view frame;
    while (reader->read(frame)) {
    }
    EXPECT_EQ(writer->highest_outgoing().messages, 4u);
}

TEST_F(pipe_pair, notes_its_depth_when_it_hears_of_room) {
    for (const bool is_in_octets : {false, true}) {
        SCOPED_TRACE(is_in_octets);
        open(is_in_octets ? 0 : 4);
        if (is_in_octets)
            writer->set_write_octets(12);
        for (int i = 0; i < 4; ++i)
            ASSERT_TRUE(send("x"));
        frame_view frame;
        ASSERT_TRUE(reader->read(frame) && reader->read(frame));
        ASSERT_TRUE(writer->has_credit());
        while (reader->read(frame)) {
        }
        EXPECT_EQ(writer->highest_outgoing(), (amount{2, 2 * 3}));
    }
}

TEST_F(pipe_pair, notes_its_depth_when_a_connection_hears_of_room_that_it_did_not_need) {
    open(4);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(send("x"));
    frame_view frame;
    ASSERT_TRUE(reader->read(frame) && reader->read(frame));
    EXPECT_GT(writer->credit(), 0u);
    while (reader->read(frame)) {
    }
    EXPECT_EQ(writer->highest_outgoing(), (amount{1, 3}));
}

TEST_F(pipe_pair, has_its_depth_noted_by_the_reader_without_a_mark) {
    open(0);
    const std::uint64_t step = readers_account::step(0);
    for (std::uint64_t i = 0; i < step + 3; ++i)
        ASSERT_TRUE(send("x"));
    frame_view frame;
    while (reader->read(frame)) {
    }
    EXPECT_EQ(writer->highest_outgoing(), (amount{3, 3 * 3}));
}

TEST_F(pipe_pair, stops_the_writer_at_the_mark) {
    for (std::uint64_t hwm : {1, 2, 10, 1000}) {
        open(hwm);
        EXPECT_EQ(writer->credit(), hwm);
        for (std::uint64_t i = 0; i < hwm; ++i)
            ASSERT_TRUE(send("x"));
        EXPECT_FALSE(writer->has_credit());
        EXPECT_EQ(writer->credit(), 0u);
    }
}

// ---- marks in octets ----

constexpr std::size_t in_mark = 98;  // octets of a body that is 100 with its header

TEST_F(pipe_pair, lets_a_message_in_while_less_octets_than_the_mark_wait) {
    for (const end_kind reads : {end_kind::socket, end_kind::connection}) {
        open(0, false, reads);
        writer->set_write_octets(1000);
        const std::string body(in_mark, 'x');
        int sent = 0;
        EXPECT_EQ(writer->credit(), 1u);
        for (; send(body); ++sent) {
        }
        EXPECT_EQ(sent, 10);
        EXPECT_EQ(writer->credit(), 0u);
        writer->arm_writer();
        for (int taken = 0; taken < 5; ++taken) {
            EXPECT_EQ(writer_events->writable, reads == end_kind::socket ? 0 : 1);
            take_one(*reader, reads, 100);
        }
        EXPECT_EQ(writer_events->writable, reads == end_kind::socket ? 1 : 2) << "by half the mark";
        for (; send(body); ++sent) {
        }
        EXPECT_EQ(sent, 15);
        writer->set_write_octets(0);
        EXPECT_TRUE(send(body)) << "without a mark";
    }
}

TEST_F(pipe_pair, stops_short_writes_at_the_mark_in_octets) {
    open(0, false, end_kind::socket);
    writer->set_write_octets(10'000);
    const std::string body(in_mark, 'x');
    int sent = 0;
    for (; writer->write_short(as_bytes(body)) || send(body); ++sent)
        allow_short_writes();
    EXPECT_EQ(sent, 100);
}

TEST_F(pipe_pair, is_full_by_the_mark_in_messages_beside_that_in_octets) {
    open(3, false, end_kind::socket);
    reader->set_read_hwm(0);
    reader->set_read_hwm(2);
    reader->set_read_octets(1000);
    int sent = 0;
    for (; send("x"); ++sent) {
    }
    EXPECT_EQ(sent, 5);
}

TEST_F(pipe_pair, reckons_with_marks_in_octets_that_nothing_comes_near) {
    open(0, false, end_kind::socket);
    writer->set_write_octets(UINT64_MAX);
    reader->set_read_octets(UINT64_MAX);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send("x")) << i;
        allow_short_writes();
    }
    EXPECT_TRUE(writer->may_write_short()) << "once it is a stream";
    const pipe_options largest{.first_to_second_octets = UINT64_MAX, .second_to_first_octets = UINT64_MAX};
    const pipe_ends ends = make_pipe(pool, largest);
    ends.second->set_read_octets(1);
    EXPECT_TRUE(ends.first->has_credit());
}

// ---- slow peers ----

TEST_F(pipe_pair, calls_a_peer_slow_that_has_let_it_become_full) {
    open(2);
    EXPECT_FALSE(writer->is_peer_slow()) << "there is none";
    reader->note_peer(true);
    while (send("x")) {
    }
    EXPECT_TRUE(writer->is_peer_slow());
}

TEST_F(pipe_pair, calls_no_peer_slow_that_found_it_full_until_there_was_room) {
    for (const bool is_by_octets : {false, true}) {
        open(is_by_octets ? 0 : 2, false, end_kind::socket);
        if (is_by_octets)
            writer->set_write_octets(200);
        const std::string body(in_mark, 'x');
        while (send(body)) {
        }
        reader->note_peer(true);
        EXPECT_FALSE(writer->is_peer_slow());
        take_one(*reader, end_kind::socket, 100);
        while (send(body)) {
        }
        EXPECT_TRUE(writer->is_peer_slow());
        reader->note_peer(false);
        EXPECT_FALSE(writer->is_peer_slow());
    }
}

// ---- credit ----

TEST_F(pipe_pair, has_no_limit_without_a_mark) {
    open(0);
    for (int i = 0; i < 100000; ++i)
        ASSERT_TRUE(send("x"));
    EXPECT_EQ(writer->credit(), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(pipe_pair, returns_credit_by_half_the_mark) {
    open(10);
    while (send("x")) {
    }
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(receive(), "x");
    EXPECT_EQ(writer->credit(), 0u);
    EXPECT_EQ(receive(), "x");
    EXPECT_EQ(writer->credit(), 5u);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(receive(), "x");
    EXPECT_EQ(writer->credit(), 10u);
}

/// Messages of a burst, so that the writer may leave out what it looks at otherwise.
TEST_F(pipe_pair, stops_short_writes_at_the_mark_and_wakes_the_reader_for_them) {
    constexpr int mark = 200;
    open(mark);
    int sent = 0;
    for (; send("x"); ++sent)
        allow_short_writes();
    ASSERT_EQ(sent, mark);
    EXPECT_FALSE(writer->write_short(as_bytes("x")));
    for (int i = 0; i < mark; ++i)
        ASSERT_EQ(receive(), "x");
    ASSERT_TRUE(send("the long way, as far as the mark was"));
    (void)receive();
    ASSERT_FALSE(arm_and_look());
    ASSERT_TRUE(writer->has_credit());
    allow_short_writes();
    ASSERT_TRUE(writer->write_short(as_bytes("one")));
    EXPECT_EQ(reader_events->readable, 1);
    for (sent = 1; writer->write_short(as_bytes("more")) || send("more"); ++sent)
        allow_short_writes();
    EXPECT_EQ(sent, mark);
    EXPECT_EQ(reader_events->readable, 1);
    short_frame frame;
    ASSERT_TRUE(reader->read_short(frame));
    EXPECT_EQ(as_text({frame.data, frame.size}), "one");
}

TEST_F(pipe_pair, knows_how_much_of_large_bodies_is_under_way_between_sockets) {
    open(0, false, end_kind::socket);
    const std::string large(pipe_end::counted_in_octets_from, 'x'), small(100, 'y');
    ASSERT_TRUE(send(small));
    EXPECT_EQ(writer->backlog().large_octets(), 0u);
    ASSERT_TRUE(send(large));
    ASSERT_TRUE(send(large));
    EXPECT_EQ(writer->backlog().large_octets(), 2 * large.size());
    ASSERT_TRUE(send(large, frame_flag::more));
    EXPECT_EQ(writer->backlog().large_octets(), 2 * large.size());
    writer->roll_back();
    EXPECT_EQ(receive(), small);
    EXPECT_EQ(receive(), large);
    EXPECT_EQ(writer->backlog().large_octets(), large.size());
    EXPECT_EQ(receive(), large);
    EXPECT_EQ(writer->backlog().large_octets(), 0u);
}

/// Sends all kinds of messages with large bodies, of which a connection is always some behind.
class pipe_to_connection : public pipe_pair {
protected:
    static constexpr int rounds = 200;

    void send_round(int round) {
        ASSERT_TRUE(send(small_));
        ASSERT_TRUE(send(large_, frame_flag::more));
        ASSERT_TRUE(send(small_));
        if (round % 3 == 0) {
            ASSERT_TRUE(send(small_, frame_flag::more));
            ASSERT_TRUE(send(large_, frame_flag::more));
            writer->roll_back();
        }
        message moved;
        ASSERT_EQ(moved.init_copy(as_bytes(large_)), error::none);
        ASSERT_EQ(writer->write_external(0, block_ref::share(moved.owner()), moved.body()), error::none);
        writer->publish();
        (void)moved.close();
    }
    std::size_t wire_of_round() const {
        return 2 * (frame_header_size(small_.size()) + small_.size()) +
               2 * (frame_header_size(large_.size()) + large_.size());
    }

    const std::string large_ = std::string(pipe_end::counted_in_octets_from, 'x');
    const std::string small_ = std::string(100, 'y');
};

TEST_F(pipe_to_connection, knows_what_is_under_way_however_long_the_queue_is_never_empty) {
    open(0);
    std::array<iovec, 16> ranges;
    for (int round = 0; round < rounds; ++round) {
        ASSERT_NO_FATAL_FAILURE(send_round(round));
        if (round > 0) {
            writing turn = reader->take_turn();
            ASSERT_GT(turn.gather(ranges.data(), ranges.size(), SIZE_MAX).octets, wire_of_round());
            turn.release(wire_of_round());
        }
        ASSERT_EQ(writer->backlog().large_octets(), wire_of_round());
    }
}

TEST_F(pipe_to_connection, knows_what_is_under_way_where_frames_are_encoded_anew) {
    open(0);
    constexpr int frames_of_round = 4;
    frame_view frame;
    for (int round = 0; round < rounds; ++round) {
        ASSERT_NO_FATAL_FAILURE(send_round(round));
        for (int i = 0; round > 0 && i < frames_of_round; ++i)
            ASSERT_TRUE(reader->take_turn().read(frame));
        ASSERT_EQ(writer->backlog().large_octets(), wire_of_round());
    }
}

TEST_F(pipe_to_connection, knows_what_is_under_way_after_messages_that_were_cut) {
    open(0);
    std::array<iovec, 16> ranges;
    const std::size_t first = frame_header_size(small_.size()) + small_.size();
    const std::size_t last = frame_header_size(large_.size()) + large_.size();
    for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(round);
        ASSERT_NO_FATAL_FAILURE(send_round(round));
        ASSERT_NO_FATAL_FAILURE(send_round(round));
        writing turn = reader->take_turn();
        (void)turn.gather(ranges.data(), ranges.size(), SIZE_MAX);
        const std::size_t cut = 1 + static_cast<std::size_t>(round) * 977 % wire_of_round();
        turn.release(cut);
        turn.drop_cut_message();
        const std::size_t dropped = cut <= first                    ? first
                                    : cut <= wire_of_round() - last ? wire_of_round() - last
                                                                    : wire_of_round();
        ASSERT_EQ(writer->backlog().large_octets(), 2 * wire_of_round() - dropped);
        (void)turn.gather(ranges.data(), ranges.size(), SIZE_MAX);
        turn.release(2 * wire_of_round() - dropped);
        ASSERT_EQ(writer->backlog().large_octets(), 0u);
    }
}

TEST_F(pipe_to_connection, counts_bodies_of_every_kind_as_under_way) {
    for (const end_kind second : {end_kind::connection, end_kind::socket}) {
        open(0, false, second);
        message moved;
        ASSERT_EQ(moved.init_size(12 * 1024), error::none);
        for (int i = 0; i < 200; ++i) {
            ASSERT_EQ(writer->write_external(0, block_ref::share(moved.owner()), moved.body()), error::none);
            writer->publish();
            if (writer->backlog().is_check_due())
                writer->backlog().begin_window();
        }
        (void)moved.close();
        // In memory nobody copies them.
        EXPECT_EQ(writer->backlog().about_octets() > 1024 * 1024, second == end_kind::connection);
    }
}

TEST_F(pipe_pair, knows_about_how_much_is_under_way_long_before_credit_is_due) {
    open(100'000);
    EXPECT_EQ(receive(), "(nothing)");
    constexpr std::uint64_t step = 1024;
    for (std::uint64_t i = 0; i < 5 * step; ++i)
        ASSERT_TRUE(send("x"));
    EXPECT_TRUE(writer->backlog().is_check_due());
    writer->backlog().begin_window();
    constexpr std::uint64_t octets = short_header_size + 1;
    EXPECT_EQ(writer->backlog().about_octets(), 5 * step * octets);
    const std::uint64_t credit = writer->credit();
    for (std::uint64_t taken = 1; taken <= 4 * step; ++taken) {
        ASSERT_EQ(receive(), "x");
        if (taken == 10)
            reader->take_turn().return_due_credit();
        ASSERT_GE(writer->backlog().about_octets(), (5 * step - taken) * octets);
        ASSERT_LE(writer->backlog().about_octets(), (6 * step - taken) * octets);
    }
    EXPECT_EQ(writer->credit(), credit);
}

TEST_F(pipe_pair, owes_the_writer_nothing_once_the_reader_is_armed) {
    open(10);
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(send("x"));
    while (receive() == "x") {
    }
    EXPECT_FALSE(arm_and_look());
    EXPECT_EQ(writer->credit(), 10u);
}

TEST_F(pipe_pair, lets_the_writer_go_on_after_the_mark_was_lowered) {
    open(0);
    ASSERT_TRUE(send("x"));
    EXPECT_EQ(receive(), "x");  // the reader's step is that of a pipe without a mark
    writer->set_write_hwm(2);
    EXPECT_EQ(receive(), "(nothing)");  // looking is enough to settle it
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(send("y"));
        ASSERT_TRUE(send("y"));
        EXPECT_FALSE(writer->has_credit());
        EXPECT_EQ(receive(), "y");
        EXPECT_EQ(receive(), "y");
        EXPECT_EQ(receive(), "(nothing)");
    }
}

TEST_F(pipe_pair, adds_up_the_marks_of_both_ends) {
    open(3);
    EXPECT_EQ(writer->credit(), 3u);
    reader->set_read_hwm(2);
    EXPECT_EQ(writer->credit(), 5u);
    writer->set_write_hwm(1);
    EXPECT_EQ(writer->credit(), 3u);
    reader->set_read_hwm(0);
    EXPECT_EQ(writer->credit(), std::numeric_limits<std::uint64_t>::max());
    reader->set_read_hwm(4);
    writer->set_write_hwm(0);
    EXPECT_EQ(writer->credit(), std::numeric_limits<std::uint64_t>::max());
    // The marks of make_pipe() are those of the first end: what it reads has no share of the second
    // yet.
    EXPECT_EQ(reader->credit(), 3u);
    reader->set_write_hwm(10);
    EXPECT_EQ(reader->credit(), 13u);
}

TEST_F(pipe_pair, wakes_an_armed_writer_when_the_reader_raises_its_mark) {
    open(2);
    while (send("x")) {
    }
    writer->arm_writer();
    reader->set_read_hwm(1);
    EXPECT_EQ(writer_events->writable, 1);
    EXPECT_TRUE(send("x"));
    EXPECT_FALSE(send("x"));
}

TEST_F(pipe_pair, returns_what_was_taken_when_the_reader_lowers_its_mark) {
    open(1);
    reader->set_read_hwm(99);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(send("x"));
        ASSERT_EQ(receive(), "x");
    }
    reader->set_read_hwm(1);
    EXPECT_EQ(writer->credit(), 2u);
}

TEST_F(pipe_pair, returns_credit_though_messages_are_read_at_once) {
    open(10);
    short_frame body{};
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send("x")) << i;
        ASSERT_TRUE(reader->has_input());
        if (!reader->read_at_once(body, 255)) {
            ASSERT_EQ(receive(), "x");
        }
    }
    EXPECT_GE(writer->credit(), 5u);
}

TEST_F(pipe_pair, counts_messages_not_frames_and_no_commands) {
    open(2);
    for (int i = 0; i < 2; ++i) {
        for (int part = 0; part < 5; ++part)
            ASSERT_TRUE(send("part", frame_flag::more));
        ASSERT_TRUE(send("end"));
        ASSERT_EQ(writer->write(frame_flag::command, as_bytes("command")), error::none);
        writer->publish();
    }
    EXPECT_FALSE(writer->has_credit());
    frame_view frame;
    int frames = 0;
    while (reader->read(frame))
        ++frames;
    EXPECT_EQ(frames, 14);
    EXPECT_EQ(writer->credit(), 2u);
}

TEST_F(pipe_pair, gives_the_credit_of_a_rolled_back_message_back) {
    open(3);
    ASSERT_TRUE(send("kept"));
    ASSERT_EQ(writer->write(frame_flag::more, as_bytes("a")), error::none);
    ASSERT_EQ(writer->write(0, as_bytes("b")), error::none);
    ASSERT_EQ(writer->write(0, as_bytes("c")), error::none);
    EXPECT_TRUE(writer->has_unpublished());
    EXPECT_EQ(writer->credit(), 0u);
    writer->roll_back();
    EXPECT_FALSE(writer->has_unpublished());
    EXPECT_EQ(writer->credit(), 2u);
    EXPECT_EQ(receive(), "kept");
    EXPECT_EQ(receive(), "(nothing)");
}

TEST_F(pipe_pair, keeps_exact_credit_through_random_writes_gathers_and_breaks) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const std::uint64_t hwm = 1 + random() % 20;
        open(hwm);
        std::array<iovec, 8> ranges;
        std::string body(300, 'x');
        std::uint64_t sent = 0;
        for (int step = 0; step < 300; ++step) {
            if (random() % 2) {
                while (writer->has_credit() && random() % 4) {
                    const byte_span text = as_bytes(body).first(random() % body.size());
                    for (int parts = random() % 3; parts > 0; --parts)
                        ASSERT_EQ(writer->write(frame_flag::more, text), error::none);
                    if (random() % 8 == 0) {
                        writer->roll_back();
                        continue;
                    }
                    ASSERT_EQ(random() % 4 ? writer->write(0, text) : writer->write_external(0, {}, text),
                              error::none);
                    writer->publish();
                    ++sent;
                }
                continue;
            }
            writing turn = reader->take_turn();
            auto found = turn.gather(ranges.data(), 1 + random() % ranges.size(), 1 + random() % 2000);
            if (found.octets > 0)
                turn.release(random() % 2 ? found.octets : random() % found.octets);
            if (random() % 4 == 0) {
                turn.drop_cut_message();
                frame_view frame;
                while (random() % 3 && reader->read(frame)) {
                    while (frame.has_more()) {
                        ASSERT_TRUE(reader->read(frame));
                    }
                }
            }
            ASSERT_LE(writer->credit(), hwm);
        }
        writing turn = reader->take_turn();
        turn.drop_cut_message();
        for (frame_queue::gathered found; (found = turn.gather(ranges.data(), 8, 1000)).octets > 0;)
            turn.release(found.octets);
        ASSERT_FALSE(arm_and_look());
        ASSERT_EQ(writer->credit(), hwm);
        ASSERT_GT(sent, 0u);
    }
}

TEST_F(pipe_pair, wakes_an_armed_writer_once) {
    open(2);
    while (send("x")) {
    }
    writer->arm_writer();
    heavy_fence();
    ASSERT_FALSE(writer->has_credit());
    EXPECT_EQ(receive(), "x");
    EXPECT_EQ(receive(), "x");
    EXPECT_EQ(writer_events->writable, 1);
    EXPECT_EQ(writer_events->last, writer.get());
    EXPECT_TRUE(writer->has_credit());
}

}  // namespace
}  // namespace zlink
