// From an endpoint's text to acceptors and sessions. See endpoints.hpp.
//
// Map: what pipes and sessions get; binding and connecting; taking an endpoint back; peers, as
//      people look at them; the sessions, and the pipe that each asks for.
#include "context/endpoints.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>

#include "context/peer_survey.hpp"
#include "context/policy_judge.hpp"
#include "core/reason.hpp"

namespace zlink {

namespace {

/// Types for which a second connect to the same endpoint would only split what one connection
/// carries.
bool connects_once(socket_type type) {
    return type == socket_type::dealer || type == socket_type::sub || type == socket_type::pub ||
           type == socket_type::req;
}

error refuse_scheme(socket &self, const std::string &scheme, const std::string &address) {
    constexpr error why = error::protocol_not_supported;
    self.events_sink()->emit_refusal("there is no transport " + scheme + " in this library", to_errno(why),
                                     scheme + "://" + address);
    return why;
}

error refuse_for_want_of_threads(socket &self, const std::string &endpoint) {
    constexpr error why = error::no_thread;
    self.events_sink()->emit_refusal("the context has no I/O thread, or none that ZMQ_AFFINITY allows",
                                     to_errno(why), endpoint);
    return why;
}

/// Tells in libzmq's order: in front the end of the descriptor, where there was one; then the
/// address without its scheme. The reason is in front of both.
void tell_bind_failure(event_sink &events, const std::string &scheme, const std::string &address, error why) {
    int descriptor = -1;
    const int number = to_errno(why);
    const std::string endpoint = scheme + "://" + address;
    std::string words = reason::take(descriptor);
    const connection_event failed{event_kind::bind_failed, static_cast<std::uint32_t>(number), address};
    if (descriptor >= 0) {
        events.emit_explained(std::move(words), number,
                              {event_kind::closed, static_cast<std::uint32_t>(descriptor), endpoint}, true);
        events.emit(failed);
    } else if (words.empty()) {
        events.emit(failed);
    } else {
        events.emit(
            {event_kind::reason, static_cast<std::uint32_t>(number), endpoint, std::move(words), true},
            failed);
    }
}

/// A program that nobody has changed looks at no monitor: what the policy of its surroundings does
/// to it stands on stderr, too.
error refuse_by_policy(socket &self, bool binds, const std::string &endpoint, const std::string &why) {
    std::fprintf(stderr, "zlink: %s %s is refused: %s\n", binds ? "bind to" : "connect to", endpoint.c_str(),
                 why.c_str());
    self.events_sink()->emit_refusal(why, EACCES, endpoint);
    return error::not_permitted;
}

/// The reason that was left goes on to who takes it.
void repeat_on_stderr(const std::string &endpoint) {
    int descriptor = -1;
    std::string words = reason::take(descriptor);
    if (!words.empty())
        std::fprintf(stderr, "zlink: %s, under a policy: %s\n", endpoint.c_str(), words.c_str());
    reason::leave(std::move(words), descriptor);
}

std::shared_ptr<const std::string> name_of(const session_environment_ptr &environment) noexcept {
    return {environment, &environment->endpoint};
}

}  // namespace

endpoints::endpoints(socket &self, const environment &environment)
    : environment_(environment), inbox_(self.inbox()) {}

pipe_options endpoints::pipe_for(const settings &options, const batching &sizes) noexcept {
    // First is the socket's end.
    return {static_cast<std::uint64_t>(options.send_hwm),
            static_cast<std::uint64_t>(options.receive_hwm),
            options.keeps_newest(),
            sizes,
            end_kind::connection,
            options.send_hwm_octets,
            options.receive_hwm_octets};
}

/// The environment of the sessions of `endpoint`: the one made last while it is in use and still
/// holds.
session_environment_ptr endpoints::environment_for(socket &self, const route &where, loop &io,
                                                   std::string endpoint) {
    const transport &kind = *where.kind;
    const std::string &address = where.terms.address;
    std::optional<web_place> place = kind.place_of(address);
    if (const session_environment_ptr last = last_made_.lock();
        last && last->io == &io && last->endpoint == endpoint && last->address == address &&
        last->is_connecting != where.binds && last->place == place && last->permission == where.permission &&
        last->options == where.terms.options)
        return last;
    auto made = std::make_shared<session_environment>();
    made->io = &io;
    made->options = where.terms.options;
    made->sizes = kind.sizes(environment_.knobs, made->options);
    made->pool = environment_.pool;
    if (self.type() == socket_type::sub || self.type() == socket_type::xsub)
        made->subscriptions = self.subscriptions();
    made->events = self.events_sink();
    made->counts = self.counts();
    made->gone = self.gone();
    made->host = shared_from_this();
    made->random = &environment_.random;
    made->judges = environment_.judges;
    made->endpoint = std::move(endpoint);
    made->address = address;
    made->is_connecting = !where.binds;
    made->place = std::move(place);
    made->permission = where.permission;
    if (!where.terms.judged_mechanism.empty()) {
        made->policy_judge = make_policy_judge(where.permission, environment_.judges, self.options().tls_zap);
        made->judges = made->policy_judge.get();
    }
    last_made_ = made;
    return made;
}

error endpoints::find_route(socket &self, bool binds, const std::string &scheme, const std::string &address,
                            route &out) {
    out.binds = binds;
    if (!environment_.rules) {
        out.terms = {self.options(), address, false, {}};
    } else {
        std::string why;
        if (!environment_.rules->judge({binds, self.type(), scheme, address}, self.options(), out.terms,
                                       out.permission, why))
            return refuse_by_policy(self, binds, scheme + "://" + address, why);
    }
    out.kind = out.terms.is_inside_tls ? find_transport_inside_tls(scheme) : environment_.io.find(scheme);
    return out.kind ? error::none : refuse_scheme(self, scheme, address);
}

error endpoints::bind(socket &self, const std::string &scheme, const std::string &address,
                      std::string &actual) {
    route where;
    if (const error e = find_route(self, true, scheme, address, where); failed(e))
        return e;
    loop *const io = environment_.io.choose(self.options().affinity);
    if (!io)
        return refuse_for_want_of_threads(self, scheme + "://" + address);
    std::unique_ptr<listener> listening;
    if (const error e = where.kind->make_listener(where.terms.address, where.terms.options,
                                                  environment_.knobs, *io, listening);
        failed(e)) {
        if (where.permission)
            repeat_on_stderr(scheme + "://" + address);
        tell_bind_failure(*self.events_sink(), scheme, address, e);
        return e;
    }
    std::string doubts = reason::take();
    actual = listening->endpoint();
    auto made = std::make_shared<acceptor>(
        environment_for(self, where, *io, actual), std::move(listening), environment_.io,
        [weak = weak_from_this()](const std::shared_ptr<session> &accepted) {
            const auto alive = weak.lock();
            return alive && alive->add(accepted);
        });
    acceptors_.push_back(made);
    const error e = made->start(std::move(doubts));
    if (failed(e))
        acceptors_.pop_back();
    else if (where.terms.address != address)
        moved_.emplace_back(scheme + "://" + address, actual);
    return e;
}

error endpoints::connect(socket &self, const std::string &scheme, const std::string &address,
                         std::string &actual) {
    route where;
    if (const error e = find_route(self, false, scheme, address, where); failed(e))
        return e;
    const transport *const kind = where.kind;
    if (const error e = kind->check_connect(address, where.terms.options); failed(e)) {
        if (where.permission)
            repeat_on_stderr(scheme + "://" + address);
        self.events_sink()->emit_refusal(reason::take(), to_errno(e), scheme + "://" + address);
        return e;
    }
    loop *const io = environment_.io.choose(self.options().affinity);
    if (!io)
        return refuse_for_want_of_threads(self, scheme + "://" + address);
    actual = kind->endpoint_for(address);
    if (connects_once(self.type())) {
        std::lock_guard guard(mutex_);
        if (std::any_of(sessions_.begin(), sessions_.end(), [&](const auto &existing) {
                return existing->is_connecting() && !existing->is_stopping() &&
                       existing->environment()->endpoint == actual;
            }))
            return error::none;
    }
    const session_environment_ptr environment = environment_for(self, where, *io, actual);
    pipe_ends ends;
    if (!self.options().immediate)
        ends = make_pipe(environment_.pool, pipe_for(self.options(), environment->sizes));
    const auto fresh = session::connecting(environment, *kind, ends.second);
    if (!add(fresh))
        return error::terminated;
    if (ends.first) {
        // Session and pipe keep each other from here on, until the session ends.
        ends.second->set_events(fresh);
        ends.second->follow(false);
        try {
            ends.first->set_events(inbox_);
            ends.first->slot.endpoint = name_of(environment);
            ends.first->slot.routing_id = self.take_connect_routing_id();
            self.attach(ends.first, true);
        } catch (...) {
            fresh->stop();
            throw;
        }
    }
    return fresh->start();
}

/// A listener goes by its own name, which is what the system prints, and by every way to write the
/// address that it is bound to.
error endpoints::remove(socket &self, const std::string &scheme, const std::string &address) {
    const transport *const kind = environment_.io.find(scheme);
    const std::string own = kind ? kind->endpoint_for(address) : scheme + "://" + address;
    if (const error e = remove_named(self, own); e != error::no_entry)
        return e;
    if (const std::string moved = bound_as(scheme + "://" + address); !moved.empty())
        return remove_named(self, moved);
    const auto found = std::find_if(acceptors_.begin(), acceptors_.end(), [&](const auto &each) {
        return kind && kind->may_be_bound_to(address, each->endpoint());
    });
    return found == acceptors_.end() ? error::no_entry
                                     : remove_named(self, std::string((*found)->endpoint()));
}

/// The endpoint that a policy has bound last; empty where it has not.
std::string endpoints::bound_as(const std::string &endpoint) const {
    const auto found = std::find_if(moved_.rbegin(), moved_.rend(),
                                    [&](const auto &each) { return each.first == endpoint; });
    return found == moved_.rend() ? std::string() : found->second;
}

error endpoints::remove_named(socket &self, const std::string &endpoint) {
    const bool was_bound = stop_listening_at(endpoint);
    const auto of_connected = stop_sessions(endpoint);
    // A worker that unbinds goes on, as in libzmq, with what has come.
    const auto otherwise = was_bound ? socket::unread_input::kept : socket::unread_input::dropped;
    const bool had_pipes = self.detach_endpoint(endpoint, of_connected.value_or(otherwise)) > 0;
    return was_bound || of_connected || had_pipes ? error::none : error::no_entry;
}

/// True when somebody listened there.
bool endpoints::stop_listening_at(const std::string &endpoint) noexcept {
    bool was_bound = false;
    for (std::size_t i = acceptors_.size(); i-- > 0;) {
        if (acceptors_[i]->endpoint() != endpoint)
            continue;
        const auto closing = acceptors_[i];
        acceptors_.erase(acceptors_.begin() + static_cast<std::ptrdiff_t>(i));
        std::erase_if(moved_, [&](const auto &each) { return each.second == endpoint; });
        closing->close();
        was_bound = true;
    }
    return was_bound;
}

/// The fate of what those have brought that were connecting there, if any were. As in libzmq: who
/// disconnects wants no more of it, but with ZMQ_IMMEDIATE, where connections come and go, goes on
/// with it. On return every session of the endpoint has ended, or has a pipe that the socket knows
/// of or finds in its mailbox: no pipe comes later.
std::optional<socket::unread_input> endpoints::stop_sessions(const std::string &endpoint) {
    using enum pipe_table::unread_input;
    std::optional<socket::unread_input> fate;
    std::vector<loop *> loops;
    {
        std::lock_guard guard(mutex_);
        for (const auto &which : sessions_) {
            if (which->environment()->endpoint != endpoint)
                continue;
            const bool is_first = which->stop(session::why_stopped::disconnected);
            if (is_first && which->is_connecting())
                fate = which->environment()->options.immediate && fate != dropped ? kept : dropped;
            if (std::find(loops.begin(), loops.end(), which->environment()->io) == loops.end())
                loops.push_back(which->environment()->io);
        }
    }
    for (loop *io : loops)
        (void)io->post_and_wait([] {});
    return fate;
}

void endpoints::stop_listening() noexcept {
    for (const auto &each : acceptors_)
        each->close();
    acceptors_.clear();
}

void endpoints::close(int linger_ms) noexcept {
    stop_listening();
    std::lock_guard guard(mutex_);
    is_closed_ = true;
    for (const auto &which : sessions_)
        which->stop_within(linger_ms);
}

void endpoints::look_at_permissions() noexcept {
    std::lock_guard guard(mutex_);
    for (const auto &which : sessions_)
        if (which->environment()->permission)
            which->look_at_permission();
}

// ---- Peers, as people look at them ----

std::vector<std::shared_ptr<session>> endpoints::sessions() {
    std::lock_guard guard(mutex_);
    return sessions_;
}

error endpoints::list_peers(std::vector<peer_view> &to) {
    peer_survey survey;
    survey.add(0, sessions());
    std::vector<peer_view> found;
    const error e = survey.take(peer_survey::for_ever,
                                [&](std::size_t, peer_view &&peer) { found.push_back(std::move(peer)); });
    if (!failed(e))
        std::move(found.begin(), found.end(), std::back_inserter(to));
    return e;
}

error endpoints::cut_peer(std::uint64_t number) noexcept {
    std::lock_guard guard(mutex_);
    const auto found = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const auto &each) { return each->number() == number; });
    if (found == sessions_.end())
        return error::no_entry;
    (*found)->cut(cut_reason::asked_for);
    return error::none;
}

