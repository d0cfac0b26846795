// Memory for the records of lent bodies, one for each body. Most are made by one thread and dropped
// by another, where a general heap needs a lock, and lines of its own, for each.
//
// Flow:     each thread keeps what it drops in magazines, arrays of pointers, and takes from them
//           what it makes. Full and empty magazines go from thread to thread under a lock, so many
//           records at a time.
// Threads:  any. The memory belongs to the process, like the heap's: a thread gives it back when it
//           ends (of_thread.hpp). A child of fork goes on with what there is.
#pragma once

#include <cstddef>

namespace zlink::lent_records {

/// The one size, aligned for anything.
inline constexpr std::size_t record_size = 48;

/// Null when memory is short.
void *allocate() noexcept;
/// Takes back what allocate() gave, on any thread.
void release(void *record) noexcept;
/// Octets of records that no thread has at hand, and no body.
std::size_t idle_octets() noexcept;

}  // namespace zlink::lent_records
