// Memory that a thread keeps to write with, one after another of the connections that it writes to.
//
// Threads:  each has its own, until it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/of_thread.hpp"

namespace zlink {

/// Memory of a thread that writes: only what a stream does not take stays with a
/// connection.
struct spare_memory {
    std::vector<std::uint8_t> records;
    static constexpr std::size_t most_octets_gathered = 16 * 1024;  // what TLS has in a record
    std::unique_ptr<std::uint8_t[]> gathered;                       // so much, or none yet

    static void swap_records(std::vector<std::uint8_t> &with) noexcept {
        if (spare_memory *const spare = of_thread<spare_memory>::get())
            spare->records.swap(with);
    }
};

}  // namespace zlink
