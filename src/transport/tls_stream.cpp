// A stream inside TLS, over another stream. See tls_stream.hpp.
//
// Map: how OpenSSL reaches the inner stream; making and the end; failures; the handshake; reading;
//      writing. Its waits, and whom it is from, are in tls_stream_waits.cpp.
#include "transport/tls_stream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <openssl/err.h>

#include "memory/spare_memory.hpp"
#include "transport/range_cursor.hpp"
#include "transport/tls_section.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

namespace {

constexpr std::size_t most_octets_in_record = SSL3_RT_MAX_PLAIN_LENGTH;
constexpr std::size_t records_at_once = 4;  // before they are handed on, in one turn
// octets of a write, whatever the inner stream takes
constexpr std::size_t most_octets_in_write = 1 << 20;
constexpr std::uint64_t records_of_a_key = 1 << 23;  // RFC 8446 §5.5: 2^24.5 of AES-GCM at most

static_assert(spare_memory::most_octets_gathered == most_octets_in_record);

/// The octets that stand next, up to a full record: where it is, or gathered in memory of the
/// thread. Where there is none for that it is less.
byte_span next_record(range_cursor &from) noexcept {
    std::size_t size = std::min(from.size(), most_octets_in_record);
    const std::uint8_t *const begin = from.data();
    from.advance(size);
    if (size == most_octets_in_record || from.is_at_end())
        return {begin, size};
    spare_memory *const spare = of_thread<spare_memory>::get();
    if (spare && !spare->gathered)
        spare->gathered.reset(new (std::nothrow) std::uint8_t[most_octets_in_record]);
    if (!spare || !spare->gathered)
        return {begin, size};
    std::uint8_t *const gathered = spare->gathered.get();
    std::memcpy(gathered, begin, size);
    while (size < most_octets_in_record && !from.is_at_end()) {
        const std::size_t step = std::min(from.size(), most_octets_in_record - size);
        std::memcpy(gathered + size, from.data(), step);
        from.advance(step);
        size += step;
    }
    return {gathered, size};
}

}  // namespace

// ---- how OpenSSL reaches the inner stream ----

/// OpenSSL reads from the inner stream and writes into memory. So it never meets a full stream, and
/// an alert, a ticket or new keys of its own are whole in out_ before anything goes out.
struct tls_octets {
    static tls_stream &of(BIO *bio) noexcept { return *static_cast<tls_stream *>(BIO_get_data(bio)); }
    static int read(BIO *bio, char *out, int size) noexcept {
        BIO_clear_retry_flags(bio);
        const int count = of(bio).take_input(out, static_cast<std::size_t>(size));
        if (count > 0 && !of(bio).peer_speaks_)
            of(bio).peer_speaks_ = protocol_of(as_bytes({out, static_cast<std::size_t>(count)}));
        if (count < 0 && of(bio).input_ == error::again)
            BIO_set_retry_read(bio);
        return count;
    }
    static int write(BIO *bio, const char *octets, int size) noexcept {
        BIO_clear_retry_flags(bio);
        return of(bio).keep_output(octets, static_cast<std::size_t>(size));
    }
    static long control(BIO *, int command, long, void *) noexcept { return command == BIO_CTRL_FLUSH; }

    /// Null when memory is short.
    static BIO *make(tls_stream &self) noexcept {
        // never freed: I/O threads may outlive main()
        static BIO_METHOD *const method = make_method();
        BIO *const bio = method ? BIO_new(method) : nullptr;
        if (bio) {
            BIO_set_data(bio, &self);
            BIO_set_init(bio, 1);
        }
        return bio;
    }
    static BIO_METHOD *make_method() noexcept {
        BIO_METHOD *const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "zlink stream");
        if (method) {
            BIO_meth_set_read(method, read);
            BIO_meth_set_write(method, write);
            BIO_meth_set_ctrl(method, control);
        }
        return method;
    }
};

