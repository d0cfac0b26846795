#include "bench_library.hpp"

#include "failure.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace command {

namespace {

template <typename Version>
std::string named(const char *kind, Version version) {
    int major = 0, minor = 0, patch = 0;
    version(&major, &minor, &patch);
    return fmt::format("{} {}.{}.{}", kind, major, minor, patch);
}

template <typename Function>
void find(void *loaded, const char *name, Function &into) {
    into = reinterpret_cast<Function>(dlsym(loaded, name));
    if (!into) {
        throw failure(status::usage, fmt::format("--against: this library has no {}", name));
    }
}

}  // namespace

bench_library own_library() {
    return {named("zlink", zlink_version),
            zmq_ctx_new,
            zmq_ctx_term,
            zmq_socket,
            zmq_close,
            zmq_setsockopt,
            zmq_getsockopt,
            zmq_bind,
            zmq_connect,
            zmq_send,
            zmq_msg_init,
            zmq_msg_recv,
            zmq_msg_send,
            zmq_msg_more,
            zmq_msg_data,
            zmq_msg_size,
            zmq_msg_close,
            zmq_errno,
            zmq_strerror};
}

bench_library loaded_library(const std::string &path) {
    void *const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) {
        throw failure(status::usage, fmt::format("--against: {}", dlerror()));
    }
    bench_library made{};
    find(loaded, "zmq_ctx_new", made.ctx_new);
    find(loaded, "zmq_ctx_term", made.ctx_term);
    find(loaded, "zmq_socket", made.socket);
    find(loaded, "zmq_close", made.close);
    find(loaded, "zmq_setsockopt", made.setsockopt);
    find(loaded, "zmq_getsockopt", made.getsockopt);
    find(loaded, "zmq_bind", made.bind);
    find(loaded, "zmq_connect", made.connect);
    find(loaded, "zmq_send", made.send);
    find(loaded, "zmq_msg_init", made.msg_init);
    find(loaded, "zmq_msg_recv", made.msg_recv);
    find(loaded, "zmq_msg_send", made.msg_send);
    find(loaded, "zmq_msg_more", made.msg_more);
    find(loaded, "zmq_msg_data", made.msg_data);
    find(loaded, "zmq_msg_size", made.msg_size);
    find(loaded, "zmq_msg_close", made.msg_close);
    find(loaded, "zmq_errno", made.last_errno);
    find(loaded, "zmq_strerror", made.strerror);
    decltype(&zmq_version) version = nullptr;
    if (void *const own = dlsym(loaded, "zlink_version")) {
        made.name = named("zlink", reinterpret_cast<decltype(&zlink_version)>(own));
    } else {
        find(loaded, "zmq_version", version);
        made.name = named("libzmq", version);
    }
    return made;
}

}  // namespace command
