// A task that has to be done at the end of a block, however it is left: a cancelled thread leaves
// by unwinding (see waiter.hpp).
#pragma once

#include <utility>

namespace zlink {

template <class Work>
class [[nodiscard]] finally {
public:
    explicit finally(Work work) noexcept : work_(std::move(work)) {}
    ~finally() { work_(); }
    finally(const finally &) = delete;
    finally &operator=(const finally &) = delete;

private:
    Work work_;
};

}  // namespace zlink
