// Where within a page a body may stand.
#include "core/kernel_copy.hpp"

#include <gtest/gtest.h>

#include "placed_memory.hpp"

namespace zlink {
namespace {

std::size_t difference_in_page(std::size_t target, std::size_t source) {
    return (kernel_copy::page + target - source) % kernel_copy::page;
}

TEST(kernel_copy, is_slow_where_the_target_is_a_little_behind_the_source) {
    for (std::size_t offset = 0; offset < kernel_copy::page; ++offset) {
        test::placed_memory memory(1, offset);
        const std::size_t in_socket = long_header_size;
        const std::size_t received = difference_in_page(offset, in_socket);
        const std::size_t sent = difference_in_page(in_socket, offset);
        EXPECT_EQ(kernel_copy::is_slow_to_receive(memory.data()), received >= 1 && received <= 15) << offset;
        EXPECT_EQ(kernel_copy::is_slow_to_send(memory.data()), sent >= 1 && sent <= 15) << offset;
    }
}

TEST(kernel_copy, is_slow_to_large_blocks_of_the_heap_and_from_whole_pages) {
    test::placed_memory of_heap(1, 16);
    test::placed_memory page(1, 0);
    EXPECT_TRUE(kernel_copy::is_slow_to_receive(of_heap.data()));
    EXPECT_FALSE(kernel_copy::is_slow_to_send(of_heap.data()));
    EXPECT_TRUE(kernel_copy::is_slow_to_send(page.data()));
    EXPECT_FALSE(kernel_copy::is_slow_to_receive(page.data()));
}

// The model: octets go behind what was sent before, in blocks; one with too little room is left.
TEST(kernel_copy, is_quick_from_the_start_of_the_next_block) {
    using kernel_copy::copy_speed;
    constexpr std::size_t least_room = 32;
    const auto is_slow = [](std::size_t target, std::size_t source) {
        const std::size_t behind = difference_in_page(target, source);
        return behind >= 1 && behind <= 15;
    };
    for (std::size_t frame = 0; frame < kernel_copy::page; ++frame) {
        SCOPED_TRACE(frame);
        const copy_speed speed = kernel_copy::speed_of_sending(frame);
        EXPECT_EQ(speed == copy_speed::slow, is_slow(0, frame));
        const bool has_no_better_place = frame == 16 || frame == 17;
        EXPECT_EQ(speed != copy_speed::quick,
                  (is_slow(0, frame) || is_slow(9, frame) || is_slow(18, frame)) && !has_no_better_place);
        for (std::size_t sent = 0; speed != copy_speed::quick && sent <= 18; ++sent) {
            const std::size_t end = sent + kernel_copy::octets_to_next_block;
            const std::size_t next = end + least_room > kernel_copy::system_block ? 0 : end;
            EXPECT_FALSE(is_slow(next, frame + kernel_copy::octets_to_next_block)) << "behind " << sent;
        }
    }
}

TEST(kernel_copy, places_frames_whose_speed_varies_for_a_while_after_a_slow_one) {
    using kernel_copy::copy_speed;
    using std::chrono::microseconds;
    kernel_copy::placement placement;
    EXPECT_TRUE(placement.is_due(copy_speed::slow));
    EXPECT_FALSE(placement.is_due(copy_speed::quick));
    placement.note(512 * 1024, microseconds(80), false);
    placement.note(100'000, microseconds(80), false);
    EXPECT_FALSE(placement.is_due(copy_speed::varies)) << "none was slow, or large";
    placement.note(512 * 1024, microseconds(220), false);
    EXPECT_FALSE(placement.is_due(copy_speed::quick));
    for (int i = 0; i < 64; ++i)
        EXPECT_TRUE(placement.is_due(copy_speed::varies)) << i;
    EXPECT_FALSE(placement.is_due(copy_speed::varies));
}

TEST(kernel_copy, takes_no_copy_for_slow_while_writes_are_interrupted) {
    using kernel_copy::copy_speed;
    constexpr std::chrono::microseconds long_time(220);
    kernel_copy::placement placement;
    placement.note(512 * 1024, long_time, true);
    for (int i = 0; i < 64; ++i) {
        EXPECT_FALSE(placement.is_due(copy_speed::varies)) << i;
        placement.note(512 * 1024, long_time, false);
    }
    EXPECT_FALSE(placement.is_due(copy_speed::varies));
    placement.note(512 * 1024, long_time, false);
    EXPECT_TRUE(placement.is_due(copy_speed::varies));
}

}  // namespace
}  // namespace zlink
