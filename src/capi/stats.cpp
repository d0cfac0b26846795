// The numbers of sockets and contexts: zlink_stats, zlink_peers, zlink_stats_text.
//
// Map: which counter stands in which member; a socket's numbers and a peer's as they are told; the
// functions.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/handles.hpp"
#include "metrics/exporter.hpp"
#include "socket/stats.hpp"
#include "zmq.h"

using namespace zlink;
using namespace zlink::capi;

namespace {

using field = std::uint64_t zlink_stats_t::*;

constexpr std::pair<field, counter> counted_fields[] = {
    {&zlink_stats_t::messages_sent, counter::messages_sent},
    {&zlink_stats_t::messages_received, counter::messages_received},
    {&zlink_stats_t::octets_sent, counter::octets_sent},
    {&zlink_stats_t::octets_received, counter::octets_received},
    {&zlink_stats_t::dropped_hwm, counter::dropped_hwm},
    {&zlink_stats_t::dropped_no_peer, counter::dropped_no_peer},
    {&zlink_stats_t::dropped_unroutable, counter::dropped_unroutable},
    {&zlink_stats_t::dropped_filtered_late, counter::dropped_filtered_late},
    {&zlink_stats_t::dropped_conflate, counter::dropped_conflate},
    {&zlink_stats_t::dropped_linger, counter::dropped_linger},
    {&zlink_stats_t::dropped_too_large, counter::dropped_too_large},
    {&zlink_stats_t::dropped_peer_gone, counter::dropped_peer_gone},
    {&zlink_stats_t::dropped_unread, counter::dropped_unread},
    {&zlink_stats_t::dropped_unwanted, counter::dropped_unwanted},
    {&zlink_stats_t::sends_blocked, counter::sends_blocked},
    {&zlink_stats_t::send_blocked_nanoseconds, counter::nanoseconds_blocked},
    {&zlink_stats_t::connects, counter::connects},
    {&zlink_stats_t::accepts, counter::accepts},
    {&zlink_stats_t::accepts_failed, counter::accepts_failed},
    {&zlink_stats_t::reconnects, counter::reconnects},
    {&zlink_stats_t::disconnects_peer, counter::disconnects_peer},
    {&zlink_stats_t::disconnects_error, counter::disconnects_error},
    {&zlink_stats_t::disconnects_heartbeat, counter::disconnects_heartbeat},
    {&zlink_stats_t::disconnects_local, counter::disconnects_local},
    {&zlink_stats_t::disconnects_unbind, counter::disconnects_unbind},
    {&zlink_stats_t::disconnects_handover, counter::disconnects_handover},
    {&zlink_stats_t::reconnects_ended, counter::reconnects_ended},
    {&zlink_stats_t::reconnects_refused, counter::reconnects_refused},
    {&zlink_stats_t::reconnects_reset, counter::reconnects_reset},
    {&zlink_stats_t::reconnects_timed_out, counter::reconnects_timed_out},
    {&zlink_stats_t::reconnects_host_unreachable, counter::reconnects_host_unreachable},
    {&zlink_stats_t::reconnects_network_unreachable, counter::reconnects_network_unreachable},
    {&zlink_stats_t::reconnects_no_entry, counter::reconnects_no_entry},
    {&zlink_stats_t::reconnects_not_permitted, counter::reconnects_not_permitted},
    {&zlink_stats_t::reconnects_protocol, counter::reconnects_protocol},
    {&zlink_stats_t::reconnects_other, counter::reconnects_other},
    {&zlink_stats_t::heartbeat_nanoseconds, counter::nanoseconds_of_round_trips},
};
constexpr std::size_t number_of_failed_handshakes = 4 * number_of_mechanisms;
static_assert(std::size(counted_fields) + number_of_round_trip_classes + number_of_failed_handshakes ==
              number_of_counters);

struct handshake_fields {
    handshake_failure why;
    field sum;
    std::uint64_t (zlink_stats_t::*each)[number_of_mechanisms];
};
constexpr handshake_fields failed_handshakes[] = {
    {handshake_failure::timeout, &zlink_stats_t::handshakes_failed_timeout,
     &zlink_stats_t::handshakes_failed_timeout_by},
    {handshake_failure::protocol, &zlink_stats_t::handshakes_failed_protocol,
     &zlink_stats_t::handshakes_failed_protocol_by},
    {handshake_failure::auth, &zlink_stats_t::handshakes_failed_auth,
     &zlink_stats_t::handshakes_failed_auth_by},
    {handshake_failure::other, &zlink_stats_t::handshakes_failed_other,
     &zlink_stats_t::handshakes_failed_other_by},
};

zlink_stats_t as_told(const stats &what) noexcept {
    zlink_stats_t told{};
    for (const auto &[to, from] : counted_fields)
        told.*to = what[from];
    for (const handshake_fields &to : failed_handshakes) {
        told.*to.sum = what.failed_handshakes(to.why);
        for (std::size_t mechanism = 0; mechanism < number_of_mechanisms; ++mechanism)
            (told.*to.each)[mechanism] = what[counter_of(to.why, mechanism)];
    }
    told.heartbeats = what.round_trips();
    told.highest_out = what.highest_out.messages;
    told.highest_in = what.highest_in.messages;
    told.highest_out_octets = what.highest_out.octets;
    told.highest_in_octets = what.highest_in.octets;
    told.subscriptions = what.subscriptions;
    told.queued_out = what.queued_out.messages;
    told.queued_in = what.queued_in.messages;
    told.queued_out_octets = what.queued_out.octets;
    told.queued_in_octets = what.queued_in.octets;
    told.peers = what.peers;
    told.slow_peers = what.slow_peers;
    told.sockets = what.sockets;
    return told;
}

zlink_peer_t as_told(const peer_view &what) noexcept {
    return {.endpoint = what.endpoint.c_str(),
            .address = what.address.c_str(),
            .mechanism = what.mechanism,
            .user_id = what.user_id.c_str(),
            .routing_id = what.routing_id.data(),
            .routing_id_size = what.routing_id.size(),
            .state = static_cast<int>(what.at),
            .is_connecting = what.is_connecting,
            .messages_sent = what.out.published.messages,
            .messages_received = what.in.taken.messages,
            .octets_sent = what.out.published.octets,
            .octets_received = what.in.taken.octets,
            .queued_out = what.out.under_way().messages,
            .queued_in = what.in.under_way().messages,
            .queued_out_octets = what.out.under_way().octets,
            .queued_in_octets = what.in.under_way().octets,
            .dropped_hwm = what.dropped_hwm,
            .id = what.id,
            .tls_version = what.tls_version,
            .highest_out = what.highest_out.messages,
            .highest_in = what.highest_in.messages,
            .highest_out_octets = what.highest_out.octets,
            .highest_in_octets = what.highest_in.octets,
            .subscriptions = what.subscriptions,
            .heartbeats = what.round_trips,
            .heartbeat_nanoseconds = static_cast<std::uint64_t>(what.round_trip_sum.count()),
            .last_heartbeat_nanoseconds = static_cast<std::uint64_t>(what.last_round_trip.count())};
}

void add_numbers(zlink_stats_t &to, context &of) noexcept {
    const context_numbers found = of.numbers();
    to.io_threads = found.threads;
    to.io_wakeups = found.all.wakeups;
    to.io_polls = found.all.polls;
    to.io_reads = found.all.reads;
    to.io_writes = found.all.writes;
    to.io_busy_nanoseconds = static_cast<std::uint64_t>(std::chrono::nanoseconds(found.all.busy).count());
    to.open_descriptors = found.descriptors;
    to.spare_octets = found.spare_octets;
}

bool find_stats(void *socket_or_context, zlink_stats_t &out) noexcept {
    stats found;
    if (const socket *const one = socket_of(socket_or_context)) {
        one->add_to(found, found);
        out = as_told(found);
        return true;
    }
    const std::shared_ptr<context> whole = context_of(socket_or_context);
    if (!whole)
        return false;
    found = whole->get_stats();
    out = as_told(found);
    add_numbers(out, *whole);
    return true;
}

}  // namespace

