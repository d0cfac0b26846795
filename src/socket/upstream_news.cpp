// The news that the application of an XPUB has not read yet. See upstream_news.hpp.
//
// Map: chains; life; topics; what comes; what is taken back; what is read.
#include "socket/upstream_news.hpp"

#include <utility>

namespace zlink {

namespace {
/// Octets of small frames in one place: what a string of this size has room for that has grown by
/// doubling.
constexpr std::size_t most_octets_in_run = 15 * 1024;
}  // namespace

// ---- chains ----

template <upstream_news::links upstream_news::item::*Links>
void upstream_news::chain<Links>::append(item &what) noexcept {
    what.*Links = {newest_, nullptr};
    (newest_ ? (newest_->*Links).newer : oldest_) = &what;
    newest_ = &what;
}

template <upstream_news::links upstream_news::item::*Links>
void upstream_news::chain<Links>::remove(item &what) noexcept {
    const links at = what.*Links;
    (at.older ? (at.older->*Links).newer : oldest_) = at.newer;
    (at.newer ? (at.newer->*Links).older : newest_) = at.older;
}

template <upstream_news::links upstream_news::item::*Links>
void upstream_news::chain<Links>::append_all(chain &others) noexcept {
    if (others.is_empty())
        return;
    (others.oldest_->*Links).older = newest_;
    (newest_ ? (newest_->*Links).newer : oldest_) = others.oldest_;
    newest_ = others.newest_;
    others = {};
}

// ---- life ----

upstream_news::upstream_news(random_source &random) : subjects_(0, keyed_hash(random)) {}

upstream_news::~upstream_news() {
    delete taken_;
    (void)drop_cut_message();
    while (item *first = all_.oldest()) {
        all_.remove(*first);
        delete first;
    }
}

// ---- topics ----

upstream_news::subject *upstream_news::find(byte_span topic) const noexcept {
    const auto at = subjects_.find(as_text(topic));
    return at == subjects_.end() ? nullptr : at->second.get();
}

upstream_news::subject &upstream_news::find_or_add(byte_span topic) {
    if (subject *known = find(topic))
        return *known;
    auto fresh = std::make_unique<subject>();
    fresh->body.reserve(1 + topic.size());
    fresh->body.push_back(0);
    fresh->body.append(as_text(topic));
    const std::string_view key = as_text(fresh->topic());
    return *subjects_.emplace(key, std::move(fresh)).first->second;
}

/// Null: there is none.
upstream_news::item *upstream_news::newest(const subject &topic, bool is_subscribe,
                                           peer_number peer) const noexcept {
    if (peer == 0)
        return topic.kinds[is_subscribe].newest();
    const auto at = by_peer_.find({&topic, is_subscribe, peer});
    return at == by_peer_.end() ? nullptr : at->second.newest();
}

/// A notice is not unread any more.
void upstream_news::take_out(item &notice) noexcept {
    notice.about->kinds[notice.is_subscribe].remove(notice);
    if (notice.peer == 0)
        return;
    const auto at = by_peer_.find({notice.about, notice.is_subscribe, notice.peer});
    at->second.remove(notice);
    if (at->second.is_empty())
        by_peer_.erase(at);
}

/// The topic goes with its last notice.
void upstream_news::leave(item &notice) noexcept {
    subject *about = std::exchange(notice.about, nullptr);
    if (about && --about->notices == 0)
        subjects_.erase(subjects_.find(as_text(about->topic())));
}

/// The number of one that stands in no chain.
void upstream_news::drop(item *what) noexcept {
    if (what)
        leave(*what);
    delete what;
}

// ---- what comes ----

void upstream_news::add_notice(const notice &what) {
    auto made = std::make_unique<item>();
    subject &about = find_or_add(what.topic);
    if (about.notices++ == 0)
        about.was_on = what.was_on;
    made->about = &about;
    made->is_subscribe = what.is_subscribe;
    made->is_repeated = what.is_repeated;
    made->peer = what.peer;
    if (what.peer != 0) {
        try {
            by_peer_[{&about, what.is_subscribe, what.peer}].append(*made);
        } catch (...) {
            leave(*made);
            throw;
        }
    }
    made->info = block_ref::share(what.info);
    made->serial = next_serial_++;
    about.kinds[what.is_subscribe].append(*made);
    append(std::move(made), what.is_in_message);
    ++notices_;
}

/// Whether more frames may stand beside those of `last`.
bool upstream_news::has_room(const item *last, peer_number peer, const peer_info *info,
                             std::size_t octets) const noexcept {
    return last && last->frames && last->frames->taken == 0 && last->peer == peer &&
           last->info.get() == info && last->frames->octets.size() + octets <= most_octets_in_run;
}

void upstream_news::add_frame(const frame_view &frame, peer_number peer) {
    std::uint8_t header[long_header_size];
    const std::uint8_t *const header_end =
        put_frame_header(header, frame.size, frame.flags & frame_flag::more);
    const byte_span head{header, header_end};
    item *last = message_.newest();
    if (!has_room(last, peer, frame.info, head.size() + frame.size)) {
        auto made = std::make_unique<item>();
        made->frames = std::make_unique<run>();
        made->frames->octets.reserve(head.size() + frame.size);
        made->peer = peer;
        made->info = block_ref::share(frame.info);
        last = made.get();
        append(std::move(made), true);
    }
    std::string &octets = last->frames->octets;
    const std::size_t before = octets.size();
    try {
        octets.append(as_text(head)).append(as_text(frame.body()));
    } catch (...) {
        octets.resize(before);
        throw;
    }
    last->frames->last = before;
    ++last->frames->frames;
    ++frames_;
}

void upstream_news::append(std::unique_ptr<item> what, bool is_in_message) noexcept {
    what->message = is_in_message ? this_message_ : 0;
    (is_in_message ? message_ : all_).append(*what.release());
}

void upstream_news::end_message() noexcept {
    end_with(message_.newest());
    join_runs();
    all_.append_all(message_);
    ++this_message_;
}

/// The frames behind this one in its message are not told, or not any more.
void upstream_news::end_with(item *last) noexcept {
    if (last && last->frames)
        last->frames->octets[last->frames->last] &= static_cast<char>(~frame_flag::more);
}

/// Puts a small message beside those in front of it, so that many small ones take little more than
/// their octets.
void upstream_news::join_runs() noexcept {
    item *const last = all_.newest();
    item *const next = message_.newest();
    if (!message_.is_one() || !next->frames ||
        !has_room(last, next->peer, static_cast<peer_info *>(next->info.get()), next->frames->octets.size()))
        return;
    try {
        last->frames->octets.append(next->frames->octets);
    } catch (...) {
        return;
    }
    last->frames->last = last->frames->octets.size() - next->frames->octets.size() + next->frames->last;
    last->frames->frames += next->frames->frames;
    message_.remove(*next);
    delete next;
}

/// All that it told of has happened.
std::size_t upstream_news::drop_cut_message() noexcept {
    std::size_t dropped = 0;
    while (item *first = message_.oldest()) {
        message_.remove(*first);
        if (first->about) {
            all_.append(*first);
            continue;
        }
        dropped += first->frames->frames;
        delete first;
    }
    frames_ -= dropped;
    ++this_message_;
    return dropped;
}

// ---- what is taken back ----

/// `other` may be null.
bool upstream_news::is_after(const item &what, const item *other) const noexcept {
    return !other || what.serial > other->serial;
}

bool upstream_news::has_newest(bool is_subscribe, byte_span topic, peer_number peer,
                               peer_number opposite_peer) const noexcept {
    const subject *about = find(topic);
    const item *what = about ? newest(*about, is_subscribe, peer) : nullptr;
    return what && is_after(*what, newest(*about, !is_subscribe, opposite_peer));
}

upstream_news::withdrawal upstream_news::withdraw(bool is_subscribe, byte_span topic, peer_number peer,
                                                  peer_number opposite_peer) noexcept {
    if (!has_newest(is_subscribe, topic, peer, opposite_peer))
        return withdrawal::none;
    item *what = newest(*find(topic), is_subscribe, peer);
    const withdrawal result = what->is_repeated ? withdrawal::repeated : withdrawal::original;
    remove(*what);
    return result;
}

/// A notice that is unread never will be read.
void upstream_news::remove(item &notice) noexcept {
    const auto is_beside = [&](const item *other) { return other && other->message == notice.message; };
    if (notice.message != 0 && notice.message != this_message_ && is_beside(notice.in_order.older) &&
        !is_beside(notice.in_order.newer))
        end_with(notice.in_order.older);
    take_out(notice);
    (notice.message == this_message_ ? message_ : all_).remove(notice);
    --notices_;
    drop(&notice);
}

bool upstream_news::withdraw_subscribes(byte_span topic) noexcept {
    subject *about = find(topic);
    if (!about)
        return true;
    const item *const end = about->kinds[false].newest();
    const bool is_on = !end && about->was_on;
    const std::uint64_t first = end ? end->serial : 0;
    for (item *what; (what = about->kinds[true].newest()) && what->serial > first;) {
        const bool is_last = about->notices == 1;
        remove(*what);
        if (is_last)
            break;  // the topic went with it
    }
    return is_on;
}

// ---- what is read ----

/// The application knows of a notice, or is about to.
void upstream_news::note_read(item &notice) noexcept {
    take_out(notice);
    notice.about->was_on = notice.is_subscribe;
    --notices_;
}

/// A message may end in a notice, behind a frame that has more to come.
std::uint64_t upstream_news::messages() const noexcept {
    std::uint64_t messages = 0;
    bool is_inside = false;
    for (const item *at = all_.oldest(); at; at = at->in_order.newer) {
        if (at->about) {
            const item *const next = at->in_order.newer;
            const bool goes_on = next && next->message == at->message;
            messages += is_inside && !goes_on;
            is_inside = is_inside && goes_on;
            continue;
        }
        byte_span rest = as_bytes(at->frames->octets).subspan(at->frames->taken);
        for (frame_header header; get_frame_header(rest.data(), rest.size(), header);) {
            is_inside = header.has_more();
            messages += !is_inside;
            rest = rest.subspan(header.header_size + static_cast<std::size_t>(header.body_size));
        }
    }
    return messages;
}

upstream_news::news upstream_news::take() noexcept {
    drop(std::exchange(taken_, nullptr));
    item &first = *all_.oldest();
    news result;
    result.frame.info = static_cast<peer_info *>(first.info.get());
    result.peer = first.peer;
    if (first.about) {
        if (!first.is_promised)
            note_read(first);
        std::string &body = first.about->body;
        body[0] = static_cast<char>(first.is_subscribe);
        result.frame.data = reinterpret_cast<const std::uint8_t *>(body.data());
        result.frame.size = body.size();
        result.is_notice = true;
    } else {
        run &from = *first.frames;
        const byte_span rest = as_bytes(from.octets).subspan(from.taken);
        frame_header header;
        (void)get_frame_header(rest.data(), rest.size(), header);
        result.frame.data = rest.data() + header.header_size;
        result.frame.size = static_cast<std::size_t>(header.body_size);
        result.frame.flags = header.flags & frame_flag::more;
        from.taken += header.header_size + result.frame.size;
        --frames_;
        if (--from.frames > 0)
            return result;
    }
    all_.remove(first);
    taken_ = &first;
    // An application that has a frame with more to come gets what comes next of its message,
    // whatever happens to that meanwhile.
    item *const next = all_.oldest();
    if (result.frame.has_more() && next && next->about && next->message == first.message) {
        note_read(*next);
        next->is_promised = true;
    }
    return result;
}

}  // namespace zlink
