// Addresses for a huge page more than is asked for, of which both ends go back; see huge_pages.hpp.
#include "memory/huge_pages.hpp"

#include <cstdint>
#include <sys/mman.h>

namespace zlink::huge_pages {

void *map(std::size_t octets) noexcept {
    if (octets > static_cast<std::size_t>(PTRDIFF_MAX) - 2 * size)
        return nullptr;
    const std::size_t wanted = whole_pages(octets);
    void *const raw =
        ::mmap(nullptr, wanted + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        return nullptr;
    const auto begin = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t at = (begin + size - 1) / size * size;
    if (at > begin)
        ::munmap(raw, at - begin);
    if (const std::size_t behind = begin + size - at)
        ::munmap(reinterpret_cast<void *>(at + wanted), behind);
    ::madvise(reinterpret_cast<void *>(at), wanted, MADV_HUGEPAGE);
    return reinterpret_cast<void *>(at);
}

}  // namespace zlink::huge_pages
