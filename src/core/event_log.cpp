// Writes what happens to sockets on stderr; see event_log.hpp.
#include "core/event_log.hpp"

#include <algorithm>

#include "zmq.h"

#define ZLINK_TEXT(number)                 #number
#define ZLINK_RELEASE(major, minor, patch) ZLINK_TEXT(major) "." ZLINK_TEXT(minor) "." ZLINK_TEXT(patch)

namespace zlink {

namespace {

/// Endpoints whose last words are kept; from then on something may be said twice.
constexpr std::size_t most_endpoints = 1000;

struct known_event {
    event_kind kind;
    log_level level;
    const char *words;
    const char *value;  // what the value is, for `debug`
};

constexpr known_event known_events[] = {
    {event_kind::bind_failed, log_level::error, "bind has failed", "errno"},
    {event_kind::accept_failed, log_level::error, "a peer could not be let in", "errno"},
    {event_kind::handshake_failed_no_detail, log_level::warn, "the handshake has failed", "errno"},
    {event_kind::handshake_failed_protocol, log_level::warn, "the handshake has failed", "protocol error"},
    {event_kind::handshake_failed_auth, log_level::warn, "the peer was not authenticated", "status"},
    {event_kind::listening, log_level::info, "listening", "descriptor"},
    {event_kind::handshake_succeeded, log_level::info, "a peer is there", "value"},
    {event_kind::disconnected, log_level::info, "the peer is gone", "descriptor"},
    {event_kind::connected, log_level::debug, "connected", "descriptor"},
    {event_kind::connect_delayed, log_level::debug, "connecting", "errno"},
    {event_kind::connect_retried, log_level::debug, "to be tried again", "milliseconds"},
    {event_kind::accepted, log_level::debug, "accepted", "descriptor"},
    {event_kind::closed, log_level::debug, "closed", "descriptor"},
    {event_kind::close_failed, log_level::debug, "not closed", "errno"},
    {event_kind::reason, log_level::warn, "", "errno"},
};

const known_event *find(event_kind kind) noexcept {
    const auto *const at = std::find_if(std::begin(known_events), std::end(known_events),
                                        [&](const known_event &each) { return each.kind == kind; });
    return at == std::end(known_events) ? nullptr : at;
}

constexpr std::string_view level_names[] = {"none", "error", "warn", "info", "debug"};

}  // namespace

std::string_view event_log::name_of_library() noexcept {
    return "zlink " ZLINK_RELEASE(
        ZLINK_VERSION_MAJOR, ZLINK_VERSION_MINOR,
        ZLINK_VERSION_PATCH) " (libzmq " ZLINK_RELEASE(ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR,
                                                       ZMQ_VERSION_PATCH) " compatible)";
}

void event_log::tell(log_level level, std::string_view what) noexcept {
    if (writes(level))
        try {
            write_line(level, what);
        } catch (...) {
        }
}

void event_log::tell(std::string_view type, const connection_event *why,
                     const connection_event &event) noexcept {
    const known_event *const known = find(event.kind);
    if (!known)
        return;
    const std::string &words = why ? why->words : event.words;
    log_level level = known->level;
    if (!words.empty())
        level = std::min(level, (why ? *why : event).fails_call ? log_level::error : log_level::warn);
    if (!writes(level))
        return;
    try {
        const std::string whose = std::string(type) + ' ' + (why ? why->endpoint : event.endpoint);
        std::string what = words;
        if (*known->words)
            what += what.empty() ? known->words : std::string(" (") + known->words + ')';
        if (writes(log_level::debug))
            what += std::string(", ") + known->value + ' ' + std::to_string(event.value);
        else if (is_repeated(whose, what))
            return;
        write_line(level, whose + ": " + what);
    } catch (...) {
    }
}

bool event_log::is_repeated(const std::string &whose, const std::string &what) {
    std::lock_guard guard(mutex_);
    if (said_last_.size() >= most_endpoints && !said_last_.contains(whose))
        said_last_.clear();
    std::string &last = said_last_[whose];
    if (last == what)
        return true;
    last = what;
    return false;
}

/// Octets that a terminal might obey become question marks: an endpoint comes from anywhere.
void event_log::write_line(log_level level, std::string_view what) {
    std::string line = "zlink: ";
    line += level_names[static_cast<int>(level)];
    line += ": ";
    const auto begin = static_cast<std::ptrdiff_t>(line.size());
    line += what;
    std::replace_if(
        line.begin() + begin, line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    line += '\n';
    write_(line);
}

}  // namespace zlink
