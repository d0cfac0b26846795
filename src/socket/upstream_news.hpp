// What the application of an XPUB has not read yet: notices of subscriptions, and messages that subscribers sent upstream.
//
// A notice can be withdrawn while it is unread, so that peers that come and go leave nothing behind.
// Threads:  the socket's application thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/block.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

class upstream_news {
public:
    /// Peers are told apart by numbers, which are never used again; 0 stands for any.
    using peer_number = std::uint64_t;

    bool is_empty() const noexcept { return items_.empty(); }
    std::size_t size() const noexcept { return items_.size(); }
    /// How many frames of messages are among them.
    std::size_t frames() const noexcept { return frames_; }

    /// Adds a notice: a frame of one octet, 1 for a subscription and 0 for its end, and the topic.
    /// `is_repeated`: the peer subscribed to the topic before.
    void add_notice(bool is_subscribe, byte_span topic, bool is_repeated, peer_number peer, peer_info *info);
    void add_frame(const frame_view &frame);
    /// The rest of the message that was added last never comes: takes it back, as far as it was not read.
    void drop_cut_message() noexcept;
    enum class withdrawal { none, repeated, original };
    /// Takes back the newest such notice that was not read yet; says whether it was a repeated one. Not one that is older than
    /// an opposite one about `opposite_peer`: what comes in pairs stays in pairs.
    withdrawal withdraw(bool is_subscribe, byte_span topic, peer_number peer,
                        peer_number opposite_peer = 0) noexcept;
    /// Whether what is unread of a topic says in the end that nobody subscribes to it.
    bool has_ended(byte_span topic) noexcept;

    struct news {
        frame_view frame;  // valid until the next take()
        bool is_notice = false;
        peer_number peer = 0;
    };
    /// Takes the oldest; there must be one.
    news take() noexcept;

private:
    struct item {
        std::string body;
        std::uint8_t flags = 0;
        bool is_notice = false;
        bool is_repeated = false;
        peer_number peer = 0;
        std::uint64_t serial = 0;
        block_ref info;
    };
    using place = std::list<item>::iterator;
    using index = std::unordered_multimap<std::string_view, place>;  // notices by body

    index::iterator find_newest(std::string_view body, peer_number peer) noexcept;
    /// 0: there is none.
    std::uint64_t newest_serial(std::string_view body, peer_number peer) noexcept {
        const auto at = find_newest(body, peer);
        return at == notices_.end() ? 0 : at->second->serial;
    }

    std::list<item> items_;
    std::list<item> taken_;  // the one given out last
    index notices_;
    std::size_t frames_ = 0;
    std::uint64_t next_serial_ = 1;
};

}  // namespace zlink
