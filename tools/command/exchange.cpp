#include "exchange.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace command {

namespace {

constexpr int at_a_time = 256;  // messages of one direction, before the other has its turn
constexpr int drain_ms = 1000;  // after an interrupt
constexpr int try_again_ms = 5;

int socket_type(const exchange_flags &flags, const role &part) {
    // It hears of its subscribers.
    return part.type == ZMQ_PUB && flags.ready > 0 ? ZMQ_XPUB : part.type;
}

bool is_secured(const security_flags &flags) {
    return !flags.curve_server_key.empty() || !flags.username.empty();
}

bool is_failed_handshake(const watch_event &event) {
    return event.number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ||
           event.number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
           event.number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
}

bool is_published(const role &part) { return part.type == ZMQ_PUB || part.type == ZMQ_XPUB; }

bool holds_ids(int type) { return type == ZMQ_ROUTER || type == ZMQ_STREAM; }

/// A STREAM says so that somebody has connected, or gone.
bool is_notice(const role &part, const message &got) {
    return part.type == ZMQ_STREAM && got.parts.size() == 2 && got.parts[1].empty();
}

}  // namespace

role role_of(int type) {
    switch (type) {
    case ZMQ_PUB:
        return {type, true, true, false};
    case ZMQ_SUB:
        return {type, false, false, true};
    case ZMQ_PUSH:
        return {type, false, true, false};
    case ZMQ_PULL:
        return {type, true, false, true};
    case ZMQ_REP:
    case ZMQ_ROUTER:
    case ZMQ_XPUB:
        return {type, true, true, true};
    default:
        return {type, false, true, true};
    }
}

exchange::exchange(const exchange_flags &flags, const role &part, responder answer)
    : flags_(flags), part_(part), answer_(std::move(answer)), socket_(context_, socket_type(flags, part)),
      watch_(context_, socket_), in_(flags.format), last_activity_(clock::now()), next_send_(clock::now()) {}

void exchange::set_up_socket() {
    const bool publishes = is_published(part_);
    if (part_.sends && !publishes && part_.type != ZMQ_XSUB && part_.type != ZMQ_STREAM) {
        socket_.set(ZMQ_IMMEDIATE, 1);  // what is queued has somebody to go to
    }
    if (part_.type == ZMQ_ROUTER) {
        socket_.set(ZMQ_ROUTER_MANDATORY, 1);
    }
    if (publishes && socket_.get(ZMQ_TYPE) == ZMQ_XPUB) {
        socket_.set(ZMQ_XPUB_VERBOSE, 1);
    }
    if (publishes) {
        socket_.set(ZMQ_XPUB_NODROP, 1);  // a file that is published arrives whole
    }
    prepare(socket_, flags_.connection);
    if (part_.type == ZMQ_SUB) {
        for (const std::string &topic : flags_.topics) {
            socket_.set(ZMQ_SUBSCRIBE, topic);
        }
        if (flags_.topics.empty()) {
            socket_.set(ZMQ_SUBSCRIBE, std::string());
        }
    }
    opened_ = open_endpoints(socket_, watch_, flags_.connection, part_.binds_by_default);
}

status exchange::run() {
    try {
        return run_until_end();
    } catch (...) {
        interrupts_.release();  // what lingers can be interrupted
        throw;
    }
}

status exchange::run_until_end() {
    set_up_socket();
    if (part_.type == ZMQ_PUB && flags_.ready > 0) {
        if (const auto ended = wait_for_subscribers()) {
            return end(*ended);
        }
    }
    last_activity_ = clock::now();
    for (;;) {
        const bool may_be_more = receive_some();
        send_some();
        if (is_done()) {
            return end(status::done);
        }
        if (!may_be_more) {
            out_.flush();
        }
        if (const auto ended = wait(true, may_be_more ? 0 : poll_timeout())) {
            return end(*ended);
        }
    }
}

