#include "transport/transport.hpp"

namespace zlink {

const transport *find_transport(std::string_view scheme) noexcept {
    for (const transport *t : {&tcp(), &ipc(),
#ifdef ZLINK_WITH_TLS
                               &tls()
#endif
         })
        if (scheme == t->scheme())
            return t;
    return nullptr;
}

}  // namespace zlink
