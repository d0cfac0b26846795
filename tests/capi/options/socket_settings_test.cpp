// Options that reach the sockets of the system, or decide who may connect: what they do, seen from
// outside.
#define ZMQ_BUILD_DRAFT_API
#include "raw_peer.hpp"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/un.h>

namespace {

using namespace zlink::test;

constexpr int no_value = -12345;

int system_option(int descriptor, int level, int name) {
    int value = no_value;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor, level, name, &value, &size) == 0 ? value : no_value;
}

/// The descriptor of the connection that a socket with an option makes.
class connected_with {
public:
    template <class Value>
    connected_with(int option, const Value &value) {
        EXPECT_EQ(socket_.set(option, value), 0) << option;
        prepare();
    }
    connected_with(int option, int value, int other, int its_value) {
        EXPECT_EQ(socket_.set(option, value), 0) << option;
        EXPECT_EQ(socket_.set(other, its_value), 0) << other;
        prepare();
    }
    int system(int level, int name) const { return system_option(descriptor_, level, name); }
    int descriptor() const { return descriptor_; }

private:
    void prepare() {
        event_log events(context_, socket_, "settings");
        EXPECT_TRUE(socket_.connect(listener_.endpoint()));
        peer_ = listener_.accept();
        descriptor_ = events.next_of(ZMQ_EVENT_CONNECTED).value;
    }

    zmq_context context_;
    zmq_socket_of socket_{context_, ZMQ_DEALER};
    raw_listener listener_;
    raw_peer peer_;
    int descriptor_ = -1;
};

/// Returns what a socket of the system makes of a value, if this process may set it.
int made_of(int level, int name, int value) {
    const int bare = ::socket(AF_INET, SOCK_STREAM, 0);
    (void)::setsockopt(bare, level, name, &value, sizeof value);
    const int made = system_option(bare, level, name);
    ::close(bare);
    return made;
}

TEST(system_socket, has_the_buffers_that_are_asked_for) {
    constexpr int octets = 100'000;
    EXPECT_EQ(connected_with(ZMQ_SNDBUF, octets).system(SOL_SOCKET, SO_SNDBUF),
              made_of(SOL_SOCKET, SO_SNDBUF, octets));
    EXPECT_EQ(connected_with(ZMQ_RCVBUF, octets).system(SOL_SOCKET, SO_RCVBUF),
              made_of(SOL_SOCKET, SO_RCVBUF, octets));
}

TEST(system_socket, has_the_type_of_service_and_the_priority) {
    EXPECT_EQ(connected_with(ZMQ_TOS, 0x28).system(IPPROTO_IP, IP_TOS), 0x28);
    EXPECT_EQ(connected_with(ZMQ_PRIORITY, 5).system(SOL_SOCKET, SO_PRIORITY), 5);
}

TEST(system_socket, polls_as_busily_as_it_may) {
    EXPECT_EQ(connected_with(ZMQ_BUSY_POLL, 77).system(SOL_SOCKET, SO_BUSY_POLL),
              made_of(SOL_SOCKET, SO_BUSY_POLL, 77));
}

TEST(system_socket, is_kept_alive_as_told) {
    EXPECT_EQ(connected_with(ZMQ_TCP_KEEPALIVE, 1).system(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(connected_with(ZMQ_TCP_KEEPALIVE, 0).system(SOL_SOCKET, SO_KEEPALIVE), 0);
    const struct {
        int option, name;
    } details[] = {{ZMQ_TCP_KEEPALIVE_CNT, TCP_KEEPCNT},
                   {ZMQ_TCP_KEEPALIVE_IDLE, TCP_KEEPIDLE},
                   {ZMQ_TCP_KEEPALIVE_INTVL, TCP_KEEPINTVL}};
    for (const auto &each : details)
        EXPECT_EQ(connected_with(ZMQ_TCP_KEEPALIVE, 1, each.option, 17).system(IPPROTO_TCP, each.name), 17)
            << each.option;
}

TEST(system_socket, gives_up_what_is_not_confirmed_in_time) {
    EXPECT_EQ(connected_with(ZMQ_TCP_MAXRT, 4321).system(IPPROTO_TCP, TCP_USER_TIMEOUT), 4321);
}

TEST(system_socket, is_bound_to_a_device) {
    const connected_with loopback(ZMQ_BINDTODEVICE, std::string_view("lo"));
    char device[64] = {};
    socklen_t size = sizeof device;
    ASSERT_EQ(::getsockopt(loopback.descriptor(), SOL_SOCKET, SO_BINDTODEVICE, device, &size), 0);
    EXPECT_STREQ(device, "lo");
}

TEST(system_socket, queues_as_many_callers_as_the_backlog_says) {
    const zmq_context context;
    zmq_socket_of socket(context, ZMQ_PULL);
    ASSERT_EQ(socket.set(ZMQ_BACKLOG, 37), 0);
    event_log events(context, socket, "backlog");
    ASSERT_FALSE(socket.bind("tcp://127.0.0.1:*").empty());
    tcp_info info{};
    socklen_t size = sizeof info;
    ASSERT_EQ(::getsockopt(events.next_of(ZMQ_EVENT_LISTENING).value, IPPROTO_TCP, TCP_INFO, &info, &size),
              0);
    EXPECT_EQ(info.tcpi_sacked, 37u) << "of a listener, the longest queue";
}

TEST(system_socket, may_be_one_that_listens_already) {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr *>(&here), sizeof here), 0);
    ASSERT_EQ(::listen(listening, 10), 0);
    ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr *>(&here), &size), 0);
    const zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    ASSERT_EQ(pull.set(ZMQ_USE_FD, listening), 0);
    ASSERT_FALSE(pull.bind("tcp://127.0.0.1:*").empty());
    raw_peer peer("tcp://127.0.0.1:" + std::to_string(ntohs(here.sin_port)));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    ASSERT_TRUE(peer.send(message("there")));
    EXPECT_EQ(pull.receive(), "there");
}

