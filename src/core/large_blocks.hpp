// Memory for large bodies, kept for the next one: the heap gives back to the system what lies at its end, page by page, and has each page
// cleared again when the next body is written.
//
// Kept:     blocks of 64 KiB to 4 MiB, rounded up by a quarter at most; 8 MiB in the process, until memory is short. A size that comes
//           back takes the place of others.
// Threads:  any, also after a fork. Nobody waits: who finds another thread at the lists goes to the heap instead.
#pragma once

#include <cstddef>

namespace zlink::large_blocks {

/// At least `size` octets, aligned as malloc() does, with anything in them; null when memory is short.
void *allocate(std::size_t size) noexcept;
/// Takes back what allocate() gave for the same `size`.
void release(void *memory, std::size_t size) noexcept;
/// Frees what is kept; nothing while another thread is at the lists.
void give_up_kept() noexcept;
/// What is kept; 0 while another thread is at the lists.
std::size_t kept_octets() noexcept;

}  // namespace zlink::large_blocks
