// The one queue: frames in wire form, in reference-counted chunks, from one producer to one
// consumer.
//
// Flow:     the producer writes frames and publishes when the last frame of a message is in; the
//           consumer never sees part of a message. It either parses frames (a socket) or gathers
//           ranges for a gathered write (a connection).
// Layout:   a list of segments, each a range of octets in one block. Whole frames only, with one
//           exception: a body kept in memory of its own is the whole of the segment behind the one
//           that ends with its header.
// Lent:     where that is more work than a copy, a small body is copied behind its header, and its
//           memory kept until those octets have been taken. Records of that grow down from the end
//           of the chunk whose frames grow up.
// Gaps:     what is said of messages that are missing is a segment of its own, in memory of its
//           own, in the form that the wire has for it. Its octets do not count: it takes no room by
//           a mark.
// Refers:   where bodies need not stand apart, a body kept in memory of its own is a frame with a
//           reference instead.
// Publish:  one store to `committed` of the segment that was open. Segments written since are
//           linked behind it before, and the store also says that the segment is final, so the
//           consumer follows the link only when it is complete.
// Threads:  producer functions on one thread, consumer functions on another. Nothing else is safe.
// Reuse:    a segment that is used up stays linked where it is. The consumer counts them, and the
//           producer makes new ones of the oldest, but never of the last. Where very many wait for
//           that, the consumer gives further ones back to the heap.
// Writes:   the consumer, too, into frames that the queue copied: an octet of each cache line, when
//           it takes them (decision 0011).
// Owns:     one reference to the block of each segment.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <sys/uio.h>

#include "core/bytes.hpp"
#include "core/debug_counters.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/peer_info.hpp"
#include "memory/block.hpp"
#include "memory/chunk.hpp"
#include "pipe/account.hpp"

namespace zlink {

/// One frame as the consumer sees it; valid until the consumer's next call on the same queue.
struct frame_view {
    const std::uint8_t *data = nullptr;
    std::size_t size = 0;
    std::uint8_t flags = 0;  // frame_flag::more and frame_flag::command
    // keeps `data` alive when retained; null when that is constant or the caller's
    block *owner = nullptr;
    std::size_t owner_size = 0;  // octets that a reference to owner would pin
    peer_info *info = nullptr;   // the peer it came from, when known
    // set when the body has `owner` to itself: the receiver may take that reference (and leave
    // null), so that the memory goes as soon as the receiver is done with it
    block **lone_owner = nullptr;

    byte_span body() const noexcept { return {data, size}; }
    bool has_more() const noexcept { return flags & frame_flag::more; }
    bool is_command() const noexcept { return flags & frame_flag::command; }
};

/// The one frame of a small message, as the consumer sees it.
struct short_frame {
    const std::uint8_t *data;
    std::size_t size;
    block *owner;
    std::size_t owner_size;
    peer_info *info;
};

class frame_queue {
public:
    /// The place of bodies that are not copied.
    enum class bodies : std::uint8_t {
        apart,        // as segments of their own, which can be gathered, and copied later
        referred_to,  // a frame refers to them: the consumer only reads
    };

    /// To copy a body of so many octets is less work than to gather it.
    static constexpr std::uint16_t most_octets_copied_external = 2048;
    /// Between sockets a copied body of so many octets has a block of its own. The queue's chunk
    /// would stay with the producer until it needs the next one: each side would have two under
    /// way, and the bodies of a conversation would not fit into the caches.
    static constexpr std::size_t own_block_from = chunk_pool::largest_kept + 1;

    /// `first_chunk`: octets of the memory that a quiet queue keeps; a busy one takes more.
    /// `copied_external`: the largest body that write_external() copies where they stand apart.
    /// Throws bad_alloc.
    explicit frame_queue(std::shared_ptr<chunk_pool> pool, std::size_t first_chunk = 128,
                         bodies where = bodies::apart,
                         std::uint16_t copied_external = most_octets_copied_external);
    ~frame_queue();
    frame_queue(const frame_queue &) = delete;
    frame_queue &operator=(const frame_queue &) = delete;

    // ---- producer ----

