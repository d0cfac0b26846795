// zmq_unbind: the listener and its connections end, what they had brought is still to be received.
#include "raw_peer.hpp"
#include "sockets.hpp"

#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>

namespace {

using namespace zlink_test;
using namespace zlink::test;

constexpr int unread = 9;

struct pairing {
    const char *name;
    int type;
    const char *peer_type;
    bool shows_sender;
};

class unbind : public ::testing::TestWithParam<std::tuple<pairing, std::string>> {
protected:
    const pairing &kind() const { return std::get<0>(GetParam()); }
    std::string endpoint() const { return scratch_endpoint(std::get<1>(GetParam())); }
    /// So many messages of a peer, which arrive together.
    static std::string some_messages() {
        std::string all;
        for (int i = 0; i < unread; ++i)
            all += message("message " + std::to_string(i));
        return all;
    }
    void expect_all(test_socket &receiver) const {
        for (int i = 0; i < unread; ++i) {
            if (kind().shows_sender) {
                EXPECT_EQ(receiver.receive().value_or("").size(), 5u);
            }
            ASSERT_EQ(receiver.receive(), "message " + std::to_string(i));
        }
    }

    context zmq;
};

TEST_P(unbind, leaves_what_was_received_to_be_read) {
    test_socket socket = zmq.socket(kind().type);
    const std::string where = socket.bind(endpoint());
    raw_peer peer(where);
    ASSERT_TRUE(peer.shake_hands(kind().peer_type));
    ASSERT_TRUE(peer.send(some_messages()));
    ASSERT_TRUE(socket.has_input());
    ASSERT_EQ(zmq_unbind(socket.handle(), where.c_str()), 0);
    EXPECT_EQ(zmq_unbind(socket.handle(), where.c_str()), -1);
    EXPECT_EQ(zmq_errno(), ENOENT);
    expect_all(socket);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_P(unbind, lets_others_come_before_all_is_read) {
    if (kind().type == ZMQ_PAIR)
        return;  // has one peer at a time
    test_socket socket = zmq.socket(kind().type);
    const std::string where = socket.bind(endpoint());
    raw_peer first(where);
    ASSERT_TRUE(first.shake_hands(kind().peer_type));
    ASSERT_TRUE(first.send(some_messages()));
    ASSERT_TRUE(socket.has_input());
    ASSERT_EQ(zmq_unbind(socket.handle(), where.c_str()), 0);
    EXPECT_TRUE(first.is_closed_by_other_side());
    raw_peer second(socket.bind(endpoint()));
    ASSERT_TRUE(second.shake_hands(kind().peer_type));
    ASSERT_TRUE(second.send(some_messages()));
    const int parts = kind().shows_sender ? 2 : 1;
    for (int i = 0; i < 2 * unread * parts; ++i)
        ASSERT_TRUE(socket.receive());
    EXPECT_FALSE(socket.has_input(0));
}

TEST_P(unbind, leaves_nothing_behind_when_nobody_reads) {
    test_socket socket = zmq.socket(kind().type);
    const std::string where = socket.bind(endpoint());
    raw_peer peer(where);
    ASSERT_TRUE(peer.shake_hands(kind().peer_type));
    ASSERT_TRUE(peer.send(some_messages()));
    ASSERT_TRUE(socket.has_input());
    ASSERT_EQ(zmq_unbind(socket.handle(), where.c_str()), 0);
    EXPECT_EQ(socket.close(), 0);
    EXPECT_EQ(zmq.term(), 0);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

/// A port that the system has chosen, and gives to nobody else meanwhile: somebody is bound to it,
/// and does not listen.
class kept_port {
public:
    kept_port() {
        const int on = 1;
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        EXPECT_EQ(::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr *>(&where), size), 0);
        EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr *>(&where), &size), 0);
        text = std::to_string(ntohs(where.sin_port));
    }
    ~kept_port() { ::close(descriptor_); }
    kept_port(const kept_port &) = delete;
    kept_port &operator=(const kept_port &) = delete;

    std::string text;

private:
    const int descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

/// With IPv6 the system's name of an IPv4 address is another one.
TEST(unbind_of_an_address, takes_it_as_it_was_bound) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PULL);
    socket.set(ZMQ_IPV6, 1);
    const kept_port port;
    const std::string given = "tcp://127.0.0.1:" + port.text;
    ASSERT_EQ(zmq_bind(socket.handle(), given.c_str()), 0);
    EXPECT_EQ(zmq_unbind(socket.handle(), given.c_str()), 0) << zmq_strerror(zmq_errno());
    EXPECT_EQ(zmq_unbind(socket.handle(), given.c_str()), -1);
    EXPECT_EQ(zmq_errno(), ENOENT);
}

TEST(unbind_of_an_address, takes_it_however_it_is_written) {
    for (const int v6 : {0, 1}) {
        for (const char *written : {"127.0.0.1:", "127.1:", "127.0.0.1:0", "lo:"}) {
            for (const char *bound : {"127.0.0.1:", "127.1:", "127.0.0.1:0"}) {
                if (v6 && std::string_view(written) == "lo:")
                    continue;  // which may have an address of IPv6, too
                SCOPED_TRACE(std::string(bound) + " as " + written);
                context zmq;
                test_socket socket = zmq.socket(ZMQ_PULL);
                socket.set(ZMQ_IPV6, v6);
                const kept_port kept;
                const std::string &port = kept.text;
                ASSERT_EQ(zmq_bind(socket.handle(), ("tcp://" + (bound + port)).c_str()), 0);
                EXPECT_FAILS(ENOENT, zmq_unbind(socket.handle(), ("tcp://127.0.0.2:" + port).c_str()));
                const std::string name = "tcp://" + (written + port);
                EXPECT_EQ(zmq_unbind(socket.handle(), name.c_str()), 0);
                EXPECT_FAILS(ENOENT, zmq_unbind(socket.handle(), name.c_str()));
            }
        }
    }
}

TEST(unbind_of_an_address, tells_a_connection_to_the_same_address_from_it) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    socket.set(ZMQ_IPV6, 1);
    const std::string chosen = socket.bind("tcp://127.0.0.1:*");
    const std::string given = "tcp://127.0.0.1" + chosen.substr(chosen.rfind(':'));
    socket.connect(given);
    EXPECT_EQ(zmq_disconnect(socket.handle(), given.c_str()), 0);
    EXPECT_EQ(zmq_unbind(socket.handle(), chosen.c_str()), 0);
}

INSTANTIATE_TEST_SUITE_P(types, unbind,
                         ::testing::Combine(::testing::Values(pairing{"pull", ZMQ_PULL, "PUSH", false},
                                                              pairing{"dealer", ZMQ_DEALER, "DEALER", false},
                                                              pairing{"pair", ZMQ_PAIR, "PAIR", false},
                                                              pairing{"router", ZMQ_ROUTER, "DEALER", true}),
                                            ::testing::Values("tcp", "ipc")),
                         [](const auto &which) {
                             return std::get<0>(which.param).name + ("_" + std::get<1>(which.param));
                         });

}  // namespace
