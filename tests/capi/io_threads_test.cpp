// Several I/O threads in one context: which of them serve the connections of one bound socket.
//
// Method: who writes the last octets of a body that was lent gives it back, and says which thread it is. A body is too large for the sending
//         call to write to its end.
#include "lent_bodies.hpp"
#include "transports.hpp"

#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace zlink_test;

constexpr int io_threads = 4;

class connections_of_one_socket : public ::testing::TestWithParam<std::string> {
protected:
    /// The number of threads that serve `count` peers of a socket with this affinity.
    std::size_t threads_serving(int count, std::uint64_t affinity) {
        EXPECT_EQ(here_.set(ZMQ_IO_THREADS, io_threads), 0);
        test_socket push = here_.socket(ZMQ_PUSH);
        EXPECT_EQ(zmq_setsockopt(push.handle(), ZMQ_AFFINITY, &affinity, sizeof affinity), 0);
        EXPECT_EQ(push.set(ZMQ_SNDBUF, little_room), 0);
        std::vector<test_socket> peers;
        {
            monitor events(here_, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
            const std::string endpoint = push.bind(scratch_endpoint(GetParam()));
            for (int i = 0; i < count; ++i) {
                peers.push_back(there_.socket(ZMQ_PULL));
                peers.back().connect(endpoint);
            }
            for (int i = 0; i < count; ++i)
                EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        }
        const auto give_back = [](void *, void *self) {
            auto *const test = static_cast<connections_of_one_socket *>(self);
            const std::lock_guard guard(test->mutex_);
            test->writers_.insert(::syscall(SYS_gettid));
            ++test->given_back_;
        };
        std::string body(beyond_the_kernel, 'x');
        for (int i = 0; i < count; ++i) {
            zmq_msg_t message;
            zmq_msg_init_data(&message, body.data(), body.size(), give_back, this);
            EXPECT_EQ(zmq_msg_send(&message, push.handle(), 0), static_cast<int>(body.size()));
        }
        for (test_socket &each : peers)
            EXPECT_EQ(each.receive().value_or("").size(), body.size());
        EXPECT_TRUE(eventually([&] {
            const std::lock_guard guard(mutex_);
            return given_back_ == count;
        }));
        const std::lock_guard guard(mutex_);
        EXPECT_FALSE(writers_.contains(::syscall(SYS_gettid)));
        return writers_.size();
    }

private:
    std::mutex mutex_;  // guards the two below it
    std::set<long> writers_;
    int given_back_ = 0;
    context here_, there_;
};

TEST_P(connections_of_one_socket, are_served_by_all_threads) {
    EXPECT_EQ(threads_serving(2 * io_threads, 0), static_cast<std::size_t>(io_threads));
}

TEST_P(connections_of_one_socket, are_served_by_those_of_its_affinity) {
    EXPECT_EQ(threads_serving(2 * io_threads, 0b0110), 2u);
}

INSTANTIATE_TEST_SUITE_P(over, connections_of_one_socket, ::testing::ValuesIn(network_transports()),
                         transport_name);

}  // namespace
