// A large body goes out from where the application has it, and only what the stream does not take
// is copied.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "lone_thread.hpp"
#include "microsecond_clock.hpp"
#include "pipe/room_wait.hpp"
#include "pipe_pair.hpp"
#include "placed_memory.hpp"
#include "written_connection.hpp"

namespace zlink {
namespace {

/// A connection whose stream takes so many octets, and is full then.
struct narrow_connection final : test::written_connection {
    using written_connection::written_connection;

    written write_now(writing &turn, occasion) noexcept override {
        std::array<iovec, 8> ranges;
        for (;;) {
            const auto found = turn.gather(ranges.data(), ranges.size(), SIZE_MAX);
            if (found.octets == 0)
                return written::all;
            std::size_t taken = 0;
            for (std::size_t i = 0; i < found.ranges && room > taken; ++i) {
                const auto *const at = static_cast<const char *>(ranges[i].iov_base);
                const std::size_t octets = std::min(ranges[i].iov_len, room - taken);
                from_application +=
                    at >= application.data() && at < application.data() + application.size() ? octets : 0;
                wire.append(at, octets);
                taken += octets;
            }
            room -= taken;
            turn.release(taken);
            if (taken < found.octets) {
                room += taken > 0 ? comes_meanwhile : 0;
                return written::full;
            }
        }
    }
    bool awaits_input() const noexcept override { return is_for_input; }

    std::size_t room = 0;
    std::size_t comes_meanwhile = 0;  // of room, while a write fills the stream
    bool is_for_input = false;        // when it is full
    std::string wire;
    std::string_view application;
    std::size_t from_application = 0;
};

class borrowed_body : public ::testing::Test {
protected:
    borrowed_body() {
        fill();
        ends.first->set_pace(&own_pace);
    }
    void fill() {
        for (std::size_t i = 0; i < body.size(); ++i)
            body[i] = static_cast<char>('a' + i * 7 % 23);
        connection.application = place.text();
    }
    static std::string wire_of(std::string_view text, std::uint8_t flags = 0) {
        std::string out(long_header_size, '\0');
        const auto *const begin = reinterpret_cast<std::uint8_t *>(out.data());
        out.resize(static_cast<std::size_t>(
            put_frame_header(reinterpret_cast<std::uint8_t *>(out.data()), text.size(), flags) - begin));
        return out.append(text);
    }
    /// Does as a sender that uses its memory again at once.
    void send() {
        ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
        writer.publish();
        std::fill(body.begin(), body.end(), 'X');
    }
    /// This is as a sender that may wait. Others go on beside it: while it waits, the stream gets
    /// room, for a number of times. Returns how often it has waited.
    int send_with_waits(int most) {
        room_wait room(own_pace, time_point::max());
        EXPECT_EQ(writer.write_last_large(place.octets()), error::none);
        writer.publish();
        int waits = 0;
        for (time_point until; room.is_needed() && room.begin_wait(until);) {
            const bool has_room = ++waits <= most;
            connection.room += has_room ? 50'000 : 0;
            room.end_wait(has_room);
        }
        std::fill(body.begin(), body.end(), 'X');
        return waits;
    }
    void write_the_rest() {
        connection.room = SIZE_MAX;
        writing turn = reader.take_turn();
        ASSERT_TRUE(turn);
        EXPECT_EQ(connection.write_now(turn, connection_port::occasion::any), connection_port::written::all);
    }

