// Counts the whole messages in one direction of a connection that speaks ZMTP 3.1 in the clear, as
// they pass a place: where they are written, or where they are read.
//
// Wire:     RFC 23/ZMTP 3.1: a greeting of 64 octets, then frames. Commands are no messages; the
//           subscriptions among them are counted apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/frame.hpp"

namespace zlink::sim {

class message_meter {
public:
    struct found {
        std::uint64_t messages = 0;
        std::uint64_t subscriptions = 0;  // and their ends
    };

    void feed(byte_span octets, found &to) {
        while (!octets.empty()) {
            const std::size_t passed = std::min<std::uint64_t>(to_pass_, octets.size());
            note_command(octets.first(passed));
            octets = octets.subspan(passed);
            if ((to_pass_ -= passed) > 0)
                return;
            if (is_in_frame_)
                end_frame(to);
            if (octets.empty())
                return;
            begin_.push_back(octets[0]);
            octets = octets.subspan(1);
            if (!get_frame_header(begin_.data(), begin_.size(), header_))
                continue;
            begin_.clear();
            command_.clear();
            is_in_frame_ = true;
            to_pass_ = header_.body_size;
            if (to_pass_ == 0)
                end_frame(to);
        }
    }

private:
    void note_command(byte_span body) {
        if (is_in_frame_ && header_.is_command() && command_.size() < 10)
            command_.append(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                             body.size(), 10 - command_.size())));
    }
    void end_frame(found &to) {
        is_in_frame_ = false;
        to.messages += !header_.is_command() && !header_.has_more();
        to.subscriptions +=
            header_.is_command() && (command_.starts_with("\x09SUBSCRIBE") || command_.starts_with("\x06"
                                                                                                   "CANCEL"));
    }

    std::uint64_t to_pass_ = 64;  // of the greeting, or of the body of a frame
    bool is_in_frame_ = false;
    std::vector<std::uint8_t> begin_;  // of a header that is not whole
    frame_header header_{};
    std::string command_;  // its first octets
};

}  // namespace zlink::sim
