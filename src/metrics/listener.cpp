// A listening socket at a port, or at a path; see listener.hpp. Map: binding; a port; a path, which
// may be in use or left over; either.
#include "metrics/listener.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace zlink::metrics {

namespace {

constexpr int most_connections_in_queue = 8;

/// Binds and does not listen yet. Empty where that fails; `failure` says why.
owned_descriptor bind_to(const sockaddr *where, socklen_t size, int &failure) noexcept {
    owned_descriptor made(::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (made && where->sa_family != AF_UNIX)
        (void)::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (made && ::bind(made.get(), where, size) == 0)
        return made;
    failure = errno;
    return owned_descriptor();
}

owned_descriptor listen_at_port(const std::string &host, std::uint16_t port, int &failure) noexcept {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(port);
    const bool is_v4 = ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1;
    if (!is_v4)
        (void)::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr);
    owned_descriptor made = is_v4 ? bind_to(reinterpret_cast<const sockaddr *>(&v4), sizeof v4, failure)
                                  : bind_to(reinterpret_cast<const sockaddr *>(&v6), sizeof v6, failure);
    // Two may be bound with SO_REUSEADDR; only one can listen.
    if (!made || ::listen(made.get(), most_connections_in_queue) == 0)
        return made;
    failure = errno;
    return owned_descriptor();
}

/// Whether somebody answers there, or it is no socket at all. One that is left over gives way.
bool is_in_use(const std::string &path, sockaddr_un where) noexcept {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0)
        return false;
    std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
    const owned_descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return !S_ISSOCK(found.st_mode) || !probe ||
           ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&where), sizeof where) == 0 ||
           errno == EAGAIN;
}

/// Nobody but the user may ask, at no time: it gets its name when it has its rights.
owned_descriptor listen_at_path(const std::string &path, int &failure) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (is_in_use(path, where)) {
        failure = EADDRINUSE;
        return owned_descriptor();
    }
    const std::string temporary = path + '.' + std::to_string(::getpid());
    std::memcpy(where.sun_path, temporary.c_str(), temporary.size() + 1);
    (void)::unlink(temporary.c_str());
    owned_descriptor made = bind_to(reinterpret_cast<const sockaddr *>(&where), sizeof where, failure);
    if (!made)
        return made;
    if (::chmod(temporary.c_str(), S_IRUSR | S_IWUSR) == 0 &&
        ::listen(made.get(), most_connections_in_queue) == 0 &&
        ::rename(temporary.c_str(), path.c_str()) == 0)
        return made;
    failure = errno;
    (void)::unlink(temporary.c_str());
    return owned_descriptor();
}

}  // namespace

owned_descriptor listen_at(const address &where, int &failure) {
    if (!where.path.empty())
        return listen_at_path(where.path, failure);
    owned_descriptor made;
    for (unsigned port = where.first_port; port <= where.last_port && !made; ++port)
        made = listen_at_port(where.host, static_cast<std::uint16_t>(port), failure);
    return made;
}

}  // namespace zlink::metrics
