// Judges who is subscribed to what: the messages that a subscriber gets, and what an XPUB tells its
// application (promise 15).
//
// Notices:  of the first subscription to a topic and of the end of the last, in turn. With
//           ZMQ_XPUB_VERBOSE of each subscription; with ZMQ_XPUB_VERBOSER of each end, too.
// Knows:    when all is quiet, an XPUB was told of what its subscribers want, no less and no more.
//           A publisher that dials keeps what a lost peer had wanted for its next connection, and
//           may know of more.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/bytes.hpp"
#include "world.hpp"

namespace zlink::sim {

class topic_watch {
public:
    enum class telling { ends, each_subscription, each };

    explicit topic_watch(world &owner) : world_(owner) {}

    // ---- subscribers ----

    /// A new socket, which wants nothing yet. `is_forgotten`: no publisher knows what the one
    /// before wanted.
    void open_subscriber(int tag, bool is_forgotten);
    /// Call before the library is told.
    void change(int tag, bool is_subscribe, const std::string &topic);
    /// Whether it wants what begins so.
    bool wants(int tag, byte_span front) const;
    /// A message that begins so has arrived. `filters`: the socket lets nothing pass that it does
    /// not want now.
    void judge_message(int tag, byte_span front, bool filters);

    // ---- publishers ----

    /// A new socket, whose application was told of nothing yet.
    void open_publisher(int tag, telling how, bool keeps_lost);
    void judge_notice(int tag, byte_span notice);
    /// Nothing is under way.
    void settle(int publisher);

private:
    struct subscriber {
        std::map<std::string, int> topics;  // and how often it has subscribed
        std::set<std::string> wanted_once;
    };
    struct notices {
        std::int64_t balance = 0;  // subscriptions less their ends
        bool stands = false;       // the last one was of a subscription
    };
    struct publisher {
        telling how = telling::ends;
        bool keeps_lost = false;
        std::map<std::string, notices> topics;
    };
    void violate(int tag, const std::string &topic, const char *how);

    world &world_;
    std::map<int, subscriber> subscribers_;
    std::map<int, publisher> publishers_;
    std::set<std::string> ever_wanted_;  // by anybody
    std::set<std::string> repeated_;     // subscribed to by one who had done so before
};

}  // namespace zlink::sim
