// The memory model itself: what the language allows is found, and what it forbids is not.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "order/memory_model.hpp"

namespace zlink::order {

namespace {

struct two_flags {
    atomic<int> x, y;
    int first = 0, second = 0;
};

/// All results of two threads.
template <class First, class Second>
std::set<std::string> results(First &&first, Second &&second) {
    std::set<std::string> found;
    const outcome all = explore([&] {
        auto here = std::make_shared<two_flags>();
        return program{{[=] { first(*here); }, [=] { second(*here); }}, [=, &found] {
                           found.insert(std::to_string(here->first) + std::to_string(here->second));
                       }};
    });
    EXPECT_EQ(all.failure, "");
    EXPECT_EQ(all.left, 0u);
    return found;
}

std::set<std::string> message_passing(std::memory_order store, std::memory_order load) {
    return results(
        [=](two_flags &o) {
            o.x.store(1, relaxed);
            o.y.store(1, store);
        },
        [=](two_flags &o) {
            o.first = o.y.load(load);
            o.second = o.x.load(relaxed);
        });
}

/// Each thread writes its flag and reads the other's, with `between` in between.
template <class First, class Second>
std::set<std::string> store_buffering(First &&one, Second &&other, std::memory_order order = relaxed) {
    return results(
        [=](two_flags &o) {
            o.x.store(1, order);
            one();
            o.first = o.y.load(order);
        },
        [=](two_flags &o) {
            o.y.store(1, order);
            other();
            o.second = o.x.load(order);
        });
}

constexpr auto nothing = [] {};
constexpr auto fence = [] { full_fence(); };
constexpr auto barrier = [] { barrier_of_all(); };

}  // namespace

TEST(memory_model, passes_a_message_where_the_store_releases_and_the_load_acquires) {
    EXPECT_TRUE(message_passing(relaxed, relaxed).contains("10"));
    EXPECT_TRUE(message_passing(release, relaxed).contains("10"));
    EXPECT_TRUE(message_passing(relaxed, acquire).contains("10"));
    EXPECT_EQ(message_passing(release, acquire), (std::set<std::string>{"00", "01", "11"}));
}

TEST(memory_model, lets_both_miss_the_other_unless_both_have_a_fence) {
    EXPECT_TRUE(store_buffering(nothing, nothing).contains("00"));
    EXPECT_TRUE(store_buffering(nothing, nothing, release).contains("00"));
    EXPECT_TRUE(store_buffering(fence, nothing).contains("00"));
    EXPECT_FALSE(store_buffering(fence, fence).contains("00"));
    EXPECT_FALSE(store_buffering(nothing, nothing, seq_cst).contains("00"));
    EXPECT_FALSE(store_buffering(nothing, barrier).contains("00")) << "a barrier is a fence of both";
}

TEST(memory_model, orders_a_fence_and_the_accesses_of_seq_cst_that_stand_for_the_other) {
    // C++20, [atomics.order]: an access of seq_cst has one place in the order of the fences.
    const auto mixed = [](std::memory_order store, std::memory_order load) {
        return results(
            [=](two_flags &o) {
                o.x.store(1, store);
                o.first = o.y.load(load);
            },
            [](two_flags &o) {
                o.y.store(1, relaxed);
                full_fence();
                o.second = o.x.load(relaxed);
            });
    };
    EXPECT_FALSE(mixed(seq_cst, seq_cst).contains("00"));
    EXPECT_TRUE(mixed(seq_cst, acquire).contains("00"));
    EXPECT_TRUE(mixed(release, seq_cst).contains("00"));
}

TEST(memory_model, keeps_one_order_of_the_stores_of_a_location) {
    const auto found = results([](two_flags &o) { o.x.store(1, relaxed); },
                               [](two_flags &o) {
                                   o.first = o.x.load(relaxed);
                                   o.second = o.x.load(relaxed);
                               });
    EXPECT_EQ(found, (std::set<std::string>{"00", "01", "11"}));
}

TEST(memory_model, puts_stores_of_two_threads_in_either_order_wherever_they_come) {
    const auto stores = [](auto &a, auto &b) {
        a.store(2, relaxed);
        b.store(1, relaxed);
    };
    std::set<std::string> found;
    (void)explore([&] {
        auto o = std::make_shared<two_flags>();
        return program{{[=] { stores(o->x, o->y); }, [=] { stores(o->y, o->x); }}, [=, &found] {
                           found.insert(std::to_string(o->x.load(relaxed)) +
                                        std::to_string(o->y.load(relaxed)));
                       }};
    });
    EXPECT_TRUE(found.contains("22")) << "the last store of each is its thread's first";
}

TEST(memory_model, lets_nothing_between_a_read_and_its_change) {
    const outcome all = explore([] {
        auto sum = std::make_shared<atomic<int>>();
        const auto add = [=] { sum->fetch_add(1, relaxed); };
        return program{{add, add, add}, [=] { expect(sum->load(relaxed) == 3, "one was lost"); }};
    });
    EXPECT_EQ(all.failure, "");
}

TEST(memory_model, finds_a_race) {
    const auto with = [](std::memory_order store, std::memory_order load) {
        return explore([=] {
                   auto value = std::make_shared<plain<int>>();
                   auto flag = std::make_shared<atomic<int>>();
                   return program{{[=] {
                                       value->set(7);
                                       flag->store(1, store);
                                   },
                                   [=] {
                                       if (flag->load(load))
                                           expect(value->get() == 7, "old");
                                   }}};
               })
            .failure;
    };
    EXPECT_EQ(with(release, acquire), "");
    EXPECT_NE(with(relaxed, acquire), "");
    EXPECT_NE(with(release, relaxed), "");
}

TEST(memory_model, finds_a_race_that_two_fences_seem_to_forbid) {
    const auto with = [](std::memory_order load) {
        return explore([=] {
                   struct shared {
                       plain<int> value;
                       atomic<int> y, z;
                   };
                   auto o = std::make_shared<shared>();
                   return program{{[=] {
                                       o->value.set(7);
                                       full_fence();
                                       if (o->y.load(relaxed) == 0)
                                           o->z.store(1, relaxed);
                                   },
                                   [=] {
                                       o->y.store(1, relaxed);
                                       full_fence();
                                       if (o->z.load(load) == 1)
                                           (void)o->value.get();
                                   }}};
               })
            .failure;
    };
    EXPECT_NE(with(relaxed), "");
    EXPECT_EQ(with(acquire), "") << "a store behind a fence releases";
}

}  // namespace zlink::order