/// Does read(2); input_ says why there is nothing. It takes from three sources, in the order of the
/// stream: the ClientHello that was gathered, records that wait, the inner stream. 0 is its end; -1
/// is for whatever else, which input_ tells.
int tls_stream::take_input(char *out, std::size_t size) noexcept {
    if (!hello_.is_empty()) {
        const std::size_t octets = hello_.give(out, size);
        arriving_.pass(as_bytes({out, octets}));
        return static_cast<int>(octets);
    }
    // Behind a message about keys OpenSSL gets nothing more within this call: it would go on with
    // all that has come. The handshake is made of such messages.
    const bool has_time = !is_open_ || notes_.steps == steps_before_;
    if (has_time && !arriving_.is_empty())
        return static_cast<int>(arriving_.give(out, size));
    const std::size_t left = std::min(input_left_, vain_input_left_);
    if (!has_time || left == 0) {
        is_input_likely_ = false;
        input_ = error::again;
        return -1;
    }
    const iovec range{out, std::min(size, left)};
    const io_result result =
        failed(hello_.end()) ? io_result{0, hello_.end()} : bytes_->try_read({&range, 1});
    is_input_likely_ = result.octets == range.iov_len;
    if (result.octets > 0) {
        input_left_ -= result.octets;
        vain_input_left_ -= result.octets;
        return static_cast<int>(arriving_.take(as_bytes({out, result.octets})));
    }
    input_ = failed(result.status) ? result.status : error::again;
    return input_ == error::connection_reset ? 0 : -1;
}

/// The memory is the writing thread's, until something of it has to stay with the connection.
int tls_stream::keep_output(const char *octets, std::size_t size) noexcept {
    try {
        if (out_.capacity() == 0)
            spare_memory::swap_records(out_);
        const auto *const begin = reinterpret_cast<const std::uint8_t *>(octets);
        out_.insert(out_.end(), begin, begin + size);
        return static_cast<int>(size);
    } catch (const std::bad_alloc &) {
        input_ = error::no_memory;
        return -1;
    }
}

// ---- making and the end ----

tls_stream::tls_stream(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes)
    : io_(io), context_(std::move(context)), bytes_(std::move(bytes)), report_(io, [this] { report(); }) {
    bytes_->set_events(this);
}

