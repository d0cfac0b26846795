#include "session/lease_keeper.hpp"

namespace zlink {

namespace {
constexpr duration lease_look = std::chrono::milliseconds(4);
}

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

void lease_keeper::lend() noexcept {
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

/// All leases are looked at in the same moments, every lease_look, so that a thousand of them wake
/// the thread once.
void lease_keeper::watch() noexcept {
    uses_seen_ = pipe_->lease().uses();
    pipe_->lease().watch();
    const duration soonest = io_.now().time_since_epoch() + lease_look / 2;
    timer_->expires_at(time_point(soonest - soonest % lease_look + lease_look));
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

/// Ends a lease that was not used for a while. A borrower that waits is left alone: it says so when
/// it leaves. A full stream is not left to one that is away: nobody waits for it to take more. One
/// that writes just now does.
void lease_keeper::on_time() noexcept {
    read_lease &lease = pipe_->lease();
    if (lease.uses() != uses_seen_) {
        watch_anew();
    } else if (lease.is_used()) {
        if (!lease.stop_watching())
            watch_anew();
    } else if (more_looks_ > 0 && (!out_.is_full() || pipe_->is_being_written())) {
        --more_looks_;
        watch();
    } else {
        (void)recall();
        events_.on_lease_over();
    }
}

}  // namespace zlink
