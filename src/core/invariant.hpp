// The one assertion of the library: for our own broken invariants, never for peer input or errors
// of the system.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace zlink::detail {
[[noreturn]] inline void broken_invariant(const char *what, const char *file, int line) noexcept {
    std::fprintf(stderr, "zlink: broken invariant: %s (%s:%d)\n", what, file, line);
    std::abort();
}
}  // namespace zlink::detail

#define ZLINK_INVARIANT(condition)                                                                           \
    (__builtin_expect(!(condition), 0) ? ::zlink::detail::broken_invariant(#condition, __FILE__, __LINE__)   \
                                       : (void)0)
