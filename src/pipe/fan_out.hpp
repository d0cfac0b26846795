// Sends each message to every pipe that matches, encoding it once however many there are.
//
// Flow:     clear_matches(), match() ..., then write() each frame; the last one publishes and
//           clears.
// Sharing:  with several matching pipes a frame is encoded into one chunk and the pipes get ranges
//           of it, which merge. A pipe shares only while it gets at least half of what goes into
//           the chunk; a sparse one gets copies, so that a small frame does not keep a large chunk
//           alive. With one matching pipe the frame is written into that pipe.
// Loss:     a pipe without room when a message begins is passed over for the whole of that message.
//           A far end that wants to know is told of such messages in front of the next that it
//           gets.
// Failure:  where memory is short for one pipe no pipe gets the frame. In the middle of a message
//           those that have it keep it: the same frame is to be written again, and goes to the
//           others.
// Threads:  the owner's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/counters.hpp"
#include "memory/chunk.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// Hears of a pipe without room that a message passes over, from the middle of the write.
class loss_events {
public:
    virtual void on_passed_over(pipe_end &pipe) noexcept = 0;

protected:
    ~loss_events() = default;
};

class fan_out {
public:
    /// Counts the messages that nobody is there for, and those whose peer goes before they are
    /// whole, unless `counts` is null. Each pipe counts those that it had no room for, and `owner`
    /// hears of them, unless it is null.
    explicit fan_out(std::shared_ptr<chunk_pool> pool, counters *counts = nullptr,
                     loss_events *owner = nullptr) noexcept;
    ~fan_out();
    fan_out(const fan_out &) = delete;
    fan_out &operator=(const fan_out &) = delete;

    /// A new pipe matches nothing until the next message.
    void attach(pipe_end &pipe);
    /// Removes a pipe that is no longer written to; takes back what was not published. One that is
    /// not there is ignored.
    void detach(pipe_end &pipe) noexcept;
    /// Another peer takes what goes into this pipe from here on: what the one before has not got,
    /// nobody counts for this one.
    void begin_peer(pipe_end &pipe) noexcept;
    bool has(pipe_end &pipe) const noexcept {
        const std::uint32_t at = pipe.slot.fan_index;
        return at < members_.size() && members_[at].pipe == &pipe;
    }
    /// The only pipe there is.
    pipe_end *only() const noexcept { return members_.size() == 1 ? members_[0].pipe : nullptr; }
    /// From this size on a body should be written by reference, if its memory allows that: as one
    /// of the pipes has it.
    std::size_t reference_threshold() const noexcept {
        return members_.empty() ? default_writev_threshold : members_[0].pipe->reference_threshold();
    }
    template <class Visit>
    void for_each(Visit &&visit) {
        for (const member &m : members_)
            visit(*m.pipe);
    }

    // ---- who gets the next message ----

    void clear_matches() noexcept { matching_ = 0; }
    void match(pipe_end &pipe) noexcept {
        const std::uint32_t at = pipe.slot.fan_index;
        if (at < matching_)
            return;
        // the same pipes as last time stand in order already
        if (__builtin_expect(at != matching_, 0))
            swap(at, matching_);
        ++matching_;
    }
    void match_all() noexcept { matching_ = members_.size(); }
    /// Those that match do not, and the others do.
    void invert_matches() noexcept;
    std::size_t matching() const noexcept { return matching_; }
    /// Whether all that match have room.
    bool have_room() noexcept;
    /// Arms those that match and have no room; then run heavy_fence() and look at have_room()
    /// again.
    void arm_full() noexcept;

    // ---- writing ----

    /// Writes one frame of a message, `by_reference` to a body in `owner`'s memory (null: it lives
    /// for ever). After no_memory it is to be written again.
    error write(byte_span body, bool more, block *owner, bool by_reference) noexcept;

private:
    /// The messages that a pipe has lost and its far end is to be told of.
    class untold {
    public:
        bool is_any() const noexcept { return has_unknown_ || messages_ > 0; }
        void add() noexcept { messages_ += messages_ < UINT32_MAX; }
        void add_unknown() noexcept { has_unknown_ = true; }
        /// In front of the message that is under way.
        error tell(pipe_end &pipe) noexcept;
        /// Whether that was told. Of what has come since nothing was.
        bool was_told() const noexcept { return was_told_; }
        void forget() noexcept { *this = {}; }

