// Contexts, memory, limits and the second process.
#include "peers/peers.hpp"

#include <zmq.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

std::size_t status_octets(const char *name) {
    std::FILE *file = std::fopen("/proc/self/status", "r");
    require(file != nullptr, "/proc/self/status");
    char line[256];
    std::size_t kibibytes = 0;
    const std::size_t length = std::strlen(name);
    while (std::fgets(line, sizeof line, file))
        if (std::strncmp(line, name, length) == 0)
            std::sscanf(line + length, ": %zu", &kibibytes);
    std::fclose(file);
    require(kibibytes > 0, name);
    return kibibytes * 1024;
}

// A child that fails ends the run: nobody would answer the parent any more.
void on_child_end(int) {
    int status = 0;
    if (::waitpid(-1, &status, WNOHANG) > 0 && status != 0)
        ::_exit(1);
}

}  // namespace

context::context(const peer_settings &wanted, int most_sockets)
    : high_water_mark_(wanted.high_water_mark), handle_(zmq_ctx_new()) {
    require(handle_ != nullptr, "zmq_ctx_new");
    require(zmq_ctx_set(handle_, ZMQ_IO_THREADS, wanted.io_threads) == 0, "ZMQ_IO_THREADS");
    require(zmq_ctx_set(handle_, ZMQ_MAX_SOCKETS, most_sockets) == 0, "ZMQ_MAX_SOCKETS");
}

context::~context() {
    for (void *socket : sockets_)
        zmq_close(socket);
    zmq_ctx_term(handle_);
}

void *context::open(int type) {
    void *socket = zmq_socket(handle_, type);
    require(socket != nullptr, "zmq_socket");
    sockets_.push_back(socket);
    set_int(socket, ZMQ_LINGER, 0);
    if (high_water_mark_ >= 0) {
        set_int(socket, ZMQ_SNDHWM, high_water_mark_);
        set_int(socket, ZMQ_RCVHWM, high_water_mark_);
    }
    if (type == ZMQ_PUB)
        set_int(socket, ZMQ_XPUB_NODROP, 1);
    if (type == ZMQ_ROUTER)
        set_int(socket, ZMQ_ROUTER_MANDATORY, 1);
    return socket;
}

std::string bind_for_many(void *socket, const peer_settings &wanted) {
    set_int(socket, ZMQ_BACKLOG, static_cast<int>(wanted.count));
    return bind_and_name(socket, wildcard(wanted.transport, 0));
}

std::vector<void *> connect_many(context &zmq, int type, const peer_settings &wanted,
                                 const std::string &endpoint) {
    std::vector<void *> sockets;
    for (std::size_t i = 0; i < wanted.count; ++i) {
        sockets.push_back(zmq.open(type));
        require(zmq_connect(sockets.back(), endpoint.c_str()) == 0, "zmq_connect");
    }
    return sockets;
}

double seconds_between(steady::time_point from, steady::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

double one_way_us(steady::duration elapsed, std::uint64_t round_trips) {
    return std::chrono::duration<double, std::micro>(elapsed).count() /
           (2.0 * static_cast<double>(round_trips));
}

memory_use memory_in_use() { return {status_octets("VmRSS"), status_octets("VmHWM")}; }

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    require(::getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
    return limit.rlim_cur;
}

int child_process::fork_with_channel() {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    std::signal(SIGCHLD, on_child_end);
    pid_ = ::fork();
    require(pid_ >= 0, "fork");
    if (pid_ == 0) {
        std::signal(SIGCHLD, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(ends[0]);
        return ends[1];
    }
    ::close(ends[1]);
    channel_ = ends[0];
    return -1;
}

void child_process::leave() { ::_exit(0); }

void child_process::wait_for_end() {
    // The child closes its end of the channel last of all; the handler may have collected its
    // status already.
    char nothing;
    while (::recv(channel_, &nothing, 1, 0) < 0 && errno == EINTR) {
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
    require(ended < 0 || status == 0, "the second process");
    ::close(channel_);
}

}  // namespace bench
