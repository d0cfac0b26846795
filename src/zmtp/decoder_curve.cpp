// Frames of the queue out of the boxes of CURVE. See decoder_curve.hpp.
//
// Map: what was read; boxes, one by one; what is refused; what is kept; large boxes; frames in
//      memory of their own.
#include "zmtp/decoder_curve.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "zmtp/web_frame.hpp"

namespace zlink {

namespace {

// With its header. What is kept of one goes in front of the next read, in the memory for that.
constexpr std::size_t largest_small_box = 20 * 1024;
// A frame that no walk lets through.
constexpr std::array<std::uint8_t, short_header_size> refusal{frame_flag::reserved, 0};

}  // namespace

decoder_curve::decoder_curve(std::shared_ptr<const curve_box> box, const terms &what,
                             std::unique_ptr<frame_decoder> around, chunk_pool *pool)
    : box_(std::move(box)), terms_(what),
      most_in_body_(most_octets_in_curve_frame(what.limits.max_body, what.limits.max_command)),
      around_(std::move(around)), pool_(pool), last_(what.last_received) {
    if (!pool_)
        pool_ = (own_pool_ = chunk_pool::make()).get();
}

// ---- what was read ----

std::size_t decoder_curve::lead(std::size_t most) const noexcept {
    return kept_.size() + (around_ ? around_->lead(most) : 0);
}

frame_decoder::decoded decoder_curve::decode(byte_span in, std::uint8_t *const out) noexcept {
    if (is_over_)
        return {in.size(), 0};
    const std::size_t carried = kept_.size();
    decoded done{in.size(), 0};
    std::uint8_t *begin = out;
    std::span<std::uint8_t> frames;
    if (around_) {
        const decoded step = around_->decode(in, out + carried);
        done.taken = step.taken;
        frames = {begin, carried + step.octets};
    } else {
        begin += in.data() - out - static_cast<std::ptrdiff_t>(carried);
        frames = {begin, carried + in.size()};
    }
    if (carried > 0)
        std::memcpy(begin, kept_.data(), carried);
    std::vector<std::uint8_t>().swap(kept_);  // an idle connection keeps nothing

    if (large_.is_under_way())
        frames = frames.subspan(fill_large(frames));
    if (apart_.empty())
        done.octets = static_cast<std::size_t>(open_boxes(frames, out) - out);
    else if (!around_)
        done.taken = in.size() - frames.size();
    else if (!frames.empty())
        open_apart(frames);
    if (around_)
        take_from_around();
    return done;
}

// ---- boxes ----

/// Opens all that is whole in `in`, and keeps the rest. `out` is not behind `in`.
std::uint8_t *decoder_curve::open_boxes(std::span<std::uint8_t> in, std::uint8_t *out) noexcept {
    while (!in.empty() && !is_over_) {
        frame_header header;
        if (!get_frame_header(in.data(), in.size(), header))
            return keep(in, header, out);
        const std::size_t have = in.size() - header.header_size;
        const bool is_event =
            around_ && header.flags == frame_flag::command && (have == 0 || in[header.header_size] == 0);
        // Some peers say in front of the box, too, that there is more. What counts is in the box.
        if (!is_event && (header.flags & ~(frame_flag::large | frame_flag::more)))
            return refuse(header.is_command() ? protocol_errors::unexpected_command
                                              : protocol_errors::malformed_message,
                          out);
        if (!is_event && (header.body_size < curve_growth || header.body_size >> 63))
            return refuse(protocol_errors::malformed_message, out);
        if (!is_event && header.body_size > most_in_body_) {
            is_over_ = true;  // whoever walks this finds it too big
            return put_frame_header(out, header.body_size - curve_growth, 0);
        }
        if (header.body_size > have)
            return keep(in, header, out);
        const std::size_t whole = header.header_size + static_cast<std::size_t>(header.body_size);
        if (is_event) {
            std::memmove(out, in.data(), whole);
            out += whole;
        } else {
            out = open_box(in.subspan(header.header_size, whole - header.header_size), out);
        }
        in = in.subspan(whole);
    }
    return out;
}

std::uint8_t *decoder_curve::open_box(std::span<std::uint8_t> body, std::uint8_t *out) noexcept {
    if (as_text(body.first(curve_message_name.size())) != curve_message_name)
        return refuse(protocol_errors::unexpected_command, out);
    const std::uint64_t number = get_u64(body.data() + curve_message_name.size());
    if (number <= last_)
        return refuse(protocol_errors::invalid_sequence, out);
    if (!box_->open(number, body.subspan(curve_head_size)))
        return refuse(protocol_errors::cryptographic, out);
    last_ = number;
    const std::uint8_t flags = body[curve_growth - 1];
    const byte_span text = body.subspan(curve_growth);
    if (flags == curve_octet::batch && terms_.batches)
        return open_batch(text, out);
    const bool is_command = flags == curve_octet::command;
    // A command without a name would pass for an event.
    if ((!is_command && flags > curve_octet::more) || (is_command && (text.empty() || text[0] == 0)))
        return refuse(protocol_errors::malformed_message, out);
    out = put_frame_header(out, text.size(), is_command ? frame_flag::command : flags);
    if (out != text.data())  // that of a large box is there already
        std::memmove(out, text.data(), text.size());
    return out + text.size();
}

std::uint8_t *decoder_curve::open_batch(byte_span frames, std::uint8_t *out) noexcept {
    byte_span rest = frames;
    bool is_sound = !frames.empty() && frames.size() <= most_octets_in_curve_batch;
    for (frame_header header; is_sound && !rest.empty();) {
        is_sound = get_frame_header(rest.data(), rest.size(), header) &&
                   header.body_size <= rest.size() - header.header_size &&
                   !(header.is_command() && (header.body_size == 0 || rest[header.header_size] == 0));
        if (is_sound)
            rest = rest.subspan(header.header_size + static_cast<std::size_t>(header.body_size));
    }
    if (!is_sound)
        return refuse(protocol_errors::malformed_message, out);
    std::memmove(out, frames.data(), frames.size());
    return out + frames.size();
}

// ---- what is refused ----

std::uint8_t *decoder_curve::refuse(protocol_error why, std::uint8_t *out) noexcept {
    is_over_ = true;
    fault_ = why;
    return std::copy(refusal.begin(), refusal.end(), out);
}

// ---- what is kept ----

/// Keeps a box of which `in` is all that has come.
std::uint8_t *decoder_curve::keep(std::span<std::uint8_t> in, const frame_header &header,
                                  std::uint8_t *out) noexcept {
    if (header.header_size > 0 && header.header_size + header.body_size > largest_small_box)
        return large_.begin(*pool_, in, header, curve_growth) ? out : refuse(0, out);
    try {
        kept_.assign(in.begin(), in.end());
        return out;
    } catch (const std::bad_alloc &) {
        return refuse(0, out);
    }
}

// ---- large boxes ----

/// Takes what `in` has of it; and opens it once it is whole.
std::size_t decoder_curve::fill_large(byte_span in) noexcept {
    std::size_t taken = 0;
    while (large_.is_under_way() && taken < in.size()) {
        const large_frame::place next = large_.place_for_next(*pool_);
        if (next.octets == 0) {
            give_up();
            return in.size();
        }
        const std::size_t size = std::min(next.octets, in.size() - taken);
        std::memcpy(next.begin, in.data() + taken, size);
        taken += size;
        fill(size);
    }
    return is_over_ ? in.size() : taken;
}

frame_decoder::place decoder_curve::place_for_next() noexcept {
    if (around_ || !large_.is_under_way())
        return {};
    const large_frame::place next = large_.place_for_next(*pool_);
    return {{next.begin, next.octets}, next.octets == large_.missing()};
}

void decoder_curve::fill(std::size_t octets) noexcept {
    large_.note_read(octets);
    if (large_.is_whole())
        open_large();
}

void decoder_curve::open_large() noexcept {
    try {
        apart_.emplace_back();
    } catch (const std::bad_alloc &) {
        give_up();
        return;
    }
    const std::size_t header_size = large_.header().header_size;
    block_ref owner;
    const byte_span whole = large_.take(owner);
    const std::span<std::uint8_t> box(const_cast<std::uint8_t *>(whole.data()) + header_size,
                                      whole.size() - header_size);
    // The header of what comes out stands right in front of its body.
    std::uint8_t *const out = box.data() + curve_growth - frame_header_size(box.size() - curve_growth);
    std::uint8_t *const end = open_box(box, out);
    apart_.back() = {std::move(owner), {out, end}};
}

void decoder_curve::give_up() noexcept {
    owes_refusal_ = is_over_ = true;
    large_.forget();
}

// ---- frames in memory of their own ----

/// Opens what stands behind a large box, and cannot be given back to the decoder around this one.
void decoder_curve::open_apart(byte_span in) noexcept {
    chunk *const memory = pool_->allocate(in.size());
    if (!memory) {
        owes_refusal_ = is_over_ = true;
        return;
    }
    std::memcpy(memory->data(), in.data(), in.size());
    add_apart(block_ref::adopt(memory), {memory->data(), in.size()});
}

void decoder_curve::add_apart(block_ref memory, std::span<std::uint8_t> boxes) noexcept {
    try {
        apart_.emplace_back();
    } catch (const std::bad_alloc &) {
        owes_refusal_ = is_over_ = true;
        return;
    }
    const std::uint8_t *const end = open_boxes(boxes, boxes.data());
    apart_.back() = {std::move(memory), {boxes.data(), end}};
}

/// Takes a frame that it has put together.
void decoder_curve::take_from_around() noexcept {
    block_ref owner;
    const byte_span frame = around_->take_frame(owner);
    if (frame.empty() || is_over_)
        return;
    const std::span<std::uint8_t> box(const_cast<std::uint8_t *>(frame.data()), frame.size());
    add_apart(std::move(owner), box);
}

byte_span decoder_curve::take_frame(block_ref &owner) noexcept {
    while (taken_ < apart_.size()) {
        apart &next = apart_[taken_++];
        owner = std::move(next.owner);
        if (!next.frames.empty())
            return next.frames;
    }
    std::vector<apart>().swap(apart_);
    taken_ = 0;
    owner.reset();
    return std::exchange(owes_refusal_, false) ? byte_span(refusal) : byte_span();
}

}  // namespace zlink
