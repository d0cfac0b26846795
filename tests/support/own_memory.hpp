// Says how much memory this process holds.
#pragma once

#include <cstddef>
#include <cstdio>
#include <malloc.h>
#include <unistd.h>

namespace zlink::test {

/// Octets that this process has asked the heap for, and not given back.
inline std::size_t allocated() {
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

/// Octets of memory that this process holds.
inline long resident() {
    long pages = 0, ignored = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (file)
        std::fclose(file);
    return pages * ::sysconf(_SC_PAGESIZE);
}

/// More than this was kept. The sanitizers keep what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long much = 640 << 20;
#else
constexpr long much = 16 << 20;
#endif

}  // namespace zlink::test
