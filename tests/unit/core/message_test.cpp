// Messages: who owns the body, what is shared, and when memory goes.
#include "core/message.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "memory/chunk.hpp"

namespace zlink {
namespace {

/// A message in memory full of garbage, as C programs have it.
struct raw_message {
    alignas(message) unsigned char octets[sizeof(message)];
    explicit raw_message(int garbage = 0xab) { std::memset(octets, garbage, sizeof octets); }
    message *operator->() { return reinterpret_cast<message *>(octets); }
    message &operator*() { return *reinterpret_cast<message *>(octets); }
};

std::string text_of(message &m) { return std::string(as_text(m.body())); }

void count_call(void *, void *hint) { ++*static_cast<int *>(hint); }

TEST(message, knows_memory_that_was_never_initialised) {
    for (int garbage : {0, 0xab, 0xff}) {
        raw_message m(garbage);
        EXPECT_FALSE(m->is_valid());
        EXPECT_EQ(m->close(), error::fault);
    }
}

TEST(message, is_empty_after_init) {
    raw_message m;
    m->init();
    EXPECT_TRUE(m->is_valid());
    EXPECT_EQ(m->size(), 0u);
    EXPECT_FALSE(m->has_more());
    EXPECT_FALSE(m->is_shared());
    EXPECT_EQ(m->info(), nullptr);
    EXPECT_EQ(m->close(), error::none);
}

TEST(message, refuses_a_second_close) {
    raw_message m;
    ASSERT_EQ(m->init_size(1000), error::none);
    EXPECT_EQ(m->close(), error::none);
    EXPECT_FALSE(m->is_valid());
    EXPECT_EQ(m->close(), error::fault);
}

TEST(message, keeps_bodies_of_every_size_around_the_inline_limit) {
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, message::max_inline - 1, message::max_inline,
                             message::max_inline + 1, std::size_t{255}, std::size_t{100000}}) {
        std::string body(size, 'x');
        if (size)
            body.back() = 'z';
        raw_message m;
        ASSERT_EQ(m->init_copy(as_bytes(body)), error::none);
        EXPECT_EQ(text_of(*m), body);
        EXPECT_EQ(m->owner() == nullptr, size <= message::max_inline);
        EXPECT_EQ(m->close(), error::none);
    }
}

TEST(message, reports_a_size_that_no_memory_can_hold) {
    raw_message m;
    EXPECT_EQ(m->init_size(std::numeric_limits<std::size_t>::max()), error::no_memory);
    EXPECT_EQ(m->init_size(std::numeric_limits<std::size_t>::max() / 2), error::no_memory);
    EXPECT_FALSE(m->is_valid());
}

TEST(message, shares_a_large_body_between_copies) {
    raw_message a, b;
    ASSERT_EQ(a->init_copy(as_bytes(std::string(200, 'q'))), error::none);
    b->init();
    EXPECT_FALSE(a->is_shared());
    ASSERT_EQ(b->copy_from(*a), error::none);
    EXPECT_TRUE(a->is_shared());
    EXPECT_TRUE(b->is_shared());
    EXPECT_EQ(a->data(), b->data());
    EXPECT_EQ(a->close(), error::none);
    EXPECT_TRUE(b->is_shared());
    EXPECT_EQ(text_of(*b), std::string(200, 'q'));
    EXPECT_EQ(b->close(), error::none);
}

TEST(message, copies_a_small_body) {
    raw_message a, b;
    ASSERT_EQ(a->init_copy(as_bytes("small")), error::none);
    b->init();
    ASSERT_EQ(b->copy_from(*a), error::none);
    a->data()[0] = 'S';
    EXPECT_EQ(text_of(*b), "small");
    EXPECT_FALSE(b->is_shared());
    EXPECT_EQ(a->close(), error::none);
    EXPECT_EQ(b->close(), error::none);
}

TEST(message, moves_the_body_and_leaves_an_empty_message) {
    raw_message a, b;
    ASSERT_EQ(a->init_copy(as_bytes(std::string(99, 'm'))), error::none);
    a->set_more(true);
    b->init();
    const std::uint8_t *body = a->data();
    ASSERT_EQ(b->move_from(*a), error::none);
    EXPECT_EQ(b->data(), body);
    EXPECT_TRUE(b->has_more());
    EXPECT_EQ(a->size(), 0u);
    EXPECT_FALSE(a->has_more());
    EXPECT_EQ(a->close(), error::none);
    EXPECT_EQ(b->close(), error::none);
}

