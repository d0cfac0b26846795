#include "metrics/line_allotment.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace zlink::metrics {
namespace {

using numbers = std::vector<std::uint64_t>;

numbers from_to(std::uint64_t first, std::uint64_t last) {
    numbers all(last - first + 1);
    std::iota(all.begin(), all.end(), first);
    return all;
}

class the_lines : public ::testing::Test {
protected:
    std::size_t given(std::uint64_t context, const numbers &sockets) {
        const std::vector<bool> found = lines.settle(context, sockets);
        EXPECT_EQ(found.size(), sockets.size());
        return static_cast<std::size_t>(std::count(found.begin(), found.end(), true));
    }

    line_allotment lines;
};

TEST_F(the_lines, are_those_of_the_process_and_not_of_a_context) {
    EXPECT_EQ(given(1, from_to(1, 40)), 40u);
    EXPECT_EQ(given(2, from_to(41, 80)), most_sockets - 40);
    EXPECT_EQ(given(3, from_to(81, 90)), 0u);
    EXPECT_EQ(given(2, from_to(41, 80)), most_sockets - 40) << "asked again, with another answer";
}

TEST_F(the_lines, are_not_for_who_was_summed_once) {
    EXPECT_EQ(given(1, from_to(1, 70)), most_sockets);
    EXPECT_EQ(given(1, from_to(2, 70)), most_sockets - 1) << "a sum would fall";
    EXPECT_EQ(given(1, from_to(2, 71)), most_sockets) << "what a closed socket had is for a new one";
}

TEST_F(the_lines, are_taken_back_from_the_youngest) {
    EXPECT_EQ(given(1, from_to(1, 10)), 10u);
    EXPECT_EQ(given(2, from_to(11, 20)), 10u);
    EXPECT_TRUE(lines.take_back(12));
    EXPECT_EQ(lines.settle(1, from_to(1, 10)),
              (std::vector<bool>{true, true, true, true, true, true, true, true, false, false}));
    EXPECT_EQ(given(2, from_to(11, 20)), 0u);
    EXPECT_TRUE(lines.take_back(100)) << "as many as there are";
    EXPECT_FALSE(lines.take_back(1));
    EXPECT_EQ(given(3, from_to(21, 100)), most_sockets);
}

TEST_F(the_lines, come_back_with_the_end_of_a_context) {
    EXPECT_EQ(given(1, from_to(1, 64)), most_sockets);
    lines.forget(1);
    EXPECT_EQ(given(2, from_to(65, 128)), most_sockets);
}

TEST_F(the_lines, are_for_so_many_contexts_and_their_sockets) {
    for (std::uint64_t context = 1; context <= most_contexts; ++context)
        EXPECT_TRUE(lines.admits(context));
    EXPECT_FALSE(lines.is_summed(most_contexts + 1)) << "not seen yet";
    EXPECT_FALSE(lines.admits(most_contexts + 1));
    EXPECT_EQ(given(most_contexts + 1, {7}), 0u);
    lines.forget(1);
    EXPECT_FALSE(lines.admits(most_contexts + 1)) << "a sum would fall";
    EXPECT_TRUE(lines.is_summed(most_contexts + 1));
    EXPECT_TRUE(lines.admits(most_contexts + 2));
}

}  // namespace
}  // namespace zlink::metrics
