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
TEST(kernel_copy, is_at_full_speed_behind_the_blocks_that_are_written_alone) {
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
        const std::size_t alone = kernel_copy::blocks_to_place(speed) * kernel_copy::octets_to_next_block;
        for (std::size_t sent = 0; speed != copy_speed::quick && sent <= 18; ++sent) {
            std::size_t target = sent;
            for (std::size_t written = 0; written < alone; written += kernel_copy::octets_to_next_block) {
                target += kernel_copy::octets_to_next_block;
                if (target + least_room > kernel_copy::system_block)
                    target = 0;
            }
            const std::size_t behind = difference_in_page(target, frame + alone);
            EXPECT_FALSE(behind >= 1 && behind <= 31) << behind << ", behind " << sent;
        }
    }
}

TEST(kernel_copy, places_frames_unless_many_writes_are_interrupted) {
    kernel_copy::placement placement;
    const auto placed_of_1000 = [&](int interrupted_each) {
        int placed = 0;
        for (int i = 0; i < 1000; ++i) {
            placed += placement.is_due();
            placement.note(i % interrupted_each == 0);
        }
        return placed;
    };
    EXPECT_EQ(placed_of_1000(10), 1000);
    EXPECT_EQ(placed_of_1000(6), 1000);
    EXPECT_LT(placed_of_1000(4), 50);
    EXPECT_LT(placed_of_1000(2), 10);
    EXPECT_GT(placed_of_1000(50), 980);
}

}  // namespace
}  // namespace zlink
