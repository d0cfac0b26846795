// A stream inside TLS over one that a test is in command of: what happens where it takes little,
// and where two threads meet in it.
#include "transport/tls_stream.hpp"

#include <atomic>
#include <cerrno>
#include <functional>
#include <openssl/err.h>
#include <thread>

#include "certificates.hpp"
#include "driven_loop.hpp"
#include "tls_wire.hpp"

namespace zlink::test {
namespace {

/// The other side: OpenSSL in memory.
class memory_peer {
public:
    memory_peer()
        : context_(SSL_CTX_new(TLS_client_method())), tls_(SSL_new(context_)), in_(BIO_new(BIO_s_mem())),
          out_(BIO_new(BIO_s_mem())) {
        SSL_set_bio(tls_, in_, out_);
        SSL_set_connect_state(tls_);
        SSL_set_msg_callback(
            tls_, [](int is_written, int, int kind, const void *octets, std::size_t size, SSL *, void *self) {
                if (!is_written && kind == SSL3_RT_HANDSHAKE && size > 0 &&
                    *static_cast<const std::uint8_t *>(octets) == SSL3_MT_KEY_UPDATE)
                    ++static_cast<memory_peer *>(self)->new_keys;
            });
        SSL_set_msg_callback_arg(tls_, this);
    }
    memory_peer(const memory_peer &) = delete;
    memory_peer &operator=(const memory_peer &) = delete;
    ~memory_peer() {
        SSL_free(tls_);
        SSL_CTX_free(context_);
    }
    void shake_hands() { (void)SSL_do_handshake(tls_); }
    void say(const std::string &text) { (void)SSL_write(tls_, text.data(), static_cast<int>(text.size())); }
    void ask_for_new_keys() {
        EXPECT_EQ(SSL_key_update(tls_, SSL_KEY_UPDATE_REQUESTED), 1);
        (void)SSL_do_handshake(tls_);
    }
    void finish() { (void)SSL_shutdown(tls_); }
    std::string hear() {
        std::string text(1 << 20, '\0');
        std::size_t have = 0;
        for (int got; (got = SSL_read(tls_, text.data() + have, static_cast<int>(text.size() - have))) > 0;)
            have += static_cast<std::size_t>(got);
        text.resize(have);
        return text;
    }
    /// Moves what is under way.
    void exchange(tls_wire &with) {
        (void)BIO_write(in_, with.out.data(), static_cast<int>(with.out.size()));
        with.out.clear();
        char *octets = nullptr;
        const long size = BIO_get_mem_data(out_, &octets);
        with.in.append(octets, static_cast<std::size_t>(size));
        (void)BIO_reset(out_);
    }
    int new_keys = 0;

private:
    SSL_CTX *context_;
    SSL *tls_;
    BIO *in_, *out_;
};

class tls_streams : public ::testing::Test, private stream_events {
protected:
    void SetUp() override {
        settings options;
        options.tls_cert = zlink_test::good().cert;
        options.tls_key = zlink_test::good().key;
        std::shared_ptr<const tls_context> context;
        tls_files files;
        ASSERT_EQ(tls_context::make(tls_context::role::server, options, {}, files, context), error::none);
        ASSERT_EQ(tls_stream::make(drive, context, std::make_unique<tls_wire_end>(bytes), tls), error::none);
        tls->set_events(this);
        for (int i = 0; i < 4; ++i) {
            peer.shake_hands();
            peer.exchange(bytes);
            EXPECT_EQ(read(1), "");
        }
        peer.exchange(bytes);
        peer.shake_hands();
        ASSERT_EQ(write("begun"), 5u);
        peer.exchange(bytes);
        ASSERT_EQ(peer.hear(), "begun");
        bytes.waits_writable = 0;
    }
    void TearDown() override { tls.reset(); }

    std::size_t write(const std::string &text) {
        const iovec range{const_cast<char *>(text.data()), text.size()};
        last = tls->try_write({&range, 1});
        return last.octets;
    }
    std::string read(std::size_t most) {
        std::string text(most, '\0');
        const iovec range{text.data(), text.size()};
        last = tls->try_read({&range, 1});
        text.resize(last.octets);
        return text;
    }
    template <class Work>
    static void elsewhere(Work &&work) {
        std::thread(work).join();
    }

