// Tests what OpenSSL has noted of failures on a thread of the application's, over tls and wss: each
// call leaves it as it was, with its marks, and adds nothing of its own.
#include "both_ways.hpp"
#include "sockets.hpp"
#include "tls_refusal.hpp"
#include "transports.hpp"

#include <openssl/err.h>

namespace {

using namespace zlink_test;

// A failure as the list has it.
struct noted {
    unsigned long code = 0;
    std::string file, function, words;
    int line = 0;

    bool operator==(const noted &) const = default;
};
void PrintTo(const noted &one, std::ostream *out) {
    *out << ERR_GET_REASON(one.code) << " \"" << one.words << "\" at " << one.function << ':' << one.line;
}

noted last_noted() {
    const char *file = nullptr, *function = nullptr, *words = nullptr;
    int line = 0, flags = 0;
    const unsigned long code = ERR_peek_last_error_all(&file, &line, &function, &words, &flags);
    return code == 0 ? noted{} : noted{code, file, function, words, line};
}

// With two marks behind the first failure, and one behind the second.
std::vector<noted> fill() {
    std::vector<noted> all;
    ERR_raise_data(ERR_LIB_USER, 101, "the first, of %d", 3);
    all.push_back(last_noted());
    ERR_set_mark();
    ERR_set_mark();
    ERR_raise(ERR_LIB_USER, 102);
    all.push_back(last_noted());
    ERR_set_mark();
    ERR_raise_data(ERR_LIB_SSL, SSL_R_UNSUPPORTED_PROTOCOL, "the third");
    all.push_back(last_noted());
    return all;
}

void expect_as_filled(const std::vector<noted> &all) {
    EXPECT_EQ(last_noted(), all[2]);
    EXPECT_EQ(ERR_pop_to_mark(), 1);
    EXPECT_EQ(last_noted(), all[1]);
    EXPECT_EQ(ERR_pop_to_mark(), 1);
    EXPECT_EQ(last_noted(), all[0]);
    EXPECT_EQ(ERR_pop_to_mark(), 1);
    EXPECT_EQ(last_noted(), all[0]);
    EXPECT_EQ(ERR_pop_to_mark(), 0);
    EXPECT_EQ(last_noted(), noted{});
}

// Makes the call twice: with a list that the application has filled, and with an empty one.
template <class Call>
void expect_untouched(const char *what, Call &&call) {
    SCOPED_TRACE(what);
    ERR_clear_error();
    const std::vector<noted> before = fill();
    call();
    expect_as_filled(before);
    ERR_clear_error();
    call();
    EXPECT_EQ(last_noted(), noted{});
    EXPECT_EQ(ERR_peek_error(), 0u);
}

class failure_list : public ::testing::TestWithParam<std::string> {
protected:
    std::string wild_card() const { return GetParam() + "://127.0.0.1:*"; }
    void show_good_files(test_socket &socket) {
        socket.set(ZMQ_TLS_CERT, good().cert);
        socket.set(ZMQ_TLS_KEY, good().key);
        socket.set(ZMQ_TLS_CA, good().ca);
    }
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
};

TEST_P(failure_list, is_left_alone_by_bind_and_connect) {
    show_good_files(server);
    expect_untouched("bind", [&] { EXPECT_EQ(zmq_bind(server.handle(), wild_card().c_str()), 0); });
    const std::string endpoint = server.last_endpoint();
    test_socket client = zmq.socket(ZMQ_DEALER);
    client.set(ZMQ_TLS_CA, good().ca);
    expect_untouched("connect", [&] { EXPECT_EQ(zmq_connect(client.handle(), endpoint.c_str()), 0); });
    show_good_files(client);
    expect_untouched("connect with a certificate",
                     [&] { EXPECT_EQ(zmq_connect(client.handle(), endpoint.c_str()), 0); });
    client.set(ZMQ_TLS_CA, "");
    expect_untouched("connect with the system's authorities",
                     [&] { EXPECT_EQ(zmq_connect(client.handle(), endpoint.c_str()), 0); });
    expect_untouched("disconnect and unbind", [&] {
        (void)client.disconnect(endpoint);
        (void)server.unbind(endpoint);
    });
    expect_untouched("close", [&] { client.close(), server.close(); });
}

TEST_P(failure_list, is_left_alone_by_calls_that_fail) {
    const std::string locked = file_with("locked.key", good().server.key_pem("open sesame"));
    const std::string nonsense = file_with("nonsense.pem", "this is none");
    const std::string damaged =
        file_with("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    const identity other({});
    const std::string of_another = file_with("another.key", other.key_pem());
    const struct {
        const char *what;
        int option;
        std::string value;
    } faults[] = {
        {"no such certificate", ZMQ_TLS_CERT, "/no/such.pem"},
        {"no certificate", ZMQ_TLS_CERT, nonsense},
        {"a damaged one", ZMQ_TLS_CERT, damaged},
        {"no such key", ZMQ_TLS_KEY, "/no/such.key"},
        {"no key", ZMQ_TLS_KEY, nonsense},
        {"a locked key", ZMQ_TLS_KEY, locked},
        {"another's key", ZMQ_TLS_KEY, of_another},
        {"no such group", ZMQ_TLS_GROUPS, "nonsense"},
        {"no authorities", ZMQ_TLS_CA, nonsense},
        {"damaged ones", ZMQ_TLS_CA, damaged},
    };
    for (const auto &[what, option, value] : faults) {
        test_socket socket = zmq.socket(ZMQ_PAIR);
        show_good_files(socket);
        socket.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
        socket.set(option, value);
        expect_untouched(what, [&] {
            EXPECT_FAILS(EINVAL, zmq_bind(socket.handle(), wild_card().c_str()));
            EXPECT_FAILS(EINVAL, zmq_connect(socket.handle(), (GetParam() + "://127.0.0.1:1").c_str()));
        });
    }
}

TEST_P(failure_list, is_left_alone_by_what_a_connected_socket_does) {
    test_socket client = zmq.socket(ZMQ_PAIR);
    client.connect(server.bind(wild_card()));
    ASSERT_EQ(client.send("x"), 1);
    ASSERT_EQ(server.receive(), "x");
    const std::string large(1 << 20, 'z');
    expect_untouched("messages", [&] {
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(client.send("question"), 8);
            EXPECT_EQ(server.receive(), "question");
            EXPECT_EQ(server.send(large), 1 << 20);
            EXPECT_EQ(client.receive()->size(), large.size());
        }
        EXPECT_FAILS(EAGAIN, zmq_recv(client.handle(), nullptr, 0, ZMQ_DONTWAIT));
    });
    expect_untouched("who a message is of", [&] {
        EXPECT_EQ(server.send("y"), 1);
        zmq_msg_t found;
        zmq_msg_init(&found);
        EXPECT_EQ(zmq_msg_recv(&found, client.handle(), 0), 1);
        EXPECT_STREQ(zmq_msg_gets(&found, "User-Id"), "CN=zlink test server");
        zmq_msg_close(&found);
    });
    expect_untouched("close", [&] { client.close(), server.close(), zmq.term(); });
}

INSTANTIATE_TEST_SUITE_P(over, failure_list, ::testing::ValuesIn(where_built({"tls", "wss"})),
                         transport_name);

}  // namespace
