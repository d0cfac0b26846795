// Bodies of a queue that are copied, kept apart or referred to, and whose memory they are.
#include "pipe/frame_queue.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "one_queue.hpp"

namespace zlink {
namespace {

using test::encoded;
using test::noise;
using test::one_queue;

TEST_F(one_queue, hides_what_is_not_published) {
    ASSERT_EQ(queue.write(0, as_bytes("one")), error::none);
    EXPECT_TRUE(queue.has_unpublished());
    EXPECT_FALSE(queue.has_input());
    EXPECT_EQ(queue.gather(ranges.data(), 16, 1000).octets, 0u);
    queue.publish();
    EXPECT_FALSE(queue.has_unpublished());
    EXPECT_TRUE(queue.has_input());
}

TEST_F(one_queue, frees_an_external_body_as_soon_as_it_is_released) {
    for (int i = 0; i < 2; ++i) {
        auto *body = make(10000);
        ASSERT_EQ(queue.write_external(0, block_ref::adopt(body), body->body()), error::none);
    }
    queue.publish();
    EXPECT_EQ(queue.gather(ranges.data(), 16, 100000).octets, 2 * (10000u + long_header_size));
    EXPECT_EQ(queue.release(10000 + long_header_size - 1), 0u);
    EXPECT_EQ(live, 2);
    EXPECT_EQ(queue.release(1), 1u);
    EXPECT_EQ(live, 1);
    EXPECT_EQ(queue.release(10000 + long_header_size), 1u);
    EXPECT_EQ(live, 0);
}

TEST_F(one_queue, gives_the_reader_the_only_reference_to_an_external_body) {
    auto *body = make(uncopied);
    ASSERT_EQ(queue.write_external(0, block_ref::adopt(body), body->body()), error::none);
    queue.publish();
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    ASSERT_NE(frame.lone_owner, nullptr);
    block_ref::adopt(std::exchange(*frame.lone_owner, nullptr));
    EXPECT_EQ(live, 0);
    EXPECT_FALSE(queue.read(frame));
}

TEST_F(one_queue, drops_an_external_body_that_was_only_copied_at_the_next_look) {
    for (frame_queue *each : {&queue, &for_reader}) {
        for (const std::size_t size : {small, uncopied}) {
            write_external(*each, 0, size);
            each->publish();
            frame_view frame;
            ASSERT_TRUE(each->read(frame));
            EXPECT_EQ(live, 1);
            EXPECT_FALSE(each->has_input());
            EXPECT_EQ(live, 0);
        }
    }
}

TEST_F(one_queue, keeps_the_memory_of_a_small_external_body_until_its_octets_are_released) {
    constexpr std::size_t size = long_header_size + 300;
    frame_queue busy(chunk_pool::make(), 4096);
    for (int i = 0; i < 3; ++i)
        write_external(busy, 0, 300);
    busy.publish();
    const auto found = busy.gather(ranges.data(), ranges.size(), 1'000'000);
    EXPECT_EQ(found.ranges, 1u);
    EXPECT_EQ(found.octets, 3 * size);
    (void)busy.release(size - 1);
    EXPECT_EQ(live, 3);
    (void)busy.release(1);
    EXPECT_EQ(live, 2);
    (void)busy.release(2 * size - 1);
    EXPECT_EQ(live, 1);
    (void)busy.release(1);
    EXPECT_EQ(live, 0);
}

TEST_F(one_queue, drops_the_memory_of_a_small_external_body_with_the_rest_of_a_broken_message) {
    write_external(queue, frame_flag::more, 300);
    write_external(queue, 0, 300);
    write_external(queue, 0, 300);
    queue.publish();
    (void)queue.gather(ranges.data(), ranges.size(), 1'000'000);
    (void)queue.release(1);
    EXPECT_EQ(queue.drop_cut_message().messages, 1u);
    EXPECT_EQ(live, 1);
}

TEST_F(one_queue, drops_the_memory_of_bodies_that_are_rolled_back_and_does_not_wait_for_their_octets) {
    const auto take_all = [&](frame_queue &from, bool by_reading) {
        frame_view frame;
        while (by_reading && from.read(frame)) {
        }
        if (!by_reading) {
            const auto found = from.gather(ranges.data(), ranges.size(), 1'000'000);
            (void)from.release(found.octets);
        }
    };
    using enum frame_queue::bodies;
    for (const bool is_blank : {true, false}) {
        for (const std::size_t size : {small, uncopied}) {
            for (const auto &[where, by_reading] :
                 {std::pair(referred_to, true), std::pair(apart, true), std::pair(apart, false)}) {
                frame_queue each(chunk_pool::make(), 128, where);
                if (!is_blank) {
                    ASSERT_EQ(each.write(0, as_bytes("published")), error::none);
                    each.publish();
                }
                for (int i = 0; i < 3; ++i)
                    write_external(each, frame_flag::more, size);
                EXPECT_EQ(live, 3);
                each.roll_back();
                each.roll_back();
                EXPECT_EQ(live, 0);
                write_external(each, 0, 10);
                each.publish();
                take_all(each, by_reading);
                EXPECT_EQ(live, 0);
            }
        }
    }
}

TEST_F(one_queue, gives_one_that_only_reads_each_external_body_where_it_lies) {
    for (const std::size_t size : {std::size_t{1}, small, uncopied}) {
        auto *body = make(size);
        ASSERT_EQ(for_reader.write_external(frame_flag::more, block_ref::adopt(body), body->body()),
                  error::none);
        ASSERT_EQ(for_reader.write_external(0, {}, as_bytes("constant")), error::none);
        for_reader.publish();
        frame_view frame;
        ASSERT_TRUE(for_reader.read(frame));
        EXPECT_EQ(frame.data, body->memory.data());
        EXPECT_EQ(frame.size, size);
        EXPECT_EQ(frame.flags, frame_flag::more);
        ASSERT_NE(frame.lone_owner, nullptr);
        EXPECT_EQ(*frame.lone_owner, frame.owner);
        ASSERT_TRUE(for_reader.read(frame));
        EXPECT_EQ(live, 0);
        EXPECT_EQ(as_text(frame.body()), "constant");
        EXPECT_EQ(frame.lone_owner, nullptr);
    }
}

TEST_F(one_queue, gives_up_the_memory_of_a_large_copied_body_when_the_reader_does) {
    const std::vector<std::uint8_t> body(frame_queue::own_block_from, 7);
    const std::uint8_t *before = nullptr;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(for_reader.write(0, body), error::none);
        for_reader.publish();
        frame_view frame;
        ASSERT_TRUE(for_reader.read(frame));
        ASSERT_NE(frame.lone_owner, nullptr);
        EXPECT_TRUE(std::ranges::equal(frame.body(), body));
        EXPECT_TRUE(!before || frame.data == before) << "the same memory again";
        before = frame.data;
        block_ref::adopt(std::exchange(*frame.lone_owner, nullptr));
    }
}

TEST_F(one_queue, drops_what_nobody_read_in_the_end) {
    for (const auto where : {frame_queue::bodies::referred_to, frame_queue::bodies::apart}) {
        frame_queue ending(chunk_pool::make(), 128, where);
        for (int i = 0; i < 100; ++i) {
            write_external(ending, frame_flag::more, small);
            ASSERT_EQ(ending.write(frame_flag::more, as_bytes("between")), error::none);
            write_external(ending, 0, uncopied);
            if (i < 50)
                ending.publish();
        }
        frame_view frame;
        for (int i = 0; i < 10; ++i)
            ASSERT_TRUE(ending.read(frame));
    }
    EXPECT_EQ(live, 0);
}

TEST_F(one_queue, keeps_the_owner_of_an_empty_body_until_its_frame_has_been_taken) {
    for (frame_queue *each : {&queue, &for_reader}) {
        write_external(*each, 0, 0);
        each->publish();
        EXPECT_EQ(live, 1);
        frame_view frame;
        ASSERT_TRUE(each->read(frame));
        EXPECT_EQ(frame.size, 0u);
        EXPECT_EQ(live, 1);
        EXPECT_FALSE(each->read(frame));
        EXPECT_EQ(live, 0);
    }
    EXPECT_EQ(queue.gather(ranges.data(), 16, 1000).octets, 0u);
    EXPECT_EQ(queue.release(0), 0u);
}

TEST_F(one_queue, says_what_a_reference_to_a_shared_owner_pins) {
    auto *owner = make(64000);
    owner->memory[1] = 100;
    ASSERT_EQ(queue.append(owner, owner->body().first(102), 1, true, owner->memory.size()), error::none);
    owner->release();
    queue.publish();
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(frame.owner, owner);
    EXPECT_EQ(frame.owner_size, 64000u);
}

TEST_F(one_queue, refuses_a_body_that_no_memory_can_hold) {
    ASSERT_EQ(queue.write(frame_flag::more, as_bytes("part")), error::none);
    const byte_span absurd(noise().data(), std::numeric_limits<std::size_t>::max() - 64);
    EXPECT_EQ(queue.write(0, absurd), error::no_memory);
    EXPECT_EQ(queue.write_external(0, {}, absurd), error::no_memory);
    EXPECT_EQ(queue.write_external(0, {}, byte_span(noise().data(), std::size_t{1} << 40)), error::no_memory);
    ASSERT_EQ(queue.write(0, as_bytes("end")), error::none);
    queue.publish();
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(as_text(frame.body()), "part");
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(as_text(frame.body()), "end");
    EXPECT_FALSE(queue.read(frame));
}

/// Memory that ends the process when it is written to, once it is filled.
class read_only_memory {
public:
    explicit read_only_memory(const std::vector<std::uint8_t> &content)
        : size_(content.size()),
          memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        EXPECT_NE(memory_, MAP_FAILED);
        std::copy(content.begin(), content.end(), static_cast<std::uint8_t *>(memory_));
        EXPECT_EQ(::mprotect(memory_, size_, PROT_READ), 0);
    }
    ~read_only_memory() { ::munmap(memory_, size_); }
    read_only_memory(const read_only_memory &) = delete;
    read_only_memory &operator=(const read_only_memory &) = delete;

