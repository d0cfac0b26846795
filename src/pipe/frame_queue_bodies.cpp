// The bodies of a queue that are not copied into its memory: kept until they have gone out,
// referenced, or segments of their own.
//
// Order:    the producer; the one whose memory a body has to leave; the consumer.
#include <cstring>
#include <utility>

#include "core/invariant.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

/// Between sockets of one process a body stays where it is and goes by reference. Towards a
/// connection its octets have to stand in the queue: a small one is copied, a large one becomes a
/// segment.
error frame_queue::write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (bodies_ == bodies::referred_to)
        return write_reference(flags, std::move(owner), body);
    if (copies_external(body.size()))
        return owner ? write_kept(flags, std::move(owner), body) : write(flags, body);
    return write_apart(flags, std::move(owner), body, content::body);
}

/// A frame whose body is a pointer: the consumer is in this process, and takes the owner over with
/// it.
error frame_queue::write_reference(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (!reserve_copy(short_header_size + sizeof(reference)))
        return error::no_memory;
    const reference to{body.data(), body.size(), owner.detach()};
    std::memcpy(put_frame_header(copy_cursor_, sizeof to, flags | reference_flag), &to, sizeof to);
    copy_cursor_ += short_header_size + sizeof to;
    has_references_ = true;
    note_frame(flags, short_header_size + sizeof to);
    before_open_.add(to.octets_elsewhere());
    return error::none;
}

/// Copies the body into a block of its own, which goes back as soon as the reader has taken it.
error frame_queue::write_block(std::uint8_t flags, byte_span body) noexcept {
    chunk *const own = pool_->allocate(body.size());
    if (!own)
        return error::no_memory;
    std::memcpy(own->data(), body.data(), body.size());
    return write_reference(flags, block_ref::adopt(own), {own->data(), body.size()});
}

/// Records grow down from the end of the chunk while frames grow up from its begin.
void frame_queue::keep(const kept &record) noexcept {
    copy_end_ -= sizeof record;
    std::memcpy(copy_end_, &record, sizeof record);
}

/// The octets are copied, and the owner is kept until they are taken: that is when the
/// application's function is to be called. The record is complete before it is shown.
error frame_queue::write_kept(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (!reserve_copy(frame_header_size(body.size()) + body.size() + 2 * sizeof(kept)))
        return error::no_memory;
    (void)write(flags, body);
    if (!open_->last_kept.load(std::memory_order_relaxed)) {
        keep({});
        open_->next_kept = copy_end_;
    }
    keep({octets_of(written_), owner.detach()});
    open_->last_kept.store(copy_end_, std::memory_order_release);
    return error::none;
}

/// The body becomes a segment.
error frame_queue::write_apart(std::uint8_t flags, block_ref owner, byte_span body, content what) noexcept {
    if (body.size() > octet_mask)
        return error::no_memory;
    const std::size_t header = frame_header_size(body.size());
    // All memory first: a failure leaves the queue as it was.
    segment *for_body = make_segment();
    segment *behind = make_segment();
    if (!for_body || !behind || !reserve_copy(header)) {
        for (segment *s : {for_body, behind}) {
            if (s)
                spare(s);
        }
        return error::no_memory;
    }
    put_frame_header(copy_cursor_, body.size(), flags);
    copy_cursor_ += header;
    written_ += header;
    // the body is not a place to start from
    const bool was_in_message = std::exchange(in_message_, true);
    link_segment(for_body, owner.detach(), body.size(), body.data());
    for_body->holds = what;
    in_message_ = was_in_message;
    note_frame(flags, body.size());
    // The empty segment behind the body lets the body's memory go as soon as the body is used up.
    link_segment(behind, nullptr, 0, nullptr);
    return error::none;
}

error frame_queue::write_in_place(byte_span body, chunk *memory) noexcept {
    return write_apart(0, block_ref::share(memory), body, content::body_in_place);
}

/// With the turn held, in the call whose memory it is: behind it that memory is the caller's again,
/// and the queue has a copy of what has not gone out.
void frame_queue::copy_rest() noexcept {
    for (segment *s = head_; s != open_; s = s->next) {
        if (s->next != open_ || !s->is_lone_body() || !s->owner)
            continue;
        std::uint8_t *const own = static_cast<chunk *>(s->owner)->data();
        const std::uint64_t taken = s == head_ ? std::uint64_t{head_octet_} : 0;
        const std::uint64_t octets = octets_of(s->committed.load(std::memory_order_relaxed));
        std::memcpy(own + taken, s->base + taken, octets - taken);
        s->base = own;
        s->holds = content::body_moved;
    }
}

/// The consumer's, for a body that was published from memory which its caller wants back. False
/// when memory is short, and nothing has changed then.
bool frame_queue::own_body(const std::uint8_t *body) noexcept {
    for (segment *s = head_;; s = s->next) {
        const std::uint64_t committed = s->committed.load(std::memory_order_acquire);
        const std::uint64_t octets = octets_of(committed);
        const std::uint64_t taken = s == head_ ? std::uint64_t{head_octet_} : 0;
        if (taken < octets && s->is_lone_body() && s->base == body && !s->owner) {
            chunk *const own = pool_->allocate(octets);
            if (!own)
                return false;
            std::memcpy(own->data(), body, octets);
            s->base = own->data();
            s->owner = own;
        }
        if (!(committed & final_bit))
            return true;
    }
}

/// The owner of a body does not go with the read: the reader looks at it until the next one, or
/// until it says that it is done.
bool frame_queue::read_reference(frame_view &out) noexcept {
    const std::uint8_t *p = head_->base + head_octet_;
    reference to;
    std::memcpy(&to, p + short_header_size, sizeof to);
    write_each_cache_line(p, short_header_size + sizeof to);
    head_octet_ += short_header_size + sizeof to;
    before_head_.add(to.octets_elsewhere());
    if (block *before = std::exchange(referred_, to.owner))
        before->release();
    out = {to.data,  to.size, static_cast<std::uint8_t>(p[0] & (frame_flag::more | frame_flag::command)),
           to.owner, to.size, head_->info,
           nullptr};
    if (to.owner)
        out.lone_owner = &referred_;
    return true;
}

bool frame_queue::read_lone_body(frame_view &out, std::uint8_t flags, std::uint64_t size) noexcept {
    step_to_next();
    ZLINK_INVARIANT(head_->is_lone_body() && octets_of(seen_) == size);
    head_octet_ = size;
    out = {head_->base, size, flags, head_->owner, head_->owner_size, head_->info, nullptr};
    if (head_->owner)
        out.lone_owner = &head_->owner;
    return true;
}

}  // namespace zlink
