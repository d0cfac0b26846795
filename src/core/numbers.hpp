// Numbers that the process gives one after another, and none a second time.
//
// Fork:     a child goes on with them.
// Threads:  any.
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink {

class number_source {
public:
    /// Never 0.
    std::uint64_t next() noexcept { return last_.fetch_add(1, std::memory_order_relaxed) + 1; }

private:
    std::atomic<std::uint64_t> last_{0};
};

struct numbers_of_process {
    number_source contexts, sockets, sessions;
    // For descriptors: the system gives the number of one that is closed again.
    number_source openings;
};
inline constinit numbers_of_process new_number;

}  // namespace zlink
