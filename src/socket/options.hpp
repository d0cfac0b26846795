// Socket options by number: reads and writes the fields of `settings` with libzmq's types, ranges
// and defaults.
//
// An option that concerns the socket itself rather than its settings is handled by `socket`: see
// is_answered_by_socket.
#pragma once

#include <cstddef>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"

namespace zlink {

/// The settings a new socket of this type starts with.
settings default_settings(socket_type type);

/// zmq_setsockopt on settings. `invalid` for an unknown or read-only option, one that the type does
/// not have, a wrong size, and a bad value; `no_memory`. Settings are unchanged on failure.
error set_option(settings &target, int number, const void *value, std::size_t size) noexcept;

/// zmq_getsockopt on settings. `size` is the room in `value`, and then what was written. Integers
/// want exactly their own size; strings come with their NUL, and what is left of the room becomes
/// zero. `invalid` for an unknown or write-only option and for a wrong size.
error get_option(const settings &source, int number, void *value, std::size_t *size) noexcept;

/// Writes what an option's value is into at least as much room; what is left of the room becomes
/// zero, as with libzmq: a program that reads an int into 64 bits finds the number. `invalid` when
/// the room is too small.
error store_option(byte_span octets, void *value, std::size_t *size) noexcept;

/// Options that need the socket and not its settings: ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS,
/// ZMQ_LAST_ENDPOINT, ZMQ_THREAD_SAFE, ZMQ_SUBSCRIBE, ZMQ_UNSUBSCRIBE, ZMQ_TOPICS_COUNT. The two
/// functions above refuse them.
bool is_answered_by_socket(int number) noexcept;

}  // namespace zlink
