// The waits of a stream inside TLS, and the words for who is at its other end. See tls_stream.hpp.
//
// Map: leasing; waits; names.
#include <new>

#include "transport/tls_proof.hpp"
#include "transport/tls_section.hpp"
#include "transport/tls_stream.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

// ---- leasing ----

/// The waits on the loop end with it: who has the lease waits for the descriptor by itself, and
/// nobody else may be woken by it.
bool tls_stream::lease_out() noexcept {
    if (!is_open_ || failed(failure_) || !bytes_->lease_out())
        return false;
    is_leased_ = true;
    wants_readable_ = false;
    room_wait_ = wait_for_room::none;
    report_.cancel();
    return true;
}

/// Records that the borrower has left here go out, or are waited for, on the loop from now on.
error tls_stream::take_back() noexcept {
    const std::lock_guard turn(turn_);
    if (const error e = bytes_->take_back(); failed(e))
        return e;
    is_leased_ = false;
    flush();
    return error::none;
}

// ---- waits ----

/// No descriptor shows what has been read already, nor a failure: that is told by a call of the
/// loop's, and never from in here.
void tls_stream::wait_readable() noexcept {
    wants_readable_ = true;
    if (failed(failure_) || holds_input_)
        report_.schedule();
    else if (!is_open_)
        queue_step();  // a client that has nothing to say begins here
    else
        bytes_->wait_readable();
}

/// If half a message about keys has come, OpenSSL has to read the rest before it writes: the wait
/// is for input first, and then for room.
void tls_stream::wait_writable() noexcept {
    room_wait_ = wait_for_room::going_on;
    if (failed(failure_) || failed(write_failure_) || (awaits_input_ && arriving_.hold_one())) {
        report_.schedule();
    } else if (!is_open_) {
        bytes_->wait_readable();
    } else if (awaits_input_) {
        room_wait_ = wait_for_room::behind_input;
        bytes_->wait_readable();
    } else {
        bytes_->wait_writable();
    }
}

/// One input may be what a writer needs and what a reader waits for, The writer goes on to wait for
/// room; the reader is told, last of all, for it may destroy this object.
void tls_stream::on_stream_readable() noexcept {
    if (is_open_) {
        if (room_wait_ == wait_for_room::behind_input) {
            room_wait_ = wait_for_room::going_on;
            bytes_->wait_writable();
        }
        if (std::exchange(wants_readable_, false))
            events_->on_stream_readable();
        return;
    }
    queue_step();
}

/// A step of the handshake.
void tls_stream::run_costly() noexcept {
    if (shake_hands() == error::again)
        bytes_->wait_readable();
    else
        report();
}

void tls_stream::on_stream_writable() noexcept {
    {
        const std::lock_guard turn(turn_);
        flush();
        if (waiting() > 0 || !is_open_)
            return;
    }
    // Also where nobody asked: who waits for the end has to know.
    room_wait_ = wait_for_room::none;
    events_->on_stream_writable();
}

/// The owner may destroy this object in its call.
void tls_stream::report() noexcept {
    report_.cancel();
    const bool is_readable = std::exchange(wants_readable_, false);
    if (room_wait_ != wait_for_room::none && (is_flushed() || failed(failure_) || failed(write_failure_))) {
        room_wait_ = wait_for_room::none;
        if ((wants_readable_ = is_readable))
            report_.schedule();
        events_->on_stream_writable();
    } else if (is_readable) {
        events_->on_stream_readable();
    }
}

// ---- names ----

std::string tls_stream::reason() const {
    const std::lock_guard turn(turn_);
    return notes_.words;
}

/// Null where there is none that was verified. Inside a section.
X509 *tls_stream::verified_certificate() const noexcept {
    return tls_ && !tls_section::is_over() && (SSL_get_verify_mode(tls_.get()) & SSL_VERIFY_PEER)
               ? SSL_get0_peer_certificate(tls_.get())
               : nullptr;
}

std::string tls_stream::user_id() const {
    const tls_section inside;
    X509 *const certificate = verified_certificate();
    return certificate ? whole_subject_of(certificate) : std::string();
}

const char *tls_stream::tls_version() const noexcept { return is_open_ ? version_ : ""; }

/// Also of a session that was resumed: the certificate is the one that was verified in the whole
/// handshake.
error tls_stream::introduce(std::optional<credentials> &out) noexcept {
    if (!context_->has_peers_judged())
        return error::none;
    const tls_section inside;
    X509 *const certificate = verified_certificate();
    if (!certificate)
        return tls_section::is_over() ? error::terminated : from_errno(ENOKEY);
    try {
        std::vector<std::string> items;
        const char *unused = nullptr;
        if (const error e = prove(certificate, items, unused); failed(e))
            return e;
        out = credentials{"TLS", {}};
        for (const std::string &item : items)
            out->items.emplace_back(item);
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

std::string tls_stream::local_endpoint() const { return as_tls_endpoint(bytes_->local_endpoint()); }
std::string tls_stream::remote_endpoint() const { return as_tls_endpoint(bytes_->remote_endpoint()); }

}  // namespace zlink
