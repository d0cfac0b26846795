#include "transport/transport.hpp"

namespace zlink {

const transport *find_transport(std::string_view scheme) noexcept {
    for (const transport *t : {&tcp(), &ipc(), &ws(),
#ifdef ZLINK_WITH_TLS
                               &tls(), &wss()
#endif
         })
        if (scheme == t->scheme())
            return t;
    return nullptr;
}

}  // namespace zlink
