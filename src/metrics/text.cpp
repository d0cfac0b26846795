// The numbers in the formats of Prometheus, of OpenMetrics and in JSON. See text.hpp.
//
// Map: the table of metrics; one writer for Prometheus and OpenMetrics, one for JSON.
#include "metrics/text.hpp"

#include <algorithm>
#include <array>
#include <boost/version.hpp>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string_view>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "core/built.hpp"
#include "core/event_log.hpp"
#include "memory/huge_blocks.hpp"
#include "memory/large_blocks.hpp"
#include "memory/lent_records.hpp"

namespace zlink::metrics {

namespace {

// ---- Who has which numbers: a bit for each type of socket, and one for what is summed ----

constexpr unsigned bit_of(socket_type type) noexcept { return 1u << static_cast<unsigned>(type); }
using t = socket_type;
constexpr unsigned of_sum = 1u << 31;
constexpr unsigned every_type = ~of_sum;
constexpr unsigned every = ~0u;
constexpr unsigned nobody = 0;
constexpr unsigned publishers = bit_of(t::pub) | bit_of(t::xpub);
constexpr unsigned subscribers = bit_of(t::sub) | bit_of(t::xsub);
constexpr unsigned senders = every_type & ~(bit_of(t::sub) | bit_of(t::pull));
constexpr unsigned receivers = every_type & ~(bit_of(t::pub) | bit_of(t::push));
constexpr unsigned waiters = senders & ~(publishers | bit_of(t::rep));
constexpr unsigned addressers = bit_of(t::router) | bit_of(t::stream);
constexpr unsigned droppers = publishers | addressers | bit_of(t::rep);
constexpr unsigned choosers = bit_of(t::req) | bit_of(t::rep) | bit_of(t::pub) | bit_of(t::push);

unsigned user_of(const line &of) noexcept { return of.known_type ? bit_of(*of.known_type) : of_sum; }

/// One number of a family: a counter or a field, and the label that tells it from the others.
struct member {
    std::uint64_t (*value)(const stats &of) noexcept;
    const char *label = nullptr;
    const char *key = nullptr;  // of a second label
    const char *second = nullptr;
    unsigned users = every;  // who has a line of it even while it is 0, beside JSON
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
    std::span<const member> sums = {};  // of members, for JSON
    const char *json_name = nullptr;    // of members, where JSON has another for them
};

using c = counter;
constexpr member with(member what, unsigned users) noexcept {
    what.users = users;
    return what;
}
constexpr member sent[] = {with({counted<c::messages_sent>}, senders | of_sum)};
constexpr member received[] = {with({counted<c::messages_received>}, receivers | of_sum)};
constexpr member octets_sent[] = {{counted<c::octets_sent>}};
constexpr member octets_received[] = {{counted<c::octets_received>}};
constexpr member dropped[] = {
    with({counted<c::dropped_hwm>, "hwm"}, droppers),
    with({counted<c::dropped_no_peer>, "no_peer"}, publishers | bit_of(t::xsub)),
    with({counted<c::dropped_unroutable>, "unroutable"}, addressers),
    with({counted<c::dropped_filtered_late>, "filtered_late"}, subscribers),
    with({counted<c::dropped_conflate>, "conflate"}, nobody),
    with({counted<c::dropped_linger>, "linger"}, senders),
    with({counted<c::dropped_too_large>, "too_large"}, receivers),
    with({counted<c::dropped_peer_gone>, "peer_gone"}, senders),
    with({counted<c::dropped_unread>, "unread"}, receivers),
    with({counted<c::dropped_unwanted>, "unwanted"}, choosers),
};
constexpr member blocked[] = {with({counted<c::sends_blocked>}, waiters)};
constexpr member blocked_time[] = {with({counted<c::nanoseconds_blocked>}, waiters)};
template <amount stats::*Queue, std::uint64_t amount::*Of>
std::uint64_t queued_in(const stats &of) noexcept {
    return of.*Queue.*Of;
}
constexpr member queued[] = {with({queued_in<&stats::queued_out, &amount::messages>, "out"}, senders),
                             with({queued_in<&stats::queued_in, &amount::messages>, "in"}, receivers)};
constexpr member queued_octets[] = {with({queued_in<&stats::queued_out, &amount::octets>, "out"}, senders),
                                    with({queued_in<&stats::queued_in, &amount::octets>, "in"}, receivers)};
constexpr member peers[] = {{field<&stats::peers>}};
template <std::size_t Transport>
std::uint64_t peers_over(const stats &of) noexcept {
    return of.peers_over[Transport];
}
constexpr const char *name_of_transport(std::size_t which) noexcept {
    return which == transport_inproc ? "inproc" : known_schemes[which].name.data();
}
template <std::size_t... Transport>
constexpr std::array<member, number_of_transports>
peers_by_transport(std::index_sequence<Transport...>) noexcept {
    return {with({peers_over<Transport>, name_of_transport(Transport)}, nobody)...};
}
constexpr auto peers_of_transports = peers_by_transport(std::make_index_sequence<number_of_transports>());
constexpr member slow_peers[] = {with({field<&stats::slow_peers>}, senders)};
constexpr member connects[] = {with({counted<c::connects>}, every_type)};
constexpr member accepts[] = {with({counted<c::accepts>}, every_type)};
constexpr member accepts_failed[] = {with({counted<c::accepts_failed>}, every_type)};
constexpr member reconnects[] = {
    with({counted<c::reconnects_ended>, "none"}, every_type),
    with({counted<c::reconnects_refused>, "ECONNREFUSED"}, every_type),
    with({counted<c::reconnects_reset>, "ECONNRESET"}, nobody),
    with({counted<c::reconnects_timed_out>, "ETIMEDOUT"}, nobody),
    with({counted<c::reconnects_host_unreachable>, "EHOSTUNREACH"}, nobody),
    with({counted<c::reconnects_network_unreachable>, "ENETUNREACH"}, nobody),
    with({counted<c::reconnects_no_entry>, "ENOENT"}, nobody),
    with({counted<c::reconnects_not_permitted>, "EACCES"}, nobody),
    with({counted<c::reconnects_protocol>, "EPROTO"}, nobody),
    with({counted<c::reconnects_other>, "other"}, nobody),
};
constexpr member all_reconnects[] = {{counted<c::reconnects>}};
constexpr member disconnects[] = {
    with({counted<c::disconnects_peer>, "peer"}, every_type),
    with({counted<c::disconnects_error>, "error"}, every_type),
    with({counted<c::disconnects_heartbeat>, "heartbeat"}, every_type),
    with({counted<c::disconnects_local>, "local"}, every_type),
    with({counted<c::disconnects_unbind>, "unbind"}, nobody),
    with({counted<c::disconnects_handover>, "handover"}, nobody),
};
template <handshake_failure Why>
std::uint64_t failed_handshakes(const stats &of) noexcept {
    return of.failed_handshakes(Why);
}
template <handshake_failure Why, std::size_t Mechanism>
constexpr member handshake(const char *why, const char *mechanism) noexcept {
    return {counted<counter_of(Why, Mechanism)>, why, "mechanism", mechanism,
            Mechanism == 0 ? every_type : nobody};
}
using hf = handshake_failure;
constexpr member handshakes[] = {
    handshake<hf::timeout, 0>("timeout", "NULL"),    handshake<hf::timeout, 1>("timeout", "PLAIN"),
    handshake<hf::timeout, 2>("timeout", "CURVE"),   handshake<hf::timeout, 3>("timeout", "none"),
    handshake<hf::protocol, 0>("protocol", "NULL"),  handshake<hf::protocol, 1>("protocol", "PLAIN"),
    handshake<hf::protocol, 2>("protocol", "CURVE"), handshake<hf::protocol, 3>("protocol", "none"),
    handshake<hf::auth, 0>("auth", "NULL"),          handshake<hf::auth, 1>("auth", "PLAIN"),
    handshake<hf::auth, 2>("auth", "CURVE"),         handshake<hf::auth, 3>("auth", "none"),
    handshake<hf::other, 0>("other", "NULL"),        handshake<hf::other, 1>("other", "PLAIN"),
    handshake<hf::other, 2>("other", "CURVE"),       handshake<hf::other, 3>("other", "none"),
};
constexpr member handshake_sums[] = {
    {failed_handshakes<hf::timeout>, "timeout"},
    {failed_handshakes<hf::protocol>, "protocol"},
    {failed_handshakes<hf::auth>, "auth"},
    {failed_handshakes<hf::other>, "other"},
};
constexpr member highest[] = {with({queued_in<&stats::highest_out, &amount::messages>, "out"}, senders),
                              with({queued_in<&stats::highest_in, &amount::messages>, "in"}, receivers)};
constexpr member highest_octets[] = {with({queued_in<&stats::highest_out, &amount::octets>, "out"}, senders),
                                     with({queued_in<&stats::highest_in, &amount::octets>, "in"}, receivers)};
constexpr member subscriptions[] = {with({field<&stats::subscriptions>}, publishers | subscribers)};
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
    {"zlink_queue_bytes", "Octets of these, and of commands among them.", false, "direction", queued_octets},
    {"zlink_queue_high_water_messages", "The most that was seen to wait in one queue.", false, "direction",
     highest},
    {"zlink_queue_high_water_bytes", "The most octets of these.", false, "direction", highest_octets},
    {"zlink_subscriptions", "Subscriptions of the peers of a publisher; of a subscriber, its own.", false,
     nullptr, subscriptions},
    {"zlink_peers", "Queues of peers, and of addresses connected to.", false, nullptr, peers},
    {"zlink_peers_by_transport",
     "These by transport, where there are any.",
     false,
     "transport",
     peers_of_transports,
     false,
     {},
     "peers"},
    {"zlink_slow_peers", "Peers whose queue is full.", false, nullptr, slow_peers},
    {"zlink_connects", "Connections begun by this side.", true, nullptr, connects},
    {"zlink_accepts", "Connections let in, before any handshake.", true, nullptr, accepts},
    {"zlink_accepts_failed", "Connections that could not be let in.", true, nullptr, accepts_failed},
    {"zlink_reconnect_attempts", "Attempts after one that failed, or a connection that broke.", true, "errno",
     reconnects, false, all_reconnects},
    {"zlink_disconnects", "Ends of connections behind their handshake.", true, "reason", disconnects},
    {"zlink_handshakes_failed", "Connections that ended before.", true, "reason", handshakes, false,
     handshake_sums, "failed_handshakes"},
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

/// Microseconds as seconds, in the way that a float is written.
void add_bound(std::string &to, std::uint32_t microseconds) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%u.%06u", microseconds / 1'000'000, microseconds % 1'000'000);
    std::string text(digits);
    while (text.ends_with('0') && !text.ends_with(".0"))
        text.pop_back();
    to += text;
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
            const std::uint64_t value = part.value(each.numbers);
            if (value == 0 && (part.users & user_of(each)) == 0)
                continue;
            to += which.name + suffix;
            add_labels(to, each);
            if (part.label)
                to.append(",").append(which.key).append("=\"").append(part.label).append("\"");
            if (part.second)
                to.append(",").append(part.key).append("=\"").append(part.second).append("\"");
            to += "} ";
            add_number(to, value, which.is_nanoseconds);
            to += '\n';
        }
}