    pipe_ends ends = make_pipe(chunk_pool::make(), {});
    pipe_end &writer = *ends.first;
    pipe_end &reader = *ends.second;
    test::placed_memory place{400'000};
    std::span<char> body{place.data(), place.text().size()};
    narrow_connection connection{reader};
    test::lone_thread thread{true};
    const test::microsecond_clock clock;
    pace own_pace{clock, thread};
};

TEST_F(borrowed_body, is_not_copied_where_the_stream_takes_it) {
    connection.room = SIZE_MAX;
    const std::string sent(place.text());
    send();
    EXPECT_EQ(connection.wire, wire_of(sent));
    EXPECT_EQ(connection.from_application, sent.size());
}

TEST_F(borrowed_body, is_copied_from_where_the_stream_was_full) {
    const std::string sent(place.text());
    for (const std::size_t room : {0u, 1u, 9u, 10u, 123'456u, 400'008u}) {
        SCOPED_TRACE(room);
        std::ranges::copy(sent, body.begin());
        connection.application = place.text();
        connection.wire.clear();
        connection.room = room;
        send();
        EXPECT_EQ(connection.wire, wire_of(sent).substr(0, room));
        write_the_rest();
        EXPECT_EQ(connection.wire, wire_of(sent));
    }
}

TEST_F(borrowed_body, does_not_wait_for_room_where_the_stream_waits_for_input) {
    const std::string sent(place.text());
    connection.room = 123'456;
    connection.is_for_input = true;
    EXPECT_EQ(send_with_waits(100), 0);
    EXPECT_EQ(connection.wire, wire_of(sent).substr(0, 123'456));
    write_the_rest();
    EXPECT_EQ(connection.wire, wire_of(sent));
}

TEST_F(borrowed_body, goes_out_behind_what_was_written_before) {
    const std::string sent(place.text());
    const std::string before = wire_of("address", frame_flag::more) + wire_of("");
    ASSERT_EQ(writer.write(frame_flag::more, as_bytes("address")), error::none);
    ASSERT_EQ(writer.write(0, {}), error::none);
    ASSERT_EQ(writer.write(frame_flag::more, as_bytes("id")), error::none);
    connection.room = 1000;
    send();
    write_the_rest();
    ASSERT_EQ(writer.write(0, as_bytes("behind")), error::none);
    writer.publish();
    write_the_rest();
    EXPECT_EQ(connection.wire, before + wire_of("id", frame_flag::more) + wire_of(sent) + wire_of("behind"));
}

TEST_F(borrowed_body, keeps_the_turn_until_it_is_published_or_rolled_back) {
    ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
    EXPECT_FALSE(reader.take_turn());
    writer.publish();
    EXPECT_TRUE(reader.take_turn());
    write_the_rest();
    ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
    EXPECT_FALSE(reader.take_turn());
    writer.roll_back();
    EXPECT_TRUE(reader.take_turn());
}

TEST_F(borrowed_body, is_copied_where_another_thread_writes) {
    const std::string sent(place.text());
    writing turn = reader.take_turn();
    ASSERT_TRUE(turn);
    send();
    (void)turn.give();
    write_the_rest();
    EXPECT_EQ(connection.wire, wire_of(sent));
    EXPECT_EQ(connection.from_application, 0u);
}

TEST_F(borrowed_body, that_is_rolled_back_leaves_the_turn) {
    ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
    writer.roll_back();
    write_the_rest();
    EXPECT_EQ(connection.wire, "");
}

/// This is as a body that was read into the memory of a caller, who gets something else.
TEST_F(borrowed_body, that_is_not_taken_yet_is_copied_from_where_it_was_read_to) {
    const std::string sent(place.text());
    ASSERT_EQ(reader.write(0, as_bytes("before")), error::none);
    ASSERT_EQ(reader.write_external(0, {}, place.octets()), error::none);
    reader.publish();
    ASSERT_TRUE(writer.own_body(place.octets().data()));
    std::fill(body.begin(), body.end(), 'X');
    frame_view frame;
    ASSERT_TRUE(writer.read(frame));
    EXPECT_EQ(as_text(frame.body()), "before");
    ASSERT_TRUE(writer.read(frame));
    EXPECT_EQ(as_text(frame.body()), sent);
    ASSERT_TRUE(writer.own_body(place.octets().data()));
    EXPECT_FALSE(writer.read(frame));
}

TEST_F(borrowed_body, goes_on_without_a_wait_where_room_has_come_meanwhile) {
    const std::string sent(place.text());
    connection.room = connection.comes_meanwhile = 50'000;
    EXPECT_EQ(send_with_waits(100), 0);
    EXPECT_EQ(connection.from_application, sent.size());
    EXPECT_EQ(connection.wire, wire_of(sent));
}

TEST_F(borrowed_body, is_waited_for_while_the_stream_takes_it_and_no_longer) {
    const std::string sent(place.text());
    EXPECT_EQ(send_with_waits(100), 9);
    EXPECT_EQ(connection.from_application, sent.size());

    std::ranges::copy(sent, body.begin());
    EXPECT_EQ(send_with_waits(3), 4);
    write_the_rest();
    EXPECT_EQ(connection.wire, wire_of(sent) + wire_of(sent));
}

TEST_F(borrowed_body, is_copied_when_the_wait_for_room_ends_without_an_answer) {
    const std::string sent(place.text());
    connection.room = 123'456;
    {
        room_wait room(own_pace, time_point::max());
        ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
        writer.publish();
        ASSERT_TRUE(room.is_needed());
        EXPECT_FALSE(reader.take_turn()) << "the socket has it";
    }
    std::fill(body.begin(), body.end(), 'X');
    write_the_rest();
    EXPECT_EQ(connection.wire, wire_of(sent));
}

TEST_F(borrowed_body, that_is_waited_for_is_claimed_and_its_sender_hears_of_that) {
    const auto heard = std::make_shared<test::recorder>();
    writer.set_events(heard);
    room_wait room(own_pace, time_point::max());
    ASSERT_EQ(writer.write_last_large(place.octets()), error::none);
    writer.publish();
    time_point until;
    ASSERT_TRUE(room.is_needed() && room.begin_wait(until));
    EXPECT_FALSE(room.is_claimed());
    EXPECT_FALSE(reader.claim_turn());
    EXPECT_TRUE(room.is_claimed());
    EXPECT_EQ(heard->readable, 1);
    room.end_wait(false);
    EXPECT_FALSE(room.is_needed());
    EXPECT_TRUE(reader.claim_turn());
    connection.end.take_turn().serve(connection);
}

}  // namespace
}  // namespace zlink
