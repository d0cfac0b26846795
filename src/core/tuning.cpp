// Reading the environment; see tuning.hpp.
#include "core/tuning.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace zlink {

namespace {

struct limits {
    std::size_t least;
    std::size_t most;
};

constexpr limits batch_limits = {512, 16u << 20};
constexpr limits first_block_limits = {64, 16u << 20};
constexpr limits threshold_limits = {64, 1u << 30};
constexpr limits transfer_limits = {512, 1u << 30};
constexpr limits shared_memory_limits = {0, most_octets_shared};
constexpr limits switch_limits = {0, 1};

/// Sets `field` when the variable holds a decimal number within limits; warns when it holds
/// something else.
void override_size(environment_lookup lookup, const std::string &name, limits allowed, std::size_t &field) {
    const char *text = lookup(name.c_str());
    if (!text)
        return;
    std::size_t value = 0;
    const char *end = text + std::strlen(text);
    const auto [stop, status] = std::from_chars(text, end, value);
    if (status != std::errc() || stop != end || value < allowed.least || value > allowed.most) {
        std::fprintf(stderr, "zlink: %s=%s is ignored: a number%s from %zu to %zu is expected\n",
                     name.c_str(), text, allowed.most > 1 ? " of octets" : "", allowed.least, allowed.most);
        return;
    }
    field = value;
}

bool read_switch(environment_lookup lookup, const std::string &name, bool otherwise) {
    std::size_t value = otherwise;
    override_size(lookup, name, switch_limits, value);
    return value != 0;
}

log_level read_log_level(environment_lookup lookup) {
    const char *const text = lookup("ZLINK_LOG");
    if (!text)
        return log_level::none;
    constexpr std::pair<std::string_view, log_level> levels[] = {{"error", log_level::error},
                                                                 {"warn", log_level::warn},
                                                                 {"info", log_level::info},
                                                                 {"debug", log_level::debug}};
    for (const auto &[name, level] : levels)
        if (name == text)
            return level;
    std::fprintf(stderr, "zlink: ZLINK_LOG=%s is ignored: error, warn, info or debug is expected\n", text);
    return log_level::none;
}

void override_all(environment_lookup lookup, const std::string &suffix, batching &sizes) {
    override_size(lookup, "ZMQ_ASIO_IN_BATCH_SIZE" + suffix, batch_limits, sizes.in_batch_size);
    override_size(lookup, "ZMQ_ASIO_OUT_BATCH_SIZE" + suffix, batch_limits, sizes.out_batch_size);
    override_size(lookup, "ZMQ_ASIO_OUT_BATCH_SIZE_SMALL" + suffix, first_block_limits,
                  sizes.out_batch_size_small);
    override_size(lookup, "ZMQ_ASIO_OUT_WRITEV_THRESHOLD" + suffix, threshold_limits,
                  sizes.out_writev_threshold);
}

bool is_directory(const char *path) noexcept {
    struct stat facts;
    return ::stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

}  // namespace

tuning read_tuning(environment_lookup lookup) {
    batching common;
    override_all(lookup, "", common);

    tuning result;
    result.tcp = result.ipc = result.inproc = common;
    result.tcp.senders_batch_size = result.tcp.written_alone_from = result.tcp.piece = tcp_piece;
    result.ipc.shared_memory = default_shared_memory;
    override_size(lookup, "ZMQ_ASIO_IPC_SHARED_MEMORY", shared_memory_limits, result.ipc.shared_memory);
    result.ipc.shared_memory = std::bit_floor(result.ipc.shared_memory);
    if (result.ipc.shared_memory < least_octets_shared)
        result.ipc.shared_memory = 0;
    override_all(lookup, "_TCP", result.tcp);
    override_all(lookup, "_IPC", result.ipc);
    override_all(lookup, "_INPROC", result.inproc);
    override_size(lookup, "ZMQ_ASIO_TCP_MAX_TRANSFER", transfer_limits, result.tcp.tcp_max_transfer);

    result.spins = read_switch(lookup, "ZMQ_ASIO_SPIN", result.spins);

    for (const char *name : {"TMPDIR", "TEMPDIR", "TMP"})
        if (const char *path = lookup(name); path && is_directory(path)) {
            result.temporary_directory = path;
            break;
        }
    result.log = read_log_level(lookup);
    if (const char *path = lookup("ZLINK_POLICY"))
        result.policy = path;  // also an empty one, which no file has
    return result;
}

void override_batch_sizes(batching &sizes, int in_batch_size, int out_batch_size) noexcept {
    const auto within_limits = [](int octets) {
        return std::clamp(static_cast<std::size_t>(octets), batch_limits.least, batch_limits.most);
    };
    if (in_batch_size > 0)
        sizes.in_batch_size = within_limits(in_batch_size);
    if (out_batch_size > 0) {
        // Gathered messages come in whole blocks: the limit of a write makes their size exact.
        const std::size_t most = within_limits(out_batch_size);
        sizes.out_batch_size = most;
        limit_writes(sizes, most);
    }
}

void limit_writes(batching &sizes, std::size_t most) noexcept {
    sizes.tcp_max_transfer = sizes.tcp_max_transfer ? std::min(sizes.tcp_max_transfer, most) : most;
}

tuning read_tuning() {
    return read_tuning([](const char *name) -> const char * { return ::secure_getenv(name); });
}

std::string from_environment(const char *name, const char *otherwise) {
    const char *const path = ::secure_getenv(name);
    return path ? path : otherwise;
}

}  // namespace zlink
