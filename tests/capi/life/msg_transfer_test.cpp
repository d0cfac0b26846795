// Messages: their life, sharing, properties and metadata.
#include "sockets.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

namespace {

using namespace zlink_test;

std::string text_of(zmq_msg_t &message) {
    return std::string(static_cast<const char *>(zmq_msg_data(&message)), zmq_msg_size(&message));
}

void fill(zmq_msg_t &message, const std::string &text) {
    ASSERT_EQ(zmq_msg_init_size(&message, text.size()), 0);
    std::memcpy(zmq_msg_data(&message), text.data(), text.size());
}

class msg_transfer_of_size : public ::testing::TestWithParam<std::size_t> {
protected:
    const std::string text = std::string(GetParam(), 't');
};

TEST_P(msg_transfer_of_size, is_copied_moved_and_closed) {
    zmq_msg_t first, second;
    fill(first, text);
    zmq_msg_init(&second);
    EXPECT_EQ(zmq_msg_copy(&second, &first), 0);
    EXPECT_EQ(text_of(first), text);
    EXPECT_EQ(text_of(second), text);
    EXPECT_EQ(zmq_msg_close(&first), 0);
    EXPECT_EQ(text_of(second), text);
    zmq_msg_init(&first);
    EXPECT_EQ(zmq_msg_move(&first, &second), 0);
    EXPECT_EQ(text_of(first), text);
    EXPECT_EQ(zmq_msg_size(&second), 0u);
    EXPECT_EQ(zmq_msg_close(&first), 0);
    EXPECT_EQ(zmq_msg_close(&second), 0);
}

TEST_P(msg_transfer_of_size, is_emptied_by_sending) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    zmq_msg_t message;
    fill(message, text);
    ASSERT_EQ(zmq_msg_send(&message, push.handle(), 0), static_cast<int>(text.size()));
    EXPECT_EQ(zmq_msg_size(&message), 0u);
    EXPECT_EQ(pull.receive(), text);
    zmq_msg_close(&message);
}

TEST_P(msg_transfer_of_size, stays_with_the_caller_when_sending_fails) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    zmq_msg_t message;
    fill(message, text);
    EXPECT_FAILS(EAGAIN, zmq_msg_send(&message, push.handle(), ZMQ_DONTWAIT));
    EXPECT_EQ(text_of(message), text);
    zmq_msg_close(&message);
}

TEST_P(msg_transfer_of_size, a_sent_copy_leaves_the_original) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    zmq_msg_t original, copy;
    fill(original, text);
    for (int i = 0; i < 3; ++i) {
        zmq_msg_init(&copy);
        ASSERT_EQ(zmq_msg_copy(&copy, &original), 0);
        ASSERT_EQ(zmq_msg_send(&copy, push.handle(), 0), static_cast<int>(text.size()));
    }
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(pull.receive(), text);
    EXPECT_EQ(text_of(original), text);
    zmq_msg_close(&original);
}

TEST_P(msg_transfer_of_size, given_memory_is_freed_once) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    static std::atomic<int> freed;
    freed = 0;
    std::string memory = text;
    zmq_msg_t message;
    ASSERT_EQ(zmq_msg_init_data(
                  &message, memory.data(), memory.size(), [](void *, void *) { ++freed; }, nullptr),
              0);
    ASSERT_EQ(zmq_msg_send(&message, push.handle(), 0), static_cast<int>(text.size()));
    EXPECT_EQ(pull.receive(), text);
    EXPECT_TRUE(eventually([] { return freed == 1; }));
    push.close();
    pull.close();
    zmq.term();
    EXPECT_EQ(freed, 1);
}

