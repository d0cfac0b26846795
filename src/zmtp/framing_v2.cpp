// The framing of ZMTP 2.0 and later: that of the queue.
//
// Wire:     RFC 23/ZMTP 3.1, "Framing"; RFC 15/ZMTP 2.0 without commands.
#include <array>

#include "zmtp/framing.hpp"

namespace zlink {

namespace {

class identity_framing : public framing {
public:
    bool is_identity() const noexcept final { return true; }
    std::optional<body_cover> encode_header(std::uint8_t flags, std::size_t body_size,
                                            std::vector<std::uint8_t> &out) const final {
        std::array<std::uint8_t, long_header_size> header;
        std::uint8_t *const end = put_frame_header(header.data(), body_size, flags & frame_flag::more);
        out.insert(out.end(), header.data(), end);
        return {};
    }
    bool get_header(byte_span in, frame_header &out) const noexcept final {
        return get_frame_header(in.data(), in.size(), out);
    }
    std::unique_ptr<frame_decoder> make_decoder(chunk_pool *) const final { return nullptr; }

protected:
    ~identity_framing() = default;
};

class framing_v2 final : public identity_framing {};

class framing_v3_1 final : public identity_framing {
public:
    bool subscribes_by_command() const noexcept override { return true; }
};

constinit const framing_v2 of_zmtp_2_0{};
constinit const framing_v3_1 of_zmtp_3_1{};

}  // namespace

const framing &framing_of_zmtp_2_0() noexcept { return of_zmtp_2_0; }
const framing &framing_of_zmtp_3_1() noexcept { return of_zmtp_3_1; }

}  // namespace zlink
