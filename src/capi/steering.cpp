// The calls that steer a socket: zlink_wait_ready, zlink_drain, zlink_disconnect.
#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "core/platform.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

int zlink_wait_ready(void *s, int what, int n, long milliseconds) {
    return guarded([&] {
        socket *const self = socket_of(s);
        if (!self)
            return fail(error::not_socket);
        if (n < 0 || (what != ZLINK_READY_PEERS && what != ZLINK_READY_SUBSCRIBERS))
            return fail(error::invalid);
        const auto kind =
            what == ZLINK_READY_PEERS ? socket::readiness::peers : socket::readiness::subscribers;
        return answer(self->wait_ready(kind, static_cast<std::size_t>(n), milliseconds));
    });
}

int zlink_drain(void *s, long milliseconds, zlink_drain_t *result, size_t size) {
    return guarded([&] {
        socket *const self = socket_of(s);
        if (!self)
            return fail(error::not_socket);
        socket::drained found;
        const error e = self->drain(milliseconds, found);
        if (result)
            tell({found.sent, found.left, found.lost}, result, size);
        return answer(e);
    });
}

int zlink_disconnect(void *s, uint64_t peer) {
    const platform::cancellation_shield shield;
    return guarded([&] {
        socket *const self = socket_of(s);
        return answer(self ? self->cut_peer(peer) : error::not_socket);
    });
}