error tls_stream::make(loop &io, std::shared_ptr<const tls_context> context, std::unique_ptr<stream> bytes,
                       std::unique_ptr<stream> &out) noexcept {
    const tls_section inside;
    if (tls_section::is_over())
        return error::terminated;
    try {
        std::unique_ptr<tls_stream> made(new tls_stream(io, std::move(context), std::move(bytes)));
        if (!made->context_->is_for_server() && !made->open())
            return error::no_memory;
        out = std::move(made);
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

/// A client opens at once, for it speaks first; a server when a ClientHello has come.
bool tls_stream::open() noexcept {
    tls_.reset(context_->make_connection(notes_));
    BIO *const octets = tls_ ? tls_octets::make(*this) : nullptr;
    if (!octets)
        return false;
    SSL_set_bio(tls_.get(), octets, octets);
    if (context_->is_for_server())
        SSL_set_max_cert_list(tls_.get(), most_octets_of_certificates);
    if (OPENSSL_VERSION_NUMBER >= 0x30200000L)
        widen_after(most_octets_with_narrow_buffer);  // later it would not act
    return true;
}

/// The farewell goes out only where nothing stands in front of it: behind octets that are still
/// here it would cut them off, and behind a failure it would be a lie.
tls_stream::~tls_stream() {
    const tls_section inside;
    if (tls_section::is_over()) {
        tls_section::abandon(tls_.release());
        return;
    }
    const bool has_said_so = tls_ && (SSL_get_shutdown(tls_.get()) & SSL_SENT_SHUTDOWN);
    if (bytes_ && is_open_ && !has_said_so && !failed(failure_) && !failed(write_failure_) &&
        waiting() == 0) {
        ERR_clear_error();
        (void)SSL_shutdown(tls_.get());
        flush();
    }
    tls_.reset();
    ERR_clear_error();
}

/// An alert that has gone out ends the stream as a farewell does, so that only one of them is sent.
bool tls_stream::finish_writing() noexcept {
    const std::lock_guard turn(turn_);
    if (failed(write_failure_))
        return false;
    if (!notes_.has_alerted) {
        if (!is_open_ || failed(advance()))
            return false;
        ERR_clear_error();
        (void)SSL_shutdown(tls_.get());
    }
    is_finishing_ = true;
    flush();
    return true;
}

bool tls_stream::has_said_why() const noexcept {
    const std::lock_guard turn(turn_);
    return notes_.has_alerted && waiting() == 0 && !failed(write_failure_);
}

std::unique_ptr<stream> tls_stream::release_inner() noexcept {
    const std::lock_guard turn(turn_);
    report_.cancel();
    leave_list();
    if (std::exchange(is_finishing_, false))
        (void)bytes_->finish_writing();  // without what had no room
    return std::move(bytes_);
}

// ---- failures ----

/// Why a call of OpenSSL gave `result`: again, when it waits for input.
error tls_stream::reason_of(int result) noexcept {
    switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
        return error::again;
    case SSL_ERROR_ZERO_RETURN:
        return error::connection_reset;
    case SSL_ERROR_SYSCALL:
        if (is_open_ && input_ == error::connection_reset)
            return from_errno(ECONNABORTED);  // TLS has not ended: somebody else may have cut it
        return failed(input_) && input_ != error::again ? input_ : error::connection_reset;
    default:
        break;
    }
    const unsigned long noted = ERR_peek_last_error();
    if (ERR_GET_LIB(noted) != ERR_LIB_SSL)
        return ERR_GET_REASON(noted) == ERR_R_MALLOC_FAILURE ? error::no_memory : error::protocol;
    switch (const int reason = ERR_GET_REASON(noted)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return reason_of_certificate(SSL_get_verify_result(tls_.get()));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return from_errno(ENOKEY);
    default:
        return reason > SSL_AD_REASON_OFFSET ? reason_of_alert(reason - SSL_AD_REASON_OFFSET)
                                             : error::protocol;
    }
}

/// Does all that has to follow when a call of OpenSSL gave `result`. An alert for the peer may have
/// been made.
error tls_stream::fail(int result) noexcept {
    const error reason = reason_of(result);
    const unsigned long noted = ERR_peek_last_error();
    ERR_clear_error();
    if (reason != error::again) {
        failure_.store(reason);
        note_reason(noted);
    }
    flush();
    return reason;
}

void tls_stream::note_reason(unsigned long noted) noexcept {
    try {
        if (notes_.words.empty())
            notes_.words = words_of_end(noted, failure_, !is_open_, peer_speaks_.value_or(spoken::unknown));
    } catch (const std::bad_alloc &) {
        // The number says it.
    }
}

/// Ends both directions, with words of our own where OpenSSL has none.
error tls_stream::end_with(error why, const char *words) noexcept {
    try {
        notes_.words = words;
    } catch (const std::bad_alloc &) {
        // The number has to do.
    }
    failure_.store(why);
    return why;
}

// ---- the handshake ----

/// Makes the state of OpenSSL, once there is something to do for it.
error tls_stream::begin() noexcept {
    const error e = hello_.take(*bytes_);
    if (e == error::again)
        return e;
    if (e == error::protocol)
        return end_with(e, "no TLS 1.3 with this peer: its ClientHello is too long, or in empty pieces");
    if (failed(e) || !open())
        return end_with(error::no_memory, "");
    return error::none;
}

/// Goes on with it. none once it is over. OpenSSL may be over before. Every read and write begins
/// here, so that the handshake has no driver of its own. With the turn.
error tls_stream::advance() noexcept {
    if (tls_section::is_over())
        return end_with(error::terminated, words_of_over);
    if (failed(failure_) || is_open_)
        return failure_;
    if (!tls_)
        if (const error e = begin(); failed(e))
            return e;
    ERR_clear_error();
    const int result = SSL_do_handshake(tls_.get());
    tls_context::forget_chain(tls_.get(), result == 1);
    if (result != 1)
        return fail(result);
    version_ = SSL_get_version(tls_.get());
    is_open_ = true;
    steps_before_ = notes_.steps;
    holds_input_ = holds_more();  // what came right behind the handshake
    if (holds_input_ && wants_readable_)
        report_.schedule();
    flush();
    return error::none;
}

error tls_stream::shake_hands() noexcept {
    const std::lock_guard turn(turn_);
    begin_call();
    return advance();
}

// ---- reading ----

/// It waits for the turn, which a writer gives up between its batches. Octets go to the caller even
/// where the stream fails behind them: the failure is found again with the next call, since it
/// stays.
io_result tls_stream::try_read(std::span<const iovec> ranges) noexcept {
    const std::lock_guard turn(turn_);
    begin_call();
    // An open one ends so by the word of its peer: a cut looks otherwise.
    const auto is_end = [this](error e) { return is_open_ && e == error::connection_reset; };
    if (const error e = advance(); failed(e))
        return {0, e, is_end(e)};
    std::size_t octets = 0;
    error status = error::none;
    range_cursor to(ranges);
    while (!to.is_at_end()) {
        std::size_t count = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(tls_.get(), to.data(), to.size(), &count);
        if (result != 1) {
            status = end_of_reading(result);
            break;
        }
        to.advance(count);
        octets += count;
        vain_input_left_ = most_octets_in_vain;
        // A message about keys costs as much as ten records and more: it ends the round.
        if (notes_.steps > steps_before_)
            work_left_ = 0;
        else
            work_left_ = std::max(work_left_ - 1, 0);
        notes_.steps = steps_before_ = 0;
        if (work_left_ == 0)
            break;
        // The inner stream gave less than it was asked for: another read would find nothing, and is
        // a call.
        if (!is_input_likely_ && !to.is_at_end() && !holds_more())
            break;
    }
    // else who reads may go on in the same turn, with what is left of the work
    if (!to.is_at_end())
        work_left_ = most_records_at_once;
    if (narrow_left_ > 0)
        widen_after(octets);
    // Why there is no more is something to read, too.
    holds_input_ = failed(failure_)
                       ? octets > 0
                       : arriving_.hold_one() || (!failed(status) && SSL_has_pending(tls_.get()));
    // The rest that a writer waited for has come with what was read here.
    if (awaits_input_ && !has_half_a_message())
        awaits_input_ = false;
    return octets > 0 ? io_result{octets} : io_result{0, status, is_end(status)};
}

/// There is no record for the application. A peer may change its keys, but not for ever.
error tls_stream::end_of_reading(int result) noexcept {
    const error reason = fail(result);
    if (reason != error::again || notes_.steps <= most_steps_in_vain)
        return reason;
    return end_with(error::protocol, "the peer sends new keys and tickets, and nothing else");
}

/// So many octets more have been read.
void tls_stream::widen_after(std::size_t octets) noexcept {
    narrow_left_ -= std::min(narrow_left_, octets);
    if (narrow_left_ == 0)  // with some room for where OpenSSL begins in it
        SSL_set_default_read_buffer_len(tls_.get(), most_octets_in_vain + 16);
}

// ---- writing ----

/// It does not wait for the turn: `busy` says that the stream is not full, and has the caller come
/// back without a wait for room, which is there.
io_result tls_stream::try_write(std::span<const iovec> ranges) noexcept {
    std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn)
        return {0, error::busy};
    begin_call();
    if (const error e = advance(); failed(e))
        return {0, e};
    flush();
    range_cursor from(ranges);
    if (from.is_at_end())
        return {};
    if (failed(write_failure_))
        return {0, write_failure_};
    if (waiting() > 0)
        // and half a message about keys is of no matter before there is room
        return {0, error::again};
    std::size_t octets = 0;
    // The last octet of the write before is a record already. It was told to be unwritten, so that
    // the caller offers it once more, and is left out here.
    if (std::exchange(owes_octet_, false)) {
        from.advance(1);
        octets = 1;
    }
    while (!from.is_at_end()) {
        octets += write_records(from);
        flush();
        if (failed(failure_) || failed(write_failure_) || awaits_input_ || waiting() > 0)
            break;
        if (from.is_at_end())
            return {octets, error::none};
        // A thread that waits to read goes first.
        turn.unlock();
        if (octets >= most_octets_in_write || !turn.try_lock())
            return {octets, error::busy};
        if (failed(advance()))
            return {octets, error::none};
    }
    // The caller would not come back for records of which it thinks that all has gone.
    if (waiting() > 0 && octets > 0) {
        owes_octet_ = true;
        --octets;
    }
    if (octets > 0)
        return {octets, error::none};
    const error reason = failed(failure_) ? failure_.load() : write_failure_.load();
    return {0, failed(reason) ? reason : error::again};
}

