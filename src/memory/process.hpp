// Contracts of the process that memory needs, which outlives contexts: fork, and the end of the
// library. A part of core/platform.hpp, which has the rest.
#pragma once

namespace zlink::platform {

/// Has fork() call `before`, and `after` in both processes: what a lock guards is whole in the
/// child, too. False when memory is short.
bool around_fork(void (*before)(), void (*after)()) noexcept;

/// From now on dlclose leaves the library where it is, whatever this is linked into: a thread of
/// its own may go on.
void stay_loaded() noexcept;

}  // namespace zlink::platform
