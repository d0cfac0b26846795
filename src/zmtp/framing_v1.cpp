// The framing of ZMTP 1.0.
//
// Wire:     length:1 or 9 | flags:1 | body. RFC 13/ZMTP 1.0. The length counts flags and body; an
//           octet FF stands in front of one that takes eight octets. Of the flags there is MORE.
#include <array>
#include <cstring>

#include "zmtp/framing.hpp"

namespace zlink {

namespace {

constexpr std::uint8_t long_length = 0xff;
constexpr std::size_t short_v1_header = 2;
constexpr std::size_t long_v1_header = 10;

/// No header in place of this one, nor in that of the queue, is longer: frames are decoded where
/// they were read.
static_assert(short_v1_header >= short_header_size && long_v1_header >= long_header_size);

bool get_v1_header(byte_span in, frame_header &out) noexcept {
    if (in.empty())
        return false;
    const bool is_long = in[0] == long_length;
    const std::size_t size = is_long ? long_v1_header : short_v1_header;
    if (in.size() < size)
        return false;
    out.flags = in[size - 1];
    out.body_size = (is_long ? get_u64(in.data() + 1) : in[0]) - 1;
    out.header_size = static_cast<std::uint8_t>(size);
    return true;
}

class decoder_v1 final : public frame_decoder {
public:
    std::size_t lead(std::size_t) const noexcept override { return have_; }
    void pass(std::span<std::uint8_t> octets) noexcept override { body_left_ -= octets.size(); }

    decoded decode(byte_span in, std::uint8_t *const out) noexcept override {
        const std::size_t taken = in.size();
        std::uint8_t *end = out;
        while (!in.empty() && !is_broken_) {
            if (body_left_ > 0) {
                const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, in.size()));
                if (end != in.data())
                    std::memmove(end, in.data(), count);
                end += count;
                body_left_ -= count;
                in = in.subspan(count);
                continue;
            }
            header_[have_++] = in.front();
            in = in.subspan(1);
            if (frame_header header; get_v1_header(byte_span(header_).first(have_), header))
                end = put_header(end, header);
        }
        return {taken, static_cast<std::size_t>(end - out)};
    }

private:
    std::uint8_t *put_header(std::uint8_t *out, const frame_header &header) noexcept {
        have_ = 0;
        if ((header.flags & ~frame_flag::more) || header.body_size == no_length) {
            is_broken_ = true;
            *out = frame_flag::reserved;
            return out + 1;
        }
        body_left_ = header.body_size;
        return put_frame_header(out, static_cast<std::size_t>(header.body_size), header.flags);
    }

    static constexpr std::uint64_t no_length = UINT64_MAX;  // what the length 0 leaves for the body

    std::array<std::uint8_t, long_v1_header> header_{};
    std::size_t have_ = 0;         // of a header
    std::uint64_t body_left_ = 0;  // of the frame under way
    bool is_broken_ = false;       // said so: the rest means nothing
};

class framing_v1 final : public framing {
public:
    bool is_identity() const noexcept override { return false; }
    std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                            std::vector<std::uint8_t> &out) const override {
        const std::uint64_t length = std::uint64_t{1} + body_size;
        std::array<std::uint8_t, long_v1_header> header;
        std::size_t size = short_v1_header;
        if (length < long_length) {
            header[0] = static_cast<std::uint8_t>(length);
        } else {
            header[0] = long_length;
            put_u64(header.data() + 1, length);
            size = long_v1_header;
        }
        header[size - 1] = flags & frame_flag::more;
        out.insert(out.end(), header.data(), header.data() + size);
        return {};
    }
    bool get_header(byte_span in, frame_header &out) const noexcept override {
        return get_v1_header(in, out);
    }
    std::unique_ptr<frame_decoder> make_decoder(chunk_pool *) const override {
        return std::make_unique<decoder_v1>();
    }
};

constinit const framing_v1 of_zmtp_1_0{};

}  // namespace

const framing &framing_of_zmtp_1_0() noexcept { return of_zmtp_1_0; }

}  // namespace zlink