// ---- who may connect ----

TEST(tcp_accept_filter, lets_in_whom_it_names_and_nobody_else) {
    const zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    ASSERT_EQ(pull.set(ZMQ_TCP_ACCEPT_FILTER, "10.0.0.0/8"), 0);
    raw_peer stranger(pull.bind("tcp://127.0.0.1:*"));
    EXPECT_TRUE(stranger.is_closed_by_other_side());
    ASSERT_EQ(pull.set(ZMQ_TCP_ACCEPT_FILTER, "127.0.0.0/8"), 0);
    EXPECT_TRUE(raw_peer(pull.bind("tcp://127.0.0.1:*")).shake_hands("PUSH"));
}

TEST(ipc_filters, let_in_whom_they_name_and_nobody_else) {
    const struct {
        int option;
        int ours;
    } filters[] = {{ZMQ_IPC_FILTER_PID, ::getpid()},
                   {ZMQ_IPC_FILTER_UID, static_cast<int>(::getuid())},
                   {ZMQ_IPC_FILTER_GID, static_cast<int>(::getgid())}};
    const zmq_context context;
    for (const auto &each : filters) {
        zmq_socket_of pull(context, ZMQ_PULL);
        ASSERT_EQ(pull.set(each.option, each.ours + 1), 0);
        raw_peer stranger(pull.bind("ipc://*"));
        EXPECT_TRUE(stranger.is_closed_by_other_side()) << each.option;
        ASSERT_EQ(pull.set(each.option, each.ours), 0);
        EXPECT_TRUE(raw_peer(pull.bind("ipc://*")).shake_hands("PUSH")) << each.option;
    }
}

TEST(plain_options, refuse_a_peer_without_a_name_and_a_password) {
    const zmq_context context;
    zmq_socket_of server(context, ZMQ_PULL);
    ASSERT_EQ(server.set(ZMQ_PLAIN_SERVER, 1), 0);
    raw_peer peer(server.bind("tcp://127.0.0.1:*"));
    (void)peer.send(greeting() + ready("PUSH"));
    EXPECT_TRUE(peer.is_closed_by_other_side());
    for (const int option : {ZMQ_PLAIN_USERNAME, ZMQ_PLAIN_PASSWORD}) {
        raw_listener listener;
        zmq_socket_of client(context, ZMQ_PUSH);
        ASSERT_EQ(client.set(option, "bob"), 0);
        ASSERT_TRUE(client.connect(listener.endpoint()));
        raw_peer other = listener.accept();
        (void)other.send(greeting() + ready("PULL"));
        EXPECT_TRUE(other.is_closed_by_other_side()) << option;
    }
}

// ---- where ----

TEST(affinity, chooses_among_the_io_threads) {
    const zmq_context context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_IO_THREADS, 2), 0);
    zmq_socket_of pull(context, ZMQ_PULL);
    for (const std::uint64_t threads : {1, 2, 3, 4}) {
        ASSERT_EQ(zmq_setsockopt(pull, ZMQ_AFFINITY, &threads, sizeof threads), 0);
        const bool is_there = threads & 3;
        EXPECT_EQ(pull.bind("tcp://127.0.0.1:*").empty(), !is_there) << threads;
        if (!is_there) {
            EXPECT_EQ(zmq_errno(), EMTHREAD);
        }
    }
}

TEST(ipv4only, off_lets_a_socket_bind_to_ipv6) {
    const zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL);
    EXPECT_EQ(pull.bind("tcp://[::]:*"), "");
    ASSERT_EQ(pull.set(ZMQ_IPV4ONLY, 0), 0);
    EXPECT_NE(pull.bind("tcp://*:*").find("[::]"), std::string::npos);
}

TEST(multicast_options, are_for_transports_that_are_refused) {
    const zmq_context context;
    for (const int option :
         {ZMQ_RATE, ZMQ_RECOVERY_IVL, ZMQ_MULTICAST_HOPS, ZMQ_MULTICAST_MAXTPDU, ZMQ_MULTICAST_LOOP}) {
        zmq_socket_of publisher(context, ZMQ_PUB);
        EXPECT_EQ(publisher.set(option, 1), 0) << option;
        for (const char *endpoint :
             {"pgm://lo;239.0.0.1:5555", "epgm://lo;239.0.0.1:5555", "norm://239.0.0.1:5555"}) {
            EXPECT_FALSE(publisher.connect(endpoint));
            EXPECT_EQ(zmq_errno(), EPROTONOSUPPORT) << endpoint;
        }
    }
}

TEST(metadata, is_told_to_the_peer) {
    const zmq_context context;
    zmq_socket_of pull(context, ZMQ_PULL), push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_METADATA, "X-colour:green"), 0);
    ASSERT_TRUE(push.connect(pull.bind("tcp://127.0.0.1:*")));
    ASSERT_TRUE(push.send("m"));
    zmq_msg_t got;
    zmq_msg_init(&got);
    ASSERT_EQ(zmq_msg_recv(&got, pull, 0), 1);
    const char *colour = zmq_msg_gets(&got, "X-colour");
    EXPECT_STREQ(colour ? colour : "", "green");
    zmq_msg_close(&got);
}

}  // namespace
