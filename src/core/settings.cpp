// Socket type names, and who may talk to whom.
#include "core/settings.hpp"

#include <algorithm>
#include <array>

namespace zlink {

namespace {

constexpr std::size_t type_count = 12;

constexpr std::array<std::string_view, type_count> names = {
    "PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH", "XPUB", "XSUB", "STREAM"};

constexpr unsigned bit(socket_type type) noexcept { return 1u << static_cast<unsigned>(type); }

constexpr unsigned peers_of(socket_type type) noexcept {
    using enum socket_type;
    switch (type) {
    case pair:
        return bit(pair);
    case pub:
    case xpub:
        return bit(sub) | bit(xsub);
    case sub:
    case xsub:
        return bit(pub) | bit(xpub);
    case req:
        return bit(rep) | bit(router);
    case rep:
        return bit(req) | bit(dealer);
    case dealer:
        return bit(rep) | bit(dealer) | bit(router);
    case router:
        return bit(req) | bit(dealer) | bit(router);
    case pull:
        return bit(push);
    case push:
        return bit(pull);
    case stream:
        return 0;  // talks to raw connections only
    }
    return 0;
}

}  // namespace

const char *socket_type_name(socket_type type) noexcept {
    const auto index = static_cast<std::size_t>(type);
    return index < type_count ? names[index].data() : "";
}

bool is_socket_type(std::string_view name) noexcept {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_compatible(socket_type self, std::string_view peer_type_name) noexcept {
    for (std::size_t i = 0; i < type_count; ++i)
        if (names[i] == peer_type_name)
            return peers_of(self) & (1u << i);
    return false;
}

}  // namespace zlink
