// Tests what a connection costs that has carried messages and has nothing to do: both its ends
// together.
//
// Counts what the heap has given out. The first connection pays for what all have in common.
#include <malloc.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "eventually.hpp"
#include "sockets.hpp"

namespace {

using namespace zlink_test;

constexpr int connections = 100;

std::size_t heap() {
    const auto now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

class an_idle_connection : public ::testing::Test {
protected:
    /// Octets of one.
    static std::size_t cost_over(const std::string &transport, const std::string &client_ca = {}) {
        context zmq;
        test_socket pull = zmq.socket(ZMQ_PULL);
        test_socket push = zmq.socket(ZMQ_PUSH);
        if (!client_ca.empty()) {
            push.set(ZMQ_TLS_CA, client_ca);
        }
        const std::string where = pull.bind(transport + "://127.0.0.1:*");
        talk_over(push, pull, where, 1);
        const std::size_t before = heap();
        talk_over(push, pull, where, connections);
        return (heap() - before) / connections;
    }

private:
    /// So many connections more, each of which carries some messages.
    static void talk_over(test_socket &push, test_socket &pull, const std::string &where, int count) {
        for (int i = 0; i < count; ++i)
            push.connect(where);
        // A PUSH sends in turn to all, also to those that are not there yet.
        for (int i = 0; i < 4 * (connections + 1); ++i) {
            ASSERT_GE(push.send(std::string(64, 'x')), 0);
            ASSERT_TRUE(pull.receive());
        }
        // Whatever is kept for a moment goes.
        std::size_t last = 0;
        ASSERT_TRUE(eventually([&] { return std::exchange(last, heap()) == heap(); }));
    }
};

// A thread has one block of 8 KiB to read into, which is no connection's. In one run of ten or so
// it takes it while connections are counted.
TEST_F(an_idle_connection, costs_10150_octets_at_most_over_tcp) {
    EXPECT_LE(std::min({cost_over("tcp"), cost_over("tcp"), cost_over("tcp")}), 10150u);
}

#ifdef ZLINK_TESTS_WITH_TLS
TEST_F(an_idle_connection, costs_47_kibioctets_at_most_over_tls) {
    EXPECT_LE(cost_over("tls", good().ca), 47u * 1024);
}

TEST_F(an_idle_connection, costs_no_more_where_the_client_has_a_certificate_too) {
    EXPECT_LE(cost_over("tls"), 47u * 1024);
}
#endif

}  // namespace