std::optional<status> exchange::wait_for_subscribers() {
    for (waits_for_subscribers_ = true;;) {
        message got;
        while (socket_.try_receive(got)) {
            if (!got.parts[0].empty() && got.parts[0][0] == 1) {
                subscribers_.insert(fmt::format("{} {}", got.descriptor, got.peer_address));
            }
        }
        if (subscribers_.size() >= flags_.ready) {
            waits_for_subscribers_ = false;
            return std::nullopt;
        }
        if (const auto ended = wait(false, poll_timeout())) {
            return ended;
        }
    }
}

/// True where there may be more to receive.
bool exchange::receive_some() {
    message got;
    for (int i = 0; i < at_a_time; ++i) {
        if (is_done() || (answer_ && pending_) || !socket_.try_receive(got)) {
            return false;
        }
        take(got);
    }
    return true;
}

void exchange::take(message &got) {
    if (!part_.receives) {
        return;  // what subscribers have told an XPUB that stands for a PUB
    }
    if (!is_notice(part_, got)) {
        ++received_;
        last_activity_ = clock::now();
    }
    const size_t at = holds_ids(part_.type) ? 1 : 0;
    if (flags_.has_delimiter && got.parts.size() > at + 1 && got.parts[at].empty()) {
        got.parts.erase(got.parts.begin() + static_cast<long>(at));
    }
    format_flags format = flags_.format;
    format.has_id = holds_ids(part_.type);
    format.has_topic = part_.type == ZMQ_SUB;
    format.is_for_terminal = out_.is_terminal();
    if (format.kind == format_kind::json || format.kind == format_kind::msgpack) {
        got.endpoint = endpoint_of(got);
    }
    if (answer_) {
        pending_ = answer_(got.parts, interrupts_.descriptor());
    } else {
        out_.write(formatted(got, format));
        if (part_.type == ZMQ_REP) {
            out_.flush();  // somebody reads it, and writes the reply
        }
    }
}

/// With several of them, the monitor has told which one a connection is of, before messages came
/// by it.
std::string exchange::endpoint_of(const message &got) {
    if (opened_.bound.size() + opened_.connected.size() == 1) {
        return (opened_.bound.empty() ? opened_.connected : opened_.bound)[0];
    }
    collect_events();
    const auto found = endpoints_.find(got.descriptor);
    return found == endpoints_.end() ? "" : found->second;
}

void exchange::collect_events() {
    while (auto event = watch_.next()) {
        if (event->number == ZMQ_EVENT_CONNECTED || event->number == ZMQ_EVENT_ACCEPTED) {
            endpoints_[static_cast<int>(event->value)] = event->endpoint;
        }
        events_.push_back(std::move(*event));
    }
}

bool exchange::has_next() {
    if (answer_ || !part_.sends) {
        return false;
    }
    const bool limits_sending = !part_.receives || part_.type == ZMQ_REQ || part_.type == ZMQ_REP;
    if (limits_sending && flags_.count && loaded_ >= *flags_.count) {
        return false;
    }
    if (flags_.messages.empty()) {
        return in_.has_piece();
    }
    // Messages of the command line are sent once; with a count again and again.
    return next_message_ < flags_.messages.size() || (limits_sending && flags_.count);
}

void exchange::load_next() {
    format_flags format = flags_.format;
    format.has_id = holds_ids(part_.type);
    std::vector<std::string> parts =
        flags_.messages.empty()
            ? parts_of_input(in_.take_piece(), format)
            : parts_of_argument(flags_.messages[next_message_++ % flags_.messages.size()], format);
    if (part_.type == ZMQ_PUB && !flags_.topics.empty()) {
        parts.insert(parts.begin(), flags_.topics[0]);
    }
    if (flags_.has_delimiter) {
        parts.insert(parts.begin() + (format.has_id ? 1 : 0), "");
    }
    pending_ = std::move(parts);
    ++loaded_;
}

bool exchange::may_send_now() const { return !flags_.interval || clock::now() >= next_send_; }

