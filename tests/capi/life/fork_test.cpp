// Children of fork() while other threads are inside the library: they close what they inherit, and
// work with contexts of their own.
//
// Method:   forks at any moment of the other threads' work (children.hpp).
#include "children.hpp"
#include "sockets.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace zlink_test;

constexpr std::size_t size_of_body = 100'000;  // of a chunk that is cut from larger memory

/// Comes first: afterwards this process has had its first context, and so have its children.
TEST(first_context, that_another_thread_makes_meanwhile_leaves_a_child_able_to_make_its_own) {
    if (!may_fork_in_the_middle)
        GTEST_SKIP() << "no heap to go on with";
    in_children([] {
        std::atomic<bool> is_under_way{false};
        std::thread other([&] {
            is_under_way = true;
            must(zmq_ctx_term(zmq_ctx_new()) == 0);
        });
        while (!is_under_way) {
        }
        for (std::atomic<int> left = ::getpid() % 128 * 16; left > 0; --left) {
        }
        const pid_t child = ::fork();
        must(child >= 0);
        if (child == 0) {
            ::alarm(10);
            must(zmq_ctx_term(zmq_ctx_new()) == 0);
            end(true);
        }
        int status = -1;
        must(::waitpid(child, &status, 0) == child && status == 0);
        other.join();
    });
}

/// Messages from a PUSH to a PULL of a new context, in a child.
[[maybe_unused]] void exchange_messages(const char *where) {
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    must(pull && push && zmq_bind(pull, where) == 0);
    char actual[256];
    std::size_t size = sizeof actual;
    must(zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, actual, &size) == 0 && zmq_connect(push, actual) == 0);
    std::vector<char> body(size_of_body, 'x');
    for (int i = 0; i < 3; ++i) {
        must(zmq_send(push, body.data(), body.size(), 0) == static_cast<int>(body.size()));
        must(zmq_recv(pull, body.data(), body.size(), 0) == static_cast<int>(body.size()));
    }
    must(zmq_close(push) == 0 && zmq_close(pull) == 0 && zmq_ctx_term(context) == 0);
}

/// Has messages sent and received by threads of its own for as long as it lives, and keeps one that
/// was received. They come together in greater numbers than any free list keeps.
class busy_traffic {
public:
    explicit busy_traffic(const std::string &endpoint)
        : pull_(zmq_.socket(ZMQ_PULL)), push_(zmq_.socket(ZMQ_PUSH)), go_(zmq_.socket(ZMQ_PAIR)),
          done_(zmq_.socket(ZMQ_PAIR)) {
        push_.connect(pull_.bind(endpoint));
        done_.connect(go_.bind(scratch_endpoint("inproc")));
        const std::string body(size_of_body, 'x');
        EXPECT_EQ(push_.send(body), static_cast<int>(body.size()));
        EXPECT_EQ(zmq_msg_init(&kept), 0);
        EXPECT_EQ(zmq_msg_recv(&kept, pull_.handle(), 0), static_cast<int>(body.size()));
        if (!may_fork_in_the_middle)
            return;
        receiver_ = std::thread([this] { receive(); });
        sender_ = std::thread([this] { send(); });
        EXPECT_TRUE(eventually([this] { return bursts_ > 2; }));
    }
    ~busy_traffic() {
        is_over_ = true;
        if (sender_.joinable())
            sender_.join();
        if (receiver_.joinable())
            receiver_.join();
        EXPECT_EQ(zmq_msg_close(&kept), 0);
    }

    zmq_msg_t kept;

private:
    static constexpr int messages_of_burst = 150;

    void send() {
        const std::string body(size_of_body, 'x');
        for (; !is_over_; ++bursts_) {
            for (int i = 0; i < messages_of_burst; ++i)
                EXPECT_EQ(push_.send(body), static_cast<int>(body.size()));
            EXPECT_EQ(go_.send("go"), 2);
            ASSERT_EQ(go_.receive(), "done");
        }
        EXPECT_EQ(go_.send("end"), 3);
    }
    void receive() {
        std::vector<char> body(size_of_body);
        while (done_.receive() == "go") {
            for (int i = 0; i < messages_of_burst; ++i)
                EXPECT_EQ(zmq_recv(pull_.handle(), body.data(), body.size(), 0),
                          static_cast<int>(body.size()));
            EXPECT_EQ(done_.send("done"), 4);
        }
    }

    context zmq_;
    test_socket pull_;
    test_socket push_;
    test_socket go_;
    test_socket done_;
    std::atomic<int> bursts_{0};
    std::atomic<bool> is_over_{false};
    std::thread receiver_;
    std::thread sender_;
};

class busy_parent : public testing::TestWithParam<const char *> {};

TEST_P(busy_parent, has_children_that_close_its_messages) {
    busy_traffic traffic(GetParam());
    in_children([&] { must(zmq_msg_close(&traffic.kept) == 0); });
}

#ifndef __SANITIZE_THREAD__
TEST_P(busy_parent, has_children_with_contexts_of_their_own) {
    busy_traffic traffic(GetParam());
    in_children([] {
        exchange_messages("inproc://name");
        exchange_messages("tcp://127.0.0.1:*");
        exchange_messages("ipc://*");
    });
}
#endif

INSTANTIATE_TEST_SUITE_P(transports, busy_parent, testing::Values("tcp://127.0.0.1:*", "inproc://busy"),
                         [](const auto &info) {
                             return std::string(info.param).substr(0, std::string(info.param).find(':'));
                         });

}  // namespace
