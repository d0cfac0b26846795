// The consumer that writes out ranges of the queue: what is listed, what is released, and what a broken write leaves.
#include "core/invariant.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

/// Catches up with the frames that were read one by one, so that release() does not report their messages again.
void frame_queue::begin_gathering() noexcept {
    has_input();  // leaves a segment that is used up: it may be a lone body, which cannot be walked
    reported_in_head_ = 0;
    for (std::uint64_t at = 0; at < head_octet_;) {
        frame_header header;
        ZLINK_INVARIANT(get_frame_header(head_->base + at, head_octet_ - at, header));
        at += header.header_size + header.body_size;
        reported_in_head_ += !header.is_command() && !header.has_more();
    }
    mark_boundary();
    is_gathering_ = true;
}

frame_queue::gathered frame_queue::gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept {
    if (!is_gathering_)
        begin_gathering();
    gathered result;
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
            if (s->is_lone_body)
                result.uncopied.add();
            result.octets += count;
        }
        if (!(committed & final_bit) || (result.octets >= max_octets && s->next->starts_message))
            break;
        s = s->next;
        from = 0;
    }
    gather_left_ = result.octets;
    gather_ends_message_ = result.ends_message;
    return result;
}

std::uint32_t frame_queue::release(std::size_t octets) noexcept {
    std::uint32_t ended = 0;
    gather_left_ -= octets;
    for (;;) {
        // The last segment gathered may have grown since; only what was gathered of it counts.
        seen_ =
            head_ == gather_end_ ? gather_end_committed_ : head_->committed.load(std::memory_order_acquire);
        const std::uint64_t left = octets_of(seen_) - head_octet_;
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
        if (head_->is_lone_body)
            debug_counters::add(debug_counters::count::uncopied_bodies);
        step_to_next();
    }
    if (gather_left_ == 0 && gather_ends_message_)
        mark_boundary();
    return ended;
}

/// Moves the boundary to the last end of a message in front of head_: all that ends there was reported by release().
void frame_queue::find_boundary() noexcept {
    segment *found = boundary_;
    std::uint64_t found_octet = boundary_octet_;
    std::uint32_t found_messages = boundary_messages_;
    std::uint32_t ended = 0;
    std::uint32_t ended_here = boundary_messages_;
    std::uint64_t at = boundary_octet_;
    for (segment *s = boundary_; s != head_;) {
        const std::uint64_t octets = octets_of(s->committed.load(std::memory_order_acquire));
        if (at == octets) {
            s = s->next;
            at = 0;
            ended_here = 0;
            continue;
        }
        frame_header header;
        ZLINK_INVARIANT(get_frame_header(s->base + at, octets - at, header));
        at += header.header_size;
        if (at + header.body_size > octets) {
            s = s->next;  // the body is a segment of its own
            at = 0;
            ended_here = 0;
            if (s == head_)
                break;
        }
        at += header.body_size;
        if (header.is_command() || header.has_more())
            continue;
        ++ended;
        found = s;
        found_octet = at;
        found_messages = ++ended_here;
    }
    reported_since_boundary_ -= ended;
    move_boundary_to(found);
    boundary_octet_ = found_octet;
    boundary_messages_ = found_messages;
}

std::uint32_t frame_queue::drop_cut_message() noexcept {
    if (!is_gathering_)
        return 0;
    // Walks whole messages from the last segment that starts with one, to the first end at or behind head_octet_.
    segment *s = boundary_;
    std::uint64_t at = boundary_octet_;
    bool reached_head = s == head_;
    bool in_message = false;
    std::uint32_t ended = 0;
    std::uint32_t ended_here = boundary_messages_;
    const auto enter_next = [&] {
        s = s->next;
        at = 0;
        ended_here = 0;
        reached_head = reached_head || s == head_;
    };
    for (;;) {
        if (!in_message && reached_head && (s != head_ || at >= head_octet_))
            break;
        const std::uint64_t committed = s->committed.load(std::memory_order_acquire);
        if (at == octets_of(committed)) {
            ZLINK_INVARIANT(committed & final_bit);  // a message is published as a whole
            enter_next();
            continue;
        }
        frame_header header;
        ZLINK_INVARIANT(get_frame_header(s->base + at, octets_of(committed) - at, header));
        at += header.header_size;
        if (at + header.body_size > octets_of(committed))
            enter_next();  // the body is a segment of its own
        at += header.body_size;
        if (!header.is_command()) {
            in_message = header.has_more();
            ended += !in_message;
            ended_here += !in_message;
        }
    }
    const std::uint32_t fresh = ended - reported_since_boundary_;
    head_ = s;
    head_octet_ = at;
    seen_ = s->committed.load(std::memory_order_acquire);
    reported_in_head_ = ended_here;
    gather_end_ = nullptr;
    gather_left_ = 0;
    mark_boundary();
    has_input();  // leaves a segment that is used up
    return fresh;
}

}  // namespace zlink
