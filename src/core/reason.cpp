#include "core/reason.hpp"

#include <utility>

#include "core/of_thread.hpp"

namespace zlink::reason {

namespace {
struct left {
    std::string words;
};
}  // namespace

void leave(std::string words) noexcept {
    if (left *const here = of_thread<left>::get())
        here->words = std::move(words);
}

std::string take() noexcept {
    left *const here = of_thread<left>::find();
    return here ? std::exchange(here->words, {}) : std::string();
}

}  // namespace zlink::reason
