// zmq_proxy and its relatives.
#include "context/proxy.hpp"

#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

int zmq_proxy_steerable(void *frontend, void *backend, void *capture, void *control) {
    if (!frontend || !backend)
        return fail(error::fault);
    socket *const front = socket_of(frontend);
    socket *const back = socket_of(backend);
    socket *const copies = socket_of(capture);
    socket *const steering = socket_of(control);
    if (!front || !back || (capture && !copies) || (control && !steering))
        return fail(error::not_socket);
    return answer(ending_here([&] { return run_proxy({*front, *back, copies, steering}); }));
}

int zmq_proxy(void *frontend, void *backend, void *capture) {
    return zmq_proxy_steerable(frontend, backend, capture, nullptr);
}

int zmq_device(int, void *frontend, void *backend) {
    return zmq_proxy_steerable(frontend, backend, nullptr, nullptr);
}
