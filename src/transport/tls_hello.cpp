// The ClientHello gathered record by record; see tls_hello.hpp. Map: what a record's header says;
// reading; whether it is whole; giving it to OpenSSL.
#include "transport/tls_hello.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <openssl/ssl.h>

#include "core/bytes.hpp"

namespace zlink {

namespace {

constexpr std::size_t record_header_size = SSL3_RT_HEADER_LENGTH;
constexpr std::size_t message_header_size = SSL3_HM_HEADER_LENGTH;
constexpr std::size_t step = 512;  // of memory
/// OpenSSL refuses a longer record by its header, however it was built.
constexpr std::size_t most_octets_awaited =
    SSL3_RT_MAX_PLAIN_LENGTH + SSL3_RT_MAX_COMPRESSED_OVERHEAD + SSL3_RT_MAX_ENCRYPTED_OVERHEAD;

/// With its header. 0: OpenSSL refuses it by the header alone.
std::size_t size_of_record(const std::uint8_t *header) noexcept {
    // SSL 2 had it so: OpenSSL still reads one.
    if ((header[0] & 0x80) && header[2] == SSL2_MT_CLIENT_HELLO)
        return 2u + (get_u16(header) & 0x7fff);
    const std::size_t length = get_u16(header + 3);
    return header[1] == SSL3_VERSION_MAJOR && length <= most_octets_awaited ? record_header_size + length : 0;
}

}  // namespace

error tls_hello::take(stream &from) noexcept {
    for (;;) {
        std::uint8_t octets[4096];
        const iovec range{octets, std::min(sizeof octets, most_octets - octets_.size())};
        const io_result result = from.try_read({&range, 1});
        if (result.octets == 0) {
            if (!failed(result.status) || result.status == error::again)
                return error::again;
            end_ = result.status;
            return error::none;
        }
        try {
            keep(octets, result.octets);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
        const progress now = look();
        if (now == progress::is_due)
            return error::none;
        if (now == progress::is_refused || octets_.size() == most_octets)
            return error::protocol;
        if (result.octets < range.iov_len)
            return error::again;
    }
}

/// Grows by little: many peers may have something here.
void tls_hello::keep(const std::uint8_t *octets, std::size_t size) {
    const std::size_t sum = octets_.size() + size;
    if (sum > octets_.capacity())
        octets_.reserve((sum + step - 1) / step * step);
    octets_.insert(octets_.end(), octets, octets + size);
}

tls_hello::progress tls_hello::look() noexcept {
    while (octets_.size() - record_at_ >= record_header_size) {
        const std::size_t size = size_of_record(octets_.data() + record_at_);
        if (size == 0)
            return progress::is_due;
        if (size == record_header_size ||
            size > most_octets - record_at_)  // RFC 8446 §5.1: no empty fragments
            return progress::is_refused;
        if (size > octets_.size() - record_at_)
            return progress::under_way;
        if (const progress now = look_at_record(size); now != progress::under_way)
            return now;
        record_at_ += size;
    }
    return progress::under_way;
}

tls_hello::progress tls_hello::look_at_record(std::size_t size) noexcept {
    const std::uint8_t *const record = octets_.data() + record_at_;
    if (record[0] != SSL3_RT_HANDSHAKE)
        return progress::is_due;
    std::size_t at = record_header_size;
    for (; at < size && of_message_ < message_header_size; ++at, ++of_message_)
        begin_ = begin_ << 8 | record[at];
    of_message_ += size - at;
    if (of_message_ < message_header_size)
        return progress::under_way;
    const std::size_t length = begin_ & 0xffffff;
    if (begin_ >> 24 != SSL3_MT_CLIENT_HELLO || of_message_ >= message_header_size + length)
        return progress::is_due;
    return message_header_size + length > most_octets ? progress::is_refused : progress::under_way;
}

std::size_t tls_hello::give(void *out, std::size_t size) noexcept {
    const std::size_t count = std::min(size, octets_.size() - given_);
    std::memcpy(out, octets_.data() + given_, count);
    given_ += count;
    if (is_empty()) {
        std::vector<std::uint8_t>().swap(octets_);
        given_ = 0;
    }
    return count;
}

}  // namespace zlink
