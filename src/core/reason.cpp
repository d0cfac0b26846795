#include "core/reason.hpp"

#include <utility>

namespace zlink::reason {

namespace {
thread_local std::string left;
}

void leave(std::string words) noexcept { left = std::move(words); }
std::string take() noexcept { return std::exchange(left, {}); }

}  // namespace zlink::reason
