// Work that takes long, such as a step of a handshake, and when a loop does it: in half of its time
// at most, for strangers in a thirty-second, as long as others have something to do, and at once
// where they have not.
//
// Flow:     a round of the loop does what is ready; then, of what stands here, as much as took that
//           long, and one at least unless others are still owed the time that the last one took.
//           Strangers have a share of their own: others are owed 31 times as much,
//           and these may be other threads, which want the processor.
// Order:    who goes on with something comes before who begins: what many have begun at once is
//           finished by some of them in time. After seven of them one begins, so that those who
//           only go on keep nobody out.
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
class time_share {
public:
    /// Others are owed so many times what one takes, of which no more than `most_counted` counts:
    /// where the system has stopped the thread in the middle of one, nobody has to wait for a
    /// multiple of that.
    explicit time_share(int owed_for_one, duration most_counted = duration::max()) noexcept
        : owed_for_one_(owed_for_one), most_counted_(most_counted) {}
    /// Others have had so long since this was asked last. Whether it is time for what is costly.
    bool is_due_after(duration others, bool others_have_more) noexcept {
        // Time that they had beyond what they were owed, before there was anything to do here, is
        // nobody's debt.
        owed_ = others_have_more ? std::max(owed_, duration::zero()) - others : duration::zero();
        return owed_ <= duration::zero();
    }
    /// One has taken so long. Whether there is time for another one.
    bool goes_on_after(duration took) noexcept {
        return (owed_ += owed_for_one_ * std::min(took, most_counted_)) < duration::zero();
    }
    /// To others.
    duration owed() const noexcept { return owed_; }
    /// Others have had so long while there was nothing costly. They owe nothing for it.
    void rest(duration others) noexcept { owed_ = std::max(owed_ - others, duration::zero()); }

private:
    const int owed_for_one_;
    const duration most_counted_;
    duration owed_ = duration::zero();  // to others
};

class costly_list {
public:
    enum class rank {
        goes_on,
        begins,
        // Begins, and has nothing to show for itself; what that costs may be all that is wanted.
        stranger
    };
    /// Work that is in it already stays where it is.
    void add(costly_work &one, rank where) noexcept {
        if (one.after_ != &one)
            return;
        if (where != rank::stranger)
            rests_for_ = duration::zero();
        was_empty_ = was_empty_ || is_empty();  // whoever was in it may have left it by itself
        list_ends &ends = of(where);
        one.before_ = ends.before_;
        one.after_ = &ends;
        ends.before_->after_ = &one;
        ends.before_ = &one;
    }
    bool is_empty() const noexcept { return !has_known() && !has_strangers(); }

    /// To be called behind each round of the loop while it is not empty. `others_have_more`: the
    /// round has found something to do. `is_processor_wanted` is asked where it has not, and there
    /// are strangers.
    template <class Clock, class Question>
    void take_share(bool others_have_more, Clock &&now, Question &&is_processor_wanted) noexcept {
        time_point at = now();
        duration others = at - since_;
        if (std::exchange(was_empty_, false)) {
            share_.rest(others);
            share_of_strangers_.rest(std::exchange(others, duration::zero()));
        }
        // The time of one is not time that others have had.
        const auto take = [&](time_share &share, bool have_more, auto has_one, auto run) {
            if (!share.is_due_after(others, have_more))
                return;
            for (bool goes_on = true; goes_on && has_one();) {
                run();
                const time_point began = std::exchange(at, now());
                goes_on = share.goes_on_after(at - began);
            }
        };
        take(
            share_, others_have_more, [&] { return has_known(); }, [&] { run_known(); });
        const bool is_wanted = !others_have_more && has_strangers() && is_processor_wanted();
        take(
            share_of_strangers_, others_have_more || is_wanted, [&] { return has_strangers(); },
            [&] { run_first(rank::stranger); });
        since_ = at;
        was_empty_ = is_empty();
        rests_for_ = is_wanted && !was_empty_ && !has_known()
                         ? std::max(share_of_strangers_.owed(), duration::zero())
                         : duration::zero();
    }
    /// All that is in it waits for so long, while other threads have the processor: the loop may
    /// sleep.
    duration rests_for() const noexcept { return rests_for_; }
    /// The moment at which that is over: the same for each sleep until then.
    time_point rests_until() const noexcept { return since_ + rests_for_; }
    void run_one() noexcept {
        if (has_known())
            run_known();
        else
            run_first(rank::stranger);
    }

private:
    struct list_ends final : costly_work {
        void run_costly() noexcept override {}
        bool is_empty() const noexcept { return after_ == this; }
    };
    list_ends &of(rank where) noexcept { return lists_[static_cast<std::size_t>(where)]; }
    const list_ends &of(rank where) const noexcept { return lists_[static_cast<std::size_t>(where)]; }
    bool has_known() const noexcept { return !of(rank::goes_on).is_empty() || !of(rank::begins).is_empty(); }
    bool has_strangers() const noexcept { return !of(rank::stranger).is_empty(); }
    void run_known() noexcept {
        constexpr unsigned most_steps_in_front = 7;
        const bool one_begins = !of(rank::begins).is_empty() &&
                                (of(rank::goes_on).is_empty() || in_front_ == most_steps_in_front);
        in_front_ = one_begins ? 0 : std::min(in_front_ + 1, most_steps_in_front);
        run_first(one_begins ? rank::begins : rank::goes_on);
    }
    void run_first(rank where) noexcept {
        costly_work *const first = of(where).after_;
        first->leave_list();
        first->run_costly();
    }

    std::array<list_ends, 3> lists_;
    unsigned in_front_ = 0;  // have gone on since one has begun
    time_share share_{1};
    time_share share_of_strangers_{31, std::chrono::milliseconds(10)};
    time_point since_{};     // others have had the time
    bool was_empty_ = true;  // meanwhile
    duration rests_for_ = duration::zero();
};

}  // namespace zlink
