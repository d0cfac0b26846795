// Work that takes long, such as a step of a handshake, and when a loop does it: in half of its time at most, as long as others have something to
// do, and at once where they have not.
//
// Flow:     a turn of the loop does what is ready; then, of what stands here, as much as took that long, and one at least unless others are
//           still owed the time that the last one took.
// Order:    who goes on with something comes before who begins: what many have begun at once is finished by some of them in time. After
//           seven of them one begins, so that those who only go on keep nobody out.
// Threads:  the loop's.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "core/waiter.hpp"

namespace zlink {

class costly_work {
public:
    costly_work() noexcept = default;
    costly_work(const costly_work &) = delete;
    costly_work &operator=(const costly_work &) = delete;
    /// It is in no list any more, and may be destroyed in this call.
    virtual void run_costly() noexcept = 0;

protected:
    ~costly_work() { leave_list(); }
    void leave_list() noexcept {
        before_->after_ = after_;
        after_->before_ = before_;
        before_ = after_ = this;
    }

private:
    friend class costly_list;
    costly_work *before_ = this;
    costly_work *after_ = this;
};

/// Whose time it is: told the time, and does nothing else.
class half_share {
public:
    /// Others have had so long since this was asked last. Whether it is time for what is costly.
    bool is_due_after(duration others, bool others_have_more) noexcept {
        owed_ = others_have_more ? owed_ - others : duration::zero();
        return owed_ <= duration::zero();
    }
    /// One has taken so long. Whether there is time for another one.
    bool goes_on_after(duration took) noexcept { return (owed_ += took) < duration::zero(); }
    /// Others have had so long while there was nothing costly. They owe nothing for it.
    void rest(duration others) noexcept { owed_ = std::max(owed_ - others, duration::zero()); }

private:
    duration owed_ = duration::zero();  // to others
};

class costly_list {
public:
    enum class place { goes_on, begins };
    /// Who is in it already stays where it is.
    void add(costly_work &one, place where) noexcept {
        if (one.after_ != &one)
            return;
        list_ends &ends = lists_[where == place::goes_on ? 0 : 1];
        one.before_ = ends.before_;
        one.after_ = &ends;
        ends.before_->after_ = &one;
        ends.before_ = &one;
    }
    bool is_empty() const noexcept {
        return lists_[0].after_ == &lists_[0] && lists_[1].after_ == &lists_[1];
    }

    /// To be called behind each turn of the loop while it is not empty. `others_have_more`: the turn has found something to do.
    template <class Clock>
    void take_share(bool others_have_more, Clock &&now) noexcept {
        time_point at = now();
        duration others = at - since_;
        if (std::exchange(was_empty_, false))
            share_.rest(std::exchange(others, duration::zero()));
        if (share_.is_due_after(others, others_have_more))
            for (bool goes_on = true; goes_on && !is_empty();) {
                run_one();
                const time_point began = std::exchange(at, now());
                goes_on = share_.goes_on_after(at - began);
            }
        since_ = at;
        was_empty_ = is_empty();
    }
    void run_one() noexcept {
        constexpr unsigned most_in_front = 7;
        const auto is_empty = [](const list_ends &ends) { return ends.after_ == &ends; };
        const bool one_begins = !is_empty(lists_[1]) && (is_empty(lists_[0]) || in_front_ == most_in_front);
        in_front_ = one_begins ? 0 : std::min(in_front_ + 1, most_in_front);
        costly_work *const first = lists_[one_begins ? 1 : 0].after_;
        first->leave_list();
        first->run_costly();
    }

private:
    struct list_ends final : costly_work {
        void run_costly() noexcept override {}
    };
    std::array<list_ends, 2> lists_;
    unsigned in_front_ = 0;  // have gone on since one has begun
    half_share share_;
    time_point since_{};     // others have had the time
    bool was_empty_ = true;  // meanwhile
};

}  // namespace zlink