bool endpoints::add(const std::shared_ptr<session> &what) {
    std::lock_guard guard(mutex_);
    if (is_closed_)
        return false;
    sessions_.push_back(what);
    what->held_at = sessions_.size() - 1;
    environment_.count.session_began();
    environment_.io.add_load(*what->environment()->io);
    return true;
}

pipe_end_ptr endpoints::make_session_pipe(session &which) noexcept {
    try {
        const pipe_ends ends =
            make_pipe(environment_.pool, pipe_for(which.environment()->options, which.environment()->sizes));
        ends.first->set_events(inbox_);
        ends.first->slot.endpoint = name_of(which.environment());
        ends.second->set_events(which.shared_from_this());
        if (!inbox_->post({mailbox::command_kind::attach, ends.first, which.is_connecting()}))
            return nullptr;
        return ends.second;
    } catch (...) {
        return nullptr;
    }
}

void endpoints::on_session_end(session &which) noexcept {
    environment_.io.remove_load(*which.environment()->io);
    {
        std::lock_guard guard(mutex_);
        if (which.held_at < sessions_.size() && sessions_[which.held_at].get() == &which) {
            std::swap(sessions_[which.held_at], sessions_.back());
            sessions_[which.held_at]->held_at = which.held_at;
            sessions_.pop_back();
        }
    }
    environment_.count.session_ended();
}

}  // namespace zlink
