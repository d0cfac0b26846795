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

}  // namespace
}  // namespace zlink
