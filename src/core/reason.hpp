// The words that a person has to know of a failure, beside its number: which file, whose certificate.
//
// Flow:     who fails leaves words, and returns its error; who handles the error takes them, on the same thread.
// Threads:  each has its own.
#pragma once

#include <string>

namespace zlink::reason {

/// Takes the place of what nobody has taken.
void leave(std::string words) noexcept;
/// Empty where there is nothing to say.
std::string take() noexcept;

}  // namespace zlink::reason
