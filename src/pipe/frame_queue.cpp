// The queue's producer, and the consumer that reads frame by frame; see frame_queue.hpp.
// frame_queue_gather.cpp is the consumer that writes ranges, frame_queue_bodies.cpp has the bodies
// that lie elsewhere, frame_queue_gaps.cpp what is said of messages that are missing.
//
// Order:    what a segment keeps; the end of the queue; the producer: segments made and used again,
//           writes of copied bodies and of ranges, publish and roll back; the consumer: looks at
//           what was published, steps from segment to segment, gives memory back.
#include "pipe/frame_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "core/invariant.hpp"
#include "core/patience.hpp"

namespace zlink {

namespace {
constexpr std::size_t largest_chunk_size = 65536;  // a busy one fills these
// To move on to the next chunk costs about as much as copying 8 KiB: frames of which few fit get
// larger ones.
constexpr std::size_t few_frames = 16;
constexpr std::size_t chunk_size_for_few = 4 * largest_chunk_size;

// The number of segments that wait to be used again: as many as a mark of 1000 large bodies takes.
constexpr std::uint32_t most_segments_given_back = 2048;

// A consumer that finds less than this at a look stands off for so many pauses, some microseconds,
// and means to find more then, or so many messages.
constexpr std::size_t octets_of_near = 4096;
constexpr unsigned pauses_of_stand_off = 96;
constexpr unsigned messages_of_stand_off = 8;
constexpr unsigned most_stand_offs_in_vain = 12;

constexpr bool is_one_of_few(std::size_t octets) noexcept {
    return octets > largest_chunk_size / few_frames && octets <= frame_queue::longest_short;
}
}  // namespace

/// Drops the memory that was kept for what ends at `octet` or before.
void frame_queue::segment::drop_kept_before(std::uint64_t octet) noexcept {
    const std::uint8_t *const last = last_kept.load(std::memory_order_acquire);
    while (next_kept >= last) {
        // The producer may be writing to the owner of one that it takes back.
        decltype(kept::end) end;
        std::memcpy(&end, next_kept + offsetof(kept, end), sizeof end);
        if (end > octet)
            return;
        decltype(kept::owner) owner;
        std::memcpy(&owner, next_kept + offsetof(kept, owner), sizeof owner);
        next_kept -= sizeof(kept);
        if (owner)
            owner->release();
    }
}

/// For the producer: drops the memory that was kept for what ends behind `octet`, which the
/// consumer has not seen. The records stay, without owners. False when there was none.
bool frame_queue::segment::forget_kept_behind(std::uint64_t octet) noexcept {
    bool has_forgotten = false;
    kept record;
    for (std::uint8_t *at = last_kept.load(std::memory_order_relaxed); at; at += sizeof record) {
        std::memcpy(&record, at, sizeof record);
        if (record.end <= octet)
            break;
        block *const owner = std::exchange(record.owner, nullptr);
        std::memcpy(at + offsetof(kept, owner), &record.owner, sizeof record.owner);
        if (owner)
            owner->release();
        has_forgotten = true;
    }
    return has_forgotten;
}

/// Drops what the frames in a range refer to. Returns the octets that are elsewhere.
std::uint64_t frame_queue::segment::drop_references(std::uint64_t from, std::uint64_t to) const noexcept {
    std::uint64_t elsewhere = 0;
    for (frame_header header; get_frame_header(base + from, to - from, header);
         from += header.header_size + header.body_size) {
        if (reference to_drop; header.flags & reference_flag) {
            std::memcpy(&to_drop, base + from + short_header_size, sizeof to_drop);
            elsewhere += to_drop.octets_elsewhere();
            if (to_drop.owner)
                to_drop.owner->release();
        }
    }
    return elsewhere;
}

void frame_queue::segment::let_go() noexcept {
    drop_kept(UINT64_MAX);
    if (block *mine = std::exchange(owner, nullptr))
        mine->release();
    if (peer_info *from = std::exchange(info, nullptr))
        from->release();
}

frame_queue::frame_queue(std::shared_ptr<chunk_pool> pool, std::size_t first_chunk, bodies where,
                         std::uint16_t copied_external)
    : bodies_(where), copied_external_(copied_external), pool_(std::move(pool)),
      next_chunk_size_(std::min(first_chunk, largest_chunk_size)) {
    // The first segment is empty and has no memory; it stands for "before the first frame".
    tail_ = open_ = head_ = boundary_.in = oldest_ = new segment;
}

frame_queue::~frame_queue() {
    (void)roll_back();
    if (referred_)
        referred_->release();
    for (segment *s = has_references_ ? head_ : nullptr; s; s = s == tail_ ? nullptr : s->next)
        (void)s->drop_references(s == head_ ? std::uint64_t{head_octet_} : 0,
                                 octets_of(s->committed.load(std::memory_order_relaxed)));
    for (segment *s = oldest_; s;) {
        segment *next = s == tail_ ? nullptr : s->next;
        s->let_go();
        delete s;
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
    if (!spare_)
        return may_reuse() ? reuse() : new (std::nothrow) segment;
    --spare_count_;
    return std::exchange(spare_, spare_->next);
}

/// All but the last that was given back: its link may still be changed by the consumer.
bool frame_queue::may_reuse() noexcept {
    if (given_back_seen_ - taken_back_ <= 1)
        given_back_seen_ = given_back_.load(std::memory_order_acquire);
    return given_back_seen_ - taken_back_ > 1;
}

frame_queue::segment *frame_queue::reuse() noexcept {
    told_taken_.store(++taken_back_, std::memory_order_relaxed);
    return std::exchange(oldest_, oldest_->next);
}

/// Few messages are under way: a small chunk and few segments are enough for them.
void frame_queue::prepare_for_little() noexcept {
    next_chunk_size_ = std::min(next_chunk_size_, chunk_size_for_little);
    given_back_seen_ = given_back_.load(std::memory_order_acquire);
    while (given_back_seen_ - taken_back_ > segments_for_little)
        delete reuse();
}

/// Keeps a segment that the consumer does not know, if there are few of them.
void frame_queue::spare(segment *s) noexcept {
    s->let_go();
    if (spare_count_ >= segments_for_little) {
        delete s;
        return;
    }
    ++spare_count_;
    s->next = std::exchange(spare_, s);
}

/// Makes a place for what lies at `base` at the end of the queue. Adds a reference to `owner`.
/// False when memory is short.
bool frame_queue::begin_segment(block *owner, std::size_t owner_size, const std::uint8_t *base) noexcept {
    // A blank segment is filled where it is: the consumer looks at nothing in it before it sees
    // octets.
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
    s->holds = content::frames;
    s->next_kept = nullptr;
    s->last_kept.store(nullptr, std::memory_order_relaxed);
    if (info_)
        info_->retain();
    if (peer_info *before = std::exchange(s->info, info_))
        before->release();
}

/// Makes `s` the open segment, at the end of the unpublished chain. Takes over one reference to
/// `owner`.
void frame_queue::link_segment(segment *s, block *owner, std::size_t owner_size,
                               const std::uint8_t *base) noexcept {
    fill_segment(s, owner, owner_size, base);
    s->next = nullptr;
    s->starts_message = !in_message_;
    s->gap_tag = segment::no_gap;
    s->committed.store(0, std::memory_order_relaxed);
    if (open_ == tail_) {
        // Frames written to tail_ since the last publish stay hidden until publish_chain() commits
        // it.
        written_in_tail_ = written_;
    } else {
        open_->committed.store(written_ | final_bit, std::memory_order_relaxed);
    }
    open_->next = s;
    open_ = s;
    before_open_.move_to(before_open_ + octets_of(written_), 0, [this] { written_ = 0; });
    is_copying_ = false;
}

/// Makes room for `need` contiguous octets at copy_cursor_, in a segment that ends there. False
/// when memory is short.
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
    if (!begin_segment(copy_chunk_, copy_chunk_->capacity, copy_cursor_))
        return false;
    if (chunk_pool::keeps(*copy_chunk_))
        open_->holds = content::returned_frames;
    is_copying_ = true;
    return true;
}

error frame_queue::write_slow(std::uint8_t flags, byte_span body) noexcept {
    if (bodies_ == bodies::referred_to && body.size() >= own_block_from)
        return write_block(flags, body);
    if (!reserve_copy(frame_header_size(body.size()) + body.size()))
        return error::no_memory;
    return write(flags, body);
}

/// Whether the last message that has a frame in `frames` goes on behind them; `before` when there
/// is none.
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

/// The front of some frames, with which as many messages end.
static byte_span first_messages(byte_span frames, std::uint32_t messages) noexcept {
    const std::uint8_t *at = frames.data();
    while (messages > 0) {
        frame_header header;
        ZLINK_INVARIANT(
            get_frame_header(at, static_cast<std::size_t>(frames.data() + frames.size() - at), header));
        at += header.header_size + header.body_size;
        messages -= !header.is_command() && !header.has_more();
    }
    return {frames.data(), at};
}

error frame_queue::write_wire(byte_span frames, std::uint32_t messages) noexcept {
    for (; messages > most_messages; messages -= most_messages) {
        const byte_span first = first_messages(frames, most_messages);
        if (const error e = write_countable(first, most_messages); failed(e))
            return e;
        frames = frames.subspan(first.size());
    }
    return write_countable(frames, messages);
}

/// A chunk is larger than what is usual only where it is as large as what it is for: a segment in
/// it counts no more messages.
error frame_queue::write_countable(byte_span frames, std::uint32_t messages) noexcept {
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

error frame_queue::append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                          std::size_t owner_size) noexcept {
    for (; messages > most_messages; messages -= most_messages) {
        const byte_span first = first_messages(range, most_messages);
        if (const error e = append_countable(owner, first, most_messages, starts_message, owner_size);
            failed(e))
            return e;
        range = range.subspan(first.size());
        starts_message = true;
    }
    return append_countable(owner, range, messages, starts_message, owner_size);
}

/// Appends what one segment can count.
error frame_queue::append_countable(block *owner, byte_span range, std::uint32_t messages,
                                    bool starts_message, std::size_t owner_size) noexcept {
    if (range.empty())
        return error::none;
    const bool continues = owner && open_->owner == owner && open_->holds == content::frames &&
                           open_->info == info_ && open_->base + octets_of(written_) == range.data() &&
                           messages <= most_messages - messages_of(written_);
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
    // Only the last store makes anything visible: until the old tail is final nobody follows its
    // link.
    open_->committed.store(written_, std::memory_order_relaxed);
    segment *old_tail = std::exchange(tail_, open_);
    old_tail->committed.store(written_in_tail_ | final_bit, std::memory_order_release);
}

std::uint64_t frame_queue::roll_back() noexcept {
    const std::uint64_t published = tail_->committed.load(std::memory_order_relaxed);
    const std::uint64_t all = before_open_ + octets_of(written_);
    std::uint64_t gone = 0;
    for (segment *s = tail_; s; s = s == open_ ? nullptr : s->next) {
        const std::uint64_t begin = s == tail_ ? octets_of(published) : 0;
        const std::uint64_t end = octets_of(s == open_   ? std::uint64_t{written_}
                                            : s == tail_ ? written_in_tail_
                                                         : s->committed.load(std::memory_order_relaxed));
        if (has_references_)
            gone += s->drop_references(begin, end);
        gone += s->is_gap() ? 0 : end - begin;
    }
    if (open_ != tail_) {
        for (segment *s = tail_->next; s;) {
            segment *next = s->next;
            spare(s);
            s = next;
        }
        tail_->next = nullptr;
        open_ = tail_;
    }
    const bool has_forgotten = tail_->forget_kept_behind(octets_of(published));
    before_open_.move_to(all - gone - octets_of(published), octets_of(published),
                         [&] { written_ = published; });
    in_message_ = false;
    if (published == 0) {
        // Filled since the last publish: blank again.
        tail_->base = nullptr;
        tail_->last_kept.store(nullptr, std::memory_order_relaxed);
        if (block *owner = std::exchange(tail_->owner, nullptr))
            owner->release();
    }
    // Behind the published octets of a segment in the current chunk, and its records, there is
    // nothing but what goes.
    is_copying_ = false;
    if (copy_chunk_ && tail_->owner == copy_chunk_) {
        copy_cursor_ = copy_chunk_->data() + (tail_->base + octets_of(published) - copy_chunk_->data());
        if (std::uint8_t *const last = tail_->last_kept.load(std::memory_order_relaxed))
            copy_end_ = last;
        // set_info() may have come between. Records whose octets are gone must not hold up those
        // behind them.
        is_copying_ = tail_->info == info_ && !has_forgotten;
    }
    return gone;
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

/// Looks for octets behind head_octet_: loads the shared word, and steps into the next segment when
/// this one is done.
[[gnu::always_inline]] inline bool frame_queue::look() noexcept {
    for (;;) {
        if (!(seen_ & final_bit)) {
            seen_ = head_->committed.load(std::memory_order_acquire);
            if (head_octet_ != octets_of(seen_))
                return true;
            if (!(seen_ & final_bit)) {
                drop_taken();
                return false;
            }
        }
        step_to_next();
        if (head_octet_ != octets_of(seen_))
            return true;
    }
}

bool frame_queue::see_more() noexcept { return look(); }

/// Does see_more() for a consumer that takes frame by frame, which may stand off. One that fetches
/// each message as soon as it is published takes two cache lines from the producer each time. After
/// some microseconds without a look it finds hundreds of messages, in lines that the producer does
/// not write to any more.
bool frame_queue::see_stream() noexcept {
    if (__builtin_expect(looks_until_stand_off_ == 0, 0))
        return look_from_afar();
    std::uint32_t gained = 0;
    const bool is_found = look_for(gained);
    looks_until_stand_off_ -= is_little(gained);
    return is_found;
}

/// Stands off, and looks then. Where the producer has written no more than a few messages
/// meanwhile, twice as many looks pass before the next time.
bool frame_queue::look_from_afar() noexcept {
    patience::pause(pauses_of_stand_off);
    std::uint32_t gained = 0;
    const bool is_found = look_for(gained);
    const bool is_in_vain = gained < messages_of_stand_off && is_little(gained);
    if (!is_in_vain)
        stand_offs_in_vain_ = 0;
    else if (stand_offs_in_vain_ < most_stand_offs_in_vain)
        ++stand_offs_in_vain_;
    looks_until_stand_off_ = std::uint64_t{1} << stand_offs_in_vain_;
    return is_found;
}

/// look(); and how many messages it found, at least.
[[gnu::always_inline]] inline bool frame_queue::look_for(std::uint32_t &gained) noexcept {
    const segment *const looked_at = head_;
    const std::uint32_t known = messages_of(seen_);
    const bool is_found = look();
    gained = messages_of(seen_) - (head_ == looked_at ? known : 0);
    return is_found;
}

/// Whether a look that found so many messages was one from near.
inline bool frame_queue::is_little(std::uint32_t gained) const noexcept {
    return octets_of(seen_) - head_octet_ < octets_of_near || gained < 2;
}

void frame_queue::step_to_next() noexcept {
    if (head_ == gather_end_)
        gather_end_ = nullptr;
    head_->drop_kept(UINT64_MAX);
    const std::uint64_t counted = head_->is_gap() ? 0 : octets_of(seen_);
    head_ = head_->next;
    before_head_.move_to(before_head_ + counted, 0, [this] { head_octet_ = 0; });
    if (__builtin_expect(head_->is_gap(), 0))
        before_head_.stay();
    reported_in_head_ = 0;
    seen_ = head_->committed.load(std::memory_order_acquire);
    if (head_->starts_message || !is_gathering_)
        note_boundary();
    else if (--segments_until_walk_ == 0)
        find_boundary();
}

void frame_queue::note_boundary() noexcept {
    move_boundary_to({head_, head_octet_, reported_in_head_});
    reported_since_boundary_ = 0;
}

/// Segments are given back only when the boundary has passed them: from there the rest of a message
/// that was cut is found.
void frame_queue::move_boundary_to(const position &to) noexcept {
    while (boundary_.in != to.in) {
        segment *next = boundary_.in->next;
        give_back(boundary_.in);
        boundary_.in = next;
    }
    boundary_ = to;
    segments_until_walk_ = most_segments_inside;
}

/// Leaves a segment that is used up to the producer.
void frame_queue::give_back(segment *s) noexcept {
    s->let_go();
    const std::uint32_t count = given_back_.load(std::memory_order_relaxed);
    if (count - told_taken_.load(std::memory_order_relaxed) < most_segments_given_back) {
        last_given_back_ = s;
        given_back_.store(count + 1, std::memory_order_release);
    } else {
        // The producer follows this link only once another segment has been counted.
        last_given_back_->next = s->next;
        delete s;
    }
}

/// Drops what belonged to frames that have been taken.
void frame_queue::drop_taken() noexcept {
    if (head_octet_ > 0)
        head_->drop_kept(head_octet_);
    if (block *owner = std::exchange(referred_, nullptr))
        owner->release();
}

}  // namespace zlink