    /// Writes one frame, copying the body. `flags`: more, command. no_memory leaves the message as
    /// it was before the call.
    error write(std::uint8_t flags, byte_span body) noexcept;
    /// Writes one frame whose body stays in `owner`'s memory (a null owner: memory that lives for
    /// ever).
    error write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    /// Writes one frame, the last of a message, whose body stays where it is until what is left of
    /// it is copied into `memory`, of as many octets. Only in a queue whose bodies stand apart.
    error write_in_place(byte_span body, chunk *memory) noexcept;
    /// Memory for that; null when it is short.
    chunk *memory_for_copy(std::size_t octets) noexcept { return pool_->allocate(octets); }
    /// Copies what the consumer has left of the body written last, so that its own memory is free.
    /// Nothing was written since, all is published, and the consumer does nothing meanwhile.
    void copy_rest() noexcept;
    /// Whether write_external() copies a body of so many octets, and keeps its owner until the copy
    /// has been taken.
    bool copies_external(std::size_t octets) const noexcept {
        return bodies_ == bodies::apart && octets <= copied_external_;
    }
    /// Appends whole frames that already are in wire form inside `owner`: `messages` of them end in
    /// this range, and when it is not 0 the last frame is the end of one. The range merges with the
    /// one before when it continues it. `starts_message` is false inside a message. `owner_size`:
    /// octets of `owner`, when it is more than the range. After a failure a part of very many
    /// messages may be in, to be rolled back.
    error append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                 std::size_t owner_size = 0) noexcept;
    /// Copies whole frames that already are in wire form: `messages` as for append().
    error write_wire(byte_span frames, std::uint32_t messages) noexcept;
    /// The largest body that goes the short ways.
    static constexpr std::size_t longest_short = 16 * 1024 - 1;
    /// A message of one small frame, written and published at once. False, and nothing done, unless
    /// that is a matter of some octets behind the last message.
    bool write_short(byte_span body) noexcept;
    /// Says, in front of the next message, that so many are missing there, 0: nobody knows how
    /// many. What is said more than once in front of that message is one. A message has to follow
    /// before publish(). `tag`: see take_gaps().
    error write_gap(std::uint64_t lost, std::uint8_t tag) noexcept;
    /// Makes everything written visible to the consumer. Call between messages only.
    void publish() noexcept;
    /// Forgets everything written since the last publish. Returns its octets.
    std::uint64_t roll_back() noexcept;
    bool has_unpublished() const noexcept;
    /// The octets of all frames written, published or not, but for those rolled back: as on the
    /// wire, wherever their bodies are. Any thread.
    std::uint64_t octets_written() const noexcept {
        return before_open_.with([this] { return octets_of(written_.look()); });
    }
    /// The consumer has taken all there was, and not much: the next chunk need not be large.
    void expect_little() noexcept {
        if (next_chunk_size_ > chunk_size_for_little || given_back_seen_ - taken_back_ > segments_for_little)
            prepare_for_little();
    }
    /// The peer that frames written from now on come from; adds a reference.
    void set_info(peer_info *info) noexcept;

    // ---- consumer ----

    /// The octets of all frames that were taken or released, or dropped, as octets_written() counts
    /// them. Any thread.
    std::uint64_t octets_taken() const noexcept {
        return before_head_.with([this] { return head_octet_.look(); });
    }
    /// Takes the next frame. False when nothing more is published.
    bool read(frame_view &out) noexcept;
    /// Whether the body that was read last stands where its writer has it, and its owner is memory
    /// for a copy.
    bool has_read_in_place() const noexcept { return head_->holds == content::body_in_place; }
    /// Takes the next frame if it is a message of one small frame. False, and nothing taken,
    /// otherwise.
    bool read_short(short_frame &out) noexcept;
    /// The frame that read_short() would take.
    bool peek_short(short_frame &out) noexcept;
    /// The next frame if it was seen before, is all of a message, and has at most 255 octets. Calls
    /// nothing.
    bool peek_at_once(short_frame &out) const noexcept;
    /// Takes it if it has no more than `capacity` octets. False, and nothing taken, otherwise.
    bool read_at_once(short_frame &out, std::size_t capacity) noexcept;
    /// Whether a frame is published and not taken.
    bool has_input() noexcept;
    /// Whether what read() would take next is a command.
    bool has_command() noexcept { return has_input() && (head_->base[head_octet_] & frame_flag::command); }
    /// Copies the body of a message that is not taken, and stands at `body` in nobody's memory, if
    /// there is one. False when memory is short.
    [[nodiscard]] bool own_body(const std::uint8_t *body) noexcept;
    /// Whether a frame is published and not taken, as far as a look at one place tells. The frame
    /// read last stays valid.
    bool shows_more() const noexcept {
        return head_octet_ != octets_of(head_->committed.load(std::memory_order_relaxed));
    }
    /// Chooses the gaps that gather() lists: all, none, or by a tag, which is neither of these two.
    /// To a consumer of those of one tag the number of any other is not known. One that reads gets
    /// all as they are, and may ask has_read_gap_of_tag().
    static constexpr std::uint8_t all_gaps = 0;
    static constexpr std::uint8_t no_gaps = 1;
    void take_gaps(std::uint8_t which) noexcept { gaps_taken_ = which; }
    bool has_read_gap_of_tag() const noexcept { return head_->gap_tag == gaps_taken_; }
    /// The producer is another thread for good, which writes message by message: read() and the
    /// short ways may leave it alone for a moment when they find little.
    void stand_off() noexcept { looks_until_stand_off_ = 1; }

