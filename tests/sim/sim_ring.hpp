// The local sockets and the shared rings of the simulator: those of life, between two ends of one
// process.
//
// Switches: the linker hands the steps that the two sides of a ring take in shared memory to
//           sim_ring.cpp, where others may go on before each of them.
#pragma once

#include <cstdint>

#include "core/bytes.hpp"
#include "dice.hpp"
#include "transport/ring_io.hpp"

namespace zlink::sim {

constexpr std::size_t sim_ring_size = 64 * 1024;
/// A ring and the buffers of a socket, both sides together.
constexpr std::size_t most_in_local = 1024 * 1024;

struct local_halves {
    explicit local_halves(std::size_t ring_size) noexcept : output(ring_size), input(ring_size > 0) {}
    ring_output output;
    ring_input input;
};

void make_local_pair(owned_descriptor (&ends)[2]);
/// Returns what poll(2) says of it now.
short local_events(int socket, short events) noexcept;
/// Both sides read to the end of what is there, and write nothing more.
void break_local_pair(const owned_descriptor (&ends)[2]) noexcept;
void end_local(const owned_descriptor &socket) noexcept;
void close_local(owned_descriptor &socket) noexcept;

/// A peer that offers a ring beside its first octets, and writes to its header what it likes.
class hostile_ring {
public:
    hostile_ring(int socket, byte_span octets, dice &chance);
    ~hostile_ring();
    hostile_ring(const hostile_ring &) = delete;
    hostile_ring &operator=(const hostile_ring &) = delete;
    void scribble(int socket, dice &chance) noexcept;

private:
    shared_ring ring_;
    std::uint8_t *header_ = nullptr;
    std::uint64_t octets_ = 0;
};

}  // namespace zlink::sim
