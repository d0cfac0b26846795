// Frames of the queue into the boxes of CURVE. See framing_curve.hpp.
//
// Map: one box; frames one by one; small ones together; commands; the decoder.
#include "zmtp/framing_curve.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "zmtp/decoder_curve.hpp"

namespace zlink {

namespace {

constexpr char of_client[] = "CurveZMQMESSAGEC";
constexpr char of_server[] = "CurveZMQMESSAGES";
// More of it costs a reader more copies: what of a box has come with one read is kept for the next.
constexpr std::size_t usual_batch = 16 * 1024;
// In front of a message, in any framing.
constexpr std::size_t longest_head = 32;
// The octets of a box beyond what is in it.
constexpr std::size_t of_box = longest_head + curve_growth;

// The content of a cover: the number of the box, its flags, and the cover of the framing around
// where that has one.
constexpr std::size_t flags_at = 8;
constexpr std::size_t has_outer_at = 9;
constexpr std::size_t outer_at = 16;

void put_outer(body_cover &how, const body_cover &outer) noexcept {
    how.state[has_outer_at] = 1;
    std::copy_n(outer.state.begin(), how.state.size() - outer_at, how.state.begin() + outer_at);
}

body_cover outer_of(const body_cover &how) noexcept {
    body_cover outer;
    std::copy(how.state.begin() + outer_at, how.state.end(), outer.state.begin());
    return outer;
}

}  // namespace

framing_curve::framing_curve(const curve_session &session, const framing &around, const curve_limits &limits)
    : around_(around), limits_(limits), batches_(session.batches),
      box_(session.shared.data(), session.is_server ? of_server : of_client),
      others_(std::make_shared<const curve_box>(session.shared.data(),
                                                session.is_server ? of_client : of_server)),
      last_received_(session.last_received), last_sent_(session.last_sent) {
    head_.reserve(longest_head + curve_head_size);
}

// ---- one box ----

/// Puts what stands in front of a box into `head`, and gives the box its number.
body_cover framing_curve::begin(std::uint8_t flags, std::size_t body_size,
                                std::vector<std::uint8_t> &head) const {
    if (!has_number())
        throw std::bad_alloc();
    std::optional<body_cover> outer = around_.encode_header(0, curve_growth + body_size, head);
    body_cover how{.growth = curve_box::tag_size + 1};
    put_u64(how.state.data(), ++last_sent_);
    how.state[flags_at] = flags;
    const std::size_t at = head.size();
    head.insert(head.end(), curve_message_name.begin(), curve_message_name.end());
    head.insert(head.end(), how.state.begin(), how.state.begin() + sizeof last_sent_);
    if (outer) {
        around_.cover(*outer, byte_span(head).subspan(at), head.data() + at);
        put_outer(how, *outer);
    }
    return how;
}

void framing_curve::cover(body_cover &how, byte_span in, std::uint8_t *out) const noexcept {
    box_.seal(get_u64(how.state.data()), how.state[flags_at], in, out);
    if (!how.state[has_outer_at])
        return;
    body_cover outer = outer_of(how);
    around_.cover(outer, {out, curve_box::tag_size + 1 + in.size()}, out);
}

std::uint8_t *framing_curve::put_box(std::uint8_t flags, byte_span rest, std::uint8_t *out) const noexcept {
    head_.clear();
    body_cover how = begin(flags, rest.size(), head_);
    out = std::copy(head_.begin(), head_.end(), out);
    cover(how, rest, out);
    return out + curve_box::tag_size + 1 + rest.size();
}

// ---- frames one by one ----

std::optional<body_cover> framing_curve::encode_header(std::uint8_t flags, std::size_t body_size,
                                                       std::vector<std::uint8_t> &out) const {
    return begin(flags & frame_flag::more ? curve_octet::more : 0, body_size, out);
}

// ---- small frames together ----

std::size_t framing_curve::growth_of_small() const noexcept {
    return batches_ ? 0 : curve_growth + around_.growth_of_small();
}

std::size_t framing_curve::room_for_small(std::size_t octets) const noexcept {
    // Growth of frames of this size, in boxes of their own.
    constexpr std::size_t small = 64;
    return octets + of_box * (1 + octets / (batches_ ? usual_batch : small));
}

/// The message frames that `in` begins with, as far as they are whole, small enough, and together
/// no more than `limit`.
framing_curve::run framing_curve::find_run(byte_span in, std::size_t most, std::size_t limit) noexcept {
    run found;
    in = in.first(std::min(in.size(), limit));
    for (frame_header header; get_frame_header(in.data() + found.octets, in.size() - found.octets, header);) {
        const std::size_t left = in.size() - found.octets - header.header_size;
        if (header.is_command() || header.body_size > most || header.body_size > left)
            break;
        found.octets += header.header_size + static_cast<std::size_t>(header.body_size);
        ++found.frames;
        found.in_message = header.has_more();
        found.messages += !found.in_message;
    }
    return found;
}

/// One box.
std::size_t framing_curve::encode_small(byte_span &in, std::size_t most, std::span<std::uint8_t> out,
                                        bool &in_message, std::uint64_t &messages) const noexcept {
    frame_header first;
    if (out.size() <= of_box || !has_number() || !get_frame_header(in.data(), in.size(), first))
        return 0;
    const std::size_t room = out.size() - of_box;
    const std::size_t size = first.header_size + static_cast<std::size_t>(first.body_size);
    const run found = find_run(in, most, batches_ ? std::min(room, usual_batch) : std::min(room, size));
    if (found.frames == 0)
        return 0;
    const byte_span frames = in.first(found.octets);
    const std::uint8_t *const end = found.frames > 1 ? put_box(curve_octet::batch, frames, out.data())
                                                     : put_box(first.has_more() ? curve_octet::more : 0,
                                                               frames.subspan(first.header_size), out.data());
    in = in.subspan(found.octets);
    in_message = found.in_message;
    messages += found.messages;
    return static_cast<std::size_t>(end - out.data());
}

// ---- commands ----

void framing_curve::encode_command(byte_span body, std::vector<std::uint8_t> &out) const {
    const body_cover how = begin(curve_octet::command, body.size(), out);
    append_covered(how, body, out);
}

// ---- the decoder ----

std::unique_ptr<frame_decoder> framing_curve::make_decoder(chunk_pool *pool) const {
    return std::make_unique<decoder_curve>(others_, decoder_curve::terms{last_received_, batches_, limits_},
                                           around_.make_decoder(pool), pool);
}

}  // namespace zlink
