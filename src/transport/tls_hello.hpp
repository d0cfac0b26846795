// The first words of a client, kept until OpenSSL can do something with it.
//
// The state of OpenSSL takes some 45 KiB from its first call on, whatever has come. A peer that
// says nothing, or stops within its ClientHello, costs a server the octets that it has sent, and
// most_octets at most.
//
// Passed on: a whole ClientHello; or what OpenSSL refuses at once, so that it is OpenSSL who says
//            why; or the end of the stream.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/transport.hpp"

namespace zlink {

class tls_hello {
public:
    /// A ClientHello with all records it comes in. A ticket may be in it, with the certificate of a
    /// client: that is some KiB.
    static constexpr std::size_t most_octets = 16 * 1024 + 64;

    /// Reads ahead. none: it is OpenSSL's turn; again: more has to come; protocol: it is too long,
    /// or begins with an empty record, behind which OpenSSL would wait.
    error take(stream &from) noexcept;
    /// Hands out what has come, as read(2) does.
    std::size_t give(void *out, std::size_t size) noexcept;
    bool is_empty() const noexcept { return given_ == octets_.size(); }
    /// Why nothing comes behind it; none while something may.
    error end() const noexcept { return end_; }

private:
    enum class progress { under_way, is_due, is_refused };

    progress look() noexcept;
    progress look_at_record(std::size_t size) noexcept;
    void keep(const std::uint8_t *octets, std::size_t size);

    std::vector<std::uint8_t> octets_;
    std::size_t given_ = 0;
    std::size_t record_at_ = 0;   // the first that has not come as a whole
    std::uint32_t begin_ = 0;     // type and length of the message
    std::size_t of_message_ = 0;  // octets, in whole records
    error end_ = error::none;
};

}  // namespace zlink
