// Connection events, as sessions report them and monitors publish them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace zlink {

/// Numbered as the ZMQ_EVENT_ constants in zmq.h; the numbers are those of a monitor's mask, but
/// for `reason`, `slow_peer` and `gap`.
enum class event_kind : std::uint32_t {
    connected = 0x0001,
    connect_delayed = 0x0002,
    connect_retried = 0x0004,
    listening = 0x0008,
    bind_failed = 0x0010,
    accepted = 0x0020,
    accept_failed = 0x0040,
    closed = 0x0080,
    close_failed = 0x0100,
    disconnected = 0x0200,
    monitor_stopped = 0x0400,
    handshake_failed_no_detail = 0x0800,
    handshake_succeeded = 0x1000,
    handshake_failed_protocol = 0x2000,
    handshake_failed_auth = 0x4000,
    reason = 0x8000,     // of the event that follows, in words
    slow_peer = 0x8001,  // the queue to it is full, and was not half empty since it last was not
    // Messages for this subscriber were lost at the publisher; 0: how many is not known.
    gap = 0x8002,
    pipes_stats = 0x10000,
};

/// The bit of a monitor's mask that asks for `reason`: beyond those that ZMQ_EVENT_ALL asks for.
constexpr int reasons_wanted = 0x40000000;
/// The one that asks for `slow_peer`.
constexpr int slow_peers_wanted = 0x20000000;

/// The one that has each event name its peer.
constexpr int names_wanted = 0x10000000;

/// The one that asks for `gap`.
constexpr int gaps_wanted = 0x08000000;

/// A peer, as far as it is known.
struct peer_names {
    std::string address = {};  // of the far side, with its transport
    std::string routing_id = {};
    std::string user_id = {};
};

struct connection_event {
    event_kind kind;
    std::uint32_t value = 0;  // a descriptor, an errno, milliseconds or a protocol error, by kind
    std::string endpoint;
    std::string words = {};  // of a reason
    // A reason: the program is given the error, as what its call returns.
    bool fails_call = false;
    bool is_connecting = false;    // the endpoint was connected to, and not bound
    peer_names peer = {};          // where it is told
    std::uint64_t more_value = 0;  // the second of those that have two
    // An event disconnected: it was this side's application, which is told whom.
    bool is_cut = false;
};

/// The receiver of events. Threads: called from I/O threads and from the socket's own thread; must
/// not block for long.
class event_sink {
public:
    virtual ~event_sink() = default;
    virtual void emit(const connection_event &event) noexcept = 0;
    /// Whether anybody is to hear of slow peers. What they do is not watched otherwise.
    virtual bool wants_slow_peers() const noexcept { return false; }
    /// Whether the peers of events are to be told. Who they are is not found out otherwise.
    virtual bool wants_names() const noexcept { return false; }
    /// A reason and its event: no other thread's comes between.
    virtual void emit(const connection_event &why, const connection_event &event) noexcept {
        emit(why);
        emit(event);
    }
    /// An event, and in front of it why: an errno, and words. The event alone where there are none,
    /// or no memory for them.
    void emit_explained(std::string words, int why, const connection_event &event,
                        bool fails_call = false) noexcept {
        if (!words.empty())
            try {
                emit({event_kind::reason, static_cast<std::uint32_t>(why), event.endpoint, std::move(words),
                      fails_call, event.is_connecting, event.peer},
                     event);
                return;
            } catch (...) {
            }
        emit(event);
    }
    /// Why, where no event follows at once.
    void emit_reason(std::string words, int why, const std::string &endpoint,
                     bool fails_call = false) noexcept {
        if (words.empty())
            return;
        try {
            emit({event_kind::reason, static_cast<std::uint32_t>(why), endpoint, std::move(words),
                  fails_call});
        } catch (...) {
        }
    }
    /// Why a call of the program returns an error.
    void emit_refusal(std::string words, int why, const std::string &endpoint) noexcept {
        emit_reason(std::move(words), why, endpoint, true);
    }
};

}  // namespace zlink