void exchange::send_some() {
    for (int i = 0; i < at_a_time; ++i) {
        if (!pending_ && has_next()) {
            load_next();
        }
        if (!pending_ || !may_send_now() || !socket_.try_send(*pending_)) {
            return;
        }
        pending_.reset();
        ++sent_;
        last_activity_ = clock::now();
        if (flags_.interval) {
            next_send_ = last_activity_ + *flags_.interval;
        }
        if (part_.type == ZMQ_REQ || part_.type == ZMQ_REP) {
            return;
        }
    }
}

bool exchange::is_source_exhausted() const {
    if (answer_ || !part_.sends) {
        return true;
    }
    const bool limits_sending = !part_.receives || part_.type == ZMQ_REQ || part_.type == ZMQ_REP;
    if (limits_sending && flags_.count && loaded_ >= *flags_.count) {
        return true;
    }
    if (flags_.messages.empty()) {
        return in_.has_ended();
    }
    return next_message_ >= flags_.messages.size() && !(limits_sending && flags_.count);
}

bool exchange::is_done() const {
    if (pending_) {
        return false;
    }
    if (part_.type == ZMQ_REQ) {
        return is_source_exhausted() && received_ == sent_;
    }
    if (part_.type == ZMQ_REP) {
        return (flags_.count && sent_ >= *flags_.count) ||
               (!answer_ && is_source_exhausted() && flags_.messages.empty());
    }
    if (!part_.receives) {
        return is_source_exhausted();
    }
    return flags_.count && received_ >= *flags_.count;
}

/// Whether it is the peer's turn, so that --timeout runs: not while somebody types.
bool exchange::is_waiting_for_peer() const {
    if (waits_for_subscribers_) {
        return true;
    }
    if (pending_) {
        return may_send_now();
    }
    return is_source_exhausted() || (part_.type == ZMQ_REQ && sent_ > received_);
}

int exchange::poll_timeout() const {
    std::optional<clock::time_point> until;
    if (flags_.connection.timeout && is_waiting_for_peer()) {
        until = last_activity_ + *flags_.connection.timeout;
    }
    if (pending_ && !may_send_now()) {
        until = until ? std::min(*until, next_send_) : next_send_;
    }
    if (!until) {
        return -1;
    }
    const auto left = std::chrono::ceil<milliseconds>(*until - clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1000000000));
}

bool exchange::is_overdue() const {
    return flags_.connection.timeout && is_waiting_for_peer() &&
           clock::now() >= last_activity_ + *flags_.connection.timeout;
}

/// Waits for something to do, some milliseconds at most or for ever (-1). A status where the
/// command is to end.
std::optional<status> exchange::wait(bool with_source, int timeout) {
    if (!events_.empty()) {
        if (const auto ended = look_at_events()) {
            return ended;
        }
        timeout = 0;
    }
    const bool reads = with_source && !answer_ && part_.sends && flags_.messages.empty() && !pending_ &&
                       !is_source_exhausted() && !(part_.type == ZMQ_REQ && sent_ > received_);
    std::array<zmq_pollitem_t, 4> items{{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                         {watch_.handle(), 0, ZMQ_POLLIN, 0},
                                         {nullptr, interrupts_.descriptor(), ZMQ_POLLIN, 0},
                                         {nullptr, in_.descriptor(), ZMQ_POLLIN, 0}}};
    // A publisher is always said to have room (ZMQ_XPUB_NODROP): one that has none tries again.
    const bool tries_again = pending_ && may_send_now() && is_published(part_);
    if (pending_ && may_send_now() && !tries_again) {
        items[0].events = ZMQ_POLLIN | ZMQ_POLLOUT;
    }
    if (answer_ && pending_) {
        items[0].events = ZMQ_POLLOUT;
    }
    if (tries_again) {
        timeout = timeout < 0 ? try_again_ms : std::min(timeout, try_again_ms);
    }
    if (zmq_poll(items.data(), reads ? 4 : 3, timeout) < 0 && zmq_errno() != EINTR) {
        throw failure(status::other, fmt::format("cannot wait: {}", zmq_strerror(zmq_errno())));
    }
    if (items[2].revents != 0 && interrupts_.take()) {
        return status::interrupted;
    }
    if (reads && items[3].revents != 0) {
        in_.read_more();
        last_activity_ = clock::now();
    }
    if (items[1].revents != 0) {
        if (const auto ended = look_at_events()) {
            return ended;
        }
    }
    return is_overdue() ? look_once_more() : std::nullopt;
}

