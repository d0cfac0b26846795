// Looks at what one side of a CURVE connection writes: no box of traffic has a number that is not
// larger than the one before, and behind READY there is nothing but boxes (promise 18).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/frame.hpp"
#include "world.hpp"
#include "zmtp/curve_frame.hpp"

namespace zlink::sim {

class nonce_watch {
public:
    nonce_watch(world &owner, int link) noexcept : world_(owner), link_(link) {}

    void feed(byte_span written) {
        while (!written.empty() && !is_other_) {
            const std::size_t skipped =
                static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, written.size()));
            body_left_ -= skipped;
            written = written.subspan(skipped);
            if (written.empty())
                return;
            head_.push_back(written.front());
            written = written.subspan(1);
            look();
        }
    }

private:
    void look() {
        if (!has_greeted_) {
            if (head_.size() < greeting_size)
                return;
            is_other_ = !names_curve(head_);
            has_greeted_ = true;
            head_.clear();
            return;
        }
        frame_header header;
        if (!get_frame_header(head_.data(), head_.size(), header))
            return;
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(header.body_size, curve_head_size));
        if (head_.size() < header.header_size + wanted)
            return;
        judge(header, byte_span(head_).subspan(header.header_size));
        body_left_ = header.body_size - wanted;
        head_.clear();
    }

    void judge(const frame_header &header, byte_span body) {
        if (header.is_command()) {
            if (last_ > 0)
                complain("a command in clear behind boxes");
            return;
        }
        if (body.size() < curve_head_size ||
            as_text(body.first(curve_message_name.size())) != curve_message_name)
            return complain("a frame that is no box");
        const std::uint64_t number = get_u64(body.data() + curve_message_name.size());
        if (number <= last_)
            complain("number " + std::to_string(number) + " behind " + std::to_string(last_));
        last_ = number;
    }
    void complain(const std::string &what) {
        world_.violate(promise::fresh_nonces, "connection " + std::to_string(link_) + " carries " + what);
    }

    world &world_;
    const int link_;
    bool has_greeted_ = false;
    bool is_other_ = false;  // than CURVE
    std::uint64_t body_left_ = 0;
    std::uint64_t last_ = 0;  // number
    std::vector<std::uint8_t> head_;
};

}  // namespace zlink::sim