TEST(message, is_unchanged_by_a_copy_or_move_onto_itself) {
    raw_message a;
    ASSERT_EQ(a->init_copy(as_bytes(std::string(99, 'm'))), error::none);
    EXPECT_EQ(a->copy_from(*a), error::none);
    EXPECT_EQ(a->move_from(*a), error::none);
    EXPECT_EQ(a->size(), 99u);
    EXPECT_EQ(a->close(), error::none);
}

TEST(message, refuses_to_copy_or_move_what_is_not_initialised) {
    raw_message a, b;
    a->init();
    EXPECT_EQ(a->copy_from(*b), error::fault);
    EXPECT_EQ(b->copy_from(*a), error::fault);
    EXPECT_EQ(a->move_from(*b), error::fault);
    EXPECT_EQ(b->move_from(*a), error::fault);
    EXPECT_EQ(a->close(), error::none);
}

TEST(message, calls_the_free_function_once_when_the_last_copy_goes) {
    int calls = 0;
    char body[] = "lent";
    raw_message a, b, c;
    ASSERT_EQ(a->init_external(body, 4, count_call, &calls), error::none);
    b->init();
    c->init();
    ASSERT_EQ(b->copy_from(*a), error::none);
    ASSERT_EQ(c->move_from(*a), error::none);
    EXPECT_EQ(c->data(), reinterpret_cast<std::uint8_t *>(body));
    EXPECT_EQ(a->close(), error::none);
    EXPECT_EQ(b->close(), error::none);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(c->close(), error::none);
    EXPECT_EQ(calls, 1);
}

TEST(message, releases_what_it_held_before_a_copy_or_move) {
    int calls = 0;
    char body[] = "lent";
    raw_message a, b;
    ASSERT_EQ(a->init_external(body, 4, count_call, &calls), error::none);
    b->init();
    ASSERT_EQ(a->copy_from(*b), error::none);
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(a->close(), error::none);
    ASSERT_EQ(a->init_external(body, 4, count_call, &calls), error::none);
    ASSERT_EQ(a->move_from(*b), error::none);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(a->close(), error::none);
    EXPECT_EQ(b->close(), error::none);
}

TEST(message, without_a_free_function_is_constant_and_shared) {
    static const char body[] = "for ever";
    raw_message m;
    ASSERT_EQ(m->init_external(const_cast<char *>(body), 8, nullptr, nullptr), error::none);
    EXPECT_TRUE(m->is_constant());
    EXPECT_TRUE(m->is_shared());
    EXPECT_EQ(m->owner(), nullptr);
    EXPECT_EQ(m->data(), reinterpret_cast<const std::uint8_t *>(body));
    EXPECT_EQ(m->close(), error::none);
}

TEST(message, keeps_the_chunk_it_refers_to) {
    auto pool = chunk_pool::make();
    chunk *c = pool->allocate(1000);
    ASSERT_NE(c, nullptr);
    std::memset(c->data(), 'c', 1000);
    raw_message m;
    m->init_shared(block_ref::share(c), {c->data() + 10, 100});
    EXPECT_TRUE(c->is_shared());
    c->release();
    EXPECT_FALSE(c->is_shared());
    EXPECT_EQ(text_of(*m), std::string(100, 'c'));
    EXPECT_EQ(m->owner(), c);
    EXPECT_EQ(m->close(), error::none);
}

TEST(message, counts_its_references_to_the_peer_record) {
    auto *info = new peer_info;
    info->add("Socket-Type", "DEALER");
    raw_message a, b;
    a->init();
    b->init();
    a->set_info(info);
    EXPECT_EQ(info->references, 2u);
    a->set_info(info);
    EXPECT_EQ(info->references, 2u);
    ASSERT_EQ(b->copy_from(*a), error::none);
    EXPECT_EQ(info->references, 3u);
    EXPECT_EQ(a->close(), error::none);
    EXPECT_EQ(info->references, 2u);
    EXPECT_STREQ(b->info()->find("socket-TYPE"), "DEALER");
    EXPECT_EQ(b->info()->find("Socket"), nullptr);
    b->set_info(nullptr);
    EXPECT_FALSE(info->is_shared());
    info->release();
    EXPECT_EQ(b->close(), error::none);
}

}  // namespace
}  // namespace zlink
