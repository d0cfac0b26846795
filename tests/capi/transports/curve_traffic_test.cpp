// CURVE: what goes through once a client is let in, over every transport, and who is not let in.
#define ZMQ_BUILD_DRAFT_API
#include "transports.hpp"
#include "zap_handler.hpp"

#include <unistd.h>

namespace {

using namespace zlink_test;

struct keys {
    keys() { EXPECT_EQ(zmq_curve_keypair(open, hidden), 0); }
    char open[41], hidden[41];
};

class curve_over : public ::testing::TestWithParam<std::string> {
protected:
    void make_server(test_socket &socket) {
        ASSERT_EQ(socket.set(ZMQ_CURVE_SERVER, 1), 0);
        ASSERT_EQ(socket.set(ZMQ_CURVE_SECRETKEY, servers.hidden), 0);
    }
    void make_client(test_socket &socket) {
        ASSERT_EQ(socket.set(ZMQ_CURVE_SERVERKEY, servers.open), 0);
        ASSERT_EQ(socket.set(ZMQ_CURVE_PUBLICKEY, clients.open), 0);
        ASSERT_EQ(socket.set(ZMQ_CURVE_SECRETKEY, clients.hidden), 0);
    }
    test_socket server_of(int type) {
        test_socket socket = zmq.socket(type);
        make_server(socket);
        return socket;
    }
    test_socket client_of(int type) {
        test_socket socket = zmq.socket(type);
        make_client(socket);
        return socket;
    }
    void link(test_socket &bound, test_socket &connecting) {
        connecting.connect(bound.bind(scratch_endpoint(GetParam())));
    }

