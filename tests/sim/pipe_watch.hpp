// The pipes of a run, where the threads of sockets and loops meet: how often they get in each
// other's way, and faults between them.
//
// Seam:     the linker hands the calls of the library by which a pipe is made, gets a peer, wakes
//           its other end, is closed, or has its turn claimed to the functions in pipe_watch.cpp,
//           which go on to the real ones.
// Threads:  those of one world.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pipe/pipe.hpp"
#include "planted.hpp"

namespace zlink::sim {

class world;

class pipe_watch {
public:
    explicit pipe_watch(world &owner) noexcept : world_(owner) {}

    struct counts {
        std::uint64_t refused_turns = 0;  // somebody was refused while a sender wrote
        std::uint64_t claimed_turns = 0;  // by the end of a connection, while a sender wrote
        std::uint64_t recalls = 0;        // of leases in use
        // Pipes, by their sockets, while the connection was leased.
        std::uint64_t closed_leased = 0;

        counts &operator+=(const counts &more) noexcept {
            refused_turns += more.refused_turns;
            claimed_turns += more.claimed_turns;
            recalls += more.recalls;
            closed_leased += more.closed_leased;
            return *this;
        }
    };
    const counts &seen() const noexcept { return seen_; }
    /// Messages in pipes of connections that have come and gone before their socket looked.
    std::uint64_t withdrawn() const noexcept { return withdrawn_; }

    // ---- where the world sees threads pass by ----

    /// A thread is about to sleep: what it has asked for may be given to it behind the loop's back
    /// (planted).
    void note_sleep() noexcept;
    /// Somebody is woken.
    void note_signal() noexcept;
    /// A sender has written to its stream, and is about to give the turn back.
    void note_write() noexcept;

    /// Whether a borrower is still at a stream that the loop believes to be its own (planted).
    bool is_read_on() const noexcept;

    /// Says how often the lease of the stream with this descriptor was used: also to take what was
    /// kept back at the mark, which reads nothing.
    std::uint32_t uses_of(int descriptor) const noexcept;

    // ---- what pipe_watch.cpp hears of the library ----

    void note_made(const pipe_end_ptr &connections) noexcept;
    void note_peer(const pipe_end &end, const peer_info &peer) noexcept;
    /// False when the wake is to be lost (planted).
    bool note_wake(const pipe_end &end) noexcept;
    void note_end_of_use(const pipe_end &end) noexcept;
    void note_close(const pipe_end &end) noexcept;
    void note_refused_claim() noexcept { ++seen_.claimed_turns; }
    void note_withdrawn(std::uint64_t messages) noexcept { withdrawn_ += messages; }

private:
    struct watched_pipe {
        std::weak_ptr<pipe_end> connections;
        const pipe_end *sockets;
        bool is_refused = false;  // somebody, as of the sender's last write
        bool is_read_on = false;  // although its lease is thought to have ended (planted)
        int descriptor = -1;      // of the connection that is there
    };
    struct kept_turn {
        pipe_end_ptr pipe;
        writing turn;
    };
    template <class What>
    void for_each_lease(What &&what) noexcept;

    world &world_;
    std::vector<watched_pipe> pipes_;
    std::vector<kept_turn> kept_;  // planted
    counts seen_;
    std::uint64_t withdrawn_ = 0;
};

}  // namespace zlink::sim
