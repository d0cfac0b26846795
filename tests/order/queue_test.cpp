// The stores by which a frame queue (pipe/frame_queue.hpp) hands memory to its reader and back, in
// every order of their steps. The steps are those of frame_queue.cpp, written out.
#include <gtest/gtest.h>

#include "order/memory_model.hpp"

namespace zlink::order {

namespace {

struct orders {
    std::memory_order publish = release;
    std::memory_order see = acquire;
    std::memory_order give_back = release;
    std::memory_order take_back = acquire;
};

/// Two segments. The first is published as final with the second linked behind it, and goes back to
/// the writer when it is read.
struct queue {
    static constexpr int final_bit = 8;
    struct segment {
        atomic<int> committed{0};
        plain<int> octets;
        plain<int> next;
    };
    segment first, second;
    atomic<int> given_back{0};
    int read = 0;
};

std::string failure_of(orders by) {
    const outcome all = explore([by] {
        auto it = std::make_shared<queue>();
        const auto writer = [=] {
            it->first.octets.set(1);
            it->first.committed.store(1, by.publish);  // publish(): a message
            it->second.octets.set(2);
            it->second.committed.store(
                1, relaxed);  // publish_segments(): the link comes before the store that shows it
            it->first.next.set(2);
            it->first.committed.store(1 | queue::final_bit, by.publish);
            if (it->given_back.load(by.take_back) == 1) {  // take_segment(): it is used again
                it->first.octets.set(3);
                it->first.next.set(0);
            }
        };
        const auto reader = [=] {
            int seen = it->first.committed.load(by.see);
            if ((seen & ~queue::final_bit) == 1)
                it->read += it->first.octets.get();
            if (!(seen & queue::final_bit))
                return;
            expect(it->first.next.get() == 2, "a final segment without one behind it");
            it->given_back.store(1, by.give_back);
            seen = it->second.committed.load(by.see);
            expect(seen == 1, "a linked segment that shows nothing");
            it->read += it->second.octets.get();
        };
        return program{{writer, reader}};
    });
    EXPECT_EQ(all.left, 0u);
    return all.failure;
}

}  // namespace

TEST(queue, hands_memory_over_and_back_by_one_store_each) { EXPECT_EQ(failure_of({}), ""); }

TEST(queue, races_where_one_of_its_four_orders_is_relaxed) {
    EXPECT_NE(failure_of({.publish = relaxed}), "");
    EXPECT_NE(failure_of({.see = relaxed}), "");
    EXPECT_NE(failure_of({.give_back = relaxed}), "");
    EXPECT_NE(failure_of({.take_back = relaxed}), "");
}

namespace {

/// A record of kept memory, which frame_queue::write_kept() shows before the octets that it is for:
/// the reader may see one of a message that is not published yet.
std::string failure_of_records(std::memory_order show, std::memory_order see) {
    const outcome all = explore([=] {
        struct segment {
            atomic<int> committed{0}, last_kept{0};
            plain<int> first, second;
        };
        auto it = std::make_shared<segment>();
        const auto writer = [=] {
            it->first.set(1);
            it->last_kept.store(1, show);
            it->committed.store(1, release);
            it->second.set(2);
            it->last_kept.store(2, show);
        };
        const auto reader = [=] {
            if (it->committed.load(acquire) == 0)
                return;
            const int last = it->last_kept.load(see);
            expect(last >= 1, "octets without the record of what they hold");
            (void)it->first.get();
            if (last == 2)
                (void)it->second.get();
        };
        return program{{writer, reader}};
    });
    EXPECT_EQ(all.left, 0u);
    return all.failure;
}

}  // namespace

TEST(queue, shows_a_record_of_kept_memory_when_it_is_complete) {
    EXPECT_EQ(failure_of_records(release, acquire), "");
    EXPECT_NE(failure_of_records(relaxed, acquire), "");
    EXPECT_NE(failure_of_records(release, relaxed), "");
}

}  // namespace zlink::order
