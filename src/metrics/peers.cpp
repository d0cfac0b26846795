// The peers as objects of JSON; see peers.hpp. Map: the numbers of one; the list; one that is
// there; one that has gone; who has a line of his own; all.
#include "metrics/peers.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <tuple>
#include <utility>

#include "metrics/snapshot.hpp"
#include "metrics/text.hpp"

namespace zlink::metrics {

namespace {

constexpr std::size_t most_octets_of_value = 256;

struct number {
    const char *name;
    std::uint64_t (*of)(const peer_view &peer) noexcept;
    bool is_most = false;  // of several peers the most, and not the sum
};
constexpr number numbers[] = {
    {"messages_sent", [](const peer_view &peer) noexcept { return peer.out.published.messages; }},
    {"messages_received", [](const peer_view &peer) noexcept { return peer.in.taken.messages; }},
    {"sent_bytes", [](const peer_view &peer) noexcept { return peer.out.published.octets; }},
    {"received_bytes", [](const peer_view &peer) noexcept { return peer.in.taken.octets; }},
    {"queue_messages_out", [](const peer_view &peer) noexcept { return peer.out.under_way().messages; }},
    {"queue_messages_in", [](const peer_view &peer) noexcept { return peer.in.under_way().messages; }},
    {"queue_bytes_out", [](const peer_view &peer) noexcept { return peer.out.under_way().octets; }},
    {"queue_bytes_in", [](const peer_view &peer) noexcept { return peer.in.under_way().octets; }},
    {"messages_dropped_hwm", [](const peer_view &peer) noexcept { return peer.dropped_hwm; }},
    {"queue_high_water_messages_out",
     [](const peer_view &peer) noexcept { return peer.highest_out.messages; }, true},
    {"queue_high_water_messages_in", [](const peer_view &peer) noexcept { return peer.highest_in.messages; },
     true},
    {"queue_high_water_bytes_out", [](const peer_view &peer) noexcept { return peer.highest_out.octets; },
     true},
    {"queue_high_water_bytes_in", [](const peer_view &peer) noexcept { return peer.highest_in.octets; },
     true},
    {"subscriptions", [](const peer_view &peer) noexcept { return peer.subscriptions; }},
    {"heartbeats", [](const peer_view &peer) noexcept { return peer.round_trips; }},
    {"heartbeat_nanoseconds",
     [](const peer_view &peer) noexcept { return static_cast<std::uint64_t>(peer.round_trip_sum.count()); }},
    {"last_heartbeat_nanoseconds",
     [](const peer_view &peer) noexcept { return static_cast<std::uint64_t>(peer.last_round_trip.count()); },
     true},
};

/// The larger, the sooner it gets a line of its own.
auto weight_of(const peer_view &peer) noexcept {
    return std::tuple(peer.out.under_way().messages + peer.in.under_way().messages, peer.dropped_hwm,
                      peer.out.published.messages + peer.in.taken.messages);
}

const char *name_of(peer_view::state at) noexcept {
    switch (at) {
    case peer_view::state::connecting:
        return "connecting";
    case peer_view::state::handshaking:
        return "handshaking";
    case peer_view::state::ready:
        return "ready";
    default:
        return "closing";
    }
}

/// A routing id in its own words where it has some, or else in hexadecimal behind 0x.
std::string readable(const std::string &routing_id) {
    if (std::all_of(routing_id.begin(), routing_id.end(), [](char c) { return c > 0x20 && c < 0x7F; }))
        return routing_id;
    constexpr const char *digits = "0123456789abcdef";
    std::string text = "0x";
    for (const unsigned char each : routing_id) {
        text += digits[each >> 4];
        text += digits[each & 15];
    }
    return text;
}

/// The list of objects in a text of JSON.
class list {
public:
    void begin(const std::string &context, const std::string &socket, const char *type) {
        text_ += text_.empty() ? "{" : ",{";
        is_first_ = true;
        add("context", context);
        add("socket", socket, most_octets_of_label);  // as with the numbers of sockets
        add("type", type);
    }
    void add(const char *name, std::string_view value, std::size_t most = most_octets_of_value) {
        add_name(name);
        text_ += '"';
        add_quoted(text_, value, most);
        text_ += '"';
    }
    void add(const char *name, std::uint64_t value) {
        add_name(name);
        text_ += std::to_string(value);
    }
    void add(const char *name, duration value) {
        using std::chrono::milliseconds;
        const auto count = std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(value).count());
        char digits[32];
        std::snprintf(digits, sizeof digits, "%" PRId64 ".%03d", count / 1000,
                      static_cast<int>(count % 1000));
        add_name(name);
        text_ += digits;
    }
    void end() { text_ += '}'; }
    const std::string &text() const noexcept { return text_; }

private:
    void add_name(const char *name) {
        text_.append(std::exchange(is_first_, false) ? "\"" : ",\"").append(name).append("\":");
    }

