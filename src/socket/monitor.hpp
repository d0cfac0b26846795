// Publishes connection events as messages (zmq_socket_monitor).
//
// Wire:     version 1: frame 1: event:2, value:4 in host order; frame 2: the endpoint. Version 2:
//           event:8; the number of values:8; each value:8; the local address; the remote one. Of a
//           slow peer, and of each event where that is asked for, the peer's names follow: its
//           address, in version 1; its routing id; its user. In both the words of a reason come
//           last.
// Waiting:  events wait for a reader, and for room in its queue, as far as `most_events_waiting`
//           goes; what comes then is lost. Waiting events go out as soon as there is room: on the
//           reader's thread, inside the call that made some. The last events do not wait.
// Threads:  any; one lock inside, under which the publisher is used. Nobody who holds it waits for
//           another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include "core/bytes.hpp"
#include "core/event_log.hpp"
#include "core/events.hpp"

namespace zlink {

/// The receiver of a monitor's messages. Used by one thread at a time.
class event_publisher {
public:
    virtual ~event_publisher() = default;
    /// Sends a message of these frames. False when there is no reader or no room now: whoever
    /// brings that has the monitor flush().
    virtual bool publish(std::span<const byte_span> frames) noexcept = 0;
    /// Events from here on need no room, but a reader.
    virtual void lift_mark() noexcept = 0;
};

class monitor final : public event_sink {
public:
    static constexpr std::size_t most_events_waiting = 1000;

    monitor() noexcept = default;
    /// Tells `log`, too, whether somebody listens or not, by the name of a socket type. Null:
    /// nothing is logged.
    monitor(std::shared_ptr<event_log> log, const char *socket_type) noexcept
        : log_(std::move(log)), socket_type_(socket_type) {}

    /// Starts publishing the events in `mask` on `publisher`, in place of what was there, which is
    /// told that it stops. Null stops.
    void publish_on(std::unique_ptr<event_publisher> publisher, std::uint64_t mask, int version = 1) noexcept;
    /// Whether what pipes hold is asked for: it is no event of its own accord.
    bool wants_pipes_stats() noexcept {
        std::lock_guard guard(mutex_);
        return publisher_ && wants(event_kind::pipes_stats);
    }
    bool wants_slow_peers() const noexcept override {
        return tells_slow_peers_.load(std::memory_order_relaxed) || (log_ && log_->wants(log_level::warn));
    }
    bool wants_names() const noexcept override { return tells_names_.load(std::memory_order_relaxed); }
    bool wants_gaps() noexcept {
        std::lock_guard guard(mutex_);
        return publisher_ && wants(event_kind::gap);
    }
    void emit(const connection_event &event) noexcept override;
    void emit(const connection_event &why, const connection_event &event) noexcept override;
    /// Sends what waits for a reader.
    void flush() noexcept;

private:
    bool wants(event_kind kind) const noexcept;
    bool wants_own(int bit) const noexcept;
    std::size_t add_names(std::span<byte_span> to, const connection_event &event) const noexcept;
    bool send(const connection_event &event) noexcept;
    bool send_first_version(const connection_event &event) noexcept;
    bool send_second_version(const connection_event &event) noexcept;
    bool emit_locked(const connection_event &event) noexcept;
    void flush_locked() noexcept;

    const std::shared_ptr<event_log> log_;
    const char *const socket_type_ = "";
    std::atomic<bool> tells_slow_peers_{false};
    std::atomic<bool> tells_names_{false};
    std::mutex mutex_;  // guards the rest
    std::unique_ptr<event_publisher> publisher_;
    std::deque<connection_event> waiting_;
    std::uint64_t mask_ = 0;
    int version_ = 1;
};

}  // namespace zlink
