// Tests how long sessions are resumed, by a clock that the test sets: at a server and at a client,
// with OpenSSL itself at the other end.
#ifdef ZLINK_WITH_TLS
#include "transport/tls_resumption.hpp"

#include "certificates.hpp"
#include "transport/tls_context.hpp"

namespace zlink::test {
namespace {

using zlink_test::day;
using zlink_test::file_with;
using zlink_test::good;
using zlink_test::identity;

constexpr std::time_t hour = 60 * 60;
std::time_t clock_now = 0;
std::time_t set_clock() noexcept { return clock_now; }

struct connection_deleter {
    void operator()(SSL *connection) const { SSL_free(connection); }
};
using connection_ptr = std::unique_ptr<SSL, connection_deleter>;

// One side is ours, and the other OpenSSL's.
class tls_sessions : public ::testing::TestWithParam<tls_context::role> {
protected:
    tls_sessions() : peer_context(SSL_CTX_new(is_server() ? TLS_client_method() : TLS_server_method())) {
        clock_now = std::time(nullptr);
        options.tls_ca = good().ca;
        if (is_server()) {
            options.tls_cert = good().cert;
            options.tls_key = good().key;
            options.tls_require_client_cert = true;
        }
        SSL_CTX_set_session_id_context(peer_context, reinterpret_cast<const unsigned char *>("t"), 1);
        SSL_CTX_set_num_tickets(peer_context, 1);
    }
    ~tls_sessions() override {
        SSL_SESSION_free(ticket);
        SSL_CTX_free(peer_context);
    }
    static bool is_server() { return GetParam() == tls_context::role::server; }

    void show(const identity &whom, const identity *more = nullptr) {
        SSL_CTX_use_certificate(peer_context, whom.certificate());
        SSL_CTX_use_PrivateKey(peer_context, whom.key());
        if (more)
            SSL_CTX_add1_chain_cert(peer_context, more->certificate());
    }
    void make() {
        tls_files files;
        ASSERT_EQ(tls_context::make(GetParam(), options, "localhost", files, context, set_clock),
                  error::none);
    }
    enum class outcome { whole, resumed, refused };
    outcome connect() {
        tls_notes notes;
        const connection_ptr ours(context->make_connection(notes)), peers(SSL_new(peer_context));
        is_server() ? SSL_set_connect_state(peers.get()) : SSL_set_accept_state(peers.get());
        if (is_server() && ticket)
            SSL_set_session(peers.get(), ticket);
        BIO *near = nullptr, *far = nullptr;
        BIO_new_bio_pair(&near, 1 << 16, &far, 1 << 16);
        SSL_set_bio(ours.get(), near, near);
        SSL_set_bio(peers.get(), far, far);
        for (int i = 0; i < 6; ++i) {
            (void)SSL_do_handshake(ours.get());
            (void)SSL_do_handshake(peers.get());
        }
        if (!SSL_is_init_finished(ours.get()) || !SSL_is_init_finished(peers.get()))
            return outcome::refused;
        char octet;  // the ticket comes with what is read
        (void)SSL_read(ours.get(), &octet, 1);
        (void)SSL_read(peers.get(), &octet, 1);
        if (is_server()) {
            SSL_SESSION_free(ticket);
            ticket = SSL_get1_session(peers.get());
        }
        for (SSL *const each :
             {ours.get(), peers.get()})  // what ends without a farewell leaves its ticket good
            SSL_set_shutdown(each, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        return SSL_session_reused(ours.get()) ? outcome::resumed : outcome::whole;
    }

    settings options;
    SSL_CTX *const peer_context;
    std::shared_ptr<const tls_context> context;
    SSL_SESSION *ticket = nullptr;
};

TEST_P(tls_sessions, end_with_a_revocation_list) {
    options.tls_ca = file_with("listed.pem", good().authority.certificate_pem() +
                                                 good().authority.revocation_list({}, day / 2));
    show(good().server);
    make();
    EXPECT_EQ(connect(), outcome::whole);
    EXPECT_EQ(connect(), outcome::resumed);
    clock_now += day / 2 - hour;
    EXPECT_EQ(connect(), outcome::resumed);
    clock_now += hour + 60;
    EXPECT_EQ(connect(), outcome::whole) << "by OpenSSL's clock the list still holds";
}

TEST_P(tls_sessions, end_with_any_certificate_of_the_chain) {
    const identity between({.name = "between", .is_authority = true, .valid_to = day / 2}, &good().authority);
    const identity last({.name = "last"}, &between);
    show(last, &between);
    make();
    EXPECT_EQ(connect(), outcome::whole);
    clock_now += day / 2 - hour;
    EXPECT_EQ(connect(), outcome::resumed);
    clock_now += hour + 60;
    EXPECT_EQ(connect(), outcome::whole) << "by OpenSSL's clock it is valid still";
}

TEST_P(tls_sessions, do_not_come_from_each_other_for_longer_than_a_day) {
    const identity authority({.name = "long", .is_authority = true, .valid_to = 10 * day});
    const identity last({.name = "last", .valid_to = 10 * day}, &authority);
    options.tls_ca = file_with("long.pem", authority.certificate_pem());
    if (is_server()) {
        options.tls_cert = file_with("long.cert", last.certificate_pem());
        options.tls_key = file_with("long.key", last.key_pem());
    }
    show(last);
    make();
    EXPECT_EQ(connect(), outcome::whole);
    for (int i = 0; i < 4; ++i) {
        clock_now += 5 * hour;
        EXPECT_EQ(connect(), outcome::resumed);
    }
    clock_now += 5 * hour;
    EXPECT_EQ(connect(), outcome::whole);
    EXPECT_EQ(connect(), outcome::resumed);
}

TEST_P(tls_sessions, are_resumed_for_a_day_where_nobody_is_verified) {
    options.tls_require_client_cert = false;
    options.tls_verify = is_server();
    show(good().server);
    make();
    EXPECT_EQ(connect(), outcome::whole);
    clock_now += 23 * hour;
    EXPECT_EQ(connect(), outcome::resumed);
    clock_now += 2 * hour;
    EXPECT_EQ(connect(), outcome::whole);
}

INSTANTIATE_TEST_SUITE_P(of, tls_sessions,
                         ::testing::Values(tls_context::role::server, tls_context::role::client),
                         [](const auto &which) {
                             return which.param == tls_context::role::server ? "a_server" : "a_client";
                         });

TEST(resumption_limits, are_there_in_every_session_that_is_resumed) {
    SSL_SESSION *const session = SSL_SESSION_new();
    EXPECT_TRUE(resumption_limit::has_come(session, 0));
    resumption_limit::note(session, 1000);
    EXPECT_FALSE(resumption_limit::has_come(session, 1000));
    EXPECT_TRUE(resumption_limit::has_come(session, 1001));
    SSL_SESSION_free(session);
}

TEST(resumption_limits, are_the_first_end_of_all) {
    constexpr auto longest = resumption_limit::longest_chain;
    EXPECT_EQ(resumption_limit::after(nullptr, resumption_limit::none, 1000), 1000 + longest);
    EXPECT_EQ(resumption_limit::after(nullptr, 1500, 1000), 1500);
}

}  // namespace
}  // namespace zlink::test
#endif
