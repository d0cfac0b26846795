// The prefix tree against a model, and its behaviour with very long keys.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include "core/prefix_tree.hpp"
#include "failing_allocation.hpp"  // of nodes, and of nothing else in these tests

namespace zlink::test {

namespace {

struct number {
    int value = 0;
    bool is_empty() const noexcept { return value == 0; }
};
using tree = prefix_tree<number>;

std::map<std::string, int> content(const tree &t) {
    std::map<std::string, int> all;
    t.for_each([&](byte_span key, const number &n) { all.emplace(as_text(key), n.value); });
    return all;
}

int sum_of_matches(const tree &t, std::string_view text) {
    int sum = 0;
    t.match(as_bytes(text), [&](const number &n) {
        sum += n.value;
        return true;
    });
    return sum;
}

}  // namespace

TEST(prefix_tree, finds_every_key_that_a_text_begins_with) {
    tree t;
    t.insert(as_bytes("")).value = 1;
    t.insert(as_bytes("a")).value = 2;
    t.insert(as_bytes("abc")).value = 4;
    t.insert(as_bytes("abd")).value = 8;
    t.insert(as_bytes(std::string_view("\0x", 2))).value = 16;
    EXPECT_EQ(sum_of_matches(t, ""), 1);
    EXPECT_EQ(sum_of_matches(t, "ab"), 3);
    EXPECT_EQ(sum_of_matches(t, "abcd"), 7);
    EXPECT_EQ(sum_of_matches(t, "abd"), 11);
    EXPECT_EQ(sum_of_matches(t, std::string_view("\0x\0", 3)), 17);
    EXPECT_EQ(sum_of_matches(t, "b"), 1);
}

TEST(prefix_tree, behaves_like_a_map_whatever_is_done_to_it) {
    std::mt19937 random(42);
    tree t;
    std::map<std::string, int> model;
    const auto some_key = [&] {
        std::string key(random() % 7, 'a');
        for (char &c : key)
            c = static_cast<char>('a' + random() % 3);
        if (random() % 50 == 0)  // long labels are not joined
            key.append(600 + random() % 900, 'z').append(random() % 3, 'q');
        return key;
    };
    for (int step = 0; step < 40000; ++step) {
        const std::string key = some_key();
        switch (random() % 5) {
        case 0:
        case 1: {
            const int value = static_cast<int>(random() % 100) + 1;
            t.insert(as_bytes(key)).value = value;
            model[key] = value;
            break;
        }
        case 2:
        case 3: {
            number *n = t.find(as_bytes(key));
            ASSERT_EQ(n && !n->is_empty(), model.contains(key));
            if (n) {
                n->value = 0;
                t.prune(as_bytes(key));
            }
            model.erase(key);
            break;
        }
        default: {
            int expected = 0;
            for (const auto &[topic, value] : model)
                expected += key.starts_with(topic) ? value : 0;
            ASSERT_EQ(sum_of_matches(t, key), expected);
        }
        }
        if (step % 1000 == 999) {
            ASSERT_EQ(content(t), model);
            t.sweep([&](byte_span topic, number &n) {
                if (n.value % 3 == 0) {
                    model.erase(std::string(as_text(topic)));
                    n.value = 0;
                }
                return true;
            });
            ASSERT_EQ(content(t), model);
        }
    }
}

TEST(prefix_tree, behaves_like_a_map_when_allocations_fail) {
    // Few octets make deep trees, many make wide ones; lengths about 255 and 511 meet the limits of
    // labels.
    struct kind {
        unsigned alphabet, longest, steps;
    };
    unsigned failures = 0;
    for (const kind &keys : {kind{2, 12, 20000}, kind{256, 3, 20000}, kind{40, 3, 20000}, kind{1, 800, 2000},
                             kind{3, 6, 20000}}) {
        const unsigned alphabet = keys.alphabet, longest = keys.longest, steps = keys.steps;
        std::mt19937 random(alphabet);
        std::optional<tree> t(std::in_place);
        std::map<std::string, int> model;
        const auto some_key = [&] {
            std::string key(random() % (longest + 1), '\0');
            for (char &c : key)
                c = static_cast<char>(random() % alphabet);
            if (longest < 10 && random() % 8 == 0)
                key.insert(random() % (key.size() + 1), 250 + random() % 12, 'z');
            return key;
        };
        for (unsigned step = 0; step < steps; ++step) {
            const std::string key = some_key();
            const bool grows = step / 4000 % 2 == 0;
            failing_allocation = random() % 3 == 0 ? static_cast<int>(1 + random() % 4) : 0;
            switch (random() % 8) {
            case 0:
            case 1:
                break;
            case 2:
            case 3:
            case 4:
                if (grows) {
                    try {
                        t->insert(as_bytes(key)).value = static_cast<int>(step + 1);
                        model[key] = static_cast<int>(step + 1);
                    } catch (const std::bad_alloc &) {
                        ++failures;
                    }
                    break;
                }
                [[fallthrough]];
            default: {
                auto at = model.lower_bound(key);
                const std::string gone = at == model.end() || random() % 3 == 0 ? key : at->first;
                number *n = t->find(as_bytes(gone));
                ASSERT_EQ(n ? n->value : 0, model.contains(gone) ? model[gone] : 0);
                if (n) {
                    n->value = 0;
                    t->prune(as_bytes(gone));
                }
                model.erase(gone);
            }
            }
            failing_allocation = 0;
            int expected = 0;
            for (std::size_t size = 0; size <= key.size(); ++size) {
                const auto at = model.find(key.substr(0, size));
                expected += at == model.end() ? 0 : at->second;
            }
            ASSERT_EQ(sum_of_matches(*t, key), expected);
            if (step % 500 == 499) {
                ASSERT_EQ(content(*t), model);
            }
            if (step % 3000 == 2999) {
                failing_allocation = static_cast<int>(random() % 4);
                t->sweep([&](byte_span topic, number &n) {
                    if (n.value % 3 == 0) {
                        model.erase(std::string(as_text(topic)));
                        n.value = 0;
                    }
                    return true;
                });
                failing_allocation = 0;
                ASSERT_EQ(content(*t), model);
            }
        }
    }
    EXPECT_GT(failures, 100u);
}

TEST(prefix_tree, stays_usable_when_a_visit_throws) {
    tree t;
    for (const char *key : {"a", "ab", "abc", "b"})
        t.insert(as_bytes(key)).value = 1;
    int seen = 0;
    EXPECT_THROW(t.sweep([&](byte_span, number &n) {
        n.value = 0;
        if (++seen == 2)
            throw std::bad_alloc();
        return true;
    }),
                 std::bad_alloc);
    EXPECT_EQ(content(t).size(), 2u);
    t.sweep([](byte_span, number &n) {
        n.value = 0;
        return true;
    });
    EXPECT_TRUE(content(t).empty());
    t.insert(as_bytes("abcd")).value = 2;
    EXPECT_EQ(content(t), (std::map<std::string, int>{{"abcd", 2}}));
}

TEST(prefix_tree, has_all_256_branches_at_one_place) {
    tree t;
    for (int i = 0; i < 256; ++i)
        t.insert(as_bytes(std::string(1, static_cast<char>(i)) + "x")).value = i + 1;
    for (int i = 0; i < 256; ++i)
        EXPECT_EQ(sum_of_matches(t, std::string(1, static_cast<char>(i)) + "xy"), i + 1);
    EXPECT_EQ(content(t).size(), 256u);
    t.sweep([](byte_span, number &n) {
        n.value = 0;
        return true;
    });
    EXPECT_TRUE(content(t).empty());
}

TEST(prefix_tree, stops_a_sweep_where_it_is_told_to) {
    tree t;
    for (const char *key : {"a", "ab", "b", "c"})
        t.insert(as_bytes(key)).value = 1;
    int seen = 0;
    t.sweep([&](byte_span, number &n) {
        n.value = 0;
        return ++seen < 2;
    });
    EXPECT_EQ(content(t).size(), 2u);
}

TEST(prefix_tree, takes_a_key_of_16_mebioctets_without_recursion) {
    const std::string key(16u << 20, 'k');
    tree t;
    t.insert(as_bytes(key)).value = 1;
    t.insert(as_bytes(std::string_view(key).substr(0, 8u << 20))).value = 2;
    EXPECT_EQ(sum_of_matches(t, key), 3);
    t.find(as_bytes(key))->value = 0;
    t.prune(as_bytes(key));
    EXPECT_EQ(sum_of_matches(t, key), 2);
}

TEST(prefix_tree, takes_a_chain_of_very_many_nested_keys_without_recursion) {
    const std::string key(20000, 'k');
    tree t;
    for (std::size_t n = key.size(); n > 0; --n)
        t.insert(as_bytes(std::string_view(key).substr(0, n))).value = 1;
    EXPECT_EQ(sum_of_matches(t, key), 20000);
    t.sweep([](byte_span, number &n) {
        n.value = 0;
        return true;
    });
    EXPECT_EQ(sum_of_matches(t, key), 0);
}

}  // namespace zlink::test
