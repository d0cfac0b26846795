// The account of one direction of a pipe: what its writer has written, what its reader has taken,
// and what of that each side knows.
//
// Steps:    neither side looks at the other's count for each message. The reader tells what it has
//           taken once in a step, half a mark at most. What the writer has not heard of is under
//           way for it, and it asks again when that comes up to the mark.
// Octets:   as on the wire, with headers and commands. Each end of the queue knows them by the
//           place where it is, so that they cost a message nothing (decision 0029).
// Threads:  the writer's half and the reader's half belong to one thread each. Every thread may
//           look at a `single_writer`, and at the sum of an `octets_before`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "core/raise_to.hpp"

namespace zlink {

/// A number that one thread changes and every thread may look at. Who sees a value sees all that
/// its writer did before it. The writer itself reads it as any number, since nobody else changes
/// it.
class single_writer {
public:
    constexpr single_writer(std::uint64_t first = 0) noexcept : value_(first) {}
    operator std::uint64_t() const noexcept { return value_; }
    single_writer &operator=(std::uint64_t value) noexcept {
        __atomic_store_n(&value_, value, __ATOMIC_RELEASE);
        return *this;
    }
    single_writer &operator+=(std::uint64_t more) noexcept { return *this = value_ + more; }
    /// For another thread.
    std::uint64_t look() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

private:
    alignas(8) std::uint64_t value_;
};

/// The octets in front of the segment in which an end of a queue is. How far it is in that segment
/// is counted apart, for each frame, and this once in a segment. Less than 0 where frames are
/// shorter on the wire than in the queue.
class octets_before {
public:
    operator std::uint64_t() const noexcept { return number_of(word_.load(std::memory_order_relaxed)); }
    void add(std::uint64_t octets) noexcept { store(*this + octets, false); }
    /// The end goes to a segment that begins behind so many octets, to a `place` in it that
    /// `enter()` stores.
    template <class Enter>
    void move_to(std::uint64_t octets, std::uint64_t place, Enter &&enter) noexcept {
        store(octets + place, true);
        enter();
        store(octets, false);
    }
    /// The end is in a segment whose octets do not count: the sum is this number until the end
    /// moves on.
    void stay() noexcept { store(*this, true); }
    /// The sum. Any thread; `within()` says where the end is in its segment.
    template <class Within>
    std::uint64_t with(Within &&within) const noexcept {
        for (;;) {
            const std::uint64_t word = word_.load(std::memory_order_acquire);
            if (word & is_sum)
                return number_of(word);
            const std::uint64_t sum = number_of(word) + within();
            if (word_.load(std::memory_order_relaxed) == word)
                return sum;
        }
    }

private:
    // In the last bit: the number in front of it is the sum, wherever the end is in its segment.
    static constexpr std::uint64_t is_sum = 1;
    static constexpr std::uint64_t number_of(std::uint64_t word) noexcept {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(word) >> 1);
    }
    void store(std::uint64_t octets, bool all) noexcept {
        word_.store(octets << 1 | (all ? is_sum : 0), std::memory_order_release);
    }

    std::atomic<std::uint64_t> word_{0};
};

/// Messages, and octets with which they went.
struct amount {
    std::uint64_t messages = 0;
    std::uint64_t octets = 0;

    constexpr amount &operator+=(const amount &more) noexcept {
        messages += more.messages;
        octets += more.octets;
        return *this;
    }
    constexpr void keep_most(const amount &other) noexcept {
        messages = std::max(messages, other.messages);
        octets = std::max(octets, other.octets);
    }
    friend constexpr bool operator==(const amount &, const amount &) = default;
};

/// The most that was seen under way. Any thread may note and look; of messages and octets each has
/// its own.
class highest_seen {
public:
    void note(const amount &now) noexcept {
        (void)raise_to(messages_, now.messages);
        (void)raise_to(octets_, now.octets);
    }
    amount look() const noexcept {
        return {messages_.load(std::memory_order_relaxed), octets_.load(std::memory_order_relaxed)};
    }

private:
    std::atomic<std::uint64_t> messages_{0};
    std::atomic<std::uint64_t> octets_{0};
};

/// The messages that went one way through a pipe, up to now. One thread takes while another one
/// looks: nothing is less than 0.
struct passage {
    amount published;  // the octets with what is written and not published yet
    amount taken;
    std::uint64_t replaced = 0;  // messages that a newer one came before (ZMQ_CONFLATE)

    constexpr amount under_way() const noexcept {
        return {published.messages - std::min(published.messages, taken.messages + replaced),
                published.octets - std::min(published.octets, taken.octets)};
    }
};

