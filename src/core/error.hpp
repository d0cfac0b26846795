// Error values: every failure inside the library is one `error`, whose number is the errno the
//               caller gets.
//
// The enum has a fixed underlying type, so any errno of the operating system is a valid value.
#pragma once

#include <cerrno>

#include "zmq.h"

namespace zlink {

enum class [[nodiscard]] error : int{
    none = 0,
    interrupted = EINTR,
    again = EAGAIN,
    no_memory = ENOMEM,
    not_permitted = EACCES,
    fault = EFAULT,
    invalid = EINVAL,
    no_device = ENODEV,
    no_entry = ENOENT,
    bad_descriptor = EBADF,
    too_many_files = EMFILE,
    name_too_long = ENAMETOOLONG,
    not_socket = ENOTSOCK,
    not_supported = ENOTSUP,
    protocol_not_supported = EPROTONOSUPPORT,
    protocol = EPROTO,
    message_too_big = EMSGSIZE,
    address_in_use = EADDRINUSE,
    address_not_available = EADDRNOTAVAIL,
    host_unreachable = EHOSTUNREACH,
    connection_refused = ECONNREFUSED,
    connection_reset = ECONNRESET,
    not_connected = ENOTCONN,
    timed_out = ETIMEDOUT,
    busy = EBUSY,
    wrong_state = EFSM,
    incompatible_protocol = ENOCOMPATPROTO,
    terminated = ETERM,
    no_thread = EMTHREAD,
};

constexpr bool failed(error e) noexcept { return e != error::none; }
constexpr int to_errno(error e) noexcept { return static_cast<int>(e); }
constexpr error from_errno(int number) noexcept { return static_cast<error>(number); }

/// Text for an errno, the library's own numbers included. Never null; static or thread-local
/// storage.
const char *describe(int number) noexcept;

}  // namespace zlink