    struct gathered {
        std::size_t ranges = 0;
        std::size_t octets = 0;
        bool ends_message = true;  // the last octet listed is the last one of a message
        [[no_unique_address]] debug_counters::tally uncopied;  // ranges in a message's own memory
    };
    /// Lists what is published, from the first octet not released, in up to `limit` ranges and
    /// about `max_octets`: the last message listed may go beyond.
    gathered gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept;
    /// From the first octet not released to the first end of a message: 0 between messages.
    /// `since_end`: octets released since an end that the caller knows, so that most often no frame
    /// in front of it is looked at again.
    std::uint64_t octets_to_message_end(std::uint64_t since_end) noexcept;
    /// The frames that read() comes to next, as far as they stand one behind the other. Where
    /// bodies stand apart, the last may be a header alone. Empty where there are none.
    byte_span peek_run() noexcept {
        return head_octet_ == octets_of(seen_) && !see_stream()
                   ? byte_span{}
                   : byte_span{head_->base + head_octet_, octets_of(seen_) - head_octet_};
    }
    /// Takes whole frames of these, as read() would.
    void read_run(std::size_t octets) noexcept {
        is_gathering_ = false;
        head_octet_ += octets;
    }
    /// Gives back the first `octets` of what is published, after they were written out. Returns the
    /// messages known to have ended since the last call: exact once everything gathered is
    /// released, never too many. Adds the octets that were those of gaps to `of_gaps`.
    std::uint32_t release(std::size_t octets, std::uint64_t *of_gaps = nullptr) noexcept;
    struct dropped {
        // that ended and were not reported by release(), the cut one included
        std::uint32_t messages = 0;
        std::uint64_t octets = 0;
        bool has_cut_one = false;  // released in part; the others went out whole

        friend constexpr bool operator==(const dropped &, const dropped &) = default;
    };
    /// After a broken write: drops the rest of a message of which some octets were released. Does
    /// nothing when read() was called last.
    dropped drop_cut_message() noexcept;

private:
    // `committed` holds what the consumer may see of a segment: is it final, how many messages end
    // in it, how many octets.
    static constexpr std::uint64_t final_bit = std::uint64_t{1} << 63;
    static constexpr unsigned message_shift = 40;
    static constexpr std::uint64_t octet_mask = (std::uint64_t{1} << message_shift) - 1;
    static constexpr std::uint32_t most_messages = (1u << 23) - 1;
    static constexpr std::uint64_t octets_of(std::uint64_t committed) noexcept {
        return committed & octet_mask;
    }
    static constexpr std::uint32_t messages_of(std::uint64_t committed) noexcept {
        return static_cast<std::uint32_t>(committed >> message_shift & most_messages);
    }
    static constexpr std::uint64_t one_message = std::uint64_t{1} << message_shift;

    /// The things that a segment may hold. The bodies are lone ones, each in memory of its own.
    enum class content : std::uint8_t {
        frames,
        // Their memory goes back to the producer, who copied them: nobody else looks at one before
        // it is taken.
        returned_frames,
        body,
        body_in_place,  // where its writer has it: `owner` is memory for a copy
        body_moved,     // was in place, and what was left of it is in `owner`
    };
    struct segment {
        std::atomic<std::uint64_t> committed{0};
        // The consumer looks at the rest for each frame, while the producer writes the word above
        // for each message. The octets of a gap stand in between.
        std::uint8_t gap_frames[48];
        // The last record of kept memory, for the consumer to see before the octets.
        std::atomic<std::uint8_t *> last_kept{nullptr};
        const std::uint8_t *base = nullptr;
        block *owner = nullptr;
        std::size_t owner_size = 0;
        peer_info *info = nullptr;
        segment *next = nullptr;  // written before the committed store that says final
        // The first record not dropped; written before last_kept, then the consumer's.
        const std::uint8_t *next_kept = nullptr;
        bool starts_message = true;
        // Written while the consumer may be here already, which looks at it behind octets only
        content holds = content::frames;
        std::uint8_t gap_tag = no_gap;  // of a gap; written before the consumer comes here

