// The transport tls: messages, addresses, options, and whom a message came from.
#include "both_ways.hpp"
#include "certificates.hpp"
#include "sockets.hpp"

#include <atomic>
#include <cstdlib>
#include <openssl/err.h>
#include <thread>

namespace {

using namespace zlink_test;

// A certificate and its key as files.
struct pair_of_files {
    pair_of_files(const std::string &name, const identity &of, const char *password = nullptr)
        : cert(file_with(name + ".pem", of.certificate_pem())),
          key(file_with(name + ".key", of.key_pem(password))) {}
    std::string cert, key;
};

void serve_with(test_socket &server, const std::string &cert, const std::string &key) {
    ASSERT_EQ(server.set(ZMQ_TLS_CERT, cert), 0);
    ASSERT_EQ(server.set(ZMQ_TLS_KEY, key), 0);
}

const pair_of_files &client_files() {
    static const identity client({.name = "a client", .alternatives = "", .usage = "clientAuth"},
                                 &good().authority);
    static const pair_of_files files("client", client);
    return files;
}

class tls : public ::testing::Test {
protected:
    // Only what it takes: a certificate and its key here, an authority there.
    std::string serve() {
        serve_with(server, good().cert, good().key);
        return server.bind("tls://127.0.0.1:*");
    }
    void call(const std::string &endpoint) {
        ASSERT_EQ(client.set(ZMQ_TLS_CA, good().ca), 0);
        client.connect(endpoint);
    }
    void expect_talk() {
        ASSERT_EQ(client.send("question"), 8) << zmq_strerror(zmq_errno());
        ASSERT_EQ(server.receive(), "question") << zmq_strerror(zmq_errno());
        ASSERT_EQ(server.send("answer"), 6);
        ASSERT_EQ(client.receive(), "answer");
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    test_socket client = zmq.socket(ZMQ_PAIR);
};

TEST_F(tls, is_a_capability) { EXPECT_EQ(zmq_has("tls"), 1); }

TEST_F(tls, passes_messages_between_a_server_and_a_client_that_know_one_authority) {
    const std::string endpoint = serve();
    EXPECT_EQ(endpoint.substr(0, 16), "tls://127.0.0.1:");
    call(endpoint);
    expect_talk();
}

TEST_F(tls, tells_the_version_of_each_peer) {
    call(serve());
    expect_talk();
    std::vector<std::string> versions;
    const auto keep = [](void *arg, const zlink_peer_t *peer, std::size_t) {
        static_cast<std::vector<std::string> *>(arg)->emplace_back(peer->tls_version);
        return 0;
    };
    EXPECT_EQ(zlink_peers(server.handle(), keep, &versions), 1);
    EXPECT_EQ(zlink_peers(client.handle(), keep, &versions), 1);
    EXPECT_EQ(versions, (std::vector<std::string>{"TLSv1.3", "TLSv1.3"}));
}

TEST_F(tls, passes_a_hundred_thousand_small_messages_both_ways_at_once) {
    call(serve());
    exchange_numbers_both_ways(client, server, 100'000);
}

TEST_F(tls, passes_bodies_of_every_size_and_one_of_64_mib) {
    call(serve());
    exchange_bodies(client, server,
                    {0, 1, 255, 256, 8191, 8192, 16383, 16384, 16385, 65536, 1 << 20, 64 << 20});
}

// Whatever is where when the socket closes: in the queue, encrypted and not yet with the system, or
// on its way.
TEST_F(tls, delivers_while_it_lingers_what_the_peers_are_slow_to_read) {
    constexpr int peers = 24;
    const auto count = [](int peer) { return 40 + 16 * peer; };  // messages
    const std::string body = body_of(1024, 3);
    context senders;
    std::vector<test_socket> pulls;
    for (int i = 0; i < peers; ++i) {
        pulls.push_back(zmq.socket(ZMQ_PULL));
        test_socket push = senders.socket(ZMQ_PUSH);
        pulls.back().set(ZMQ_RCVHWM, 1);
        pulls.back().set(ZMQ_RCVBUF, 4096);
        push.set(ZMQ_SNDBUF, 4096);
        push.set(ZMQ_LINGER, 3 * patience_ms);
        push.connect(pulls.back().bind("tls://127.0.0.1:*"));
        for (int n = 0; n < count(i); ++n)
            ASSERT_EQ(push.send(body), 1024);
    }
    std::atomic<bool> is_over = false;
    std::thread ending([&] {
        senders.term();
        is_over = true;
    });
    // Longer than a socket stays that has nothing left to write.
    EXPECT_FALSE(eventually([&] { return is_over.load(); }, std::chrono::milliseconds(1200)));
    bool is_whole = true;
    for (int i = 0; i < peers; ++i)
        for (int n = 0; n < count(i) && is_whole; ++n) {
            is_whole = pulls[i].receive() == body;
            EXPECT_TRUE(is_whole) << "only " << n << " of " << count(i) << " came";
        }
    EXPECT_TRUE(eventually([&] { return is_over.load(); }));
    ending.join();
}

TEST_F(tls, hears_ipv6_too) {
    server.set(ZMQ_IPV6, 1);
    client.set(ZMQ_IPV6, 1);
    serve_with(server, good().cert, good().key);
    const std::string endpoint = server.bind("tls://[::1]:*");
    EXPECT_EQ(endpoint.substr(0, 12), "tls://[::1]:");
    call(endpoint);
    expect_talk();
}

TEST_F(tls, connects_by_name_and_from_a_chosen_address) {
    const std::string endpoint = serve();
    const std::string port = endpoint.substr(endpoint.rfind(':'));
    call("tls://127.0.0.2:0;localhost" + port);
    ASSERT_EQ(client.send("x"), 1);
    zmq_msg_t found;
    zmq_msg_init(&found);
    ASSERT_EQ(zmq_msg_recv(&found, server.handle(), 0), 1);
    EXPECT_STREQ(zmq_msg_gets(&found, "Peer-Address"), "127.0.0.2");
    EXPECT_EQ(zmq_msg_gets(&found, "User-Id"), nullptr);
    zmq_msg_close(&found);
}

TEST_F(tls, unbinds_by_every_way_to_write_the_address) {
    const std::string first = serve();
    EXPECT_EQ(server.unbind(first), 0);
    const std::string second = server.bind("tls://*:*");
    EXPECT_EQ(second.substr(0, 14), "tls://0.0.0.0:");
    EXPECT_EQ(server.unbind("tls://*" + second.substr(13)), 0);
    EXPECT_FAILS(ENOENT, zmq_unbind(server.handle(), second.c_str()));
    const std::string third = server.bind("tls://127.0.0.1:*");
    EXPECT_FAILS(ENOENT, zmq_unbind(server.handle(), ("tcp" + third.substr(3)).c_str()));
    const std::string plain = server.bind("tcp://127.0.0.1:*");
    EXPECT_FAILS(ENOENT, zmq_unbind(server.handle(), ("tls" + plain.substr(3)).c_str()));
}

TEST_F(tls, goes_on_when_the_server_comes_back) {
    client.set(ZMQ_RECONNECT_IVL, 1);
    const std::string endpoint = serve();
    call(endpoint);
    expect_talk();
    monitor at_client(zmq, client);
    server.close();
    // Whatever is sent before is lost with the connection, over every transport.
    ASSERT_NE(at_client.next(ZMQ_EVENT_DISCONNECTED).event, 0);
    server = zmq.socket(ZMQ_PAIR);
    serve_with(server, good().cert, good().key);
    ASSERT_TRUE(eventually([&] { return zmq_bind(server.handle(), endpoint.c_str()) == 0; }));
    expect_talk();
}

TEST_F(tls, says_whose_certificate_a_message_came_with) {
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    server.set(ZMQ_TLS_CA, good().ca);
    serve_with(client, client_files().cert, client_files().key);
    call(serve());
    ASSERT_EQ(client.send("x"), 1);
    ASSERT_EQ(server.send("y"), 1);
    for (const auto &[at, user] :
         {std::pair{&server, "CN=a client"}, std::pair{&client, "CN=zlink test server"}}) {
        zmq_msg_t found;
        zmq_msg_init(&found);
        ASSERT_EQ(zmq_msg_recv(&found, at->handle(), 0), 1);
        EXPECT_STREQ(zmq_msg_gets(&found, "User-Id"), user);
        zmq_msg_close(&found);
    }
}

TEST_F(tls, a_server_proves_the_name_that_is_asked_for) {
    const identity named({.alternatives = "DNS:a.example"}, &good().authority);
    const pair_of_files files("named", named);
    serve_with(server, files.cert, files.key);
    client.set(ZMQ_TLS_HOSTNAME, "a.example");
    call(server.bind("tls://127.0.0.1:*"));
    expect_talk();
}

TEST_F(tls, without_verification_takes_any_server) {
    const identity stranger({.alternatives = "DNS:nowhere.example"});
    const pair_of_files files("stranger", stranger);
    serve_with(server, files.cert, files.key);
    client.set(ZMQ_TLS_VERIFY, 0);
    client.connect("tls://127.0.0.1" + server.bind("tls://127.0.0.1:*").substr(15));
    ASSERT_EQ(server.send("x"), 1);
    zmq_msg_t found;
    zmq_msg_init(&found);
    ASSERT_EQ(zmq_msg_recv(&found, client.handle(), 0), 1);
    EXPECT_EQ(zmq_msg_gets(&found, "User-Id"), nullptr);  // it has proven nothing
    zmq_msg_close(&found);
}

TEST_F(tls, trusts_the_system_where_it_is_told_to) {
    const std::string endpoint = serve();
    const identity other({.name = "another authority", .is_authority = true});
    // The authorities of the system, for OpenSSL.
    ::setenv("SSL_CERT_FILE", good().ca.c_str(), 1);
    client.set(ZMQ_TLS_TRUST_SYSTEM, 0);
    EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), endpoint.c_str()));
    client.set(ZMQ_TLS_CA, file_with("other-ca.pem", other.certificate_pem()));
    client.set(ZMQ_TLS_TRUST_SYSTEM, 1);
    client.connect(endpoint);
    expect_talk();
    client.close();
    client = zmq.socket(ZMQ_PAIR);
    EXPECT_EQ(zmq_connect(client.handle(), endpoint.c_str()), 0);
    expect_talk();
    client.close();
    client = zmq.socket(ZMQ_PAIR);
    monitor events(zmq, client);
    client.set(ZMQ_TLS_CA, file_with("other-ca.pem", other.certificate_pem()));
    client.connect(endpoint);  // an authority takes the place of those of the system
    EXPECT_EQ(events.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EKEYREJECTED);
    ::unsetenv("SSL_CERT_FILE");
}

