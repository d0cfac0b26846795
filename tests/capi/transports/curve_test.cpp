// CURVE: whom the two sides of a handshake take for each other, and what a monitor hears where they
//        do not.
#define ZMQ_BUILD_DRAFT_API
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "flooded_server.hpp"
#include "raw_peer.hpp"
#include "sockets.hpp"

namespace {

using namespace zlink_test;

// The pairs of zmq_curve(7).
constexpr auto client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
constexpr auto client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
constexpr auto server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
constexpr auto server_secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

void make_server(test_socket &socket) {
    ASSERT_EQ(socket.set(ZMQ_CURVE_SERVER, 1), 0);
    ASSERT_EQ(socket.set(ZMQ_CURVE_SECRETKEY, server_secret), 0);
}

void make_client(test_socket &socket, const char *server = server_public) {
    ASSERT_EQ(socket.set(ZMQ_CURVE_SERVERKEY, server), 0);
    ASSERT_EQ(socket.set(ZMQ_CURVE_PUBLICKEY, client_public), 0);
    ASSERT_EQ(socket.set(ZMQ_CURVE_SECRETKEY, client_secret), 0);
}

constexpr int ends_of_handshakes = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                   ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

class curve : public ::testing::Test {
protected:
    void bind() {
        events.emplace(zmq, server, ends_of_handshakes);
        endpoint = server.bind("tcp://127.0.0.1:*");
    }
    void expect(int event, unsigned value) {
        const auto heard = events->next();
        EXPECT_EQ(heard.event, event);
        EXPECT_EQ(static_cast<unsigned>(heard.value), value);
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    std::optional<monitor> events;
    std::string endpoint;
};

TEST_F(curve, lets_in_who_knows_the_key_of_the_server) {
    make_server(server);
    make_client(client);
    bind();
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
}

TEST_F(curve, lets_nobody_in_who_knows_another_key) {
    make_server(server);
    make_client(client, client_public);
    bind();
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC);
}

TEST_F(curve, lets_nobody_in_without_keys_of_its_own) {
    make_server(server);
    ASSERT_EQ(client.set(ZMQ_CURVE_SERVERKEY, server_public), 0);
    bind();
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC);
}

TEST_F(curve, does_not_talk_to_a_peer_of_another_mechanism) {
    make_server(server);
    bind();
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    test_socket plain = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(plain.set(ZMQ_PLAIN_USERNAME, "bob"), 0);
    ASSERT_EQ(plain.set(ZMQ_PLAIN_PASSWORD, "secret"), 0);
    client.close();
    plain.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
}

TEST_F(curve, of_a_client_whose_key_of_a_server_is_none_says_so) {
    ASSERT_EQ(server.set(ZMQ_CURVE_SERVER, 1), 0);
    ASSERT_EQ(server.set(ZMQ_CURVE_SECRETKEY, server_secret), 0);
    bind();
    ASSERT_EQ(client.set(ZMQ_CURVE_PUBLICKEY, client_public), 0);
    events.emplace(zmq, client, ends_of_handshakes);
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE);
}

TEST_F(curve, that_is_asked_for_behind_a_bind_holds_for_what_is_bound_next) {
    bind();
    make_server(server);
    const std::string next = server.bind("tcp://127.0.0.1:*");
    client.connect(endpoint);
    expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
    test_socket clear = zmq.socket(ZMQ_PUSH), sealed = zmq.socket(ZMQ_PUSH);
    clear.set(ZMQ_RECONNECT_IVL, -1);
    clear.connect(next);
    expect(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
    make_client(sealed);
    sealed.connect(next);
    expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0);
}

// libsodium is started by whoever is the first, and nobody ends it under the others.
TEST(keys_of_curve, are_made_while_contexts_begin_and_end) {
    std::atomic<bool> is_over{false};
    std::vector<std::thread> makers;
    for (int i = 0; i < 3; ++i)
        makers.emplace_back([&] {
            do {
                char open[41], hidden[41], derived[41];
                EXPECT_EQ(zmq_curve_keypair(open, hidden), 0);
                EXPECT_EQ(zmq_curve_public(derived, hidden), 0);
                EXPECT_STREQ(derived, open);
            } while (!is_over);
        });
    for (int i = 0; i < 50; ++i) {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
        make_server(server);
        make_client(client);
        client.connect(server.bind("tcp://127.0.0.1:*"));
        EXPECT_EQ(client.send("x"), 1);
        EXPECT_EQ(server.receive(), "x");
    }
    is_over = true;
    for (std::thread &each : makers)
        each.join();
}

using zlink::test::command;
using zlink::test::greeting;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

std::string greeting_of_server() {
    std::string out = greeting("CURVE");
    out[32] = 1;
    return out;
}

