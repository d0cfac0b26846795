// The heavy fence on Linux: membarrier(2), private expedited.
#include "core/fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink::detail {

namespace {

bool call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_process() noexcept {
    const bool done =
        call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    return done;
}

}  // namespace

// False until the loader has run this initialiser, which is safe: both fences are full ones then.
const bool has_membarrier = register_process();

void membarrier_all() noexcept {
    if (!has_membarrier)
        return;
    // A child of fork may have to register again.
    if (!call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) && register_process())
        (void)call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace zlink::detail
