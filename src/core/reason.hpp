// The words that a person has to know of a failure, beside its number: which file, whose certificate.
//
// Flow:     who fails leaves words, and returns its error; who handles the error takes them, on the same thread.
// Threads:  each has its own.
#pragma once

#include <new>
#include <string>
#include <utility>

namespace zlink::reason {

/// Takes the place of what nobody has taken. Where memory is short for it there are none.
void leave(std::string words) noexcept;
/// The same for words that `make` puts together. There are none when memory is short for them.
template <class Make>
void try_leave(Make &&make) noexcept {
    try {
        leave(std::forward<Make>(make)());
    } catch (const std::bad_alloc &) {
    }
}
/// Empty where there is nothing to say.
std::string take() noexcept;

}  // namespace zlink::reason
