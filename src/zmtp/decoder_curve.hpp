// Frames of a queue out of the boxes of CURVE, opened where they were read; the other way is
// `framing_curve`, with what stands on the wire.
//
// In:       message frames as in ZMTP 3.1, or what a decoder around this one makes of its wire.
// Kept:     what has come of a box, until it is whole: a small one is put in front of the next
//           read, a large one is a large_frame.
// Refused:  a frame that is no box, a box that was not sealed by the peer, a number that is not
//           larger than the one before, a batch whose frames do not fill it: as a frame that the
//           walk refuses, in its place. Nothing comes behind it.
// Events:   of the decoder around this one go through. From a box none can come.
#pragma once

#include <memory>
#include <vector>

#include "memory/chunk.hpp"
#include "zmtp/curve_frame.hpp"
#include "zmtp/framing.hpp"
#include "zmtp/large_frame.hpp"

namespace zlink {

class decoder_curve final : public frame_decoder {
public:
    struct terms {
        std::uint64_t last_received = 0;  // number
        bool batches = false;
        curve_limits limits;
    };
    /// `around` may be null. `pool` outlives it, or is null.
    decoder_curve(std::shared_ptr<const curve_box> box, const terms &what,
                  std::unique_ptr<frame_decoder> around, chunk_pool *pool);

    std::size_t lead(std::size_t most) const noexcept override;
    decoded decode(byte_span in, std::uint8_t *out) noexcept override;
    byte_span take_frame(block_ref &owner) noexcept override;
    place place_for_next() noexcept override;
    void fill(std::size_t octets) noexcept override;
    /// No body is under way before it is whole.
    void pass(std::span<std::uint8_t>) noexcept override {}
    protocol_error fault() const noexcept override { return fault_; }

private:
    /// The frames, opened, that stand in memory of their own.
    struct apart {
        block_ref owner;
        byte_span frames;
    };

    std::uint8_t *open_boxes(std::span<std::uint8_t> in, std::uint8_t *out) noexcept;
    std::uint8_t *open_box(std::span<std::uint8_t> body, std::uint8_t *out) noexcept;
    std::uint8_t *open_batch(byte_span frames, std::uint8_t *out) noexcept;
    std::uint8_t *refuse(protocol_error why, std::uint8_t *out) noexcept;
    std::uint8_t *keep(std::span<std::uint8_t> in, const frame_header &header, std::uint8_t *out) noexcept;
    std::size_t fill_large(byte_span in) noexcept;
    void open_large() noexcept;
    void give_up() noexcept;
    void open_apart(byte_span in) noexcept;
    void add_apart(block_ref memory, std::span<std::uint8_t> boxes) noexcept;
    void take_from_around() noexcept;

    const std::shared_ptr<const curve_box> box_;
    const terms terms_;
    const std::uint64_t most_in_body_;  // of a frame that holds a box
    const std::unique_ptr<frame_decoder> around_;
    chunk_pool *pool_;
    std::shared_ptr<chunk_pool> own_pool_;  // where there was none

    std::uint64_t last_;  // number
    protocol_error fault_ = 0;
    bool is_over_ = false;
    bool owes_refusal_ = false;       // to whoever takes frames, for want of memory
    std::vector<std::uint8_t> kept_;  // of a small box
    large_frame large_;
    std::vector<apart> apart_;  // to be taken, in this order
    std::size_t taken_ = 0;
};

}  // namespace zlink