/// A histogram, of the sockets that have one: with more and more in its classes, as Prometheus
/// wants them.
void add_round_trips(std::string &to, std::span<const line> lines) {
    const std::string name = "zlink_heartbeat_rtt_seconds";
    to += "# HELP " + name + " Times from a PING to its PONG.\n# TYPE " + name + " histogram\n";
    for (const line &each : lines) {
        if (each.numbers.round_trips() == 0)
            continue;
        std::uint64_t so_far = 0;
        for (std::size_t i = 0; i < number_of_round_trip_classes; ++i) {
            so_far += each.numbers[counter_of_round_trip(i)];
            to += name + "_bucket";
            add_labels(to, each);
            to += ",le=\"";
            if (i < round_trip_bounds.size())
                add_bound(to, round_trip_bounds[i]);
            else
                to += "+Inf";
            to += "\"} ";
            add_number(to, so_far, false);
            to += '\n';
        }
        to += name + "_count";
        add_labels(to, each);
        to += "} ";
        add_number(to, so_far, false);
        to += '\n' + name + "_sum";
        add_labels(to, each);
        to += "} ";
        add_number(to, each.numbers[counter::nanoseconds_of_round_trips], true);
        to += '\n';
    }
}

/// The name that programs are linked with.
constexpr const char *name_of_abi = "libzmq.so.5";
constexpr const char *yes_or_no(bool is) noexcept { return is ? "yes" : "no"; }

