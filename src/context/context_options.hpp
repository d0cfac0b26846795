// The options of a context: their values, and how zmq_ctx_set and zmq_ctx_get see them.
#pragma once

#include <cstddef>

#include "core/error.hpp"
#include "reactor/io_threads.hpp"

namespace zlink {

struct context_options {
    int io_threads = 1;
    int max_sockets = 1023;
    int max_message_size = 0x7fffffff;  // octets
    bool blocks_at_term = true;
    bool ipv6 = false;
    thread_options threads;

    /// Does zmq_ctx_set_ext: takes an int, or for ZMQ_THREAD_NAME_PREFIX also text. `invalid` for
    /// an unknown number and a value that it does not take. Throws bad_alloc.
    error set(int number, const void *value, std::size_t size);
    /// Does zmq_ctx_get_ext: `size` is that of the buffer, and then that of the value. `fault`
    /// without a buffer; `invalid` for an unknown number and a buffer that is too small.
    error get(int number, void *value, std::size_t *size) const;
};

}  // namespace zlink
