// How often a thread looks, and how often it leaves that out.
#include "core/patience.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(patience, looks_until_it_is_there) {
    patience waits;
    int looks = 0;
    EXPECT_TRUE(waits.look_for(100, [&] { return ++looks == 7; }));
    EXPECT_EQ(looks, 7);
}

TEST(patience, gives_up_after_so_many_looks) {
    patience waits;
    std::size_t looks = 0;
    EXPECT_FALSE(waits.look_for(1000, [&] { return ++looks, false; }));
    EXPECT_EQ(looks, 1000u);
}

TEST(patience, leaves_looking_out_twice_as_often_each_time_in_vain) {
    patience waits;
    int calls = 0;
    for (int in_vain = 1; in_vain <= 10; ++in_vain) {
        EXPECT_FALSE(waits.look_for(1, [&] { return ++calls, false; }));
        EXPECT_EQ(calls, in_vain);
        const int left_out = (1 << std::min(in_vain, 6)) - 1;
        for (int i = 0; i < left_out; ++i)
            EXPECT_FALSE(waits.look_for(1, [&] { return ++calls, true; }));
        EXPECT_EQ(calls, in_vain);
    }
    EXPECT_TRUE(waits.look_for(1, [] { return true; }));
    EXPECT_TRUE(waits.look_for(1, [] { return true; }));
}

}  // namespace
}  // namespace zlink
