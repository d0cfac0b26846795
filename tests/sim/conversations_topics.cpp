// Plays what publishers and subscribers do beside sending and receiving; see conversations.hpp.
//
// Topics:   all messages begin with the same octets, to which everybody subscribes. Where XPUB and
//           XSUB take part, some have a frame in front that says a topic; subscribers change their
//           minds about these while there is chaos.
// Upstream: an XSUB sends messages of its own, slowly, so that none has to be dropped once nothing
//           is wrong.
#include "conversations.hpp"
#include "zmq.h"

namespace zlink::sim {

namespace {

constexpr const char *fronts[] = {"a", "a", "ab", "abc", "b", "ba"};  // each also is a topic
constexpr duration between_upstream = milliseconds(30);

}  // namespace

void conversations::choose_types(settings &options, bool is_left) {
    using enum socket_type;
    options.type = is_left ? (chance_.coin() ? xpub : pub) : (chance_.coin() ? xsub : sub);
    options.xpub_verbose = chance_.chance(300'000);
    options.xpub_verboser = !options.xpub_verbose && chance_.chance(300'000);
    // Whatever follows the first frame of a message may begin with any octet.
    options.only_first_subscribe = plan_.looks.most_parts > 1 || chance_.coin();
    // Besides they send or listen to the other direction, and change what they want.
    options.receive_timeout_ms = static_cast<int>(chance_.between(1, 20));
}

void conversations::open_topics(member &self) {
    // The queue of a publisher that dials, and what it knows of the other end, outlives a
    // connection.
    const bool keeps_lost = !plan_.left_binds && !plan_.is_calm && !plan_.is_immediate;
    if (!self.is_left) {
        topics_.open_subscriber(self.tag, !keeps_lost);
        subscribe(self);
        return;
    }
    using enum topic_watch::telling;
    topics_.open_publisher(self.tag,
                           self.options.xpub_verboser  ? each
                           : self.options.xpub_verbose ? each_subscription
                                                       : ends,
                           keeps_lost);
}

void conversations::change_topic(member &self, bool is_subscribe, const std::string &topic) {
    topics_.change(self.tag, is_subscribe, topic);
    const error e = insist([&] {
        if (self.options.type != socket_type::xsub)
            return self.handle->set_option(is_subscribe ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, topic.data(),
                                           topic.size());
        const std::string frame = std::string(1, is_subscribe ? '\1' : '\0') + topic;
        return self.handle->send(as_bytes(frame), chance_.coin() ? ZMQ_DONTWAIT : 0);
    });
    if (failed(e) && e != error::terminated)
        world_.violate(promise::survives, "a subscription fails: " + std::string(describe(to_errno(e))));
}

/// To everything, or to what all messages begin with and to other things besides.
void conversations::subscribe(member &self) {
    if (plan_.topics == 0 && (plan_.kind == conversation::pub_sub || chance_.coin()))
        return change_topic(self, true, "");
    if (plan_.topics == 0)
        change_topic(self, true, "ZS");
    for (std::size_t i = 0; i < plan_.topics; ++i) {
        const std::string topic = "topic " + std::to_string(i);
        change_topic(self, true, topic);
        if (i == plan_.topics / 2)
            change_topic(self, true, "ZS");
        if (chance_.chance(200'000))
            change_topic(self, false, topic);
    }
}

/// Does what a subscriber does by itself, between two messages.
void conversations::change_mind(member &self) {
    if (plan_.kind != conversation::xpub_xsub || self.is_left || !self.handle)
        return;
    if (phase_ == phase::chaos && chance_.chance(200'000)) {
        for (std::uint64_t count = chance_.between(1, 4); count > 0; --count)
            change_topic(self, chance_.coin(), chance_.pick(fronts));
    }
    const bool is_calm = phase_ != phase::chaos;
    if (!sends_upstream(self) || !may_send(self) || world_.now() < self.next_upstream ||
        (!is_calm && !chance_.chance(100'000)))
        return;
    const phase began = phase_;
    if (send(self, upstream_of(self)) != outcome::done)
        return;
    self.next_upstream = world_.now() + (is_calm ? between_upstream : duration(0));
    self.sent_last += began == phase::last_round;
}

/// Whether it looks now what subscribers say.
bool conversations::listens(const member &self) {
    const bool is_slow = phase_ == phase::chaos && plan_.has_slow_readers;
    return self.options.type == socket_type::xpub && (!is_slow || chance_.chance(50'000));
}

channel &conversations::upstream_of(member &self) {
    channel &to = channel_to(self, 0);
    to.counts_as_ended = true;  // what has no room is dropped
    return to;
}

/// The channel of the next message, which has its topic in front or none.
channel &conversations::choose_topic(member &self, std::deque<octets> &front) {
    if (plan_.kind != conversation::xpub_xsub || chance_.coin())
        return channel_to(self, 0);
    const std::string topic = chance_.pick(fronts);
    front.emplace_back(topic.begin(), topic.end());
    channel &to = channel_to(self, 0, front.front());
    to.counts_as_ended = true;  // goes to those who want it
    front_of_[to.id] = front.front();
    return to;
}

/// Whether a member is to get all messages of a channel.
bool conversations::is_meant(const member &who, const channel &what) const {
    if (plan_.kind != conversation::xpub_xsub)
        return !who.is_left;
    const bool goes_up = !members_[static_cast<std::size_t>(what.from - 1)].is_left;
    if (goes_up)
        return who.options.type == socket_type::xpub;
    return !who.is_left && (!front_of_.contains(what.id) || topics_.wants(who.tag, front_of(what)));
}

octets conversations::front_of(const channel &what) const {
    const auto found = front_of_.find(what.id);
    return found == front_of_.end() ? octets{} : found->second;
}

/// Takes what is no message of a channel's, or stands in front of one. True when nothing is left of
/// it.
bool conversations::take_topic(member &self, std::deque<octets> &parts, octets &topic, int link) {
    const bool is_notice = self.is_left && parts.size() == 1 && !parts[0].empty() && parts[0][0] <= 1;
    if (is_notice) {
        // It is of a peer that has left.
        const bool is_lost = parts[0][0] == 0 && link == 0 && !plan_.is_inproc &&
                             world_.strikes(planted::untold_leaving, 300'000);
        if (!is_lost)
            topics_.judge_notice(self.tag, parts[0]);
        return true;
    }
    if (self.is_left)
        return false;
    const bool has_front = parts.size() > 1 && parts[0].size() <= 3;
    if (has_front) {
        topic = parts[0];
        parts.pop_front();
    }
    topics_.judge_message(self.tag, has_front ? topic : parts[0], self.options.type == socket_type::sub);
    return false;
}

/// All have got what was sent, and nobody changes his mind any more.
void conversations::settle_topics() {
    for (const member &m : members_)
        if (m.options.type == socket_type::xpub)
            topics_.settle(m.tag);
}

}  // namespace zlink::sim
