// Map: the table of metrics; one writer for Prometheus and OpenMetrics, one for JSON.
#include "metrics/text.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string_view>
#include <time.h>
#include <unistd.h>

#include "core/event_log.hpp"

namespace zlink::metrics {

namespace {

/// One number of a family: a counter or a field, and the label that tells it from the others.
struct member {
    std::uint64_t (*value)(const stats &of) noexcept;
    const char *label = nullptr;
};
template <counter Which>
std::uint64_t counted(const stats &of) noexcept {
    return of[Which];
}
template <std::uint64_t stats::*Which>
std::uint64_t field(const stats &of) noexcept {
    return of.*Which;
}

struct family {
    const char *name;  // without _total
    const char *help;
    bool only_grows;
    const char *key = nullptr;  // of the members' labels
    std::span<const member> members;
    bool is_nanoseconds = false;
};

using c = counter;
constexpr member sent[] = {{counted<c::messages_sent>}};
constexpr member received[] = {{counted<c::messages_received>}};
constexpr member octets_sent[] = {{counted<c::octets_sent>}};
constexpr member octets_received[] = {{counted<c::octets_received>}};
constexpr member dropped[] = {
    {counted<c::dropped_hwm>, "hwm"},
    {counted<c::dropped_no_peer>, "no_peer"},
    {counted<c::dropped_unroutable>, "unroutable"},
    {counted<c::dropped_filtered_late>, "filtered_late"},
    {counted<c::dropped_conflate>, "conflate"},
    {counted<c::dropped_linger>, "linger"},
    {counted<c::dropped_too_large>, "too_large"},
    {counted<c::dropped_peer_gone>, "peer_gone"},
    {counted<c::dropped_unread>, "unread"},
    {counted<c::dropped_unwanted>, "unwanted"},
};
constexpr member blocked[] = {{counted<c::sends_blocked>}};
constexpr member blocked_time[] = {{counted<c::nanoseconds_blocked>}};
template <amount stats::*Queue, std::uint64_t amount::*Of>
std::uint64_t queued_in(const stats &of) noexcept {
    return of.*Queue.*Of;
}
constexpr member queued[] = {{queued_in<&stats::queued_out, &amount::messages>, "out"},
                             {queued_in<&stats::queued_in, &amount::messages>, "in"}};
constexpr member queued_octets[] = {{queued_in<&stats::queued_out, &amount::octets>, "out"},
                                    {queued_in<&stats::queued_in, &amount::octets>, "in"}};
constexpr member peers[] = {{field<&stats::peers>}};
constexpr member slow_peers[] = {{field<&stats::slow_peers>}};
constexpr member connects[] = {{counted<c::connects>}};
constexpr member accepts[] = {{counted<c::accepts>}};
constexpr member accepts_failed[] = {{counted<c::accepts_failed>}};
constexpr member reconnects[] = {{counted<c::reconnects>}};
constexpr member disconnects[] = {
    {counted<c::disconnects_peer>, "peer"},
    {counted<c::disconnects_error>, "error"},
    {counted<c::disconnects_heartbeat>, "heartbeat"},
    {counted<c::disconnects_local>, "local"},
};
constexpr member handshakes[] = {
    {counted<c::handshakes_failed_timeout>, "timeout"},
    {counted<c::handshakes_failed_protocol>, "protocol"},
    {counted<c::handshakes_failed_auth>, "auth"},
    {counted<c::handshakes_failed_other>, "other"},
};
constexpr member sockets[] = {{field<&stats::sockets>}};

const family families[] = {
    {"zlink_messages_sent", "Messages given to the queues of peers, once for each peer.", true, nullptr,
     sent},
    {"zlink_messages_received", "Messages taken by the application.", true, nullptr, received},
    {"zlink_sent_bytes", "Octets of the messages sent, with the headers of their parts.", true, nullptr,
     octets_sent},
    {"zlink_received_bytes", "Octets of the messages that peers have brought, with headers.", true, nullptr,
     octets_received},
    {"zlink_messages_dropped", "Messages that ended unread.", true, "reason", dropped},
    {"zlink_send_blocked", "Sends that waited for room.", true, nullptr, blocked},
    {"zlink_send_blocked_seconds", "Time that sends have waited for room.", true, nullptr, blocked_time,
     true},
    {"zlink_queue_messages", "Messages that wait in the queues.", false, "direction", queued},
    {"zlink_queue_bytes", "Octets of these.", false, "direction", queued_octets},
    {"zlink_peers", "Queues of peers, and of addresses connected to.", false, nullptr, peers},
    {"zlink_slow_peers", "Peers whose queue is full.", false, nullptr, slow_peers},
    {"zlink_connects", "Connections begun by this side.", true, nullptr, connects},
    {"zlink_accepts", "Connections let in, before any handshake.", true, nullptr, accepts},
    {"zlink_accepts_failed", "Connections that could not be let in.", true, nullptr, accepts_failed},
    {"zlink_reconnect_attempts", "Attempts after one that failed, or a connection that broke.", true, nullptr,
     reconnects},
    {"zlink_disconnects", "Ends of connections behind their handshake.", true, "reason", disconnects},
    {"zlink_handshakes_failed", "Connections that ended before.", true, "reason", handshakes},
    {"zlink_sockets", "Open sockets.", false, nullptr, sockets},
};

void add_number(std::string &to, std::uint64_t value, bool is_nanoseconds) {
    char digits[48];
    if (is_nanoseconds)
        std::snprintf(digits, sizeof digits, "%" PRIu64 ".%09" PRIu64, value / 1'000'000'000,
                      value % 1'000'000'000);
    else
        std::snprintf(digits, sizeof digits, "%" PRIu64, value);
    to += digits;
}

void add_labels(std::string &to, const line &of) {
    to += "{context=\"";
    add_quoted(to, of.context);
    to += "\",socket=\"";
    add_quoted(to, of.socket);
    to += "\",type=\"";
    add_quoted(to, of.type);
    to += '"';
}

void add_family(std::string &to, const family &which, std::span<const line> lines, bool is_open) {
    const std::string suffix = which.only_grows ? "_total" : "";
    const std::string head = which.name + (is_open ? std::string() : suffix);
    to += "# HELP " + head + ' ' + which.help + '\n';
    to += "# TYPE " + head + (which.only_grows ? " counter\n" : " gauge\n");
    for (const line &each : lines)
        for (const member &part : which.members) {
            to += which.name + suffix;
            add_labels(to, each);
            if (part.label)
                to.append(",").append(which.key).append("=\"").append(part.label).append("\"");
            to += "} ";
            add_number(to, part.value(each.numbers), which.is_nanoseconds);
            to += '\n';
        }
}

void add_build(std::string &to, bool is_open) {
    const char *const name = "zlink_build";
    to += std::string("# HELP ") + name + (is_open ? "" : "_info") + " The library.\n# TYPE " + name +
          (is_open ? " info\n" : "_info gauge\n");
    to += "zlink_build_info{version=\"";
    add_quoted(to, event_log::name_of_library());
    to += "\"} 1\n";
}

std::string exposition_of(std::span<const line> lines, bool is_open) {
    std::string text;
    add_build(text, is_open);
    for (const family &each : families)
        add_family(text, each, lines, is_open);
    if (is_open)
        text += "# EOF\n";
    return text;
}

std::string json_of(std::span<const line> lines) {
    std::string text = beginning_of_json() + "\"sockets\":[";
    for (const line &each : lines) {
        text += &each == lines.data() ? "{\"context\":\"" : ",{\"context\":\"";
        add_quoted(text, each.context);
        text += "\",\"socket\":\"";
        add_quoted(text, each.socket);
        text += "\",\"type\":\"";
        add_quoted(text, each.type);
        text += '"';
        for (const family &which : families)
            for (const member &part : which.members) {
                text.append(",\"").append(which.name + 6);  // without zlink_
                if (part.label)
                    text.append("_").append(part.label);
                text += "\":";
                add_number(text, part.value(each.numbers), which.is_nanoseconds);
            }
        text += '}';
    }
    return text + "]}\n";
}

}  // namespace

std::string text_of(std::span<const line> lines, format how) {
    return how == format::json ? json_of(lines) : exposition_of(lines, how == format::open_metrics);
}

names_of_end names_of(counter which) noexcept {
    stats one;
    one[which] = 1;
    for (const member &each : disconnects)
        if (each.value(one) != 0)
            return {"disconnects", each.label};
    for (const member &each : handshakes)
        if (each.value(one) != 0)
            return {"handshakes_failed", each.label};
    return {"disconnects", "local"};
}

std::string beginning_of_json() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "\",\"process\":%d,\"time\":%lld.%03ld,", ::getpid(),
                  static_cast<long long>(now.tv_sec), now.tv_nsec / 1'000'000);
    std::string text = "{\"library\":\"";
    add_quoted(text, event_log::name_of_library());
    return text + numbers;
}

const char *media_type(format how) noexcept {
    switch (how) {
    case format::open_metrics:
        return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    case format::json:
        return "application/json";
    default:
        return "text/plain; version=0.0.4; charset=utf-8";
    }
}

}  // namespace zlink::metrics
