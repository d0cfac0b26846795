// Tests who is refused over tls: certificates that prove nothing, on either side, and files that
// are of no use.
#include "tls_refusal.hpp"
#include "transports.hpp"

#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;

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
    const char *words;  // with which the reason begins
    int told = value;   // of the alert that the other side gets
    const char *told_words = "the peer refuses our certificate: ";
};
void PrintTo(const refusal &r, std::ostream *out) { *out << r.name; }
std::string refusal_name(const ::testing::TestParamInfo<refusal> &which) { return which.param.name; }

class refused_server : public ::testing::TestWithParam<refusal> {};

TEST_P(refused_server, is_reported_by_the_client_and_gets_no_message) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server, GetParam().what());
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    monitor at_server(zmq, server, everything), at_client(zmq, client, everything);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    at_server.next(ZMQ_EVENT_LISTENING);  // a certificate out of its time has had its reason
    client.connect(endpoint);
    expect_refusal(at_client, GetParam().value, GetParam().words, endpoint);
    expect_refusal(at_server, GetParam().told, GetParam().told_words, endpoint);
    EXPECT_EQ(server.has_input(0), false);
}

constexpr const char *unknown = "unable to get local issuer certificate: CN=zlink test server, issued by CN=";
const refusal servers[] = {
    {"expired", [] { return signed_with({.valid_from = -2 * day, .valid_to = -day}); }, EKEYEXPIRED,
     "certificate has expired: CN=zlink test server, "},
    {"not_yet_valid", [] { return signed_with({.valid_from = day, .valid_to = 2 * day}); }, EKEYEXPIRED,
     "certificate is not yet valid: CN=zlink test server, ", EKEYREJECTED},
    {"of_another_name", [] { return signed_with({.alternatives = "DNS:b.example"}); }, EKEYREJECTED,
     "address mismatch: asked for 127.0.0.1, got b.example"},
    {"of_another_address", [] { return signed_with({.alternatives = "IP:127.0.0.2,IP:::1"}); }, EKEYREJECTED,
     "address mismatch: asked for 127.0.0.1, got 127.0.0.2, 0000:0000:0000:0000:0000:0000:0000:0001"},
    {"with_the_address_as_a_name", [] { return signed_with({.alternatives = "DNS:127.0.0.1"}); },
     EKEYREJECTED, "address mismatch: asked for 127.0.0.1, got 127.0.0.1"},
    {"without_a_name", [] { return signed_with({.alternatives = ""}); }, EKEYREJECTED,
     "address mismatch: asked for 127.0.0.1, got none"},
    {"for_another_use", [] { return signed_with({.usage = "clientAuth"}); }, EKEYREJECTED,
     "unsuitable certificate purpose: CN=zlink test server"},
    {"of_an_unknown_authority", [] { return signed_with({}, other_authority()); }, EKEYREJECTED, unknown},
    {"signed_by_itself", [] { return of(identity({})); }, EKEYREJECTED,
     "self-signed certificate: CN=zlink test server"},
    {"without_the_intermediate_one", [] { return signed_with({}, intermediate()); }, EKEYREJECTED, unknown},
    {"signed_by_one_that_may_not_sign",
     [] {
         const identity mere({.name = "a mere server"}, &good().authority);
         return of(identity({}, &mere), mere.certificate_pem());
     },
     EKEYREJECTED, "invalid CA certificate: CN=a mere server"},
    {"with_an_expired_intermediate_one",
     [] {
         const identity old(
             {.name = "an old authority", .is_authority = true, .valid_from = -2 * day, .valid_to = -day},
             &good().authority);
         return of(identity({}, &old), old.certificate_pem());
     },
     EKEYEXPIRED, "certificate has expired: CN=an old authority, "},
};
INSTANTIATE_TEST_SUITE_P(tls, refused_server, ::testing::ValuesIn(servers), refusal_name);

class refused_client : public ::testing::TestWithParam<refusal> {};

