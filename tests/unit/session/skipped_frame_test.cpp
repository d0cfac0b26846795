// The rest of a frame that nobody takes.
#include "session/skipped_frame.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace zlink {
namespace {

/// Says how much of what has come is not the frame's, and whether a message is lost.
struct rest {
    std::size_t octets;
    bool is_loss;
    bool operator==(const rest &) const = default;
};
rest after(skipped_frame &it, std::string_view come) {
    byte_span in = as_bytes(come);
    const bool is_loss = it.pass(in);
    EXPECT_TRUE(in.empty() || in.data() + in.size() == as_bytes(come).data() + come.size());
    return {in.size(), is_loss};
}

TEST(skipped_frame, takes_nothing_before_it_has_begun) {
    skipped_frame it;
    EXPECT_EQ(after(it, "abc"), (rest{3, false}));
    EXPECT_EQ(after(it, ""), (rest{0, false}));
}

TEST(skipped_frame, loses_its_message_with_the_last_octet_and_once) {
    skipped_frame it;
    it.begin(4, true);
    EXPECT_EQ(after(it, "abc"), (rest{0, false}));
    EXPECT_EQ(after(it, ""), (rest{0, false}));
    EXPECT_EQ(after(it, "def"), (rest{2, true}));
    EXPECT_EQ(after(it, "def"), (rest{3, false}));
}

TEST(skipped_frame, that_ends_no_message_loses_none) {
    skipped_frame it;
    it.begin(2, false);
    EXPECT_EQ(after(it, "ab"), (rest{0, false}));
    it.begin(1, true);
    EXPECT_EQ(after(it, "ab"), (rest{1, true}));
}

}  // namespace
}  // namespace zlink
