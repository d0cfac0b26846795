// Frames of the queue in the form that the wire has. See translation.hpp.
//
// Map: bodies apart; frames put in, behind a rest that is moved; covering, slice by slice; what is
//      listed, and released when written.
#include "session/translation.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace zlink {

void translation::body::advance(std::size_t octets) noexcept {
    data += octets;
    size -= octets;
    gone += octets;
}

void translation::body::copy_rest() noexcept {
    if (!std::exchange(is_in_place, false))
        return;
    std::uint8_t *const own = static_cast<chunk *>(owner.get())->data() + gone;
    std::memcpy(own, data, size);
    data = own;
}

/// Since the beginning, but for what goes in front of the rest of a body that goes out in slices.
std::uint64_t translation::octets_put() const noexcept {
    const std::size_t of_bodies =
        listed_bodies_ - (bodies_gone_ < bodies_.size() ? bodies_[bodies_gone_].gone : 0);
    return octets_gone_ + copied_end() - copied_gone_ + of_bodies + slice_size_ + covered_.size;
}

/// False when memory is short.
bool translation::make_room_for_mark() noexcept {
    if (marks_.size() < marks_.capacity())
        return true;
    forget_marks();
    try {
        if (marks_.size() >= marks_.capacity() / 2)
            marks_.reserve(std::max(least_marks, 2 * marks_.capacity()));
        return true;
    } catch (const std::bad_alloc &) {
        return marks_.size() < marks_.capacity();
    }
}

void translation::note_messages(const mark &more) {
    if (!make_room_for_mark())
        throw std::bad_alloc();
    marks_.push_back(more);
}

/// Those of messages that have gone.
void translation::forget_marks() noexcept {
    auto left = marks_.begin();
    for (; left != marks_.end() && left->octets <= octets_gone_; ++left)
        messages_gone_ += left->messages;
    marks_.erase(marks_.begin(), left);
}

/// For marks of frames that go one by one: they stand next to each other in copied_, and those of
/// the cut mark are still there.
translation::cut translation::look_at_cut(const framing &form, const mark &of) const noexcept {
    const std::uint64_t begin = of.octets - of.size;
    const std::uint64_t gone = octets_gone_ - begin;
    const byte_span wire(copied_.data() + copied_gone_ - gone, of.size);
    std::uint64_t at = 0;
    cut found{};
    while (at < gone && wire.size() > at) {
        const framing::small_frame next = form.look_at_small(wire.subspan(at));
        at += next.size;
        found.ends_message = next.ends_message && at > gone;
        found.messages += next.ends_message && at <= gone;
    }
    found.end = begin + at;
    return found;
}

/// Before the memory of what has gone is used again. What is left of the mark begins with a frame.
void translation::split_cut_mark(const framing &form) {
    forget_marks();
    if (marks_.empty() || marks_.front().octets - marks_.front().size >= octets_gone_)
        return;
    const mark whole = marks_.front();
    const cut found = look_at_cut(form, whole);
    if (found.end == whole.octets - whole.size)
        return;
    marks_.insert(marks_.begin(), {found.end, found.ends_message, 0});
    messages_gone_ += found.messages;
    marks_[1].messages = whole.messages - found.messages - found.ends_message;
    marks_[1].size = static_cast<std::uint32_t>(whole.octets - found.end);
}

std::uint64_t translation::messages_gone(const framing &form) noexcept {
    forget_marks();
    const bool has_cut_one = !marks_.empty() && marks_.front().octets - marks_.front().size < octets_gone_;
    return messages_gone_ + (has_cut_one ? look_at_cut(form, marks_.front()).messages : 0);
}

void translation::put(const framing &form, const frame_view &frame, bool is_in_place) {
    put_frame(form, frame, is_in_place);
    if (!in_message_)
        note_messages({octets_put(), 1, 0});
}

void translation::put_frame(const framing &form, const frame_view &frame, bool is_in_place) {
    in_message_ = frame.has_more();
    cover_all();
    forget_gone(form);
    std::vector<std::uint8_t> &out = tail();
    const std::optional<body_cover> how = form.encode_header(frame.flags, frame.size, out);
    const bool is_copied = frame.size < (how ? sliced_from : uncopied_from) || !frame.owner;
    block_ref owner;
    if (frame.lone_owner)
        owner = block_ref::adopt(std::exchange(*frame.lone_owner, nullptr));
    else if (!is_copied)
        owner = block_ref::share(frame.owner);
    if (is_copied) {
        if (how)
            form.append_covered(*how, frame.body(), out);
        else
            out.insert(out.end(), frame.data, frame.data + frame.size);
        debug_counters::add(debug_counters::count::copied_octets, frame.size);
        return;
    }
    if (how)
        debug_counters::add(debug_counters::count::copied_octets, frame.size);
    if (how && !how->takes_slices) {
        cover_at_once(form, *how, frame);
        return;
    }
    body put{out.size(), frame.data, frame.size, 0, std::move(owner), is_in_place, false};
    if (!how) {
        bodies_.push_back(std::move(put));
        listed_bodies_ += frame.size;
        return;
    }
    covered_ = std::move(put);
    form_ = &form;
    how_ = *how;
    cover_some();
}

