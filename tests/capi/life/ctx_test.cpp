// Contexts: options and their limits, how many sockets they hold, shutdown and termination.
#include "sockets.hpp"

#include <atomic>
#include <thread>

namespace {

using namespace zlink_test;

TEST(ctx, has_the_documented_defaults) {
    context zmq;
    EXPECT_EQ(zmq.get(ZMQ_IO_THREADS), 1);
    EXPECT_EQ(zmq.get(ZMQ_MAX_SOCKETS), 1023);
    EXPECT_EQ(zmq.get(ZMQ_SOCKET_LIMIT), 65535);
    EXPECT_EQ(zmq.get(ZMQ_IPV6), 0);
    EXPECT_EQ(zmq.get(ZMQ_BLOCKY), 1);
    EXPECT_EQ(zmq.get(ZMQ_MSG_T_SIZE), static_cast<int>(sizeof(zmq_msg_t)));
    EXPECT_EQ(zmq.get(ZMQ_MAX_MSGSZ), 2147483647);
    EXPECT_EQ(sizeof(zmq_msg_t), 64u);
}

TEST(ctx, keeps_what_is_set_and_refuses_nonsense) {
    context zmq;
    EXPECT_EQ(zmq.set(ZMQ_IO_THREADS, 3), 0);
    EXPECT_EQ(zmq.get(ZMQ_IO_THREADS), 3);
    EXPECT_EQ(zmq.set(ZMQ_MAX_SOCKETS, 10), 0);
    EXPECT_EQ(zmq.get(ZMQ_MAX_SOCKETS), 10);
    EXPECT_EQ(zmq.set(ZMQ_IPV6, 1), 0);
    EXPECT_EQ(zmq.get(ZMQ_IPV6), 1);
    EXPECT_FAILS(EINVAL, zmq.set(ZMQ_IO_THREADS, -1));
    EXPECT_FAILS(EINVAL, zmq.set(ZMQ_MAX_SOCKETS, 0));
    EXPECT_FAILS(EINVAL, zmq.set(4711, 1));
    EXPECT_FAILS(EINVAL, zmq.get(4711));
}

TEST(ctx, ipv6_is_the_default_of_new_sockets) {
    context zmq;
    zmq.set(ZMQ_IPV6, 1);
    EXPECT_EQ(zmq.socket(ZMQ_PAIR).get(ZMQ_IPV6), 1);
}

TEST(ctx, refuses_more_sockets_than_its_limit) {
    context zmq;
    zmq.set(ZMQ_MAX_SOCKETS, 4);
    std::vector<test_socket> open;
    while (open.size() < 100) {
        test_socket next = zmq.socket(ZMQ_PAIR);
        if (!next)
            break;
        open.push_back(std::move(next));
    }
    EXPECT_EQ(zmq_errno(), EMFILE);
    EXPECT_EQ(open.size(), 4u);
    open.pop_back();
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(zmq.socket(ZMQ_PAIR)); }));
}

TEST(ctx, refuses_unknown_socket_types) {
    context zmq;
    EXPECT_EQ(zmq_socket(zmq.handle(), 4711), nullptr);
    EXPECT_EQ(zmq_errno(), EINVAL);
}

TEST(ctx, works_without_io_threads_for_inproc) {
    context zmq;
    ASSERT_EQ(zmq.set(ZMQ_IO_THREADS, 0), 0);
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket peer = zmq.socket(ZMQ_PAIR);
    connected(zmq, bound, peer, "inproc");
    peer.send("x");
    EXPECT_EQ(bound.receive(), "x");
    EXPECT_FAILS(EMTHREAD, zmq_bind(bound.handle(), "tcp://127.0.0.1:*"));
}