/// Whatever else happens meanwhile, --timeout has passed, unless a message is there by now, or has
/// room.
std::optional<status> exchange::look_once_more() {
    if (!waits_for_subscribers_) {
        receive_some();
        send_some();
        if (is_done()) {
            return status::done;
        }
    }
    return is_overdue() ? std::optional(without_more(why_nothing_)) : std::nullopt;
}

std::optional<status> exchange::look_at_events() {
    bool has_gone = false;
    for (collect_events(); !events_.empty(); events_.pop_front(), collect_events()) {
        const watch_event *const event = &events_.front();
        if (flags_.connection.is_verbose) {
            complain(words_of(*event));
        }
        if (event->number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            ++ready_peers_;
            had_peer_ = true;
            why_nothing_ = status::timed_out;
            why_words_.clear();
        } else if (is_failed_handshake(*event)) {
            ++failed_handshakes_[event->endpoint];
        } else if (event->number == ZMQ_EVENT_DISCONNECTED) {
            // It follows each failed handshake, too: of somebody who was no peer.
            auto &failed = failed_handshakes_[event->endpoint];
            if (failed > 0) {
                --failed;
            } else if (ready_peers_ > 0) {
                has_gone = --ready_peers_ == 0;
            }
        }
        if (auto meaning = meaning_of(*event)) {
            if (meaning == status::protocol && is_secured(flags_.connection.security) &&
                event->number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
                // A server without a word for a key or password that it does not take.
                meaning = status::refused;
            }
            why_nothing_ = *meaning;
            why_words_ = words_of(*event);
            // A socket that listens goes on there: others may come in.
            const bool is_of_bound =
                std::find(opened_.bound.begin(), opened_.bound.end(), event->endpoint) != opened_.bound.end();
            if (!opened_.connected.empty() && !is_of_bound && is_final(*event)) {
                return *meaning;
            }
        }
    }
    if (!has_gone) {
        return std::nullopt;
    }
    // All that it has sent before is there by now.
    while (receive_some()) {
    }
    if (is_done()) {
        return status::done;
    }
    const bool loses_reply = part_.type == ZMQ_REQ && sent_ > received_;
    return loses_reply || (flags_.ends_with_peer && !pending_)
               ? std::optional(without_more(status::peer_gone))
               : std::nullopt;
}

/// The end where no more is going to come.
status exchange::without_more(status nothing_came) const {
    if (part_.type == ZMQ_REQ || !part_.receives) {
        return nothing_came == status::timed_out && sent_ > 0 && !part_.receives ? status::partial
                                                                                 : nothing_came;
    }
    if (received_ == 0) {
        return nothing_came;
    }
    return flags_.count ? status::partial : status::done;
}

status exchange::end(status code) {
    out_.flush();
    if (code != status::done && !flags_.connection.is_quiet) {
        switch (code) {
        case status::timed_out:
            complain("nothing has come in time");
            break;
        case status::partial:
            complain("fewer messages than asked for");
            break;
        case status::peer_gone:
            complain("the peer has gone");
            break;
        case status::interrupted:
            break;
        default:
            complain(why_words_);
        }
    }
    const bool is_whole = code == status::done || code == status::partial || code == status::interrupted;
    int linger = 0;
    if (is_whole) {
        linger = code == status::interrupted ? drain_ms
                 : flags_.connection.timeout ? static_cast<int>(flags_.connection.timeout->count())
                                             : -1;
    }
    socket_.set(ZMQ_LINGER, linger);
    interrupts_.release();
    return code;
}

}  // namespace command
