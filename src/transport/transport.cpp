// The table of transports by their schemes; see transport.hpp.
#include "transport/transport.hpp"

#include "transport/local_tcp.hpp"

namespace zlink {

/// Those of a stream over tcp, whatever is between.
batching transport::sizes(const tuning &knobs, const settings &options) const noexcept {
    batching result = knobs.tcp;
    override_batch_sizes(result, options.in_batch_size, options.out_batch_size);
    fit_send_buffer(result, options.send_buffer);
    return result;
}

const transport *find_transport(std::string_view scheme) noexcept {
    for (const transport *t : {
             &tcp(), &ipc(),
#ifdef ZLINK_WITH_WS
                 &ws(),
#endif
#ifdef ZLINK_WITH_TLS
                 &tls(),
#endif
#if defined(ZLINK_WITH_TLS) && defined(ZLINK_WITH_WS)
                 &wss(),
#endif
         })
        if (scheme == t->scheme())
            return t;
    return nullptr;
}

const transport *find_transport_inside_tls([[maybe_unused]] std::string_view scheme) noexcept {
#ifdef ZLINK_WITH_TLS
    for (const transport *t : {
             &tcp_inside_tls(),
             &tls(),
#ifdef ZLINK_WITH_WS
             &ws_inside_tls(),
             &wss(),
#endif
         })
        if (scheme == t->scheme())
            return t;
#endif
    return nullptr;
}

}  // namespace zlink
