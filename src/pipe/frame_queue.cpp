#include "pipe/frame_queue.hpp"

#include <algorithm>
#include <new>

#include "core/invariant.hpp"
#include "core/patience.hpp"

namespace zlink {

namespace {
constexpr std::size_t largest_chunk_size = 65536;  // a busy one fills these
// To move on to the next chunk costs about as much as copying 8 KiB: frames of which few fit get larger ones.
constexpr std::size_t few_frames = 16;
constexpr std::size_t chunk_size_for_few = 4 * largest_chunk_size;

// How many segments wait to be used again: as many as a mark of 1000 large bodies takes, and when there is little to do.
constexpr std::uint64_t most_given_back = 2048;
constexpr std::uint64_t segments_for_little = 8;

// A consumer that finds less than this at a look stands off for so many pauses, a microsecond or two.
constexpr std::size_t octets_of_near = 4096;
constexpr unsigned pauses_of_stand_off = 96;
constexpr unsigned messages_of_stand_off = 8;
constexpr unsigned most_stand_offs_in_vain = 12;

constexpr bool is_one_of_few(std::size_t octets) noexcept {
    return octets > largest_chunk_size / few_frames && octets <= frame_queue::longest_short;
}
}  // namespace

void frame_queue::segment::let_go() noexcept {
    if (block *mine = std::exchange(owner, nullptr))
        mine->release();
    if (peer_info *from = std::exchange(info, nullptr))
        from->release();
}

frame_queue::frame_queue(std::shared_ptr<chunk_pool> pool, std::size_t first_chunk)
    : pool_(std::move(pool)), next_chunk_size_(std::min(first_chunk, largest_chunk_size)) {
    // The first segment is empty and has no memory; it stands for "before the first frame".
    tail_ = open_ = head_ = boundary_ = oldest_ = new segment;
}

frame_queue::~frame_queue() {
    roll_back();
    for (segment *s = oldest_; s;) {
        segment *next = s == tail_ ? nullptr : s->next;
        spare(s);
        s = next;
    }
    while (spare_)
        delete std::exchange(spare_, spare_->next);
    if (copy_chunk_)
        copy_chunk_->release();
    if (info_)
        info_->release();
}

// ---- producer ----

frame_queue::segment *frame_queue::make_segment() noexcept {
    if (spare_)
        return std::exchange(spare_, spare_->next);
    return may_reuse() ? reuse() : new (std::nothrow) segment;
}

bool frame_queue::may_reuse() noexcept {
    const std::uint64_t reused = reused_.load(std::memory_order_relaxed);
    if (reused + 1 >= given_back_seen_)
        given_back_seen_ = given_back_.load(std::memory_order_acquire);
    return reused + 1 < given_back_seen_;
}

frame_queue::segment *frame_queue::reuse() noexcept {
    reused_.store(reused_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return std::exchange(oldest_, oldest_->next);
}

void frame_queue::prepare_for_little() noexcept {
    next_chunk_size_ = chunk_size_for_little;
    while (given_back_.load(std::memory_order_acquire) - reused_.load(std::memory_order_relaxed) >
           segments_for_little)
        delete reuse();
}

/// Keeps a segment that the consumer does not know.
void frame_queue::spare(segment *s) noexcept {
    s->let_go();
    s->next = std::exchange(spare_, s);
}

/// Makes a place for what lies at `base` at the end of the queue. Adds a reference to `owner`. False when memory is short.
bool frame_queue::begin_segment(block *owner, std::size_t owner_size, const std::uint8_t *base) noexcept {
    // A blank segment is filled where it is: the consumer looks at nothing in it before it sees octets.
    const bool is_blank = !open_->base && written_ == 0;
    segment *s = is_blank ? open_ : make_segment();
    if (!s)
        return false;
    if (owner)
        owner->retain();
    if (is_blank)
        fill_segment(s, owner, owner_size, base);
    else
        link_segment(s, owner, owner_size, base);
    return true;
}

void frame_queue::fill_segment(segment *s, block *owner, std::size_t owner_size,
                               const std::uint8_t *base) noexcept {
    s->base = base;
    s->owner = owner;
    s->owner_size = owner_size;
    if (info_)
        info_->retain();
    if (peer_info *before = std::exchange(s->info, info_))
        before->release();
}

/// Makes `s` the open segment, at the end of the unpublished chain. Takes over one reference to `owner`.
void frame_queue::link_segment(segment *s, block *owner, std::size_t owner_size,
                               const std::uint8_t *base) noexcept {
    fill_segment(s, owner, owner_size, base);
    s->next = nullptr;
    s->starts_message = !in_message_;
    s->is_lone_body = false;
    s->committed.store(0, std::memory_order_relaxed);
    if (open_ == tail_) {
        // What was written to tail_ since the last publish stays hidden until publish_chain() commits it.
        written_in_tail_ = written_;
    } else {
        open_->committed.store(written_ | final_bit, std::memory_order_relaxed);
    }
    open_->next = s;
    open_ = s;
    written_ = 0;
    is_copying_ = false;
}

/// Makes room for `need` contiguous octets at copy_cursor_, in a segment that ends there. False when memory is short.
bool frame_queue::reserve_copy(std::size_t need) noexcept {
    if (static_cast<std::size_t>(copy_end_ - copy_cursor_) < need) {
        const bool is_busy = next_chunk_size_ == largest_chunk_size;
        const std::size_t usual = is_busy && is_one_of_few(need) ? chunk_size_for_few : next_chunk_size_;
        chunk *fresh = pool_->allocate(std::max(need, usual));
        if (!fresh)
            return false;
        next_chunk_size_ = std::min(next_chunk_size_ * 2, largest_chunk_size);
        if (copy_chunk_)
            copy_chunk_->release();
        copy_chunk_ = fresh;
        copy_cursor_ = fresh->data();
        copy_end_ = fresh->data() + fresh->capacity;
        is_copying_ = false;
    }
    if (is_copying_)
        return true;
    is_copying_ = begin_segment(copy_chunk_, copy_chunk_->capacity, copy_cursor_);
    return is_copying_;
}

error frame_queue::write_slow(std::uint8_t flags, byte_span body) noexcept {
    if (!reserve_copy(frame_header_size(body.size()) + body.size()))
        return error::no_memory;
    return write(flags, body);
}

/// Whether the last message that has a frame in `frames` goes on behind them; `before` when there is none.
static bool ends_inside_message(byte_span frames, std::uint32_t messages, bool before) noexcept {
    if (messages > 0)
        return false;
    for (frame_header header; get_frame_header(frames.data(), frames.size(), header);) {
        if (!header.is_command())
            before = header.has_more();
        frames =
            frames.subspan(std::min<std::uint64_t>(header.header_size + header.body_size, frames.size()));
    }
    return before;
}

error frame_queue::write_wire(byte_span frames, std::uint32_t messages) noexcept {
    if (frames.empty())
        return error::none;
    if (!reserve_copy(frames.size()))
        return error::no_memory;
    std::memcpy(copy_cursor_, frames.data(), frames.size());
    copy_cursor_ += frames.size();
    written_ += messages * one_message + frames.size();
    in_message_ = ends_inside_message(frames, messages, in_message_);
    return error::none;
}

error frame_queue::write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (body.empty())
        return write(flags, body);
    const std::size_t header = frame_header_size(body.size());
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
    const bool was_in_message = std::exchange(in_message_, true);  // the body is not a place to start from
    link_segment(for_body, owner.detach(), body.size(), body.data());
    for_body->is_lone_body = true;
    written_ = body.size();
    in_message_ = was_in_message;
    note_frame(flags);
    // The empty segment behind the body lets the body's memory go as soon as the body is used up.
    link_segment(behind, nullptr, 0, nullptr);
    return error::none;
}

error frame_queue::append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                          std::size_t owner_size) noexcept {
    if (range.empty())
        return error::none;
    const bool continues = owner && open_->owner == owner && !open_->is_lone_body && open_->info == info_ &&
                           open_->base + octets_of(written_) == range.data() &&
                           messages <= message_mask - messages_of(written_);
    if (!continues) {
        const bool was_in_message = std::exchange(in_message_, !starts_message);
        if (!begin_segment(owner, std::max(owner_size, range.size()), range.data())) {
            in_message_ = was_in_message;
            return error::no_memory;
        }
    }
    is_copying_ = false;
    written_ += messages * one_message + range.size();
    in_message_ = ends_inside_message(range, messages, in_message_);
    return error::none;
}