        static constexpr std::uint8_t no_gap = 0;
        bool is_gap() const noexcept { return gap_tag != no_gap; }
        bool is_lone_body() const noexcept { return holds >= content::body; }
        void drop_kept(std::uint64_t up_to) noexcept {
            if (__builtin_expect(last_kept.load(std::memory_order_acquire) != nullptr, 0))
                drop_kept_before(up_to);
        }
        void drop_kept_before(std::uint64_t octet) noexcept;
        bool forget_kept_behind(std::uint64_t octet) noexcept;
        std::uint64_t drop_references(std::uint64_t from, std::uint64_t to) const noexcept;
        void let_go() noexcept;
    };
    /// Memory to be dropped once the octets before `end` have been taken. The first of a segment
    /// has none.
    struct kept {
        std::uint64_t end = 0;
        block *owner = nullptr;
    };
    /// A frame that refers to a body holds this instead; the frame has this flag and a short
    /// header.
    struct reference {
        const std::uint8_t *data;
        std::size_t size;
        block *owner;

        /// The octets that the frame would have on the wire, more than here.
        std::uint64_t octets_elsewhere() const noexcept;
    };
    static constexpr std::uint8_t reference_flag = 0x80;
    static_assert(reference_flag & frame_flag::reserved);
    struct position {
        segment *in = nullptr;
        std::uint64_t octet = 0;
        std::uint32_t messages = 0;  // that end in this segment before it
    };

    static constexpr std::size_t chunk_size_for_little = 1024;
    static constexpr std::uint32_t segments_for_little = 8;
    /// When each of so many segments in a row starts inside a message, a consumer that gathers
    /// looks for the end of one.
    static constexpr unsigned most_segments_inside = 8;

