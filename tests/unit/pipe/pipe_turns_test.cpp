// Tests what the end of a pipe writes on its own thread, to a connection at the other end.
#include "pipe/pipe.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "lone_thread.hpp"
#include "microsecond_clock.hpp"
#include "pipe_pair.hpp"
#include "written_connection.hpp"

namespace zlink {
namespace {

using test::pipe_pair;

TEST_F(pipe_pair, measures_messages_with_all_their_frames) {
    open(0);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(send(std::string(100, 'a'), frame_flag::more));
        ASSERT_TRUE(send(std::string(300, 'b')));
    }
    writer->backlog().begin_window();
    EXPECT_EQ(writer->backlog().about_octets(), 10 * (short_header_size + 100 + long_header_size + 300));
}

TEST_F(pipe_pair, ends_short_writes_when_a_step_is_due) {
    open(0);
    const std::string body(8192, 'x');
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(send(body));
    writer->backlog().begin_window();
    EXPECT_FALSE(writer->backlog().is_check_due());
    writer->allow_short_writes();
    std::size_t written = 0;
    for (; !writer->backlog().is_check_due(); written += body.size())
        ASSERT_TRUE(writer->write_short(as_bytes(body)) || send(body));
    EXPECT_FALSE(writer->may_write_short());
    writer->allow_short_writes();
    EXPECT_FALSE(writer->may_write_short()) << "before somebody looked";
    EXPECT_GE(written, 500'000u);
    EXPECT_LE(written, 525'000u);
    writer->backlog().begin_window();
    writer->allow_short_writes();
    EXPECT_TRUE(writer->may_write_short());
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
    const test::microsecond_clock clock;
    pace stream(clock, thread);
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
    const test::microsecond_clock clock;
    pace stream(clock, thread);
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
    const test::microsecond_clock clock;
    pace stream(clock, thread);
    writer->set_pace(&stream);
    for (int i = 0; i < 20 * mark; ++i) {
        allow_short_writes();
        ASSERT_TRUE(writer->may_write_short() || writer->has_credit()) << i;
        ASSERT_TRUE(writer->write_short(as_bytes("x")) || send("x")) << i;
    }
    EXPECT_LE(connection.writes, 20 + 5);
}

TEST_F(pipe_pair, looks_for_room_for_the_end_of_a_message_that_fills_the_stream) {
    constexpr int always = 10'000;
    const std::string large(100'000, 'x');
    open(0);
    taker connection(*reader);
    const test::microsecond_clock clock;
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
        test::microsecond_clock clock;
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
    const test::microsecond_clock clock;
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
    const test::microsecond_clock clock;
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

}  // namespace
}  // namespace zlink
