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
    constexpr std::size_t least_room = 32;
    for (std::size_t frame = 0; frame < kernel_copy::page; ++frame) {
        SCOPED_TRACE(frame);
        const kernel_copy::placing how = kernel_copy::placing_of(frame);
        const std::size_t from_block = difference_in_page(0, frame);
        EXPECT_EQ(how == kernel_copy::placing::always, from_block >= 1 && from_block <= 15);
        bool is_slow_behind_some = false;
        for (std::size_t sent = 0; sent <= 18; sent += 9) {
            const std::size_t before = difference_in_page(sent, frame);
            is_slow_behind_some = is_slow_behind_some || (before >= 1 && before <= 15);
            if (how == kernel_copy::placing::none)
                continue;
            const std::size_t end = sent + kernel_copy::octets_to_next_block;
            const std::size_t next = end + least_room > kernel_copy::system_block ? 0 : end;
            const std::size_t after = difference_in_page(next, frame + kernel_copy::octets_to_next_block);
            EXPECT_GT(after, 15u) << "behind " << sent;
        }
        EXPECT_EQ(how == kernel_copy::placing::timed, frame <= 12);
        EXPECT_TRUE(how != kernel_copy::placing::always || is_slow_behind_some);
    }
}

TEST(kernel_copy, tells_a_slow_write_by_its_rate) {
    using std::chrono::microseconds;
    EXPECT_TRUE(kernel_copy::was_slow(512 * 1024, microseconds(220)));
    EXPECT_FALSE(kernel_copy::was_slow(512 * 1024, microseconds(80)));
    EXPECT_FALSE(kernel_copy::was_slow(512 * 1024, microseconds(0)));
}

}  // namespace
}  // namespace zlink
