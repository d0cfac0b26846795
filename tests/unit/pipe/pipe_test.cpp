// Both ends of a pipe in one thread: credit, wake-ups, roll-back, conflation and the end.
#include "pipe/pipe.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/message.hpp"
#include "core/platform.hpp"
#include "lone_thread.hpp"
#include "written_connection.hpp"

namespace zlink {
namespace {

struct recorder final : pipe_events {
    int readable = 0;
    int writable = 0;
    int closed = 0;
    pipe_end *last = nullptr;

    void on_readable(pipe_end &end) noexcept override { ++readable, last = &end; }
    void on_writable(pipe_end &end) noexcept override { ++writable, last = &end; }
    void on_closed(pipe_end &end) noexcept override { ++closed, last = &end; }
};

class pipe_pair : public ::testing::Test {
protected:
    void open(std::uint64_t hwm, bool conflate = false, end_kind second = end_kind::connection) {
        auto ends = make_pipe(pool, {hwm, hwm, conflate, {}, second});
        writer = ends.first;
        reader = ends.second;
        writer->set_events(writer_events);
        reader->set_events(reader_events);
    }
    /// A pipe whose writer writes once so many octets have come together.
    void open_with_batch(std::size_t octets) {
        pipe_options options;
        options.sizes.senders_batch_size = octets;
        auto ends = make_pipe(pool, options);
        writer = ends.first;
        reader = ends.second;
    }
    void TearDown() override {
        writer.reset();
        reader.reset();
        EXPECT_EQ(pool.use_count(), 1);
    }
    /// As a socket does before each message that takes the long way.
    void allow_short_writes() {
        if (writer->is_backlog_check_due())
            writer->begin_backlog_window();
        writer->allow_short_writes();
    }
    bool send(std::string_view text, std::uint8_t flags = 0) {
        if (!writer->has_credit())
            return false;
        EXPECT_EQ(writer->write(flags, as_bytes(text)), error::none);
        if (!(flags & frame_flag::more))
            writer->publish();
        return true;
    }
    std::string receive() {
        frame_view frame;
        return reader->read(frame) ? std::string(as_text(frame.body())) : "(nothing)";
    }
    bool arm_and_look() {
        reader->arm_reader();
        heavy_fence();
        return reader->has_input();
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::shared_ptr<recorder> writer_events = std::make_shared<recorder>();
    std::shared_ptr<recorder> reader_events = std::make_shared<recorder>();
    pipe_end_ptr writer;
    pipe_end_ptr reader;
};

TEST_F(pipe_pair, keeps_little_memory_while_its_reader_sleeps_after_each_message) {
    open(0);
    const std::string text(64, 'x');
    frame_view frame;
    const auto in_lock_step = [&](int messages) {
        for (int i = 0; i < messages; ++i) {
            ASSERT_FALSE(arm_and_look());
            ASSERT_TRUE(send(text));
            ASSERT_TRUE(reader->read(frame));
        }
    };
    in_lock_step(5000);
    EXPECT_LE(frame.owner_size, 2048u);
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(send(text));
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(reader->read(frame));
    EXPECT_GE(frame.owner_size, 65536u) << "in a stream it takes more";
    in_lock_step(2000);
    EXPECT_LE(frame.owner_size, 2048u) << "and gives it back";
}

TEST_F(pipe_pair, carries_messages_both_ways) {
    open(0);
    ASSERT_TRUE(send("there"));
    ASSERT_EQ(reader->write(0, as_bytes("back")), error::none);
    reader->publish();
    EXPECT_EQ(receive(), "there");
    frame_view frame;
    ASSERT_TRUE(writer->read(frame));
    EXPECT_EQ(as_text(frame.body()), "back");
    EXPECT_EQ(receive(), "(nothing)");
}

TEST_F(pipe_pair, says_who_has_the_other_end) {
    open(0);
    EXPECT_EQ(writer->other_kind(), end_kind::connection);
    EXPECT_EQ(reader->other_kind(), end_kind::socket);
    open(0, false, end_kind::socket);
    EXPECT_EQ(writer->other_kind(), end_kind::socket);
    EXPECT_EQ(reader->other_kind(), end_kind::socket);
}

TEST_F(pipe_pair, gives_events_a_pointer_that_keeps_both_ends) {
    open(0);
    std::weak_ptr<pipe_end> watch = writer;
    pipe_end_ptr again = reader->shared_from_this();
    EXPECT_EQ(again, reader);
    writer.reset();
    reader.reset();
    EXPECT_FALSE(watch.expired());
    again.reset();
    EXPECT_TRUE(watch.expired());
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

TEST_F(pipe_pair, refuses_short_ways_for_all_that_is_not_one_small_frame) {
    open(0);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send("x"));
        ASSERT_EQ(receive(), "x");
    }
    allow_short_writes();
    EXPECT_TRUE(writer->write_short({}));
    EXPECT_FALSE(writer->write_short(as_bytes(std::string(frame_queue::longest_short + 1, 'x'))));
    short_frame frame;
    EXPECT_TRUE(reader->read_short(frame));
    EXPECT_EQ(frame.size, 0u);
    EXPECT_FALSE(reader->read_short(frame));
    ASSERT_TRUE(send("a", frame_flag::more));
    ASSERT_TRUE(send("b"));
    EXPECT_FALSE(reader->read_short(frame));
    EXPECT_EQ(receive(), "a");
    ASSERT_TRUE(send(std::string(frame_queue::longest_short + 1, 'x')));
    EXPECT_EQ(receive(), "b");
    EXPECT_FALSE(reader->read_short(frame));
    open(0, true);
    ASSERT_TRUE(send("x"));
    allow_short_writes();
    EXPECT_FALSE(writer->write_short(as_bytes("x")));
}

TEST_F(pipe_pair, knows_how_much_of_large_bodies_is_under_way_between_sockets) {
    open(0, false, end_kind::socket);
    const std::string large(pipe_end::counted_in_octets_from, 'x'), small(100, 'y');
    ASSERT_TRUE(send(small));
    EXPECT_EQ(writer->large_under_way(), 0u);
    ASSERT_TRUE(send(large));
    ASSERT_TRUE(send(large));
    EXPECT_EQ(writer->large_under_way(), 2 * large.size());
    ASSERT_TRUE(send(large, frame_flag::more));
    EXPECT_EQ(writer->large_under_way(), 2 * large.size());
    writer->roll_back();
    EXPECT_EQ(receive(), small);
    EXPECT_EQ(receive(), large);
    EXPECT_EQ(writer->large_under_way(), large.size());
    EXPECT_EQ(receive(), large);
    EXPECT_EQ(writer->large_under_way(), 0u);
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
        ASSERT_EQ(writer->large_under_way(), wire_of_round());
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
        ASSERT_EQ(writer->large_under_way(), wire_of_round());
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
        ASSERT_EQ(writer->large_under_way(), 2 * wire_of_round() - dropped);
        (void)turn.gather(ranges.data(), ranges.size(), SIZE_MAX);
        turn.release(2 * wire_of_round() - dropped);
        ASSERT_EQ(writer->large_under_way(), 0u);
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
            if (writer->is_backlog_check_due())
                writer->begin_backlog_window();
        }
        (void)moved.close();
        // In memory nobody copies them.
        EXPECT_EQ(writer->about_under_way() > 1024 * 1024, second == end_kind::connection);
    }
}

