// Says which thread writes what was published to a connection, the one that sends or the I/O
// thread; when, and how much of it.
//
// Layout:   when the sender looks next whether to write; what it does once it has published; what
//           follows a write of its own; how much goes out at a time; what the I/O thread may leave
//           for later. All of it is pure: it is told the facts, and asks for no more of them than
//           it needs. All memory of the past stands elsewhere: in `send_flow`, in `pace`, and in
//           the I/O thread's `io_pause`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pipe/connection_port.hpp"

namespace zlink::write_policy {

// ---- When the sender looks next -----------------------------------------------------------------

/// At most after so many messages: a batch of the smallest takes long to come together.
inline constexpr std::uint64_t most_messages_to_write = 1024;

/// All in messages but what is said to be in octets.
struct stream_so_far {
    std::uint64_t written;
    // Those returned, as far as was looked at; needed only where there is a mark.
    std::uint64_t returned;
    std::uint64_t mark;         // 0: there is none
    std::uint64_t octets_each;  // on the wire
    std::uint64_t batch;        // octets
};

/// In a stream without waits the sender writes for itself once a batch has come together, by the
/// size of the messages before. Not later than at its mark, where it could only wait, or drop.
/// Returns how many will be written then.
[[gnu::always_inline]] constexpr std::uint64_t next_look(const stream_so_far &now) noexcept {
    const std::uint64_t due =
        now.written + std::clamp<std::uint64_t>(now.batch / (now.octets_each + 1), 1, most_messages_to_write);
    return now.mark == 0 ? due : std::min(due, std::max(now.written + 1, now.returned + now.mark));
}

// ---- Once a message is published ----------------------------------------------------------------

/// A larger body fills this processor's cache, and has to be left to the I/O thread anyway, unless
/// it may be waited for. While the stream takes what it is given, a smaller one is cheapest to
/// write while it is in the cache.
inline constexpr std::size_t largest_to_write = 1024 * 1024;
/// The part of a body that does not fill a piece is left for the next write, or for the I/O thread,
/// which has to be awake for that. A body of so many pieces goes out whole: its last part matters
/// less, and the I/O thread can sleep.
inline constexpr std::size_t most_pieces_to_fill = 3;

/// A larger body may not fit into a stream within one machine (local_tcp in transport) at once.
inline constexpr std::size_t most_pieces_without_waits = 2;

enum class senders_part {
    none_yet,    // too little has come together
    left,        // the I/O thread's, and the batch begins anew
    all,         // the sender writes what there is
    pieces,      // the sender writes what fills pieces, and leaves the rest for the next time
    with_waits,  // the sender writes, and waits for room in the stream
};

/// `now` answers is_due() (as next_look() said), large() (octets of large bodies just published),
/// written_alone_from(), may_write(), choose_to_wait(), piece(), has_credit() and
/// is_reader_armed().
template <class Facts>
[[gnu::always_inline]] inline senders_part after_publish(const Facts &now) noexcept {
    if (!now.is_due() && now.large() < now.written_alone_from())
        return senders_part::none_yet;
    if (!now.may_write())
        return senders_part::left;
    if (now.large() > largest_to_write)
        return now.choose_to_wait() ? senders_part::with_waits : senders_part::left;
    if (now.piece() != 0 && now.large() > most_pieces_without_waits * now.piece() && now.choose_to_wait())
        return senders_part::with_waits;
    // A sender at its mark writes nothing more that could fill the piece, and an I/O thread that
    // sleeps would not write the rest.
    const bool leaves_the_rest =
        now.large() < most_pieces_to_fill * now.piece() && now.has_credit() && !now.is_reader_armed();
    return leaves_the_rest ? senders_part::pieces : senders_part::all;
}

/// Whether the body of a message that is given to be copied goes out from where it is, and only
/// what the stream leaves of it is copied. A stream that is full is waited for by limiting the
/// backlog, unless one body is more than that allows. `now` answers is_served(), is_full(), size(),
/// choose_to_wait().
template <class Facts>
[[gnu::always_inline]] inline bool writes_in_place(const Facts &now) noexcept {
    return now.is_served() && (!now.is_full() || (now.size() > largest_to_write && now.choose_to_wait()));
}

/// Whether what was published is likely to be the answer that the peer waits for. Nobody but the
/// thread that has the lease would see the peer's next message, which the I/O thread might have
/// under way elsewhere. `now` answers has_taken_since() (the last message that found a sleeper),
/// is_leased(), shows_more().
template <class Facts>
[[gnu::always_inline]] inline bool is_awaited(const Facts &now) noexcept {
    return now.has_taken_since() && now.is_leased() && !now.shows_more();
}

// ---- Once the sender has written ----------------------------------------------------------------

/// Whether the sender looks for room: the end of a large message with nothing else under way should
/// not wait for the I/O thread. A stream that is leased, which `is_leased()` says, is waited for by
/// who has the lease.
template <class Ask>
[[gnu::always_inline]] constexpr bool looks_for_room(connection_port::written result, bool is_alone,
                                                     const Ask &is_leased) noexcept {
    return is_alone && result == connection_port::written::full && !is_leased();
}

/// Whether something is left that the I/O thread is not asleep for.
constexpr bool leaves_some(connection_port::written result) noexcept {
    return result == connection_port::written::some || result == connection_port::written::full;
}

/// For a sender that waits for room: whether it writes again before it asks the system for that. A
/// stream that was filled by a write has most often room again by then, since its reader goes on.
/// `took_some`: of large bodies. `is_claimed`: the end of the connection waits for the turn.
constexpr bool writes_again(connection_port::written result, bool took_some, bool is_claimed) noexcept {
    return leaves_some(result) && took_some && !(result == connection_port::written::full && is_claimed);
}
/// Whether it waits, where it does not write again.
constexpr bool waits_for_room(connection_port::written result, bool is_claimed) noexcept {
    return result == connection_port::written::full && !is_claimed;
}

/// Whether the I/O thread has to be woken for what is left, or for what it was refused.
template <class Ask>
[[gnu::always_inline]] constexpr bool wakes_io_thread(connection_port::written result, bool was_refused,
                                                      const Ask &is_leased) noexcept {
    return was_refused || result == connection_port::written::some ||
           (result == connection_port::written::full && !is_leased());
}

// ---- How much goes out --------------------------------------------------------------------------

/// The octets to write of what was listed; 0: they are held back. In a stream what does not fill a
/// piece is left for the next write. The first write of a call takes what there is, if it is less.
/// `piece` is 0 where the kernel sends what it gets.
constexpr std::size_t octets_to_write(std::size_t listed, std::size_t piece, connection_port::occasion when,
                                      bool is_first) noexcept {
    if (when != connection_port::occasion::stream || piece == 0 || listed == piece)
        return listed;
    if (listed > piece)
        return listed - listed % piece;
    return is_first ? listed : 0;
}

/// Writes until it is the turn of other connections of the same loop.
inline constexpr int writes_per_turn = 4;
/// The sender's own: it has nothing else to do, but should come to an end.
inline constexpr int senders_writes_per_turn = 8;

// ---- What the I/O thread may leave for later ----------------------------------------------------

/// After another thread was at the stream, which is for one at a time: about two turns of a reader.
/// A thread that polled instead might keep the reader from its processor.
inline constexpr duration pause_for_others = std::chrono::microseconds(100);

/// Less than this can wait: the sender writes about so much at once.
inline constexpr std::size_t octets_worth_a_write = 128 * 1024;

/// When a sender would soon be at its mark, its messages do not wait for others.
inline constexpr std::uint64_t least_mark_to_collect = 256;
constexpr bool may_collect_below(std::uint64_t mark) noexcept {
    return mark == 0 || mark >= least_mark_to_collect;
}

}  // namespace zlink::write_policy
