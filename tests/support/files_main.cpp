// main of a program with the tests of several files: --of=NAME runs those of NAME.cpp, as ctest
// does. A --gtest_filter beside it chooses alone. A file without any is a fault, but where a
// sanitizer watches: some files have tests for other builds only.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int status_of_none = 0;
#else
constexpr int status_of_none = 2;
#endif

std::string_view name_of(const char *path) {
    std::string_view name(path);
    name.remove_prefix(name.rfind('/') + 1);
    return name.substr(0, name.rfind('.'));
}

/// A filter for the tests of one file; empty where it has none.
std::string tests_of(std::string_view file) {
    std::string filter;
    const testing::UnitTest &all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
        const testing::TestSuite &suite = *all.GetTestSuite(i);
        for (int k = 0; k < suite.total_test_count(); ++k)
            if (const testing::TestInfo &test = *suite.GetTestInfo(k); name_of(test.file()) == file)
                filter.append(suite.name()).append(".").append(test.name()).append(":");
    }
    return filter;
}

}  // namespace

int main(int count, char **arguments) {
    testing::InitGoogleTest(&count, arguments);
    constexpr std::string_view of = "--of=";
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument.substr(0, of.size()) != of || GTEST_FLAG_GET(filter) != "*")
            continue;
        const std::string filter = tests_of(argument.substr(of.size()));
        if (filter.empty()) {
            std::fprintf(stderr, "no test is of %s\n", arguments[i] + of.size());
            return status_of_none;
        }
        GTEST_FLAG_SET(filter, filter);
    }
    return RUN_ALL_TESTS();
}
