#include "context/endpoints.hpp"

#include <algorithm>

namespace zlink {

namespace {

/// Types for which a second connect to the same endpoint would only split what one connection carries.
bool connects_once(socket_type type)
{
    return type == socket_type::dealer || type == socket_type::sub || type == socket_type::pub ||
           type == socket_type::req;
}

} // namespace

endpoints::endpoints(socket &self, const environment &environment) : environment_(environment), inbox_(self.inbox()) {}

pipe_options endpoints::marks(const settings &options) const noexcept
{
    // First is the socket's end.
    return {static_cast<std::uint64_t>(options.send_hwm), static_cast<std::uint64_t>(options.receive_hwm),
            options.conflate};
}

session_environment endpoints::environment_for(socket &self, const std::string &scheme, loop &io, std::string endpoint)
{
    session_environment made;
    made.io = &io;
    made.options = std::make_shared<const settings>(self.options());
    made.sizes = scheme == "ipc" ? environment_.knobs.ipc : environment_.knobs.tcp;
    made.pool = environment_.pool;
    if (self.type() == socket_type::sub || self.type() == socket_type::xsub)
        made.subscriptions = self.subscriptions();
    made.events = self.events_sink();
    made.host = shared_from_this();
    made.random = &environment_.random;
    made.endpoint = std::move(endpoint);
    return made;
}

error endpoints::bind(socket &self, const std::string &scheme, const std::string &address, std::string &actual)
{
    const transport *kind = environment_.io.find(scheme);
    if (!kind)
        return error::protocol_not_supported;
    loop *io = environment_.io.choose(self.options().affinity);
    if (!io)
        return error::no_thread;
    std::unique_ptr<listener> listening;
    if (const error e = kind->make_listener(address, self.options(), environment_.knobs, *io, listening); failed(e)) {
        self.events_sink()->emit({event_kind::bind_failed, static_cast<std::uint32_t>(to_errno(e)), scheme + "://" + address});
        return e;
    }
    actual = listening->endpoint();
    auto made = std::make_shared<acceptor>(environment_for(self, scheme, *io, actual), std::move(listening),
                                           [weak = weak_from_this()](const std::shared_ptr<session> &accepted) {
                                               const auto alive = weak.lock();
                                               return alive && alive->add(accepted);
                                           });
    acceptors_.push_back(made);
    const error e = made->start();
    if (failed(e))
        acceptors_.pop_back();
    return e;
}

error endpoints::connect(socket &self, const std::string &scheme, const std::string &address, std::string &actual)
{
    const transport *kind = environment_.io.find(scheme);
    if (!kind)
        return error::protocol_not_supported;
    if (const error e = kind->check_connect(address, self.options()); failed(e))
        return e;
    loop *io = environment_.io.choose(self.options().affinity);
    if (!io)
        return error::no_thread;
    actual = scheme + "://" + address;
    if (connects_once(self.type())) {
        std::lock_guard guard(mutex_);
        if (std::any_of(sessions_.begin(), sessions_.end(), [&](const auto &existing) {
                return existing->is_connecting() && existing->environment().endpoint == actual;
            }))
            return error::none;
    }
    session_environment made = environment_for(self, scheme, *io, actual);
    pipe_ends ends;
    if (!self.options().immediate)
        ends = make_pipe(environment_.pool, marks(self.options()));
    const auto fresh = session::connecting(std::move(made), *kind, address, ends.second);
    if (!add(fresh))
        return error::terminated;
    if (ends.first) {
        ends.first->set_events(inbox_);
        ends.first->slot.endpoint = actual;
        ends.first->slot.routing_id = self.take_connect_routing_id();
        self.attach(ends.first, true, false);
    }
    return fresh->start();
}

error endpoints::unbind(socket &self, const std::string &endpoint)
{
    const auto it = std::find_if(acceptors_.begin(), acceptors_.end(),
                                 [&](const auto &which) { return which->endpoint() == endpoint; });
    if (it == acceptors_.end())
        return error::no_entry;
    const auto closing = *it;
    acceptors_.erase(it);
    closing->close();
    self.detach_endpoint(endpoint);
    stop_sessions(endpoint);
    return error::none;
}

error endpoints::disconnect(socket &self, const std::string &endpoint)
{
    bool is_known = false;
    {
        std::lock_guard guard(mutex_);
        is_known = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto &which) {
            return which->is_connecting() && which->environment().endpoint == endpoint;
        });
    }
    if (self.detach_endpoint(endpoint) > 0)
        is_known = true;
    if (!is_known)
        return error::no_entry;
    stop_sessions(endpoint);
    return error::none;
}

void endpoints::close() noexcept
{
    for (const auto &which : acceptors_)
        which->close();
    acceptors_.clear();
    std::vector<std::shared_ptr<session>> stopping;
    {
        std::lock_guard guard(mutex_);
        is_closed_ = true;
        try {
            stopping = sessions_;
        } catch (...) {
        }
    }
    for (const auto &which : stopping)
        which->stop();
}

void endpoints::stop_sessions(const std::string &endpoint) noexcept
{
    std::lock_guard guard(mutex_);
    for (const auto &which : sessions_)
        if (which->environment().endpoint == endpoint)
            which->stop();
}

bool endpoints::add(const std::shared_ptr<session> &what)
{
    std::lock_guard guard(mutex_);
    if (is_closed_)
        return false;
    sessions_.push_back(what);
    environment_.count.session_began();
    environment_.io.add_load(*what->environment().io);
    return true;
}

pipe_end_ptr endpoints::make_session_pipe(session &which) noexcept
{
    try {
        const pipe_ends ends = make_pipe(environment_.pool, marks(*which.environment().options));
        ends.first->set_events(inbox_);
        ends.first->slot.endpoint = which.environment().endpoint;
        ends.second->set_events(which.shared_from_this());
        if (!inbox_->post({mailbox::command_kind::attach, ends.first, which.is_connecting(), false}))
            return nullptr;
        return ends.second;
    } catch (...) {
        return nullptr;
    }
}

void endpoints::on_session_end(session &which) noexcept
{
    environment_.io.remove_load(*which.environment().io);
    {
        std::lock_guard guard(mutex_);
        std::erase_if(sessions_, [&](const auto &held) { return held.get() == &which; });
    }
    environment_.count.session_ended();
}

} // namespace zlink
