// The things that a session tells: who its peer is, and the events of its connections, for counters
// and for people.
//
// Map:      the words for an end; the peer; events.
#include <new>
#include <utility>

#include "session/session.hpp"
#include "zmtp/command.hpp"

namespace zlink {

// ---- the words for an end ----

namespace {

error error_of(const break_reason &why) noexcept {
    switch (why.failure) {
    case failure_kind::protocol:
        return error::protocol;
    case failure_kind::handshake_timeout:
        return error::again;
    case failure_kind::peer_closed:
        return error::connection_reset;
    default:
        return why.system;
    }
}

/// Tells what its numbers say. A peer that goes in the midst of traffic needs no explanation.
std::string words_of(const break_reason &why) {
    if (const std::string_view words = describe(why.failure, why.detail); !words.empty())
        return std::string(words);
    switch (to_errno(why.system)) {
    case 0:
    case EPIPE:
    case ETERM:
        return {};
    case ECONNRESET:
        return why.was_established ? std::string() : std::string(describe(failure_kind::peer_closed, 0));
    case EMSGSIZE:
        return "the peer sent a message, or the parts of one, larger than ZMQ_MAXMSGSIZE allows";
    case ENOMEM:
        return "memory is short";
    case EACCES:
        return "the policy does not allow it any more";
    default:
        return std::string("the connection broke: ") + describe(to_errno(why.system));
    }
}

}  // namespace

// ---- the peer ----

namespace {
/// Throws bad_alloc.
void name_peer(const peer_info &info, std::string &routing_id, std::string &user_id) {
    const char *const user = info.find(property_name::user_id);
    user_id = user ? user : "";
    routing_id = info.routing_id;
}
}  // namespace

/// False when memory is short.
bool session::describe_peer(connection &which) const noexcept {
    try {
        peer_info &info = which.info();
        const std::string address = which.bytes().peer_address();
        const std::string descriptor = std::to_string(which.bytes().descriptor());
        const std::string user = which.bytes().user_id();
        info.reserve(3, address.size() + descriptor.size() + user.size() + 23);  // and their names
        // Which a verdict has named.
        if (!user.empty() && !info.find(property_name::user_id))
            info.add(property_name::user_id, user);
        info.add("Peer-Address", address);
        info.add("__fd", descriptor);
        if (environment_->options.asks_for_gaps()) {
            auto found = std::make_unique<peer_info::place>();
            found->is_connecting = is_connecting();
            found->names.address = which.bytes().remote_endpoint();
            name_peer(info, found->names.routing_id, found->names.user_id);
            info.found = std::move(found);
        }
        return true;
    } catch (...) {
        return false;
    }
}

namespace {
const char *name_of(mechanism_kind mechanism) noexcept {
    switch (mechanism) {
    case mechanism_kind::plain:
        return "PLAIN";
    case mechanism_kind::curve:
        return "CURVE";
    default:
        return "NULL";
    }
}
}  // namespace

/// Throws bad_alloc.
peer_names session::names_of_peer() const {
    peer_names names;
    if (!connection_)
        return names;
    names.address = connection_->bytes().remote_endpoint();
    if (names.address.empty())  // it has gone
        names.address = connection_->bytes().peer_address();
    if (connection_->is_established())
        name_peer(connection_->info(), names.routing_id, names.user_id);
    return names;
}

void session::describe(std::vector<peer_view> &to) {
    if (phase_ == phase::over)
        return;
    peer_view seen;
    seen.id = number_;
    seen.endpoint = environment_->endpoint;
    seen.is_connecting = is_connecting();
    seen.mechanism = environment_->options.is_raw() ? "" : name_of(environment_->options.mechanism);
    peer_names names = names_of_peer();
    seen.address = std::move(names.address);
    seen.routing_id = std::move(names.routing_id);
    seen.user_id = std::move(names.user_id);
    if (connection_) {
        seen.tls_version = connection_->bytes().tls_version();
        const heartbeat_answers answers = connection_->answers();
        seen.round_trips = answers.count;
        seen.last_round_trip = answers.last;
        seen.round_trip_sum = answers.sum;
        const bool is_ready = connection_->is_established();
        seen.at = is_ready ? peer_view::state::ready : peer_view::state::handshaking;
        if (is_ready)
            seen.ready_for = environment_->io->now() - ready_since_;
    }
    if (is_closing())
        seen.at = peer_view::state::closing;
    if (pipe_) {
        seen.out = pipe_->incoming();  // from this end
        seen.in = pipe_->outgoing();
        seen.dropped_hwm = pipe_->other().dropped();
        seen.highest_out = pipe_->highest_incoming();
        seen.highest_in = pipe_->highest_outgoing();
        seen.subscriptions = pipe_->other().slot.subscriptions.load(std::memory_order_relaxed);
    }
    to.push_back(std::move(seen));
}

// ---- events ----

namespace {
void count_event(const session_environment &environment, event_kind kind) noexcept {
    switch (kind) {
    case event_kind::connected:
        return environment.count(counter::connects);
    case event_kind::accepted:
        return environment.count(counter::accepts);
    case event_kind::accept_failed:
        return environment.count(counter::accepts_failed);
    case event_kind::connect_retried:
        return environment.count(counter::reconnects);
    default:
        return;
    }
}
}  // namespace

/// Whoever hears of the event finds it counted.
void session_environment::emit(event_kind kind, std::uint32_t value, std::string words, error why,
                               peer_names peer, bool is_cut) const noexcept {
    count_event(*this, kind);
    try {
        events->emit_explained(std::move(words), to_errno(why),
                               {.kind = kind,
                                .value = value,
                                .endpoint = endpoint,
                                .is_connecting = is_connecting,
                                .peer = std::move(peer),
                                .is_cut = is_cut});
    } catch (...) {
    }
}

peer_names session_environment::names_of(const stream &bytes) const noexcept {
    try {
        if (events->wants_names())
            return {.address = bytes.remote_endpoint()};
    } catch (...) {
        // The event has to do.
    }
    return {};
}

peer_names session::names_for_event() const noexcept {
    try {
        if (environment_->events->wants_names() || reason_.is_cut())
            return names_of_peer();
    } catch (...) {
        // The event has to do.
    }
    return {};
}

/// Said where no event follows at once.
void session::emit_reason(std::string words, error why) noexcept {
    environment_->events->emit_reason(std::move(words), to_errno(why), environment_->endpoint);
}

std::string session::words_of_break() const {
    std::string words;
    if (connection_ && reason_.failure != failure_kind::handshake_timeout)
        words = connection_->reason();
    if (words.empty())
        words = words_of(reason_);
    if (!words.empty() && !reason_.may_retry && is_connecting())
        words += "; no further attempt";
    return words;
}

namespace {
handshake_failure failed_handshake_of(failure_kind failure) noexcept {
    switch (failure) {
    case failure_kind::handshake_timeout:
        return handshake_failure::timeout;
    case failure_kind::protocol:
    case failure_kind::mechanism_mismatch:
        return handshake_failure::protocol;
    case failure_kind::authentication:
    case failure_kind::no_handler:
        return handshake_failure::auth;
    default:
        return handshake_failure::other;
    }
}

std::size_t mechanism_of(const settings &options) noexcept {
    return options.is_raw() ? no_mechanism : static_cast<std::size_t>(options.mechanism);
}

counter counter_of_end(const break_reason &why) noexcept {
    if (why.failure == failure_kind::peer_dead)
        return counter::disconnects_heartbeat;
    if (why.is_cut())
        return counter::disconnects_local;
    const int system = to_errno(why.system);
    const bool is_peers = why.failure == failure_kind::none || why.failure == failure_kind::peer_closed;
    return is_peers && (system == 0 || system == EPIPE || system == ECONNRESET) ? counter::disconnects_peer
                                                                                : counter::disconnects_error;
}

counter counter_of(const break_reason &why, const settings &options) noexcept {
    return why.was_established ? counter_of_end(why)
                               : counter_of(failed_handshake_of(why.failure), mechanism_of(options));
}
}  // namespace

void session::note_break(const std::string &words) const noexcept {
    note_departure(counter_of(reason_, environment_->options), words, reason_.was_established);
}

/// Keeps for people who ask, who it was.
void session::note_departure(counter why, const std::string &words, bool was_established) const noexcept {
    if (!environment_->gone || !connection_)
        return;
    try {
        departure what;
        what.endpoint = environment_->endpoint;
        what.host = connection_->bytes().peer_address();
        what.is_connecting = is_connecting();
        what.why = why;
        what.words = words;
        what.last = environment_->io->now();
        if (was_established)
            name_peer(connection_->info(), what.routing_id, what.user_id);
        environment_->gone->note(std::move(what));
    } catch (...) {
        // The counters have to do.
    }
}

void session::emit_break() noexcept {
    environment_->count(counter_of(reason_, environment_->options));
    const error why = error_of(reason_);
    std::string words;
    try {
        words = words_of_break();
    } catch (...) {
        // The events have to do.
    }
    note_break(words);
    if (!reason_.was_established)
        emit_failed_handshake(std::exchange(words, {}), why);
    environment_->emit(event_kind::disconnected, static_cast<std::uint32_t>(descriptor_), std::move(words),
                       why, names_for_event(), reason_.is_cut());
}

void session::emit_failed_handshake(std::string words, error why) noexcept {
    const auto tell = [&](event_kind kind, std::uint32_t value) {
        environment_->emit(kind, value, std::move(words), why, names_for_event());
    };
    switch (reason_.failure) {
    case failure_kind::protocol:
    case failure_kind::mechanism_mismatch:
        tell(event_kind::handshake_failed_protocol, reason_.detail);
        break;
    case failure_kind::authentication:
        tell(event_kind::handshake_failed_auth, reason_.detail);
        break;
    case failure_kind::no_handler:
        tell(event_kind::handshake_failed_no_detail, EFAULT);
        break;
    default:
        tell(event_kind::handshake_failed_no_detail, static_cast<std::uint32_t>(to_errno(why)));
        break;
    }
}

}  // namespace zlink
