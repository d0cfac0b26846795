// Publishes connection events as messages; see monitor.hpp.
//
// Map:      what is wanted; events, and those that were put off; their frames in both versions.
#include "socket/monitor.hpp"

#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

namespace zlink {

namespace {
constexpr std::uint64_t is_everything = std::uint64_t{1} << 63;
constexpr std::size_t most_names = 3;
}  // namespace

void monitor::publish_on(std::unique_ptr<event_publisher> publisher, std::uint64_t mask,
                         int version) noexcept {
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
    version_ = version;
    tells_slow_peers_.store(wants(event_kind::slow_peer), std::memory_order_relaxed);
    tells_names_.store(publisher_ && (version_ == 2 || wants_own(names_wanted)), std::memory_order_relaxed);
}

/// Whether a bit of our own is set. An application that asks for everything (-1) does not know of
/// those.
bool monitor::wants_own(int bit) const noexcept {
    return (mask_ & static_cast<std::uint64_t>(bit)) && !(mask_ & is_everything);
}

/// An application of the first version does not know of what does not fit into 16 bits.
bool monitor::wants(event_kind kind) const noexcept {
    switch (kind) {
    case event_kind::reason:
        return wants_own(reasons_wanted);
    case event_kind::slow_peer:
        return wants_own(slow_peers_wanted);
    case event_kind::gap:
        return wants_own(gaps_wanted);
    case event_kind::pipes_stats:
        if (version_ == 1)
            return false;
        break;
    default:
        break;
    }
    return (mask_ & static_cast<std::uint64_t>(kind)) != 0;
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
        if (waiting_.size() >= most_events_waiting)
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
    return version_ == 1 ? send_first_version(event) : send_second_version(event);
}

/// Those of an event that has them.
std::size_t monitor::add_names(std::span<byte_span> to, const connection_event &event) const noexcept {
    if (event.kind != event_kind::slow_peer && !wants_own(names_wanted))
        return 0;
    std::size_t count = 0;
    if (version_ == 1)
        to[count++] = as_bytes(event.peer.address);
    to[count++] = as_bytes(event.peer.routing_id);
    to[count++] = as_bytes(event.peer.user_id);
    return count;
}

bool monitor::send_first_version(const connection_event &event) noexcept {
    const auto kind = static_cast<std::uint16_t>(event.kind);
    std::uint8_t record[sizeof kind + sizeof event.value];
    std::memcpy(record, &kind, sizeof kind);
    std::memcpy(record + sizeof kind, &event.value, sizeof event.value);
    constexpr std::size_t most_frames = 3 + most_names;
    byte_span frames[most_frames] = {record, as_bytes(event.endpoint)};
    std::size_t count = 2;
    count += add_names(std::span(frames).subspan(count), event);
    if (!event.words.empty())
        frames[count++] = as_bytes(event.words);
    return publisher_->publish(std::span(frames, count));
}

bool monitor::send_second_version(const connection_event &event) noexcept {
    const bool has_two = event.kind == event_kind::pipes_stats || event.kind == event_kind::slow_peer;
    const std::uint64_t numbers[] = {static_cast<std::uint64_t>(event.kind), has_two ? 2u : 1u, event.value,
                                     event.more_value};
    constexpr std::size_t most_frames = std::size(numbers) + 3 + most_names;
    byte_span frames[most_frames];
    std::size_t count = 0;
    for (std::size_t i = 0; i < 2 + numbers[1]; ++i)
        frames[count++] = {reinterpret_cast<const std::uint8_t *>(&numbers[i]), sizeof numbers[i]};
    frames[count++] = as_bytes(event.is_connecting ? std::string_view() : event.endpoint);
    frames[count++] = as_bytes(event.is_connecting ? event.endpoint : event.peer.address);
    count += add_names(std::span(frames).subspan(count), event);
    if (!event.words.empty())
        frames[count++] = as_bytes(event.words);
    return publisher_->publish(std::span(frames, count));
}

}  // namespace zlink
