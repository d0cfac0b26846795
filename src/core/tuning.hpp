// Sizes that steer batching, and the environment variables that override them for experiments;
// whether threads look before they sleep.
//
// Read once, when a context is made. Each ZMQ_ASIO_ variable with a suffix _TCP, _IPC or _INPROC
// overrides the plain one for that transport; tls, ws and wss go by the values of tcp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace zlink {

/// Bodies of at least so many octets travel by reference when their memory allows it.
#ifdef ZMQ_ASIO_ZEROCOPY_WRITE
constexpr std::size_t default_writev_threshold = 8 * 1024;
#else
constexpr std::size_t default_writev_threshold = SIZE_MAX;  // only what the application lends
#endif

/// The octets that the kernel sends over tcp in one piece: 64 KiB less headers, in whole packets of
/// Ethernet.
constexpr std::size_t tcp_piece = 45 * 1448;

/// Octets of one write that show that the sender is in a stream, and writes for itself.
constexpr std::size_t part_of_a_stream = 8 * 1024;

/// A power of two. It should lie in the caches of two processors, and carry a side on while the
/// other one wakes.
constexpr std::size_t default_shared_memory = 1024 * 1024;
constexpr std::size_t least_octets_shared = 64 * 1024;
constexpr std::size_t most_octets_shared = 4 * 1024 * 1024;

struct batching {
    // ZMQ_ASIO_IN_BATCH_SIZE: octets asked for in one read.
    std::size_t in_batch_size = 64 * 1024;
    // ZMQ_ASIO_OUT_BATCH_SIZE: octets gathered for one write.
    std::size_t out_batch_size = 256 * 1024;
    // ZMQ_ASIO_OUT_BATCH_SIZE_SMALL: a quiet pipe's memory.
    std::size_t out_batch_size_small = 128;
    std::size_t out_writev_threshold =
        default_writev_threshold;  // ZMQ_ASIO_OUT_WRITEV_THRESHOLD: bodies from here on go uncopied
    // A sender in a stream writes for itself once it has so much.
    std::size_t senders_batch_size = 1024 * 1024;
    std::size_t written_alone_from = 16 * 1024;  // or a body of this size
    // And leaves what is more than some of these for the next time; 0: writes all.
    std::size_t piece = 0;
    std::size_t shared_memory =
        0;  // ZMQ_ASIO_IPC_SHARED_MEMORY: octets for each direction in a stream, 0 = none
    // ZMQ_ASIO_TCP_MAX_TRANSFER: most octets in one write, 0 = no limit.
    std::size_t tcp_max_transfer = 0;
};

/// The sizes of a socket that has set its own (0: has not), as near to it as the limits allow.
void override_batch_sizes(batching &sizes, int in_batch_size, int out_batch_size) noexcept;

/// No write is larger than this from now on. A limit that is there already, and is stricter, stays.
void limit_writes(batching &sizes, std::size_t most) noexcept;

/// The amount that is written on stderr; each level has those before it.
enum class log_level { none, error, warn, info, debug };

struct tuning {
    batching tcp;
    batching ipc;
    batching inproc;
    // ZMQ_ASIO_SPIN, 0 or 1: looks for a moment, where it is likely to pay, before it sleeps.
    bool spins = true;
    // For ipc://*: TMPDIR, TEMPDIR or TMP, the first that names a directory.
    std::string temporary_directory = "/tmp";
    log_level log = log_level::none;  // ZLINK_LOG: error, warn, info or debug
    // ZLINK_POLICY: the file that rules endpoints; none: nothing does.
    std::optional<std::string> policy;
};

/// Looks a variable up; null when it is not set. secure_getenv in life: what the caller of a
/// program with more rights than his own has in his environment counts for nothing.
using environment_lookup = const char *(*)(const char *name);

/// Defaults overridden by the environment. A bad value is ignored with one warning on stderr.
tuning read_tuning(environment_lookup lookup);
tuning read_tuning();

/// The value of a variable, looked up as secure_getenv does; or else `otherwise`.
std::string from_environment(const char *name, const char *otherwise);

}  // namespace zlink
