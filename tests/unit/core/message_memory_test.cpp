// The memory of large bodies: where it goes when a message is closed.
#include "core/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "chosen_processor.hpp"

// The sanitizers would end the process where memory is short.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }

namespace zlink {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps = false;  // the sanitizer watches the heap's own blocks
#else
constexpr bool keeps = true;
#endif

TEST(message_memory, goes_back_to_the_processor_that_filled_it) {
    constexpr int places = 8;  // for what came back last, by the number of the processor
    const test::chosen_processor where;
    const std::vector<int> all = where.all();
    const int filling = all.front();
    const auto other =
        std::find_if(all.begin(), all.end(), [&](int each) { return each % places != filling % places; });
    const int closing = other == all.end() ? filling : *other;
    const auto made = [] {
        message filled;
        EXPECT_EQ(filled.init_size(500'000), error::none);
        return filled;
    };
    for (int round = 0; round < 3; ++round) {
        ASSERT_NO_FATAL_FAILURE(where.go_to(filling));
        message first = made();
        const std::uint8_t *const its_memory = first.data();
        ASSERT_NO_FATAL_FAILURE(where.go_to(closing));
        EXPECT_EQ(first.close(), error::none);
        message of_another = made();
        ASSERT_NO_FATAL_FAILURE(where.go_to(filling));
        message second = made();
        if (filling != closing) {
            EXPECT_EQ(second.data() == its_memory, keeps);
            EXPECT_NE(of_another.data(), its_memory);
        }
        EXPECT_EQ(of_another.close(), error::none);
        EXPECT_EQ(second.close(), error::none);
    }
}

}  // namespace
}  // namespace zlink
