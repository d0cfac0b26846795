#include "socket/upstream_news.hpp"

namespace zlink {

namespace {
std::string notice_body(bool is_subscribe, byte_span topic) {
    std::string body(1, is_subscribe ? '\1' : '\0');
    return body.append(as_text(topic));
}
}  // namespace

void upstream_news::add_notice(bool is_subscribe, byte_span topic, bool is_repeated, peer_number peer,
                               peer_info *info) {
    items_.push_back({notice_body(is_subscribe, topic), 0, true, is_repeated, peer, next_serial_++,
                      block_ref::share(info)});
    try {
        notices_.emplace(items_.back().body, std::prev(items_.end()));
    } catch (...) {
        items_.pop_back();
        throw;
    }
}

void upstream_news::add_frame(const frame_view &frame) {
    items_.push_back({std::string(as_text(frame.body())), frame.flags, false, false, 0, next_serial_++,
                      block_ref::share(frame.info)});
    ++frames_;
}

void upstream_news::drop_cut_message() noexcept {
    while (!items_.empty() && !items_.back().is_notice && (items_.back().flags & frame_flag::more)) {
        items_.pop_back();
        --frames_;
    }
}

upstream_news::withdrawal upstream_news::withdraw(bool is_subscribe, byte_span topic, peer_number peer,
                                                  peer_number opposite_peer) noexcept {
    if (notices_.empty())
        return withdrawal::none;
    try {
        const auto at = find_newest(notice_body(is_subscribe, topic), peer);
        if (at == notices_.end())
            return withdrawal::none;
        const place what = at->second;
        if (newest_serial(notice_body(!is_subscribe, topic), opposite_peer) > what->serial)
            return withdrawal::none;
        const withdrawal result = what->is_repeated ? withdrawal::repeated : withdrawal::original;
        notices_.erase(at);
        items_.erase(what);
        return result;
    } catch (...) {
        return withdrawal::none;  // it stays, which is no lie
    }
}

bool upstream_news::has_ended(byte_span topic) noexcept {
    try {
        return newest_serial(notice_body(false, topic), 0) > newest_serial(notice_body(true, topic), 0);
    } catch (...) {
        return false;
    }
}

upstream_news::index::iterator upstream_news::find_newest(std::string_view body, peer_number peer) noexcept {
    auto newest = notices_.end();
    for (auto [at, end] = notices_.equal_range(body); at != end; ++at) {
        const bool is_theirs = peer == 0 || at->second->peer == peer;
        if (is_theirs && (newest == notices_.end() || at->second->serial > newest->second->serial))
            newest = at;
    }
    return newest;
}

upstream_news::news upstream_news::take() noexcept {
    taken_.clear();
    taken_.splice(taken_.begin(), items_, items_.begin());
    const item &first = taken_.front();
    if (first.is_notice) {
        // The oldest of several equal notices goes; which entry of the index stands for it must be looked for.
        auto [at, end] = notices_.equal_range(first.body);
        while (at != end && &*at->second != &first)
            ++at;
        notices_.erase(at);
    } else {
        --frames_;
    }
    news result;
    result.frame.data = reinterpret_cast<const std::uint8_t *>(first.body.data());
    result.frame.size = first.body.size();
    result.frame.flags = first.flags;
    result.frame.info = static_cast<peer_info *>(first.info.get());
    result.is_notice = first.is_notice;
    result.peer = first.peer;
    return result;
}

}  // namespace zlink
