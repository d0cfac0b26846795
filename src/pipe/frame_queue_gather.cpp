// The consumer that writes out ranges of the queue: what is listed, what is released, and what a
// broken write leaves.
//
// Order:    gather and release; the walk over frames that finds message boundaries; the rest of a
//           message that was cut.
#include <algorithm>

#include "core/invariant.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

/// Catches up with the frames that were read one by one, so that release() does not report their
/// messages again.
void frame_queue::begin_gathering() noexcept {
    ZLINK_INVARIANT(bodies_ == bodies::apart);
    has_input();  // leaves a segment that is used up: it may be a lone body, which cannot be walked
    reported_in_head_ = 0;
    for (std::uint64_t at = 0; at < head_octet_;) {
        frame_header header;
        ZLINK_INVARIANT(get_frame_header(head_->base + at, head_octet_ - at, header));
        at += header.header_size + header.body_size;
        reported_in_head_ += !header.is_command() && !header.has_more();
    }
    note_boundary();
    is_gathering_ = true;
}

/// Lists and takes nothing: what the stream does not take is listed again. It stops between two
/// messages where it can, and notes how much it saw of the last segment, which may grow while the
/// list is written.
frame_queue::gathered frame_queue::gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept {
    if (!is_gathering_)
        begin_gathering();
    gathered result;
    if (__builtin_expect(head_->is_gap(), 0))
        look_at_gap(*head_);
    segment *s = head_;
    std::uint64_t from = head_octet_;
    for (;;) {
        const std::uint64_t committed = s->committed.load(std::memory_order_acquire);
        gather_end_ = s;
        gather_end_committed_ = committed;
        const std::uint64_t count = octets_of(committed) - from;
        if (count > 0) {
            if (result.ranges == limit) {
                result.ends_message = from == 0 && s->starts_message;
                break;
            }
            ranges[result.ranges++] = {const_cast<std::uint8_t *>(s->base + from), count};
            if (s->is_lone_body())
                result.uncopied.add();
            result.octets += count;
        }
        if (!(committed & final_bit) || (result.octets >= max_octets && s->next->starts_message))
            break;
        s = s->next;
        from = 0;
        if (__builtin_expect(s->is_gap(), 0))
            look_at_gap(*s);
    }
    gather_left_ = result.ends_message ? result.octets : far_from_end;
    return result;
}

std::uint32_t frame_queue::release(std::size_t octets, std::uint64_t *of_gaps) noexcept {
    std::uint32_t ended = 0;
    gather_left_ -= octets;
    for (;;) {
        // The last segment gathered may have grown since; only what was gathered of it counts.
        seen_ =
            head_ == gather_end_ ? gather_end_committed_ : head_->committed.load(std::memory_order_acquire);
        const std::uint64_t left = octets_of(seen_) - head_octet_;
        if (__builtin_expect(head_->is_gap(), 0) && of_gaps)
            *of_gaps += std::min<std::uint64_t>(octets, left);
        if (octets < left) {
            head_octet_ += octets;
            break;
        }
        octets -= left;
        head_octet_ += left;
        const std::uint32_t fresh = messages_of(seen_) - reported_in_head_;
        ended += fresh;
        reported_in_head_ += fresh;
        reported_since_boundary_ += fresh;
        if (!(seen_ & final_bit))
            break;
        if (head_->is_lone_body() && head_->holds != content::body_moved)
            debug_counters::add(debug_counters::count::uncopied_bodies);
        step_to_next();
    }
    if (gather_left_ == 0)
        note_boundary();
    drop_taken();
    return ended;
}

