// Publishes connection events as messages; see monitor.hpp.
#include "socket/monitor.hpp"

#include <cstring>
#include <utility>

namespace zlink {

void monitor::publish_on(std::unique_ptr<event_publisher> publisher, int mask) noexcept {
    // The old publisher goes after the lock: it closes a socket.
    std::lock_guard guard(mutex_);
    if (publisher_) {
        // Nobody is left to send later what has no room now, and a reader waits for the last event.
        publisher_->lift_mark();
        flush_locked();
        if (wants(event_kind::monitor_stopped))
            (void)send({event_kind::monitor_stopped, 0, {}});
    }
    waiting_.clear();
    publisher_.swap(publisher);
    mask_ = publisher_ ? mask : 0;
}

/// An application that asks for everything (-1) does not know of reasons.
bool monitor::wants(event_kind kind) const noexcept {
    if (kind == event_kind::reason)
        return mask_ > 0 && (mask_ & reasons_wanted);
    return mask_ & static_cast<int>(kind);
}

void monitor::emit(const connection_event &event) noexcept {
    if (log_)
        log_->tell(socket_type_, nullptr, event);
    std::lock_guard guard(mutex_);
    (void)emit_locked(event);
}

void monitor::emit(const connection_event &why, const connection_event &event) noexcept {
    if (log_)
        log_->tell(socket_type_, &why, event);
    std::lock_guard guard(mutex_);
    (void)emit_locked(why);
    if (!emit_locked(event) && !waiting_.empty() && waiting_.back().kind == event_kind::reason)
        waiting_.pop_back();  // it would be taken for the next event's
}

/// False when the event is lost.
bool monitor::emit_locked(const connection_event &event) noexcept {
    if (!publisher_ || !wants(event.kind))
        return true;
    flush_locked();
    if (waiting_.empty() && send(event))
        return true;
    try {
        if (waiting_.size() >= most_waiting)
            return false;
        waiting_.push_back(event);
        return true;
    } catch (...) {
        return false;
    }
}

void monitor::flush() noexcept {
    std::lock_guard guard(mutex_);
    if (publisher_)
        flush_locked();
}

void monitor::flush_locked() noexcept {
    while (!waiting_.empty() && send(waiting_.front()))
        waiting_.pop_front();
}

bool monitor::send(const connection_event &event) noexcept {
    const auto kind = static_cast<std::uint16_t>(event.kind);
    std::uint8_t record[sizeof kind + sizeof event.value];
    std::memcpy(record, &kind, sizeof kind);
    std::memcpy(record + sizeof kind, &event.value, sizeof event.value);
    return publisher_->publish(record, as_bytes(event.endpoint), as_bytes(event.words));
}

}  // namespace zlink