TEST(ctx, shutdown_ends_a_waiting_receive) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(scratch_endpoint("tcp"));
    std::thread ends([&] { EXPECT_EQ(zmq.shutdown(), 0); });
    char byte;
    EXPECT_FAILS(ETERM, zmq_recv(pull.handle(), &byte, 1, 0));
    EXPECT_FAILS(ETERM, zmq_recv(pull.handle(), &byte, 1, ZMQ_DONTWAIT));
    ends.join();
    EXPECT_EQ(zmq_socket(zmq.handle(), ZMQ_PAIR), nullptr);
    EXPECT_EQ(zmq_errno(), ETERM);
}

TEST(ctx, shutdown_ends_a_waiting_send) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    std::thread ends([&] { EXPECT_EQ(zmq.shutdown(), 0); });
    EXPECT_FAILS(ETERM, push.send("x"));
    ends.join();
}

TEST(ctx, termination_waits_until_every_socket_is_closed) {
    void *handle = zmq_ctx_new();
    void *pull = zmq_socket(handle, ZMQ_PULL);
    std::atomic<bool> ended{false};
    std::thread ends([&] {
        EXPECT_EQ(zmq_ctx_term(handle), 0);
        ended = true;
    });
    char byte;
    EXPECT_FAILS(ETERM, zmq_recv(pull, &byte, 1, 0));
    EXPECT_FALSE(ended);
    EXPECT_EQ(zmq_close(pull), 0);
    ends.join();
    EXPECT_TRUE(ended);
}

TEST(ctx, ends_for_every_thread_that_waits_for_it) {
    constexpr int count = 4;
    struct ending {
        void *handle = zmq_ctx_new();
        std::atomic<int> begun{0};
        std::atomic<int> ended{0};
        std::atomic<int> refused{0};
    };
    for (int round = 0; round < 50; ++round) {
        const auto each = std::make_shared<ending>();
        void *pull = zmq_socket(each->handle, ZMQ_PULL);
        ASSERT_NE(pull, nullptr);
        for (int i = 0; i < count; ++i) {
            std::thread([each] {
                ++each->begun;
                if (zmq_ctx_term(each->handle) != 0)  // all may have ended before it began
                    each->refused += errno == EFAULT ? 0 : 1;
                ++each->ended;
            }).detach();
        }
        ASSERT_TRUE(eventually([&] { return each->begun == count; }));
        char byte;
        EXPECT_FAILS(ETERM, zmq_recv(pull, &byte, 1, 0));
        EXPECT_EQ(zmq_close(pull), 0);
        ASSERT_TRUE(eventually([&] { return each->ended == count; })) << each->ended << " of " << count;
        EXPECT_EQ(each->refused, 0);
    }
}

TEST(ctx, many_may_exist_and_end_in_any_order) {
    std::vector<void *> contexts;
    for (int i = 0; i < 10; ++i) {
        contexts.push_back(zmq_ctx_new());
        void *any = zmq_socket(contexts.back(), ZMQ_PAIR);
        EXPECT_EQ(zmq_bind(any, "inproc://same name"), 0);  // names belong to one context
        EXPECT_EQ(zmq_close(any), 0);
    }
    for (const std::size_t i : {3u, 0u, 9u, 1u, 2u, 8u, 7u, 4u, 6u, 5u})
        EXPECT_EQ(zmq_ctx_term(contexts[i]), 0);
}

TEST(ctx, null_is_a_fault) {
    EXPECT_FAILS(EFAULT, zmq_ctx_term(nullptr));
    EXPECT_FAILS(EFAULT, zmq_ctx_shutdown(nullptr));
    EXPECT_EQ(zmq_socket(nullptr, ZMQ_PAIR), nullptr);
    EXPECT_EQ(zmq_errno(), EFAULT);
}

TEST(ctx, the_old_names_still_work) {
    void *handle = zmq_init(2);
    ASSERT_NE(handle, nullptr);
    EXPECT_EQ(zmq_ctx_get(handle, ZMQ_IO_THREADS), 2);
    EXPECT_EQ(zmq_term(handle), 0);
    handle = zmq_ctx_new();
    EXPECT_EQ(zmq_ctx_destroy(handle), 0);
}

}  // namespace
