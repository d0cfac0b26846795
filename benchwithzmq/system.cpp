// Numbers from the environment, and sockets of the loopback interface; see system.hpp.
#include "system.hpp"

#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

namespace {

// A socket that is bound to a port of the system's choice, and its address.
class bound_socket {
public:
    bound_socket() {
        where_.sin_family = AF_INET;
        where_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        is_good_ = ::bind(descriptor_, address(), length_) == 0 &&
                   ::getsockname(descriptor_, address(), &length_) == 0;
    }
    bound_socket(const bound_socket &) = delete;
    bound_socket &operator=(const bound_socket &) = delete;
    ~bound_socket() { ::close(descriptor_); }

    explicit operator bool() const { return is_good_; }
    int descriptor() const { return descriptor_; }
    int port() const { return ntohs(where_.sin_port); }
    sockaddr *address() { return reinterpret_cast<sockaddr *>(&where_); }
    socklen_t length() const { return length_; }

private:
    const int descriptor_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where_{};
    socklen_t length_ = sizeof where_;
    bool is_good_ = false;
};

}  // namespace

long long number_from(const char *variable, long long otherwise) {
    const char *text = std::getenv(variable);
    if (!text || !*text)
        return otherwise;
    char *end = nullptr;
    const long long value = std::strtoll(text, &end, 10);
    if (*end != '\0' || value < 0) {
        std::fprintf(stderr, "%s: not a number: %s\n", variable, text);
        std::exit(2);
    }
    return value;
}

int free_port() {
    const bound_socket probe;
    return probe ? probe.port() : 0;
}

tcp_pair open_tcp_pair() {
    bound_socket listener;
    if (!listener || ::listen(listener.descriptor(), 1) != 0)
        return {};
    tcp_pair made;
    made.connected = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(made.connected, listener.address(), listener.length()) != 0)
        return {};
    made.accepted = ::accept(listener.descriptor(), nullptr, nullptr);
    const int on = 1;
    for (const int end : {made.connected, made.accepted})
        if (::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            return {};
    return made;
}

}  // namespace bench
