// A password of PLAIN does not stay in memory once the sockets are gone, but for what a handler was
// asked with.
#include "memory_search.hpp"
#include "zap_handler.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

using namespace zlink_test;

// A password, inverted, that stands nowhere else.
std::string hidden_password() {
    std::string hidden;
    for (int i = 0; i < 32; ++i)
        hidden += static_cast<char>(~('A' + (i * 11 + 5) % 57));
    return hidden;
}

class passwords_of_plain_over : public ::testing::TestWithParam<const char *> {};

TEST_P(passwords_of_plain_over, are_gone_with_the_sockets) {
    const std::string hidden = hidden_password();
    {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
        make_plain_server(server);
        client.set(ZMQ_PLAIN_USERNAME, "bob");
        char password[32];
        for (std::size_t i = 0; i < sizeof password; ++i)
            password[i] = static_cast<char>(~hidden[i]);
        ASSERT_EQ(zmq_setsockopt(client.handle(), ZMQ_PLAIN_PASSWORD, password, sizeof password), 0);
        explicit_bzero(password, sizeof password);
        monitor at_server(zmq, server, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        client.connect(server.bind(GetParam()));
        EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT) << "nobody is asked";
        EXPECT_GT(count_in_memory(hidden), 0) << "it would be found";
    }
    EXPECT_EQ(count_in_memory(hidden), 0);
}

INSTANTIATE_TEST_SUITE_P(each, passwords_of_plain_over,
                         ::testing::Values("tcp://127.0.0.1:*", "ipc://*", "ws://127.0.0.1:*"));

}  // namespace

#endif
