// The words of each thread, which are made with the first; see reason.hpp.
#include "core/reason.hpp"

#include <utility>

#include "memory/of_thread.hpp"

namespace zlink::reason {

namespace {
struct left {
    std::string words;
    int descriptor = -1;
};
}  // namespace

void leave(std::string words, int descriptor) noexcept {
    if (left *const here = of_thread<left>::get())
        *here = {std::move(words), descriptor};
}

std::string take(int &descriptor) noexcept {
    left *const here = of_thread<left>::find();
    descriptor = here ? std::exchange(here->descriptor, -1) : -1;
    return here ? std::exchange(here->words, {}) : std::string();
}

std::string take() noexcept {
    int unused = -1;
    return take(unused);
}

}  // namespace zlink::reason