    std::string text_;
    bool is_first_ = true;
};

void add_peer(list &to, const peer_view &peer) {
    to.add("id", peer.id);
    to.add("endpoint", peer.endpoint);
    to.add("address", peer.address);
    to.add("routing_id", readable(peer.routing_id));
    to.add("user_id", peer.user_id);
    to.add("mechanism", peer.mechanism);
    to.add("tls_version", peer.tls_version);
    to.add("state", name_of(peer.at));
    to.add("connects", std::uint64_t{peer.is_connecting});
    to.add("ready_seconds", peer.ready_for);
    for (const number &each : numbers)
        to.add(each.name, each.of(peer));
}

void add_departure(list &to, const departure &who, time_point now) {
    const names_of_end ended = names_of(who.why);
    to.add("endpoint", who.endpoint);
    to.add("address", who.host);
    to.add("routing_id", readable(who.routing_id));
    to.add("user_id", who.user_id);
    to.add("connects", std::uint64_t{who.is_connecting});
    to.add("event", ended.number);
    to.add("reason", ended.reason);
    to.add("words", who.words);
    to.add("times", who.times);
    to.add("seconds_ago", now - who.last);
}

/// The larger, the sooner it is told.
auto weight_of(const departure &who) noexcept { return std::pair(who.times, who.last); }

/// The weight from which on somebody who has gone has a line.
auto first_told(const std::vector<peers_of_context> &all) {
    std::vector<decltype(weight_of(departure{}))> times;
    for (const peers_of_context &context : all)
        for (const socket_and_peers &socket : context.sockets)
            for (const departure &each : socket.gone)
                times.push_back(weight_of(each));
    if (times.size() <= most_peers)
        return decltype(weight_of(departure{}))();
    const auto at = times.begin() + (most_peers - 1);
    std::nth_element(times.begin(), at, times.end(), std::greater<>());
    return *at;
}

/// The weight from which on a peer has a line, and how many of just this weight have none.
auto weight_of_last(const std::vector<peers_of_context> &all) {
    std::vector<decltype(weight_of(peer_view{}))> weights;
    for (const peers_of_context &context : all)
        for (const socket_and_peers &socket : context.sockets)
            for (const peer_view &peer : socket.peers)
                weights.push_back(weight_of(peer));
    decltype(weight_of(peer_view{})) last{};
    std::size_t left = weights.size();
    if (weights.size() > most_peers) {
        const auto at = weights.begin() + (most_peers - 1);
        std::nth_element(weights.begin(), at, weights.end(), std::greater<>());
        last = *at;
        left = most_peers - static_cast<std::size_t>(std::count_if(
                                weights.begin(), at, [&](const auto &each) { return each > last; }));
    }
    return std::pair(last, left);
}

}  // namespace

std::string text_of(std::vector<peers_of_context> all) {
    auto [last, left_of_last] = weight_of_last(all);
    const auto first = first_told(all);
    list named, others, gone;
    bool is_whole = true;
    for (peers_of_context &context : all) {
        is_whole = is_whole && context.is_whole;
        std::sort(context.sockets.begin(), context.sockets.end(),
                  [](const auto &a, const auto &b) { return a.number < b.number; });
        names_of_sockets names;
        for (const socket_and_peers &socket : context.sockets) {
            const char *const type = socket_type_name(socket.type);
            const std::string name = names(socket.number, socket.name, type);
            for (const departure &each : socket.gone)
                if (weight_of(each) >= first) {
                    gone.begin(context.context, name, type);
                    add_departure(gone, each, context.now);
                    gone.end();
                }
            std::vector<const peer_view *> rest;
            for (const peer_view &peer : socket.peers) {
                const auto weight = weight_of(peer);
                if (weight < last || (weight == last && left_of_last == 0)) {
                    rest.push_back(&peer);
                    continue;
                }
                left_of_last -= weight == last ? 1 : 0;
                named.begin(context.context, name, type);
                add_peer(named, peer);
                named.end();
            }
            if (rest.empty())
                continue;
            others.begin(context.context, name, type);
            others.add("peers", rest.size());
            for (const number &each : numbers) {
                std::uint64_t sum = 0;
                for (const peer_view *const peer : rest)
                    sum = each.is_most ? std::max(sum, each.of(*peer)) : sum + each.of(*peer);
                others.add(each.name, sum);
            }
            others.end();
        }
    }
    return beginning_of_json() + "\"is_whole\":" + (is_whole ? "true" : "false") + ",\"peers\":[" +
           named.text() + "],\"others\":[" + others.text() + "],\"gone\":[" + gone.text() + "]}\n";
}

}  // namespace zlink::metrics
