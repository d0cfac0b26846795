// Records that one thread makes and another drops.
#include "memory/lent_records.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "child.hpp"
#include "effort.hpp"

namespace zlink::lent_records {
namespace {

constexpr std::size_t many = 1000;  // of several magazines

std::vector<void *> make(std::size_t count) {
    std::vector<void *> made;
    for (std::size_t i = 0; i < count; ++i) {
        made.push_back(allocate());
        EXPECT_NE(made.back(), nullptr);
        std::memset(made.back(), static_cast<int>(i), record_size);
    }
    return made;
}

void make_again(std::span<void *> records) {
    for (void *&record : records)
        record = allocate();
}

void drop(std::span<void *const> records) {
    for (void *record : records)
        release(record);
}

TEST(lent_records, gives_no_record_to_two) {
    for (int round = 0; round < 3; ++round) {
        const std::vector<void *> made = make(many);
        EXPECT_EQ(std::set(made.begin(), made.end()).size(), many);
        drop(made);
    }
}

/// Whatever its last destructors drop, after the library's own, goes back to the heap: the
/// sanitizers say so.
TEST(lent_records, takes_records_from_a_thread_that_ends) {
    struct late {
        ~late() { drop(records); }
        std::vector<void *> records;
    };
    std::thread([] {
        thread_local late mine;  // made before the library's, and so ended after it
        mine.records.reserve(many);
        mine.records = make(many);
        std::vector<void *> more = make(1);
        drop(more);
    }).join();
}

/// The other thread calls for no memory once it has settled: not every heap, nor that of a
/// sanitizer, survives a fork in between.
TEST(lent_records, are_there_for_a_child_of_fork_whatever_other_threads_do) {
    std::atomic<bool> has_settled{false};
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        std::vector<void *> records = make(many);
        for (int round = 0; !is_over; ++round) {
            drop(records);
            make_again(records);
            has_settled = round > 10;
        }
        drop(records);
    });
    while (!has_settled)
        std::this_thread::yield();
    for (int i = 0; i < zlink_test::effort(300, 60); ++i) {
        EXPECT_TRUE(zlink_test::in_child([] {
            std::array<void *, many> records;
            for (int round = 0; round < 2; ++round) {
                make_again(records);
                drop(records);
            }
        }));
    }
    is_over = true;
    other.join();
}

}  // namespace
}  // namespace zlink::lent_records
