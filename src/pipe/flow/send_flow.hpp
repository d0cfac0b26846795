// The flow of messages out of one end of a pipe: all that the end remembers of the past to say when
// it writes for itself, when it pays for a fence, and when it looks how far it is ahead.
//
// Layout:   the short ways; sleepers, and the fences for them; when the end writes for itself;
//           large bodies; the backlog. All of it is pure: it is told the counts, and the pace of
//           the socket, which is one for all its pipes. Who writes is said by write_policy.
// Threads:  the one that has the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "pipe/account.hpp"
#include "pipe/flow/pace.hpp"
#include "pipe/flow/write_policy.hpp"

namespace zlink {

/// Messages are counted from the first on; `written`: as writers_account::written().
class send_flow {
public:
    // ---- the short ways ----

    bool may_write_short(std::uint64_t written) const noexcept { return written < short_until_; }
    void end_short_writes() noexcept { short_until_ = 0; }
    /// Whether each publish has more to decide than whether the reader sleeps.
    bool forbids_short_writes() const noexcept { return fences_ || has_large(); }
    /// They go on until so much is written, or the end is to write for itself, or to look how far
    /// ahead it is.
    void allow_short_writes(std::uint64_t written, std::uint64_t full_at) noexcept {
        short_until_ = std::min({std::max(written, write_due_ - 1), next_backlog_check_, full_at});
    }

    // ---- sleepers ----

    void note_publish() noexcept { ++publishes_since_wake_; }
    /// Whether so many were published without a wake-up that they make a stream.
    bool is_stream() const noexcept { return publishes_since_wake_ >= fewest_messages_of_stream; }
    /// Whether each publish pays for a full fence: a reader that sleeps after every few messages
    /// would pay a heavy one each time.
    bool fences() const noexcept { return fences_; }
    void end_fences() noexcept { fences_ = false; }
    /// True when they have begun with this.
    bool begin_fences() noexcept {
        if (fences_)
            return false;
        return fences_ = true;
    }
    /// A message found the reader asleep.
    void note_sleeper() noexcept {
        publishes_since_wake_ = 0;
        end_short_writes();
    }

    // ---- writes for a sleeper ----

    /// Whether this end has taken something since the last call of note_taken().
    bool has_taken_since(std::uint64_t taken) const noexcept {
        return taken_at_wake_ != static_cast<std::uint32_t>(taken);
    }
    void note_taken(std::uint64_t taken) noexcept { taken_at_wake_ = static_cast<std::uint32_t>(taken); }
    /// Does pace::allows() for the message that has just been published.
    bool allows_write(pace &owners, bool is_awaited) noexcept {
        return owners.allows(publishes_since_wake_, burst_habit_, is_awaited);
    }
    void note_written(pace &owners) noexcept { owners.note_written(burst_habit_); }

    // ---- writes of a stream ----

    /// Has found the stream full.
    void note_full(const pace &owners) noexcept { full_at_ = owners.now(); }
    bool looks_again(const pace &owners) const noexcept { return owners.looks_again(full_at_); }
    bool is_write_due(std::uint64_t written) const noexcept { return written >= write_due_; }
    /// Measures the messages since the last call. `octets`: written, with those of commands.
    [[gnu::always_inline]] void measure(std::uint64_t written, std::uint64_t octets) noexcept {
        octets -= octets_uncounted_;
        if (written > write_planned_)
            octets_each_ = (octets - octets_planned_) / (written - write_planned_);
        write_planned_ = written;
        octets_planned_ = octets;
    }
    /// Octets of a message, on average, as measured last.
    std::uint64_t octets_each() const noexcept { return octets_each_; }
    /// Says when the end looks next whether to write for itself.
    [[gnu::always_inline]] void plan_write(const write_policy::stream_so_far &now) noexcept {
        write_due_ = write_policy::next_look(now);
    }
    /// Octets in bodies that nobody copies are not counted for a batch; less those that were rolled
    /// back between sockets.
    void leave_out(std::uint64_t octets) noexcept { octets_uncounted_ += octets; }
    void take_back(std::uint64_t octets) noexcept { octets_uncounted_ -= octets; }
    /// So many are left written after a rollback, towards a connection.
    void roll_back_to(std::uint64_t octets) noexcept { octets_planned_ = std::min(octets_planned_, octets); }

    // ---- large bodies ----

    void note_large(std::size_t octets) noexcept { large_unpublished_ += octets; }
    bool has_large() const noexcept { return large_unpublished_ > 0; }
    /// Octets of those that are not published.
    std::size_t take_large() noexcept { return std::exchange(large_unpublished_, 0); }
    /// So many are published in all; of what, large_under_way() says.
    void note_published(std::uint64_t octets) noexcept { large_published_ = octets; }
    std::uint64_t large_published() const noexcept { return large_published_; }
    /// Octets of large bodies that are published and not taken, with so many octets taken.
    std::uint64_t large_under_way(std::uint64_t taken) noexcept {
        if (taken > large_published_)
            large_published_ = taken;
        return large_published_ - taken;
    }

    // ---- the backlog ----

    bool is_backlog_check_due(std::uint64_t written) const noexcept { return written >= next_backlog_check_; }
    void begin_backlog_window(std::uint64_t written) noexcept {
        next_backlog_check_ =
            written + (write_planned_ == 0
                           ? messages_of_first_window
                           : std::clamp<std::uint64_t>(octets_of_window / (octets_each_ + 1), 1,
                                                       readers_account::most_messages_until_seen));
    }
    /// There was no room for the next message. Whether that is new: who waits for room asks again
    /// and again.
    bool note_fullness(std::uint64_t written) noexcept {
        const auto digits = static_cast<std::uint16_t>(written);
        return std::exchange(full_with_, digits) != digits;
    }

private:
    /// Publishes without a wake-up.
    static constexpr std::uint32_t fewest_messages_of_stream = 64;
    static constexpr std::uint64_t octets_of_window = 512 * 1024;  // decision 0008
    static constexpr std::uint64_t messages_of_first_window = 64;  // of which nothing is known

    // Looked at with each message: none of it in the cache line of the end's receiver.
    std::uint64_t short_until_ = 0;  // may_write_short() as long as less was written
    std::uint64_t octets_uncounted_ = 0;
    std::uint64_t write_due_ = 1;           // the end writes for itself when so many are written
    std::uint64_t write_planned_ = 0;       // messages written when that was set
    std::uint64_t octets_planned_ = 0;      // octets written, as batches count them, at that time
    std::uint64_t octets_each_ = 0;         // of a message, on average, in the batch before that
    std::uint64_t next_backlog_check_ = 0;  // is_backlog_check_due() from here on
    std::uint32_t publishes_since_wake_ = 0;
    // at the last message that found a sleeper; the last digits
    std::uint32_t taken_at_wake_ = 0;
    std::size_t large_unpublished_ = 0;  // octets of large bodies
    [[no_unique_address]] burst_habit burst_habit_;
    // as pipe_direction::writer_fences: few publishes for each wake-up
    bool fences_ = true;
    std::uint16_t full_with_ = 0;        // messages written when there was no room; the last digits
    time_point full_at_{};               // after a write of this thread
    std::uint64_t large_published_ = 0;  // as pipe_direction::large_taken
};

}  // namespace zlink
