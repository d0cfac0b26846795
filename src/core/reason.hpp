// The words that a person has to know of a failure, beside its number: which file, whose
// certificate; and which descriptor went with it.
//
// Flow:     who fails leaves words, and returns its error; who handles the error takes them, on the
//           same thread.
// Threads:  each has its own.
#pragma once

#include <new>
#include <string>
#include <utility>

namespace zlink::reason {

/// Takes the place of what nobody has taken. `descriptor`: the one that is closed with the failure,
/// for the event that tells of it. Where memory is short for the words there are none, and no
/// descriptor.
void leave(std::string words, int descriptor = -1) noexcept;
/// Leaves words that `make` puts together. There are none when memory is short for them.
template <class Make>
void try_leave(Make &&make) noexcept {
    try {
        leave(std::forward<Make>(make)());
    } catch (const std::bad_alloc &) {
    }
}
/// Empty where there is nothing to say.
std::string take() noexcept;
/// Takes the words with the descriptor, -1 where there was none.
std::string take(int &descriptor) noexcept;

}  // namespace zlink::reason
