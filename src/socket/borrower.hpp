// Reads the connections of a socket on the socket's own thread while that thread has nothing else to do.
//
// Flow:     begin() takes what is lent into use, and asks for more when the thread waits often. The caller waits for the
//           descriptors and its own level together, calls go_on() with what is ready, and end().
// Limits:   a socket with many pipes leaves them to the I/O threads, and so does one that works long between its waits.
// Threads:  the socket's.
#pragma once

#include <array>
#include <span>

#include "core/waiter.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

class borrower {
public:
    static constexpr std::size_t most_pipes = 32;

    explicit borrower(const clock_source &clock) noexcept : clock_(clock) {}

    /// Takes the lent ones among `pipes` into use. `is_wait`: the thread is about to sleep.
    void begin(std::span<const pipe_end_ptr> pipes, bool is_wait) noexcept;
    std::size_t size() const noexcept { return size_; }
    /// Whether one is wanted back: end() instead of waiting.
    bool is_recalled() const noexcept;
    /// What to wait for from `now` on. Returns the number of items: size(), or 0 when they are listed already.
    std::size_t list(wait_item *items, time_point now) noexcept;
    /// Reads those that need not be waited for, and may not: a stream may hold octets that its descriptor does not show. True when
    /// something was published, or may still be. Behind a message that the pattern does not want now, octets may stay.
    bool read_more() noexcept {
        for (int turn = 0; turn < most_turns; ++turn) {
            bool has_read = false;
            if (read([&](std::size_t, use &u) {
                    if (!u.io->expects_more() || (turn > 0 && u.pipe->has_untaken()))
                        return false;
                    has_read = true;
                    return write_beside(u);
                }))
                return true;
            if (!has_read)
                return false;
        }
        return true;
    }
    /// Before a sleep: what read_more() let stay is for the I/O threads, since who sleeps would not hear of it.
    void leave_the_rest() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            used_[i].is_kept = used_[i].is_kept && !used_[i].io->expects_more();
    }
    /// Whether there is something to read from the first, without waiting for it.
    bool is_ready(waiter &how) const noexcept;
    /// Tries again to write what full streams did not take.
    void write_full() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            (void)write_beside(used_[i]);
    }
    /// Whether a full stream is all there is to wait for when nothing is to be read.
    bool is_held_up() const noexcept { return size_ == 1 && used_[0].io->is_full(); }
    /// Whether a large frame, or the rest of one, is likely to come next.
    bool expects_large() const noexcept { return size_ == 1 && used_[0].io->expects_large(); }
    /// Whether what the last wait was for was there already.
    bool had_short_wait() const noexcept { return had_short_wait_; }
    /// Whether the thread was woken several times in a row for what one or two reads took.
    bool was_woken_for_little() const noexcept { return size_ == 1 && waits_for_little_ == some_waits; }
    /// A look was as good as a wait.
    void note_answer() noexcept { reads_since_wait_ = 0; }
    /// After a wait for what list() gave: writes and reads those whose items are ready. True when something was published.
    bool go_on(time_point now) noexcept;
    /// Reads all, whether or not there is something to read.
    bool read_all() noexcept {
        return read([](std::size_t, use &u) { return write_beside(u); });
    }
    /// Ends the use. `looks_again(pipe_end &)` is told of each pipe: it is not armed.
    template <class LooksAgain>
    void end(LooksAgain &&looks_again) noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            used_[i].pipe->end_use(used_[i].is_kept);
            looks_again(*used_[i].pipe);
        }
        size_ = 0;
        listed_ = nullptr;
    }
    /// The wait that begin() told of is over, and what it brought is read.
    void note_left(time_point now) noexcept { left_ = now; }

    /// What is lent, and not in use, goes back to the I/O threads.
    static void give_all_back(std::span<const pipe_end_ptr> pipes) noexcept;

private:
    static constexpr duration longest_work =
        std::chrono::milliseconds(1);  // between waits of an eager thread
    static constexpr duration longest_short_wait = std::chrono::microseconds(3);
    static constexpr int some_waits = 8;
    static constexpr int few_reads = 2;
    static constexpr int most_turns = 16;
    static constexpr int eager_after = 4;
    static constexpr int asks_again_after = 16;

    struct use {
        pipe_end *pipe;
        io_turn *io;
        bool is_kept;
    };

    /// Who reads without waiting would never see that a full stream takes more.
    static bool write_beside(use &u) noexcept {
        if (u.io->is_full())
            (void)u.pipe->write_now(io_turn::occasion::ready);
        return true;
    }
    void consider(std::span<const pipe_end_ptr> pipes) noexcept;
    template <class Wanted>
    bool read(Wanted &&wanted) noexcept {
        bool found = false;
        for (std::size_t i = 0; i < size_; ++i) {
            use &u = used_[i];
            if (!u.is_kept || !wanted(i, u))
                continue;
            const bool had_input = u.pipe->has_untaken();  // which the pattern does not want now
            u.is_kept = u.io->read_now(scratch_);
            const bool has_got = !had_input && u.pipe->has_untaken();
            reads_since_wait_ += has_got && reads_since_wait_ <= few_reads;
            found |= has_got;
        }
        return found;
    }

    const clock_source &clock_;
    time_point left_{};
    time_point wait_began_{};
    bool had_short_wait_ = false;
    int waits_for_little_ = 0;  // in a row
    int reads_since_wait_ = 0;  // that got something
    int streak_ = 0;            // waits with little work in between
    std::size_t size_ = 0;
    const wait_item *listed_ = nullptr;
    std::array<use, most_pipes> used_;
    block_ref scratch_;
};

}  // namespace zlink