    driven_loop drive;
    tls_wire bytes;
    memory_peer peer;
    std::unique_ptr<stream> tls;
    io_result last;
    int writable = 0, readable = 0;

private:
    void on_stream_readable() noexcept override { ++readable; }
    void on_stream_writable() noexcept override { ++writable; }
};

// ---- where there is little room ----

TEST_F(tls_streams, count_the_last_octet_as_written_once_all_its_records_are) {
    const std::string text(100, 'x');
    bytes.room = 50;
    EXPECT_EQ(write(text), 99u);
    EXPECT_EQ(write(text.substr(99)), 0u);
    EXPECT_EQ(last.status, error::again);
    EXPECT_FALSE(tls->is_flushed());
    EXPECT_GT(tls->unconfirmed(), 0u);
    bytes.make_room();
    EXPECT_EQ(writable, 1);
    EXPECT_TRUE(tls->is_flushed());
    EXPECT_EQ(write(text.substr(99) + "y"), 2u);
    peer.exchange(bytes);
    EXPECT_EQ(peer.hear(), text + "y") << "each once";
}

TEST_F(tls_streams, have_the_rest_of_a_lone_octet_go_out_with_it) {
    bytes.room = 0;
    EXPECT_EQ(write("x"), 0u);
    EXPECT_EQ(last.status, error::again);
    bytes.room = SIZE_MAX;
    EXPECT_EQ(write("x"), 1u);
    peer.exchange(bytes);
    EXPECT_EQ(peer.hear(), "x");
}

TEST_F(tls_streams, leave_it_to_who_writes_to_wait_while_they_are_leased) {
    ASSERT_TRUE(tls->lease_out());
    bytes.room = 10;
    EXPECT_EQ(write("from the loop"), 12u);
    bytes.room = 5;
    elsewhere([&] { EXPECT_EQ(write("p"), 0u); });
    EXPECT_EQ(bytes.waits_writable, 0);
    ASSERT_EQ(tls->take_back(), error::none);
    EXPECT_EQ(bytes.waits_writable, 1);
    bytes.make_room();
    EXPECT_EQ(write("p"), 1u);
    peer.exchange(bytes);
    EXPECT_EQ(peer.hear(), "from the loop");
}

TEST_F(tls_streams, answer_a_peer_that_wants_new_keys_before_they_say_more) {
    ASSERT_TRUE(tls->lease_out());
    bytes.room = 3;
    EXPECT_EQ(write("full"), 3u);
    peer.ask_for_new_keys();
    peer.exchange(bytes);
    elsewhere([&] { EXPECT_EQ(read(100), ""); });
    bytes.room = SIZE_MAX;
    EXPECT_EQ(write("l of words"), 10u);
    peer.exchange(bytes);
    EXPECT_EQ(peer.hear(), "full of words");
    EXPECT_EQ(peer.new_keys, 1);
}

// ---- two threads ----

TEST_F(tls_streams, refuse_a_writer_while_another_thread_reads) {
    peer.say("text");
    peer.exchange(bytes);
    bytes.while_reading = [&] {
        elsewhere([&] {
            EXPECT_EQ(write("x"), 0u);
            EXPECT_EQ(last.status, error::busy) << "there is room";
        });
    };
    EXPECT_EQ(read(100), "text");
    EXPECT_FALSE(bytes.while_reading);
    EXPECT_EQ(write("x"), 1u);
}

TEST_F(tls_streams, have_a_reader_wait_for_its_turn_while_another_thread_writes) {
    peer.say("text");
    peer.exchange(bytes);
    std::thread reader;
    std::string found;
    bytes.while_writing = [&] {
        reader = std::thread([&] {
            std::string text(100, '\0');
            const iovec range{text.data(), text.size()};
            found = text.substr(0, tls->try_read({&range, 1}).octets);
        });
    };
    EXPECT_EQ(write("x"), 1u);
    reader.join();
    EXPECT_EQ(found, "text");
}

TEST_F(tls_streams, let_a_reader_in_between_the_batches_of_a_long_write) {
    peer.say("text");
    peer.exchange(bytes);
    const std::string much(1 << 20, 'm');
    std::atomic<int> writes = 0;
    int writes_before_read = -1;
    std::thread reader;
    std::function<void()> count = [&] {
        if (++writes == 1)
            reader = std::thread([&] {
                std::string text(100, '\0');
                const iovec range{text.data(), text.size()};
                while (tls->try_read({&range, 1}).octets == 0) {
                }
                writes_before_read = writes;
            });
        bytes.while_writing = count;
    };
    bytes.while_writing = count;
    for (std::string rest = much; !rest.empty();) {
        const std::size_t octets = write(rest);
        EXPECT_EQ(last.status, octets == rest.size() ? error::none : error::busy);
        rest.erase(0, octets);
    }
    bytes.while_writing = nullptr;
    reader.join();
    EXPECT_GT(writes_before_read, 0);
    EXPECT_GE(writes, 16) << "a batch at a time";
    peer.exchange(bytes);
    EXPECT_EQ(peer.hear(), much);
}

TEST_F(tls_streams, are_not_full_where_a_write_ends_that_others_may_have_a_turn) {
    const std::string much(3 << 20, 'm');
    EXPECT_EQ(write(much), 1u << 20);
    EXPECT_EQ(last.status, error::busy);
    bytes.room = 100;
    EXPECT_LT(write(much), 1u << 20);
    EXPECT_EQ(last.status, error::none) << "it is full";
}

TEST_F(tls_streams, leave_an_application_the_failures_that_it_has_not_looked_at) {
    ASSERT_TRUE(tls->lease_out());
    peer.say("text");
    peer.exchange(bytes);
    elsewhere([&] {
        for (int i = 0; i < 2; ++i) {  // with some noted, and with none
            if (i == 0) {
                ERR_raise_data(ERR_LIB_USER, 77, "of %s", "mine");
                ERR_raise(ERR_LIB_SYS, ENOENT);
            }
            EXPECT_EQ(write("x"), 1u);
            EXPECT_EQ(read(100), i == 0 ? "text" : "");
            EXPECT_EQ(read(100), "");
            EXPECT_EQ(last.status, error::again);
            bytes.in += i == 0 ? "" : "this is no record";
            if (i == 1) {
                EXPECT_EQ(read(100), "");
                EXPECT_EQ(last.status, error::protocol);
                EXPECT_EQ(write("x"), 0u);
                EXPECT_EQ(last.status, error::protocol);
                ERR_raise(ERR_LIB_USER, 78);
                EXPECT_EQ(read(100), "");
                EXPECT_EQ(last.status, error::protocol);
                EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), 78);
            } else {
                const char *file = nullptr, *function = nullptr, *words = nullptr;
                int line = 0, flags = 0;
                EXPECT_EQ(ERR_GET_REASON(ERR_get_error_all(&file, &line, &function, &words, &flags)), 77);
                EXPECT_STREQ(words, "of mine");
                EXPECT_STREQ(file, __FILE__);
                EXPECT_GT(line, 0);
                const unsigned long second = ERR_get_error();
                EXPECT_TRUE(ERR_SYSTEM_ERROR(second));
                EXPECT_EQ(ERR_GET_REASON(second), ENOENT);
            }
            EXPECT_EQ(ERR_get_error(), 0u) << "one of the library's";
        }
    });
    ASSERT_EQ(tls->take_back(), error::none);
}

