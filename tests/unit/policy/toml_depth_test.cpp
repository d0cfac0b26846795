// Texts that nest deeper than any file of a policy has to. Pure.
#include "policy/toml_depth.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(toml_depth, of_files_as_people_write_them_is_small) {
    EXPECT_EQ(line_that_nests_too_deep(""), 0);
    EXPECT_EQ(line_that_nests_too_deep(
                  "[[entry]]\nallow = [\"10.0.0.0/8\",\n \"10.1.1.1\"] # ...................."),
              0);
    EXPECT_EQ(
        line_that_nests_too_deep("a = '.................'\nb = \"[[[[[[[[{{{{{{{{\\\".................\"\n"),
        0);
    EXPECT_EQ(line_that_nests_too_deep("a = \"\"\"\n.................\n\" [[[[[[\"\"\"\n"), 0);
    EXPECT_EQ(line_that_nests_too_deep("a = '"), 0);
    EXPECT_EQ(line_that_nests_too_deep("a = \"\\"), 0);
    EXPECT_EQ(line_that_nests_too_deep("a = \"\"\"\\"), 0);
    EXPECT_EQ(line_that_nests_too_deep("#"), 0);
}

TEST(toml_depth, is_seen_where_no_string_is) {
    const std::string dots(17, '.'), open(5, '[');
    EXPECT_EQ(line_that_nests_too_deep("\n\na" + dots), 3);
    EXPECT_EQ(line_that_nests_too_deep("a = \"\"\"\n\n\"\"\" " + open), 3);
    EXPECT_EQ(line_that_nests_too_deep("a = 'it\n" + open), 2);
    EXPECT_EQ(line_that_nests_too_deep("a = 'b\\' " + open), 1) << "a backslash means nothing there";
    EXPECT_EQ(line_that_nests_too_deep("a = \"b\\\\\" " + open), 1);
    EXPECT_EQ(line_that_nests_too_deep("a = [\n[\n[\n[\n["), 5);
    EXPECT_EQ(line_that_nests_too_deep("# it's\n" + open), 2);
    EXPECT_EQ(line_that_nests_too_deep("a = [\"\"\"b\"\"\"\", " + open), 1) << "a quote is its last octet";
    EXPECT_EQ(line_that_nests_too_deep("a = ['''b''''', " + open), 1) << "two quotes are";
}

}  // namespace
}  // namespace zlink
