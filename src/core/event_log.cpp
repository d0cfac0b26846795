// Tells what happens to sockets; see event_log.hpp. Map: the words for each event; telling one;
// what was said before, and is not said again; where the lines go.
#include "core/event_log.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/platform.hpp"
#include "zmq.h"

#define ZLINK_TEXT(number)                 #number
#define ZLINK_RELEASE(major, minor, patch) ZLINK_TEXT(major) "." ZLINK_TEXT(minor) "." ZLINK_TEXT(patch)

namespace zlink {

namespace {

/// Endpoints whose last words are kept; from then on something may be said twice.
constexpr std::size_t most_endpoints = 1000;
constexpr std::size_t most_words_of_peers = 8;  // of each of them

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
    {event_kind::slow_peer, log_level::warn, "the queue of a peer is full", "lost"},
    {event_kind::listening, log_level::info, "listening", "descriptor"},
    {event_kind::handshake_succeeded, log_level::info, "a peer is there", "value"},
    {event_kind::disconnected, log_level::info, "the peer is gone", "descriptor"},
    {event_kind::gap, log_level::info, "messages are missing", "number"},
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

/// Octets that a terminal might obey become question marks: an endpoint comes from anywhere.
std::string harmless(std::string line) noexcept {
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return line;
}

/// For people: where it is, and who.
std::string described(const peer_names &peer) {
    std::string text = peer.address;
    if (!peer.user_id.empty())
        text += ", user " + peer.user_id;
    return text;
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
            write_line(level, harmless(std::string(what)));
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
    if (!wants(level))
        return;
    try {
        told what;
        what.whose = std::string(type) + ' ' + (why ? why->endpoint : event.endpoint);
        what.what = words;
        if (*known->words)
            what.what += what.what.empty() ? known->words : std::string(" (") + known->words + ')';
        if (event.kind == event_kind::slow_peer || event.is_cut)
            what.who = ": " + described(event.peer);
        what.value = std::string(", ") + known->value + ' ' + std::to_string(event.value);
        std::string to_write, to_tell;
        std::shared_ptr<log_listener> listener;
        {
            std::lock_guard guard(mutex_);
            to_write = line_for(written_, level, what);
            to_tell = line_for(listened_, level, what);
            listener = listener_;
        }
        if (!to_write.empty())
            write_line(level, to_write);
        if (listener && !to_tell.empty())
            listener->add(level, std::move(to_tell));
    } catch (...) {
    }
}

/// Under the lock. Empty where nothing is said.
std::string event_log::line_for(output &where, log_level level, const told &event) const {
    if (level > where.level)
        return {};
    if (where.level == log_level::debug)
        return harmless(event.whose + ": " + event.what + event.who + event.value);
    return is_repeated(where, event) ? std::string() : harmless(event.whose + ": " + event.what + event.who);
}

/// The peer is not compared: one that comes again has another port. It may be slow and be cut off
/// each time: of what is said with names more is kept than the last.
bool event_log::is_repeated(output &where, const told &event) {
    if (where.said_last.size() >= most_endpoints && !where.said_last.contains(event.whose))
        where.said_last.clear();
    said &before = where.said_last[event.whose];
    if (event.who.empty()) {
        before.of_peers.clear();
        return std::exchange(before.last, event.what) == event.what;
    }
    before.last.clear();
    if (std::find(before.of_peers.begin(), before.of_peers.end(), event.what) != before.of_peers.end())
        return true;
    if (before.of_peers.size() >= most_words_of_peers)
        before.of_peers.clear();
    before.of_peers.push_back(event.what);
    return false;
}

error event_log::tell_to(log_listener::function what, void *arg, log_level level) noexcept {
    std::shared_ptr<log_listener> next, before;
    try {
        if (log_listener::is_told_for(this))
            return error::busy;
        std::string first;
        if (what) {
            std::unique_ptr<log_listener> made;
            if (const error e = log_listener::start(what, arg, this, made); failed(e))
                return e;
            next = std::move(made);
            first = std::string(name_of_library()) + ", " + platform::path_of_library();
        }
        std::lock_guard guard(mutex_);
        before = std::exchange(listener_, next);
        listened_ = {what ? level : log_level::none, {}};
        // Not before it is known here: the function may come back at once.
        if (next && level >= log_level::info)
            next->add(log_level::info, std::move(first));
        most_.store(std::max(written_.level, listened_.level), std::memory_order_relaxed);
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
    if (before)
        before->end();  // whoever adds to it yet adds to what nobody reads
    return error::none;
}

void event_log::write_line(log_level level, std::string_view what) const {
    write_("zlink: " + std::string(level_names[static_cast<int>(level)]) + ": " + std::string(what) + '\n');
}

}  // namespace zlink