/// The writer's half, in messages. A mark of 0 is none.
class writers_account {
public:
    /// Published or not.
    [[gnu::always_inline]] std::uint64_t written() const noexcept { return written_; }
    [[gnu::always_inline]] std::uint64_t published() const noexcept { return published_; }
    std::uint64_t look_at_published() const noexcept { return published_.look(); }
    bool has_unpublished() const noexcept { return written_ != published_; }
    void write(std::uint64_t messages) noexcept { written_ = written_ + messages; }
    [[gnu::always_inline]] void publish() noexcept { published_ = written_; }
    /// Writes and publishes one message, where all before it is published.
    [[gnu::always_inline]] void write_at_once() noexcept {
        const std::uint64_t now = written_ + 1;
        written_ = now;
        published_ = now;
    }
    void roll_back() noexcept { written_ = published_; }

    /// Told by the reader, when the writer asked last.
    std::uint64_t returned() const noexcept { return returned_; }
    void hear(std::uint64_t returned) noexcept { returned_ = returned; }
    bool has_room(std::uint64_t mark) const noexcept { return unreturned() < mark || mark == 0; }
    std::uint64_t credit(std::uint64_t mark) const noexcept {
        if (mark == 0)
            return std::numeric_limits<std::uint64_t>::max();
        return unreturned() < mark ? mark - unreturned() : 0;
    }
    /// The value of written() when there is no room any more, as far as the reader has told.
    std::uint64_t full_at(std::uint64_t mark) const noexcept {
        return mark == 0 ? std::numeric_limits<std::uint64_t>::max() : std::max(written_, returned_ + mark);
    }
    /// Whether more is under way than the mark allows, with so many returned just now.
    bool is_beyond(std::uint64_t mark, std::uint64_t returned) const noexcept {
        return mark != 0 && written_ - returned > mark;
    }

private:
    std::uint64_t unreturned() const noexcept { return written_ - returned_; }

    std::uint64_t written_ = 0;
    single_writer published_;
    std::uint64_t returned_ = 0;
};

/// The reader's half. It tells what it has taken when it has taken a step of messages, or many
/// octets of large bodies, or nothing is left.
class readers_account {
public:
    /// The writer may want to know how far the reader is after so many messages, at the latest.
    static constexpr std::uint64_t most_messages_until_seen = 1024;
    static constexpr std::uint64_t most_octets_untold = 8 * 1024 * 1024;
    /// The messages that a reader may take before it returns their credit.
    static constexpr std::uint64_t step(std::uint64_t mark) noexcept {
        constexpr std::uint64_t step_without_mark = 1024;
        return mark ? (mark + 1) / 2 : step_without_mark;
    }

    [[gnu::always_inline]] std::uint64_t taken() const noexcept { return taken_; }
    std::uint64_t look_at_taken() const noexcept { return taken_.look(); }
    /// True when it is time to ask owes().
    [[gnu::always_inline]] bool take(std::uint64_t messages) noexcept {
        const std::uint64_t now = taken_ + messages;
        taken_ = now;
        return now >= ask_at_;
    }
    /// Takes one message, unless it is time to ask then.
    [[gnu::always_inline]] bool may_take_at_once() const noexcept { return taken_ + 1 < ask_at_; }
    [[gnu::always_inline]] void take_at_once() noexcept { taken_ = taken_ + 1; }
    /// Octets of large bodies were taken, so many in all.
    void note_large(std::uint64_t octets) noexcept {
        if (octets - octets_told_ >= most_octets_untold)
            ask_at_ = 0;
    }
    /// Whether taken() is to be told now. `octets`: as for note_large().
    bool owes(std::uint64_t mark, std::uint64_t octets) const noexcept {
        return taken_ >= told_ + step(mark) || (octets - octets_told_ >= most_octets_untold && is_ahead());
    }
    /// Whether messages were taken that were not told.
    bool is_ahead() const noexcept { return taken_ != told_; }
    void tell(std::uint64_t octets) noexcept {
        told_ = taken_;
        octets_told_ = octets;
    }
    /// Puts off owes() until the step is full, or the writer may want to know how far the reader
    /// is.
    void put_off(std::uint64_t mark) noexcept {
        ask_at_ = std::min<std::uint64_t>(told_ + step(mark), taken_ + most_messages_until_seen);
    }

private:
    single_writer taken_;
    std::uint64_t told_ = 0;
    std::uint64_t ask_at_ = 1;       // take() says so from here on
    std::uint64_t octets_told_ = 0;  // of large bodies, when taken_ was told last
};

}  // namespace zlink
