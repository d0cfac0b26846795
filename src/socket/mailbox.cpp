// The commands of other threads to a socket; see mailbox.hpp.
//
// Map:      posting and withdrawing; taking; the level; the wait of the socket's thread.
#include "socket/mailbox.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

namespace zlink {

bool mailbox::post(command what) noexcept {
    const bool is_attach = what.kind == command_kind::attach;
    const bool may_bring_room = is_attach || what.kind == command_kind::writable;
    std::shared_ptr<const std::function<void()>> call;
    wakeup *to_signal = nullptr;
    {
        std::lock_guard guard(mutex_);
        if (intake_ == intake::closed)
            return false;
        if (!is_attach && what.pipe && is_to_attach(*what.pipe))
            return true;  // whoever attaches it looks for all of that
        try {
            commands_.push_back(std::move(what));
            note_index(commands_.size() - 1);
        } catch (...) {
            // A stop is remembered by the socket.
            if (is_attach)
                return false;
            intake_ = intake::lossy;
        }
        if (may_bring_room)
            call = on_room_;
        has_commands_.store(true, std::memory_order_release);
        if ((is_waiting_ || always_signals_) && !is_signalled_ && wakeup_) {
            is_signalled_ = true;
            // Better not under the lock: the thread that wakes wants it at once. But who waits
            // outside must not find the level up once it has taken the commands.
            if (always_signals_)
                wakeup_->signal();
            else
                to_signal = wakeup_.get();
        }
    }
    if (to_signal)
        to_signal->signal();
    if (call)
        (*call)();
    return true;
}

/// Whether a pipe is still to be attached by a command that is here.
bool mailbox::is_to_attach(const pipe_end &pipe) const noexcept {
    const std::size_t at = pipe.slot.mail_at;
    return at < commands_.size() && commands_[at].pipe.get() == &pipe &&
           commands_[at].kind == command_kind::attach;
}

bool mailbox::withdraw(const pipe_end &pipe) noexcept {
    pipe_end_ptr dropped;  // goes after the lock
    std::lock_guard guard(mutex_);
    if (!is_to_attach(pipe))
        return false;
    command &what = commands_[pipe.slot.mail_at];
    dropped.swap(what.pipe);
    what.kind = command_kind::readable;
    if (++empty_ * 2 > commands_.size())
        drop_empty();
    return true;
}

/// Commands without a pipe only bring a call here, which comes anyway.
void mailbox::drop_empty() noexcept {
    std::erase_if(commands_,
                  [](const command &what) { return !what.pipe && what.kind != command_kind::stop; });
    for (std::size_t i = 0; i < commands_.size(); ++i)
        note_index(i);
    empty_ = 0;
}

void mailbox::note_index(std::size_t at) noexcept {
    if (commands_[at].kind == command_kind::attach)
        commands_[at].pipe->slot.mail_at = static_cast<std::uint32_t>(at);
}

void mailbox::call_on_room(std::function<void()> call) {
    const auto shared = std::make_shared<const std::function<void()>>(std::move(call));
    {
        std::lock_guard guard(mutex_);
        on_room_ = shared;
    }
    if (has_commands())
        (*shared)();
}

bool mailbox::take(std::vector<command> &out) noexcept {
    std::lock_guard guard(mutex_);
    out.swap(commands_);
    empty_ = 0;
    has_commands_.store(false, std::memory_order_release);
    lower();
    if (intake_ != intake::lossy)
        return true;
    intake_ = intake::whole;
    return false;
}

/// Lowers the level. When another thread has yet to raise it, that is left to the next time.
void mailbox::lower() noexcept {
    if (is_signalled_ && wakeup_->clear())
        is_signalled_ = false;
}

error mailbox::make_wakeup(waiter &how) noexcept {
    std::lock_guard guard(mutex_);
    return wakeup_ ? error::none : how.make_wakeup(wakeup_);
}

void mailbox::keep_signalling(waiter &how) noexcept {
    std::lock_guard guard(mutex_);
    always_signals_ = true;
    for (lower(); is_signalled_; lower()) {
        // The thread that posted last is about to raise the level, without the lock, and may need
        // this processor for it.
        wait_item raised{wakeup_->descriptor(), POLLIN, 0, wakeup_.get(), 0};
        (void)how.wait({&raised, 1}, time_point::max());
    }
    if (has_commands_.load(std::memory_order_relaxed) && !is_signalled_) {
        is_signalled_ = true;
        wakeup_->signal();
    }
}

bool mailbox::begin_wait() noexcept {
    std::lock_guard guard(mutex_);
    is_waiting_ = !has_commands_.load(std::memory_order_relaxed);
    if (is_waiting_)
        lower();
    return is_waiting_;
}

void mailbox::end_wait() noexcept {
    std::lock_guard guard(mutex_);
    is_waiting_ = false;
}

std::vector<mailbox::command> mailbox::close() noexcept {
    std::vector<command> dropped;
    {
        std::lock_guard guard(mutex_);
        intake_ = intake::closed;
        dropped.swap(commands_);
        has_commands_.store(false, std::memory_order_release);
        lower();
        if (!is_signalled_)  // else a thread is about to raise it
            wakeup_.reset();
    }
    std::erase_if(dropped, [](const command &what) { return what.kind != command_kind::attach; });
    return dropped;
}

}  // namespace zlink
