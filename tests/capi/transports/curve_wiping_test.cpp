// Keys of CURVE do not stay in memory once the sockets that used them are gone.
#include "memory_search.hpp"
#include "sockets.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

using namespace zlink_test;

// The halves of a pair as octets, the secret one inverted.
struct key_pair {
    key_pair() {
        char text[41], secret_text[41];
        EXPECT_EQ(zmq_curve_keypair(text, secret_text), 0);
        std::uint8_t octets[32];
        zmq_z85_decode(octets, text);
        open.assign(reinterpret_cast<char *>(octets), 32);
        zmq_z85_decode(octets, secret_text);
        for (const std::uint8_t each : octets)
            hidden += static_cast<char>(~each);
        explicit_bzero(octets, sizeof octets);
        explicit_bzero(secret_text, sizeof secret_text);
    }
    void give_secret_to(test_socket &socket) const {
        char octets[32];
        for (std::size_t i = 0; i < sizeof octets; ++i)
            octets[i] = static_cast<char>(~hidden[i]);
        EXPECT_EQ(zmq_setsockopt(socket.handle(), ZMQ_CURVE_SECRETKEY, octets, sizeof octets), 0);
        explicit_bzero(octets, sizeof octets);
    }
    std::string open, hidden;
};

TEST(secrets_of_curve, are_gone_with_the_sockets) {
    const key_pair servers, clients;
    {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
        ASSERT_EQ(server.set(ZMQ_CURVE_SERVER, 1), 0);
        servers.give_secret_to(server);
        clients.give_secret_to(client);
        ASSERT_EQ(client.set(ZMQ_CURVE_PUBLICKEY, std::string_view(clients.open)), 0);
        ASSERT_EQ(client.set(ZMQ_CURVE_SERVERKEY, std::string_view(servers.open)), 0);
        client.connect(server.bind("tcp://127.0.0.1:*"));
        ASSERT_EQ(client.send("x"), 1);
        ASSERT_EQ(server.receive(), "x");
        EXPECT_GT(count_in_memory(servers.hidden), 0) << "it would be found";
        EXPECT_GT(count_in_memory(clients.hidden), 0);
    }
    EXPECT_EQ(count_in_memory(servers.hidden), 0);
    EXPECT_EQ(count_in_memory(clients.hidden), 0);
}

}  // namespace

#endif
