#include "socket/upstream_news.hpp"

#include <utility>

namespace zlink {

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
    drop_cut_message();
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

/// Of one that stands in no chain.
void upstream_news::drop(item *what) noexcept {
    if (what)
        leave(*what);
    delete what;
}

// ---- what comes ----

void upstream_news::add_notice(bool is_subscribe, byte_span topic, bool is_repeated, peer_number peer,
                               peer_info *info, bool is_in_message) {
    auto made = std::make_unique<item>();
    subject &about = find_or_add(topic);
    ++about.notices;
    made->about = &about;
    made->is_subscribe = is_subscribe;
    made->is_repeated = is_repeated;
    made->peer = peer;
    if (peer != 0) {
        try {
            by_peer_[{&about, is_subscribe, peer}].append(*made);
        } catch (...) {
            leave(*made);
            throw;
        }
    }
    made->info = block_ref::share(info);
    made->serial = next_serial_++;
    about.kinds[is_subscribe].append(*made);
    append(std::move(made), is_in_message);
}

void upstream_news::add_frame(const frame_view &frame) {
    auto made = std::make_unique<item>();
    made->body = std::make_unique<std::string>(as_text(frame.body()));
    made->flags = frame.flags;
    made->info = block_ref::share(frame.info);
    append(std::move(made), true);
    ++frames_;
}

void upstream_news::append(std::unique_ptr<item> what, bool is_in_message) noexcept {
    what->message = is_in_message ? this_message_ : 0;
    (is_in_message ? message_ : all_).append(*what.release());
    ++size_;
}

void upstream_news::end_message() noexcept {
    all_.append_all(message_);
    ++this_message_;
}

/// What was told of in it has happened.
void upstream_news::drop_cut_message() noexcept {
    while (item *first = message_.oldest()) {
        message_.remove(*first);
        if (first->about) {
            all_.append(*first);
            continue;
        }
        delete first;
        --size_;
        --frames_;
    }
    ++this_message_;
}

// ---- what is taken back ----

upstream_news::withdrawal upstream_news::withdraw(bool is_subscribe, byte_span topic, peer_number peer,
                                                  peer_number opposite_peer) noexcept {
    subject *about = find(topic);
    item *what = about ? newest(*about, is_subscribe, peer) : nullptr;
    if (!what)
        return withdrawal::none;
    const item *opposite = newest(*about, !is_subscribe, opposite_peer);
    if (opposite && opposite->serial > what->serial)
        return withdrawal::none;
    const withdrawal result = what->is_repeated ? withdrawal::repeated : withdrawal::original;
    take_out(*what);
    (what->message == this_message_ ? message_ : all_).remove(*what);
    --size_;
    drop(what);
    return result;
}

bool upstream_news::has_ended(byte_span topic) noexcept {
    const subject *about = find(topic);
    if (!about)
        return false;
    const item *end = newest(*about, false, 0);
    const item *beginning = newest(*about, true, 0);
    return end && (!beginning || beginning->serial < end->serial);
}

// ---- what is read ----

upstream_news::news upstream_news::take() noexcept {
    drop(std::exchange(taken_, all_.oldest()));
    item &first = *taken_;
    all_.remove(first);
    --size_;
    news result;
    result.frame.info = static_cast<peer_info *>(first.info.get());
    result.frame.flags = first.flags;
    std::string *body = first.body.get();
    if (first.about) {
        take_out(first);
        body = &first.about->body;
        (*body)[0] = static_cast<char>(first.is_subscribe);
        result.is_notice = true;
        result.peer = first.peer;
    } else {
        --frames_;
    }
    result.frame.data = reinterpret_cast<const std::uint8_t *>(body->data());
    result.frame.size = body->size();
    return result;
}

}  // namespace zlink