    // producer
    error write_block(std::uint8_t flags, byte_span body) noexcept;
    error write_slow(std::uint8_t flags, byte_span body) noexcept;
    segment *make_segment() noexcept;
    bool begin_segment(block *owner, std::size_t owner_size, const std::uint8_t *base) noexcept;
    void fill_segment(segment *s, block *owner, std::size_t owner_size, const std::uint8_t *base) noexcept;
    void link_segment(segment *s, block *owner, std::size_t owner_size, const std::uint8_t *base) noexcept;
    bool reserve_copy(std::size_t need) noexcept;
    error write_reference(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    void keep(const kept &record) noexcept;
    error write_kept(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    error write_apart(std::uint8_t flags, block_ref owner, byte_span body, content what) noexcept;
    error write_countable(byte_span frames, std::uint32_t messages) noexcept;
    error append_countable(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                           std::size_t owner_size) noexcept;
    void publish_chain() noexcept;
    void prepare_for_little() noexcept;
    bool may_reuse() noexcept;
    segment *reuse() noexcept;
    void spare(segment *s) noexcept;
    void note_frame(std::uint8_t flags, std::size_t octets) noexcept {
        written_ += octets + messages_in(flags);
        if (!(flags & frame_flag::command))
            in_message_ = flags & frame_flag::more;
    }
    static constexpr std::uint64_t messages_in(std::uint8_t flags) noexcept {
        return flags & (frame_flag::more | frame_flag::command) ? 0 : one_message;
    }

    // consumer
    void begin_gathering() noexcept;
    bool look() noexcept;
    bool see_more() noexcept;
    bool see_stream() noexcept;
    bool look_from_afar() noexcept;
    bool look_for(std::uint32_t &gained) noexcept;
    bool is_little(std::uint32_t gained) const noexcept;
    void step_to_next() noexcept;
    void note_boundary() noexcept;
    void move_boundary_to(const position &to) noexcept;
    void find_boundary() noexcept;
    static bool pass_frame(position &at, frame_header &header) noexcept;
    dropped find_message_end(position &at) const noexcept;
    void give_back(segment *s) noexcept;
    void write_each_cache_line(const std::uint8_t *frame, std::size_t octets) noexcept;
    bool read_lone_body(frame_view &out, std::uint8_t flags, std::uint64_t size) noexcept;
    bool read_reference(frame_view &out) noexcept;
    void drop_taken() noexcept;
    void look_at_gap(segment &s) noexcept;

    // Producer only: two cache lines.
    alignas(64) segment *tail_;  // the last segment the consumer knows
    segment *spare_ = nullptr;   // a few that were taken back before the consumer saw them
    std::uint8_t spare_count_ = 0;
    // Facts of memory, of messages and of the past, each of which may hold without the others
    bool is_copying_ = false;  // open_ ends at copy_cursor_ and can grow
    bool in_message_ = false;
    bool has_references_ = false;  // one was written once
    const bodies bodies_;
    const std::uint16_t copied_external_;
    segment *oldest_;  // the first one that is not used again: all from here to tail_ are linked
    std::uint32_t given_back_seen_ = 0;  // the count below as last looked at; the last digits, as
    std::uint32_t taken_back_ = 0;       // of these, used again or freed; few are neither
    // where frames go; tail_, or the end of the unpublished chain behind it
    segment *open_;
    single_writer written_;  // of open_, in the form of `committed`
    octets_before before_open_;
    std::uint64_t written_in_tail_ = 0;  // the same of tail_, once there is a chain behind it
    chunk *copy_chunk_ = nullptr;        // where copied frames go; one reference
    std::uint8_t *copy_cursor_ = nullptr;
    std::uint8_t *copy_end_ = nullptr;
    std::shared_ptr<chunk_pool> pool_;
    std::size_t next_chunk_size_;
    peer_info *info_ = nullptr;

    // Consumer only: two cache lines, with what is shared.
    alignas(64) segment *head_;
    single_writer head_octet_;
    octets_before before_head_;
    std::uint64_t seen_ = 0;  // committed of head_ as last loaded
    // messages that end in head_ and were reported by release()
    std::uint32_t reported_in_head_ = 0;
    std::uint8_t stand_offs_in_vain_ = 0;  // in a row
    // the last call was not read(): the counts of what gather() listed are kept
    bool is_gathering_ = false;
    std::uint8_t gaps_taken_ = all_gaps;
    block *referred_ = nullptr;  // of the reference read last, unless the receiver took it
    // A position at or before head_octet_ known to be between messages: memory is kept from here
    // on, and walks to the end of a message begin here.
    position boundary_;
    std::uint32_t reported_since_boundary_ = 0;  // by release()
    // that start inside a message, to be stepped into
    unsigned segments_until_walk_ = most_segments_inside;
    // The list that gather() made last.
    segment *gather_end_ = nullptr;  // the segment it stopped in
    std::uint64_t gather_end_committed_ = 0;
    static constexpr std::size_t far_from_end = SIZE_MAX;
    // octets not released; from far_from_end down if it ended inside a message
    std::size_t gather_left_ = 0;
    // that find little; never without stand_off()
    std::uint64_t looks_until_stand_off_ = UINT64_MAX;
    segment *last_given_back_ = nullptr;  // before boundary_; never used again before another one

    // Shared, atomic. Looked at when segments change hands only.
    // segments the consumer is done with; written by the consumer
    std::atomic<std::uint32_t> given_back_{0};
    std::atomic<std::uint32_t> told_taken_{0};  // taken_back_, for the consumer
};

inline std::uint64_t frame_queue::reference::octets_elsewhere() const noexcept {
    return frame_header_size(size) + size - (short_header_size + sizeof(reference));
}

inline error frame_queue::write(std::uint8_t flags, byte_span body) noexcept {
    const std::size_t need = frame_header_size(body.size()) + body.size();
    if (__builtin_expect(!is_copying_ || static_cast<std::size_t>(copy_end_ - copy_cursor_) < need, 0))
        return write_slow(flags, body);
    std::uint8_t *at = put_frame_header(copy_cursor_, body.size(), flags);
    if (!body.empty())
        std::memcpy(at, body.data(), body.size());
    copy_cursor_ += need;
    note_frame(flags, need);
    return error::none;
}

[[gnu::always_inline]] inline bool frame_queue::write_short(byte_span body) noexcept {
    const std::size_t need = frame_header_size(body.size()) + body.size();
    if (__builtin_expect(body.size() > longest_short || !is_copying_ || open_ != tail_ ||
                             static_cast<std::size_t>(copy_end_ - copy_cursor_) < need,
                         0))
        return false;
    copy_body(put_frame_header(copy_cursor_, body.size(), 0), body.data(), body.size());
    copy_cursor_ += need;
    const std::uint64_t written = written_ + one_message + need;
    written_ = written;
    tail_->committed.store(written, std::memory_order_release);
    return true;
}

inline void frame_queue::publish() noexcept {
    if (__builtin_expect(open_ != tail_, 0))
        publish_chain();
    else
        tail_->committed.store(written_, std::memory_order_release);
}

inline bool frame_queue::has_unpublished() const noexcept {
    return open_ != tail_ || written_ != tail_->committed.load(std::memory_order_relaxed);
}

inline bool frame_queue::read(frame_view &out) noexcept {
    std::uint64_t at = head_octet_;
    if (__builtin_expect(at == octets_of(seen_), 0)) {
        if (!see_stream())
            return false;
        at = head_octet_;
    }
    const std::uint8_t *p = head_->base + at;
    std::size_t header = short_header_size;
    std::uint64_t size = p[1];
    if (__builtin_expect(p[0] & (frame_flag::large | reference_flag), 0)) {
        if (p[0] & reference_flag)
            return read_reference(out);
        header = long_header_size;
        size = get_u64(p + 1);
    }
    is_gathering_ = false;
    const std::uint8_t flags = p[0] & (frame_flag::more | frame_flag::command);
    if (__builtin_expect(at + header + size > octets_of(seen_), 0))
        return read_lone_body(out, flags, size);
    write_each_cache_line(p, header + size);
    out.data = p + header;
    out.size = size;
    out.flags = flags;
    out.owner = head_->owner;
    out.owner_size = head_->owner_size;
    out.info = head_->info;
    out.lone_owner = nullptr;
    head_octet_ = at + header + size;
    return true;
}

[[gnu::always_inline]] inline bool frame_queue::peek_short(short_frame &out) noexcept {
    std::uint64_t at = head_octet_;
    if (__builtin_expect(at == octets_of(seen_), 0)) {
        if (!see_stream())
            return false;
        at = head_octet_;
    }
    const std::uint8_t *p = head_->base + at;
    const bool is_large = p[0] == frame_flag::large;
    const std::size_t header = is_large ? long_header_size : short_header_size;
    const std::uint64_t size = is_large ? get_u64(p + 1) : p[1];
    if (__builtin_expect((p[0] != 0 && !is_large) || size > longest_short || is_gathering_ ||
                             at + header + size > octets_of(seen_),
                         0))
        return false;
    out = {p + header, size, head_->owner, head_->owner_size, head_->info};
    return true;
}

[[gnu::always_inline]] inline bool frame_queue::read_short(short_frame &out) noexcept {
    if (!peek_short(out))
        return false;
    const std::uint64_t at = head_octet_;
    const std::uint64_t end = static_cast<std::uint64_t>(out.data - head_->base) + out.size;
    write_each_cache_line(head_->base + at, end - at);
    head_octet_ = end;
    return true;
}

[[gnu::always_inline]] inline bool frame_queue::peek_at_once(short_frame &out) const noexcept {
    const std::uint64_t at = head_octet_;
    const std::uint64_t octets = octets_of(seen_) - at;
    if (__builtin_expect(octets == 0 || is_gathering_, 0))
        return false;
    const std::uint8_t *p = head_->base + at;
    const std::size_t size = p[1];
    out = {p + short_header_size, size, head_->owner, head_->owner_size, head_->info};
    return __builtin_expect(p[0] == 0 && short_header_size + size <= octets, 1);
}

[[gnu::always_inline]] inline bool frame_queue::read_at_once(short_frame &out,
                                                             std::size_t capacity) noexcept {
    if (!peek_at_once(out) || __builtin_expect(out.size > capacity, 0))
        return false;
    head_octet_ = static_cast<std::uint64_t>(out.data - head_->base) + out.size;
    write_each_cache_line(out.data - short_header_size, short_header_size + out.size);
    return true;
}

/// Writes to each cache line that begins in a frame what is there. A line that this processor has
/// only read, the producer's processor can write again no sooner than it has heard that the copy
/// here is gone, and it asks for a few lines at a time. One that was written here it fetches as it
/// fetches any other, ahead of the writes.
[[gnu::always_inline]] inline void frame_queue::write_each_cache_line(const std::uint8_t *frame,
                                                                      std::size_t octets) noexcept {
    constexpr std::uintptr_t line = 64;
    if (head_->holds != content::returned_frames)
        return;
    const auto begin = reinterpret_cast<std::uintptr_t>(frame);
    for (std::uintptr_t at = (begin + line - 1) & ~(line - 1); at < begin + octets; at += line) {
        auto *const octet = reinterpret_cast<volatile std::uint8_t *>(at);
        *octet = *octet;
    }
}

inline bool frame_queue::has_input() noexcept { return head_octet_ != octets_of(seen_) || see_more(); }

}  // namespace zlink
