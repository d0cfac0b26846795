// The endpoints that a socket binds and connects to, and the fate of its pipes there.
#include <algorithm>
#include <new>
#include <utility>

#include "socket/socket.hpp"

namespace zlink {

error socket::bind(const char *endpoint) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    if (!endpoint)
        return error::invalid;
    std::string actual;
    if (const error e = environment_.endpoints.bind(*this, endpoint, actual); failed(e))
        return e;
    set_endpoint(std::move(actual));
    // A peer that waited for an inproc name is here now, and is to be told what this socket
    // subscribes to.
    if (mailbox_->has_commands())
        (void)pipes_.process_commands();
    pipes_.raise_exported();
    return error::none;
}

error socket::connect(const char *endpoint) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    if (!endpoint)
        return error::invalid;
    if (!options_.connect_routing_id.empty() && pattern_->knows_peer(options_.connect_routing_id)) {
        constexpr error why = error::address_in_use;
        events_sink()->emit_refusal("a peer is there with the name in ZMQ_CONNECT_ROUTING_ID", to_errno(why),
                                    endpoint);
        return why;
    }
    std::string actual;
    if (const error e = environment_.endpoints.connect(*this, endpoint, actual); failed(e))
        return e;
    set_endpoint(std::move(actual));
    pipes_.raise_exported();
    return error::none;
}

void socket::set_endpoint(std::string actual) {
    last_endpoint_ = std::move(actual);
    std::lock_guard guard(label_mutex_);
    try {
        label_.endpoint = last_endpoint_;
    } catch (const std::bad_alloc &) {
        label_.endpoint.clear();  // for people alone: the call has done what it was asked for
    }
}

error socket::unbind(const char *endpoint) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    if (!endpoint)
        return error::invalid;
    const error e = environment_.endpoints.unbind(*this, endpoint);
    pipes_.raise_exported();
    return e;
}

error socket::disconnect(const char *endpoint) {
    const auto is_there = [&](const pipe_end_ptr &pipe) {
        return pipe->slot.endpoint && *pipe->slot.endpoint == endpoint && !pipe->is_closed();
    };
    const bool was_there = endpoint && std::any_of(pipes_.live().begin(), pipes_.live().end(), is_there);
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    if (!endpoint)
        return error::invalid;
    const error e = environment_.endpoints.disconnect(*this, endpoint);
    pipes_.raise_exported();
    // A peer that has ended the last one is heard of only here.
    return e == error::no_entry && was_there ? error::none : e;
}

void socket::attach(const pipe_end_ptr &pipe, bool is_local) { pipes_.attach(pipe, is_local); }

std::size_t socket::detach_endpoint(const std::string &endpoint, unread_input what) noexcept {
    return pipes_.detach_endpoint(endpoint, what);
}

}  // namespace zlink
