// A libzmq as a table of functions: the one in this program, or another that is loaded.

#pragma once

#include <zmq.h>

#include <string>

namespace command {

struct bench_library {
    std::string name;  // such as "zlink 1.0.0" or "libzmq 4.3.5"
    decltype(&zmq_ctx_new) ctx_new;
    decltype(&zmq_ctx_term) ctx_term;
    decltype(&zmq_socket) socket;
    decltype(&zmq_close) close;
    decltype(&zmq_setsockopt) setsockopt;
    decltype(&zmq_getsockopt) getsockopt;
    decltype(&zmq_bind) bind;
    decltype(&zmq_connect) connect;
    decltype(&zmq_send) send;
    decltype(&zmq_msg_init) msg_init;
    decltype(&zmq_msg_recv) msg_recv;
    decltype(&zmq_msg_send) msg_send;
    decltype(&zmq_msg_more) msg_more;
    decltype(&zmq_msg_data) msg_data;
    decltype(&zmq_msg_size) msg_size;
    decltype(&zmq_msg_close) msg_close;
    decltype(&zmq_errno) last_errno;
    decltype(&zmq_strerror) strerror;
};

bench_library own_library();

/// Never unloaded. Throws `failure` where the file is no libzmq.
bench_library loaded_library(const std::string &path);

}  // namespace command
