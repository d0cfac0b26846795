// The factory of the patterns; see pattern.hpp.
#include "socket/pattern.hpp"

namespace zlink {

std::unique_ptr<pattern> make_pattern(const pattern_environment &environment) {
    switch (environment.options.type) {
    case socket_type::pair:
        return make_pair(environment);
    case socket_type::pub:
        return make_pub(environment);
    case socket_type::sub:
        return make_sub(environment);
    case socket_type::req:
        return make_req(environment);
    case socket_type::rep:
        return make_rep(environment);
    case socket_type::dealer:
        return make_dealer(environment);
    case socket_type::router:
        return environment.options.router_raw ? make_raw_router(environment) : make_router(environment);
    case socket_type::pull:
        return make_pull(environment);
    case socket_type::push:
        return make_push(environment);
    case socket_type::xpub:
        return make_xpub(environment);
    case socket_type::xsub:
        return make_xsub(environment);
    case socket_type::stream:
        return make_raw_router(environment);
    }
    return nullptr;
}

}  // namespace zlink
