// A local peer passes descriptors that nobody asked for: the last reference to a tcp socket that
// lingers, whose closing takes as long as the peer likes. Nobody waits for that.
#include <zmq.h>

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "raw_peer.hpp"

using namespace zlink::test;

namespace {

constexpr int linger_s = 300;  // longer than all that is waited for here

/// One end of a tcp connection that has sent more than the other end has room for.
class lingering_socket {
public:
    lingering_socket() : sender_(listener_.endpoint()), receiver_(listener_.accept()) {
        const linger how{1, linger_s};
        EXPECT_EQ(::setsockopt(sender_.descriptor(), SOL_SOCKET, SO_LINGER, &how, sizeof how), 0);
        const std::string octets(1 << 16, 'x');
        while (::send(sender_.descriptor(), octets.data(), octets.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        }
    }
    int descriptor() const { return sender_.descriptor(); }
    /// From here on the one that was passed is the last.
    void leave() { sender_.close(); }
    /// True when all that was sent can be read to the end, or to a reset: it has been closed.
    bool is_closed() { return receiver_.is_closed_by_other_side(); }

private:
    raw_listener listener_;
    raw_peer sender_;
    raw_peer receiver_;
};

class passed_descriptor : public testing::TestWithParam<const char *> {
protected:
    passed_descriptor() {
        ::setenv("ZMQ_ASIO_IPC_SHARED_MEMORY", GetParam(), 1);
        context = zmq_ctx_new();
    }
    ~passed_descriptor() override {
        zmq_ctx_term(context);
        ::unsetenv("ZMQ_ASIO_IPC_SHARED_MEMORY");
    }
    /// False when the system refuses to pass it: then it is closed here.
    bool pass(raw_peer &peer, std::string_view octets, lingering_socket &what) {
        return peer.send_with_descriptor(octets, what.descriptor());
    }
    void *context;
};

TEST_P(passed_descriptor, does_not_hold_up_the_other_connections_of_its_io_thread) {
    zmq_socket_of pull(context, ZMQ_PULL);
    zmq_socket_of push(context, ZMQ_PUSH);
    const std::string endpoint = pull.bind("ipc://*");
    ASSERT_TRUE(push.connect(endpoint));
    raw_peer peer(endpoint);
    lingering_socket in_greeting, in_traffic;
    const bool came_greeting = pass(peer, greeting() + ready("PUSH"), in_greeting);
    if (came_greeting)
        in_greeting.leave();
    else
        ASSERT_TRUE(peer.send(greeting() + ready("PUSH")));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(push.send("honest"));
        EXPECT_EQ(pull.receive(), "honest");
    }
    const bool came_later = pass(peer, message("strange"), in_traffic);
    if (came_later) {
        in_traffic.leave();
        EXPECT_EQ(pull.receive(), "strange");
    }
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(push.send("honest"));
        EXPECT_EQ(pull.receive(), "honest");
    }
    // It is closed all the same.
    if (came_greeting) {
        EXPECT_TRUE(in_greeting.is_closed());
    }
    if (came_later) {
        EXPECT_TRUE(in_traffic.is_closed());
    }
}

TEST_P(passed_descriptor, that_was_not_received_does_not_hold_up_the_end_of_its_socket) {
    zmq_socket_of pull(context, ZMQ_PULL);
    zmq_socket_of push(context, ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 1);
    raw_peer peer(pull.bind("ipc://*"));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    // No more is read of a peer that has gone beyond the mark.
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(peer.send(message("one of many")));
    EXPECT_EQ(pull.receive(), "one of many");
    lingering_socket unread;
    const bool came = pass(peer, message("never read"), unread);
    if (came)
        unread.leave();
    pull.close();
    zmq_socket_of after(context, ZMQ_PULL);
    ASSERT_TRUE(push.connect(after.bind("ipc://*")));
    ASSERT_TRUE(push.send("honest"));
    EXPECT_EQ(after.receive(), "honest");
    if (came) {
        EXPECT_TRUE(unread.is_closed());
    }
}

TEST_P(passed_descriptor, to_a_socket_that_connects_does_not_hold_it_up) {
    zmq_socket_of push(context, ZMQ_PUSH);
    raw_listener listener("ipc");
    ASSERT_TRUE(push.connect(listener.endpoint()));
    raw_peer peer = listener.accept();
    lingering_socket strange;
    ASSERT_TRUE(peer.send(greeting()));
    const bool came = pass(peer, ready("PULL"), strange);
    if (came)
        strange.leave();
    else
        ASSERT_TRUE(peer.send(ready("PULL")));
    EXPECT_TRUE(push.send("honest"));
    EXPECT_EQ(peer.receive(64).size(), 64u);
    EXPECT_EQ(peer.receive_frame().second.substr(0, 6), "\5READY");
    EXPECT_EQ(peer.receive_frame().second, "honest");
    if (came) {
        EXPECT_TRUE(strange.is_closed());
    }
}

TEST_P(passed_descriptor, is_refused_where_no_memory_is_shared_by_a_system_that_can) {
#ifndef SO_PASSRIGHTS
    constexpr int SO_PASSRIGHTS = 83;  // Linux 6.16
#endif
    zmq_socket_of pull(context, ZMQ_PULL);
    raw_peer peer(pull.bind("ipc://*"));
    int value = 0;
    socklen_t size = sizeof value;
    const bool can_refuse = ::getsockopt(peer.descriptor(), SOL_SOCKET, SO_PASSRIGHTS, &value, &size) == 0;
    const bool is_refused = can_refuse && std::string(GetParam()) == "0";
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    lingering_socket strange;
    EXPECT_EQ(pass(peer, message("strange"), strange), !is_refused);
    if (is_refused) {
        EXPECT_EQ(errno, EPERM);
        ASSERT_TRUE(peer.send(message("strange")));
    }
    EXPECT_EQ(pull.receive(), "strange") << "its octets are as good as others";
}

// Peers of the same user may pass a descriptor, where memory is shared; else the system refuses it,
// if it can.
INSTANTIATE_TEST_SUITE_P(shared_memory, passed_descriptor, testing::Values("1048576", "0"),
                         [](const auto &info) { return info.param[0] == '0' ? "off" : "on"; });

}  // namespace
