// Counts the whole messages in one direction of a connection that speaks ZMTP 3.1, as they pass a
// place: where they are written, or where they are read. Those in a box of CURVE pass when all of
// the box has.
//
// Wire:     RFC 23/ZMTP 3.1: a greeting of 64 octets, then frames. Commands are no messages; those
//           between messages that say something of subscriptions are counted for themselves. RFC
//           26/CurveZMQ, and docs/wire.md for several frames in one box.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "box_watch.hpp"
#include "core/frame.hpp"
#include "zmtp/command.hpp"
#include "zmtp/curve_frame.hpp"

namespace zlink::sim {

class message_meter {
public:
    struct found {
        std::uint64_t messages = 0;
        std::uint64_t subscriptions = 0;     // and ends of such
        std::uint64_t beside_handshake = 0;  // of both, in boxes that came with its end

        std::uint64_t all() const noexcept { return messages + subscriptions; }
    };

    void feed(byte_span octets, const box_watch &boxes, found &to) {
        is_beside_handshake_ = false;
        while (!octets.empty()) {
            const std::size_t passed = std::min<std::uint64_t>(to_pass_, octets.size());
            keep(octets.first(passed));
            octets = octets.subspan(passed);
            if ((to_pass_ -= passed) > 0)
                return;
            end(boxes, to);
            if (octets.empty())
                return;
            begin_.push_back(octets[0]);
            octets = octets.subspan(1);
            if (!get_frame_header(begin_.data(), begin_.size(), header_))
                continue;
            begin_.clear();
            is_in_frame_ = true;
            to_pass_ = header_.body_size;
            if (to_pass_ == 0)
                end(boxes, to);
        }
    }

private:
    bool is_box() const noexcept { return is_in_frame_ && is_sealed_ && !header_.is_command(); }
    void keep(byte_span octets) {
        if (!is_in_frame_ || is_box() || header_.is_command())
            kept_.insert(kept_.end(), octets.begin(), octets.end());
    }
    /// The greeting, or a frame, is whole.
    void end(const box_watch &boxes, found &to) {
        if (is_box()) {
            const std::uint64_t before = to.all();
            count_box(boxes, to);
            to.beside_handshake += is_beside_handshake_ ? to.all() - before : 0;
        } else if (is_in_frame_) {
            is_beside_handshake_ = is_sealed_;
            count(header_.has_more(), header_.is_command(), kept_, to);
        }
        if (!is_in_frame_ && kept_.size() == greeting_size)
            is_sealed_ = names_curve(kept_);
        is_in_frame_ = false;
        kept_.clear();
    }
    void count(bool has_more, bool is_command, byte_span body, found &to) {
        if (!is_command) {
            to.messages += !has_more;
            is_in_message_ = has_more;
        } else if (!is_in_message_) {
            to.subscriptions += is_subscription_command(body);
        }
    }
    /// One that no key opens has nothing in it.
    void count_box(const box_watch &boxes, found &to) {
        const byte_span body(kept_);
        if (body.size() < curve_head_size || !as_text(body).starts_with(curve_message_name) ||
            !boxes.open(get_u64(body.data() + curve_message_name.size()), body.subspan(curve_head_size), key_,
                        text_) ||
            text_.empty())
            return;
        byte_span rest = byte_span(text_).subspan(1);
        if (text_[0] != curve_octet::batch)
            return count(text_[0] & curve_octet::more, text_[0] & curve_octet::command, rest, to);
        for (frame_header header; get_frame_header(rest.data(), rest.size(), header) &&
                                  rest.size() - header.header_size >= header.body_size;) {
            count(header.has_more(), header.is_command(), rest.subspan(header.header_size, header.body_size),
                  to);
            rest = rest.subspan(header.header_size + header.body_size);
        }
    }

    std::uint64_t to_pass_ = greeting_size;  // or of the body of a frame
    bool is_in_frame_ = false;
    bool is_sealed_ = false;  // by CURVE
    bool is_beside_handshake_ = false;
    bool is_in_message_ = false;       // between its frames
    std::vector<std::uint8_t> begin_;  // of a header that is not whole
    std::vector<std::uint8_t> kept_;
    std::vector<std::uint8_t> text_;  // of a box
    std::size_t key_ = 0;             // of the boxes
    frame_header header_{};
};

}  // namespace zlink::sim
