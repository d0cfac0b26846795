// The states of a lease on the loop's side; see lease_keeper.hpp. Map: what the socket's thread has
// asked for; granting; watching whether it is used; recalling and taking back.
#include "session/lease_keeper.hpp"

#include "pipe/flow/lease_policy.hpp"

namespace zlink {

void lease_keeper::open(pipe_end &pipe) noexcept {
    pipe_ = &pipe;
    if (pipe.lease().is_wanted())
        pipe.lease().refuse();  // an earlier connection was meant
}

bool lease_keeper::tend() noexcept {
    if (!pipe_)
        return false;
    if (is_out_) {
        if (pipe_->lease().owns_reading())
            take_back();
        else if (!timer_->is_pending())
            watch_anew();  // the borrower has left
    }
    // A lease that ended may have been asked for again before anybody here knew.
    return !is_out_ && pipe_->lease().is_wanted();
}

void lease_keeper::grant() noexcept {
    if (!timer_)
        timer_ = io_.make_timer([this] { on_time(); });
    if (!timer_ || !out_.lease_out()) {
        refuse();
        return;
    }
    if (!stream_.lease_out()) {
        out_.end_lease();
        refuse();
        return;
    }
    is_out_ = true;
    in_.note_lease();
    (void)pipe_->lease().take_more_looks();  // what came before it counts for nothing
    watch_anew();
    pipe_->lease().grant();
    pipe_->wake_other_end();
}

/// All leases are looked at in the same moments, so that a thousand of them wake the thread once.
void lease_keeper::watch() noexcept {
    uses_seen_ = pipe_->lease().uses();
    pipe_->lease().watch();
    using lease_policy::between_looks;
    const duration soonest = io_.now().time_since_epoch() + between_looks / 2;
    timer_->expires_at(time_point(soonest - soonest % between_looks + between_looks));
}

/// The lease was used: what came meanwhile says how long it may be unused from now on.
void lease_keeper::watch_anew() noexcept {
    more_looks_ = pipe_->lease().take_more_looks();
    watch();
}

inbound *lease_keeper::recall() noexcept {
    if (!is_out_)
        return &in_;
    if (!pipe_->lease().recall()) {
        pipe_->wake_other_end();
        return nullptr;
    }
    take_back();
    return &in_;
}

void lease_keeper::take_back() noexcept {
    is_out_ = false;
    out_.end_lease();
    timer_->cancel();
    events_.on_reading_back(in_, stream_.take_back());
}

/// The facts that look_at_lease() asks for.
struct lease_keeper::facts {
    const lease_keeper &self;

    const read_lease &lease() const noexcept { return self.pipe_->lease(); }
    bool has_been_used() const noexcept { return lease().uses() != self.uses_seen_; }
    bool is_used() const noexcept { return lease().is_used(); }
    std::uint32_t more_looks() const noexcept { return self.more_looks_; }
    bool is_full() const noexcept { return self.out_.is_full(); }
    bool is_being_written() const noexcept { return self.pipe_->is_being_written(); }
};

/// Ends a lease that was not used for a while.
void lease_keeper::on_time() noexcept {
    using enum lease_policy::look_result;
    switch (lease_policy::look_at_lease(facts{*this})) {
    case used:
        watch_anew();
        break;
    case waits:
        if (!pipe_->lease().stop_watching())
            watch_anew();
        break;
    case unused:
        --more_looks_;
        watch();
        break;
    case over:
        (void)recall();
        events_.on_lease_over();
        break;
    }
}

}  // namespace zlink