    private:
        std::uint32_t messages_ = 0;
        bool has_unknown_ = false;  // and so many more of which nobody knows the number
        bool was_told_ = false;
    };
    struct member {
        pipe_end *pipe;
        std::uint64_t chunk_serial = 0;  // the chunk that the octets below are about
        std::size_t octets = 0;          // of what went into that chunk, how much was for this pipe
        [[no_unique_address]] untold lost = {};
        bool was_dense = false;  // shared to the end of the chunk before
        bool has_frame = false;  // that others of the message still lack
    };
    struct encoded {
        chunk *owner = nullptr;
        byte_span range;
        bool is_lone = false;  // has the chunk to itself
    };

    void swap(std::size_t a, std::size_t b) noexcept {
        std::swap(members_[a], members_[b]);
        members_[a].pipe->slot.fan_index = static_cast<std::uint32_t>(a);
        members_[b].pipe->slot.fan_index = static_cast<std::uint32_t>(b);
    }
    void count(counter what, std::uint64_t more = 1) noexcept {
        if (counts_)
            counts_->add(what, more);
    }
    void note_one_more(std::size_t flag, std::size_t &count) noexcept;
    void unmatch(std::size_t at) noexcept { swap(at, --matching_); }
    void pass_over_full() noexcept;
    void count_passed_over() noexcept;
    bool is_in_frame() const noexcept { return unusual_ & in_frame; }
    error write_to_matching(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept;
    error write_unusual(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept;
    error begin_unusual() noexcept;
    void end_unusual() noexcept;
    void note_owed(member &m) noexcept;
    void add_untold(member &m) noexcept;
    void forget_untold(member &m) noexcept;
    error write_to_one(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept;
    error reference_in_all(std::uint8_t flags, byte_span body, block *owner) noexcept;
    error share_with_all(std::uint8_t flags, byte_span body) noexcept;
    error stop_at(std::size_t at, std::uint8_t flags, std::size_t size) noexcept;
    error write_to_rest(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept;
    bool encode(std::uint8_t flags, byte_span body, encoded &out) noexcept;
    bool note_octets(member &m, std::size_t size) noexcept;

    std::shared_ptr<chunk_pool> pool_;
    counters *const counts_;
    loss_events *const owner_;
    std::vector<member> members_;  // those that match come first
    std::size_t matching_ = 0;
    bool in_message_ = false;
    // in_frame: some that match have it, others lack it: memory was short. has_told: some were told
    // of messages in front of this one. passes_over: the message that begins goes past some that
    // have no room. has_cut: some have gone in the middle of it. And one_owed for each pipe that is
    // to be told what it has lost.
    static constexpr std::size_t in_frame = 1;
    static constexpr std::size_t has_told = 2;
    static constexpr std::size_t passes_over = 4;
    static constexpr std::size_t has_cut = 8;
    static constexpr std::size_t one_owed = 16;
    std::size_t unusual_ = 0;
    std::size_t passed_over_ = 0;    // with passes_over, how many
    std::size_t cut_ = 0;            // with has_cut, how many
    std::size_t owed_and_full_ = 0;  // one_owed for each of these that this message has passed over
    std::uint8_t frame_flags_ = 0;
    std::size_t frame_size_ = 0;

    chunk *open_ = nullptr;        // where frames are encoded; one reference
    std::size_t used_ = 0;         // octets of open_
    std::size_t used_before_ = 0;  // the same, before the frame being written
    std::size_t used_last_ = 0;    // octets of the chunk before
    std::uint64_t serial_ = 0;     // counts chunks
    std::size_t next_size_;
};

}  // namespace zlink