TEST_P(refused_client, is_reported_by_the_server_which_goes_on_with_others) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH), honest = zmq.socket(ZMQ_PUSH);
    show(server, of(good().server));
    server.set(ZMQ_TLS_CA, good().ca);
    server.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
    monitor at_server(zmq, server, everything), at_client(zmq, client, everything);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    if (const credentials shown = GetParam().what(); !shown.chain.empty())
        show(client, shown);
    client.connect(endpoint);
    client.send("of a stranger", ZMQ_DONTWAIT);
    expect_refusal(at_server, GetParam().value, GetParam().words, endpoint);
    expect_refusal(at_client, GetParam().told, GetParam().told_words, endpoint);
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
constexpr const char *unknown_client = "unable to get local issuer certificate: CN=a client, issued by CN=";
const refusal clients[] = {
    {"without_a_certificate", [] { return credentials(); }, ENOKEY, "the client has shown no certificate",
     ENOKEY, "the peer requires a certificate"},
    {"expired", [] { return signed_with(client_with(-2 * day, -day)); }, EKEYEXPIRED,
     "certificate has expired: CN=a client, "},
    {"not_yet_valid", [] { return signed_with(client_with(day, 2 * day)); }, EKEYEXPIRED,
     "certificate is not yet valid: CN=a client, ", EKEYREJECTED},
    {"for_another_use", [] { return signed_with({.name = "a client", .usage = "serverAuth"}); }, EKEYREJECTED,
     "unsuitable certificate purpose: CN=a client"},
    {"of_an_unknown_authority", [] { return signed_with(of_client, other_authority()); }, EKEYREJECTED,
     unknown_client},
    {"signed_by_itself", [] { return of(identity(of_client)); }, EKEYREJECTED,
     "self-signed certificate: CN=a client"},
    {"without_the_intermediate_one", [] { return signed_with(of_client, intermediate()); }, EKEYREJECTED,
     unknown_client},
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

TEST(tls_reason, comes_to_a_monitor_that_asks_for_it_by_its_own_bit_only) {
    for (const int mask : {ZMQ_EVENT_ALL, -1, ZMQ_EVENT_REASONS}) {
        SCOPED_TRACE(mask);
        context zmq;
        test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
        show(server, of(identity({})));
        client.set(ZMQ_TLS_CA, good().ca);
        client.set(ZMQ_RECONNECT_IVL, -1);
        monitor events(zmq, client, mask);
        client.connect(server.bind("tls://127.0.0.1:*"));
        monitor_event found = events.next();
        if (mask == ZMQ_EVENT_REASONS) {
            EXPECT_EQ(found.event, ZMQ_EVENT_REASON);
            continue;
        }
        for (; found.event != ZMQ_EVENT_DISCONNECTED && found.event != 0; found = events.next())
            EXPECT_NE(found.event, ZMQ_EVENT_REASON);
        EXPECT_EQ(found.event, ZMQ_EVENT_DISCONNECTED);
    }
}

TEST(tls_reason, shows_nothing_of_a_certificate_that_a_terminal_would_obey) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    show(server,
         signed_with({.name = "\x1b[2J" + std::string(60, 'n'), .alternatives = "DNS:a\x1b[2J.example"}));
    client.set(ZMQ_TLS_CA, good().ca);
    client.set(ZMQ_RECONNECT_IVL, -1);
    monitor events(zmq, client, everything);
    client.connect(server.bind("tls://127.0.0.1:*"));
    const std::string words = events.next(ZMQ_EVENT_REASON).words;
    EXPECT_EQ(words, "address mismatch: asked for 127.0.0.1, got a?[2J.example");
}

TEST(tls_reason, tells_of_a_peer_that_speaks_something_else_and_of_one_that_says_nothing) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    server.set(ZMQ_HANDSHAKE_IVL, 50);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    const std::pair<std::string, std::string> strangers[] = {
        {"GET / HTTP/1.0\r\n\r\n",
         "the peer speaks HTTP without TLS; for WebSocket without TLS there is ws://"},
        {"OPTIONS * HTTP/1.1\r\n\r\n", "the peer speaks HTTP without TLS"},
        {std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10),
         "the peer speaks ZMTP without TLS; for that there is tcp://"},
        {"SSH-2.0-OpenSSH_9.2p1\r\n", "the peer speaks SSH, not TLS"},
        {"hello, world", "no TLS 1.3 with this peer: wrong version number"},
    };
    for (const auto &[octets, words] : strangers) {
        raw_peer stranger(endpoint);
        stranger.send(octets);
        expect_refusal(events, EPROTO, words, endpoint);
    }
    raw_peer silent(endpoint);
    expect_refusal(events, EAGAIN, "the handshake took longer than ZMQ_HANDSHAKE_IVL", endpoint);
    raw_peer(endpoint).close();
    expect_refusal(events, ECONNRESET, "the peer closed the connection during the TLS handshake", endpoint);
}

