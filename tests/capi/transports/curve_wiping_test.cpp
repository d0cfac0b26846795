// Secret keys of CURVE are in no core, and do not stay in memory once the sockets that used them
// are gone.
#include "children.hpp"
#include "limited_memory.hpp"
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

/// A server and a client that know each other, and have sent each other something.
struct talking {
    talking(const key_pair &servers, const key_pair &clients) {
        EXPECT_EQ(server.set(ZMQ_CURVE_SERVER, 1), 0);
        servers.give_secret_to(server);
        clients.give_secret_to(client);
        EXPECT_EQ(client.set(ZMQ_CURVE_PUBLICKEY, std::string_view(clients.open)), 0);
        EXPECT_EQ(client.set(ZMQ_CURVE_SERVERKEY, std::string_view(servers.open)), 0);
        client.connect(server.bind("tcp://127.0.0.1:*"));
        for (const std::string &text : {std::string("x"), std::string(100000, 'y')}) {
            EXPECT_EQ(client.send(text), static_cast<int>(text.size()));
            EXPECT_EQ(server.receive(), text);
            EXPECT_EQ(server.send(text), static_cast<int>(text.size()));
            EXPECT_EQ(client.receive(), text);
        }
    }
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
};

TEST(secrets_of_curve, are_gone_with_the_sockets) {
    const key_pair servers, clients;
    {
        const talking both(servers, clients);
        EXPECT_GT(count_in_memory(servers.hidden), 0) << "it would be found";
        EXPECT_GT(count_in_memory(clients.hidden), 0);
    }
    EXPECT_EQ(count_in_memory(servers.hidden), 0);
    EXPECT_EQ(count_in_memory(clients.hidden), 0);
}

TEST(secrets_of_curve, are_in_no_core) {
    in_children(
        [] {
            const key_pair servers, clients;
            const talking both(servers, clients);
            must(!::testing::Test::HasFailure());
            must(count_in_core(inverted(servers.open)) > 0);  // what may be there is found
            for (const key_pair *each : {&servers, &clients}) {
                must(count_in_memory(each->hidden) == 1);  // for all copies of the option
                must(count_words_in_core(each->hidden) == 0);
            }
        },
        1);
}

TEST(secret_key_of_curve, is_enomem_where_there_are_no_pages_for_it) {
    if (!zlink::test::address_space_can_be_limited())
        GTEST_SKIP() << "an emulated processor knows no such limit";
    const key_pair keys, others;
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    keys.give_secret_to(socket);
    char octets[32] = "another key";
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &none);
    const int of_secret = zmq_setsockopt(socket.handle(), ZMQ_CURVE_SECRETKEY, octets, sizeof octets);
    const int why = zmq_errno();
    const int of_public = zmq_setsockopt(socket.handle(), ZMQ_CURVE_PUBLICKEY, octets, sizeof octets);
    ::setrlimit(RLIMIT_AS, &before);
    EXPECT_EQ(of_secret, -1);
    EXPECT_EQ(why, ENOMEM);
    EXPECT_EQ(of_public, 0) << "that one needs none";
    EXPECT_EQ(count_in_memory(keys.hidden), 1) << "nothing has changed";
}

TEST(secret_key_of_curve, needs_no_leave_to_lock_memory) {
    in_children(
        [] {
            const rlimit none{0, 0};
            must(::setrlimit(RLIMIT_MEMLOCK, &none) == 0);
            must(::getuid() != 0 || ::setuid(65534) == 0);  // for root no limit holds
            must(!may_lock_memory());
            const key_pair servers, clients;
            const talking both(servers, clients);
            must(!::testing::Test::HasFailure());
            must(count_in_core(servers.hidden) == 0);
        },
        1);
}

}  // namespace

#endif
