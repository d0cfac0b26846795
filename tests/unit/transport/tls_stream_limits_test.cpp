// A stream of TLS over one that the test plays: what a peer may do, record by record, and what
// becomes of waits.
#include "transport/tls_stream.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string>
#include <thread>

#include "certificates.hpp"
#include "driven_loop.hpp"
#include "tls_wire.hpp"

namespace zlink::test {
namespace {

using zlink_test::good;

// The stream, and OpenSSL itself at the other end.
class tls_server_streams : public ::testing::Test, private stream_events {
protected:
    explicit tls_server_streams(tls_context::role as = tls_context::role::server)
        : peer_context_(
              SSL_CTX_new(as == tls_context::role::server ? TLS_client_method() : TLS_server_method())),
          is_server_(as == tls_context::role::server) {
        settings options;
        options.tls_cert = good().cert;
        options.tls_key = good().key;
        options.tls_ca = good().ca;
        tls_files files;
        std::shared_ptr<const tls_context> context;
        EXPECT_EQ(tls_context::make(as, options, is_server_ ? "" : "localhost", files, context), error::none);
        SSL_CTX_set_min_proto_version(peer_context_, TLS1_3_VERSION);
        if (!is_server_) {
            SSL_CTX_use_certificate(peer_context_, good().server.certificate());
            SSL_CTX_use_PrivateKey(peer_context_, good().server.key());
            SSL_CTX_set_num_tickets(peer_context_, 0);
        }
        peer = SSL_new(peer_context_);
        SSL_set_bio(peer, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        is_server_ ? SSL_set_connect_state(peer) : SSL_set_accept_state(peer);
        EXPECT_EQ(tls_stream::make(io, std::move(context), std::make_unique<tls_wire_end>(state), it),
                  error::none);
        it->set_events(this);
    }
    ~tls_server_streams() override {
        it.reset();
        SSL_free(peer);
        SSL_CTX_free(peer_context_);
    }

    // Returns what the peer has written, up to now.
    std::string from_peer() {
        char *octets = nullptr;
        const long size = BIO_get_mem_data(SSL_get_wbio(peer), &octets);
        std::string out(octets, static_cast<std::size_t>(size));
        (void)BIO_reset(SSL_get_wbio(peer));
        return out;
    }
    void to_peer() {
        BIO_write(SSL_get_rbio(peer), state.out.data(), static_cast<int>(state.out.size()));
        state.out.clear();
    }
    void open() {
        for (int i = 0; i < 10 && (it->shake_hands() == error::again || SSL_in_init(peer)); ++i) {
            to_peer();
            (void)SSL_do_handshake(peer);
            state.in += from_peer();
        }
        to_peer();
        ASSERT_EQ(it->shake_hands(), error::none);
        ASSERT_EQ(read().status, error::again);
    }
    void say(const std::string &octets) {
        ASSERT_EQ(SSL_write(peer, octets.data(), static_cast<int>(octets.size())),
                  static_cast<int>(octets.size()));
        state.in += from_peer();
    }
    std::string heard() {
        to_peer();
        char octets[4096];
        const int count = SSL_read(peer, octets, sizeof octets);
        ERR_clear_error();
        return {octets, static_cast<std::size_t>(std::max(count, 0))};
    }
    static std::size_t record_of(const std::string &octets) {
        return SSL3_RT_HEADER_LENGTH + octets.size() + 1 + EVP_GCM_TLS_TAG_LEN;
    }
    template <class Work>
    static void elsewhere(Work &&work) {
        std::thread(work).join();
    }
    struct result {
        std::string octets;
        error status;
    };
    result read(std::size_t most = 65536) {
        std::string to(most, '\0');
        const iovec range{to.data(), most};
        const io_result found = it->try_read({&range, 1});
        return {to.substr(0, found.octets), found.status};
    }
    io_result write(std::string octets) {
        const iovec range{octets.data(), octets.size()};
        return it->try_write({&range, 1});
    }
    // The inner stream has something for who waits.
    void let_read() {
        state.tell_of_input();
        io.round();
        state.tell_of_room();
        io.round();
    }
    void make_room(std::size_t octets) {
        state.room = octets;
        state.tell_of_room();
        io.round();
    }

    driven_loop io;
    tls_wire state;
    SSL *peer = nullptr;
    std::unique_ptr<stream> it;
    int readable = 0, writable = 0;

private:
    void on_stream_readable() noexcept override { ++readable; }
    void on_stream_writable() noexcept override { ++writable; }

    SSL_CTX *const peer_context_;
    const bool is_server_;
};

// ---- what a server does with a ClientHello ----

// Says what a peer says in one record for the handshake, in records of so many octets.
std::string in_pieces(const std::string &record, std::size_t size) {
    std::string out;
    for (std::size_t at = SSL3_RT_HEADER_LENGTH; at < record.size(); at += size) {
        const std::string piece = record.substr(at, size);
        out += record.substr(0, 3) + static_cast<char>(piece.size() >> 8) + static_cast<char>(piece.size()) +
               piece;
    }
    return out;
}

TEST_F(tls_server_streams, take_a_client_hello_in_records_of_one_octet) {
    (void)SSL_do_handshake(peer);
    for (const char octet : in_pieces(from_peer(), 1)) {
        ASSERT_EQ(it->shake_hands(), error::again);
        ASSERT_EQ(state.out, "");
        state.in += octet;
    }
    open();
}

TEST_F(tls_server_streams, take_a_client_hello_of_sixteen_thousand_octets) {
    SSL_set1_groups_list(peer, "X25519");  // the key of another may be longer than what is left
    std::string protocols;
    for (int i = 0; i < 62; ++i)
        protocols += '\xfe' + std::string(254, 'p');
    SSL_set_alpn_protos(peer, reinterpret_cast<const unsigned char *>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    (void)SSL_do_handshake(peer);
    state.in = in_pieces(from_peer(), 8000);
    ASSERT_GT(state.in.size(), 15'900u);
    open();
}

TEST_F(tls_server_streams, refuse_a_client_hello_that_claims_to_be_longer_before_it_has_come) {
    state.in = std::string("\x16\3\1\0\4\1\0\x41\0", 9);
    EXPECT_EQ(it->shake_hands(), error::protocol);
    EXPECT_EQ(it->reason(), "no TLS 1.3 with this peer: its ClientHello is too long, or in empty pieces");
}

TEST_F(tls_server_streams, say_of_a_client_that_ends_within_its_hello_that_it_has_closed) {
    state.in = std::string("\x16\3\1\0\x40\1\0\0\x3c", 9);
    EXPECT_EQ(it->shake_hands(), error::again);
    state.has_ended = true;
    EXPECT_EQ(it->shake_hands(), error::connection_reset);
    EXPECT_EQ(it->reason(), "the peer closed the connection during the TLS handshake");
}

class tls_client_streams : public tls_server_streams {
protected:
    tls_client_streams() : tls_server_streams(tls_context::role::client) {}
    void give_tickets(int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(SSL_new_session_ticket(peer), 1);
            ASSERT_EQ(SSL_do_handshake(peer), 1);
        }
    }
    // One of several records.
    std::string long_ticket() {
        SSL_set_max_send_fragment(peer, 512);
        SSL_CTX_set_session_ticket_cb(
            SSL_get_SSL_CTX(peer),
            [](SSL *connection, void *) {
                static const std::string much(2000, 'm');
                return SSL_SESSION_set1_ticket_appdata(SSL_get_session(connection), much.data(), much.size());
            },
            nullptr, nullptr);
        give_tickets(1);
        std::string ticket = from_peer();
        EXPECT_GT(ticket.size(), 2000u);
        return ticket;
    }
};

TEST_F(tls_server_streams, pass_octets_both_ways) {
    ASSERT_NO_FATAL_FAILURE(open());
    say("to");
    EXPECT_EQ(read().octets, "to");
    EXPECT_EQ(write("fro").octets, 3u);
    EXPECT_EQ(heard(), "fro");
}

TEST_F(tls_server_streams, take_new_keys_among_data_as_often_as_the_peer_likes) {
    ASSERT_NO_FATAL_FAILURE(open());
    for (int i = 0; i < 300; ++i) {
        for (int k = 0; k < 3; ++k) {
            ASSERT_EQ(SSL_key_update(peer, k ? SSL_KEY_UPDATE_NOT_REQUESTED : SSL_KEY_UPDATE_REQUESTED), 1);
            ASSERT_EQ(SSL_do_handshake(peer), 1);
        }
        say("x");
        for (int k = 0; k < 3; ++k)
            ASSERT_EQ(read().status, error::again) << i;
        ASSERT_EQ(read().octets, "x") << i;
        to_peer();
    }
}

TEST_F(tls_server_streams, end_with_a_peer_that_sends_new_keys_and_nothing_else) {
    ASSERT_NO_FATAL_FAILURE(open());
    error status = error::again;
    for (int i = 0; i < 300 && status == error::again; ++i) {
        ASSERT_EQ(SSL_key_update(peer, i % 2 ? SSL_KEY_UPDATE_NOT_REQUESTED : SSL_KEY_UPDATE_REQUESTED), 1);
        ASSERT_EQ(SSL_do_handshake(peer), 1);
        state.in += from_peer();
        status = read().status;
        to_peer();
    }
    EXPECT_EQ(status, error::protocol);
    EXPECT_EQ(it->reason(), "the peer sends new keys and tickets, and nothing else");
}

TEST_F(tls_client_streams, end_with_a_peer_that_sends_tickets_and_nothing_else) {
    ASSERT_NO_FATAL_FAILURE(open());
    give_tickets(10);
    state.in += from_peer();
    EXPECT_EQ(read().status, error::again);
    error status = error::again;
    for (int i = 0; i < 30 && status == error::again; ++i) {
        give_tickets(10);
        state.in += from_peer();
        do
            status = read().status;
        while (status == error::again && (it->holds_input() || !state.in.empty()));
    }
    EXPECT_EQ(status, error::protocol);
}

// OpenSSL wants the rest of a ticket before it writes anything.
TEST_F(tls_client_streams, write_on_when_the_rest_of_a_message_about_keys_has_come) {
    ASSERT_NO_FATAL_FAILURE(open());
    for (const bool wants_readable : {false, true}) {
        const std::string ticket = long_ticket();
        state.in += ticket.substr(0, 700);
        EXPECT_EQ(read().status, error::again);
        EXPECT_FALSE(it->awaits_input());
        EXPECT_EQ(write("meanwhile").status, error::again);
        EXPECT_TRUE(it->awaits_input());
        it->wait_writable();
        if (wants_readable)
            it->wait_readable();
        EXPECT_TRUE(state.is_input_awaited);
        EXPECT_FALSE(state.is_room_awaited) << "there is room all the time";
        state.in += ticket.substr(700, 400);
        const int was_readable = readable, was_writable = writable;
        let_read();
        EXPECT_EQ(writable, was_writable + 1);
        EXPECT_EQ(readable, was_readable + wants_readable);
        EXPECT_EQ(write("meanwhile").status, error::again) << "not all of it";
        it->wait_writable();
        EXPECT_FALSE(state.is_room_awaited);
        state.in += ticket.substr(1100);
        say("behind it");
        const std::size_t behind = record_of("behind it");
        let_read();
        EXPECT_EQ(writable, was_writable + 2);
        EXPECT_EQ(write("meanwhile").octets, 9u);
        EXPECT_FALSE(it->awaits_input());
        EXPECT_EQ(heard(), "meanwhile");
        EXPECT_EQ(state.in.size(), behind) << "for who reads, by way of the descriptor";
        EXPECT_FALSE(it->holds_input());
        EXPECT_EQ(read().octets, "behind it");
        EXPECT_EQ(read().status, error::again);
    }
}

TEST_F(tls_client_streams, write_on_when_a_reader_has_taken_in_the_rest_of_a_message_about_keys) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::string ticket = long_ticket();
    state.in += ticket.substr(0, 700);
    EXPECT_EQ(read().status, error::again);
    EXPECT_EQ(write("meanwhile").status, error::again);
    state.in += ticket.substr(700);
    EXPECT_EQ(read().status, error::again);
    EXPECT_FALSE(it->awaits_input());
    it->wait_writable();
    EXPECT_TRUE(state.is_room_awaited);
    EXPECT_FALSE(state.is_input_awaited);
    EXPECT_EQ(write("meanwhile").octets, 9u);
    EXPECT_EQ(heard(), "meanwhile");
}

TEST_F(tls_client_streams, leave_it_to_a_borrower_to_wait_for_the_rest_of_a_message_about_keys) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::string ticket = long_ticket();
    it->wait_readable();
    state.in += ticket.substr(0, 700);
    EXPECT_EQ(read().status, error::again);
    EXPECT_EQ(write("meanwhile").status, error::again);
    it->wait_writable();
    ASSERT_TRUE(it->lease_out());
    elsewhere([&] {
        EXPECT_TRUE(it->awaits_input());
        EXPECT_EQ(write("meanwhile").status, error::again);
        state.in += ticket.substr(700, 400);
        EXPECT_EQ(read().status, error::again);
        EXPECT_TRUE(it->awaits_input());
        EXPECT_EQ(write("meanwhile").status, error::again);
    });
    ASSERT_EQ(it->take_back(), error::none);
    it->wait_writable();
    EXPECT_TRUE(state.is_input_awaited);
    EXPECT_FALSE(state.is_room_awaited);
    ASSERT_TRUE(it->lease_out());
    elsewhere([&] {
        state.in += ticket.substr(1100);
        EXPECT_EQ(read().status, error::again);
        EXPECT_FALSE(it->awaits_input());
        EXPECT_EQ(write("meanwhile").octets, 9u);
    });
    EXPECT_EQ(heard(), "meanwhile");
    ASSERT_EQ(it->take_back(), error::none);
    const int was_readable = readable, was_writable = writable;
    it->wait_readable();
    let_read();
    EXPECT_EQ(readable, was_readable + 1);
    EXPECT_EQ(writable, was_writable) << "nobody waits for that any more";
}

TEST_F(tls_client_streams, have_room_first_where_records_wait_before_half_a_message_about_keys) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::string ticket = long_ticket();
    state.room = 5;
    EXPECT_EQ(write("first").octets, 4u);
    state.in += ticket.substr(0, 700);
    EXPECT_EQ(read().status, error::again);
    EXPECT_EQ(write("t").status, error::again);
    EXPECT_EQ(write("t, then more").status, error::again);
    EXPECT_FALSE(it->awaits_input());
    it->wait_writable();
    EXPECT_TRUE(state.is_room_awaited);
    make_room(SIZE_MAX);
    EXPECT_EQ(writable, 1);
    state.room = 0;
    EXPECT_EQ(write("t, then more").octets, 1u);
    EXPECT_TRUE(it->awaits_input());
    state.room = SIZE_MAX;
    EXPECT_EQ(heard(), "first");
    state.in += ticket.substr(700);
    EXPECT_EQ(write(", then more").octets, 11u);
    EXPECT_EQ(heard(), ", then more");
}

TEST_F(tls_server_streams, tell_of_octets_that_came_with_the_end_of_a_handshake_which_a_write_has_finished) {
    std::string last;
    for (int i = 0; i < 10 && SSL_in_init(peer); ++i) {
        state.in += std::exchange(last, {});
        (void)it->shake_hands();
        to_peer();
        (void)SSL_do_handshake(peer);
        last = from_peer();
    }
    ASSERT_EQ(SSL_write(peer, "right behind", 12), 12);
    last += from_peer();
    it->wait_readable();
    io.round();
    ASSERT_EQ(readable, 0);
    state.in += last;
    EXPECT_EQ(write("x").octets, 1u);
    if (!state.in.empty())  // OpenSSL 3.5 has left it to the inner stream, which tells of it
        let_read();
    io.round();
    EXPECT_EQ(readable, 1);
    EXPECT_EQ(read().octets, "right behind");
}

TEST_F(tls_server_streams, tell_an_end_from_a_cut) {
    ASSERT_NO_FATAL_FAILURE(open());
    say("whole");
    SSL_shutdown(peer);
    state.in += from_peer();
    state.has_ended = true;
    EXPECT_EQ(read().octets, "whole");
    EXPECT_EQ(read().status, error::connection_reset);
    EXPECT_EQ(it->reason(), "");
}

TEST_F(tls_server_streams, tell_a_cut_from_an_end) {
    ASSERT_NO_FATAL_FAILURE(open());
    say("whole");
    state.has_ended = true;
    EXPECT_EQ(read().octets, "whole");
    EXPECT_EQ(read().status, from_errno(ECONNABORTED));
    EXPECT_EQ(it->reason(),
              "the peer ended the connection without a close_notify: what it sent last may be cut off");
}

TEST_F(tls_server_streams, are_not_flushed_when_records_were_lost) {
    ASSERT_NO_FATAL_FAILURE(open());
    state.room = 4;
    EXPECT_EQ(write("taken, but not written").octets, 21u);
    EXPECT_FALSE(it->is_flushed());
    state.write_failure = error::connection_reset;
    make_room(0);
    EXPECT_FALSE(it->is_flushed());
    EXPECT_EQ(write("more").status, error::connection_reset);
}

class floods_of_records : public tls_server_streams {
protected:
    // Records of so many octets.
    void flood(int records, std::size_t size, int new_keys = 0) {
        for (int i = 0; i < records; ++i) {
            for (int k = 0; k < new_keys; ++k) {
                ASSERT_EQ(SSL_key_update(peer, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
                ASSERT_EQ(SSL_do_handshake(peer), 1);
            }
            say(std::string(size, 'f'));
        }
    }
    // Expects how many such records each read takes in, with room for more.
    void expect_turns(int records, std::size_t size, int most) {
        int all = 0;
        for (result found = read(); found.status == error::none && all < records; found = read()) {
            const int count = static_cast<int>(found.octets.size() / size);
            ASSERT_GE(count, 1);
            ASSERT_LE(count, most);
            all += count;
            EXPECT_EQ(all < records, it->holds_input() || !state.in.empty()) << all;
        }
        EXPECT_EQ(all, records);
    }
};

TEST_F(floods_of_records, are_read_sixteen_at_a_time) {
    ASSERT_NO_FATAL_FAILURE(open());
    flood(1000, 10);
    expect_turns(1000, 10, 16);
}

// One message about keys costs about as much as half of these. A peer may put as many as it likes
// before what it has to say.
TEST_F(floods_of_records, with_new_keys_before_each_are_read_one_message_about_keys_at_a_time) {
    for (const int new_keys : {1, 5, 20}) {
        ASSERT_NO_FATAL_FAILURE(open());
        flood(20, 1, new_keys);
        int turns = 0;
        std::string all;
        for (result found = read(); all.size() < 20; found = read(), ++turns) {
            ASSERT_TRUE(found.status == error::none || found.status == error::again);
            ASSERT_LE(found.octets.size(), 1u);
            all += found.octets;
            // Else who reads would sleep.
            ASSERT_TRUE(it->holds_input() || !state.in.empty() || all.size() == 20) << all.size();
        }
        EXPECT_GE(turns, 20 * new_keys);
    }
}

// Whatever a write takes in before it, too, is bounded.
TEST_F(floods_of_records, with_new_keys_leave_a_writer_its_turns) {
    ASSERT_NO_FATAL_FAILURE(open());
    flood(20, 1, 5);
    for (std::size_t turns = 0, received = 0; received < 20; ++turns) {
        ASSERT_LT(turns, 200u);
        received += read().octets.size();
        ASSERT_EQ(write("answer").octets, 6u);
        ASSERT_EQ(heard(), "answer");
    }
}

// This is as a loop does: the stream says itself that there is more than its descriptor shows.
TEST_F(floods_of_records, with_new_keys_reach_who_waits_for_each_of_them) {
    ASSERT_NO_FATAL_FAILURE(open());
    flood(20, 1, 5);
    std::string all = read().octets;
    for (int turns = 0; all.size() < 20; ++turns) {
        ASSERT_LT(turns, 200);
        const int before = readable;
        it->wait_readable();
        io.round();
        if (readable == before)
            let_read();
        ASSERT_EQ(readable, before + 1) << all.size();
        all += read().octets;
    }
}

// A connection reads on in the same turn when its room was filled.
TEST_F(floods_of_records, are_read_no_faster_in_several_reads_that_fill_their_room) {
    ASSERT_NO_FATAL_FAILURE(open());
    say("x");
    ASSERT_EQ(read().octets, "x") << "what the handshake cost counts with it";
    flood(200, 1);
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(read(5).octets.size(), 5u);
    EXPECT_EQ(read(5).octets.size(), 1u);
    EXPECT_TRUE(it->holds_input());
    EXPECT_EQ(read().octets.size(), 16u) << "in the next turn";
}

TEST_F(tls_server_streams, take_sixteen_thousand_records_of_one_octet) {
    ASSERT_NO_FATAL_FAILURE(open());
    const std::string sent(16384, 'o');
    for (const char octet : sent)
        ASSERT_EQ(SSL_write(peer, &octet, 1), 1);
    state.in += from_peer();
    std::string all;
    for (result found = read(); found.status == error::none && all.size() < sent.size(); found = read())
        all += found.octets;
    EXPECT_EQ(all.size(), sent.size());
}

}  // namespace
}  // namespace zlink::test
