// The news that the application of an XPUB has not read yet: notices of subscriptions, and messages
// that subscribers sent upstream.
//
// A notice can be withdrawn while it is unread, so that peers that come and go leave nothing
// behind. A message is there once all of it is.
// Layout:   a list of all in order; for each topic the notices of either kind in order, and the
//           same for each peer's. So what happens to a notice does not depend on how many there
//           are. Frames stand in wire form, many in a place.
// Threads:  the socket's application thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "core/keyed_hash.hpp"
#include "memory/block.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

class upstream_news {
public:
    /// Peers are told apart by numbers, which are never used again; 0 stands for any.
    using peer_number = std::uint64_t;

    explicit upstream_news(random_source &random);
    ~upstream_news();
    upstream_news(const upstream_news &) = delete;
    upstream_news &operator=(const upstream_news &) = delete;

    bool is_empty() const noexcept { return all_.is_empty(); }
    std::size_t notices() const noexcept { return notices_; }
    /// The number of frames of messages that are among them.
    std::size_t frames() const noexcept { return frames_; }
    /// The number of messages that have a frame among these. Looks at all of them.
    std::uint64_t messages() const noexcept;

    /// A frame of one octet, 1 for a subscription and 0 for its end, and the topic.
    struct notice {
        bool is_subscribe = false;
        byte_span topic;
        // It changes nothing: the peer had subscribed to the topic before, or not at all.
        bool is_repeated = false;
        bool was_on = false;   // somebody subscribed to the topic before it
        peer_number peer = 0;  // where nobody will ask for this peer's notices: 0
        peer_info *info = nullptr;
        bool is_in_message = false;  // it came as a frame of the message that is being added
    };
    /// Throws bad_alloc.
    void add_notice(const notice &what);
    /// Adds the next frame of a message, which can be read after end_message(). Throws bad_alloc.
    void add_frame(const frame_view &frame, peer_number peer);
    void end_message() noexcept;
    /// The rest of the message that is being added never comes: takes back what there is of it.
    /// Returns how many frames that were.
    std::size_t drop_cut_message() noexcept;
    enum class withdrawal { none, repeated, original };
    /// Takes back the newest such notice that was not read yet; says whether it was a repeated one.
    /// Not one that is older than an opposite one about `opposite_peer`: what comes in pairs stays
    /// in pairs.
    withdrawal withdraw(bool is_subscribe, byte_span topic, peer_number peer,
                        peer_number opposite_peer = 0) noexcept;
    /// Whether there is such a notice unread, and no opposite one about `opposite_peer` behind it.
    bool has_newest(bool is_subscribe, byte_span topic, peer_number peer,
                    peer_number opposite_peer) const noexcept;
    /// The last subscriber of a topic is gone: withdraws the unread notices of subscriptions to it
    /// that are newer than the last unread notice of an end. True if the application still believes
    /// that somebody subscribes, and is to be told.
    bool withdraw_subscribes(byte_span topic) noexcept;

    struct news {
        frame_view frame;  // valid until the next call that changes something
        bool is_notice = false;
        peer_number peer = 0;
    };
    /// Takes the oldest; there must be one.
    news take() noexcept;

private:
    struct item;
    struct links {
        item *older = nullptr;
        item *newer = nullptr;
    };
    /// Items in the order they came. `Links` says by which of their links.
    template <links item::*Links>
    class chain {
    public:
        bool is_empty() const noexcept { return !oldest_; }
        bool is_one() const noexcept { return oldest_ && oldest_ == newest_; }
        item *oldest() const noexcept { return oldest_; }
        item *newest() const noexcept { return newest_; }
        void append(item &what) noexcept;
        void remove(item &what) noexcept;
        /// Those of another one, behind.
        void append_all(chain &others) noexcept;

    private:
        item *oldest_ = nullptr;
        item *newest_ = nullptr;
    };
    /// A topic with unread notices.
    struct subject;
    /// Frames of messages of one peer, in wire form.
    struct run {
        std::string octets;
        std::size_t taken = 0;   // octets
        std::size_t last = 0;    // where the last frame begins
        std::size_t frames = 0;  // that are not taken
    };
    struct item {
        std::unique_ptr<run> frames;
        subject *about = nullptr;  // of a notice
        peer_number peer = 0;
        std::uint64_t serial = 0;
        block_ref info;
        links in_order, alike, by_peer;
        bool is_subscribe = false;
        bool is_repeated = false;
        // It is as good as read: it is the rest of the message that is being read.
        bool is_promised = false;
        std::uint64_t message = 0;  // which of those from upstream it came in; 0: none
    };
    struct subject {
        std::string body;              // the octet of a notice, and the topic
        chain<&item::alike> kinds[2];  // by is_subscribe
        std::size_t notices = 0;       // of either kind, with the one given out last
        bool was_on = false;           // as the application knows it, before what is unread
        byte_span topic() const noexcept { return as_bytes(std::string_view(body).substr(1)); }
    };
    using peers_key = std::tuple<const subject *, bool, peer_number>;

    subject *find(byte_span topic) const noexcept;
    subject &find_or_add(byte_span topic);
    item *newest(const subject &topic, bool is_subscribe, peer_number peer) const noexcept;
    bool is_after(const item &what, const item *other) const noexcept;
    bool has_room(const item *last, peer_number peer, const peer_info *info,
                  std::size_t octets) const noexcept;
    void join_runs() noexcept;
    void append(std::unique_ptr<item> what, bool is_in_message) noexcept;
    void remove(item &notice) noexcept;
    void note_read(item &notice) noexcept;
    static void end_with(item *last) noexcept;
    void take_out(item &notice) noexcept;
    void leave(item &notice) noexcept;
    void drop(item *what) noexcept;

    chain<&item::in_order> all_;
    chain<&item::in_order> message_;  // that is not all there
    item *taken_ = nullptr;           // the one given out last
    // Keys lie there.
    std::unordered_map<std::string_view, std::unique_ptr<subject>, keyed_hash> subjects_;
    std::map<peers_key, chain<&item::by_peer>> by_peer_;
    std::size_t notices_ = 0;
    std::size_t frames_ = 0;
    std::uint64_t next_serial_ = 1;
    std::uint64_t this_message_ = 1;
};

}  // namespace zlink
