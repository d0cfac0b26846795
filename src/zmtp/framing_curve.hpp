// The framing of CURVE: each frame of a queue stands in a box, and the box in a message frame of
// the framing around it.
//
// Wire:     curve_frame.hpp.
// Numbers:  each box of a direction has a larger one than the one before. So what is encoded goes
//           out in that order. Behind the last number there is nothing is encoded: the connection
//           ends as for want of memory, and the next one has another key.
// Around:   ZMTP 3.1's own, or WebSocket's, whose masks are laid on what is sealed.
// Input:    decoder_curve.hpp.
#pragma once

#include <memory>

#include "zmtp/curve_box.hpp"
#include "zmtp/curve_frame.hpp"
#include "zmtp/curve_session.hpp"
#include "zmtp/framing.hpp"

namespace zlink {

class framing_curve final : public framing {
public:
    /// `around` outlives it. Throws bad_alloc.
    framing_curve(const curve_session &session, const framing &around, const curve_limits &limits);

    bool is_identity() const noexcept override { return false; }
    bool numbers_frames() const noexcept override { return true; }
    bool subscribes_by_command() const noexcept override { return around_.subscribes_by_command(); }
    bool has_control_between_frames() const noexcept override { return around_.has_control_between_frames(); }
    // One writer at a time: numbers are used up.
    std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                            std::vector<std::uint8_t> &out) const override;
    void cover(body_cover &how, byte_span in, std::uint8_t *out) const noexcept override;
    bool has_encode_small() const noexcept override { return true; }
    std::size_t growth_of_small() const noexcept override;
    std::size_t room_for_small(std::size_t octets) const noexcept override;
    std::size_t encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out, bool &in_message,
                             std::uint64_t &messages) const noexcept override;
    void encode_command(byte_span body, std::vector<std::uint8_t> &out) const override;

    bool get_header(byte_span, frame_header &) const noexcept override { return false; }
    std::unique_ptr<frame_decoder> make_decoder(chunk_pool *pool = nullptr) const override;

private:
    struct run {
        std::size_t octets = 0;  // of whole frames
        std::size_t frames = 0;
        std::size_t messages = 0;  // that end in them
        bool in_message = false;
    };
    static run find_run(byte_span in, std::size_t most, std::size_t limit) noexcept;
    bool has_number() const noexcept { return last_sent_ < UINT64_MAX; }
    body_cover begin(std::uint8_t flags, std::size_t body_size, std::vector<std::uint8_t> &head) const;
    std::uint8_t *put_box(std::uint8_t flags, byte_span rest, std::uint8_t *out) const noexcept;

    const framing &around_;
    const curve_limits limits_;
    const bool batches_;
    const curve_box box_;                            // of what goes out
    const std::shared_ptr<const curve_box> others_;  // of what comes in
    const std::uint64_t last_received_;              // number, of the handshake
    mutable std::uint64_t last_sent_;
    // The head of the box under way; it has its room from the beginning.
    mutable std::vector<std::uint8_t> head_;
};

}  // namespace zlink