// This is as OpenSSL's own server does: an alert where there is a record, none where what comes
// looks like no TLS at all.
TEST(tls_alert, comes_where_a_peer_begins_as_tls_and_not_to_one_that_speaks_something_else) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    const std::string endpoint = server.bind("tls://127.0.0.1:*");
    const auto alert = [](char what) { return std::string("\x15\3\3\0\2\2", 6) + what; };
    constexpr char unexpected_message = 10, record_overflow = 22;
    const std::pair<std::string, std::string> strangers[] = {
        {std::string("\x16\3\1\0\5hello", 10), alert(unexpected_message)},
        {std::string("\x17\3\3\0\5hello", 10), alert(unexpected_message)},
        {std::string("\x16\3\1\x46\0", 5), alert(record_overflow)},
        {std::string("\x16\3\1\x80\0", 5), alert(record_overflow)},
        {std::string("\x16\3\1\xff\xff", 5), alert(record_overflow)},
        {"GET / HTTP/1.0\r\n\r\n", ""},
        {std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10), ""},
        {"hello, world", ""},
    };
    for (const auto &[octets, answer] : strangers) {
        raw_peer stranger(endpoint);
        ASSERT_TRUE(stranger.send(octets));
        EXPECT_EQ(stranger.receive(100), answer) << octets;
    }
}

TEST(tls_reason, of_a_client_tells_what_is_spoken_where_it_wants_tls) {
    context zmq;
    zlink::test::raw_listener there;
    test_socket client = zmq.socket(ZMQ_PUSH);
    client.set(ZMQ_TLS_VERIFY, 0);
    client.set(ZMQ_RECONNECT_IVL, 1);
    monitor events(zmq, client, everything);
    const std::string place = there.endpoint().substr(3);
    const std::string endpoint = where_built({"wss" + place + "/", "tls" + place}).front();
    client.connect(endpoint);
    const std::pair<std::string, std::string> strangers[] = {
        {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "the peer speaks HTTP without TLS"},
        {std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10), "the peer speaks ZMTP without TLS"},
    };
    for (const auto &[octets, words] : strangers) {
        raw_peer stranger = there.accept();
        stranger.send(octets);
        expect_refusal(events, EPROTO, words, endpoint);
    }
}

// ---- files ----

struct unusable {
    const char *name;
    std::function<void(test_socket &)> set_up;
    std::string words;
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

TEST_P(unusable_files, are_einval_from_bind_and_from_connect_and_a_monitor_hears_why) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    GetParam().set_up(socket);
    monitor events(zmq, socket, everything);
    const auto expect_reason = [&](const char *endpoint) {
        const monitor_event found = events.next();
        EXPECT_EQ(found.event, ZMQ_EVENT_REASON);
        EXPECT_EQ(found.value, EINVAL);
        EXPECT_EQ(found.endpoint, endpoint);
        EXPECT_EQ(found.words, GetParam().words);
    };
    EXPECT_FAILS(EINVAL, zmq_bind(socket.handle(), "tls://127.0.0.1:*"));
    expect_reason("tls://127.0.0.1:*");
    EXPECT_EQ(events.next().event, ZMQ_EVENT_BIND_FAILED);
    EXPECT_FAILS(EINVAL, zmq_connect(socket.handle(), "tls://127.0.0.1:1"));
    expect_reason("tls://127.0.0.1:1");
}

TEST(unusable_address, is_told_in_front_of_a_certificate_that_is_missing) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    monitor events(zmq, socket, everything);
    for (const std::string &scheme : where_built({"tls", "wss"})) {
        const std::string endpoint = scheme + "://127.0.0.1:70000";
        EXPECT_FAILS(EINVAL, zmq_bind(socket.handle(), endpoint.c_str()));
        EXPECT_EQ(reason_for(events, EINVAL, endpoint),
                  "the port 70000 is no number from 1 to 65535, nor * for any");
        EXPECT_EQ(events.next().event, ZMQ_EVENT_BIND_FAILED);
    }
}

std::string at(const char *name) { return (certificate_directory() / name).string(); }

