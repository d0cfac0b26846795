// The options that libzmq's drafts have for wss: certificates, keys and authorities as text.
#define ZMQ_BUILD_DRAFT_API
#include "certificates.hpp"
#include "sockets.hpp"
#include "transports.hpp"

#include <cstdlib>

namespace {

using namespace zlink_test;

class wss_options : public ::testing::Test {
protected:
    std::string serve(const std::string &over) {
        EXPECT_EQ(server.set(ZMQ_WSS_CERT_PEM, good().server.certificate_pem()), 0);
        EXPECT_EQ(server.set(ZMQ_WSS_KEY_PEM, good().server.key_pem()), 0);
        EXPECT_EQ(zmq_bind(server.handle(), (over + "://127.0.0.1:*").c_str()), 0);
        return server.last_endpoint();
    }
    std::string serve() { return serve(scheme); }
    // The test's sockets would look for files.
    static void call(test_socket &from, const std::string &endpoint) {
        EXPECT_EQ(zmq_connect(from.handle(), endpoint.c_str()), 0) << zmq_strerror(zmq_errno());
    }
    void trust(const identity &authority) {
        EXPECT_EQ(client.set(ZMQ_WSS_TRUST_PEM, authority.certificate_pem()), 0);
    }
    void expect_talk() {
        ASSERT_EQ(client.send("question"), 8) << zmq_strerror(zmq_errno());
        ASSERT_EQ(server.receive(), "question") << zmq_strerror(zmq_errno());
    }
    void expect_refusal(const std::string &endpoint) {
        monitor watch(zmq, client, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        call(client, endpoint);
        EXPECT_EQ(watch.next().value, EKEYREJECTED);
    }

    // They hold for tls, too.
    const std::string scheme = where_built({"wss", "tls"}).front();
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    test_socket client = zmq.socket(ZMQ_PUSH);
};

TEST_F(wss_options, take_the_text_itself_instead_of_files) {
    trust(good().authority);
    call(client, serve());
    expect_talk();
    test_socket second = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(second.set(ZMQ_TLS_CA, good().ca), 0);
    call(second, serve("tls"));
    ASSERT_EQ(second.send("over tls, too"), 13);
    EXPECT_EQ(server.receive(), "over tls, too");
}

TEST_F(wss_options, trust_nobody_else) {
    trust(identity({.name = "another authority", .is_authority = true}));
    expect_refusal(serve());
}

TEST_F(wss_options, do_not_find_the_name_in_the_subject) {
    const identity named({.name = "a.example", .alternatives = ""}, &good().authority);
    server.set(ZMQ_WSS_CERT_PEM, named.certificate_pem());
    server.set(ZMQ_WSS_KEY_PEM, named.key_pem());
    ASSERT_EQ(zmq_bind(server.handle(), (scheme + "://127.0.0.1:*").c_str()), 0);
    trust(good().authority);
    ASSERT_EQ(client.set(ZMQ_WSS_HOSTNAME, "a.example"), 0);
    expect_refusal(server.last_endpoint());
}

TEST_F(wss_options, name_whom_the_server_has_to_be) {
    const std::string endpoint = serve();
    trust(good().authority);
    ASSERT_EQ(client.set(ZMQ_WSS_HOSTNAME, "elsewhere.example"), 0);
    expect_refusal(endpoint);
    client = zmq.socket(ZMQ_PUSH);
    trust(good().authority);
    ASSERT_EQ(client.set(ZMQ_WSS_HOSTNAME, "localhost"), 0);
    call(client, endpoint);
    expect_talk();
}

TEST_F(wss_options, trust_the_system_where_they_are_told_to) {
    ::setenv("SSL_CERT_FILE", good().ca.c_str(), 1);
    trust(identity({.name = "another authority", .is_authority = true}));
    ASSERT_EQ(client.set(ZMQ_WSS_TRUST_SYSTEM, 1), 0);
    EXPECT_FAILS(EINVAL, client.set(ZMQ_WSS_TRUST_SYSTEM, 2));
    call(client, serve());
    expect_talk();
    ::unsetenv("SSL_CERT_FILE");
}

TEST_F(wss_options, are_refused_where_they_are_no_pem_and_not_read_back) {
    for (const int option : {ZMQ_WSS_CERT_PEM, ZMQ_WSS_KEY_PEM, ZMQ_WSS_TRUST_PEM}) {
        EXPECT_FAILS(EINVAL, server.set(option, "/etc/passwd"));
        char text[4096];
        std::size_t size = sizeof text;
        EXPECT_FAILS(EINVAL, zmq_getsockopt(server.handle(), option, text, &size));
        EXPECT_EQ(server.set(option, ""), 0);
    }
    ASSERT_EQ(server.set(ZMQ_WSS_CERT_PEM, good().server.certificate_pem()), 0);
    ASSERT_EQ(server.set(ZMQ_WSS_KEY_PEM, good().authority.key_pem()), 0);
    EXPECT_EQ(server.get_text(ZMQ_TLS_KEY), std::string(1, '\0')) << "nor as a path";
    // The key of another certificate.
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), (scheme + "://127.0.0.1:*").c_str()));
}

}  // namespace
