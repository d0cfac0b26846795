// Memory for large bodies, kept for the next one: the heap gives back to the system what lies at
// its end, page by page, and has each page cleared again when the next body is written.
//
// Kept:     blocks of 64 KiB to 64 MiB, rounded up by a quarter at most; 64 MiB in the process,
//           until memory is short. A size that comes back takes the place of others. Beside that,
//           the block that came back last to each of eight processors, of up to 2 MiB.
// Pages:    blocks of 2 MiB and more are mapped by themselves, in huge pages where the system has
//           them.
// Threads:  any, also after a fork. Nobody waits: who finds another thread at the lists goes to the
//           heap instead.
#pragma once

#include <cstddef>

namespace zlink::large_blocks {

/// At least `size` octets, aligned as malloc() does, with anything in them; null when memory is
/// short.
void *allocate(std::size_t size) noexcept;
/// A block of those kept, or null: it is held already, so that nothing is lost with a peer that
/// announces much and sends little.
void *take_kept(std::size_t size) noexcept;
/// A larger block with the first `used` octets of `memory`, which allocate() gave for `old_size`,
/// and which is taken back; null, and nothing done, when memory is short. Large blocks are moved
/// without copying.
void *grow(void *memory, std::size_t old_size, std::size_t new_size, std::size_t used) noexcept;
/// The number of the processor that runs this thread now.
unsigned this_processor() noexcept;
/// Takes back what allocate() gave for the same `size`. `processor` gets it again next, so name the
/// one that has it in its cache.
void release(void *memory, std::size_t size, unsigned processor = this_processor()) noexcept;
/// Frees what is kept; nothing while another thread is at the lists.
void give_up_kept() noexcept;
/// The octets that are kept. Takes nothing, and waits for nobody.
std::size_t kept_octets() noexcept;

}  // namespace zlink::large_blocks
