// Tells the debug counters of bodies that are copied on their way into a pipe.
#pragma once

#include "core/debug_counters.hpp"
#include "pipe/sender.hpp"

namespace zlink {

/// To be called by those who write for the application. Over inproc a body is on no way to the
/// kernel, and does not count.
inline void count_copied_body(const sender &to, std::size_t octets) noexcept {
    if constexpr (debug_counters::are_built)
        if (to.other_kind() == end_kind::connection)
            debug_counters::add(debug_counters::count::copied_octets, octets);
}

}  // namespace zlink
