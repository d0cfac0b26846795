// A password of PLAIN does not stay in memory once the sockets are gone, whoever was asked about
// it.
#include "memory_search.hpp"
#include "transports.hpp"
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

class passwords_of_plain_over : public ::testing::TestWithParam<std::string> {};

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

/// Closes each frame, and keeps none. The answer is the one given.
void answer_as_a_handler(test_socket &handler, const char *status, const std::string &hidden) {
    std::string number;
    for (int i = 0; i < 8; ++i) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        ASSERT_GE(zmq_msg_recv(&frame, handler.handle(), 0), 0);
        const char *const octets = static_cast<const char *>(zmq_msg_data(&frame));
        if (i == 1)
            number.assign(octets, zmq_msg_size(&frame));
        if (i == 7) {
            ASSERT_EQ(zmq_msg_size(&frame), hidden.size());
            for (std::size_t at = 0; at < hidden.size(); ++at)
                ASSERT_EQ(octets[at], static_cast<char>(~hidden[at])) << at;
        }
        zmq_msg_close(&frame);
        explicit_bzero(&frame, sizeof frame);
    }
    EXPECT_TRUE(handler.send_all({"1.0", number, status, "", "bob", ""}));
}

TEST_P(passwords_of_plain_over, are_gone_when_a_handler_was_asked) {
    for (const std::size_t size : {32u, 255u})
        for (const char *const status : {"200", "400"}) {
            std::string hidden = hidden_password();
            while (hidden.size() < size)
                hidden += hidden;
            hidden.resize(size);
            SCOPED_TRACE(std::to_string(size) + " " + status);
            context zmq;
            {
                test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR),
                            handler = zmq.socket(ZMQ_REP);
                handler.bind(handlers_endpoint);
                make_plain_server(server);
                client.set(ZMQ_PLAIN_USERNAME, "bob");
                char password[255];
                for (std::size_t i = 0; i < size; ++i)
                    password[i] = static_cast<char>(~hidden[i]);
                ASSERT_EQ(zmq_setsockopt(client.handle(), ZMQ_PLAIN_PASSWORD, password, size), 0);
                explicit_bzero(password, sizeof password);
                monitor at_server(zmq, server,
                                  ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
                client.connect(server.bind(GetParam()));
                answer_as_a_handler(handler, status, hidden);
                EXPECT_NE(at_server.next().event, 0);
                EXPECT_GT(count_in_memory(hidden), 0) << "it would be found";
            }
            zmq.term();
            EXPECT_EQ(count_in_memory(hidden), 0);
        }
}

INSTANTIATE_TEST_SUITE_P(each, passwords_of_plain_over,
                         ::testing::ValuesIn(where_built({"tcp://127.0.0.1:*", "ipc://*",
                                                          "ws://127.0.0.1:*"})));

}  // namespace

#endif