/// A batch. Returns how many octets. A batch is what a reader may have to wait for, and what a
/// connection keeps of a full stream.
std::size_t tls_stream::write_records(range_cursor &from) noexcept {
    std::size_t octets = 0;
    for (std::size_t i = 0; i < records_at_once && !from.is_at_end(); ++i) {
        const byte_span record = next_record(from);
        if (!write_record(record))
            break;
        octets += record.size();
    }
    return octets;
}

/// OpenSSL reads what it needs to write, if it is within a message about keys, and then does not
/// read ahead. It is called with no record waiting, but those of this batch. Reading ahead would
/// take records that the reader, asleep on the descriptor, would not hear of.
bool tls_stream::write_record(byte_span octets) noexcept {
    std::size_t written = 0;
    ERR_clear_error();
    const bool reads_first = has_half_a_message();
    if (reads_first)
        SSL_set_read_ahead(tls_.get(), 0);
    const int result = SSL_write_ex(tls_.get(), octets.data(), octets.size(), &written);
    if (reads_first)
        SSL_set_read_ahead(tls_.get(), 1);
    if (result == 1) {
        awaits_input_ = false;
        // The new key is for what comes behind this record.
        if (++records_ % records_of_a_key == 0)
            (void)SSL_key_update(tls_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
        return true;
    }
    awaits_input_ = fail(result) == error::again;
    return false;
}

/// Hands records on. On the loop's thread, sees to it that it is called again while some wait. What
/// has begun to go out goes on at the octet where it stopped. After a failure the rest is dropped:
/// a peer cannot read behind a hole.
void tls_stream::flush() noexcept {
    while (waiting() > 0) {
        const iovec range{out_.data() + out_at_, waiting()};
        const io_result result = bytes_->try_write({&range, 1});
        out_at_ += result.octets;
        if (failed(result.status) && result.status != error::again) {
            write_failure_.store(result.status);
            break;
        }
        if (result.octets < range.iov_len) {
            // Other threads are told by what try_write() answers, and see to it themselves.
            if (is_on_loop() && !is_leased_)
                bytes_->wait_writable();
            return;
        }
    }
    out_.clear();
    out_at_ = 0;
    // An idle connection keeps no memory: the thread that wrote gets it, and the next one that
    // writes on it.
    if (out_.capacity() > 0) {
        spare_memory::swap_records(out_);
        std::vector<std::uint8_t>().swap(out_);
    }
    if (std::exchange(is_finishing_, false) && !failed(write_failure_))
        (void)bytes_->finish_writing();
}

std::size_t tls_stream::unconfirmed() noexcept {
    const std::lock_guard turn(turn_);
    return bytes_->unconfirmed() + waiting();
}

bool tls_stream::is_flushed() const noexcept {
    const std::lock_guard turn(turn_);
    return waiting() == 0 && !failed(write_failure_);
}

}  // namespace zlink