TEST_F(pipe_pair, knows_about_how_much_is_under_way_long_before_credit_is_due) {
    open(100'000);
    EXPECT_EQ(receive(), "(nothing)");
    constexpr std::uint64_t step = 1024;
    for (std::uint64_t i = 0; i < 5 * step; ++i)
        ASSERT_TRUE(send("x"));
    EXPECT_TRUE(writer->is_backlog_check_due());
    writer->begin_backlog_window();
    constexpr std::uint64_t octets = short_header_size + 1;
    EXPECT_EQ(writer->about_under_way(), 5 * step * octets);
    const std::uint64_t credit = writer->credit();
    for (std::uint64_t taken = 1; taken <= 4 * step; ++taken) {
        ASSERT_EQ(receive(), "x");
        if (taken == 10)
            reader->take_turn().return_due_credit();
        ASSERT_GE(writer->about_under_way(), (5 * step - taken) * octets);
        ASSERT_LE(writer->about_under_way(), (6 * step - taken) * octets);
    }
    EXPECT_EQ(writer->credit(), credit);
}

TEST_F(pipe_pair, measures_messages_with_all_their_frames) {
    open(0);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(send(std::string(100, 'a'), frame_flag::more));
        ASSERT_TRUE(send(std::string(300, 'b')));
    }
    writer->begin_backlog_window();
    EXPECT_EQ(writer->about_under_way(), 10 * (short_header_size + 100 + long_header_size + 300));
}

