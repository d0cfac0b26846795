// zmq_msg_*: life, sharing, properties, and bad pointers.
#include <zmq.h>

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace {

std::string text_of(zmq_msg_t *m) { return {static_cast<char *>(zmq_msg_data(m)), zmq_msg_size(m)}; }

zmq_msg_t message_of(const std::string &text) {
    zmq_msg_t m;
    EXPECT_EQ(zmq_msg_init_size(&m, text.size()), 0);
    std::memcpy(zmq_msg_data(&m), text.data(), text.size());
    return m;
}

void count_call(void *, void *hint) { ++*static_cast<int *>(hint); }

#define EXPECT_ERRNO(call, number)                                                                           \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        EXPECT_EQ(call, -1);                                                                                 \
        EXPECT_EQ(errno, number) << #call;                                                                   \
    } while (0)

TEST(msg, is_empty_after_init) {
    zmq_msg_t m;
    ASSERT_EQ(zmq_msg_init(&m), 0);
    EXPECT_EQ(zmq_msg_size(&m), 0u);
    EXPECT_EQ(zmq_msg_more(&m), 0);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, holds_what_is_written_into_it) {
    for (std::size_t size : {0, 1, 29, 33, 40, 41, 255, 8192, 1000000}) {
        zmq_msg_t m = message_of(std::string(size, 'x'));
        EXPECT_EQ(text_of(&m), std::string(size, 'x'));
        EXPECT_EQ(zmq_msg_close(&m), 0);
    }
}

TEST(msg, reports_a_size_no_memory_can_hold) {
    zmq_msg_t m;
    EXPECT_ERRNO(zmq_msg_init_size(&m, SIZE_MAX), ENOMEM);
}

TEST(msg, calls_the_free_function_once) {
    int calls = 0;
    char body[] = "lent";
    zmq_msg_t m, copy;
    ASSERT_EQ(zmq_msg_init_data(&m, body, 4, count_call, &calls), 0);
    EXPECT_EQ(zmq_msg_data(&m), body);
    ASSERT_EQ(zmq_msg_init(&copy), 0);
    ASSERT_EQ(zmq_msg_copy(&copy, &m), 0);
    EXPECT_EQ(zmq_msg_close(&m), 0);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(text_of(&copy), "lent");
    EXPECT_EQ(zmq_msg_close(&copy), 0);
    EXPECT_EQ(calls, 1);
}

TEST(msg, of_no_octets_still_calls_the_free_function) {
    int calls = 0;
    zmq_msg_t m;
    ASSERT_EQ(zmq_msg_init_data(&m, nullptr, 0, count_call, &calls), 0);
    EXPECT_EQ(zmq_msg_size(&m), 0u);
    EXPECT_EQ(zmq_msg_close(&m), 0);
    EXPECT_EQ(calls, 1);
}

TEST(msg, without_a_free_function_is_constant_data) {
    static char body[] = "constant";
    zmq_msg_t m, copy;
    ASSERT_EQ(zmq_msg_init_data(&m, body, 8, nullptr, nullptr), 0);
    EXPECT_EQ(zmq_msg_get(&m, ZMQ_SHARED), 1);
    ASSERT_EQ(zmq_msg_init(&copy), 0);
    ASSERT_EQ(zmq_msg_copy(&copy, &m), 0);
    EXPECT_EQ(zmq_msg_data(&copy), body);
    EXPECT_EQ(zmq_msg_close(&m), 0);
    EXPECT_EQ(zmq_msg_close(&copy), 0);
}

TEST(msg, is_shared_with_its_copy_when_large) {
    zmq_msg_t m = message_of(std::string(1024, 'a'));
    zmq_msg_t copy = message_of("replaced");
    EXPECT_EQ(zmq_msg_get(&m, ZMQ_SHARED), 0);
    ASSERT_EQ(zmq_msg_copy(&copy, &m), 0);
    EXPECT_EQ(zmq_msg_get(&m, ZMQ_SHARED), 1);
    EXPECT_EQ(zmq_msg_get(&copy, ZMQ_SHARED), 1);
    EXPECT_EQ(zmq_msg_data(&copy), zmq_msg_data(&m));
    EXPECT_EQ(zmq_msg_close(&copy), 0);
    EXPECT_EQ(zmq_msg_get(&m, ZMQ_SHARED), 1);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, is_not_shared_with_its_copy_when_small) {
    zmq_msg_t m = message_of("small");
    zmq_msg_t copy = message_of("");
    ASSERT_EQ(zmq_msg_copy(&copy, &m), 0);
    EXPECT_EQ(zmq_msg_get(&copy, ZMQ_SHARED), 0);
    EXPECT_NE(zmq_msg_data(&copy), zmq_msg_data(&m));
    EXPECT_EQ(text_of(&copy), "small");
    EXPECT_EQ(zmq_msg_close(&copy), 0);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, moves_and_leaves_an_empty_one) {
    zmq_msg_t m = message_of(std::string(100, 'm'));
    zmq_msg_t target = message_of("replaced");
    ASSERT_EQ(zmq_msg_move(&target, &m), 0);
    EXPECT_EQ(text_of(&target), std::string(100, 'm'));
    EXPECT_EQ(zmq_msg_size(&m), 0u);
    EXPECT_EQ(zmq_msg_close(&m), 0);
    EXPECT_EQ(zmq_msg_close(&target), 0);
}