std::uint64_t translation::put_small(const framing &form, byte_span &in) {
    constexpr std::size_t longest_head = 64;
    forget_gone(form);
    const std::size_t before = copied_end();
    const std::size_t wanted = form.room_for_small(std::min(in.size(), batch)) + longest_head;
    const std::size_t room = std::min(wanted, batch - std::min(batch, before) + uncopied_from + longest_head);
    if (copied_.size() < before + room) {
        // Exactly that: release() gives more than two batches back.
        if (before + room > batch)
            copied_.reserve(before + room);
        copied_.resize(before + room);
    }
    std::uint64_t messages = 0;
    spare_ = copied_.size() - before;
    // Nothing fails behind frames that were taken from `in`: the caller has to hear of them.
    while (!in.empty() && make_room_for_mark()) {
        std::uint64_t ended = 0;
        const std::span to = std::span(copied_).last(spare_);
        const std::size_t octets = form.encode_small(in, uncopied_from - 1, to, in_message_, ended);
        if (octets == 0)
            break;
        spare_ -= octets;
        debug_counters::add(debug_counters::count::copied_octets, octets);
        const bool goes_together = form.look_at_small(to.first(octets)).size == 0;
        if (ended > 0)
            note_messages({octets_put(), static_cast<std::uint32_t>(ended),
                           goes_together ? 0 : static_cast<std::uint32_t>(octets)});
        messages += ended;
    }
    return messages;
}

/// Moves what is left to where the copied octets stood that have gone out.
void translation::forget_gone(const framing &form) {
    if (copied_gone_ == 0 || !bodies_.empty())
        return;
    split_cut_mark(form);
    std::memmove(copied_.data(), copied_.data() + copied_gone_, copied_end() - copied_gone_);
    spare_ += copied_gone_;
    copied_gone_ = 0;
}

/// The body's own memory is not needed from here on.
void translation::cover_at_once(const framing &form, body_cover how, const frame_view &frame) {
    const std::size_t size = how.growth + frame.size;
    chunk *const memory = pool_.allocate(size);
    if (!memory)
        throw std::bad_alloc();
    block_ref owner = block_ref::adopt(memory);
    form.cover(how, frame.body(), memory->data());
    bodies_.push_back({copied_end(), memory->data(), size, 0, std::move(owner), false, true});
    listed_bodies_ += size;
}

/// Encodes the next slice of the covered body.
void translation::cover_some() {
    const std::size_t size = std::min(covered_.size, most_octets_in_slice);
    if (!slice_)  // the first slice of a body is its largest
        slice_ = std::make_unique_for_overwrite<std::uint8_t[]>(how_.growth + size);
    slice_at_ = 0;
    slice_size_ = std::exchange(how_.growth, 0) + size;
    form_->cover(how_, {covered_.data, size}, slice_.get());
    covered_.advance(size);
    if (covered_.size == 0)
        covered_ = {};
}

/// For what is to stand behind the covered body.
void translation::cover_all() {
    const std::uint8_t *const slice = slice_.get() + slice_at_;
    std::vector<std::uint8_t> &out = tail();
    out.insert(out.end(), slice, slice + slice_size_);
    slice_size_ = 0;
    if (covered_.size > 0)
        form_->append_covered(how_, {covered_.data, covered_.size}, out);
    covered_ = {};
    slice_.reset();  // that of the next body may be larger
}

translation::listed translation::list(std::span<iovec> ranges) {
    if (slice_size_ == 0 && covered_.size > 0)
        cover_some();
    listed what;
    const auto put = [&](const std::uint8_t *data, std::size_t size) {
        if (size == 0)
            return;
        ranges[what.ranges++] = {const_cast<std::uint8_t *>(data), size};
        what.octets += size;
    };
    std::size_t at = copied_gone_;
    for (std::size_t i = bodies_gone_; i < bodies_.size(); ++i) {
        const body &each = bodies_[i];
        if (what.ranges + 4 > ranges.size()) {
            what.is_all = false;
            return what;
        }
        put(copied_.data() + at, each.at - at);
        put(each.data, each.size);
        if (!each.is_sealed)
            what.uncopied.add();
        at = each.at;
    }
    put(copied_.data() + at, copied_end() - at);
    put(slice_.get() + slice_at_, slice_size_);
    what.is_all = covered_.size == 0;
    return what;
}

void translation::release(std::size_t octets) noexcept {
    octets_gone_ += octets;
    while (octets > 0) {
        const bool has_body = bodies_gone_ < bodies_.size();
        const std::size_t copied = (has_body ? bodies_[bodies_gone_].at : copied_end()) - copied_gone_;
        const std::size_t taken = std::min(copied, octets);
        copied_gone_ += taken;
        octets -= taken;
        if (octets == 0)
            break;
        if (!has_body) {
            release_slice(octets);
            break;
        }
        body &next = bodies_[bodies_gone_];
        const std::size_t of_body = std::min(next.size, octets);
        next.advance(of_body);
        octets -= of_body;
        if (next.size > 0)
            break;
        listed_bodies_ -= next.gone;
        next.owner.reset();
        ++bodies_gone_;
        if (!next.is_sealed)
            debug_counters::add(debug_counters::count::uncopied_bodies);
    }
    if (bodies_gone_ == bodies_.size()) {
        bodies_.clear();
        bodies_gone_ = 0;
    }
    if (copied_gone_ == copied_end() && bodies_.empty()) {
        // The memory that many small frames, or a long topic, took does not stay with a connection
        // that may be idle from now on.
        if (copied_.capacity() > 2 * batch)
            std::vector<std::uint8_t>().swap(copied_);
        if (marks_.capacity() > most_marks_kept && !is_covering()) {
            forget_marks();
            std::vector<mark>().swap(marks_);
        }
        spare_ = copied_.size();
        copied_gone_ = 0;
    }
}

void translation::release_slice(std::size_t octets) noexcept {
    slice_at_ += octets;
    slice_size_ -= octets;
    if (!is_covering())
        slice_.reset();
}

void translation::copy_rest() noexcept {
    if (!bodies_.empty())
        bodies_.back().copy_rest();
    covered_.copy_rest();
}

}  // namespace zlink
