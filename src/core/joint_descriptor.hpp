// One descriptor that is readable while one of two others is.
#pragma once

#include "core/error.hpp"
#include "core/owned_descriptor.hpp"

namespace zlink {

/// not_supported where one of them is none (simulator). The others may be closed before it.
error join_descriptors(int first, int second, owned_descriptor &out) noexcept;

}  // namespace zlink
