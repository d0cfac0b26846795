// Seeded random numbers: everything that happens in a run follows from one seed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/random.hpp"

namespace zlink::sim {

/// One step of SplitMix64: a number whose bits all depend on all bits of `x`.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class dice final : public random_source {
public:
    explicit dice(std::uint64_t seed) noexcept : state_(mix(seed)) {}

    std::uint64_t next() noexcept override {
        state_ += 0x9e3779b97f4a7c15u;
        return mix(state_);
    }
    /// From `low` to `high`, both included.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
        return low + next() % (high - low + 1);
    }
    /// True `of_million` times in a million.
    bool chance(std::uint64_t of_million) noexcept { return of_million && next() % 1'000'000 < of_million; }
    bool coin() noexcept { return next() & 1; }
    template <class T, std::size_t count>
    const T &pick(const T (&from)[count]) noexcept {
        return from[next() % count];
    }

private:
    std::uint64_t state_;
};

}  // namespace zlink::sim