TEST_F(tls_streams, tell_a_borrower_that_the_end_has_come_with_the_last_words) {
    ASSERT_TRUE(tls->lease_out());
    peer.say("last words");
    peer.finish();
    peer.exchange(bytes);
    elsewhere([&] {
        EXPECT_EQ(read(100), "last words");
        EXPECT_TRUE(tls->holds_input()) << "nothing more will come";
        EXPECT_EQ(read(100), "");
        EXPECT_EQ(last.status, error::connection_reset);
    });
}

// ---- the end ----

TEST_F(tls_streams, that_have_told_the_peer_why_they_fail_leave_the_stream_within) {
    bytes.in = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x') + "more";
    EXPECT_FALSE(tls->has_said_why());
    EXPECT_EQ(read(1), "");
    EXPECT_EQ(last.status, error::protocol);
    EXPECT_TRUE(bytes.out.starts_with("\x17")) << "an alert, encrypted";
    EXPECT_TRUE(tls->has_said_why());
    EXPECT_TRUE(tls->finish_writing());
    EXPECT_TRUE(bytes.is_finished);
    const std::size_t size = bytes.out.size();
    const auto inner = tls->release_inner();
    EXPECT_TRUE(inner);
    tls.reset();
    EXPECT_EQ(bytes.out.size(), size) << "nothing stands behind an alert";
}

TEST_F(tls_streams, whose_alert_finds_no_room_have_told_nobody) {
    bytes.in = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
    bytes.room = 3;
    EXPECT_EQ(read(1), "");
    EXPECT_FALSE(tls->has_said_why());
}

TEST_F(tls_streams, that_were_ended_by_the_peer_have_told_nothing) {
    peer.finish();
    peer.exchange(bytes);
    EXPECT_EQ(read(1), "");
    EXPECT_EQ(last.status, error::connection_reset);
    EXPECT_FALSE(tls->has_said_why());
    EXPECT_FALSE(tls->finish_writing());
}

TEST_F(tls_streams, say_that_they_end_before_the_stream_within_does) {
    ASSERT_TRUE(tls->finish_writing());
    EXPECT_TRUE(bytes.is_finished);
    const auto inner = tls->release_inner();
    EXPECT_TRUE(inner);
    const std::size_t size = bytes.out.size();
    EXPECT_GT(size, 0u);
    tls.reset();
    EXPECT_EQ(bytes.out.size(), size) << "said twice";
}

TEST_F(tls_streams, end_the_stream_within_also_where_there_is_no_room_to_say_so) {
    bytes.room = 0;
    ASSERT_TRUE(tls->finish_writing());
    EXPECT_FALSE(bytes.is_finished);
    const auto inner = tls->release_inner();
    EXPECT_TRUE(inner);
    EXPECT_TRUE(bytes.is_finished);
    tls.reset();
    EXPECT_EQ(bytes.out, "");
}

}  // namespace
}  // namespace zlink::test
