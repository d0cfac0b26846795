// Memory for large chunks, cut from huge pages: a queue that grows by gigabytes then costs few page
// faults.
//
// Threads:  any, also after a fork; one lock inside. The memory belongs to the process, like the
//           heap's.
#pragma once

#include <cstddef>

namespace zlink::huge_blocks {

/// A block of `size` octets, aligned for anything. Null when memory is short, when `size` is not
/// one that is cut here, or while few blocks of that size are in use: those come from the heap.
void *allocate(std::size_t size) noexcept;
/// Tells of a block of that size that came from the heap after all, or went back to it: they count
/// as in use.
void note_heap_block(std::size_t size, bool is_new) noexcept;
/// Takes back a block that allocate() gave.
void release(void *block) noexcept;
/// Gives the pages in which no block is in use back to the system.
void give_up_idle() noexcept;
/// Octets of such pages.
std::size_t idle_octets() noexcept;

}  // namespace zlink::huge_blocks
