// Pipes that take turns: the order in which a socket reads from, or writes to, its pipes.
//
// Layout:   [ in turn | looked empty | armed, or laid by ]. A pipe in turn is ready until a try
//           shows otherwise. It then waits to be looked at again, and is armed only when the socket
//           is about to sleep, or when very many pipes wait: arming costs a heavy fence for all of
//           them together, looking costs one load each.
// Fairness: while others are in turn, waiting pipes are looked at once every few messages, at most
//           one look a message.
// Threads:  the owner's thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/fence.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// Turns by what there is to read.
struct reading_side {
    static bool is_ready(pipe_end &pipe) noexcept { return pipe.has_input(); }
    static void arm(pipe_end &pipe) noexcept { pipe.arm_reader(); }
    static std::uint32_t &index(pipe_end &pipe) noexcept { return pipe.slot.fair_index; }
};

/// Turns by room to write.
struct writing_side {
    static bool is_ready(pipe_end &pipe) noexcept { return pipe.has_credit(); }
    static void arm(pipe_end &pipe) noexcept { pipe.arm_writer(); }
    static std::uint32_t &index(pipe_end &pipe) noexcept { return pipe.slot.balance_index; }
};

template <class Side>
class rotation {
public:
    std::size_t size() const noexcept { return pipes_.size(); }
    bool has(pipe_end &pipe) const noexcept {
        const std::uint32_t at = Side::index(pipe);
        return at < pipes_.size() && pipes_[at] == &pipe;
    }

    /// A new pipe is in turn at once.
    void add(pipe_end &pipe) {
        pipes_.push_back(&pipe);
        Side::index(pipe) = static_cast<std::uint32_t>(pipes_.size() - 1);
        activate(pipe);
    }
    void remove(pipe_end &pipe) noexcept {
        std::size_t at = Side::index(pipe);
        if (at < in_turn_) {
            const std::size_t last = --in_turn_;
            if (current_ == last)
                current_ = at;
            swap(at, last);
            at = last;
            if (current_ >= in_turn_)
                current_ = 0;
        }
        if (at < unarmed_) {
            swap(at, --unarmed_);
            at = unarmed_;
        }
        swap(at, pipes_.size() - 1);
        pipes_.pop_back();
    }
    /// The pipe may be ready (again).
    void activate(pipe_end &pipe) noexcept {
        std::size_t at = Side::index(pipe);
        if (at < in_turn_)
            return;
        if (at >= unarmed_) {
            swap(at, unarmed_);
            at = unarmed_++;
        }
        swap(at, in_turn_++);
    }

    /// Whose turn it is; null when nobody is in turn.
    pipe_end *current() const noexcept { return in_turn_ ? pipes_[current_] : nullptr; }
    /// The only pipe there is, if it is in turn.
    pipe_end *only() const noexcept { return pipes_.size() == 1 && in_turn_ == 1 ? pipes_[0] : nullptr; }
    /// Gives the turn to a pipe that is in turn.
    void make_current(pipe_end &pipe) noexcept { current_ = Side::index(pipe); }
    /// A message went through the current pipe: the next one's turn.
    void pass() noexcept {
        if (++current_ >= in_turn_)
            current_ = 0;
        if (unarmed_ != in_turn_ && ++passed_ >= look_interval())
            revive();
    }
    /// The current pipe is not ready after all.
    void park_current() noexcept {
        swap(current_, --in_turn_);
        if (current_ >= in_turn_)
            current_ = 0;
        if (unarmed_ - in_turn_ > most_pipes_unarmed) {
            arm();
            heavy_fence();
            settle();
        }
    }
    /// Nobody looks at the current pipe any more, until activate().
    void lay_current_by() noexcept {
        swap(current_, --in_turn_);
        swap(in_turn_, --unarmed_);
        if (current_ >= in_turn_)
            current_ = 0;
    }
    /// Looks at the pipes that are neither in turn nor armed. True when some are in turn now.
    bool revive() noexcept {
        passed_ = 0;
        for (std::size_t at = in_turn_; at < unarmed_; ++at) {
            if (Side::is_ready(*pipes_[at]))
                swap(at, in_turn_++);
        }
        return in_turn_ > 0;
    }

    /// Whether some look empty that are not armed.
    bool has_unarmed() const noexcept { return unarmed_ > in_turn_; }
    /// Arms all that look empty; then run heavy_fence() and settle().
    void arm() noexcept {
        for (std::size_t at = in_turn_; at < unarmed_; ++at)
            Side::arm(*pipes_[at]);
    }
    /// The look after arming. True when some are in turn now.
    bool settle() noexcept {
        const bool found = revive();
        unarmed_ = in_turn_;
        return found;
    }

private:
    static constexpr std::size_t most_pipes_unarmed = 256;

    std::size_t look_interval() const noexcept { return std::max<std::size_t>(32, unarmed_ - in_turn_); }
    void swap(std::size_t a, std::size_t b) noexcept {
        std::swap(pipes_[a], pipes_[b]);
        Side::index(*pipes_[a]) = static_cast<std::uint32_t>(a);
        Side::index(*pipes_[b]) = static_cast<std::uint32_t>(b);
    }

    std::vector<pipe_end *> pipes_;
    std::size_t in_turn_ = 0;  // [0, in_turn_) take turns
    std::size_t unarmed_ = 0;  // [in_turn_, unarmed_) looked empty; the rest is armed
    std::size_t current_ = 0;  // below in_turn_, or 0
    std::size_t passed_ = 0;   // messages since the last look at the unarmed
};

}  // namespace zlink
