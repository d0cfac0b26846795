// Writes what happens to sockets on stderr, for programs that look at no monitor: ZLINK_LOG, and
// how much of it.
//
// Lines:    "zlink: LEVEL: TYPE ENDPOINT: what has happened", each by one write(2).
// Limits:   an attempt to connect is repeated for ever. What an endpoint has said last it does not
//           say again before something else has happened there, but at the level `debug`.
// Threads:  any; one lock inside.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/events.hpp"
#include "core/tuning.hpp"

namespace zlink {

class event_log {
public:
    using writer = void (*)(std::string_view line) noexcept;

    event_log(log_level level, writer write) noexcept : level_(level), write_(write) {}

    /// Its release, and that of the interface.
    static std::string_view name_of_library() noexcept;
    bool writes(log_level level) const noexcept { return level <= level_; }
    /// A line about no socket.
    void tell(log_level level, std::string_view what) noexcept;
    /// Writes what a socket of this type reports; `why` is the reason in words, where there is one.
    /// A reason without an event is an event itself.
    void tell(std::string_view type, const connection_event *why, const connection_event &event) noexcept;

private:
    bool is_repeated(const std::string &whose, const std::string &what);
    void write_line(log_level level, std::string_view what);

    const log_level level_;
    const writer write_;
    std::mutex mutex_;                              // guards the rest
    std::map<std::string, std::string> said_last_;  // of each socket type and endpoint
};

}  // namespace zlink
