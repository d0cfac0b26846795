// A server that many peers come to which do not go on, and an honest one that talks to it
// meanwhile.
#pragma once

#include "effort.hpp"
#include "honest_peer.hpp"
#include "own_memory.hpp"
#include "sockets.hpp"

#include <sys/resource.h>

namespace zlink_test {

class flooded_server : public honest_peer {
public:
    flooded_server() : honest_peer(ZMQ_DEALER, ZMQ_DEALER) {}

    static inline const int stalled_at_once = effort(2000, 500);

    static bool may_open(rlim_t count) {
        rlimit descriptors{};
        ::getrlimit(RLIMIT_NOFILE, &descriptors);
        descriptors.rlim_cur = std::min<rlim_t>(descriptors.rlim_max, count);
        ::setrlimit(RLIMIT_NOFILE, &descriptors);
        return descriptors.rlim_cur >= count;
    }

    void start(const std::string &address, int interval_ms, int backlog) {
        server.set(ZMQ_HANDSHAKE_IVL, interval_ms);
        server.set(ZMQ_BACKLOG, backlog);
        bring_in(address);
    }
    void talk() {
        ASSERT_NO_FATAL_FAILURE(expect_honest_peer_is_served());
        const std::string answer = std::to_string(++answered_);
        ASSERT_EQ(server.send(answer), static_cast<int>(answer.size()));
        ASSERT_EQ(honest.receive(), answer);
    }
    // `stall(i)` makes the peer with that number; `expect_closed()` is whether all of them are.
    template <class Stall, class Closed>
    void expect_closed_in_time(const std::string &address, Stall &&stall, Closed &&expect_closed) {
        if (!may_open(3 * stalled_at_once))
            GTEST_SKIP() << "the system allows too few descriptors";
        start(address, 1000, stalled_at_once);
        monitor events(zmq, server, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        for (int i = 0; i < stalled_at_once; ++i) {
            stall(i);
            ASSERT_FALSE(::testing::Test::HasFailure()) << i;
            if (i % 100 == 0) {
                ASSERT_NO_FATAL_FAILURE(talk());
            }
        }
        for (int i = 0; i < stalled_at_once; ++i) {
            ASSERT_EQ(events.next().value, EAGAIN) << i;
            if (i % 100 == 0) {
                ASSERT_NO_FATAL_FAILURE(talk());
            }
        }
        ASSERT_NO_FATAL_FAILURE(expect_closed());
        ASSERT_NO_FATAL_FAILURE(talk());
        honest.close();
        test_socket late = zmq.socket(ZMQ_DEALER);
        late.connect(endpoint);
        EXPECT_EQ(late.send("x"), 1);
        EXPECT_EQ(server.receive(), "x");
    }

    // Octets that one of many peers costs which `stall()` makes, one after the other. The first
    // pays for what all have in common.
    template <class Stall>
    std::size_t cost_of_each(const std::string &address, Stall &&stall) {
        start(address, 0, counted);
        talk();
        stall();
        talk();
        const std::size_t before = zlink::test::allocated();
        for (int i = 0; i < counted && !::testing::Test::HasFatalFailure(); ++i)
            stall();
        for (int i = 0; i < 10 && !::testing::Test::HasFatalFailure(); ++i)
            talk();
        const std::size_t after = zlink::test::allocated();
        return after > before ? (after - before) / counted : 0;
    }
    static constexpr int counted = 200;

private:
    int answered_ = 0;
};

}  // namespace zlink_test
