// A planted fault: alters what a stream carries, so that what arrives are still whole frames but
// not those that were sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bytes.hpp"
#include "core/frame.hpp"
#include "world.hpp"
#include "zmtp/curve_frame.hpp"

namespace zlink::sim {

class mutator {
public:
    /// Null when no fault of this kind is planted.
    static std::unique_ptr<mutator> make(world &owner) {
        for (const planted what : {planted::dropped_frame, planted::shortened_frame, planted::altered_octet,
                                   planted::repeated_message, planted::swapped_messages,
                                   planted::dropped_message, planted::dropped_subscription,
                                   planted::dropped_cancel, planted::dropped_upstream, planted::repeated_box})
            if (owner.has_planted(what))
                return std::make_unique<mutator>(owner, what);
        return nullptr;
    }
    mutator(world &owner, planted what) : world_(owner), what_(what) {}

    /// Takes what was written; appends to `out` what goes on: whole messages only, once the
    /// handshake is over.
    void feed(byte_span in, std::vector<std::uint8_t> &out) {
        pending_.insert(pending_.end(), in.begin(), in.end());
        // The greeting comes in parts, each of which the other side waits for.
        const auto part = std::min(static_cast<std::ptrdiff_t>(pending_.size()), greeting_left_);
        out.insert(out.end(), pending_.begin(), pending_.begin() + part);
        pending_.erase(pending_.begin(), pending_.begin() + part);
        greeting_left_ -= part;
        while (greeting_left_ == 0 && take_message(out)) {
        }
    }

private:
    struct frame_range {
        std::size_t begin;
        std::size_t end;
    };

    bool take_message(std::vector<std::uint8_t> &out) {
        std::vector<frame_range> frames;
        std::size_t at = 0;
        bool is_command = false;
        for (;;) {
            frame_header header;
            if (!get_frame_header(pending_.data() + at, pending_.size() - at, header) ||
                pending_.size() - at < header.header_size + header.body_size)
                return false;
            frames.push_back({at, at + header.header_size + static_cast<std::size_t>(header.body_size)});
            at = frames.back().end;
            is_command = header.is_command();
            if (is_command || !header.has_more())
                break;
        }
        emit(frames, at, is_command, out);
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
        return true;
    }

    /// Whether it is a box of CURVE.
    static bool is_box(const std::vector<std::uint8_t> &message) {
        frame_header header;
        return get_frame_header(message.data(), message.size(), header) &&
               as_text(byte_span(message).subspan(header.header_size)).starts_with(curve_message_name);
    }

    /// SUBSCRIBE and CANCEL, by their first letters.
    static bool is_a(const std::vector<std::uint8_t> &command, std::uint8_t letter) {
        frame_header header;
        return get_frame_header(command.data(), command.size(), header) && header.body_size > 6 &&
               command[header.header_size + 1] == letter;
    }

    void emit(const std::vector<frame_range> &frames, std::size_t size, bool is_command,
              std::vector<std::uint8_t> &out) {
        const std::vector<std::uint8_t> message(pending_.begin(),
                                                pending_.begin() + static_cast<std::ptrdiff_t>(size));
        const bool strikes = !is_command && world_.faults.chance(20'000);
        if (strikes && what_ == planted::dropped_frame && frames.size() > 1) {
            const frame_range gone = frames[world_.faults.next() % (frames.size() - 1)];
            out.insert(out.end(), message.begin(), message.begin() + static_cast<std::ptrdiff_t>(gone.begin));
            out.insert(out.end(), message.begin() + static_cast<std::ptrdiff_t>(gone.end), message.end());
            return;
        }
        if (strikes && what_ == planted::shortened_frame) {
            const frame_range last = frames.back();
            frame_header header;
            (void)get_frame_header(message.data() + last.begin, last.end - last.begin, header);
            const std::size_t left = static_cast<std::size_t>(header.body_size) / 2;
            out.insert(out.end(), message.begin(), message.begin() + static_cast<std::ptrdiff_t>(last.begin));
            std::uint8_t fresh[long_header_size];
            std::uint8_t *const end = put_frame_header(fresh, left, header.flags & frame_flag::more);
            out.insert(out.end(), &fresh[0], end);
            const auto body = message.begin() + static_cast<std::ptrdiff_t>(last.begin + header.header_size);
            out.insert(out.end(), body, body + static_cast<std::ptrdiff_t>(left));
            return;
        }
        if (strikes && what_ == planted::dropped_message)
            return;
        const bool subscribes = is_command && is_a(message, 'S');
        const bool cancels = is_command && is_a(message, 'C');
        is_subscribers_ |= subscribes;
        if (what_ == planted::dropped_subscription && (subscribes || cancels) &&
            world_.faults.chance(100'000))
            return;
        if (what_ == planted::dropped_cancel && cancels && world_.faults.coin())
            return;
        if (what_ == planted::dropped_upstream && !is_command && is_subscribers_ &&
            world_.faults.chance(200'000))
            return;
        if (strikes && what_ == planted::swapped_messages && held_.empty()) {
            held_ = message;
            return;
        }
        out.insert(out.end(), message.begin(), message.end());
        if (strikes && what_ == planted::altered_octet &&
            frames.back().end - frames.back().begin > long_header_size)
            out.back() ^= 1;
        if (strikes &&
            (what_ == planted::repeated_message || (what_ == planted::repeated_box && is_box(message))))
            out.insert(out.end(), message.begin(), message.end());
        if (!is_command) {
            out.insert(out.end(), held_.begin(), held_.end());
            held_.clear();
        }
    }

    world &world_;
    planted what_;
    std::ptrdiff_t greeting_left_ = 64;
    bool is_subscribers_ = false;  // it subscribes to something
    std::vector<std::uint8_t> pending_;
    std::vector<std::uint8_t> held_;
};

}  // namespace zlink::sim
