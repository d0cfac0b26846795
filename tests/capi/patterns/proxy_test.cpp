// Proxies: both directions, capture, control and statistics, and the ways they end.
#include "sockets.hpp"

#include <array>
#include <thread>

namespace {

using namespace zlink_test;

// A steerable proxy between a ROUTER and a DEALER on a thread, with a client and a server attached.
class steered {
public:
    explicit steered(bool with_capture = false) {
        front_ = zmq_.socket(ZMQ_ROUTER);
        back_ = zmq_.socket(ZMQ_DEALER);
        control_ = zmq_.socket(ZMQ_PAIR);
        capture_ = zmq_.socket(ZMQ_PUSH);
        client = zmq_.socket(ZMQ_DEALER);
        server = zmq_.socket(ZMQ_DEALER);
        commands = zmq_.socket(ZMQ_PAIR);
        captured = zmq_.socket(ZMQ_PULL);
        client.set(ZMQ_ROUTING_ID, "client");
        connected(zmq_, front_, client, "inproc");
        connected(zmq_, back_, server, "inproc");
        connected(zmq_, control_, commands, "inproc");
        connected(zmq_, capture_, captured, "inproc");
        thread_ = std::thread([this, with_capture] {
            result = zmq_proxy_steerable(front_.handle(), back_.handle(),
                                         with_capture ? capture_.handle() : nullptr, control_.handle());
        });
    }
    ~steered() { end(); }

    void end() {
        if (!thread_.joinable())
            return;
        commands.send("TERMINATE");
        thread_.join();
    }

    void round_trip() {
        ASSERT_TRUE(client.send_all({"question", "12345"}));
        ASSERT_EQ(server.receive_all(), (frames{"client", "question", "12345"}));
        ASSERT_TRUE(server.send_all({"client", "answer"}));
        ASSERT_EQ(client.receive_all(), (frames{"answer"}));
    }

private:
    context zmq_;
    test_socket front_, back_, control_, capture_;

public:
    test_socket client, server, commands, captured;
    int result = -2;

private:
    std::thread thread_;
};

TEST(proxy, passes_messages_both_ways_and_ends_when_told) {
    steered proxy;
    for (int i = 0; i < 20; ++i)
        proxy.round_trip();
    proxy.end();
    EXPECT_EQ(proxy.result, 0);
}

TEST(proxy, copies_everything_to_the_capture) {
    steered proxy(true);
    proxy.round_trip();
    EXPECT_EQ(proxy.captured.receive_all(), (frames{"client", "question", "12345"}));
    EXPECT_EQ(proxy.captured.receive_all(), (frames{"client", "answer"}));
}

TEST(proxy, stands_still_while_paused) {
    steered proxy;
    proxy.round_trip();
    proxy.commands.send("PAUSE");
    proxy.commands.send("STATISTICS");  // answered after the pause has begun
    ASSERT_EQ(proxy.commands.receive_all().size(), 8u);
    proxy.client.send("waits");
    EXPECT_FALSE(proxy.server.has_input(50));
    proxy.commands.send("RESUME");
    EXPECT_EQ(proxy.server.receive_all(), (frames{"client", "waits"}));
}

TEST(proxy, counts_messages_and_bytes) {
    steered proxy;
    for (int i = 0; i < 3; ++i)
        proxy.round_trip();
    proxy.commands.send("STATISTICS");
    const frames found = proxy.commands.receive_all();
    ASSERT_EQ(found.size(), 8u);
    std::array<std::uint64_t, 8> count{};
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].size(), sizeof count[i]);
        std::memcpy(&count[i], found[i].data(), sizeof count[i]);
    }
    // Messages and bytes: from the front, to the front, from the back, to the back.
    constexpr std::uint64_t there = 3 * (6 + 8 + 5);
    constexpr std::uint64_t home = 3 * (6 + 6);
    EXPECT_EQ(count, (std::array<std::uint64_t, 8>{3, there, 3, home, 3, home, 3, there}));
}

TEST(proxy, ends_with_its_context) {
    context zmq;
    test_socket front = zmq.socket(ZMQ_PULL);
    test_socket back = zmq.socket(ZMQ_PUSH);
    test_socket push = zmq.socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    connected(zmq, front, push, "inproc");
    connected(zmq, back, pull, "inproc");
    std::thread runs([&] { EXPECT_FAILS(ETERM, zmq_proxy(front.handle(), back.handle(), nullptr)); });
    push.send("through");
    EXPECT_EQ(pull.receive(), "through");
    zmq.shutdown();
    runs.join();
}

TEST(proxy, needs_two_sockets) {
    context zmq;
    test_socket one = zmq.socket(ZMQ_PULL);
    EXPECT_FAILS(EFAULT, zmq_proxy(one.handle(), nullptr, nullptr));
    EXPECT_FAILS(EFAULT, zmq_proxy(nullptr, one.handle(), nullptr));
}

}  // namespace
