// One frame is written to many pipes; see fan_out.hpp.
//
// Order:    pipes that come and go; which of them match and have room; writing: to one pipe, by
//           reference to all, again to those that lack the frame, and ranges of one chunk to all.
#include "pipe/fan_out.hpp"

#include <algorithm>
#include <utility>

#include "core/frame.hpp"
#include "pipe/copied_body.hpp"

namespace zlink {

namespace {
constexpr std::size_t first_chunk_size = 4096;
constexpr std::size_t largest_shared_chunk = 65536;
constexpr std::size_t own_chunk_from =
    8192;  // from here on a body is referenced, and a frame gets a chunk of its own
// pipes; with more, connections do not write on the sender's thread
constexpr std::size_t most_pipes_written_at_once = 4;
constexpr std::size_t settling = 1024;  // octets of a chunk before its own share counts
}  // namespace

fan_out::fan_out(std::shared_ptr<chunk_pool> pool, counters *counts, loss_events *owner) noexcept
    : pool_(std::move(pool)), counts_(counts), owner_(owner), next_size_(first_chunk_size) {}

fan_out::~fan_out() {
    if (open_)
        open_->release();
}

// ---- pipes ----

void fan_out::attach(pipe_end &pipe) {
    members_.push_back(member{&pipe});
    pipe.slot.fan_index = static_cast<std::uint32_t>(members_.size() - 1);
}

void fan_out::detach(pipe_end &pipe) noexcept {
    if (!has(pipe))
        return;
    pipe.roll_back();
    forget_untold(members_[pipe.slot.fan_index]);
    if (pipe.slot.fan_index < matching_) {
        if (in_message_)
            note_one_more(has_cut, cut_);
        unmatch(pipe.slot.fan_index);
    }
    swap(pipe.slot.fan_index, members_.size() - 1);
    members_.pop_back();
}

void fan_out::begin_peer(pipe_end &pipe) noexcept {
    if (!has(pipe))
        return;
    member &m = members_[pipe.slot.fan_index];
    forget_untold(m);
    if (!pipe.gaps().are_wanted() || pipe.is_conflating())
        return;
    note_owed(m);
    m.lost.add_unknown();
}

// ---- matches ----

void fan_out::invert_matches() noexcept {
    std::reverse(members_.begin(), members_.end());
    for (std::size_t i = 0; i < members_.size(); ++i)
        members_[i].pipe->slot.fan_index = static_cast<std::uint32_t>(i);
    matching_ = members_.size() - matching_;
}

bool fan_out::have_room() noexcept {
    return std::all_of(members_.begin(), members_.begin() + static_cast<std::ptrdiff_t>(matching_),
                       [](const member &m) { return m.pipe->has_credit(); });
}

void fan_out::arm_full() noexcept {
    for (std::size_t i = 0; i < matching_; ++i) {
        if (!members_[i].pipe->has_credit())
            members_[i].pipe->arm_writer();
    }
}

void fan_out::pass_over_full() noexcept {
    for (std::size_t i = 0; i < matching_;) {
        if (__builtin_expect(members_[i].pipe->has_credit(), 1)) {
            ++i;
            continue;
        }
        note_one_more(passes_over, passed_over_);
        owed_and_full_ += members_[i].lost.is_any() ? one_owed : 0;
        unmatch(i);
    }
}

/// The message has begun without these, which stand right behind those that match.
void fan_out::count_passed_over() noexcept {
    for (std::size_t i = matching_; i < matching_ + passed_over_; ++i) {
        pipe_end &pipe = *members_[i].pipe;
        pipe.note_drop();
        if (pipe.gaps().are_wanted())
            add_untold(members_[i]);
        if (owner_)
            owner_->on_passed_over(pipe);
    }
}

/// Counts, from 0 when the flag is not there yet.
void fan_out::note_one_more(std::size_t flag, std::size_t &count) noexcept {
    count = unusual_ & flag ? count + 1 : 1;
    unusual_ |= flag;
}

// ---- writing ----

error fan_out::write(byte_span body, bool more, block *owner, bool by_reference) noexcept {
    if (!in_message_)
        pass_over_full();
    const std::uint8_t flags = more ? frame_flag::more : 0;
    const error e = __builtin_expect(unusual_ != 0, 0) ? write_unusual(flags, body, owner, by_reference)
                                                       : write_to_matching(flags, body, owner, by_reference);
    if (failed(e))
        return e;
    in_message_ = more;
    if (more)
        return error::none;
    for (std::size_t i = 0; i < matching_; ++i)
        members_[i].pipe->publish(matching_ <= most_pipes_written_at_once);
    matching_ = 0;
    return error::none;
}

[[gnu::always_inline]] inline error fan_out::write_to_matching(std::uint8_t flags, byte_span body,
                                                               block *owner, bool by_reference) noexcept {
    if (matching_ == 1)
        return write_to_one(flags, body, owner, by_reference);
    if (matching_ > 1 && by_reference)
        return reference_in_all(flags, body, owner);
    if (matching_ > 1)
        return share_with_all(flags, body);
    if (members_.empty() && !in_message_)
        count(counter::dropped_no_peer);
    return error::none;
}

/// Memory was short, or some pipe had no room, or went, or is to be told what it has lost: those
/// that get this message are, in front of it.
[[gnu::noinline]] error fan_out::write_unusual(std::uint8_t flags, byte_span body, block *owner,
                                               bool by_reference) noexcept {
    error e;
    if (is_in_frame()) {
        e = write_to_rest(flags, body, owner, by_reference);
    } else {
        e = in_message_ ? error::none : begin_unusual();
        if (!failed(e))
            e = write_to_matching(flags, body, owner, by_reference);
        for (std::size_t i = 0; failed(e) && !in_message_ && i < matching_; ++i)
            members_[i].pipe->roll_back();
    }
    if (unusual_ & passes_over) {
        unusual_ &= ~passes_over;
        if (!failed(e))
            count_passed_over();
    }
    if (!failed(e) && !(flags & frame_flag::more))
        end_unusual();
    return e;
}

/// In front of a message: where all that are owed something were passed over, this is one like
/// others.
error fan_out::begin_unusual() noexcept {
    unusual_ &= ~has_told;
    if (std::exchange(owed_and_full_, 0) == (unusual_ & ~(one_owed - 1)))
        return error::none;
    error e = error::none;
    for (std::size_t i = 0; i < matching_ && !failed(e); ++i) {
        member &m = members_[i];
        if (!m.lost.is_any())
            continue;
        unusual_ |= has_told;
        e = m.lost.tell(*m.pipe);
    }
    return e;
}

error fan_out::untold::tell(pipe_end &pipe) noexcept {
    was_told_ = true;
    if (!pipe.gaps().are_wanted())
        return error::none;
    const error e = has_unknown_ ? pipe.gaps().write(0) : error::none;
    return messages_ > 0 && !failed(e) ? pipe.gaps().write(messages_) : e;
}

/// With the last frame of a message. A peer that has come since its first frame is still owed. The
/// message was on its way to those that have gone since then.
void fan_out::end_unusual() noexcept {
    if (unusual_ & has_cut) {
        unusual_ &= ~has_cut;
        count(counter::messages_sent, cut_);
        count(counter::dropped_peer_gone, cut_);
    }
    if (!(unusual_ & has_told))
        return;
    unusual_ &= ~has_told;
    for (std::size_t i = 0; i < matching_; ++i) {
        if (members_[i].lost.was_told())
            forget_untold(members_[i]);
    }
}

void fan_out::note_owed(member &m) noexcept {
    if (m.lost.is_any())
        return;
    unusual_ += one_owed;
    m.pipe->gaps().note_owed(true);
}

/// The pipe has no room for a message.
void fan_out::add_untold(member &m) noexcept {
    note_owed(m);
    m.lost.add();
}

void fan_out::forget_untold(member &m) noexcept {
    if (!m.lost.is_any())
        return;
    m.lost.forget();
    unusual_ -= one_owed;
    m.pipe->gaps().note_owed(false);
}

error fan_out::write_to_one(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept {
    pipe_end &pipe = *members_[0].pipe;
    if (__builtin_expect(by_reference, 0))
        return pipe.write_external(flags, block_ref::share(owner), body);
    count_copied_body(pipe, body.size());
    return pipe.write(flags, body);
}

error fan_out::reference_in_all(std::uint8_t flags, byte_span body, block *owner) noexcept {
    for (std::size_t i = 0; i < matching_; ++i) {
        if (failed(members_[i].pipe->write_external(flags, block_ref::share(owner), body)))
            return stop_at(i, flags, body.size());
    }
    return error::none;
}

/// There is no memory for one pipe.
error fan_out::stop_at(std::size_t at, std::uint8_t flags, std::size_t size) noexcept {
    for (std::size_t i = 0; i < at; ++i) {
        if (in_message_)
            members_[i].has_frame = true;
        else
            members_[i].pipe->roll_back();
    }
    unusual_ = (unusual_ & ~in_frame) | (in_message_ ? in_frame : 0);
    frame_flags_ = flags;
    frame_size_ = size;
    return error::no_memory;
}

/// Writes again after no_memory, to the pipes that lack the frame. Where the caller gives another
/// frame this time, those that have the first one lose the message.
error fan_out::write_to_rest(std::uint8_t flags, byte_span body, block *owner, bool by_reference) noexcept {
    const bool is_same = flags == frame_flags_ && body.size() == frame_size_;
    for (std::size_t i = matching_; !is_same && i-- > 0;) {
        member &m = members_[i];
        if (std::exchange(m.has_frame, false)) {
            m.pipe->roll_back();
            unmatch(i);
        }
    }
    frame_flags_ = flags;
    frame_size_ = body.size();
    for (std::size_t i = 0; i < matching_; ++i) {
        member &m = members_[i];
        if (m.has_frame)
            continue;
        const error e = by_reference ? m.pipe->write_external(flags, block_ref::share(owner), body)
                                     : m.pipe->write(flags, body);
        if (failed(e))
            return e;
        m.has_frame = true;
    }
    for (std::size_t i = 0; i < matching_; ++i)
        members_[i].has_frame = false;
    unusual_ &= ~in_frame;
    return error::none;
}

error fan_out::share_with_all(std::uint8_t flags, byte_span body) noexcept {
    encoded frame;
    if (!encode(flags, body, frame))
        return error::no_memory;
    count_copied_body(*members_[0].pipe, body.size());
    const std::uint32_t messages = flags & frame_flag::more ? 0 : 1;
    error e = error::none;
    for (std::size_t i = 0; i < matching_ && !failed(e); ++i) {
        pipe_end &pipe = *members_[i].pipe;
        const bool shares = frame.is_lone || note_octets(members_[i], frame.range.size());
        if (!shares)
            count_copied_body(pipe, body.size());
        e = shares ? pipe.append(frame.owner, frame.range, messages, !in_message_, frame.owner->capacity)
                   : pipe.write(flags, body);
        if (failed(e))
            e = stop_at(i, flags, body.size());
    }
    if (frame.is_lone)
        frame.owner->release();
    return e;
}

/// Puts a frame into the open chunk, or into one of its own when it is large. False when memory is
/// short.
bool fan_out::encode(std::uint8_t flags, byte_span body, encoded &out) noexcept {
    const std::size_t size = frame_header_size(body.size()) + body.size();
    std::uint8_t *at;
    if (size >= own_chunk_from) {
        out.owner = pool_->allocate(size);
        if (!out.owner)
            return false;
        out.is_lone = true;
        at = out.owner->data();
    } else {
        if (!open_ || open_->capacity - used_ < size) {
            chunk *fresh = pool_->allocate(std::max(size, next_size_));
            if (!fresh)
                return false;
            next_size_ = std::min(next_size_ * 2, largest_shared_chunk);
            if (open_)
                open_->release();
            open_ = fresh;
            used_last_ = used_;
            used_ = 0;
            ++serial_;
        }
        out.owner = open_;
        at = open_->data() + used_;
        used_before_ = used_;
        used_ += size;
    }
    out.range = {at, size};
    at = put_frame_header(at, body.size(), flags);
    if (!body.empty())
        std::memcpy(at, body.data(), body.size());
    return true;
}

/// Notes that a pipe gets `size` octets more. Whether it gets enough of the open chunk to share it.
bool fan_out::note_octets(member &m, std::size_t size) noexcept {
    if (m.chunk_serial != serial_) {
        m.was_dense = m.chunk_serial + 1 == serial_ && m.octets * 2 >= used_last_;
        m.chunk_serial = serial_;
        m.octets = 0;
    }
    const bool dense = used_before_ < settling ? m.was_dense : m.octets * 2 >= used_before_;
    m.octets += size;
    return dense;
}

}  // namespace zlink
