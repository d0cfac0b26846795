// Publishes connection events as messages on a PAIR socket (zmq_socket_monitor).
//
// Wire:     frame 1: event:2, value:4 in host order; frame 2: the endpoint.
// Threads:  emit() from any; one lock inside.
#pragma once

#include <memory>
#include <mutex>

#include "core/events.hpp"

namespace zlink {

class socket;

class monitor final : public event_sink {
  public:
    monitor() noexcept;
    ~monitor() override;

    /// Starts publishing the events in `mask` on `publisher`, in place of what was there. Null stops.
    void publish_on(std::unique_ptr<socket> publisher, int mask) noexcept;
    void emit(const connection_event &event) noexcept override;

  private:
    void send(const connection_event &event) noexcept; // under the lock

    std::mutex mutex_;
    std::unique_ptr<socket> publisher_;
    int mask_ = 0;
};

} // namespace zlink