/// Moves a position over the next frame. False when it only came to the next segment, which may
/// hold that frame.
bool frame_queue::pass_frame(position &at, frame_header &header) noexcept {
    const auto enter_next = [&at] { at = {at.in->next, 0, 0}; };
    const std::uint64_t committed = at.in->committed.load(std::memory_order_acquire);
    if (at.octet == octets_of(committed)) {
        ZLINK_INVARIANT(committed & final_bit);  // a message is published as a whole
        enter_next();
        return false;
    }
    ZLINK_INVARIANT(get_frame_header(at.in->base + at.octet, octets_of(committed) - at.octet, header));
    at.octet += header.header_size;
    if (at.octet + header.body_size > octets_of(committed))
        enter_next();  // the body is a segment of its own
    at.octet += header.body_size;
    at.messages += !header.is_command() && !header.has_more();
    return true;
}

/// Moves the boundary to the last end of a message in front of head_: all that ends there was
/// reported by release(). The next walk waits for as many segments as this one has left behind the
/// boundary: a message of many is walked in all as if it were two.
void frame_queue::find_boundary() noexcept {
    position found = boundary_;
    std::uint32_t ended = 0;
    unsigned segments_behind = 0;
    for (position at = boundary_; at.in != head_;) {
        const segment *const before = at.in;
        frame_header header;
        const bool has_passed = pass_frame(at, header);
        segments_behind += at.in != before;
        if (!has_passed || at.in == head_ || header.is_command() || header.has_more())
            continue;
        found = at;
        ++ended;
        segments_behind = 0;
    }
    reported_since_boundary_ -= ended;
    move_boundary_to(found);
    segments_until_walk_ = std::max(segments_behind, most_segments_inside);
}

/// Walks whole messages, from a position between two in front of head_octet_, to the first end
/// there or behind. Returns the octets from head_octet_ to that end and, from boundary_ on, the
/// messages that end up to there and were not reported. One that ends behind head_octet_ and began
/// in front of it is cut: the last of them, or none.
frame_queue::dropped frame_queue::find_message_end(position &at) const noexcept {
    bool reached_head = false;
    bool in_message = false;
    bool is_message = false;  // the last frame that was passed is one of a message
    std::uint32_t ended = 0;
    for (;;) {
        reached_head = reached_head || at.in == head_;
        if (!in_message && reached_head && (at.in != head_ || at.octet >= head_octet_))
            break;
        frame_header header;
        if (!pass_frame(at, header))
            continue;
        is_message = !header.is_command();
        if (is_message) {
            in_message = header.has_more();
            ended += !in_message;
        }
    }
    dropped what = {ended - reported_since_boundary_, at.octet - head_octet_};
    for (const segment *s = head_; s != at.in; s = s->next)
        what.octets += octets_of(s->committed.load(std::memory_order_relaxed));
    what.has_cut_one = is_message && what.octets > 0;
    return what;
}

/// From what is known to be an end: so many octets back, where that is in the same segment, else
/// the boundary.
std::uint64_t frame_queue::octets_to_message_end(std::uint64_t since_end) noexcept {
    if (!is_gathering_)
        begin_gathering();
    position at = since_end <= head_octet_ ? position{head_, head_octet_ - since_end, 0} : boundary_;
    return find_message_end(at).octets;
}

frame_queue::dropped frame_queue::drop_cut_message() noexcept {
    if (!is_gathering_)
        return {};
    position at = boundary_;
    dropped what = find_message_end(at);
    if (head_->is_gap()) {
        // A gap was cut: its octets do not count, and the message behind it is whole.
        what.octets = 0;
        head_octet_ = at.octet;
    } else {
        // All that is dropped counts as taken, so that octets and messages add up.
        head_ = at.in;
        before_head_.move_to(before_head_ + head_octet_ + what.octets - at.octet, at.octet,
                             [&] { head_octet_ = at.octet; });
    }
    seen_ = head_->committed.load(std::memory_order_acquire);
    reported_in_head_ = at.messages;
    gather_end_ = nullptr;
    gather_left_ = 0;
    note_boundary();
    drop_taken();
    has_input();  // leaves a segment that is used up
    return what;
}

}  // namespace zlink
