#include "topic_watch.hpp"

#include <algorithm>

namespace zlink::sim {

void topic_watch::violate(int tag, const std::string &topic, const char *how) {
    world_.violate(promise::knows_topics, "topic '" + topic + "' at " + std::to_string(tag) + ": " + how);
}

// ---- subscribers ----

void topic_watch::open_subscriber(int tag, bool is_forgotten) {
    subscriber &who = subscribers_[tag];
    who.topics.clear();
    if (is_forgotten)
        who.wanted_once.clear();
}

void topic_watch::change(int tag, bool is_subscribe, const std::string &topic) {
    world_.tell(tag, is_subscribe ? " subscribes to '" : " unsubscribes from '", topic, "'");
    subscriber &who = subscribers_[tag];
    const auto at = who.topics.find(topic);
    if (is_subscribe) {
        if (at != who.topics.end())
            repeated_.insert(topic);
        ++who.topics[topic];
        who.wanted_once.insert(topic);
        ever_wanted_.insert(topic);
    } else if (at != who.topics.end() && --at->second == 0) {
        who.topics.erase(at);
    }
}

bool topic_watch::wants(int tag, byte_span front) const {
    const auto who = subscribers_.find(tag);
    return who != subscribers_.end() && std::ranges::any_of(who->second.topics, [&](const auto &entry) {
               return as_text(front).starts_with(entry.first);
           });
}

void topic_watch::judge_message(int tag, byte_span front, bool filters) {
    const bool is_right =
        filters ? wants(tag, front)
                : std::ranges::any_of(subscribers_[tag].wanted_once, [&](const std::string &topic) {
                      return as_text(front).starts_with(topic);
                  });
    if (!is_right)
        violate(tag, std::string(as_text(front)), "a message arrives that is not wanted");
}

// ---- publishers ----

void topic_watch::open_publisher(int tag, telling how, bool keeps_lost) {
    publishers_[tag] = {how, keeps_lost, {}};
}

void topic_watch::judge_notice(int tag, byte_span notice) {
    const bool is_subscribe = notice[0] == 1;
    const std::string topic(as_text(notice.subspan(1)));
    world_.tell(tag, is_subscribe ? " hears of '" : " hears of the end of '", topic, "'");
    publisher &who = publishers_[tag];
    if (!ever_wanted_.contains(topic))
        return violate(tag, topic, "the application is told of it, and nobody has wanted it");
    notices &told = who.topics[topic];
    if (who.how == telling::ends && told.stands == is_subscribe)
        return violate(tag, topic,
                       is_subscribe ? "the application is told of it twice" : "it ends and had not begun");
    told.stands = is_subscribe;
    told.balance += is_subscribe ? 1 : -1;
}

void topic_watch::settle(int tag) {
    publisher &who = publishers_[tag];
    for (const std::string &topic : ever_wanted_) {
        const auto wanted = std::ranges::count_if(
            subscribers_, [&](const auto &s) { return s.second.topics.contains(topic); });
        const notices &told = who.topics[topic];
        const bool counts = who.how == telling::each;
        if (counts ? told.balance < wanted : wanted > 0 && !told.stands)
            return violate(tag, topic, "a subscriber wants it, and the application does not know");
        if (who.keeps_lost)
            continue;
        if (counts ? told.balance > wanted && !repeated_.contains(topic) : wanted == 0 && told.stands)
            return violate(tag, topic, "the application was not told that nobody wants it any more");
    }
}

}  // namespace zlink::sim
