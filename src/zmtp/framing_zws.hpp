// The framing of WebSocket: each frame of a queue is one binary message. Input is the work of
// `decoder_zws`.
//
// Wire:     RFC 6455, "Data Framing"; RFC 45/ZWS 2.0: the first octet of each message says what it
//           is: 0 the last frame of a message, 1 a frame that others follow, 2 a command. Peers
//           that do not speak ZMTP do without that octet: an empty message is none.
// Out:      one WebSocket frame each, masked where this side is the client.
#pragma once

#include <memory>

#include "zmtp/framing.hpp"
#include "zmtp/masking.hpp"
#include "zmtp/web_frame.hpp"

namespace zlink {

class framing_zws final : public framing {
public:
    using form = zws_form;
    /// For one connection. Throws bad_alloc.
    explicit framing_zws(const form &how);

    bool is_identity() const noexcept override { return false; }
    bool has_control_between_frames() const noexcept override { return true; }
    // One writer at a time: keys are used up.
    std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                            std::vector<std::uint8_t> &out) const override;
    void cover(body_cover &how, byte_span in, std::uint8_t *out) const noexcept override;
    void append_covered(body_cover how, byte_span body, std::vector<std::uint8_t> &out) const override;
    bool has_encode_small() const noexcept override { return true; }
    std::size_t growth_of_small() const noexcept override {
        return (keys_ ? std::tuple_size_v<mask_key> : 0) + (form_.is_raw ? 0 : 1);
    }
    /// An empty frame grows most, from two octets.
    std::size_t room_for_small(std::size_t octets) const noexcept override { return 4 * octets; }
    std::size_t encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out, bool &in_message,
                             std::uint64_t &messages) const noexcept override;
    small_frame look_at_small(byte_span wire) const noexcept override;
    void encode_subscription(bool is_subscribe, byte_span topic,
                             std::vector<std::uint8_t> &out) const override;
    void encode_command(byte_span body, std::vector<std::uint8_t> &out) const override;
    void encode_control(std::uint8_t opcode, byte_span payload, std::vector<std::uint8_t> &out) const;
    void encode_close(std::uint16_t status, std::vector<std::uint8_t> &out) const;

    bool get_header(byte_span, frame_header &) const noexcept override { return false; }
    std::unique_ptr<frame_decoder> make_decoder(chunk_pool *pool = nullptr) const override;

private:
    std::optional<mask_key> put_header(std::uint8_t opcode, byte_span prefix, std::size_t body_size,
                                       std::vector<std::uint8_t> &out) const;
    std::uint8_t *encode_short(byte_span &in, std::size_t most, std::span<std::uint8_t> out, bool &in_message,
                               std::uint64_t &messages) const noexcept;
    void put(std::uint8_t opcode, byte_span prefix, byte_span body, std::vector<std::uint8_t> &out) const;

    const form form_;
    const std::unique_ptr<mask_keys> keys_;  // null where nothing is masked
};

}  // namespace zlink
