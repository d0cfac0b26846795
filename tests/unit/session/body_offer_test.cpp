// The memory that the body of the next message may be read to.
#include "session/body_offer.hpp"

#include <gtest/gtest.h>

#include <array>

namespace zlink {
namespace {

class offer_of_eight : public ::testing::Test {
protected:
    std::array<std::uint8_t, 8> memory{};
    body_offer it;
};

TEST_F(offer_of_eight, is_open_until_a_body_begins_there) {
    EXPECT_FALSE(it.fits(1));
    it.open(memory);
    EXPECT_TRUE(it.fits(8));
    EXPECT_FALSE(it.fits(9));
    EXPECT_EQ(it.take(), memory.data());
    EXPECT_FALSE(it.fits(1)) << "one body is enough";
}

TEST_F(offer_of_eight, is_forgotten_when_something_else_comes_first) {
    it.open(memory);
    it.forget();
    EXPECT_FALSE(it.fits(1));
    EXPECT_FALSE(it.withdraw());
}

TEST_F(offer_of_eight, is_withdrawn_unfilled_and_open_no_more) {
    it.open(memory);
    EXPECT_FALSE(it.withdraw());
    EXPECT_FALSE(it.fits(1));
}

TEST_F(offer_of_eight, says_once_that_it_was_filled_whatever_has_come_since) {
    it.open(memory);
    (void)it.take();
    it.note_filled();
    it.forget();
    EXPECT_TRUE(it.withdraw());
    EXPECT_FALSE(it.withdraw());
}

}  // namespace
}  // namespace zlink
