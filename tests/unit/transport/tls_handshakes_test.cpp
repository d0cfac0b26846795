// Many handshakes of TLS on one loop.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "certificates.hpp"
#include "driven_loop.hpp"
#include "tls_wire.hpp"
#include "transport/tls_stream.hpp"

namespace zlink::test {
namespace {

// A server's stream whose peer has said its ClientHello, and which somebody waits for.
struct begun_handshake : private stream_events {
    begun_handshake(loop &io, const std::shared_ptr<const tls_context> &context, SSL_CTX *peers) {
        SSL *const peer = SSL_new(peers);
        SSL_set_bio(peer, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_connect_state(peer);
        (void)SSL_do_handshake(peer);
        char *octets = nullptr;
        const long size = BIO_get_mem_data(SSL_get_wbio(peer), &octets);
        wire.in.assign(octets, static_cast<std::size_t>(size));
        SSL_free(peer);
        EXPECT_EQ(tls_stream::make(io, context, std::make_unique<tls_wire_end>(wire), it), error::none);
        it->set_events(this);
    }
    void on_stream_readable() noexcept override {}
    void on_stream_writable() noexcept override {}
    bool is_answered() const { return !wire.out.empty(); }

    tls_wire wire;
    std::unique_ptr<stream> it;
};

class tls_handshakes : public ::testing::Test {
protected:
    tls_handshakes() {
        settings options;
        options.tls_cert = zlink_test::good().cert;
        options.tls_key = zlink_test::good().key;
        tls_files files;
        std::shared_ptr<const tls_context> context;
        EXPECT_EQ(tls_context::make(tls_context::role::server, options, "", files, context), error::none);
        SSL_CTX *const peers = SSL_CTX_new(TLS_client_method());
        for (int i = 0; i < count; ++i)
            all.push_back(std::make_unique<begun_handshake>(drive, context, peers));
        SSL_CTX_free(peers);
    }
    int answered() const {
        return static_cast<int>(
            std::count_if(all.begin(), all.end(), [](const auto &each) { return each->is_answered(); }));
    }

    static constexpr int count = 50;
    driven_loop drive;
    std::vector<std::unique_ptr<begun_handshake>> all;
};

// Whatever becomes of the list is in tests/unit/reactor/costly_work_test.cpp.
TEST_F(tls_handshakes, that_come_together_are_costly_work_each_by_itself) {
    for (const auto &each : all)
        each->it->wait_readable();
    for (int done = 0; done < count; ++done) {
        ASSERT_EQ(answered(), done);
        ASSERT_FALSE(drive.io().costly.is_empty());
        drive.io().costly.run_one();
    }
    EXPECT_EQ(answered(), count);
    EXPECT_TRUE(drive.io().costly.is_empty());
    for (const auto &each : all)
        each->wire.tell_of_input();
    EXPECT_FALSE(drive.io().costly.is_empty()) << "what is said next is another step";
}

TEST_F(tls_handshakes, that_end_while_they_wait_for_their_turn_are_left_out) {
    for (const auto &each : all)
        each->it->wait_readable();
    for (int i = 0; i < count; i += 2)
        all[static_cast<std::size_t>(i)]->it.reset();
    drive.round();
    EXPECT_EQ(answered(), count / 2);
}

}  // namespace
}  // namespace zlink::test