    byte_span octets() const noexcept { return {static_cast<const std::uint8_t *>(memory_), size_}; }

private:
    std::size_t size_;
    void *memory_;
};

/// The queue writes to what it has read, but only where it had copied that itself.
TEST_F(one_queue, writes_to_no_memory_that_was_only_lent_to_it) {
    const byte_span brief = byte_span(noise()).first(100), large = byte_span(noise()).first(10'000);
    const read_only_memory wire(encoded({{0, brief, nullptr}, {0, brief, nullptr}, {0, large, nullptr}}));
    const auto give = [&] {
        // Rolled back, the segment is left blank, and used for what comes next.
        ASSERT_EQ(queue.write(0, brief), error::none);
        queue.roll_back();
        ASSERT_EQ(queue.append(nullptr, wire.octets(), 3, true), error::none);
        ASSERT_EQ(queue.write(0, brief), error::none);
        ASSERT_EQ(queue.write_external(0, {}, wire.octets()), error::none);
        queue.publish();
    };
    const auto expect = [&](byte_span body, byte_span found) {
        EXPECT_TRUE(std::ranges::equal(body, found));
    };
    frame_view frame;
    give();
    for (const byte_span body : {brief, brief, large, brief, wire.octets()}) {
        ASSERT_TRUE(queue.read(frame));
        expect(body, frame.body());
    }
    short_frame short_one;
    give();
    ASSERT_TRUE(queue.read_short(short_one));
    expect(brief, {short_one.data, short_one.size});
    ASSERT_TRUE(queue.read_at_once(short_one, brief.size()));
    expect(brief, {short_one.data, short_one.size});
    for (const byte_span body : {large, brief}) {
        ASSERT_TRUE(queue.read_short(short_one));
        expect(body, {short_one.data, short_one.size});
    }
    ASSERT_TRUE(queue.read(frame));
    expect(wire.octets(), frame.body());
}

TEST_F(one_queue, rolls_back_across_chunks_and_goes_on_where_it_was) {
    const byte_span big = byte_span(noise()).first(50000);
    ASSERT_EQ(queue.write(0, as_bytes("kept")), error::none);
    queue.publish();
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(queue.write(frame_flag::more, as_bytes("gone")), error::none);
        ASSERT_EQ(queue.write(frame_flag::more, big), error::none);
        queue.roll_back();
        EXPECT_FALSE(queue.has_unpublished());
    }
    ASSERT_EQ(queue.write(0, as_bytes("next")), error::none);
    queue.publish();
    frame_view frame;
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(as_text(frame.body()), "kept");
    ASSERT_TRUE(queue.read(frame));
    EXPECT_EQ(as_text(frame.body()), "next");
    EXPECT_FALSE(queue.read(frame));
}

}  // namespace
}  // namespace zlink
