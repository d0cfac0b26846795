// A place in gathered memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink {

class range_cursor {
public:
    explicit range_cursor(std::span<const iovec> ranges) noexcept : ranges_(ranges) { skip_empty(); }
    bool is_at_end() const noexcept { return ranges_.empty(); }
    std::uint8_t *data() const noexcept { return static_cast<std::uint8_t *>(ranges_[0].iov_base) + done_; }
    /// Octets at data().
    std::size_t size() const noexcept { return is_at_end() ? 0 : ranges_[0].iov_len - done_; }
    /// At most size().
    void advance(std::size_t octets) noexcept {
        done_ += octets;
        skip_empty();
    }

    /// So many octets, of as many ranges as it takes.
    void pass(std::size_t octets) noexcept {
        while (octets > 0 && !is_at_end()) {
            const std::size_t step = std::min(octets, size());
            advance(step);
            octets -= step;
        }
    }

private:
    void skip_empty() noexcept {
        while (!ranges_.empty() && done_ == ranges_[0].iov_len) {
            ranges_ = ranges_.subspan(1);
            done_ = 0;
        }
    }
    std::span<const iovec> ranges_;
    std::size_t done_ = 0;
};

}  // namespace zlink