TEST_F(pipe_pair, ends_short_writes_when_a_step_is_due) {
    open(0);
    const std::string body(8192, 'x');
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(send(body));
    writer->begin_backlog_window();
    EXPECT_FALSE(writer->is_backlog_check_due());
    writer->allow_short_writes();
    std::size_t written = 0;
    for (; !writer->is_backlog_check_due(); written += body.size())
        ASSERT_TRUE(writer->write_short(as_bytes(body)) || send(body));
    EXPECT_FALSE(writer->may_write_short());
    writer->allow_short_writes();
    EXPECT_FALSE(writer->may_write_short()) << "before somebody looked";
    EXPECT_GE(written, 500'000u);
    EXPECT_LE(written, 525'000u);
    writer->begin_backlog_window();
    writer->allow_short_writes();
    EXPECT_TRUE(writer->may_write_short());
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

/// A connection that takes all there is, once its stream is not full.
struct taker final : test::written_connection {
    using written_connection::written_connection;

    written write_now(writing &turn, occasion) noexcept override {
        std::array<iovec, 4> ranges;
        last_taken = 0;
        if (full_times > 0) {
            --full_times;
            return written::full;
        }
        for (std::size_t taken; (taken = turn.gather(ranges.data(), ranges.size(), SIZE_MAX).octets) > 0;) {
            turn.release(taken);
            last_taken += taken;
        }
        ++writes;
        turn.return_due_credit();
        return written::all;
    }

    int writes = 0;
    int full_times = 0;
    std::size_t last_taken = 0;  // octets
};

TEST_F(pipe_pair, tells_a_connection_that_is_just_writing_when_its_sender_goes_to_wait) {
    open(0);
    taker connection(*reader);
    writing turn = reader->take_turn();
    ASSERT_TRUE(turn);
    ASSERT_TRUE(send("x"));
    EXPECT_FALSE(turn.give());
    turn = reader->take_turn();
    ASSERT_TRUE(turn);
    writer->flush_remainder();
    EXPECT_EQ(connection.writes, 0);
    EXPECT_TRUE(turn.give());
    writer->flush_remainder();
    EXPECT_EQ(connection.writes, 1);
}

TEST_F(pipe_pair, gives_the_write_turn_back_with_the_last_that_holds_it) {
    open(0);
    {
        writing turn = reader->take_turn();
        ASSERT_TRUE(turn);
        EXPECT_FALSE(reader->take_turn());
        writing moved = std::move(turn);
        EXPECT_FALSE(turn);
        EXPECT_FALSE(reader->take_turn());
        writing last;
        last = std::move(moved);
        EXPECT_FALSE(reader->claim_turn());
        EXPECT_TRUE(last.is_claimed());
    }
    EXPECT_FALSE(reader->take_turn()) << "it is left to who claimed it";
    writing turn = reader->claim_turn();
    ASSERT_TRUE(turn);
    turn = {};
    EXPECT_TRUE(reader->take_turn());
}

TEST_F(pipe_pair, has_no_server_once_the_turn_was_claimed) {
    open(0);
    taker connection(*reader);
    EXPECT_EQ(reader->take_turn().server(), &connection);
    EXPECT_EQ(reader->claim_turn().server(), nullptr);
    EXPECT_FALSE(writer->write_now());
    EXPECT_EQ(connection.writes, 0);
}

TEST_F(pipe_pair, writes_for_itself_whenever_a_batch_has_come_together) {
    constexpr std::size_t batch = 64'000;
    open_with_batch(batch);
    taker connection(*reader);
    test::lone_thread thread;
    pace stream(platform::steady_clock(), thread);
    writer->set_pace(&stream);
    for (const std::size_t size : {80, 255, 256, 3000, 15'000, 100}) {
        SCOPED_TRACE(size);
        const std::string body(size, 'x');
        const std::size_t wire = frame_header_size(size) + size;
        for (const int until = connection.writes + 2; connection.writes < until;)
            ASSERT_TRUE(send(body));  // by the sizes before
        for (int i = 0; i < 10; ++i) {
            std::size_t sent = 0;
            for (const int before = connection.writes; connection.writes == before; sent += wire) {
                ASSERT_LE(sent, batch);
                allow_short_writes();
                ASSERT_TRUE(writer->write_short(as_bytes(body)) || send(body));
            }
            ASSERT_EQ(connection.last_taken, sent);
            ASSERT_GT(sent, batch - batch / 10 - wire);
            ASSERT_LE(sent, batch);
        }
    }
}

TEST_F(pipe_pair, counts_octets_of_a_batch_as_they_are_on_the_wire) {
    constexpr std::size_t batch = 64'000;
    constexpr std::size_t growth = 5;
    constexpr std::size_t size = 64;
    constexpr std::size_t wire = short_header_size + size + growth;
    open_with_batch(batch);
    taker connection(*reader);
    reader->take_turn().expect_growth(growth);
    test::lone_thread thread;
    pace stream(platform::steady_clock(), thread);
    writer->set_pace(&stream);
    while (connection.writes < 2)
        ASSERT_TRUE(send(std::string(size, 'x')));
    std::size_t sent = 0;
    for (; connection.writes < 3; sent += wire)
        ASSERT_TRUE(send(std::string(size, 'x')));
    EXPECT_LE(sent, batch);
    EXPECT_GT(sent, batch - 2 * batch / 100);
}

TEST_F(pipe_pair, writes_for_itself_before_it_is_at_its_mark) {
    constexpr int mark = 50;
    open(mark);
    taker connection(*reader);
    test::lone_thread thread;
    pace stream(platform::steady_clock(), thread);
    writer->set_pace(&stream);
    for (int i = 0; i < 20 * mark; ++i) {
        allow_short_writes();
        ASSERT_TRUE(writer->may_write_short() || writer->has_credit()) << i;
        ASSERT_TRUE(writer->write_short(as_bytes("x")) || send("x")) << i;
    }
    EXPECT_LE(connection.writes, 20 + 5);
}

/// A clock that goes on by a microsecond each time it is asked.
struct microsecond_clock final : clock_source {
    time_point now() const noexcept override { return at += std::chrono::microseconds(1); }
    mutable time_point at{std::chrono::hours(1)};
};

TEST_F(pipe_pair, looks_for_room_for_the_end_of_a_message_that_fills_the_stream) {
    constexpr int always = 10'000;
    const std::string large(100'000, 'x');
    open(0);
    taker connection(*reader);
    const microsecond_clock clock;
    test::lone_thread thread(true);
    pace looking(clock, thread);
    writer->set_pace(&looking);
    const auto looks_of_send = [&] {
        connection.full_times = always;
        EXPECT_TRUE(send(large));
        return always - connection.full_times;
    };
    connection.full_times = 20;
    ASSERT_TRUE(send(large));
    EXPECT_EQ(connection.full_times, 0);
    EXPECT_EQ(connection.last_taken, long_header_size + large.size());
    EXPECT_EQ(reader_events->readable, 0);

    looking.set_may_wait(false);
    EXPECT_EQ(looks_of_send(), 1);
    connection.full_times = 0;
    ASSERT_TRUE(writer->write_now());
    reader_events->readable = 0;
    looking.set_may_wait(true);

    const int most = looks_of_send();
    EXPECT_GT(most, 50);
    EXPECT_LT(most, 150);
    EXPECT_EQ(reader_events->readable, 1) << "who goes on must be told";
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(looks_of_send(), 1) << "messages are under way before this one";
    connection.full_times = 0;
    ASSERT_TRUE(writer->write_now());

    test::lone_thread busy;
    pace alone(clock, busy);
    writer->set_pace(&alone);
    EXPECT_EQ(looks_of_send(), 1);
    connection.full_times = 0;
}

/// A stream whose last writer found it full is not written to until somebody says that it is ready.
struct full_stream final : test::written_connection {
    using written_connection::written_connection;

    written write_now(writing &turn, occasion when) noexcept override {
        if (is_full_ && when != occasion::ready)
            return written::refused;
        ++writes;
        is_full_ = !has_room;
        if (is_full_)
            return written::full;
        std::array<iovec, 4> ranges;
        while (const std::size_t taken = turn.gather(ranges.data(), ranges.size(), SIZE_MAX).octets)
            turn.release(taken);
        return written::all;
    }
    bool is_full() const noexcept override { return is_full_; }

    bool has_room = false;
    bool is_full_ = false;
    int writes = 0;
};

TEST_F(pipe_pair, a_borrower_that_goes_on_sending_writes_again_to_a_stream_that_was_full) {
    const std::string body(20'000, 'x');  // written alone
    for (const bool is_leased : {true, false}) {
        SCOPED_TRACE(is_leased);
        open(0);
        full_stream connection(*reader);
        microsecond_clock clock;
        test::lone_thread thread;
        pace sending(clock, thread);
        sending.set_may_wait(false);
        writer->set_pace(&sending);
        if (is_leased) {
            ASSERT_TRUE(writer->ask_for_lease());
            reader->lease().grant();
        }
        ASSERT_TRUE(send(body));
        ASSERT_TRUE(connection.is_full());
        connection.has_room = true;
        const int writes = connection.writes;
        clock.at += std::chrono::microseconds(50);
        ASSERT_TRUE(send(body));
        EXPECT_EQ(connection.writes, writes) << "so soon";
        clock.at += std::chrono::microseconds(50);
        ASSERT_TRUE(send(body));
        EXPECT_EQ(connection.writes, is_leased ? writes + 1 : writes);
        EXPECT_EQ(reader->take_turn().has_input(), !is_leased) << "the I/O thread waits for room itself";
    }
}

TEST_F(pipe_pair, writes_an_answer_at_once_where_this_thread_reads_the_peer) {
    open(0);
    taker connection(*reader);
    const microsecond_clock clock;
    test::lone_thread thread;
    pace hurried(clock, thread);
    writer->set_pace(&hurried);
    const auto come = [&](int messages) {
        for (int i = 0; i < messages; ++i)
            ASSERT_EQ(reader->write(0, as_bytes("question")), error::none);
        reader->publish();
    };
    const auto take = [&] {
        frame_view frame;
        EXPECT_TRUE(writer->read(frame));
    };
    const auto is_written_at_once = [&] {
        EXPECT_FALSE(arm_and_look());
        const int before = connection.writes;
        EXPECT_TRUE(send("answer"));
        const bool is_written = connection.writes > before;
        if (!is_written) {
            EXPECT_TRUE(writer->write_now());
        }
        return is_written;
    };
    while (is_written_at_once()) {
    }
    come(1);
    take();
    EXPECT_FALSE(is_written_at_once()) << "the I/O thread may have more of that peer under way";

    ASSERT_TRUE(writer->ask_for_lease());
    reader->lease().grant();
    come(1);
    take();
    EXPECT_TRUE(is_written_at_once());
    EXPECT_FALSE(is_written_at_once()) << "a second answer";
    come(2);
    take();
    EXPECT_FALSE(is_written_at_once()) << "more will follow it";
    take();
    EXPECT_TRUE(is_written_at_once());
}

TEST_F(pipe_pair, does_not_look_for_room_for_a_message_of_many_writes) {
    open(0);
    taker connection(*reader);
    const microsecond_clock clock;
    test::lone_thread thread(true);
    pace looking(clock, thread);
    writer->set_pace(&looking);
    ASSERT_FALSE(arm_and_look());
    connection.full_times = 10;
    ASSERT_TRUE(send(std::string(2'000'000, 'x')));
    EXPECT_EQ(connection.full_times, 9);
    connection.full_times = 0;
}

TEST_F(pipe_pair, leaves_waking_the_reader_to_who_wrote_at_once) {
    open(0);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(send("x"));
    while (receive() == "x") {
    }
    allow_short_writes();
    EXPECT_EQ(writer->write_at_once(as_bytes("1")), pipe_end::at_once::done);
    EXPECT_EQ(receive(), "1");
    ASSERT_FALSE(arm_and_look());
    EXPECT_EQ(writer->write_at_once(as_bytes("2")), pipe_end::at_once::sent_needs_wake);
    EXPECT_EQ(reader_events->readable, 0);
    writer->wake_reader(true);
    EXPECT_EQ(reader_events->readable, 1);
    short_frame body{};
    EXPECT_FALSE(reader->read_at_once(body, 255)) << "nobody has looked";
    EXPECT_TRUE(reader->has_input());
    EXPECT_FALSE(reader->read_at_once(body, 0));
    ASSERT_TRUE(reader->read_at_once(body, 1));
    EXPECT_EQ(as_text({body.data, body.size}), "2");
    writer->roll_back();
    ASSERT_EQ(writer->write(frame_flag::more, as_bytes("part")), error::none);
    EXPECT_EQ(writer->write_at_once(as_bytes("3")), pipe_end::at_once::refused) << "behind half a message";
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

TEST_F(pipe_pair, settles_what_a_sleeping_connection_kept_back_when_the_mark_is_lowered) {
    open(13);
    taker connection(*reader);
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(send("x"));
    ASSERT_TRUE(writer->write_now());
    EXPECT_EQ(writer->credit(), 8u);  // less than a step
    writer->set_write_hwm(5);
    EXPECT_EQ(writer->credit(), 5u);
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

TEST_F(pipe_pair, wakes_an_armed_reader_once) {
    open(0);
    ASSERT_TRUE(send("before"));
    EXPECT_EQ(reader_events->readable, 0);
    EXPECT_EQ(receive(), "before");
    EXPECT_FALSE(arm_and_look());
    ASSERT_TRUE(send("part", frame_flag::more));
    EXPECT_EQ(reader_events->readable, 0);
    ASSERT_TRUE(send("end"));
    ASSERT_TRUE(send("another"));
    EXPECT_EQ(reader_events->readable, 1);
    EXPECT_EQ(reader_events->last, reader.get());
    EXPECT_TRUE(arm_and_look());
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

TEST_F(pipe_pair, lets_what_was_published_be_read_after_the_close) {
    open(0);
    ASSERT_TRUE(send("published"));
    ASSERT_TRUE(send("hidden", frame_flag::more));
    writer->close(1234);
    writer->close(99);
    EXPECT_TRUE(writer->is_closed());
    EXPECT_EQ(reader_events->closed, 1);
    EXPECT_TRUE(reader->is_peer_closed());
    EXPECT_EQ(reader->peer_linger_ms(), 1234);
    EXPECT_FALSE(reader->is_finished());
    EXPECT_EQ(receive(), "published");
    EXPECT_TRUE(reader->is_finished());
    EXPECT_FALSE(reader->is_closed());
    EXPECT_FALSE(writer->is_peer_closed());
    reader->close();
    EXPECT_EQ(writer_events->closed, 1);
    EXPECT_TRUE(writer->is_finished());
}

TEST_F(pipe_pair, keeps_the_newest_message_only_when_conflating) {
    open(1, true);
    EXPECT_TRUE(writer->is_conflating());
    EXPECT_FALSE(reader->has_input());
    for (const char *text : {"one", "two", "three"})
        ASSERT_TRUE(send(text));
    EXPECT_TRUE(reader->has_input());
    EXPECT_EQ(receive(), "three");
    EXPECT_FALSE(reader->has_input());
    EXPECT_EQ(receive(), "(nothing)");
    ASSERT_TRUE(send(""));
    EXPECT_EQ(receive(), "");
}

TEST_F(pipe_pair, conflates_whatever_way_a_message_was_written) {
    open(0, true);
    const auto wire = std::string({0, 1, 'a', 0, 1, 'b'});
    ASSERT_EQ(writer->write_wire(as_bytes(wire), 2), error::none);
    EXPECT_TRUE(writer->has_unpublished());
    EXPECT_EQ(receive(), "(nothing)");
    writer->publish();
    EXPECT_FALSE(writer->has_unpublished());
    EXPECT_EQ(receive(), "b");
    ASSERT_EQ(writer->append(nullptr, as_bytes(wire), 2, true), error::none);
    writer->roll_back();
    EXPECT_FALSE(writer->has_unpublished());
    writer->publish();
    EXPECT_EQ(receive(), "(nothing)");
    ASSERT_EQ(writer->write_external(0, {}, as_bytes("external")), error::none);
    writer->publish();
    EXPECT_EQ(receive(), "external");
}

TEST_F(pipe_pair, carries_every_command_also_when_conflating) {
    open(0, true);
    ASSERT_EQ(writer->write(frame_flag::command, as_bytes("first")), error::none);
    ASSERT_EQ(writer->write(frame_flag::command, as_bytes("second")), error::none);
    ASSERT_TRUE(send("message"));
    EXPECT_EQ(receive(), "first");
    EXPECT_EQ(receive(), "second");
    EXPECT_EQ(receive(), "message");
    EXPECT_TRUE(writer->has_credit());
}

TEST_F(pipe_pair, wakes_an_armed_reader_when_conflating) {
    open(0, true);
    EXPECT_FALSE(arm_and_look());
    ASSERT_TRUE(send("one"));
    ASSERT_TRUE(send("two"));
    EXPECT_EQ(reader_events->readable, 1);
}

TEST_F(pipe_pair, leaves_little_news_of_a_peer_that_comes_and_goes_until_some_is_taken) {
    open(0);
    const auto come_and_go = [&](int times) {
        for (int i = 0; i < times; ++i) {
            EXPECT_EQ(writer->say_hello(as_bytes("me")), error::none);
            writer->publish();
            writer->say_gone();
        }
        EXPECT_EQ(writer->say_hello(as_bytes("me")), error::none);
        writer->publish();
    };
    int told = 0;
    const auto take_news = [&] {
        std::vector<std::string> news;
        for (frame_view frame; reader->read(frame);) {
            news.emplace_back(as_text(frame.body()));
            if (told++ > 0)  // the first hello
                reader->note_news_taken();
        }
        return news;
    };
    come_and_go(2);
    EXPECT_EQ(take_news(), (std::vector<std::string>{"\2me", "\3", "\2me", "\3", "\2me"}));
    come_and_go(1000);
    const std::vector<std::string> most = take_news();
    EXPECT_LT(most.size(), 20u);
    EXPECT_EQ(most.back(), "\2me");
    come_and_go(1);
    EXPECT_EQ(take_news(), (std::vector<std::string>{"\3", "\2me"}));
}

TEST_F(pipe_pair, tells_messages_of_different_peers_apart) {
    open(0);
    auto *info = new peer_info;
    info->routing_id = "peer";
    ASSERT_TRUE(send("unknown"));
    writer->set_info(info);
    ASSERT_TRUE(send("known"));
    info->release();
    frame_view frame;
    ASSERT_TRUE(reader->read(frame));
    EXPECT_EQ(frame.info, nullptr);
    ASSERT_TRUE(reader->read(frame));
    ASSERT_NE(frame.info, nullptr);
    EXPECT_EQ(frame.info->routing_id, "peer");
}

}  // namespace
}  // namespace zlink