void frame_queue::publish_chain() noexcept {
    // Only the last store makes anything visible: until the old tail is final nobody follows its link.
    open_->committed.store(written_, std::memory_order_relaxed);
    segment *old_tail = std::exchange(tail_, open_);
    old_tail->committed.store(written_in_tail_ | final_bit, std::memory_order_release);
}

void frame_queue::roll_back() noexcept {
    const std::uint64_t published = tail_->committed.load(std::memory_order_relaxed);
    if (open_ != tail_) {
        for (segment *s = tail_->next; s;) {
            segment *next = s->next;
            spare(s);
            s = next;
        }
        tail_->next = nullptr;
        open_ = tail_;
    }
    written_ = published;
    in_message_ = false;
    if (written_ == 0) {
        // Filled since the last publish: blank again.
        tail_->base = nullptr;
        if (block *owner = std::exchange(tail_->owner, nullptr))
            owner->release();
    }
    // Behind the published octets of a segment in the current chunk there is nothing but what goes.
    is_copying_ = false;
    if (copy_chunk_ && tail_->owner == copy_chunk_) {
        copy_cursor_ = copy_chunk_->data() + (tail_->base + octets_of(published) - copy_chunk_->data());
        is_copying_ = tail_->info == info_;  // set_info() may have come between
    }
}

