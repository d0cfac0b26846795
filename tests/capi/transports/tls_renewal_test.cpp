// Certificates that are replaced while sockets use them.
#include "tls_refusal.hpp"

#include <filesystem>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

// Does as the guide says: whole files, moved into place.
void replace(const std::string &path, const std::string &text) {
    const std::string fresh = file_with("fresh", text);
    std::filesystem::rename(fresh, path);
}

class renewal : public ::testing::Test {
protected:
    void serve() {
        server.set(ZMQ_TLS_CERT, cert);
        server.set(ZMQ_TLS_KEY, key);
        endpoint = server.bind("tls://127.0.0.1:*");
    }
    // Whom a new client finds, until it is this one. What it looks at is looked at once a second.
    bool is_served_by(const std::string &name) {
        return eventually([&] {
            tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
            if (!peer.shake_hands())
                return false;
            char found[64];
            X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(peer.tls())),
                                      NID_commonName, found, sizeof found);
            return name == found;
        });
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events{zmq, server, ZMQ_EVENT_REASONS};
    const identity first{{.name = "the first"}, &good().authority};
    const identity second{{.name = "the second"}, &good().authority};
    const std::string cert = file_with("renewed.pem", first.certificate_pem());
    const std::string key = file_with("renewed.key", first.key_pem());
    std::string endpoint;
};

TEST_F(renewal, of_a_server_s_certificate_holds_for_new_connections_and_disturbs_none) {
    serve();
    test_socket old_client = zmq.socket(ZMQ_PUSH);
    old_client.connect(endpoint);
    old_client.send("before");
    EXPECT_EQ(server.receive(), "before");
    EXPECT_TRUE(is_served_by("the first"));
    replace(key, second.key_pem());
    replace(cert, second.certificate_pem());
    EXPECT_TRUE(is_served_by("the second"));
    old_client.send("after");
    EXPECT_EQ(server.receive(), "after");
}

TEST_F(renewal, with_files_that_cannot_be_used_keeps_the_old_ones_and_says_why_once) {
    serve();
    replace(cert, second.certificate_pem());
    const auto visit = [&] {
        tls_peer peer(raw_peer(endpoint), tls_peer::role::client);
        EXPECT_TRUE(peer.shake_hands());
    };
    const std::string words = "the key in " + key + " does not match the certificate CN=the second";
    int reasons = 0;
    // There are others of the visitors, which go without a farewell.
    const auto count_reasons = [&] {
        while (events.has_input())
            if (const monitor_event found = events.next(); found.words == words) {
                EXPECT_EQ(found.value, 0);
                EXPECT_EQ(found.endpoint, endpoint);
                ++reasons;
            }
        return reasons;
    };
    EXPECT_TRUE(eventually([&] {
        visit();
        return count_reasons() > 0;
    }));
    EXPECT_TRUE(is_served_by("the first"));
    replace(key, second.key_pem());
    EXPECT_TRUE(is_served_by("the second"));
    EXPECT_EQ(count_reasons(), 1);
}

TEST_F(renewal, of_the_authorities_keeps_clients_of_the_old_one_out) {
    const identity other({.name = "another authority", .is_authority = true});
    const std::string ca = file_with("renewed-ca.pem", good().authority.certificate_pem());
    server.set(ZMQ_TLS_CA, ca);
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    serve();
    const identity alice({.name = "alice", .usage = "clientAuth"}, &good().authority);
    tls_peer first_visit(raw_peer(endpoint), tls_peer::role::client);
    first_visit.use(alice);
    ASSERT_TRUE(first_visit.shake_hands());
    ASSERT_TRUE(first_visit.shake_hands_of_zmtp("PUSH"));
    replace(ca, other.certificate_pem());
    EXPECT_TRUE(eventually([&] {
        tls_peer again(raw_peer(endpoint), first_visit);
        // Its ticket does not help it.
        SSL_set_session(again.tls(), SSL_get_session(first_visit.tls()));
        return !(again.shake_hands() && again.shake_hands_of_zmtp("PUSH"));
    }));
}

TEST_F(renewal, of_a_client_s_certificate_holds_for_its_next_connection) {
    raw_listener listening;
    test_socket client = zmq.socket(ZMQ_PUSH);
    client.set(ZMQ_RECONNECT_IVL, 1);
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_TLS_CERT, cert);
    client.set(ZMQ_TLS_KEY, key);
    client.connect("tls" + listening.endpoint().substr(3));
    bool is_renewed = false;
    EXPECT_TRUE(eventually([&] {
        tls_peer peer(listening.accept(), tls_peer::role::server);
        peer.use(good().server);
        peer.require_certificate();
        if (!peer.shake_hands())
            return false;
        char found[64];
        X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(peer.tls())),
                                  NID_commonName, found, sizeof found);
        if (!std::exchange(is_renewed, true)) {
            EXPECT_STREQ(found, "the first");
            replace(key, second.key_pem());
            replace(cert, second.certificate_pem());
        }
        return std::string(found) == "the second";
    }));
}

}  // namespace