TEST_F(tls, opens_a_key_with_its_password) {
    const pair_of_files files("locked", good().server, "open sesame");
    server.set(ZMQ_TLS_PASSWORD, "open sesame");
    serve_with(server, files.cert, files.key);
    call(server.bind("tls://127.0.0.1:*"));
    expect_talk();
}

TEST_F(tls, reads_its_options_back) {
    client.set(ZMQ_TLS_CERT, "/a/b.pem");
    client.set(ZMQ_TLS_HOSTNAME, "a.example");
    EXPECT_EQ(client.get_text(ZMQ_TLS_CERT), std::string("/a/b.pem\0", 9));
    EXPECT_EQ(client.get_text(ZMQ_TLS_HOSTNAME), std::string("a.example\0", 10));
    EXPECT_EQ(client.set(ZMQ_TLS_CERT, ""), 0);
    EXPECT_EQ(client.get_text(ZMQ_TLS_CERT), std::string("\0", 1));
    EXPECT_FAILS(EINVAL, client.set(ZMQ_TLS_VERIFY, 2));
    EXPECT_FAILS(EINVAL, client.set(ZMQ_TLS_TRUST_SYSTEM, -2));
    EXPECT_FAILS(EINVAL, client.set(ZMQ_TLS_HOSTNAME, std::string(256, 'a')));
}

TEST_F(tls, needs_an_address_as_tcp_does) {
    client.set(ZMQ_TLS_CA, good().ca);
    serve_with(server, good().cert, good().key);
    for (const char *bad : {"tls://127.0.0.1", "tls://127.0.0.1:99999", "tls://:x", "tls://a b:1"}) {
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), bad));
        EXPECT_EQ(zmq_bind(server.handle(), bad), -1) << bad;
    }
}

TEST_F(tls, leaves_alone_what_openssl_has_noted_of_the_application) {
    ERR_clear_error();
    ERR_raise(ERR_LIB_USER, 101);
    // With the system's authorities.
    EXPECT_EQ(zmq_connect(client.handle(), "tls://127.0.0.1:1"), 0);
    EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), 101);
    EXPECT_EQ(ERR_get_error(), 0u);
}

}  // namespace