void frame_queue::set_info(peer_info *info) noexcept {
    if (info)
        info->retain();
    if (info_)
        info_->release();
    info_ = info;
    is_copying_ = false;  // the next frame starts a segment of its own
}

// ---- consumer ----

/// Looks for octets behind head_octet_: loads the shared word, and steps into the next segment when this one is done.
[[gnu::always_inline]] inline bool frame_queue::look() noexcept {
    for (;;) {
        if (!(seen_ & final_bit)) {
            seen_ = head_->committed.load(std::memory_order_acquire);
            if (head_octet_ != octets_of(seen_))
                return true;
            if (!(seen_ & final_bit))
                return false;
        }
        step_to_next();
        if (head_octet_ != octets_of(seen_))
            return true;
    }
}

bool frame_queue::see_more() noexcept { return look(); }

/// The same for a consumer that takes frame by frame. One that fetches each message as soon as it is published takes, each time,
/// two cache lines out of the hands of the producer. Off for some microseconds, it finds hundreds of messages, in lines that
/// nobody wants any more.
bool frame_queue::see_stream() noexcept {
    if (__builtin_expect(looks_until_stand_off_ == 0, 0))
        return look_from_afar();
    bool is_near = false;
    const bool is_found = look_for_many(is_near);
    looks_until_stand_off_ -= is_near;
    return is_found;
}

/// Each time that it does not find more than others, it is done half as often.
bool frame_queue::look_from_afar() noexcept {
    patience::pause(pauses_of_stand_off);
    const segment *const looked_at = head_;
    const std::uint32_t known = messages_of(seen_);
    const bool is_found = look();
    const bool is_near = messages_of(seen_) - (head_ == looked_at ? known : 0) < messages_of_stand_off;
    stand_offs_in_vain_ = is_near ? std::min(stand_offs_in_vain_ + 1, most_stand_offs_in_vain) : 0;
    looks_until_stand_off_ = std::uint64_t{1} << stand_offs_in_vain_;
    return is_found;
}

/// look(); and whether that found little.
[[gnu::always_inline]] inline bool frame_queue::look_for_many(bool &is_near) noexcept {
    const segment *const looked_at = head_;
    const std::uint32_t known = messages_of(seen_);
    const bool is_found = look();
    const std::uint32_t gained = messages_of(seen_) - (head_ == looked_at ? known : 0);
    is_near = octets_of(seen_) - head_octet_ < octets_of_near || gained < 2;
    return is_found;
}

void frame_queue::step_to_next() noexcept {
    if (head_ == gather_end_)
        gather_end_ = nullptr;
    head_ = head_->next;
    head_octet_ = 0;
    reported_in_head_ = 0;
    seen_ = head_->committed.load(std::memory_order_acquire);
    if (head_->starts_message || !is_gathering_)
        mark_boundary();
}

void frame_queue::mark_boundary() noexcept {
    while (boundary_ != head_) {
        segment *next = boundary_->next;
        give_back(boundary_);
        boundary_ = next;
    }
    boundary_octet_ = head_octet_;
    boundary_messages_ = reported_in_head_;
    reported_since_boundary_ = 0;
}

/// Leaves a segment that is used up to the producer.
void frame_queue::give_back(segment *s) noexcept {
    s->let_go();
    const std::uint64_t count = given_back_.load(std::memory_order_relaxed);
    if (count - reused_.load(std::memory_order_relaxed) < most_given_back) {
        last_given_back_ = s;
        given_back_.store(count + 1, std::memory_order_release);
    } else {
        // The producer follows this link only once another segment has been counted.
        last_given_back_->next = s->next;
        delete s;
    }
}

bool frame_queue::read_lone_body(frame_view &out, std::uint8_t flags, std::uint64_t size) noexcept {
    step_to_next();
    ZLINK_INVARIANT(head_->is_lone_body && octets_of(seen_) == size);
    head_octet_ = size;
    out = {head_->base, size, flags, head_->owner, head_->owner_size, head_->info, nullptr};
    if (head_->owner)
        out.lone_owner = &head_->owner;
    return true;
}

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
