// Base64, by the examples of RFC 4648 and by what is none.
#include "zmtp/base64.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(base64, writes_the_examples_of_the_rfc) {
    const std::string_view text = "foobar";
    const std::string_view written[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (std::size_t size = 0; size <= text.size(); ++size) {
        EXPECT_EQ(to_base64(as_bytes(text.substr(0, size))), written[size]);
        EXPECT_TRUE(is_base64_of(written[size], size));
        for (std::size_t other = 0; other <= text.size(); ++other)
            EXPECT_EQ(is_base64_of(written[size], other), other == size);
    }
}

TEST(base64, uses_all_of_its_alphabet) {
    const std::uint8_t octets[] = {0xfb, 0xef, 0xff};
    EXPECT_EQ(to_base64(octets), "++//");
    EXPECT_TRUE(is_base64_of("++//", 3));
}

TEST(base64, knows_what_is_none) {
    for (const std::string_view text :
         {"Zg=", "Zg", "Z===", "====", "Zh==", "Zg=g", "Z g=", "Zg-=", "Zm9=", "Zg==\n"})
        EXPECT_FALSE(is_base64_of(text, 1) || is_base64_of(text, 2)) << text;
    EXPECT_FALSE(is_base64_of(std::string_view("Zm9\0", 4), 3));
}

}  // namespace
}  // namespace zlink