constexpr std::size_t greeting_size = 64;
constexpr std::size_t hello_size = 2 + 200;  // with its header
constexpr std::size_t welcome_size = 2 + 168;

TEST_F(curve, of_a_client_outlives_an_error_that_anybody_may_have_said) {
    make_client(client);
    client.set(ZMQ_RECONNECT_IVL, 20);
    client.set(ZMQ_RECONNECT_IVL_MAX, 0);
    raw_listener listener;
    client.connect(listener.endpoint());
    for (const char *reason : {"\3"
                               "400",
                               "\3"
                               "500",
                               "\x18"
                               "Incompatible-Socket-Type"}) {
        raw_peer impostor = listener.accept();
        ASSERT_TRUE(impostor.is_open()) << "it does not come again";
        ASSERT_TRUE(impostor.send(greeting_of_server()));
        ASSERT_EQ(impostor.receive(greeting_size + hello_size).size(), greeting_size + hello_size);
        ASSERT_TRUE(impostor.send(command("ERROR", reason)));
        EXPECT_TRUE(impostor.is_closed_by_other_side());
    }
    EXPECT_TRUE(listener.accept().is_open());
}

// Returns what a client says up to its HELLO. Whoever has it can say it, too.
std::string recorded_hello() {
    context zmq;
    test_socket client = zmq.socket(ZMQ_DEALER);
    make_client(client);
    raw_listener listener;
    client.connect(listener.endpoint());
    raw_peer server = listener.accept();
    EXPECT_TRUE(server.send(greeting_of_server()));
    return server.receive(greeting_size + hello_size);
}

struct flooded_curve : flooded_server {
    flooded_curve() {
        make_server(server);
        make_client(honest);
    }
    raw_peer come() const {
        raw_peer stranger(endpoint);
        EXPECT_TRUE(stranger.send(said));
        EXPECT_EQ(stranger.receive(greeting_size + welcome_size).size(), greeting_size + welcome_size);
        return stranger;
    }
    const std::string said = recorded_hello();
};

TEST(half_handshakes, hold_back_nobody) {
    flooded_curve flood;
    const int many = effort(1000, 200);
    if (!flooded_server::may_open(static_cast<rlim_t>(3 * many)))
        GTEST_SKIP() << "the system allows too few descriptors";
    flood.start("tcp://127.0.0.1:*", 0, many);
    std::vector<raw_peer> strangers;
    for (int i = 0; i < many && !::testing::Test::HasFailure(); ++i) {
        strangers.push_back(flood.come());
        if (i % 100 == 0)
            flood.talk();
    }
    flood.honest.close();
    test_socket late = flood.zmq.socket(ZMQ_DEALER);
    make_client(late);
    late.connect(flood.endpoint);
    EXPECT_EQ(late.send("x"), 1);
    EXPECT_EQ(flood.server.receive(), "x");
}

// They come and go, a few at a time, and the memory of those that went serves those that come. How
// many of both are there at once, and so how much that is, depends on the machine; but the heap's
// smallest block has 32 octets, and one that each leaves behind would be more than is allowed.
TEST(half_handshakes, leave_nothing_behind_after_ten_thousand) {
    flooded_curve flood;
    constexpr int at_a_time = 50;
    const int many = effort(10'000, 1'000);
    flood.start("tcp://127.0.0.1:*", 0, at_a_time);
    monitor events(flood.zmq, flood.server, ZMQ_EVENT_DISCONNECTED);
    const auto come_and_go = [&] {
        {
            std::vector<raw_peer> strangers;
            for (int i = 0; i < at_a_time; ++i)
                strangers.push_back(flood.come());
        }
        for (int i = 0; i < at_a_time; ++i)
            ASSERT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
        flood.talk();
    };
    for (int i = 0; i < 10; ++i)
        ASSERT_NO_FATAL_FAILURE(come_and_go());
    const std::size_t before = zlink::test::allocated();
    for (int i = 0; i < many / at_a_time; ++i)
        ASSERT_NO_FATAL_FAILURE(come_and_go());
    constexpr int less_than_a_block = 28;  // octets
    EXPECT_LE(zlink::test::allocated(), before + std::max(many * less_than_a_block, 32 * 1024));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(half_handshakes, cost_little) {
    flooded_curve flood;
    std::vector<raw_peer> strangers;
    strangers.reserve(flooded_server::counted + 1);
    const std::size_t each =
        flood.cost_of_each("tcp://127.0.0.1:*", [&] { strangers.push_back(flood.come()); });
    EXPECT_LE(each, std::size_t{4096});
    EXPECT_GT(each, 0u);
}
#endif

}  // namespace
