// Tests what peers had sent before they went, while the application did not read: all of it comes,
// in order and once.
//
// Method:   a bare peer sends more than the peer_mark and goes. The application sends, so that its
//           side finds out by writing, and reads only at the end.
#include <gtest/gtest.h>

#include <string>

#include "raw_peer.hpp"

namespace {

using namespace zlink::test;

constexpr int peer_mark = 10;
constexpr int per_peer = 10 * peer_mark;

std::string text_of(int peer, int number) { return std::to_string(peer) + "." + std::to_string(number); }

// Sends its messages, the end of the last one cut off.
void send_and_go(raw_peer peer, int which, std::string_view type) {
    ASSERT_TRUE(peer.is_open()) << "nobody called";
    ASSERT_TRUE(peer.shake_hands(type));
    std::string all;
    for (int i = 0; i < per_peer; ++i)
        all += message(text_of(which, i) + ".1", true) + message(text_of(which, i) + ".2");
    all += message("cut", true) + message("cut off").substr(0, 4);
    ASSERT_TRUE(peer.send(all));
}

void expect_all_of(zmq_socket_of &from, int which) {
    for (int i = 0; i < per_peer; ++i) {
        ASSERT_EQ(from.receive(), text_of(which, i) + ".1");
        ASSERT_EQ(from.receive(), text_of(which, i) + ".2");
    }
}

class broken_peer : public ::testing::TestWithParam<const char *> {};

TEST_P(broken_peer, leaves_all_it_has_sent_however_often_it_comes_again) {
    constexpr int times = 5;
    raw_listener listener(GetParam());
    zmq_context context;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    dealer.set(ZMQ_RCVHWM, peer_mark);
    dealer.set(ZMQ_RECONNECT_IVL, 1);
    ASSERT_TRUE(dealer.connect(listener.endpoint()));
    for (int i = 0; i < times; ++i) {
        ASSERT_NO_FATAL_FAILURE(send_and_go(listener.accept(), i, "ROUTER"));
        // Whatever meets the peer's end is lost, or tells of it. Over tcp the first one may only
        // bring the answer that nobody is there.
        while (!listener.is_called(0))
            (void)dealer.send("is anybody there", ZMQ_DONTWAIT);
    }
    for (int i = 0; i < times; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_all_of(dealer, i));
    EXPECT_EQ(dealer.receive(ZMQ_DONTWAIT), "<none>");
}

// Each has a queue of its own then, and they take turns.
TEST_P(broken_peer, leaves_all_it_has_sent_to_a_listener_however_often_it_comes_again) {
    constexpr int times = 5;
    zmq_context context;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    dealer.set(ZMQ_RCVHWM, peer_mark);
    const std::string endpoint =
        dealer.bind(GetParam() == std::string("ipc") ? "ipc://*" : "tcp://127.0.0.1:*");
    for (int i = 0; i < times; ++i) {
        ASSERT_NO_FATAL_FAILURE(send_and_go(raw_peer(endpoint), i, "DEALER"));
        (void)dealer.send("is anybody there", ZMQ_DONTWAIT);
    }
    int next[times] = {};
    for (int i = 0; i < times * per_peer; ++i) {
        const std::string first = dealer.receive();
        const int which = first[0] - '0';
        ASSERT_TRUE(which >= 0 && which < times) << first;
        ASSERT_EQ(first, text_of(which, next[which]) + ".1");
        ASSERT_EQ(dealer.receive(), text_of(which, next[which]++) + ".2");
    }
    EXPECT_EQ(dealer.receive(ZMQ_DONTWAIT), "<none>");
}

INSTANTIATE_TEST_SUITE_P(over, broken_peer, ::testing::Values("ipc", "tcp"),
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
