// Who is refused over tls: certificates that prove nothing, on either side, and files that are of no use.
#include "sockets.hpp"
#include "tls_peer.hpp"

#include <functional>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

// What one side shows: a chain, and the key of its first certificate.
struct credentials {
    std::string chain, key;
};

credentials of(const identity &whom, const std::string &more = {}) {
    return {whom.certificate_pem() + more, whom.key_pem()};
}

void show(test_socket &socket, const credentials &what) {
    ASSERT_EQ(socket.set(ZMQ_TLS_CERT, file_with("shown.pem", what.chain)), 0);
    ASSERT_EQ(socket.set(ZMQ_TLS_KEY, file_with("shown.key", what.key)), 0);
}

const identity &intermediate() {
    static const identity made({.name = "an intermediate authority", .is_authority = true},
                               &good().authority);
    return made;
}
const identity &other_authority() {
    static const identity made({.name = "another authority", .is_authority = true});
    return made;
}

struct refusal {
    const char *name;
    std::function<credentials()> what;
    int value;
    int told = value;  // of the alert that the other side gets
};
void PrintTo(const refusal &r, std::ostream *out) { *out << r.name; }
std::string refusal_name(const ::testing::TestParamInfo<refusal> &which) { return which.param.name; }

credentials signed_with(const statement &says, const identity &by = good().authority) {
    return of(identity(says, &by));
}

class refused_server : public ::testing::TestWithParam<refusal> {};

TEST_P(refused_server, is_reported_by_the_client_and_gets_no_message) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server, GetParam().what());
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    monitor at_server(zmq, server), at_client(zmq, client);
    client.connect(server.bind("tls://127.0.0.1:*"));
    EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, GetParam().value);
    EXPECT_EQ(at_client.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_NE(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).event, 0);
    EXPECT_EQ(server.has_input(0), false);
}

const refusal servers[] = {
    {"expired", [] { return signed_with({.valid_from = -2 * day, .valid_to = -day}); }, EKEYEXPIRED},
    {"not_yet_valid", [] { return signed_with({.valid_from = day, .valid_to = 2 * day}); }, EKEYEXPIRED},
    {"of_another_name", [] { return signed_with({.alternatives = "DNS:b.example"}); }, EKEYREJECTED},
    {"of_another_address", [] { return signed_with({.alternatives = "IP:127.0.0.2"}); }, EKEYREJECTED},
    {"with_the_address_as_a_name", [] { return signed_with({.alternatives = "DNS:127.0.0.1"}); },
     EKEYREJECTED},
    {"without_a_name", [] { return signed_with({.alternatives = ""}); }, EKEYREJECTED},
    {"for_another_use", [] { return signed_with({.usage = "clientAuth"}); }, EKEYREJECTED},
    {"of_an_unknown_authority", [] { return signed_with({}, other_authority()); }, EKEYREJECTED},
    {"signed_by_itself", [] { return of(identity({})); }, EKEYREJECTED},
    {"without_the_intermediate_one", [] { return signed_with({}, intermediate()); }, EKEYREJECTED},
    {"signed_by_one_that_may_not_sign",
     [] { return of(identity({}, &good().server), good().server.certificate_pem()); }, EKEYREJECTED},
    {"with_an_expired_intermediate_one",
     [] {
         const identity old(
             {.name = "an old authority", .is_authority = true, .valid_from = -2 * day, .valid_to = -day},
             &good().authority);
         return of(identity({}, &old), old.certificate_pem());
     },
     EKEYEXPIRED},
};
INSTANTIATE_TEST_SUITE_P(tls, refused_server, ::testing::ValuesIn(servers), refusal_name);

class refused_client : public ::testing::TestWithParam<refusal> {};

TEST_P(refused_client, is_reported_by_the_server_which_goes_on_with_others) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH), honest = zmq.socket(ZMQ_PUSH);
    show(server, of(good().server));
    server.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    monitor at_server(zmq, server), at_client(zmq, client);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    if (const credentials shown = GetParam().what(); !shown.chain.empty())
        show(client, shown);
    client.connect(endpoint);
    client.send("of a stranger", ZMQ_DONTWAIT);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, GetParam().value);
    EXPECT_EQ(at_server.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, GetParam().told);
    honest.connect(endpoint);
    honest.send("of a friend");
    EXPECT_EQ(server.receive(), "of a friend");
}

const statement of_client = {.name = "a client", .alternatives = "", .usage = "clientAuth"};
statement client_with(long from, long to) {
    statement says = of_client;
    says.valid_from = from;
    says.valid_to = to;
    return says;
}
const refusal clients[] = {
    {"without_a_certificate", [] { return credentials(); }, ENOKEY},
    {"expired", [] { return signed_with(client_with(-2 * day, -day)); }, EKEYEXPIRED},
    {"not_yet_valid", [] { return signed_with(client_with(day, 2 * day)); }, EKEYEXPIRED, EKEYREJECTED},
    {"for_another_use", [] { return signed_with({.usage = "serverAuth"}); }, EKEYREJECTED},
    {"of_an_unknown_authority", [] { return signed_with(of_client, other_authority()); }, EKEYREJECTED},
    {"signed_by_itself", [] { return of(identity(of_client)); }, EKEYREJECTED},
    {"without_the_intermediate_one", [] { return signed_with(of_client, intermediate()); }, EKEYREJECTED},
};
INSTANTIATE_TEST_SUITE_P(tls, refused_client, ::testing::ValuesIn(clients), refusal_name);

