// A list of what is kept on a loop for a peer's good alone, and given up where the system has no
// descriptor left.
//
// Why:      others need the descriptors more: a peer that has had its last words, and does not go,
//           keeps no other peer out.
// Threads:  the loop's.
#pragma once

#include <cerrno>

namespace zlink {

class sheddable {
public:
    sheddable() noexcept = default;
    sheddable(const sheddable &) = delete;
    sheddable &operator=(const sheddable &) = delete;
    /// Closes its descriptor within the call. It is in no list any more.
    virtual void shed() noexcept = 0;

protected:
    ~sheddable() { leave_list(); }
    void leave_list() noexcept {
        before_->after_ = after_;
        after_->before_ = before_;
        before_ = after_ = this;
    }

private:
    friend class shed_list;
    sheddable *before_ = this;
    sheddable *after_ = this;
};

/// True for an errno that says there is no descriptor left, for the process or the system.
constexpr bool is_want_of_descriptors(int number) noexcept { return number == EMFILE || number == ENFILE; }

class shed_list {
public:
    /// `one` leaves the list when it is destroyed, at the latest.
    void add(sheddable &one) noexcept {
        one.leave_list();
        one.before_ = ends_.before_;
        one.after_ = &ends_;
        ends_.before_->after_ = &one;
        ends_.before_ = &one;
    }

    /// Called when a call of the system's has failed with the errno `number`: sheds the oldest
    /// where it is for want of descriptors. True when there was one, so that the call may be made
    /// again.
    bool makes_way_after(int number) noexcept { return is_want_of_descriptors(number) && makes_way(); }

    /// Sheds the oldest. True when there was one.
    bool makes_way() noexcept {
        sheddable *const oldest = ends_.after_;
        if (oldest == &ends_)
            return false;
        oldest->leave_list();
        oldest->shed();
        return true;
    }

private:
    struct list_ends final : sheddable {
        void shed() noexcept override {}
    };
    list_ends ends_;
};

}  // namespace zlink
