// CURVE: whom the two sides of a handshake take for each other, and what a monitor hears where they do not.
#define ZMQ_BUILD_DRAFT_API
#include <optional>

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

}  // namespace
