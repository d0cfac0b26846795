// A frame queue, frames for it, bodies that say when their memory goes, and octets that are never
// the same twice.
#pragma once

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "pipe/frame_queue.hpp"

namespace zlink::test {

/// Memory that says when it goes.
struct counted_block : block {
    explicit counted_block(std::size_t size, int &live) : block(&destroy), memory(size), live_(live) {
        ++live_;
    }
    byte_span body() const noexcept { return memory; }

    std::vector<std::uint8_t> memory;

private:
    static void destroy(block *self) noexcept {
        auto *mine = static_cast<counted_block *>(self);
        --mine->live_;
        delete mine;
    }
    int &live_;
};

/// Octets to make bodies of.
inline const std::vector<std::uint8_t> &noise() {
    static const std::vector<std::uint8_t> octets = [] {
        std::vector<std::uint8_t> made((1 << 20) + 4096);
        std::mt19937 random(7);
        for (auto &octet : made)
            octet = static_cast<std::uint8_t>(random());
        return made;
    }();
    return octets;
}

/// A frame as it should be.
struct model_frame {
    std::uint8_t flags;
    byte_span body;  // part of noise()
    const peer_info *info;
    bool has_owner = false;
    bool is_lone = false;
    bool is_copied_alone = false;

    bool is_command() const { return flags & frame_flag::command; }
    bool ends_message() const { return !(flags & (frame_flag::more | frame_flag::command)); }
    std::size_t wire_size() const { return frame_header_size(body.size()) + body.size(); }
    void encode(std::uint8_t *out) const {
        std::uint8_t *at = put_frame_header(out, body.size(), flags);
        if (!body.empty())
            std::memcpy(at, body.data(), body.size());
    }
};

/// Returns what frames are in a queue.
inline std::vector<std::uint8_t> encoded(const std::vector<model_frame> &frames) {
    std::vector<std::uint8_t> wire;
    for (const auto &frame : frames) {
        wire.resize(wire.size() + frame.wire_size());
        frame.encode(wire.data() + wire.size() - frame.wire_size());
    }
    return wire;
}

/// For tests of one queue with both ends in one thread.
class one_queue : public ::testing::Test {
protected:
    static constexpr std::size_t small = frame_queue::most_octets_copied_external;
    static constexpr std::size_t uncopied = small + 1;

    frame_queue queue{chunk_pool::make()};
    frame_queue for_reader{chunk_pool::make(), 128, frame_queue::bodies::referred_to};
    int live = 0;
    std::array<iovec, 16> ranges;

    counted_block *make(std::size_t size) { return new counted_block(size, live); }
    void write_external(frame_queue &to, std::uint8_t flags, std::size_t size) {
        auto *body = make(size);
        ASSERT_EQ(to.write_external(flags, block_ref::adopt(body), body->body()), error::none);
    }
};

}  // namespace zlink::test