void add_build(std::string &to, bool is_open) {
    const char *const name = "zlink_build";
    to += std::string("# HELP ") + name + (is_open ? "" : "_info") + " The library.\n# TYPE " + name +
          (is_open ? " info\n" : "_info gauge\n");
    to += "zlink_build_info{version=\"";
    add_quoted(to, event_log::name_of_library());
    const auto add = [&to](const char *label, const char *value) {
        to.append("\",").append(label).append("=\"").append(value);
    };
    add("abi", name_of_abi);
    add("tls", yes_or_no(tls_is_built));
    add("curve", yes_or_no(curve_is_built));
    add("boost", BOOST_LIB_VERSION);
    to += "\"} 1\n";
}

// ---- contexts and their I/O threads ----

struct thread_member {
    std::uint64_t (*value)(const io_thread_numbers &of) noexcept;
    const char *call = nullptr;  // a label
};
template <std::uint64_t io_thread_numbers::*Which>
std::uint64_t of_thread(const io_thread_numbers &of) noexcept {
    return of.*Which;
}
std::uint64_t busy_of(const io_thread_numbers &of) noexcept {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(of.busy).count());
}
using io = io_thread_numbers;
constexpr thread_member wakeups[] = {{of_thread<&io::wakeups>}};
constexpr thread_member calls[] = {
    {of_thread<&io::reads>, "read"}, {of_thread<&io::writes>, "write"}, {of_thread<&io::polls>, "poll"}};
