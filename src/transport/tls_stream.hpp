// A stream inside TLS 1.3, over another stream.
//
// Handshake: goes on with each try_read() and try_write(), which answer `again` until it is over, and by itself as octets arrive.
// Out:       what is written becomes whole records at once. Those that the inner stream does not take wait here, and go out as it takes
//            more; meanwhile nothing else is accepted.
// Failures:  of reading and of writing are kept apart: what the peer sent before it went, its reason for one, is still read.
// Threads:   the loop's only: one state of OpenSSL serves both directions.
#pragma once

#include <memory>
#include <vector>

#include "core/bytes.hpp"
#include "reactor/deferred_call.hpp"
#include "transport/tls_context.hpp"
#include "transport/transport.hpp"

namespace zlink {

/// The same place by the scheme tls.
inline std::string as_tls_endpoint(const std::string &tcp_endpoint) {
    return tcp_endpoint.empty() ? tcp_endpoint : "tls" + tcp_endpoint.substr(tcp_endpoint.find(':'));
}

class tls_stream final : public stream, private stream_events {
public:
    static error make(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes,
                      std::unique_ptr<stream> &out) noexcept;
    /// Tells the peer that this is the end, if that can be done at once.
    ~tls_stream() override;

    void set_events(stream_events *events) noexcept override { events_ = events; }
    error shake_hands() noexcept override;
    io_result try_read(std::span<const iovec> ranges) noexcept override;
    io_result try_write(std::span<const iovec> ranges) noexcept override;
    std::size_t unconfirmed() noexcept override { return bytes_->unconfirmed() + waiting(); }
    bool finish_writing() noexcept override;
    bool is_flushed() const noexcept override { return waiting() == 0; }
    bool stays_on_loop() const noexcept override { return true; }
    bool holds_input() const noexcept override { return holds_input_; }
    void wait_readable() noexcept override;
    void wait_writable() noexcept override;
    int descriptor() const noexcept override { return bytes_->descriptor(); }
    std::string peer_address() const override { return bytes_->peer_address(); }
    std::string user_id() const override;
    std::string reason() const override { return notes_.words; }
    std::string local_endpoint() const override;
    std::string remote_endpoint() const override;

private:
    struct connection_closer {
        void operator()(SSL *connection) const noexcept {
            // An end without a farewell makes no ticket worthless; OpenSSL drops those of a connection with an alert by itself.
            SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
            SSL_free(connection);
        }
    };

    tls_stream(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes);
    bool open() noexcept;

    void on_stream_readable() noexcept override;
    void on_stream_writable() noexcept override;
    void report() noexcept;

    // How OpenSSL reads and writes.
    friend struct tls_octets;
    int take_input(char *out, std::size_t size) noexcept;
    int keep_output(const char *octets, std::size_t size) noexcept;

    /// One call takes in so much at most, and less where nothing of it is for the application: OpenSSL goes on by itself as long as a peer
    /// sends it new keys.
    static constexpr std::size_t most_input_at_once = 128 * 1024;
    static constexpr std::size_t most_input_in_vain = 32 * 1024;
    static constexpr int most_records_at_once = 1024;  // of a read
    void begin_call() noexcept { input_left_ = most_input_at_once, vain_input_left_ = most_input_in_vain; }

    error advance() noexcept;
    error reason_of(int result) noexcept;
    error fail(int result) noexcept;
    void note_reason(unsigned long noted) noexcept;
    bool write_record(byte_span octets) noexcept;
    void flush() noexcept;
    std::size_t waiting() const noexcept { return out_.size() - out_at_; }

    const std::shared_ptr<const tls_context> context_;
    const std::unique_ptr<stream> bytes_;
    tls_notes notes_;
    std::unique_ptr<SSL, connection_closer> tls_;
    stream_events *events_ = nullptr;
    deferred_call report_;

    std::vector<std::uint8_t> out_;    // records
    std::size_t out_at_ = 0;           // of these, octets that the inner stream has taken
    std::uint64_t records_ = 0;        // written with any key
    std::size_t input_left_ = 0;       // octets, for the call under way
    std::size_t vain_input_left_ = 0;  // until there is a record for the application
    error input_ = error::none;        // why the inner stream gave nothing last
    error failure_ = error::none;      // nothing can be read any more, nor written
    error write_failure_ = error::none;
    bool is_open_ = false;      // the handshake is over
    bool holds_input_ = false;  // of records that have arrived
    bool wants_readable_ = false;
    bool wants_writable_ = false;
    bool is_finishing_ = false;  // the inner stream is to be told when all is written
};

}  // namespace zlink
