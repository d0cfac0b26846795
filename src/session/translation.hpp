// Frames in the form that the wire of one peer has, on their way from a pipe to a stream.
//
// Copied:   small frames, one behind the other, and what stands in front of large bodies.
// Not:      a large body that stands on the wire as it is. It is listed where it is.
// Covered:  a large body that does not is encoded a slice at a time, when what came before has gone
//           out, so that no second copy of it is ever there; or all at once, where its framing says
//           so: into memory of the pool, which is listed like a body that stands there as it is.
// Memory:   bodies are kept alive by a reference. One that stands where its sender has it is copied
//           when the sender says so.
#pragma once

#include <cstdint>
#include <memory>
#include <sys/uio.h>
#include <utility>
#include <vector>

#include "core/debug_counters.hpp"
#include "memory/block.hpp"
#include "memory/chunk.hpp"
#include "pipe/frame_queue.hpp"
#include "zmtp/framing.hpp"

namespace zlink {

class translation {
public:
    /// Octets for one write, and what is more of the last body. They are out of the pipe: a
    /// connection that breaks takes them with it.
    static constexpr std::size_t batch = 64 * 1024;

    /// `pool` outlives it: bodies that are covered all at once go into its memory.
    explicit translation(chunk_pool &pool) noexcept : pool_(pool) {}

    bool is_empty() const noexcept { return copied_end() == 0 && bodies_.empty() && !is_covering(); }
    /// Nothing more should be put before some has gone out. It may be: what is put behind a body
    /// that goes out in slices makes a copy of it.
    bool is_full() const noexcept {
        return octets() >= (has_sealed() ? batch_of_sealed : batch) || is_covering();
    }
    /// Only copied frames are left: more may be put behind it, and goes out together with it.
    bool may_grow() const noexcept { return bodies_.empty() && !is_covering(); }
    /// A body goes out in slices.
    bool is_covering() const noexcept { return covered_.size > 0 || slice_size_ > 0; }
    /// That were put and have not gone out, but for those of a body that goes out in slices.
    std::size_t octets() const noexcept { return copied_end() - copied_gone_ + listed_bodies_; }
    /// Puts a message frame behind the rest. `is_in_place`: the body stands where its sender has
    /// it, and its owner is memory for a copy. Throws bad_alloc.
    void put(const framing &form, const frame_view &frame, bool is_in_place);
    /// Puts the small message frames that `in` begins with, as it stands in a queue, behind the
    /// rest, and takes them from there, as far as that is faster. Returns how many messages end in
    /// them. Throws bad_alloc.
    std::uint64_t put_small(const framing &form, byte_span &in);
    /// Whether the frame that was put last was one with more.
    bool is_in_message() const noexcept { return in_message_; }
    /// A frame is not put, since the message that it belongs to is dropped.
    void leave_out(const frame_view &frame) noexcept { in_message_ = frame.is_command() || frame.has_more(); }
    /// Octets that are appended here stand behind the rest; to be called while no body is covered.
    std::vector<std::uint8_t> &tail() noexcept {
        copied_.resize(copied_.size() - std::exchange(spare_, 0));
        return copied_;
    }

    struct listed {
        std::size_t ranges = 0;
        std::size_t octets = 0;
        bool is_all = true;                                    // that was put
        [[no_unique_address]] debug_counters::tally uncopied;  // ranges in a message's own memory
    };
    /// Lists what goes out next. Throws bad_alloc.
    listed list(std::span<iovec> ranges);
    /// The first octets of what was listed have gone out.
    void release(std::size_t octets) noexcept;
    /// Copies what is left of a body that stands where its sender has it.
    void copy_rest() noexcept;
    /// The messages of which nothing is left here. `form`: that of put_small().
    std::uint64_t messages_gone(const framing &form) noexcept;

private:
    static constexpr std::size_t uncopied_from = 8 * 1024;
    // A smaller covered body goes out together with others.
    static constexpr std::size_t sliced_from = 64 * 1024;
    // With sealed bodies: a write of one alone would end with little for the kernel to send.
    static constexpr std::size_t batch_of_sealed = 256 * 1024;
    static constexpr std::size_t most_octets_in_slice = 128 * 1024;
    static constexpr std::size_t least_marks = 4;
    static constexpr std::size_t most_marks_kept = 256;

    struct body {
        std::size_t at = 0;  // octets of copied_ in front of it
        const std::uint8_t *data = nullptr;
        std::size_t size = 0;
        std::size_t gone = 0;  // octets that were there before `data`
        block_ref owner;
        bool is_in_place = false;
        bool is_sealed = false;  // covered all at once

        void advance(std::size_t octets) noexcept;
        void copy_rest() noexcept;
    };
    /// Messages, and how many octets have gone out once these have.
    struct mark {
        std::uint64_t octets;
        std::uint32_t messages;
        std::uint32_t size;  // octets of small frames that go one by one, the last of them; or 0
    };
    /// The small frames of a mark of which some have gone.
    struct cut {
        std::uint64_t end;       // octets that have gone out once the frame under way has
        std::uint32_t messages;  // that have gone
        bool ends_message;       // the frame under way
    };

    bool has_sealed() const noexcept { return !bodies_.empty() && bodies_.back().is_sealed; }
    std::uint64_t octets_put() const noexcept;
    cut look_at_cut(const framing &form, const mark &of) const noexcept;
    void split_cut_mark(const framing &form);
    void put_frame(const framing &form, const frame_view &frame, bool is_in_place);
    bool make_room_for_mark() noexcept;
    void note_messages(const mark &more);
    void forget_marks() noexcept;
    std::size_t copied_end() const noexcept { return copied_.size() - spare_; }
    void forget_gone(const framing &form);
    void cover_at_once(const framing &form, body_cover how, const frame_view &frame);
    void cover_some();
    void cover_all();
    void release_slice(std::size_t octets) noexcept;

    chunk_pool &pool_;
    std::vector<std::uint8_t> copied_;
    std::size_t copied_gone_ = 0;
    // Octets at its end that are of no frame; they stay, since a vector that grows clears what it
    // adds.
    std::size_t spare_ = 0;
    std::vector<body> bodies_;
    std::size_t bodies_gone_ = 0;
    std::size_t listed_bodies_ = 0;  // octets
    // Behind all else: a slice as the wire has it, and what of the body is behind it
    std::unique_ptr<std::uint8_t[]> slice_;
    std::size_t slice_at_ = 0;
    std::size_t slice_size_ = 0;
    body covered_;
    const framing *form_ = nullptr;  // whose cover it is
    body_cover how_{};               // for what is left of it
    bool in_message_ = false;
    // One each of the messages that are here, in order, and of some that have gone.
    std::vector<mark> marks_;
    std::uint64_t octets_gone_ = 0;    // out, since the beginning
    std::uint64_t messages_gone_ = 0;  // up to where the marks begin
};

}  // namespace zlink