INSTANTIATE_TEST_SUITE_P(sizes, msg_transfer_of_size, ::testing::Values(1, 33, 34, 255, 256, 8192, 100'000));

TEST(msg_transfer, a_truncated_receive_tells_the_whole_size) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    push.send("0123456789");
    push.send("next");
    char text[5] = "....";
    EXPECT_EQ(zmq_recv(pull.handle(), text, 4, 0), 10);
    EXPECT_STREQ(text, "0123");
    EXPECT_EQ(pull.receive(), "next");
}

/// Sends memory over inproc, which comes out at the other end as it is.
class lent_over_inproc : public ::testing::Test {
protected:
    lent_over_inproc() {
        connected(zmq, pull, push, "inproc");
        zmq_msg_init(&message);
    }
    ~lent_over_inproc() override { zmq_msg_close(&message); }

    void lend() {
        zmq_msg_t lent;
        ASSERT_EQ(zmq_msg_init_data(
                      &lent, memory.data(), memory.size(),
                      [](void *, void *given) { static_cast<std::promise<void> *>(given)->set_value(); },
                      &given_back),
                  0);
        ASSERT_EQ(zmq_msg_send(&lent, push.handle(), 0), static_cast<int>(memory.size()));
    }
    void receive() {
        ASSERT_EQ(zmq_msg_recv(&message, pull.handle(), 0), static_cast<int>(memory.size()));
        ASSERT_EQ(zmq_msg_data(&message), memory.data());
    }
    static bool is_ready(const std::future<void> &future) {
        return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }

    std::string memory = std::string(100'000, 'l');
    std::promise<void> given_back;
    std::future<void> is_given_back = given_back.get_future();
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    zmq_msg_t message;
};

TEST_F(lent_over_inproc, is_given_back_before_a_receive_waits) {
    ASSERT_NO_FATAL_FAILURE(lend());
    ASSERT_NO_FATAL_FAILURE(receive());
    std::thread sender([&] {
        const bool in_time = is_given_back.wait_for(patience / 2) == std::future_status::ready;
        zmq_send(push.handle(), in_time ? "next" : "late", 4, 0);
    });
    EXPECT_EQ(zmq_msg_recv(&message, pull.handle(), 0), 4);
    sender.join();
    EXPECT_EQ(text_of(message), "next");
}

TEST_F(lent_over_inproc, is_given_back_by_a_receive_that_finds_nothing) {
    ASSERT_NO_FATAL_FAILURE(lend());
    ASSERT_NO_FATAL_FAILURE(receive());
    EXPECT_FALSE(is_ready(is_given_back));
    EXPECT_FAILS(EAGAIN, zmq_msg_recv(&message, pull.handle(), ZMQ_DONTWAIT));
    EXPECT_TRUE(is_ready(is_given_back));
    EXPECT_EQ(zmq_msg_size(&message), 0u);
}

TEST_F(lent_over_inproc, stays_where_nothing_can_be_received) {
    ASSERT_NO_FATAL_FAILURE(lend());
    ASSERT_NO_FATAL_FAILURE(receive());
    test_socket asking = zmq.socket(ZMQ_REQ);
    EXPECT_FAILS(EFSM, zmq_msg_recv(&message, asking.handle(), ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSUP, zmq_msg_recv(&message, push.handle(), ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOTSOCK, zmq_msg_recv(&message, &zmq, ZMQ_DONTWAIT));
    EXPECT_FALSE(is_ready(is_given_back));
    EXPECT_EQ(text_of(message), memory);
}

/// A message that a receive is to replace.
class replaced_message : public ::testing::TestWithParam<int> {
protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(fill(message, text));
        if (GetParam() != ZMQ_REQ)
            return;
        connected(zmq, answering, asking, "inproc");
        asking.send("a question");
    }
    ~replaced_message() override { zmq_msg_close(&message); }

    const std::string text = std::string(100'000, 'r');
    context zmq;
    test_socket answering = zmq.socket(ZMQ_REP);
    test_socket asking = zmq.socket(GetParam());
    zmq_msg_t message;
};

TEST_P(replaced_message, is_empty_where_there_is_nothing_to_receive) {
    EXPECT_FAILS(EAGAIN, zmq_msg_recv(&message, asking.handle(), ZMQ_DONTWAIT));
    EXPECT_EQ(text_of(message), "");
    EXPECT_EQ(zmq_msg_more(&message), 0);
}

TEST_P(replaced_message, is_empty_after_a_wait_in_vain) {
    ASSERT_EQ(asking.set(ZMQ_RCVTIMEO, 1), 0);
    EXPECT_FAILS(EAGAIN, zmq_msg_recv(&message, asking.handle(), 0));
    EXPECT_EQ(text_of(message), "");
}

TEST_P(replaced_message, stays_in_a_context_that_has_ended) {
    ASSERT_EQ(zmq_ctx_shutdown(zmq.handle()), 0);
    EXPECT_FAILS(ETERM, zmq_msg_recv(&message, asking.handle(), 0));
    EXPECT_EQ(text_of(message), text);
}

INSTANTIATE_TEST_SUITE_P(types, replaced_message,
                         ::testing::Values(ZMQ_PAIR, ZMQ_PULL, ZMQ_SUB, ZMQ_XSUB, ZMQ_XPUB, ZMQ_DEALER,
                                           ZMQ_ROUTER, ZMQ_REP, ZMQ_REQ, ZMQ_STREAM));

TEST(msg_transfer, constant_memory_may_be_sent) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(zmq_send_const(push.handle(), "constant", 8, 0), 8);
    EXPECT_EQ(pull.receive(), "constant");
}

TEST(msg_transfer, knows_whether_more_parts_follow) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    push.send_all({"one", "two"});
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(zmq_msg_recv(&message, pull.handle(), 0), 3);
    EXPECT_EQ(zmq_msg_more(&message), 1);
    EXPECT_EQ(zmq_msg_get(&message, ZMQ_MORE), 1);
    ASSERT_EQ(zmq_msg_recv(&message, pull.handle(), 0), 3);
    EXPECT_EQ(zmq_msg_more(&message), 0);
    EXPECT_EQ(zmq_msg_get(&message, ZMQ_MORE), 0);
    EXPECT_FAILS(EINVAL, zmq_msg_get(&message, 4711));
    EXPECT_FAILS(EINVAL, zmq_msg_set(&message, ZMQ_MORE, 1));
    zmq_msg_close(&message);
}

TEST(msg_transfer, knows_its_peer) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    req.set(ZMQ_ROUTING_ID, "alice");
    connected(zmq, rep, req, "tcp");
    req.send("hello");
    zmq_msg_t message;
    zmq_msg_init(&message);
    ASSERT_EQ(zmq_msg_recv(&message, rep.handle(), 0), 5);
    EXPECT_STREQ(zmq_msg_gets(&message, "Socket-Type"), "REQ");
    EXPECT_STREQ(zmq_msg_gets(&message, "Identity"), "alice");
    EXPECT_STREQ(zmq_msg_gets(&message, "Peer-Address"), "127.0.0.1");
    errno = 0;
    EXPECT_EQ(zmq_msg_gets(&message, "Nonsense"), nullptr);
    EXPECT_EQ(zmq_errno(), EINVAL);
    zmq_msg_close(&message);
}

TEST(msg_transfer, scattered_memory_is_sent_and_received_as_parts) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    push.send_all({"one", "two", ""});
    EXPECT_EQ(pull.receive_all(), (frames{"one", "two", ""}));
}

}  // namespace
