// The functions that libzmq calls drafts. Pollers, which are drafts there, too, stand in poll.cpp.
//
// Exported whether a program sees them in zmq.h or not. The types that most are for are not built:
// ENOTSUP.
#include <cstring>
#include <limits>

#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "core/platform.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

namespace {

/// The answer of a function for types of sockets that are not built.
error not_for(void *s) noexcept { return socket_of(s) ? error::not_supported : error::not_socket; }

bool is_message(const zmq_msg_t *msg) noexcept { return msg && zmq_msg_get(msg, ZMQ_SHARED) >= 0; }

}  // namespace

// ---- Contexts -----------------------------------------------------------------------------------

int zmq_ctx_set_ext(void *ctx, int option, const void *optval, size_t optvallen) {
    return guarded([&] {
        const std::shared_ptr<context> found = context_of(ctx);
        return answer(found ? found->set_option(option, optval, optvallen) : error::fault);
    });
}

int zmq_ctx_get_ext(void *ctx, int option, void *optval, size_t *optvallen) {
    return guarded([&] {
        const std::shared_ptr<context> found = context_of(ctx);
        return answer(found ? found->get_option(option, optval, optvallen) : error::fault);
    });
}

// ---- Messages -----------------------------------------------------------------------------------

int zmq_msg_init_buffer(zmq_msg_t *msg, const void *buf, size_t size) {
    if (!buf && size > 0)
        return fail(error::fault);
    if (zmq_msg_init_size(msg, size) != 0)
        return -1;
    if (size > 0)
        std::memcpy(zmq_msg_data(msg), buf, size);
    return 0;
}

int zmq_msg_set_routing_id(zmq_msg_t *msg, uint32_t) {
    return fail(is_message(msg) ? error::not_supported : error::fault);
}

uint32_t zmq_msg_routing_id(zmq_msg_t *) { return 0; }

int zmq_msg_set_group(zmq_msg_t *msg, const char *) {
    return fail(is_message(msg) ? error::not_supported : error::fault);
}

const char *zmq_msg_group(zmq_msg_t *) { return ""; }

// ---- Sockets ------------------------------------------------------------------------------------

int zmq_join(void *s, const char *) { return fail(not_for(s)); }

int zmq_leave(void *s, const char *) { return fail(not_for(s)); }

uint32_t zmq_connect_peer(void *s, const char *) {
    (void)fail(not_for(s));
    return 0;
}

int zmq_disconnect_peer(void *s, uint32_t) { return fail(not_for(s)); }

int zmq_socket_get_peer_state(void *s, const void *routing_id, size_t routing_id_size) {
    return guarded([&] {
        socket *const self = socket_of(s);
        if (!self)
            return fail(error::not_socket);
        if (!routing_id)
            return fail(error::fault);
        short events = 0;
        const error e = self->peer_events({static_cast<const char *>(routing_id), routing_id_size}, events);
        return failed(e) ? fail(e) : events;
    });
}

int zmq_socket_monitor_versioned(void *s, const char *addr, uint64_t events, int version, int type) {
    return guarded([&] {
        socket *const self = socket_of(s);
        if (!self)
            return fail(error::not_socket);
        const bool is_first = version == ZMQ_CURRENT_EVENT_VERSION;
        if (addr && ((!is_first && version != ZMQ_CURRENT_EVENT_VERSION_DRAFT) || type != ZMQ_PAIR))
            return fail(error::not_supported);
        if (addr && is_first && events > std::numeric_limits<int>::max())
            return fail(error::invalid);
        return answer(self->start_monitor(addr, events, version));
    });
}

int zmq_socket_monitor_pipes_stats(void *s) {
    return guarded([&] {
        socket *const self = socket_of(s);
        return answer(self ? self->report_pipes() : error::not_socket);
    });
}

// ---- Polling ------------------------------------------------------------------------------------

int zmq_ppoll(zmq_pollitem_t *items, int nitems, long timeout, const sigset_t *sigmask) {
    if (!sigmask)
        return zmq_poll(items, nitems, timeout);
    const platform::sleeping_mask during(*sigmask);
    const int count = zmq_poll(items, nitems, timeout);
    // It may not have slept.
    const auto was_interrupted = [] { return platform::poll_as_caller(nullptr, 0, 0) < 0; };
    return count == 0 && ending_here(was_interrupted) ? fail(error::interrupted) : count;
}
