// The rest of a message frame that nobody takes: it is thrown away as it comes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"

namespace zlink {

class skipped_frame {
public:
    /// So many octets are still to come. `ends_lost_message`: with the last of them a message ends
    /// that is to be counted as lost.
    void begin(std::uint64_t octets, bool ends_lost_message) noexcept {
        left_ = octets;
        ends_lost_message_ = ends_lost_message;
    }
    /// Takes what belongs to it off the front of what has come. True when a message is lost by
    /// that, once for each.
    bool pass(byte_span &come) noexcept {
        if (left_ == 0)
            return false;
        const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(left_, come.size()));
        left_ -= skipped;
        come = come.subspan(skipped);
        return left_ == 0 && ends_lost_message_;
    }

private:
    std::uint64_t left_ = 0;
    bool ends_lost_message_ = false;
};

}  // namespace zlink
