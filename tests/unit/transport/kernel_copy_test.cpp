// Tests where within a page a body may stand.
#include "transport/kernel_copy.hpp"

#include <gtest/gtest.h>

#include "placed_memory.hpp"

namespace zlink {
namespace {

std::size_t difference_in_page(std::size_t target, std::size_t source) {
    return (kernel_copy::page + target - source) % kernel_copy::page;
}

bool is_slow_to_send(const void *body) {
    return kernel_copy::speed_of_sending(kernel_copy::offset_of_frame(body)) == kernel_copy::copy_speed::slow;
}

TEST(kernel_copy, is_slow_where_the_target_is_a_little_behind_the_source) {
    for (std::size_t offset = 0; offset < kernel_copy::page; ++offset) {
        test::placed_memory memory(1, offset);
        const std::size_t in_socket = long_header_size;
        const std::size_t received = difference_in_page(offset, in_socket);
        const std::size_t sent = difference_in_page(in_socket, offset);
        EXPECT_EQ(kernel_copy::is_slow_to_receive(memory.data()), received >= 1 && received <= 15) << offset;
        EXPECT_EQ(is_slow_to_send(memory.data()), sent >= 1 && sent <= 15) << offset;
    }
}

TEST(kernel_copy, is_slow_to_large_blocks_of_the_heap_and_from_whole_pages) {
    test::placed_memory of_heap(1, 16);
    test::placed_memory page(1, 0);
    EXPECT_TRUE(kernel_copy::is_slow_to_receive(of_heap.data()));
    EXPECT_FALSE(is_slow_to_send(of_heap.data()));
    EXPECT_TRUE(is_slow_to_send(page.data()));
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
        const std::size_t blocks = kernel_copy::blocks_to_place(speed);
        const std::size_t alone = kernel_copy::octets_to_write_alone(long_header_size, blocks);
        const bool is_aligned = (frame + long_header_size) % 16 == 0;
        for (std::size_t sent = 0; speed != copy_speed::quick && sent <= 18; ++sent) {
            std::size_t target = sent;
            for (std::size_t block = 0; block < blocks; ++block) {
                target += (block + 1) * alone / blocks - block * alone / blocks;
                if (target + least_room > kernel_copy::system_block)
                    target = 0;
            }
            EXPECT_EQ(target, 0u) << "behind " << sent;
            const std::size_t behind = difference_in_page(target, frame + alone);
            EXPECT_FALSE(behind >= 1 && behind <= (is_aligned ? 31u : 15u)) << behind << ", behind " << sent;
        }
    }
}

TEST(kernel_copy, is_quick_to_receive_too_behind_the_blocks_that_are_written_alone) {
    for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}})
        for (std::size_t in_front = long_header_size; in_front <= 64; ++in_front) {
            SCOPED_TRACE(in_front);
            const std::size_t alone = kernel_copy::octets_to_write_alone(in_front, blocks);
            for (std::size_t each : {alone / blocks, alone - alone / blocks}) {
                EXPECT_GT(each + 32, kernel_copy::system_block) << "there is still room in the block";
                EXPECT_LE(each, kernel_copy::system_block) << "the next block is begun";
                if (blocks == 1)
                    break;
            }
            for (std::size_t memory = 0; memory < kernel_copy::page; memory += 16) {
                const std::size_t behind = difference_in_page(memory + alone - in_front, 0);
                EXPECT_FALSE(behind >= 1 && behind <= 15) << memory;
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