constexpr thread_member busy[] = {{busy_of}};

struct thread_family {
    const char *name;  // without _total
    const char *help;
    std::span<const thread_member> members;
    bool is_nanoseconds = false;
};
const thread_family thread_families[] = {
    {"zlink_io_wakeups", "Sleeps of an I/O thread that have ended.", wakeups},
    {"zlink_system_calls", "System calls of an I/O thread, as far as they are counted.", calls},
    {"zlink_io_busy_seconds", "Processor time of an I/O thread.", busy, true},
};

struct memory_kind {
    const char *kind;
    std::uint64_t (*octets)(const context_line &of) noexcept;
};
constexpr memory_kind kinds_of_context[] = {
    {"queue", [](const context_line &of) noexcept { return of.queued_octets; }},
    {"spare", [](const context_line &of) noexcept { return of.numbers.spare_octets; }},
    {"used", [](const context_line &of) noexcept { return of.numbers.used_octets; }},
};
struct memory_of_process {
    const char *kind;
    std::size_t (*octets)() noexcept;
};
constexpr memory_of_process kinds_of_process[] = {
    {"large", large_blocks::kept_octets},
    {"huge", huge_blocks::idle_octets},
    {"lent", lent_records::idle_octets},
    {"ring", context::shared_octets},
};

std::string name_of_thread(std::size_t index) {
    return index < most_threads ? std::to_string(index) : "_other";
}

/// The beginning of a line, up to a last label that is still open.
void begin_line(std::string &to, const std::string &name, const std::string &context, const char *key) {
    to += name + "{context=\"";
    add_quoted(to, context);
    to.append("\",").append(key).append("=\"");
}
void end_line(std::string &to, std::uint64_t value, bool is_nanoseconds = false) {
    to += "\"} ";
    add_number(to, value, is_nanoseconds);
    to += '\n';
}

void add_thread_family(std::string &to, const thread_family &which, std::span<const context_line> contexts,
                       bool is_open) {
    const std::string total = std::string(which.name) + "_total", head = is_open ? which.name : total;
    to += "# HELP " + head + ' ' + which.help + "\n# TYPE " + head + " counter\n";
    for (const context_line &context : contexts)
        for (std::size_t i = 0; i < context.threads.size(); ++i)
            for (const thread_member &part : which.members) {
                begin_line(to, total, context.context, "thread");
                to += name_of_thread(i);
                if (part.call)
                    to.append("\",call=\"").append(part.call);
                end_line(to, part.value(context.threads[i]), which.is_nanoseconds);
            }
}

