// The debug counters. Part of builds with ZMQ_DEBUG_COUNTERS only.
#include "core/debug_counters.hpp"

#include "zmq.h"

using zlink::debug_counters::count;
using zlink::debug_counters::get;

size_t zmq_debug_get_zerocopy_count(void) { return get(count::uncopied_bodies); }

size_t zmq_debug_get_fallback_count(void) { return get(count::copying_writes); }

size_t zmq_debug_get_bytes_copied(void) { return get(count::copied_octets); }

size_t zmq_debug_get_scatter_gather_count(void) { return get(count::gathered_writes); }

size_t zmq_debug_get_partial_write_count(void) { return get(count::partial_writes); }

void zmq_debug_reset_counters(void) { zlink::debug_counters::reset(); }
