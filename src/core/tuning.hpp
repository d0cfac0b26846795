// Sizes that steer batching, and the environment variables that override them for experiments.
//
// Read once, when a context is made. Each ZMQ_ASIO_ variable with a suffix _TCP, _IPC or _INPROC overrides the plain one for
// that transport; tls, ws and wss go by the values of tcp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace zlink {

/// Bodies of at least so many octets travel by reference when their memory allows it.
#ifdef ZMQ_ASIO_ZEROCOPY_WRITE
constexpr std::size_t default_writev_threshold = 8 * 1024;
#else
constexpr std::size_t default_writev_threshold = SIZE_MAX;  // only what the application lends
#endif

/// A sender in a stream writes for itself once so many octets have come together. Over tcp the kernel holds no more than 64 KiB
/// less some headers in one buffer, and a write that fits goes through the protocol once.
constexpr std::size_t default_senders_batch_size = 1024 * 1024;
constexpr std::size_t tcp_senders_batch_size = 64'000;

struct batching {
    std::size_t in_batch_size = 64 * 1024;    // ZMQ_ASIO_IN_BATCH_SIZE: octets asked for in one read
    std::size_t out_batch_size = 256 * 1024;  // ZMQ_ASIO_OUT_BATCH_SIZE: octets gathered for one write
    std::size_t out_batch_size_small = 128;   // ZMQ_ASIO_OUT_BATCH_SIZE_SMALL: a quiet pipe's memory
    std::size_t out_writev_threshold =
        default_writev_threshold;  // ZMQ_ASIO_OUT_WRITEV_THRESHOLD: bodies from here on go uncopied
    std::size_t senders_batch_size = default_senders_batch_size;
    std::size_t tcp_max_transfer = 0;  // ZMQ_ASIO_TCP_MAX_TRANSFER: most octets in one write, 0 = no limit
};

struct tuning {
    batching tcp;
    batching ipc;
    batching inproc;
    std::string temporary_directory =
        "/tmp";  // for ipc://*: TMPDIR, TEMPDIR or TMP, the first that names a directory
};

/// Looks a variable up; null when it is not set. std::getenv in life.
using environment_lookup = const char *(*)(const char *name);

/// Defaults overridden by the environment. A bad value is ignored with one warning on stderr.
tuning read_tuning(environment_lookup lookup);
tuning read_tuning();

}  // namespace zlink
