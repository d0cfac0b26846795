// The records of a peer on their way to OpenSSL: few records at a time, so that who reads can stop
// between any two.
//
// Why:      OpenSSL goes on with what it has been given until there is something for the
//           application: hundreds of messages about keys stand in what one read brings, and each of
//           them costs as much as thirty small records.
// Order:    large records go on together. A small one is the last of those it comes with: what has
//           been read behind it waits here.
// Memory:   as much as a read brings, and only while something waits. Where there is none, all goes
//           on together.
// Threads:  for who has the turn.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/bytes.hpp"

namespace zlink {

class tls_records {
public:
    /// Octets of a record's body, from which on others may follow it at once.
    static constexpr std::size_t large = 8 * 1024;

    /// The next octets of the stream: how many of them to hand on. The others wait here.
    std::size_t take(byte_span octets) noexcept;
    /// Takes octets that are handed on whatever they are.
    void pass(byte_span octets) noexcept;
    /// Hands out of what waits, as read(2) does.
    std::size_t give(void *out, std::size_t size) noexcept;
    bool is_empty() const noexcept { return given_ == waiting_.size(); }
    /// Whether what waits brings OpenSSL any further: all of a record, or what it refuses by the
    /// header alone.
    bool hold_one() const noexcept;

private:
    std::size_t follow(byte_span octets) noexcept;

    std::vector<std::uint8_t> waiting_;
    std::size_t given_ = 0;
    // The record under way
    std::array<std::uint8_t, 5> header_{};
    std::size_t of_header_ = 0;  // octets, of those that have come
    std::size_t of_body_ = 0;    // octets that have not come yet, once the header has
};

}  // namespace zlink