const unusable inputs[] = {
    {"no_such_certificate", [](test_socket &s) { files(s, "/nowhere/at/all.pem", good().key); },
     "cannot read /nowhere/at/all.pem: No such file or directory"},
    {"no_such_key", [](test_socket &s) { files(s, good().cert, "/nowhere/at/all.key"); },
     "cannot read /nowhere/at/all.key: No such file or directory"},
    {"a_directory", [](test_socket &s) { files(s, certificate_directory(), good().key); },
     "cannot read " + certificate_directory().string() + ": Is a directory"},
    {"a_named_pipe",
     [](test_socket &s) {
         ::mkfifo(at("pipe").c_str(), 0600);
         files(s, at("pipe"), good().key);
     },
     "cannot read " + at("pipe") + ": it is not a regular file"},
    {"an_empty_certificate", [](test_socket &s) { files(s, file_with("empty.pem", ""), good().key); },
     at("empty.pem") + " holds no certificate in PEM"},
    {"an_empty_key", [](test_socket &s) { files(s, good().cert, file_with("empty.key", "")); },
     at("empty.key") + " holds no private key in PEM"},
    {"no_pem", [](test_socket &s) { files(s, file_with("text.pem", std::string(5000, 'x')), good().key); },
     at("text.pem") + " holds no certificate in PEM"},
    {"half_a_certificate",
     [](test_socket &s) {
         const std::string whole = good().server.certificate_pem();
         files(s, file_with("half.pem", whole.substr(0, whole.size() / 2)), good().key);
     },
     at("half.pem") + " holds a damaged certificate"},
    {"a_certificate_of_garbage",
     [](test_socket &s) {
         files(s, file_with("bad.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
               good().key);
     },
     at("bad.pem") + " holds a damaged certificate"},
    {"a_damaged_certificate_behind_a_good_one",
     [](test_socket &s) {
         const std::string whole = good().server.certificate_pem();
         files(s, file_with("behind.pem", whole + whole.substr(0, whole.size() / 2)), good().key);
     },
     at("behind.pem") + " holds a damaged certificate"},
    {"key_and_certificate_exchanged", [](test_socket &s) { files(s, good().key, good().cert); },
     good().key + " holds no certificate in PEM"},
    {"the_key_of_another",
     [](test_socket &s) { files(s, good().cert, file_with("other.key", identity({}).key_pem())); },
     "the key in " + at("other.key") + " does not match the certificate CN=zlink test server"},
    {"a_key_of_another_kind",
     [](test_socket &s) {
         files(s, good().cert, file_with("rsa.key", identity({}, nullptr, rsa_key(2048)).key_pem()));
     },
     "the key in " + at("rsa.key") + " does not match the certificate CN=zlink test server"},
    {"a_certificate_without_its_key", [](test_socket &s) { files(s, good().cert, ""); },
     "ZMQ_TLS_CERT is set, and ZMQ_TLS_KEY is not"},
    {"a_key_without_its_certificate", [](test_socket &s) { files(s, "", good().key); },
     "ZMQ_TLS_KEY is set, and ZMQ_TLS_CERT is not"},
    {"a_locked_key_without_a_password", [](test_socket &s) { files(s, good().cert, locked_key("sesame")); },
     at("locked.key") + " is locked, and ZMQ_TLS_PASSWORD does not open it"},
    {"a_wrong_password",
     [](test_socket &s) {
         files(s, good().cert, locked_key("sesame"));
         s.set(ZMQ_TLS_PASSWORD, "mustard");
     },
     at("locked.key") + " is locked, and ZMQ_TLS_PASSWORD does not open it"},
    {"a_weak_key",
     [](test_socket &s) {
         const identity weak({}, &good().authority, rsa_key(1024));
         files(s, file_with("weak.pem", weak.certificate_pem()), file_with("weak.key", weak.key_pem()));
     },
     "the certificate CN=zlink test server in " + at("weak.pem") + " cannot be used: ee key too small"},
    {"an_authority_that_is_not_there",
     [](test_socket &s) {
         files(s, good().cert, good().key);
         s.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
         s.set(ZMQ_TLS_CA, "/nowhere/at/all.pem");
     },
     "cannot read /nowhere/at/all.pem: No such file or directory"},
    {"an_authority_without_a_certificate",
     [](test_socket &s) {
         files(s, good().cert, good().key);
         s.set(ZMQ_TLS_REQUIRE_CLIENT_CERT, 1);
         s.set(ZMQ_TLS_CA, file_with("no.pem", "these are not the certificates that you look for"));
     },
     at("no.pem") + " holds no certificate in PEM"},
};
INSTANTIATE_TEST_SUITE_P(tls, unusable_files, ::testing::ValuesIn(inputs),
                         [](const auto &which) { return which.param.name; });

TEST(server_of_tls, without_a_certificate_is_einval) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
}

TEST(server_of_tls, without_descriptors_left_says_so) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
    show(server, of(good().server));
    client.set(ZMQ_TLS_CA, good().ca);
    monitor events(zmq, server, everything);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_FAILS(EMFILE, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
    EXPECT_FAILS(EMFILE, zmq_connect(client.handle(), "tls://127.0.0.1:1"));
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(events.next().words,
              std::string("cannot read ") + server.get_text(ZMQ_TLS_CERT).c_str() + ": Too many open files");
    server.bind("tls://127.0.0.1:*");
}

TEST(server_of_tls, that_requires_certificates_says_of_whom_and_looks_at_them) {
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