int zlink_stats(void *socket_or_context, zlink_stats_t *stats, size_t size) {
    zlink_stats_t told;
    if (!find_stats(socket_or_context, told))
        return fail(error::not_socket);
    if (!stats)
        return fail(error::fault);
    tell(told, stats, size);
    return 0;
}

int zlink_stats_text(void *context, int format, void (*write)(void *arg, const char *text, size_t size),
                     void *arg) {
    return guarded([&] {
        const std::shared_ptr<zlink::context> found = context_of(context);
        if (!found || !write)
            return fail(error::fault);
        if (format < ZLINK_STATS_PROMETHEUS || format > ZLINK_STATS_JSON)
            return fail(error::invalid);
        const std::string text = metrics::numbers_of(*found, static_cast<metrics::format>(format));
        write(arg, text.data(), text.size());
        return 0;
    });
}

int zlink_peers(void *s, int (*each)(void *arg, const zlink_peer_t *peer, size_t size), void *arg) {
    return guarded([&] {
        const socket *const self = socket_of(s);
        if (!self || !each)
            return fail(self ? error::fault : error::not_socket);
        std::vector<peer_view> found;
        if (const error e = self->list_peers(found); failed(e))
            return fail(e);
        int shown = 0;
        for (const peer_view &one : found) {
            const zlink_peer_t told = as_told(one);
            ++shown;
            if (each(arg, &told, sizeof told) != 0)
                break;
        }
        return shown;
    });
}
