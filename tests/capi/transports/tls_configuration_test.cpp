// Tests what a file that OPENSSL_CONF names does to tls and wss: what zlink has options for holds,
// and what lets nobody in is said at once.
//
// OpenSSL reads the file once: each test runs again in a process of its own.
#include "sockets.hpp"
#include "tls_refusal.hpp"
#include "transports.hpp"

#include <cstdlib>
#include <sys/wait.h>

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;
using zlink::test::tls_peer;

constexpr char configured_mark[] = "ZLINK_TEST_IS_CONFIGURED";

// Whether this is the process that has the file. Else such a one runs the test.
bool is_configured(const std::string &file) {
    if (std::getenv(configured_mark))
        return true;
    const std::string path = file_with("openssl.cnf", file);
    const ::testing::TestInfo *const test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + '.' + test->name();
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("OPENSSL_CONF", path.c_str(), 1);
        ::setenv(configured_mark, "1", 1);
        ::alarm(60);
        ::execl("/proc/self/exe", "tls_configuration_test", filter.c_str(), nullptr);
        ::_exit(127);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return false;
}

// Lines for each context of TLS.
bool has_lines(const std::string &lines) {
    return is_configured("openssl_conf = all\n[all]\nssl_conf = tls\n[tls]\nsystem_default = each\n[each]\n" +
                         lines);
}

void expect_talk(const char *groups = "") {
    for (const std::string &scheme : where_built({"tls", "wss"})) {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
        server.set(ZMQ_TLS_GROUPS, groups);
        client.set(ZMQ_TLS_GROUPS, groups);
        client.connect(server.bind(scheme + "://127.0.0.1:*"));
        ASSERT_EQ(client.send("x"), 1);
        ASSERT_EQ(server.receive(), "x") << scheme;
    }
}

// Both ends say at once what is wrong.
void expect_refused(const std::string &words) {
    for (std::string address : where_built({"tls://127.0.0.1:*", "wss://127.0.0.1:*"})) {
        context zmq;
        test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
        monitor at_server(zmq, server, everything), at_client(zmq, client, everything);
        server.set(ZMQ_TLS_CERT, "no matter which");
        EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), address.c_str()));
        EXPECT_EQ(at_server.next(ZMQ_EVENT_REASON).words.substr(0, words.size()), words);
        address.back() = '1';
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), address.c_str()));
        EXPECT_EQ(at_client.next(ZMQ_EVENT_REASON).words.substr(0, words.size()), words);
    }
}

TEST(configuration_of_openssl, does_not_choose_the_versions) {
    if (has_lines("MinProtocol = TLSv1\nMaxProtocol = TLSv1.2\n"))
        expect_talk();
}

TEST(configuration_of_openssl, does_not_choose_the_groups) {
    if (has_lines("Groups = ffdhe8192:P-521\n"))
        expect_talk("P-384");
}

TEST(configuration_of_openssl, does_not_say_who_is_verified_or_trusted) {
    if (!has_lines("VerifyMode = Request,Require\nVerifyCAFile = /dev/null\nOptions = AllowNoDHEKEX\n"))
        return;
    expect_talk();
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR), client = zmq.socket(ZMQ_PAIR);
    client.set(ZMQ_TLS_VERIFY, 0);
    server.set(ZMQ_TLS_CERT, good().cert);
    server.set(ZMQ_TLS_KEY, good().key);
    client.connect(server.bind("tls://127.0.0.1:*"));
    ASSERT_EQ(client.send("x"), 1);
    EXPECT_EQ(server.receive(), "x");
}

TEST(configuration_of_openssl, may_choose_cipher_suites_and_signatures) {
    if (!has_lines("CipherString = DEFAULT@SECLEVEL=3\nCiphersuites = TLS_AES_256_GCM_SHA384\n"
                   "SignatureAlgorithms = ECDSA+SHA256:ECDSA+SHA384\n"))
        return;
    expect_talk();
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    tls_peer peer(raw_peer(server.bind("tls://127.0.0.1:*")), tls_peer::role::client);
    ASSERT_TRUE(peer.shake_hands());
    EXPECT_STREQ(SSL_get_cipher_name(peer.tls()), "TLS_AES_256_GCM_SHA384");
}

constexpr char nobody[] =
    "no handshake is possible with ZMQ_TLS_GROUPS and OpenSSL's configuration (OPENSSL_CONF): ";

void expect_bind_to_fail() {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    monitor events(zmq, server, everything);
    server.set(ZMQ_TLS_CERT, good().cert);
    server.set(ZMQ_TLS_KEY, good().key);
    EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), "tls://127.0.0.1:*"));
    EXPECT_EQ(events.next(ZMQ_EVENT_REASON).words.substr(0, sizeof nobody - 1), nobody);
}

TEST(configuration_of_openssl, that_has_no_cipher_suite_is_said_by_bind) {
    if (has_lines("Ciphersuites =\n"))
        expect_bind_to_fail();
}

TEST(configuration_of_openssl, that_has_no_signature_for_the_certificate_is_said_by_bind) {
    if (has_lines("SignatureAlgorithms = RSA-PSS+SHA256\n"))
        expect_bind_to_fail();
}

constexpr char cannot_do_tls[] = "OpenSSL, as it is configured (OPENSSL_CONF), cannot do TLS: ";

TEST(configuration_of_openssl, that_asks_for_fips_without_its_provider_is_said_in_words) {
    if (is_configured("openssl_conf = all\n[all]\nproviders = providers\nalg_section = algorithms\n"
                      "[providers]\nbase = base\n[base]\nactivate = 1\n"
                      "[algorithms]\ndefault_properties = fips=yes\n"))
        expect_refused(cannot_do_tls);
}

TEST(configuration_of_openssl, whose_providers_are_not_there_is_said_in_words) {
    if (is_configured("config_diagnostics = 1\nopenssl_conf = all\n[all]\nproviders = providers\n"
                      "[providers]\nnonsense = nonsense\n[nonsense]\nactivate = 1\n"))
        expect_refused(cannot_do_tls);
}

}  // namespace
