// Verification where OpenSSL's memory is short: whoever is not to come in does not, wherever that
// strikes.
#ifdef ZLINK_WITH_TLS
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "certificates.hpp"
#include "transport/tls_context.hpp"

namespace zlink::test {
namespace {

using zlink_test::file_with;
using zlink_test::good;
using zlink_test::identity;

// A shortage of OpenSSL's memory, while the client's side is at work: as short_heap.hpp, but for so
// many allocations together, after which there is memory again.
struct shortage {
    unsigned first = 0;
    unsigned count = 0;
    unsigned seen = 0;
    bool counts = false;

    bool refuses() noexcept { return counts && ++seen >= first && seen - first < count; }
    bool has_struck() const noexcept { return seen >= first; }
};
shortage short_memory;

void *allocate(std::size_t size, const char *, int) {
    return short_memory.refuses() ? nullptr : std::malloc(size);
}
void *resize(void *what, std::size_t size, const char *, int) {
    return short_memory.refuses() ? nullptr : std::realloc(what, size);
}
void release(void *what, const char *, int) { std::free(what); }

// OpenSSL takes them only before it has allocated anything.
const bool is_counted = CRYPTO_set_mem_functions(allocate, resize, release) == 1;

// A client of ours, whose memory is counted, and a server of OpenSSL.
class tls_with_short_memory : public ::testing::Test {
protected:
    tls_with_short_memory() : server(SSL_CTX_new(TLS_server_method())) {
        SSL_CTX_use_certificate(server, good().server.certificate());
        SSL_CTX_use_PrivateKey(server, good().server.key());
    }
    ~tls_with_short_memory() override { SSL_CTX_free(server); }

    void make(const std::string &lists) {
        settings options;
        options.tls_ca = file_with("short.pem", good().authority.certificate_pem() + lists);
        tls_files files;
        ASSERT_EQ(tls_context::make(tls_context::role::client, options, "localhost", files, context),
                  error::none);
    }
    // Whether the server is taken for good, where allocations of our side fail.
    bool connect(unsigned first, unsigned count) {
        tls_notes notes;
        SSL *const ours = context->make_connection(notes), *const peers = SSL_new(server);
        SSL_set_accept_state(peers);
        BIO *near = nullptr, *far = nullptr;
        BIO_new_bio_pair(&near, 1 << 16, &far, 1 << 16);
        SSL_set_bio(ours, near, near);
        SSL_set_bio(peers, far, far);
        bool is_in = false;
        short_memory = {first, count};
        for (int i = 0; i < 4; ++i) {
            short_memory.counts = true;
            const int result = SSL_do_handshake(ours);
            short_memory.counts = false;
            is_in = result == 1;
            if (!is_in && SSL_get_error(ours, result) != SSL_ERROR_WANT_READ)
                break;
            (void)SSL_do_handshake(peers);
        }
        ERR_clear_error();
        for (SSL *const each : {ours, peers}) {
            SSL_set_shutdown(each, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
            SSL_free(each);
        }
        return is_in;
    }

    SSL_CTX *const server;
    std::shared_ptr<const tls_context> context;
};

TEST_F(tls_with_short_memory, lets_in_nobody_who_is_on_a_revocation_list) {
    ASSERT_TRUE(is_counted);
    make(good().authority.revocation_list({&good().server}));
    // OpenSSL notes a failure with two more, and then asks again.
    for (const unsigned count : {1u, 7u}) {
        unsigned first = 0;
        do
            EXPECT_FALSE(connect(++first, count)) << count << " from " << first;
        while (short_memory.has_struck());
        EXPECT_GT(first, 100u);
    }
}

TEST_F(tls_with_short_memory, takes_whose_authority_has_no_list_as_before) {
    const identity other({.name = "other authority", .is_authority = true});
    make(other.certificate_pem() + other.revocation_list({}));
    EXPECT_TRUE(connect(0, 0));
}

}  // namespace
}  // namespace zlink::test
#endif
