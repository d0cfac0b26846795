// The writes into a small send buffer. What a connection within one machine is given is in
// tcp_test.cpp.
#include "transport/local_tcp.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(fit_send_buffer, keeps_a_write_below_a_send_buffer_that_holds_no_full_packet) {
    const auto most_with = [](int send_buffer, std::size_t limit = 0) {
        batching sizes;
        sizes.tcp_max_transfer = limit;
        fit_send_buffer(sizes, send_buffer);
        return sizes.tcp_max_transfer;
    };
    EXPECT_EQ(most_with(-1), 0u);
    EXPECT_EQ(most_with(0), 2048u);
    EXPECT_EQ(most_with(1000), 2048u);
    EXPECT_EQ(most_with(16'384), 16'384u);
    EXPECT_EQ(most_with(34 * 1024 - 1), 34u * 1024 - 1);
    EXPECT_EQ(most_with(34 * 1024), 0u);
    EXPECT_EQ(most_with(16'384, 5000), 5000u) << "the stricter of both";
    EXPECT_EQ(most_with(4096, 5000), 4096u);
}

}  // namespace
}  // namespace zlink
