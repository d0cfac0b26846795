// Tells what happens to sockets where nobody looks at a monitor: on stderr (ZLINK_LOG, and how much
// of it), and to a function of the application's.
//
// Lines:    "zlink: LEVEL: TYPE ENDPOINT: what has happened", each by one write(2). The function is
//           given what stands behind the level.
// Limits:   an attempt to connect is repeated for ever. What an endpoint has said last it does not
//           say again before something else has happened there, of whatever peer, but at the level
//           `debug`.
// Threads:  any; one lock inside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/events.hpp"
#include "core/log_listener.hpp"
#include "core/tuning.hpp"

namespace zlink {

class event_log {
public:
    using writer = void (*)(std::string_view line) noexcept;

    event_log(log_level level, writer write) noexcept : written_{level, {}}, write_(write), most_(level) {}

    /// Its release, and that of the interface.
    static std::string_view name_of_library() noexcept;
    bool writes(log_level level) const noexcept { return level <= written_.level; }
    /// Whether anybody wants lines of this level.
    bool wants(log_level level) const noexcept { return level <= most_.load(std::memory_order_relaxed); }
    /// Has the function told, up to this level, in place of the one before, which does not run any
    /// more when this returns. Null ends that. busy: called from the function; no_memory,
    /// no_thread.
    error tell_to(log_listener::function what, void *arg, log_level level) noexcept;
    /// A line about no socket.
    void tell(log_level level, std::string_view what) noexcept;
    /// Writes what a socket of this type reports; `why` is the reason in words, where there is one.
    /// A reason without an event is an event itself.
    void tell(std::string_view type, const connection_event *why, const connection_event &event) noexcept;

private:
    struct said {
        std::string last;
        std::vector<std::string> of_peers;  // what was said with names since the last without
    };
    struct output {
        log_level level;
        std::map<std::string, said> said_last;  // of each socket type and endpoint
    };
    struct told {
        std::string whose, what, who, value;
    };

    static bool is_repeated(output &where, const told &event);
    std::string line_for(output &where, log_level level, const told &event) const;
    void write_line(log_level level, std::string_view what) const;

    output written_;  // on stderr; the level does not change
    const writer write_;
    std::atomic<log_level> most_;  // that anybody wants
    std::mutex mutex_;             // guards the rest, and what was said last
    output listened_{log_level::none, {}};
    std::shared_ptr<log_listener> listener_;
};

}  // namespace zlink
