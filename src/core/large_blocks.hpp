// Memory for large bodies, kept for the next one: the heap gives back to the system what lies at its end, page by page, and has each page
// cleared again when the next body is written.
//
// Kept:     8 MiB in the process, in lists of sizes a quarter of an octave apart; what came last stays.
// Threads:  any, also after a fork. Nobody waits: who finds another thread at the lists goes to the heap instead.
#pragma once

#include <cstddef>

namespace zlink::large_blocks {

/// At least `size` octets, aligned as malloc() does; null when memory is short.
void *allocate(std::size_t size) noexcept;
/// Takes back what allocate() gave for the same `size`.
void release(void *memory, std::size_t size) noexcept;

}  // namespace zlink::large_blocks
