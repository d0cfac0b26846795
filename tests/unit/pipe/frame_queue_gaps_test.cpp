// Tests what the queue says of messages that are missing: where it stands, for whom, and that it
// counts as nothing.
#include <gtest/gtest.h>

#include <string>

#include "one_queue.hpp"
#include "pipe/in_band.hpp"
#include "pipe/pipe.hpp"

namespace zlink {
namespace {

using test::one_queue;

constexpr std::uint8_t first_peer = 0x80;
constexpr std::uint8_t second_peer = 0x82;
constexpr std::size_t gap_octets = short_header_size + in_band::gap_size;

class gaps_in_queue : public one_queue {
protected:
    void write(std::string_view body, std::uint8_t flags = 0) {
        ASSERT_EQ(queue.write(flags, as_bytes(body)), error::none);
        octets += short_header_size + body.size();
    }
    void miss(std::uint64_t lost, std::uint8_t tag = first_peer) {
        ASSERT_EQ(queue.write_gap(lost, tag), error::none);
    }
    /// Returns what stands in the octets, with the numbers of gaps in brackets.
    static std::string told(std::string_view wire) {
        std::string out;
        for (frame_header header; get_frame_header(as_bytes(wire).data(), wire.size(), header);) {
            const std::string_view body = wire.substr(header.header_size, header.body_size);
            if (header.is_command())
                out += "[" + std::to_string(in_band::lost_in(as_bytes(body))) + "]";
            else
                out += std::string(body) + (header.has_more() ? "+" : " ");
            wire.remove_prefix(header.header_size + header.body_size);
        }
        return out;
    }
    std::string gather(std::size_t octets_at_once = SIZE_MAX) {
        std::string wire;
        for (frame_queue::gathered found;
             (found = queue.gather(ranges.data(), ranges.size(), 100)).octets > 0;) {
            const std::size_t part = std::min(found.octets, octets_at_once);
            std::size_t left = part;
            for (std::size_t i = 0; left > 0; ++i) {
                const std::size_t here = std::min(left, ranges[i].iov_len);
                wire.append(static_cast<const char *>(ranges[i].iov_base), here);
                left -= here;
            }
            ended += queue.release(part, &of_gaps);
        }
        return told(wire);
    }
    std::string read() {
        std::string out;
        for (frame_view frame; queue.read(frame);)
            out += frame.is_command() ? "[" + std::to_string(in_band::lost_in(frame.body())) + "]"
                                      : std::string(as_text(frame.body())) + (frame.has_more() ? "+" : " ");
        return out;
    }
    void counts_nothing_else() {
        EXPECT_FALSE(queue.has_input());  // behind the last segment
        EXPECT_EQ(queue.octets_written(), octets);
        EXPECT_EQ(queue.octets_taken(), octets);
    }

