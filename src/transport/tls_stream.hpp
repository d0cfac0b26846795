// A stream inside TLS 1.3, over another stream.
//
// Handshake: goes on with each try_read() and try_write(), which answer `again` until it is over,
//            and by itself as octets arrive. A server has no state of OpenSSL before a ClientHello
//            has come (tls_hello.hpp).
// Out:       what is written becomes whole records at once. Those that the inner stream does not
//            take wait here; meanwhile nothing else is accepted, and the last octet of what they
//            hold counts as not written yet, so that whoever writes comes back for them. A write
//            that makes way for a reader says so: busy is not full, for there is room all the time.
// In:        read ahead, but by who reads only. When half a message about keys has come, OpenSSL
//            wants the rest before it writes: a write takes in the records of that message and
//            nothing behind them, so that a reader asleep on the descriptor misses nothing.
// Failures:  of reading and of writing are kept apart: what the peer sent before it went, its
//            reason for one, is still read.
// Threads:   try_read() and try_write() any, one at a time for each direction, from when the
//            handshake is over. One state of OpenSSL serves both: they take turns (tls_turn.hpp).
//            The rest is for the loop's thread, on which the object is made.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/bytes.hpp"
#include "core/stranger.hpp"
#include "reactor/deferred_call.hpp"
#include "transport/tls_context.hpp"
#include "transport/tls_hello.hpp"
#include "transport/tls_records.hpp"
#include "transport/tls_turn.hpp"
#include "transport/transport.hpp"

namespace zlink {

class range_cursor;

/// The place by the scheme tls.
inline std::string as_tls_endpoint(const std::string &tcp_endpoint) {
    return tcp_endpoint.empty() ? tcp_endpoint : "tls" + tcp_endpoint.substr(tcp_endpoint.find(':'));
}

class tls_stream final : public stream, private stream_events, private costly_work {
public:
    static error make(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes,
                      std::unique_ptr<stream> &out) noexcept;
    /// Tells the peer that this is the end, if that can be done at once.
    ~tls_stream() override;

    void set_events(stream_events *events) noexcept override { events_ = events; }
    error shake_hands() noexcept override;
    bool shakes_hands_by_itself() const noexcept override { return true; }
    error introduce(std::optional<credentials> &out) noexcept override;
    io_result try_read(std::span<const iovec> ranges) noexcept override;
    io_result try_write(std::span<const iovec> ranges) noexcept override;
    std::size_t unconfirmed() noexcept override;
    bool finish_writing() noexcept override;
    bool has_said_why() const noexcept override;
    std::unique_ptr<stream> release_inner() noexcept override;
    bool is_flushed() const noexcept override;
    bool holds_input() const noexcept override { return holds_input_; }
    bool awaits_input() const noexcept override { return awaits_input_; }
    void wait_readable() noexcept override;
    void wait_writable() noexcept override;
    bool lease_out() noexcept override;
    error take_back() noexcept override;
    int descriptor() const noexcept override { return bytes_->descriptor(); }
    std::string peer_address() const override { return bytes_->peer_address(); }
    std::string user_id() const override;
    const char *tls_version() const noexcept override;
    std::string reason() const override;
    std::string local_endpoint() const override;
    std::string remote_endpoint() const override;

private:
    struct connection_closer {
        void operator()(SSL *connection) const noexcept {
            // An end without a farewell makes no ticket worthless; OpenSSL drops those of a
            // connection with an alert by itself.
            SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
            SSL_free(connection);
        }
    };

    tls_stream(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes);
    bool open() noexcept;

    enum class wait_for_room : std::uint8_t {
        none,
        going_on,
        behind_input  // that OpenSSL has to read before it writes
    };

    void on_stream_readable() noexcept override;
    void on_stream_writable() noexcept override;
    void run_costly() noexcept override;
    void report() noexcept;
    void queue_step() noexcept {
        io_.costly.add(*this, tls_ ? costly_list::rank::goes_on : costly_list::rank::begins);
    }

    // The functions by which OpenSSL reads and writes.
    friend struct tls_octets;
    int take_input(char *out, std::size_t size) noexcept;
    int keep_output(const char *octets, std::size_t size) noexcept;

