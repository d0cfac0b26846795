// The two halves of a local socket whose octets go through memory that both sides share, once one
// zlink has sent another one much.
//
// Offer:    Who has sent much sends a ring beside some octets, as a descriptor. A peer that does
//           not ask for descriptors never notices. One that does maps the ring and says so in it.
//           From the octet on that the sender then names there, all further ones of its direction
//           lie in the ring.
// Waiting:  for the socket, as ever. Its octets mean nothing any more: a bell is one of them, for a
//           reader that has said that it waits. A writer that finds the ring full fills the socket
//           with them, and the reader takes them out when there is room again. So who waits for the
//           socket hears of input, of room and of the end of the stream.
// Strange:  descriptors that are no ring are closed elsewhere (passed_descriptors.hpp).
// Threads:  each half is used by one thread at a time.
#pragma once

#include "transport/shared_ring.hpp"
#include "transport/transport.hpp"

namespace zlink {

class ring_output {
public:
    /// `ring_size`: octets of shared memory to offer; 0: none.
    explicit ring_output(std::size_t ring_size) noexcept
        : ring_size_(ring_size), state_(ring_size ? state::plain : state::plain_for_good) {}

    /// Does stream::try_write().
    io_result write(int socket, std::span<const iovec> ranges) noexcept;

private:
    enum class state { plain, offering, offered, shared, plain_for_good };

    void go_on(int socket) noexcept;
    void give_up() noexcept;
    io_result write_plain(int socket, std::span<const iovec> ranges) noexcept;
    io_result write_ring(int socket, std::span<const iovec> ranges) noexcept;
    error wait_for_room(int socket) noexcept;

    const std::size_t ring_size_;
    state state_;
    std::uint64_t octets_ = 0;      // written to the socket before the ring was used
    std::uint64_t in_stream_ = 0;   // of these, in large writes
    std::uint64_t offered_at_ = 0;  // of these, when the ring was sent
    bool has_rung_ = false;         // in the last write: the peer was there
    owned_descriptor to_give_;
    shared_ring ring_;
};

class ring_input {
public:
    /// `may_accept`: a ring, should the other side offer one. `brings_descriptors`: the socket does
    /// not refuse them.
    explicit ring_input(bool may_accept, bool brings_descriptors = true) noexcept
        : may_accept_(may_accept), brings_descriptors_(brings_descriptors) {}

    /// Does stream::try_read().
    io_result read(int socket, std::span<const iovec> ranges) noexcept;
    /// Whether there may be octets that the socket does not show: after a read that filled its
    /// ranges.
    bool may_hold_octets() const noexcept { return ring_is_ == in_use::read; }
    bool brings_descriptors() const noexcept { return brings_descriptors_; }

private:
    enum class in_use : std::uint8_t {
        no,
        read,
        armed  // it was empty, and the other side rings when it is not
    };

    io_result read_socket(int socket, std::span<const iovec> ranges) noexcept;
    io_result take_bells(int socket, std::size_t most) noexcept;
    io_result read_ring(int socket, range_cursor to) noexcept;
    void give_back(int socket) noexcept;

    std::uint64_t octets_ = 0;  // read from the socket before the ring was used
    bool may_accept_;           // and was not offered one yet
    const bool brings_descriptors_;
    in_use ring_is_ = in_use::no;
    shared_ring ring_;
};

}  // namespace zlink