TEST(tls_certificate, with_its_intermediate_one_is_accepted) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
    show(server, of(identity({}, &intermediate()), intermediate().certificate_pem()));
    client.set(ZMQ_TLS_CA, good().ca);
    client.connect(server.bind("tls://127.0.0.1:*"));
    client.send("x");
    EXPECT_EQ(server.receive(), "x");
}

TEST(tls_certificate, with_the_name_as_its_subject_only_is_refused) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server, signed_with({.name = "a.example", .alternatives = ""}));
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_TLS_HOSTNAME, "a.example");
    monitor at_client(zmq, client);
    client.connect(server.bind("tls://127.0.0.1:*"));
    EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EKEYREJECTED);
}

TEST(tls_certificate, of_a_weak_key_is_refused) {
    const identity weak({}, &good().authority, rsa_key(1024));
    const raw_listener listening;
    context zmq;
    test_socket client = zmq.socket(ZMQ_PUSH);
    monitor at_client(zmq, client);
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    client.connect("tls" + listening.endpoint().substr(3));
    tls_peer server(const_cast<raw_listener &>(listening).accept(), tls_peer::role::server);
    server.use(weak);
    EXPECT_FALSE(server.shake_hands() && server.receive(1).size() == 1);
    EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EKEYREJECTED);
}

TEST(tls_certificate, that_is_refused_is_tried_again_after_a_pause_only) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server, of(identity({})));
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, 20);
    client.set(ZMQ_RECONNECT_IVL_MAX, 1000);
    monitor at_client(zmq, client, ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    client.connect(server.bind("tls://127.0.0.1:*"));
    int pause = 0;
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(at_client.next().event, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
        const monitor_event retried = at_client.next();
        EXPECT_EQ(retried.event, ZMQ_EVENT_CONNECT_RETRIED);
        EXPECT_GT(retried.value, pause);
        pause = retried.value;
    }
}

// ---- files ----

struct unusable {
    const char *name;
    std::function<void(test_socket &)> set_up;
};
void PrintTo(const unusable &u, std::ostream *out) { *out << u.name; }

void files(test_socket &socket, const std::string &cert, const std::string &key) {
    socket.set(ZMQ_TLS_CERT, cert);
    socket.set(ZMQ_TLS_KEY, key);
    socket.set(ZMQ_TLS_CA, good().ca);
}
std::string locked_key(const char *password) {
    return file_with("locked.key", good().server.key_pem(password));
}

class unusable_files : public ::testing::TestWithParam<unusable> {};

TEST_P(unusable_files, are_einval_from_bind_and_from_connect) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    GetParam().set_up(socket);
    EXPECT_FAILS(EINVAL, zmq_bind(socket.handle(), "tls://127.0.0.1:*"));
    EXPECT_FAILS(EINVAL, zmq_connect(socket.handle(), "tls://127.0.0.1:1"));
}

const unusable inputs[] = {
    {"no_such_certificate", [](test_socket &s) { files(s, "/nowhere/at/all.pem", good().key); }},
    {"no_such_key", [](test_socket &s) { files(s, good().cert, "/nowhere/at/all.key"); }},
    {"a_directory", [](test_socket &s) { files(s, certificate_directory(), good().key); }},
    {"an_empty_certificate", [](test_socket &s) { files(s, file_with("empty.pem", ""), good().key); }},
    {"an_empty_key", [](test_socket &s) { files(s, good().cert, file_with("empty.key", "")); }},
    {"no_pem", [](test_socket &s) { files(s, file_with("text.pem", std::string(5000, 'x')), good().key); }},
    {"half_a_certificate",
     [](test_socket &s) {
         const std::string whole = good().server.certificate_pem();
         files(s, file_with("half.pem", whole.substr(0, whole.size() / 2)), good().key);
     }},
    {"a_certificate_of_garbage",
     [](test_socket &s) {
         files(s, file_with("bad.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
               good().key);
     }},
    {"key_and_certificate_exchanged", [](test_socket &s) { files(s, good().key, good().cert); }},
    {"the_key_of_another",
     [](test_socket &s) { files(s, good().cert, file_with("other.key", identity({}).key_pem())); }},
    {"a_certificate_without_its_key", [](test_socket &s) { files(s, good().cert, ""); }},
    {"a_key_without_its_certificate", [](test_socket &s) { files(s, "", good().key); }},
    {"a_locked_key_without_a_password", [](test_socket &s) { files(s, good().cert, locked_key("sesame")); }},
    {"a_wrong_password",
     [](test_socket &s) {
         files(s, good().cert, locked_key("sesame"));
         s.set(ZMQ_TLS_PASSWORD, "mustard");
     }},
    {"a_weak_key",
     [](test_socket &s) {
         const identity weak({}, &good().authority, rsa_key(1024));
         files(s, file_with("weak.pem", weak.certificate_pem()), file_with("weak.key", weak.key_pem()));
     }},
    {"an_authority_that_is_not_there",
     [](test_socket &s) {
         files(s, good().cert, good().key);
         s.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
         s.set(ZMQ_TLS_CA, "/nowhere/at/all.pem");
     }},
    {"an_authority_without_a_certificate",
     [](test_socket &s) {
         files(s, good().cert, good().key);
         s.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
         s.set(ZMQ_TLS_CA, good().key);
     }},
};
INSTANTIATE_TEST_SUITE_P(tls, unusable_files, ::testing::ValuesIn(inputs),
                         [](const auto &which) { return which.param.name; });

TEST(tls_server, without_a_certificate_is_einval) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
}

TEST(tls_server, that_requires_certificates_says_of_whom_and_looks_at_them) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    show(server, of(good().server));
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
    server.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_VERIFY, 0);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
    server.set(ZMQ_TLS_VERIFY, 1);
    server.bind("tls://127.0.0.1:*");
}

}  // namespace
