// One key of the C library for all objects of all threads; see of_thread.hpp.
#include "memory/of_thread.hpp"

#include <utility>

#include "memory/process.hpp"

namespace zlink {

namespace {
constinit thread_local end_of_thread::duty *last_awaited = nullptr;
}

bool end_of_thread::awaits(duty &one) noexcept {
    if (one.is_awaited)
        return true;
    if (!last_awaited) {
        if (!platform::at_end_of_thread([] { end_of_thread::come(); }))
            return false;
        platform::stay_loaded();
    }
    one.next = std::exchange(last_awaited, &one);
    one.is_awaited = true;
    return true;
}

void end_of_thread::come() noexcept {
    while (last_awaited) {
        duty &one = *std::exchange(last_awaited, last_awaited->next);
        one.is_awaited = false;
        one.run();
    }
}

}  // namespace zlink