    const keys servers, clients;
    context zmq;
};
INSTANTIATE_TEST_SUITE_P(transports, curve_over, ::testing::ValuesIn(network_transports()), transport_name);

TEST_P(curve_over, carries_messages_of_all_sizes_in_order) {
    for (const bool server_binds : {true, false}) {
        test_socket server = server_of(ZMQ_PAIR), client = client_of(ZMQ_PAIR);
        link(server_binds ? server : client, server_binds ? client : server);
        for (int i = 0; i < 900; ++i) {
            const std::string part(static_cast<std::size_t>(i) % 300, static_cast<char>(i));
            ASSERT_TRUE(client.send_all({part, "", part + part}));
            if (i % 20 == 0) {
                ASSERT_TRUE(server.send_all({part}));
            }
        }
        for (const std::size_t size : {8191u, 8192u, 65535u, 65536u, 1'000'000u, 3u}) {
            ASSERT_EQ(client.send(std::string(size, 'x')), static_cast<int>(size));
        }
        for (int i = 0; i < 900; ++i) {
            const std::string part(static_cast<std::size_t>(i) % 300, static_cast<char>(i));
            ASSERT_EQ(server.receive_all(), (frames{part, "", part + part})) << i;
            if (i % 20 == 0) {
                ASSERT_EQ(client.receive_all(), frames{part}) << i;
            }
        }
        for (const std::size_t size : {8191u, 8192u, 65535u, 65536u, 1'000'000u, 3u})
            ASSERT_EQ(server.receive(), std::string(size, 'x'));
    }
}

TEST_P(curve_over, tells_subscriptions_and_follows_them) {
    test_socket server = server_of(ZMQ_XPUB), client = client_of(ZMQ_SUB);
    client.set(ZMQ_SUBSCRIBE, "a");
    link(server, client);
    EXPECT_EQ(server.receive(), "\1a");
    server.send("b1");
    server.send("a1");
    EXPECT_EQ(client.receive(), "a1");
    client.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(server.receive(), std::string("\0a", 2));
}

TEST_P(curve_over, numbers_what_waited_for_the_connection_in_the_order_in_which_it_goes_out) {
    test_socket publisher = server_of(ZMQ_XPUB), subscriber = client_of(ZMQ_XSUB);
    // A path that the system chooses goes with its socket.
    const std::string chosen = "ipc:///tmp/zlink-curve-" + std::to_string(::getpid());
    const std::string endpoint = publisher.bind(GetParam() == "ipc" ? chosen : scratch_endpoint(GetParam()));
    subscriber.connect(endpoint);
    subscriber.send("\1first");
    EXPECT_EQ(publisher.receive(), "\1first");
    monitor events(zmq, subscriber, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    publisher.close();
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    subscriber.send("\1second");
    subscriber.send("\2a message");
    test_socket next = server_of(ZMQ_XPUB);
    next.bind(endpoint);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    std::vector<std::string> came;
    for (int i = 0; i < 3; ++i)
        came.push_back(next.receive().value_or("nothing"));
    std::sort(came.begin(), came.end() - 1);
    EXPECT_EQ(came, (std::vector<std::string>{"\1first", "\1second", "\2a message"}));
}

TEST_P(curve_over, puts_heartbeats_into_boxes) {
    test_socket server = server_of(ZMQ_PAIR), client = client_of(ZMQ_PAIR);
    client.set(ZMQ_HEARTBEAT_IVL, 5);
    client.set(ZMQ_HEARTBEAT_TIMEOUT, patience_ms);
    server.set(ZMQ_HEARTBEAT_IVL, 5);
    server.set(ZMQ_HEARTBEAT_TIMEOUT, patience_ms);
    link(server, client);
    ASSERT_EQ(client.send("first"), 5);
    ASSERT_EQ(server.receive(), "first");
    monitor events(zmq, client, ZMQ_EVENT_DISCONNECTED);
    // A command that is none ends the connection: some have time to be sent, between messages.
    for (int i = 0; i < 40; ++i) {
        EXPECT_FALSE(client.has_input(10));
        ASSERT_EQ(server.send("to the client"), 13);
        ASSERT_EQ(client.receive(), "to the client");
        ASSERT_EQ(client.send("to the server"), 13);
        ASSERT_EQ(server.receive(), "to the server");
    }
    EXPECT_FALSE(events.has_input());
}

TEST_P(curve_over, ends_with_a_peer_whose_message_is_too_large) {
    test_socket server = zmq.socket(ZMQ_PULL), client = client_of(ZMQ_PUSH);
    make_server(server);
    const std::int64_t most = 100;
    ASSERT_EQ(zmq_setsockopt(server.handle(), ZMQ_MAXMSGSIZE, &most, sizeof most), 0);
    link(server, client);
    ASSERT_EQ(client.send(std::string(100, 'x')), 100);
    EXPECT_EQ(server.receive(), std::string(100, 'x'));
    monitor events(zmq, client, ZMQ_EVENT_DISCONNECTED);
    ASSERT_EQ(client.send(std::string(101, 'x')), 101);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST_P(curve_over, lets_in_whom_the_handler_knows_by_his_key) {
    for (const std::string status : {"200", "400"}) {
        std::string asked_about;
        context own;
        test_socket server = own.socket(ZMQ_PULL), client = own.socket(ZMQ_PUSH);
        handler judge(own, ZMQ_REP, [&](const frames &asked) {
            asked_about = asked.at(5) + " " + asked.at(6);
            return reply_to(asked, status);
        });
        make_server(server);
        make_client(client);
        ASSERT_EQ(server.set(ZMQ_ZAP_DOMAIN, "here"), 0);
        client.set(ZMQ_RECONNECT_IVL, -1);
        monitor events(own, client, ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        link(server, client);
        const monitor_event said = events.next();
        EXPECT_EQ(said.event,
                  status == "200" ? ZMQ_EVENT_HANDSHAKE_SUCCEEDED : ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
        std::string key(32, '\0');
        zmq_z85_decode(reinterpret_cast<std::uint8_t *>(key.data()), clients.open);
        EXPECT_EQ(asked_about, "CURVE " + key);
        if (status == "200") {
            client.send("x");
            EXPECT_EQ(user_id_of(server), "alice");
        }
    }
}

TEST_P(curve_over, lets_in_nobody_without_keys_or_with_another_mechanism) {
    test_socket server = server_of(ZMQ_PULL);
    const std::string endpoint = server.bind(scratch_endpoint(GetParam()));
    for (const bool has_password : {false, true}) {
        test_socket stranger = zmq.socket(ZMQ_PUSH);
        if (has_password)
            make_plain_client(stranger);
        monitor events(zmq, stranger,
                       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        stranger.connect(endpoint);
        EXPECT_NE(events.next().event, 0);
        stranger.set(ZMQ_SNDTIMEO, 0);
        stranger.send("x");
    }
    test_socket friendly = client_of(ZMQ_PUSH);
    friendly.connect(endpoint);
    friendly.send("from a friend");
    EXPECT_EQ(server.receive(), "from a friend");
}

TEST_P(curve_over, shows_nothing_of_what_the_two_sides_agree_on) {
    test_socket server = server_of(ZMQ_PULL), client = client_of(ZMQ_PUSH);
    EXPECT_EQ(client.set(ZMQ_METADATA, "X-Zlink-Batch:1c"), -1);
    EXPECT_EQ(zmq_errno(), EINVAL);
    link(server, client);
    client.send("x");
    EXPECT_EQ(property_of_next(server, "X-Zlink-Batch"), "nobody");
}

}  // namespace
