// Many descriptors that one thread waits for again and again, kept with the system between the
// waits: what is not ready costs it nothing, where poll(2) looks at each one each time.
//
// Threads:  one.
// Owns:     a descriptor of epoll(7), opened with the first wait.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/waiter.hpp"

namespace zlink::platform {

class epoll_set {
public:
    epoll_set() noexcept = default;
    ~epoll_set() { close(); }
    epoll_set(const epoll_set &) = delete;
    epoll_set &operator=(const epoll_set &) = delete;

    /// Waits as poll(2) does with the same items and milliseconds; all items say which opening of
    /// their descriptor they mean. Of those that say the same only the last is filled in. `ready`
    /// gets how many are, and may be 0 before the time is up. interrupted where a signal was
    /// handled, or an error of the system: the set is of no use for these items. The thread may be
    /// cancelled while it sleeps.
    error wait(std::span<wait_item> items, int timeout_ms, int &ready);
    void close() noexcept;

private:
    struct entry {
        std::uint64_t opening = 0;  // 0: is not in the set
        std::uint32_t item = 0;     // of the last wait that listed it
        short events = 0;
    };

    error open() noexcept;
    error sleep(int timeout_ms) const;
    void forget() noexcept;
    error list(std::span<wait_item> items) noexcept;
    error add(const wait_item &item, entry &known) noexcept;
    bool tell(std::span<wait_item> items, std::uint64_t named, short events) noexcept;

    int epoll_ = -1;
    unsigned generation_ = 0;
    int refusals_left_ = 0;
    std::vector<entry> entries_;  // by descriptor
};

}  // namespace zlink::platform
