// A function of the application's that is told what is logged, on a thread of its own: it may take
// its time, and call what it likes.
//
// Limits:   lines wait for it up to `most_events_waiting`; what comes then is left out, and a line
//           says how many those were.
// Ends:     with end(), or when it goes: what waits is told first, and the function does not run
//           any more when that returns, unless it is called from the function.
// Threads:  any; one lock inside, which is not held while the function runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "core/tuning.hpp"

namespace zlink {

class log_listener {
public:
    using function = void (*)(void *arg, int level, const char *line);
    static constexpr std::size_t most_events_waiting = 1000;

    /// Starts the thread, for a log. no_memory, or no_thread where there is none. The library stays
    /// loaded for it.
    static error start(function what, void *arg, const void *log,
                       std::unique_ptr<log_listener> &out) noexcept;
    ~log_listener() { end(); }
    log_listener(const log_listener &) = delete;
    log_listener &operator=(const log_listener &) = delete;

    void add(log_level level, std::string line) noexcept;
    void end() noexcept;
    /// Whether the caller is a function of this log, though it may be another one's turn by now.
    static bool is_told_for(const void *log) noexcept;

private:
    bool is_this_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

    struct state;
    log_listener() noexcept = default;

    std::shared_ptr<state> shared_;  // with the thread
    std::thread thread_;
};

}  // namespace zlink