void add_contexts(std::string &to, std::span<const context_line> contexts, bool is_open) {
    for (const thread_family &each : thread_families)
        add_thread_family(to, each, contexts, is_open);
    to += "# HELP zlink_open_descriptors Descriptors of I/O threads, sockets, connections, listeners and "
          "event loops.\n"
          "# TYPE zlink_open_descriptors gauge\n";
    for (const context_line &each : contexts) {
        to += "zlink_open_descriptors{context=\"";
        add_quoted(to, each.context);
        end_line(to, each.numbers.descriptors);
    }
    const std::string memory = "zlink_memory_bytes";
    to += "# HELP " + memory +
          " Octets in queues, of memory in use, and of memory that is kept for what comes.\n# TYPE " +
          memory + " gauge\n";
    for (const context_line &each : contexts)
        for (const memory_kind &of : kinds_of_context) {
            begin_line(to, memory, each.context, "kind");
            to += of.kind;
            end_line(to, of.octets(each));
        }
    for (const memory_of_process &of : kinds_of_process) {
        begin_line(to, memory, "_process", "kind");
        to += of.kind;
        end_line(to, of.octets());
    }
}

std::string exposition_of(const numbers_of_contexts &all, bool is_open) {
    const std::span<const line> lines = all.sockets;
    std::string text;
    add_build(text, is_open);
    for (const family &each : families)
        add_family(text, each, lines, is_open);
    add_round_trips(text, lines);
    add_contexts(text, all.contexts, is_open);
    if (is_open)
        text += "# EOF\n";
    return text;
}

void add_json(std::string &to, const std::string &name, std::uint64_t value, bool is_nanoseconds) {
    to += ",\"" + name + "\":";
    add_number(to, value, is_nanoseconds);
}

/// `name`: without zlink_.
void add_member(std::string &to, const family &which, std::string name, const member &part, const stats &of) {
    for (const char *const label : {part.label, part.second})
        if (label)
            name.append("_").append(label);
    add_json(to, name, part.value(of), which.is_nanoseconds);
}

/// The contexts, and the memory of the process.
std::string json_of_contexts(std::span<const context_line> contexts) {
    std::string text = "\"contexts\":[";
    for (const context_line &each : contexts) {
        text += &each == contexts.data() ? "{\"context\":\"" : ",{\"context\":\"";
        add_quoted(text, each.context);
        text += '"';
        add_json(text, "open_descriptors", each.numbers.descriptors, false);
        for (const memory_kind &of : kinds_of_context)
            add_json(text, std::string("memory_bytes_") + of.kind, of.octets(each), false);
        text += ",\"threads\":[";
        for (std::size_t i = 0; i < each.threads.size(); ++i) {
            text += (i ? ",{\"thread\":\"" : "{\"thread\":\"") + name_of_thread(i) + '"';
            for (const thread_family &which : thread_families)
                for (const thread_member &part : which.members)
                    add_json(text,
                             which.name + 6 + (part.call ? std::string("_") + part.call : std::string()),
                             part.value(each.threads[i]), which.is_nanoseconds);
            text += '}';
        }
        text += "]}";
    }
    text += ']';
    for (const memory_of_process &of : kinds_of_process)
        add_json(text, std::string("memory_bytes_") + of.kind, of.octets(), false);
    return text;
}

std::string json_of(const numbers_of_contexts &all) {
    const std::span<const line> lines = all.sockets;
    std::string text = beginning_of_json() + json_of_contexts(all.contexts) + ",\"sockets\":[";
    for (const line &each : lines) {
        text += &each == lines.data() ? "{\"context\":\"" : ",{\"context\":\"";
        add_quoted(text, each.context);
        text += "\",\"socket\":\"";
        add_quoted(text, each.socket);
        text += "\",\"type\":\"";
        add_quoted(text, each.type);
        text += '"';
        for (const family &which : families) {
            for (const member &part : which.members)
                add_member(text, which, which.json_name ? which.json_name : which.name + 6, part,
                           each.numbers);
            for (const member &part : which.sums)
                add_member(text, which, which.name + 6, part, each.numbers);
        }
        add_json(text, "heartbeat_round_trips", each.numbers.round_trips(), false);
        add_json(text, "heartbeat_round_trip_seconds", each.numbers[counter::nanoseconds_of_round_trips],
                 true);
        text += '}';
    }
    return text + "]}\n";
}

}  // namespace

std::string text_of(const numbers_of_contexts &all, format how) {
    return how == format::json ? json_of(all) : exposition_of(all, how == format::open_metrics);
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
