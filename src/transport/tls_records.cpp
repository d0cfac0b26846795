// The walk over the headers of records, which says where octets are cut; see tls_records.hpp.
#include "transport/tls_records.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <openssl/ssl.h>

namespace zlink {

static_assert(SSL3_RT_HEADER_LENGTH == 5);

/// Up to the end of a small record, if there is one.
std::size_t tls_records::follow(byte_span octets) noexcept {
    std::size_t at = 0;
    while (at < octets.size()) {
        if (of_header_ < header_.size()) {
            header_[of_header_++] = octets[at++];
            if (of_header_ == header_.size())
                of_body_ = get_u16(header_.data() + 3);
        }
        if (of_header_ < header_.size())
            continue;
        const std::size_t step = std::min(of_body_, octets.size() - at);
        at += step;
        of_body_ -= step;
        if (of_body_ > 0)
            continue;
        of_header_ = 0;
        if (get_u16(header_.data() + 3) < large)
            break;
    }
    return at;
}

std::size_t tls_records::take(byte_span octets) noexcept {
    const std::size_t count = follow(octets);
    if (count == octets.size())
        return count;
    try {
        waiting_.assign(octets.begin() + static_cast<std::ptrdiff_t>(count), octets.end());
        given_ = 0;
        return count;
    } catch (const std::bad_alloc &) {
        pass(octets.subspan(count));
        return octets.size();
    }
}

void tls_records::pass(byte_span octets) noexcept {
    while (!octets.empty())
        octets = octets.subspan(follow(octets));
}

bool tls_records::hold_one() const noexcept {
    const std::size_t size = waiting_.size() - given_;
    if (of_header_ == header_.size())
        return size > 0 && size >= of_body_;
    if (of_header_ > 0 || size < header_.size())
        return of_header_ > 0 && size > 0;
    const std::size_t body = get_u16(waiting_.data() + given_ + 3);
    return size - header_.size() >= body || body > SSL3_RT_MAX_ENCRYPTED_LENGTH;
}

std::size_t tls_records::give(void *out, std::size_t size) noexcept {
    const byte_span next(waiting_.data() + given_, std::min(size, waiting_.size() - given_));
    const std::size_t count = follow(next);
    std::memcpy(out, next.data(), count);
    given_ += count;
    if (is_empty()) {
        std::vector<std::uint8_t>().swap(waiting_);
        given_ = 0;
    }
    return count;
}

}  // namespace zlink