    std::uint64_t octets = 0, of_gaps = 0, ended = 0;
};

TEST_F(gaps_in_queue, stand_in_front_of_the_next_message_and_count_as_no_octets) {
    write("a");
    miss(3);
    EXPECT_EQ(queue.octets_written(), octets);
    write("b", frame_flag::more);
    write("c");
    miss(1);
    write("d");
    EXPECT_EQ(queue.octets_written(), octets);
    EXPECT_FALSE(queue.has_input());
    queue.publish();
    EXPECT_EQ(queue.octets_written(), octets);
    EXPECT_EQ(read(), "a [3]b+c [1]d ");
    counts_nothing_else();
}

TEST_F(gaps_in_queue, go_out_as_they_stand_in_pieces_of_any_size) {
    for (const std::size_t at_once : {std::size_t{1}, std::size_t{5}, std::size_t{17}, SIZE_MAX}) {
        of_gaps = ended = 0;
        queue.take_gaps(first_peer);
        miss(3);
        write("a");
        miss(1);
        write("b", frame_flag::more);
        write("c");
        queue.publish();
        EXPECT_EQ(gather(at_once), "[3]a [1]b+c ");
        EXPECT_EQ(of_gaps, 2 * gap_octets);
        EXPECT_EQ(ended, 2u);
        counts_nothing_else();
    }
}

TEST_F(gaps_in_queue, are_one_where_no_message_is_in_between_however_many) {
    for (int i = 0; i < 10000; ++i) {
        miss(2);
        miss(0);
    }
    miss(UINT64_MAX - 19999);
    miss(5);
    write("a");
    queue.publish();
    EXPECT_EQ(queue.octets_written(), octets);
    EXPECT_EQ(read(), "[0][18446744073709551615]a ");
    counts_nothing_else();
}

TEST_F(gaps_in_queue, are_rolled_back_with_the_message_that_they_stand_in_front_of) {
    write("a");
    queue.publish();
    miss(3);
    write("b", frame_flag::more);
    EXPECT_EQ(queue.roll_back(), short_header_size + 1);
    octets -= short_header_size + 1;
    EXPECT_EQ(queue.octets_written(), octets);
    miss(4);
    EXPECT_EQ(queue.roll_back(), 0u);
    write("c");
    queue.publish();
    EXPECT_EQ(read(), "a c ");
    counts_nothing_else();
}

TEST_F(gaps_in_queue, of_a_former_peer_are_unknown_numbers_to_the_next) {
    miss(3);
    write("a");
    miss(0);
    miss(4);
    write("b");
    miss(5, second_peer);
    write("c");
    queue.publish();
    queue.take_gaps(second_peer);
    EXPECT_EQ(gather(9), "[0]a [0][0]b [5]c ");
    counts_nothing_else();
}

TEST_F(gaps_in_queue, are_left_out_for_a_peer_that_does_not_want_them) {
    for (int round = 0; round < 2; ++round) {
        miss(3);
        write("a");
        miss(4);
        write("b");
        queue.publish();
        queue.take_gaps(frame_queue::no_gaps);
        EXPECT_EQ(gather(), "a b ");
        EXPECT_EQ(of_gaps, 0u);
        counts_nothing_else();
    }
}

TEST_F(gaps_in_queue, that_a_broken_write_has_cut_do_not_go_to_the_next_peer) {
    for (const std::uint8_t next : {second_peer, frame_queue::no_gaps}) {
        queue.take_gaps(first_peer);
        miss(3);
        write("a");
        miss(0);
        miss(4);
        write("b");
        queue.publish();
        ASSERT_GT(queue.gather(ranges.data(), ranges.size(), 1000).octets, 0u);
        (void)queue.release(gap_octets + short_header_size + 1 + 5);
        EXPECT_EQ(queue.octets_taken(), octets - short_header_size - 1);
        EXPECT_EQ(queue.drop_cut_message(), (frame_queue::dropped{0, 0}));
        EXPECT_EQ(queue.octets_taken(), octets - short_header_size - 1);
        queue.take_gaps(next);
        EXPECT_EQ(gather(), next == second_peer ? "[0]b " : "b ");
        counts_nothing_else();
    }
}

TEST_F(gaps_in_queue, count_as_no_octets_while_the_consumer_stands_inside_of_them) {
    queue.take_gaps(first_peer);
    for (const bool gathers : {true, false}) {
        write("a");
        queue.publish();
        miss(0);
        miss(4);
        write("bc");
        queue.publish();
        const std::uint64_t in_front = octets - short_header_size - 2;
        std::size_t inside = 0;
        if (gathers) {
            ASSERT_GT(queue.gather(ranges.data(), ranges.size(), 1000).octets, 0u);
            (void)queue.release(short_header_size + 1);
            for (; inside < 2 * gap_octets; ++inside) {
                EXPECT_EQ(queue.octets_taken(), in_front) << inside;
                (void)queue.release(1);
            }
            EXPECT_EQ(queue.octets_taken(), in_front);
            (void)queue.release(1);
            EXPECT_EQ(queue.octets_taken(), in_front + 1);
            (void)queue.release(short_header_size + 1);
        } else {
            frame_view frame;
            while (queue.read(frame)) {
                inside += frame.is_command() ? short_header_size + frame.size : 0;
                EXPECT_EQ(queue.octets_taken(), frame.size == 2 ? octets : in_front);
            }
        }
        EXPECT_EQ(inside, 2 * gap_octets);
        counts_nothing_else();
    }
}

TEST_F(gaps_in_queue, stand_in_front_of_bodies_and_ranges_that_are_not_copied) {
    auto *body = make(uncopied);
    miss(1);
    ASSERT_EQ(queue.write_external(0, block_ref::adopt(body), body->body()), error::none);
    octets += long_header_size + uncopied;
    static constexpr std::uint8_t range[] = {0, 1, 'a'};
    auto *owner = make(sizeof range);
    miss(2);
    ASSERT_EQ(queue.append(owner, range, 1, true), error::none);
    miss(3);
    ASSERT_EQ(queue.append(owner, range, 1, true), error::none);
    octets += 2 * sizeof range;
    owner->release();
    queue.publish();
    EXPECT_EQ(queue.octets_written(), octets);
    EXPECT_EQ(read(), "[1]" + std::string(uncopied, '\0') + " [2]a [3]a ");
    counts_nothing_else();
    EXPECT_EQ(live, 1);  // the last range stays where it is
}

TEST_F(gaps_in_queue, end_no_message_while_segments_are_used_again) {
    queue.take_gaps(first_peer);
    std::string wanted, got;
    for (int i = 0; i < 300; ++i) {
        if (i % 3 == 0) {
            miss(static_cast<std::uint64_t>(i) + 1);
            wanted += "[" + std::to_string(i + 1) + "]";
        }
        write(std::to_string(i));
        wanted += std::to_string(i) + " ";
        queue.publish();
        if (i % 7 == 0)
            got += i % 2 ? gather(3) : read();
    }
    EXPECT_EQ(got + read(), wanted);
    counts_nothing_else();
}

// ---- the pipe ----

TEST(gaps_in_pipe, take_no_room_by_any_mark_and_are_for_the_peer_of_whom_the_writer_knows) {
    pipe_options options;
    options.first_to_second_hwm = 3;
    options.first_to_second_octets = 12;
    const pipe_ends ends = make_pipe(chunk_pool::make(), options);
    ends.second->take_gaps(true);
    EXPECT_TRUE(ends.first->gaps().are_wanted());
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(ends.first->has_credit()) << i;
        EXPECT_EQ(ends.first->gaps().write(7), error::none);
        EXPECT_EQ(ends.first->write(0, as_bytes("ab")), error::none);
        ends.first->publish();
    }
    EXPECT_FALSE(ends.first->has_credit());
    EXPECT_EQ(ends.first->outgoing().published, (amount{3, 12}));
    EXPECT_EQ(ends.first->highest_outgoing(), (amount{3, 12}));
    std::array<iovec, 16> ranges;
    writing turn = ends.second->take_turn();
    turn.release(turn.gather(ranges.data(), ranges.size(), 1000).octets);
    EXPECT_FALSE(turn.has_input());
    (void)turn.give();
    EXPECT_EQ(ends.first->outgoing().taken, (amount{3, 12}));
    ends.second->take_gaps(false);
    EXPECT_FALSE(ends.first->gaps().are_wanted());
}

}  // namespace
}  // namespace zlink
