// Tests what a consumer that gathers is given of a queue, and when the memory goes.
#include "pipe/frame_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "one_queue.hpp"

namespace zlink {
namespace {

using test::encoded;
using test::noise;
using test::one_queue;

TEST_F(one_queue, merges_ranges_that_continue_each_other) {
    // 100 empty messages of three octets... in wire form: flags, size 1, body
    auto *owner = make(300);
    for (int i = 0; i < 100; ++i)
        owner->memory[3 * i + 1] = 1;
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(queue.append(owner, owner->body().subspan(3 * i, 3), 1, true), error::none);
    EXPECT_EQ(owner->references.load(), 2u);
    queue.publish();
    const auto found = queue.gather(ranges.data(), 16, 1000);
    EXPECT_EQ(found.ranges, 1u);
    EXPECT_EQ(found.octets, 300u);
    EXPECT_EQ(queue.release(300), 100u);
    owner->release();
}

TEST_F(one_queue, does_nothing_with_an_empty_range) {
    auto *owner = make(10);
    EXPECT_EQ(queue.write_wire({}, 0), error::none);
    EXPECT_EQ(queue.append(owner, {}, 0, true), error::none);
    EXPECT_EQ(owner->references.load(), 1u);
    EXPECT_FALSE(queue.has_unpublished());
    owner->release();
}

TEST_F(one_queue, drops_the_whole_message_that_was_cut_inside_its_second_part) {
    for (const char *text : {"first", "second", "third"}) {
        ASSERT_EQ(queue.write(frame_flag::more, as_bytes(text)), error::none);
        auto *body = make(500);
        ASSERT_EQ(queue.write_external(0, block_ref::adopt(body), body->body()), error::none);
    }
    queue.publish();
    const std::size_t one = short_header_size + 5 + long_header_size + 500;
    (void)queue.gather(ranges.data(), 16, 100000);
    EXPECT_EQ(queue.release(one + short_header_size + 6 + long_header_size + 3), 1u);
    EXPECT_EQ(queue.drop_cut_message().messages, 1u);
    EXPECT_EQ(live, 1);
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(as_text(frame.body()), "third");
}

TEST_F(one_queue, keeps_a_message_of_which_nothing_was_written) {
    for (const char *text : {"first", "second"})
        ASSERT_EQ(queue.write(0, as_bytes(text)), error::none);
    queue.publish();
    (void)queue.gather(ranges.data(), 16, 1000);
    EXPECT_EQ(queue.release(short_header_size + 5), 0u);  // known only with the whole range
    EXPECT_EQ(queue.drop_cut_message().messages, 1u);
    (void)queue.gather(ranges.data(), 16, 1000);
    EXPECT_EQ(queue.release(short_header_size + 6), 1u);
    EXPECT_FALSE(queue.has_input());
}

TEST_F(one_queue, does_not_count_a_message_twice_when_it_was_read_before_gathering) {
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(queue.write(0, as_bytes("text")), error::none);
    queue.publish();
    frame_view frame;
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(queue.read(frame));
    const auto found = queue.gather(ranges.data(), 16, 1000);
    EXPECT_EQ(queue.release(found.octets), 6u);
}

TEST_F(one_queue, starts_a_segment_for_the_new_peer_also_after_a_roll_back) {
    auto *info = new peer_info;
    ASSERT_EQ(queue.write(0, as_bytes("old")), error::none);
    queue.publish();
    queue.set_info(info);
    ASSERT_EQ(queue.write(frame_flag::more, as_bytes("abandoned")), error::none);
    queue.roll_back();
    ASSERT_EQ(queue.write(0, as_bytes("new")), error::none);
    queue.publish();
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(frame.info, nullptr);
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(frame.info, info);
    info->release();
}

TEST_F(one_queue, lets_go_of_memory_while_messages_in_wire_form_follow_a_started_one) {
    auto pool = chunk_pool::make();
    frame_queue wire_queue(pool);
    ASSERT_EQ(wire_queue.write(frame_flag::more, as_bytes("part")), error::none);
    const std::vector<std::uint8_t> message = encoded({{0, byte_span(noise()).first(60000), nullptr}});
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(wire_queue.write_wire(message, 1), error::none);
        wire_queue.publish();
        const auto found = wire_queue.gather(ranges.data(), 16, 1000000);
        ASSERT_EQ(wire_queue.release(found.octets), 1u);
    }
    EXPECT_LE(pool.use_count(), 5);
}

/// Each piece of memory begins inside a message, and nothing is ever written to its end.
TEST_F(one_queue, lets_go_of_memory_while_no_write_ends_with_a_message) {
    auto pool = chunk_pool::make();
    frame_queue slow_queue(pool);
    const byte_span large = byte_span(noise()).first(40'000);
    const std::size_t one = short_header_size + 1 + long_header_size + large.size();
    const auto send = [&] {
        ASSERT_EQ(slow_queue.write(frame_flag::more, as_bytes("t")), error::none);
        ASSERT_EQ(slow_queue.write(0, large), error::none);
        slow_queue.publish();
    };
    std::uint64_t sent = 0, ended = 0, released = 0;
    for (; sent < 5; ++sent)
        send();
    for (; sent < 500; ++sent) {
        send();
        (void)slow_queue.gather(ranges.data(), 16, 1'000'000);
        ended += slow_queue.release(one);
        released += one;
        if (sent == 5) {
            (void)slow_queue.gather(ranges.data(), 16, 1'000'000);
            ended += slow_queue.release(100);
            released += 100;
        }
        ASSERT_LE(ended, released / one);
    }
    EXPECT_LE(pool.use_count(), 40);
    EXPECT_GE(ended, released / one - 2);
    EXPECT_EQ(ended + slow_queue.drop_cut_message().messages, released / one + 1);
    frame_view frame;
    int frames = 0;
    for (; slow_queue.read(frame); ++frames)
        EXPECT_EQ(frame.size, frames % 2 ? large.size() : 1u);
    EXPECT_EQ(frames, 2 * static_cast<int>(sent - released / one - 1));
}

TEST_F(one_queue, lets_go_of_a_shared_owner_when_it_is_rolled_back) {
    auto *owner = make(10);
    owner->memory[1] = 8;
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(queue.append(owner, owner->body(), 1, true), error::none);
        EXPECT_TRUE(owner->is_shared());
        queue.roll_back();
        EXPECT_FALSE(owner->is_shared());
        ASSERT_EQ(queue.write_external(0, {}, byte_span(noise()).first(uncopied)),
                  error::none);  // leaves a blank end
        queue.publish();
    }
    owner->release();
}

}  // namespace
}  // namespace zlink
