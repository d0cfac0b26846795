// The edge between errors as values and errno: nothing else writes errno, and no exception of the
// library passes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>

#include "core/error.hpp"
#include "core/platform.hpp"
#include "memory/chunk.hpp"

namespace zlink::capi {

/// Sets errno and gives what a C function of this result type returns on failure: -1, or a null
/// pointer.
template <typename Result = int>
Result fail(error e) noexcept {
    if (e == error::no_memory)
        chunk_pool::give_up_idle();  // the next call may find some
    errno = to_errno(e);
    if constexpr (std::is_pointer_v<Result>)
        return nullptr;
    else
        return static_cast<Result>(-1);
}

/// 0, or -1 with errno.
inline int answer(error e) noexcept { return failed(e) ? fail(e) : 0; }

/// Fills a struct of the caller's, whose size says how much of it the caller knows: what it has
/// beyond ours is 0.
template <typename Struct>
void tell(const Struct &what, Struct *to, std::size_t size) noexcept {
    std::memset(to, 0, size);
    std::memcpy(to, &what, std::min(size, sizeof what));
}

/// Runs what may wait. Where the C library does not unwind the thread that it ends, the library has
/// done so up to here, and here the thread ends.
template <typename Body>
[[gnu::always_inline]] inline auto ending_here(Body &&body) -> std::invoke_result_t<Body> {
    if constexpr (platform::unwinds_cancelled_threads) {
        return body();
    } else {
        try {
            return body();
        } catch (const platform::end_of_thread &) {
        }
        platform::end_cancelled_thread();
    }
}

/// Runs the body of a C function. An exception becomes a failure: ENOMEM when memory is short, the
/// system's number when it carries one (a thread that cannot be made: EAGAIN), EFAULT otherwise. An
/// exception that passes is not ours: the end of a cancelled thread.
template <typename Body>
auto guarded(Body &&body) -> std::invoke_result_t<Body> {
    using result = std::invoke_result_t<Body>;
    try {
        return ending_here(body);
    } catch (const std::bad_alloc &) {
        return fail<result>(error::no_memory);
    } catch (const std::system_error &e) {
        const auto &category = e.code().category();
        const bool is_errno = category == std::generic_category() || category == std::system_category();
        return fail<result>(is_errno && e.code() ? from_errno(e.code().value()) : error::fault);
    } catch (const std::exception &) {
        return fail<result>(error::fault);
    }
}

}  // namespace zlink::capi
