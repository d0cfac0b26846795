// Contract: where unpredictable numbers come from. The simulator seeds its own.
#pragma once

#include <cstdint>

namespace zlink {

class random_source {
public:
    virtual ~random_source() = default;
    virtual std::uint64_t next() noexcept = 0;
};

}  // namespace zlink
