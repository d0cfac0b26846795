// The places of the queue where messages are missing: said by the producer, and looked at by a
// consumer that gathers.
#include <algorithm>

#include "pipe/frame_queue.hpp"
#include "pipe/in_band.hpp"

namespace zlink {

namespace {
constexpr std::uint64_t gap_frame_size = short_header_size + in_band::gap_size;

std::uint8_t *number_in(std::uint8_t *frame) noexcept {
    return frame + gap_frame_size - sizeof(std::uint64_t);
}

std::uint64_t put_gap(std::uint8_t *to, std::uint64_t lost) noexcept {
    const auto body = in_band::gap(lost);
    std::copy(body.begin(), body.end(), put_frame_header(to, body.size(), frame_flag::command));
    return gap_frame_size;
}
}  // namespace

/// A number that nobody knows and one that is known are two frames, and there are no more.
error frame_queue::write_gap(std::uint64_t lost, std::uint8_t tag) noexcept {
    static_assert(2 * gap_frame_size <= sizeof(segment::gap_frames));
    if (open_ == tail_ || open_->gap_tag != tag) {
        segment *const fresh = make_segment();
        if (!fresh)
            return error::no_memory;
        link_segment(fresh, nullptr, 0, fresh->gap_frames);
        fresh->gap_tag = tag;
    }
    const std::uint64_t size_before = octets_of(written_);
    bool has_unknown = lost == 0;
    for (std::uint64_t at = 0; at < size_before; at += gap_frame_size) {
        const std::uint64_t before = get_u64(number_in(open_->gap_frames + at));
        has_unknown = has_unknown || before == 0;
        lost += std::min(before, UINT64_MAX - lost);
    }
    std::uint64_t size = has_unknown ? put_gap(open_->gap_frames, 0) : 0;
    if (lost > 0)
        size += put_gap(open_->gap_frames + size, lost);
    // The octets in front of the segment are so many less than there are.
    before_open_.move_to(before_open_ + size_before - size, size, [&] { written_ = size; });
    return error::none;
}

/// The number of one of another tag is not known; where none are taken, nothing is left of it.
void frame_queue::look_at_gap(segment &s) noexcept {
    const std::uint64_t committed = s.committed.load(std::memory_order_acquire);
    if (gaps_taken_ == all_gaps || gaps_taken_ == s.gap_tag)
        return;
    if (gaps_taken_ != no_gaps) {
        for (std::uint64_t at = 0; at < octets_of(committed); at += gap_frame_size)
            put_u64(number_in(s.gap_frames + at), 0);
    } else if (&s == head_) {
        head_octet_ = octets_of(committed);
    } else {
        s.committed.store(committed & final_bit, std::memory_order_relaxed);
    }
}

}  // namespace zlink