TEST(msg, has_integer_properties) {
    zmq_msg_t m = message_of("x");
    EXPECT_EQ(zmq_msg_get(&m, ZMQ_MORE), 0);
    EXPECT_ERRNO(zmq_msg_get(&m, ZMQ_SRCFD), EINVAL);
    EXPECT_ERRNO(zmq_msg_get(&m, 99), EINVAL);
    EXPECT_ERRNO(zmq_msg_get(nullptr, 99), EINVAL);
    for (int property : {ZMQ_MORE, ZMQ_SRCFD, ZMQ_SHARED, 99})
        EXPECT_ERRNO(zmq_msg_set(&m, property, 1), EINVAL);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, that_was_not_received_has_no_string_property) {
    zmq_msg_t m = message_of("x");
    errno = 0;
    EXPECT_EQ(zmq_msg_gets(&m, "Socket-Type"), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, is_refused_once_closed) {
    zmq_msg_t closed = message_of(std::string(100, 'c'));
    zmq_msg_t m = message_of("live");
    ASSERT_EQ(zmq_msg_close(&closed), 0);
    EXPECT_ERRNO(zmq_msg_close(&closed), EFAULT);
    EXPECT_ERRNO(zmq_msg_copy(&closed, &m), EFAULT);
    EXPECT_ERRNO(zmq_msg_move(&m, &closed), EFAULT);
    EXPECT_EQ(text_of(&m), "live");
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

// libzmq ends the process for these.
TEST(msg, never_initialised_is_refused) {
    zmq_msg_t garbage, m = message_of("live");
    std::memset(&garbage, 0, sizeof garbage);
    EXPECT_ERRNO(zmq_msg_close(&garbage), EFAULT);
    EXPECT_ERRNO(zmq_msg_move(&garbage, &m), EFAULT);
    EXPECT_ERRNO(zmq_msg_copy(&m, &garbage), EFAULT);
    EXPECT_ERRNO(zmq_msg_get(&garbage, ZMQ_SHARED), EFAULT);
    EXPECT_ERRNO(zmq_msg_get(&garbage, ZMQ_SRCFD), EFAULT);
    EXPECT_EQ(zmq_msg_get(&garbage, ZMQ_MORE), 0);
    errno = 0;
    EXPECT_EQ(zmq_msg_data(&garbage), nullptr);
    EXPECT_EQ(errno, EFAULT);
    errno = 0;
    EXPECT_EQ(zmq_msg_size(&garbage), 0u);
    EXPECT_EQ(errno, EFAULT);
    errno = 0;
    EXPECT_EQ(zmq_msg_more(&garbage), 0);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

TEST(msg, refuses_null_pointers) {
    zmq_msg_t m = message_of("live");
    EXPECT_ERRNO(zmq_msg_init(nullptr), EFAULT);
    EXPECT_ERRNO(zmq_msg_init_size(nullptr, 1), EFAULT);
    EXPECT_ERRNO(zmq_msg_init_data(nullptr, nullptr, 0, nullptr, nullptr), EFAULT);
    EXPECT_ERRNO(zmq_msg_close(nullptr), EFAULT);
    EXPECT_ERRNO(zmq_msg_copy(&m, nullptr), EFAULT);
    EXPECT_ERRNO(zmq_msg_copy(nullptr, &m), EFAULT);
    EXPECT_ERRNO(zmq_msg_move(&m, nullptr), EFAULT);
    EXPECT_ERRNO(zmq_msg_move(nullptr, &m), EFAULT);
    EXPECT_ERRNO(zmq_msg_get(nullptr, ZMQ_MORE), EFAULT);
    EXPECT_EQ(zmq_msg_data(nullptr), nullptr);
    EXPECT_EQ(zmq_msg_size(nullptr), 0u);
    EXPECT_EQ(zmq_msg_more(nullptr), 0);
    errno = 0;
    EXPECT_EQ(zmq_msg_gets(&m, nullptr), nullptr);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_msg_gets(nullptr, "Socket-Type"), nullptr);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(text_of(&m), "live");
    EXPECT_EQ(zmq_msg_close(&m), 0);
}

}  // namespace
