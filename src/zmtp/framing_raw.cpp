// The decoder, which makes a message of each read; and the encoder; see framing_raw.hpp.
#include "zmtp/framing_raw.hpp"

#include <algorithm>
#include <cstring>

namespace zlink {

namespace {

class decoder_raw final : public frame_decoder {
public:
    explicit decoder_raw(std::size_t largest) noexcept : largest_(largest) {}

    std::size_t lead(std::size_t most) const noexcept override {
        return (most + largest_ - 1) / largest_ * long_header_size;
    }
    void pass(std::span<std::uint8_t>) noexcept override {}

    decoded decode(byte_span in, std::uint8_t *const out) noexcept override {
        const std::size_t taken = in.size();
        std::uint8_t *end = out;
        while (!in.empty()) {
            const std::size_t size = std::min(in.size(), largest_);
            std::uint8_t *const body = end + frame_header_size(size);
            std::memmove(body, in.data(), size);
            put_frame_header(end, size, 0);
            end = body + size;
            in = in.subspan(size);
        }
        return {taken, static_cast<std::size_t>(end - out)};
    }

private:
    const std::size_t largest_;
};

}  // namespace

std::optional<body_cover> framing_raw::encode_header(std::uint8_t, std::size_t,
                                                     std::vector<std::uint8_t> &) const {
    return {};
}

void framing_raw::encode_subscription(bool, byte_span, std::vector<std::uint8_t> &) const {}

bool framing_raw::get_header(byte_span, frame_header &) const noexcept { return false; }

std::unique_ptr<frame_decoder> framing_raw::make_decoder(chunk_pool *) const {
    return std::make_unique<decoder_raw>(largest_);
}

}  // namespace zlink
