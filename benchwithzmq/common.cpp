// The parts that both programs share; see common.hpp.
#include "common.hpp"

#include <zmq.h>

#include <cstdio>
#include <link.h>
#include <unistd.h>

namespace bench {

namespace {

std::string loaded_library() {
    std::string path = "?";
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *found) {
            if (std::strstr(info->dlpi_name, "libzmq.so"))
                *static_cast<std::string *>(found) = info->dlpi_name;
            return 0;
        },
        &path);
    return path;
}

}  // namespace

void fail(const char *what) {
    std::fprintf(stderr, "FAILED: %s (%s)\n", what, zmq_strerror(zmq_errno()));
    std::fflush(nullptr);
    ::_exit(1);
}

void require(bool good, const char *what) {
    if (!good)
        fail(what);
}

void print_library(const std::string &name) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    std::printf("LIBRARY,%s,%s,%d.%d.%d\n", name.c_str(), loaded_library().c_str(), major, minor, patch);
}

void set_int(void *socket, int option, int value) {
    require(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "zmq_setsockopt");
}

void set_bytes(void *socket, int option, const char *bytes, std::size_t size) {
    require(zmq_setsockopt(socket, option, bytes, size) == 0, "zmq_setsockopt");
}

std::string wildcard(const std::string &transport, int number) {
    if (transport == "inproc")
        return "inproc://bench-" + std::to_string(number);
    if (transport == "ipc")
        return "ipc://*";
    return transport + "://127.0.0.1:*";
}

std::string bind_and_name(void *socket, const std::string &where) {
    require(zmq_bind(socket, where.c_str()) == 0, "zmq_bind");
    char name[256];
    std::size_t length = sizeof name;
    require(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, name, &length) == 0, "ZMQ_LAST_ENDPOINT");
    return name;
}

bool has_input(void *socket, long timeout_ms) {
    zmq_pollitem_t item{socket, 0, ZMQ_POLLIN, 0};
    return zmq_poll(&item, 1, timeout_ms) == 1;
}

}  // namespace bench
