// Tells whether this process can be kept from more memory by RLIMIT_AS: where another processor is
// emulated (qemu), the limit is taken, and holds for nobody.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

namespace zlink::test {

inline bool address_space_can_be_limited() {
    constexpr std::size_t little = 64 * 1024;
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &none);
    void *const got = ::mmap(nullptr, little, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::setrlimit(RLIMIT_AS, &before);
    if (got == MAP_FAILED)
        return true;
    ::munmap(got, little);
    return false;
}

}  // namespace zlink::test
