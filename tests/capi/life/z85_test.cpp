// zmq_z85_encode and zmq_z85_decode: the text of RFC 32, its limits, and round trips.
#include <zmq.h>

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

// The example of RFC 32.
const std::vector<uint8_t> hello = {0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b};

TEST(z85, encodes_the_example_of_the_rfc) {
    char text[11];
    EXPECT_EQ(zmq_z85_encode(text, hello.data(), hello.size()), text);
    EXPECT_STREQ(text, "HelloWorld");
}

TEST(z85, decodes_the_example_of_the_rfc) {
    uint8_t data[8];
    EXPECT_EQ(zmq_z85_decode(data, "HelloWorld"), data);
    EXPECT_EQ(std::vector<uint8_t>(data, data + 8), hello);
}

TEST(z85, round_trips_every_octet_in_every_place) {
    for (int place = 0; place < 4; ++place)
        for (int value = 0; value < 256; ++value) {
            uint8_t data[4] = {}, back[4];
            char text[6];
            data[place] = static_cast<uint8_t>(value);
            ASSERT_NE(zmq_z85_encode(text, data, 4), nullptr);
            ASSERT_EQ(std::strlen(text), 5u);
            ASSERT_NE(zmq_z85_decode(back, text), nullptr);
            ASSERT_EQ(std::memcmp(data, back, 4), 0);
        }
}

TEST(z85, encodes_nothing_as_nothing) {
    char text[1] = {'x'};
    EXPECT_EQ(zmq_z85_encode(text, hello.data(), 0), text);
    EXPECT_EQ(text[0], '\0');
}

TEST(z85, refuses_sizes_that_are_no_multiple_of_four) {
    char text[16];
    for (std::size_t size : {1, 2, 3, 5, 7}) {
        errno = 0;
        EXPECT_EQ(zmq_z85_encode(text, hello.data(), size), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST(z85, refuses_bad_text) {
    const std::vector<std::string> bad = {
        "",
        "a",
        "abcd",
        "HelloWorld1",  // lengths
        "ab de",
        "ab\"de",
        "ab\\de",
        "ab,de",
        "ab\x80"
        "de",
        "\x7f"
        "bcde",  // characters outside the alphabet
        "#####",
        "%nSc1",
        "%nSd0",  // more than 32 bits
    };
    for (const std::string &text : bad) {
        uint8_t data[16];
        errno = 0;
        EXPECT_EQ(zmq_z85_decode(data, text.c_str()), nullptr) << text;
        EXPECT_EQ(errno, EINVAL) << text;
    }
}

TEST(z85, says_first_what_is_wrong_with_a_size_or_text_and_then_that_there_is_no_place) {
    const auto error_of = [](const void *outcome) { return outcome ? 0 : zmq_errno(); };
    char text[16];
    uint8_t data[16];
    EXPECT_EQ(error_of(zmq_z85_encode(nullptr, nullptr, 1)), EINVAL);
    EXPECT_EQ(error_of(zmq_z85_encode(nullptr, hello.data(), 1)), EINVAL);
    EXPECT_EQ(error_of(zmq_z85_encode(text, nullptr, 1)), EINVAL);
    EXPECT_EQ(error_of(zmq_z85_encode(text, nullptr, 4)), EFAULT);
    EXPECT_EQ(error_of(zmq_z85_encode(nullptr, hello.data(), 4)), EFAULT);
    EXPECT_EQ(error_of(zmq_z85_decode(nullptr, "abcd")), EINVAL);
    EXPECT_EQ(error_of(zmq_z85_decode(nullptr, "")), EINVAL);
    EXPECT_EQ(error_of(zmq_z85_decode(nullptr, "HelloWorld")), EFAULT);
    EXPECT_EQ(error_of(zmq_z85_decode(data, nullptr)), EFAULT);
}

TEST(z85, accepts_the_largest_value) {
    uint8_t data[4];
    ASSERT_NE(zmq_z85_decode(data, "%nSc0"), nullptr);
    for (uint8_t octet : data)
        EXPECT_EQ(octet, 0xff);
}

}  // namespace
