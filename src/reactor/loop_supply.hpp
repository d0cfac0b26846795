// Contract of who has the loops of a context, and knows how much lives on each.
//
// Threads:  any.
#pragma once

#include <cstdint>

#include "reactor/loop.hpp"

namespace zlink {

class loop_supply {
public:
    virtual ~loop_supply() = default;
    /// The least loaded loop among those whose bit is set in `affinity` (0: all); null when there
    /// is none.
    virtual loop *choose(std::uint64_t affinity) noexcept = 0;
    /// Counts an object that lives on a loop, for choose().
    virtual void add_load(loop &on) noexcept = 0;
    virtual void remove_load(loop &on) noexcept = 0;
};

}  // namespace zlink
