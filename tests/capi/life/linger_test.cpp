// Linger: what happens to messages not yet sent when a socket is closed.
#include "lent_bodies.hpp"

#include <netinet/tcp.h>
#include <thread>

namespace {

using namespace zlink_test;

/// A PUSH that sends, and lingers without limit, in a thread and a context of its own.
template <class Send>
std::thread patient_sender(const std::string &endpoint, Send send) {
    return std::thread([endpoint, send] {
        context sending;
        test_socket push = sending.socket(ZMQ_PUSH);
        push.set(ZMQ_LINGER, -1);
        push.connect(endpoint);
        send(push);
    });
}

TEST(linger, zero_lets_the_context_end_with_messages_unsent) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(deserted_endpoint());
    EXPECT_EQ(push.send("lost"), 4);
    push.close();
    EXPECT_EQ(zmq.term(), 0);
}

TEST(linger, a_finite_time_ends_without_a_peer) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_LINGER, 100);
    push.connect(deserted_endpoint());
    EXPECT_EQ(push.send("lost"), 4);
    push.close();
    EXPECT_EQ(zmq.term(), 0);
}

TEST(linger, without_limit_delivers_everything_before_the_context_ends) {
    constexpr int messages = 500;
    context receiving;
    test_socket pull = receiving.socket(ZMQ_PULL);
    const std::string endpoint = pull.bind(scratch_endpoint("tcp"));
    std::thread sender = patient_sender(endpoint, [](test_socket &push) {
        for (int i = 0; i < messages; ++i)
            EXPECT_EQ(push.send(std::to_string(i) + std::string(5000, '.')),
                      static_cast<int>(std::to_string(i).size() + 5000));
    });
    for (int i = 0; i < messages; ++i)
        ASSERT_EQ(pull.receive(), std::to_string(i) + std::string(5000, '.'));
    sender.join();
}

/// A sender in a stream writes whole pieces over tcp. Bodies of two of them, with their headers,
/// leave nothing to write.
TEST(linger, ends_when_the_last_write_has_filled_its_pieces) {
    constexpr std::size_t piece = 45 * 1448, header = 9;
    const std::string body(2 * piece - header, 'x');
    context receiving;
    test_socket pull = receiving.socket(ZMQ_PULL);
    const std::string endpoint = pull.bind(scratch_endpoint("tcp"));
    for (int messages = 50; messages < 70; ++messages) {
        std::thread sender = patient_sender(endpoint, [&](test_socket &push) {
            for (int i = 0; i < messages; ++i)
                EXPECT_EQ(push.send(body), static_cast<int>(body.size()));
        });
        for (int i = 0; i < messages; ++i)
            ASSERT_EQ(pull.receive(), body);
        sender.join();
    }
}

TEST(linger, waits_for_a_peer_that_comes_later) {
    context zmq;
    const std::string endpoint = deserted_endpoint();
    std::thread sender =
        patient_sender(endpoint, [](test_socket &push) { EXPECT_EQ(push.send("patient"), 7); });
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(endpoint);
    EXPECT_EQ(pull.receive(), "patient");
    sender.join();
}

// Whether the system sends the end of the stream behind what is still on its way. So it is once the
// descriptor is closed.
bool says_its_end(int descriptor) {
    tcp_info info{};
    socklen_t size = sizeof info;
    return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
           info.tcpi_state == TCP_FIN_WAIT1;
}

TEST(linger, a_peer_that_begins_to_send_after_the_close_loses_nothing_of_what_was_sent_before) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_DEALER);
    push.set(ZMQ_LINGER, -1);
    push.set(ZMQ_SNDBUF, little_room);
    zlink::test::raw_listener listener;
    monitor watch(zmq, push, ZMQ_EVENT_CONNECTED);
    push.connect(listener.endpoint());
    zlink::test::raw_peer peer = listener.accept();
    keep_little(peer);
    ASSERT_TRUE(peer.shake_hands("DEALER"));
    const int descriptor = watch.next().value;
    watch.stop();
    // More than the peer's system takes, and less than both do.
    const std::string text = octets(little_window + little_room / 2);
    ASSERT_EQ(push.send(text), static_cast<int>(text.size()));
    push.close();
    EXPECT_TRUE(eventually([&] { return says_its_end(descriptor); }));
    const std::string expected = zlink::test::message(text);
    std::string received;
    while (received.size() < expected.size()) {
        (void)peer.send(zlink::test::message("late"));
        const std::string piece =
            peer.receive(std::min<std::size_t>(10000, expected.size() - received.size()));
        if (piece.empty())
            break;
        received += piece;
    }
    EXPECT_TRUE(received == expected) << received.size() << " of " << expected.size() << " octets";
    EXPECT_EQ(peer.receive(1), "");
}

TEST(linger, messages_already_received_stay_readable_after_the_peer_closed) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(push.send("kept"), 4);
    push.close();
    EXPECT_EQ(pull.receive(), "kept");
}

TEST(linger, default_is_no_limit_and_follows_the_contexts_blocky) {
    void *blocky = zmq_ctx_new();
    void *plain = zmq_socket(blocky, ZMQ_PAIR);
    int value = 0;
    std::size_t size = sizeof value;
    ASSERT_EQ(zmq_getsockopt(plain, ZMQ_LINGER, &value, &size), 0);
    EXPECT_EQ(value, -1);
    zmq_close(plain);
    ASSERT_EQ(zmq_ctx_set(blocky, ZMQ_BLOCKY, 0), 0);
    void *hasty = zmq_socket(blocky, ZMQ_PAIR);
    ASSERT_EQ(zmq_getsockopt(hasty, ZMQ_LINGER, &value, &size), 0);
    EXPECT_EQ(value, 0);
    zmq_close(hasty);
    zmq_ctx_term(blocky);
}

TEST(linger, rejects_less_than_minus_one) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PUSH);
    EXPECT_FAILS(EINVAL, any.set(ZMQ_LINGER, -2));
}

}  // namespace