    /// One call takes in so much at most, and less where nothing of it is for the application:
    /// OpenSSL goes on by itself as long as a peer sends it new keys.
    static constexpr std::size_t full_record = SSL3_RT_HEADER_LENGTH + SSL3_RT_MAX_PLAIN_LENGTH + 1 + 16;
    static constexpr std::size_t most_octets_in_read = 8 * full_record;
    static constexpr std::size_t most_octets_in_vain = 2 * full_record;
    /// The cost of reading one small record is the unit of work, two or three microseconds with its
    /// message. Of what follows each other without a pause: then the other connections of the loop
    /// go on, and this one after them. A message about keys, which costs about as much, ends a
    /// turn.
    static constexpr int most_records_at_once = 16;
    /// Steps of OpenSSL's state machine, between two records for the application: some forty
    /// messages about keys.
    static constexpr unsigned most_steps_in_vain = 128;
    void begin_call() noexcept {
        input_left_ = most_octets_in_read;
        vain_input_left_ = most_octets_in_vain;
        steps_before_ = notes_.steps;
    }

    /// A client's chain of certificates. More memory than this no peer makes OpenSSL take for one
    /// message that has begun.
    static constexpr long most_octets_of_certificates = 8 * 1024;
    /// A connection that has read less has a buffer for one record: peers that stop within their
    /// first ones cost little.
    static constexpr std::size_t most_octets_with_narrow_buffer = 64 * 1024;
    void widen_after(std::size_t octets) noexcept;

    error begin() noexcept;
    error advance() noexcept;
    error reason_of(int result) noexcept;
    error fail(int result) noexcept;
    void note_reason(unsigned long noted) noexcept;
    error end_of_reading(int result) noexcept;
    error end_with(error why, const char *words) noexcept;
    bool write_record(byte_span octets) noexcept;
    void flush() noexcept;
    std::size_t write_records(range_cursor &from) noexcept;
    std::size_t waiting() const noexcept { return out_.size() - out_at_; }
    bool holds_more() const noexcept { return !arriving_.is_empty() || SSL_has_pending(tls_.get()); }
    bool has_half_a_message() const noexcept { return SSL_in_init(tls_.get()) != 0; }  // about keys
    X509 *verified_certificate() const noexcept;
    bool is_on_loop() const noexcept { return std::this_thread::get_id() == loop_thread_; }

    loop &io_;
    const std::shared_ptr<const tls_context> context_;
    std::unique_ptr<stream> bytes_;  // null once it is released
    const std::thread::id loop_thread_ = std::this_thread::get_id();
    stream_events *events_ = nullptr;
    deferred_call report_;

    // The flags below are no states of one thing. They belong to who has the turn, to who reads,
    // and to the loop, which may be three threads; and those of one of these are about what is
    // written, what is read, and who waits.

    // For who has the turn.
    mutable tls_turn turn_;
    tls_notes notes_;
    tls_hello hello_;                              // a server's peer's
    std::unique_ptr<SSL, connection_closer> tls_;  // null before that has come
    tls_records arriving_;
    std::vector<std::uint8_t> out_;         // records
    std::size_t out_at_ = 0;                // of these, octets that the inner stream has taken
    bool owes_octet_ = false;               // the last that became a record, to whoever writes
    std::uint64_t records_ = 0;             // written with any key
    std::size_t input_left_ = 0;            // octets, for the call under way
    std::size_t vain_input_left_ = 0;       // until there is a record for the application
    unsigned steps_before_ = 0;             // of OpenSSL's, when the call began
    int work_left_ = most_records_at_once;  // before a read ends early
    std::size_t narrow_left_ = most_octets_with_narrow_buffer;  // until a wide one
    std::optional<spoken> peer_speaks_;                         // by its first octets
    // why the inner stream gave nothing last
    error input_ = error::none;
    bool is_input_likely_ = false;  // the inner stream gave last what it was asked for
    bool is_finishing_ = false;     // the inner stream is to be told when all is written

    // Written by who has the turn.
    std::atomic<error> failure_{error::none};  // nothing can be read any more, nor written
    std::atomic<error> write_failure_{error::none};
    // before it can write: half a message about keys has come
    std::atomic<bool> awaits_input_{false};

    // State of the thread that reads.
    bool holds_input_ = false;  // of records that have arrived

    // The loop's thread only; the first two are read by others after the handshake, when they no
    // longer change.
    bool is_open_ = false;      // the handshake is over
    const char *version_ = "";  // of TLS, as OpenSSL calls it; constant text
    bool is_leased_ = false;
    bool wants_readable_ = false;
    wait_for_room room_wait_ = wait_for_room::none;
};

}  // namespace zlink
