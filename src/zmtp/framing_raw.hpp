// The framing of peers that do not speak ZMTP: octets, and no frames.
//
// Out:      the body of each frame as it is, and nothing of its header.
// In:       what a read has brought is one message, or several where it is more than the largest.
//           The size says nothing: where a message ends is chance.
// Cost:     a header is written in front of each message, and its body moved up to it.
#pragma once

#include "zmtp/framing.hpp"

namespace zlink {

class framing_raw final : public framing {
public:
    /// The size that libzmq reads, and programs have buffers for.
    static constexpr std::size_t usual_message = 8192;

    /// `largest`: octets of a message. Small ones take much room for their headers.
    explicit framing_raw(std::size_t largest = usual_message) noexcept
        : largest_(largest < least_octets_of_largest ? least_octets_of_largest : largest) {}

    bool is_identity() const noexcept override { return false; }
    std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                            std::vector<std::uint8_t> &out) const override;
    /// Nobody would understand it.
    void encode_subscription(bool is_subscribe, byte_span topic,
                             std::vector<std::uint8_t> &out) const override;
    bool get_header(byte_span in, frame_header &out) const noexcept override;
    std::unique_ptr<frame_decoder> make_decoder(chunk_pool *pool = nullptr) const override;

private:
    static constexpr std::size_t least_octets_of_largest = 256;

    std::size_t largest_;
};

}  // namespace zlink
