// The oracle: knows every message that was sent, and judges every one that arrives.
//
// Promises: 1 atomic, 2 at most once, 3 ordered per pipe, 4 no loss while the connection lives, 5
//           bounded loss when it breaks, 6 bounded queues. (7 terminates, 8 lives, 9 survives, 10
//           leaves nothing behind: see scenario.cpp; 11 one at a time, 12 gets its reading half
//           back, 13 goes on: see network.cpp; 14 legal events: see monitor_watch.hpp; 15 knows
//           topics: see topic_watch.hpp; 16 newest value: see newest.hpp; 17 admits: see
//           handler.hpp; 18 fresh nonces: see nonce_watch.hpp; 19 counts once: see sim_context.hpp
//           for inproc, and the checks in stage.hpp for the networks and the applications.)
// Channel:  messages numbered from 0, from one incarnation of a socket to one other, to one of
//           several, or to all of them. A message carries channel, epoch, number, part, length and
//           checksum; its parts follow from channel and number, so that each octet of what arrives
//           can be compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "core/bytes.hpp"
#include "core/message.hpp"
#include "network.hpp"
#include "world.hpp"

namespace zlink::sim {

using octets = std::vector<std::uint8_t>;

/// Holds what messages look like in this run.
struct message_profile {
    std::size_t most_parts = 1;
    std::size_t largest_part = 100;
    std::size_t largest_rarely = 100;  // of few messages
};

/// To whom the messages of a channel go.
enum class reach {
    one,    // one receiver; blocks when it is full
    any,    // one of several receivers; blocks when all are full
    all,    // each of several receivers; blocks when one is full
    lossy,  // one receiver; drops when it is full
};

struct channel {
    int id = 0;
    int from = 0;
    int to = 0;  // reach::one and lossy
    reach kind = reach::one;
    std::uint64_t send_hwm = 0;
    std::uint64_t receive_hwm = 0;
    bool sender_dials = false;
    bool receiver_dials = false;
    bool is_inproc = false;
    bool may_be_refused = false;  // peers may be turned away, with what they have sent
    // Goes to the connection its question came from, which may be gone.
    bool is_answer = false;
    bool counts_as_ended = false;  // one of its sockets was closed, with what was in its queues
    bool is_given_up = false;      // it was the sender's
    int epoch = 0;                 // which incarnation of the sender's socket

    struct sent_message {
        std::uint64_t octets_before;  // of all earlier ones
        time_point when;
    };
    std::vector<sent_message> sent;
    std::uint64_t octets = 0;
    std::uint64_t largest = 0;
    std::uint64_t lost_since_delivery = 0;  // by connections that broke, at most; reach::one
    std::set<int> broken_since_delivery;    // connections

    struct receiver {
        std::map<std::uint64_t, int> taken;  // and by which connection
        std::map<int, std::uint64_t> last_of_link;
        std::int64_t last = -1;
        std::int64_t newest = -1;
        time_point newest_sent{};  // when the newest message taken was sent
    };
    std::map<int, receiver> receivers;
    std::set<std::uint64_t> taken_by_anyone;
};

class ledger final : public network_observer {
public:
    ledger(world &owner, std::uint64_t seed, const message_profile &looks)
        : world_(owner), seed_(seed), looks_(looks) {}
    void watch(const network &net, std::size_t held_octets) {
        network_ = &net;
        held_octets_ = held_octets;
    }

    channel &add_channel(int from, int epoch, int to, reach kind);
    std::deque<channel> &channels() noexcept { return channels_; }

    // ---- messages ----

    std::size_t part_count(const channel &which, std::uint64_t number) const noexcept;
    /// Octets of one part of a message.
    octets part(const channel &which, std::uint64_t number, std::size_t index) const;

    /// Up to this time `whose` may have a second connection: one that still lingers for a socket or
    /// an endpoint given up. It throws away what comes.
    void expect_second_connection(int whose, time_point until) {
        time_point &known = lingers_until_[whose];
        known = std::max(known, until);
    }

    /// The next message is about to be given to the library: a connection may break, and cut it,
    /// before note_sent().
    void note_begun(channel &which) noexcept;
    /// The last part of the message was taken by the library.
    void note_sent(channel &which);
    /// A whole message arrived at `at`, by a connection of this id (0: none, inproc). Returns its
    /// channel, null when it is none of ours.
    channel *judge(int at, const std::deque<octets> &parts, int link);

    /// After the last fault: what was sent since then and has not arrived. With reach::all, by the
    /// one who has least.
    std::uint64_t missing_since(const channel &which, time_point when, const std::set<int> &living) const;
    /// The end of a run that nobody was closed in: is what is missing allowed to be?
    void settle(const std::set<int> &living);

    void on_break(int from, int to, int link, std::uint64_t octets, std::uint64_t excusable) override;

private:
    struct path {
        std::map<int, std::uint64_t> lost_at_most;  // by each connection that broke
        // Connections that took octets when they had ended.
        std::set<int> written_after;
        int last_broken = 0;  // connection

        /// Returns what the end of a connection may cost a channel whose largest message has so
        /// many octets.
        std::uint64_t cost(int link, std::uint64_t largest) const {
            return lost_at_most.at(link) + (written_after.contains(link) ? 2 * largest : 0);
        }
    };
    static constexpr std::size_t label_size = 36;
    static constexpr std::size_t table_size = 256 * 1024;

    std::uint64_t hash_of(const channel &which, std::uint64_t number, std::size_t index) const noexcept;
    std::size_t part_size(const channel &which, std::uint64_t number, std::size_t index) const noexcept;
    std::uint64_t size_of(const channel &which, std::uint64_t number) const noexcept;
    void check_bound(const channel &which);
    void settle(const channel &which, const std::set<int> &living);
    void settle_gaps(const channel &which);
    bool has_second_connections() const noexcept { return !lingers_until_.empty(); }
    bool may_be_thrown_away(const channel &which, std::uint64_t number) const;
    static std::uint64_t octets_between(const channel &which, std::uint64_t first,
                                        std::uint64_t end) noexcept {
        return (end < which.sent.size() ? which.sent[end].octets_before : which.octets) -
               which.sent[first].octets_before;
    }
    static const octets &table();

    world &world_;
    std::uint64_t seed_;
    message_profile looks_;
    const network *network_ = nullptr;
    std::size_t held_octets_ = 0;
    std::map<int, time_point> lingers_until_;  // once a receiver may have had a second connection
    std::deque<channel> channels_;
    std::map<std::pair<int, int>, path> paths_;
};

}  // namespace zlink::sim
