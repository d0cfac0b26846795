// The table of socket options.
//
// One row an option: its number, the socket types that have it, and a rule that says which field it
// stands for, what it accepts and which way it can be used. An option that fits no rule has a pair
// of functions.
// Order:    the parts of a row; mechanisms; filters; the other specials; the table; the functions
//           of options.hpp.
#include "socket/options.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>

#include "core/built.hpp"
#include "core/curve_secret_key.hpp"
#include "core/names.hpp"
#include "core/z85.hpp"
#include "socket/accept_filter.hpp"
#include "socket/option_rules.hpp"

#ifndef ZMQ_BUILD_DRAFT_API
#error "the option table knows the draft numbers: define ZMQ_BUILD_DRAFT_API"
#endif

namespace zlink {

namespace {

using namespace option_rules;

// ---- The parts of a row -------------------------------------------------------------------------

template <typename... Types>
constexpr unsigned only(Types... types) noexcept {
    return ((1u << static_cast<unsigned>(types)) | ...);
}

constexpr unsigned every_type = ~0u;
// In libzmq a PUB is an XPUB, a REP is a ROUTER and a REQ is a DEALER; their options come along.
constexpr unsigned publishers = only(socket_type::pub, socket_type::xpub);
constexpr unsigned routers = only(socket_type::rep, socket_type::router);
constexpr unsigned both_ways =
    only(socket_type::pair, socket_type::dealer, socket_type::router);  // any message, at any time
constexpr unsigned probers =
    only(socket_type::req, socket_type::rep, socket_type::dealer, socket_type::router);

constexpr int all_reconnect_stops = reconnect_stop_on::connection_refused |
                                    reconnect_stop_on::handshake_failed | reconnect_stop_on::disconnect;

struct option_row {
    int number;
    unsigned types;
    rule how;
};

// ---- Mechanisms: PLAIN and CURVE options choose the mechanism as they are set -------------------

bool is_server(const settings &s) noexcept { return s.plain_server || s.curve_server; }

void choose_mechanism(settings &s, mechanism_kind kind, bool server) noexcept {
    s.mechanism = kind;
    s.plain_server = server && kind == mechanism_kind::plain;
    s.curve_server = server && kind == mechanism_kind::curve;
}

error get_mechanism(const settings &s, void *out, std::size_t *size) {
    return write_as(static_cast<int>(s.mechanism), out, size);
}

error set_server(settings &s, mechanism_kind kind, option_value value) {
    const auto on = read_as<int>(value);
    if (!on || !accepts(truth::zero_or_one, *on))
        return error::invalid;
    choose_mechanism(s, *on ? kind : mechanism_kind::null, *on);
    return error::none;
}

error set_plain_server(settings &s, option_value value) {
    return set_server(s, mechanism_kind::plain, value);
}
error get_plain_server(const settings &s, void *out, std::size_t *size) {
    return write_as(int{s.plain_server}, out, size);
}

/// A client's user name or password: a null one takes the mechanism back and leaves the text.
template <auto field>
error set_plain_text(settings &s, option_value value) {
    if (!value.data() && value.empty()) {
        choose_mechanism(s, mechanism_kind::null, is_server(s));
        return error::none;
    }
    if (value.empty() || value.size() > 255)
        return error::invalid;
    s.*field = as_text(value);
    choose_mechanism(s, mechanism_kind::plain, false);
    return error::none;
}
template <auto field>
error get_text(const settings &s, void *out, std::size_t *size) {
    return write_text(s.*field, out, size);
}

error set_curve_server(settings &s, option_value value) {
    return curve_is_built ? set_server(s, mechanism_kind::curve, value) : error::invalid;
}
error get_curve_server(const settings &s, void *out, std::size_t *size) {
    return curve_is_built ? write_as(int{s.curve_server}, out, size) : error::invalid;
}

#ifdef ZLINK_WITH_TLS
template <auto field>
error set_path(settings &s, option_value value) {
    if (has_nul(value))
        return error::invalid;
    s.*field = as_text(value);
    return error::none;
}

/// Text that was given instead of a file is not told.
template <auto field>
error get_path(const settings &s, void *out, std::size_t *size) {
    const std::string &text = s.*field;
    return settings::is_pem(text) ? write_text({}, out, size) : write_text(text, out, size);
}

template <auto field>
error set_pem(settings &s, option_value value) {
    if (!value.empty() && !settings::is_pem(as_text(value)))
        return error::invalid;
    s.*field = as_text(value);
    return error::none;
}

error set_password(settings &s, option_value value) {
    constexpr std::size_t longest = 255;
    if (value.size() > longest || has_nul(value))
        return error::invalid;
    s.tls_password = as_text(value);
    return error::none;
}

/// It may end, as in libzmq, with a NUL, which is not part of it.
error set_hostname_of_drafts(settings &s, option_value value) {
    if (!value.empty() && value.back() == 0)
        value = value.first(value.size() - 1);
    if (value.size() > 255 || has_nul(value))
        return error::invalid;
    s.tls_hostname = as_text(value);
    return error::none;
}

error set_trust_system(settings &s, option_value value) {
    const auto on = read_as<int>(value);
    if (!on || !accepts(truth::zero_or_one, *on))
        return error::invalid;
    s.tls_trust_system = *on;
    return error::none;
}
#endif

/// It stands in a line of a request: nothing in it may end that line.
error set_origin(settings &s, option_value value) {
    if (!ws_is_built ||
        !std::ranges::all_of(value, [](std::uint8_t octet) { return octet >= ' ' && octet < 0x7f; }))
        return error::invalid;
    s.web_origin = as_text(value);
    return error::none;
}
error get_origin(const settings &s, void *out, std::size_t *size) {
    return ws_is_built ? write_text(s.web_origin, out, size) : error::invalid;
}

constexpr std::size_t curve_key_size = curve_secret_key::octets;
constexpr std::size_t curve_key_text_size = z85_text_size(curve_key_size);

/// A key: 32 octets, or 40 characters of Z85 with or without a NUL. The server's key makes this end
///        a client.
template <auto field, bool of_the_server>
error set_curve_key(settings &s, option_value value) {
    if (!curve_is_built || !value.data())
        return error::invalid;
    curve_secret_key key;
    const bool has_nul = value.size() == curve_key_text_size + 1 && value.back() == 0;
    if (value.size() != curve_key_size) {
        if (!(value.size() == curve_key_text_size || has_nul) ||
            !z85_decode(as_text(value.first(curve_key_text_size)), key.data()))
            return error::invalid;
        value = key;
    }
    s.*field = as_text(value);
    choose_mechanism(s, mechanism_kind::curve, !of_the_server && is_server(s));
    return error::none;
}

/// Gives a key: 32 octets, or 41 characters with the NUL. A key that is not set reads as zeros.
template <auto field>
error get_curve_key(const settings &s, void *out, std::size_t *size) {
    if (!curve_is_built)
        return error::invalid;
    static constexpr std::uint8_t no_key[curve_key_size] = {};
    const byte_span key = (s.*field).size() == curve_key_size ? as_bytes(s.*field) : byte_span(no_key);
    if (*size == curve_key_size)
        return write_octets(as_text(key), out, size);
    if (*size != curve_key_text_size + 1)
        return error::invalid;
    secret text;
    text.resize(curve_key_text_size + 1);
    (void)z85_encode(key, text.data());
    return write_octets(text, out, size);
}

// ---- Filters ------------------------------------------------------------------------------------

/// Adds a filter; a null value takes all away.
error set_tcp_accept_filter(settings &s, option_value value) {
    if (!value.data() && value.empty()) {
        s.tcp_accept_filters.clear();
        return error::none;
    }
    if (value.empty() || value.size() > 255)
        return error::invalid;
    std::string_view text = as_text(value);
    while (text.ends_with('\0'))  // programs pass a whole array
        text.remove_suffix(1);
    const auto filter = parse_accept_filter(text, s.ipv6);
    if (!filter)
        return error::invalid;
    s.tcp_accept_filters.push_back(*filter);
    return error::none;
}

template <auto field>
error set_ipc_filter(settings &s, option_value value) {
    auto &filters = s.*field;
    if (!value.data() && value.empty()) {
        filters.clear();
        return error::none;
    }
    const auto id = read_as<typename std::remove_reference_t<decltype(filters)>::value_type>(value);
    if (!id)
        return error::invalid;
    filters.insert(*id);
    return error::none;
}

// ---- The other specials -------------------------------------------------------------------------

/// Until it is set the environment decides, and libzmq's default is what is read.
template <int settings::*field>
error set_batch_size(settings &s, option_value value) {
    const auto octets = read_as<int>(value);
    if (!octets || *octets < 1)
        return error::invalid;
    s.*field = *octets;
    return error::none;
}
template <int settings::*field>
error get_batch_size(const settings &s, void *out, std::size_t *size) {
    constexpr int default_of_libzmq = 8192;
    return write_as(s.*field > 0 ? s.*field : default_of_libzmq, out, size);
}

error set_ipv4only(settings &s, option_value value) {
    const auto on = read_as<int>(value);
    if (!on || !accepts(truth::zero_or_one, *on))
        return error::invalid;
    s.ipv6 = !*on;
    return error::none;
}
error get_ipv4only(const settings &s, void *out, std::size_t *size) {
    return write_as(int{!s.ipv6}, out, size);
}

error get_type(const settings &s, void *out, std::size_t *size) {
    return write_as(static_cast<int>(s.type), out, size);
}

/// The wire counts in tenths of a second, 16 bits of them: what is below is cut off.
error set_heartbeat_ttl(settings &s, option_value value) {
    constexpr int unit_ms = 100;
    const auto ms = read_as<int>(value);
    if (!ms || *ms / unit_ms < 0 || *ms / unit_ms > std::numeric_limits<std::uint16_t>::max())
        return error::invalid;
    s.heartbeat_ttl_ms = *ms / unit_ms * unit_ms;
    return error::none;
}
error get_heartbeat_ttl(const settings &s, void *out, std::size_t *size) {
    return write_as(s.heartbeat_ttl_ms, out, size);
}

/// Each of these options of a publisher also decides about another.
template <bool settings::*own, bool settings::*other, bool other_follows>
error set_coupled_flag(settings &s, option_value value) {
    const auto on = read_as<int>(value);
    if (!on || !accepts(truth::not_negative, *on))
        return error::invalid;
    s.*own = *on;
    s.*other = other_follows && *on;
    return error::none;
}

/// ZMQ_XPUB_NODROP is one of its values: that which is set last counts.
error set_slow_peer(settings &s, option_value value) {
    const auto rule = read_as<int>(value);
    if (!rule || *rule < slow_peer_rule::as_type || *rule > slow_peer_rule::disconnect)
        return error::invalid;
    s.xpub_nodrop = s.has_subscribers() && *rule == slow_peer_rule::block;
    s.slow_peer = *rule;
    return error::none;
}
error get_slow_peer(const settings &s, void *out, std::size_t *size) {
    return write_as(s.slow_peer, out, size);
}
error set_nodrop(settings &s, option_value value) {
    const auto on = read_as<int>(value);
    if (!on || !accepts(truth::not_negative, *on))
        return error::invalid;
    s.xpub_nodrop = *on;
    s.slow_peer = *on ? slow_peer_rule::block : slow_peer_rule::as_type;
    return error::none;
}

bool is_own_property(std::string_view name) noexcept {
    return is_same_name(name, batch_property) || is_same_name(name, gap_property);
}

/// A property for the handshake, "X-name:value". A later one of the same name replaces it.
error set_metadata(settings &s, option_value value) {
    const std::string_view text = as_text(value);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon + 1 == text.size())
        return error::invalid;
    const std::string_view name = text.substr(0, colon);
    if (name.size() < 3 || name.size() > 255 || !name.starts_with("X-") || is_own_property(name))
        return error::invalid;
    std::string content(text.substr(colon + 1));
    const auto known =
        std::ranges::find(s.metadata, name, [](const auto &pair) { return std::string_view(pair.first); });
    if (known != s.metadata.end())
        known->second = std::move(content);
    else
        s.metadata.emplace_back(name, std::move(content));
    return error::none;
}

// ---- The table ----------------------------------------------------------------------------------

using s = settings;
constexpr auto wo = access::write_only;
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

constexpr option_row table[] = {
    // Flow
    {ZMQ_AFFINITY, every_type, wide_rule<std::uint64_t>{&s::affinity}},
    {ZMQ_LINGER, every_type, number_rule{&s::linger_ms, -1}},
    {ZMQ_SNDHWM, every_type, number_rule{&s::send_hwm, 0}},
    {ZMQ_RCVHWM, every_type, number_rule{&s::receive_hwm, 0}},
    {ZLINK_SNDHWM_BYTES, every_type, wide_rule<std::uint64_t>{&s::send_hwm_octets}},
    {ZLINK_RCVHWM_BYTES, every_type, wide_rule<std::uint64_t>{&s::receive_hwm_octets}},
    {ZMQ_SNDTIMEO, every_type, number_rule{&s::send_timeout_ms, -1}},
    {ZMQ_RCVTIMEO, every_type, number_rule{&s::receive_timeout_ms, -1}},
    {ZMQ_CONFLATE, every_type, flag_rule{&s::conflate, truth::zero_or_one}},
    {ZMQ_IMMEDIATE, every_type, flag_rule{&s::immediate, truth::zero_or_one}},
    {ZMQ_MAXMSGSIZE, every_type, wide_rule<std::int64_t>{&s::max_message_size}},
    {ZMQ_IN_BATCH_SIZE, every_type,
     special_rule{set_batch_size<&s::in_batch_size>, get_batch_size<&s::in_batch_size>}},
    {ZMQ_OUT_BATCH_SIZE, every_type,
     special_rule{set_batch_size<&s::out_batch_size>, get_batch_size<&s::out_batch_size>}},
    {ZMQ_TYPE, every_type, special_rule{nullptr, get_type}},

    // Patterns
    {ZMQ_ROUTING_ID, every_type, octets_rule{&s::routing_id, 1, 255, access::read_write}},
    {ZMQ_CONNECT_ROUTING_ID, routers | only(socket_type::stream),
     octets_rule{&s::connect_routing_id, 1, no_limit, wo}},
    {ZMQ_ROUTER_MANDATORY, routers, flag_rule{&s::router_mandatory, truth::not_negative, wo}},
    {ZMQ_ROUTER_HANDOVER, routers, flag_rule{&s::router_handover, truth::not_negative, wo}},
    {ZMQ_ROUTER_RAW, only(socket_type::router), flag_rule{&s::router_raw, truth::not_negative, wo}},
    {ZMQ_ROUTER_NOTIFY, routers,
     number_rule{&s::router_notify, 0, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT}},
    {ZMQ_PROBE_ROUTER, probers, flag_rule{&s::probe_router, truth::not_negative, wo}},
    {ZMQ_REQ_CORRELATE, only(socket_type::req), flag_rule{&s::req_correlate, truth::not_negative, wo}},
    {ZMQ_REQ_RELAXED, only(socket_type::req), flag_rule{&s::req_relaxed, truth::not_negative, wo}},
    {ZMQ_XPUB_VERBOSE, publishers,
     special_rule{set_coupled_flag<&s::xpub_verbose, &s::xpub_verboser, false>, nullptr}},
    {ZMQ_XPUB_VERBOSER, publishers,
     special_rule{set_coupled_flag<&s::xpub_verboser, &s::xpub_verbose, true>, nullptr}},
    {ZMQ_XPUB_NODROP, publishers, special_rule{set_nodrop, nullptr}},
    {ZLINK_SLOW_PEER, publishers | only(socket_type::router), special_rule{set_slow_peer, get_slow_peer}},
    {ZLINK_SLOW_PEER_AFTER, every_type, number_rule{&s::slow_peer_after_ms, 0}},
    {ZMQ_XPUB_MANUAL, publishers, flag_rule{&s::xpub_manual, truth::not_negative, wo}},
    {ZMQ_XPUB_MANUAL_LAST_VALUE, publishers,
     special_rule{set_coupled_flag<&s::xpub_manual_last_value, &s::xpub_manual, true>, nullptr}},
    {ZMQ_XPUB_WELCOME_MSG, publishers, octets_rule{&s::xpub_welcome_message, 0, no_limit, wo}},
    {ZMQ_ONLY_FIRST_SUBSCRIBE, publishers | only(socket_type::xsub),
     flag_rule{&s::only_first_subscribe, truth::not_negative, wo}},
    {ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, only(socket_type::xsub),
     flag_rule{&s::xsub_verbose_unsubscribe, truth::not_negative, wo}},
    {ZMQ_INVERT_MATCHING, every_type, flag_rule{&s::invert_matching, truth::any_int}},
    {ZMQ_STREAM_NOTIFY, only(socket_type::stream), flag_rule{&s::stream_notify, truth::zero_or_one, wo}},
    {ZMQ_HELLO_MSG, both_ways, octets_rule{&s::hello_message, 0, no_limit, wo}},
    {ZMQ_DISCONNECT_MSG, both_ways, octets_rule{&s::disconnect_message, 0, no_limit, wo}},
    {ZMQ_HICCUP_MSG, both_ways, octets_rule{&s::hiccup_message, 0, no_limit, wo}},

    // Connections
    {ZMQ_RECONNECT_IVL, every_type, number_rule{&s::reconnect_interval_ms, -1}},
    {ZMQ_RECONNECT_IVL_MAX, every_type, number_rule{&s::reconnect_interval_max_ms, 0}},
    {ZMQ_RECONNECT_STOP, every_type, number_rule{&s::reconnect_stop, 0, all_reconnect_stops}},
    {ZMQ_CONNECT_TIMEOUT, every_type, number_rule{&s::connect_timeout_ms, 0}},
    {ZMQ_HANDSHAKE_IVL, every_type, number_rule{&s::handshake_interval_ms, 0}},
    {ZMQ_HEARTBEAT_IVL, every_type, number_rule{&s::heartbeat_interval_ms, 0}},
    {ZMQ_HEARTBEAT_TTL, every_type, special_rule{set_heartbeat_ttl, get_heartbeat_ttl}},
    {ZMQ_HEARTBEAT_TIMEOUT, every_type, number_rule{&s::heartbeat_timeout_ms, 0}},
    {ZMQ_BACKLOG, every_type, number_rule{&s::backlog, 0}},
    {ZMQ_IPV6, every_type, flag_rule{&s::ipv6, truth::zero_or_one}},
    {ZMQ_IPV4ONLY, every_type, special_rule{set_ipv4only, get_ipv4only}},
    {ZMQ_USE_FD, every_type, number_rule{&s::use_fd, -1}},
    {ZMQ_SNDBUF, every_type, number_rule{&s::send_buffer, -1}},
    {ZMQ_RCVBUF, every_type, number_rule{&s::receive_buffer, -1}},
    {ZMQ_TCP_KEEPALIVE, every_type, number_rule{&s::tcp_keepalive, -1, 1}},
    {ZMQ_TCP_KEEPALIVE_CNT, every_type, number_rule{&s::tcp_keepalive_count, -1}},
    {ZMQ_TCP_KEEPALIVE_IDLE, every_type, number_rule{&s::tcp_keepalive_idle, -1}},
    {ZMQ_TCP_KEEPALIVE_INTVL, every_type, number_rule{&s::tcp_keepalive_interval, -1}},
    {ZMQ_TCP_MAXRT, every_type, number_rule{&s::tcp_max_retransmit_ms, 0}},
    {ZMQ_TOS, every_type, number_rule{&s::type_of_service, 0}},
    {ZMQ_PRIORITY, every_type, number_rule{&s::priority, 0}},
    {ZMQ_BUSY_POLL, every_type, number_rule{&s::busy_poll, 0}},
    {ZMQ_BINDTODEVICE, every_type, text_rule{&s::bind_to_device, 16, when_empty::clear}},
    {ZMQ_TCP_ACCEPT_FILTER, every_type, special_rule{set_tcp_accept_filter, nullptr}},
    {ZMQ_IPC_FILTER_PID, every_type, special_rule{set_ipc_filter<&s::ipc_pid_filters>, nullptr}},
    {ZMQ_IPC_FILTER_UID, every_type, special_rule{set_ipc_filter<&s::ipc_uid_filters>, nullptr}},
    {ZMQ_IPC_FILTER_GID, every_type, special_rule{set_ipc_filter<&s::ipc_gid_filters>, nullptr}},
    {ZMQ_SOCKS_PROXY, every_type, text_rule{&s::socks_proxy, no_limit, when_empty::clear}},
    {ZMQ_SOCKS_USERNAME, every_type, text_rule{&s::socks_username, 255, when_empty::clear, false}},
    {ZMQ_SOCKS_PASSWORD, every_type, text_rule{&s::socks_password, 255, when_empty::clear, false}},
    {ZMQ_WS_ORIGIN, every_type, special_rule{set_origin, get_origin}},
    {ZLINK_SOCKET_NAME, every_type, text_rule{&s::socket_name, 64, when_empty::clear, false, false}},
    {ZMQ_METADATA, every_type, special_rule{set_metadata, nullptr}},

    // Security
    {ZMQ_MECHANISM, every_type, special_rule{nullptr, get_mechanism}},
    {ZMQ_PLAIN_SERVER, every_type, special_rule{set_plain_server, get_plain_server}},
    {ZMQ_PLAIN_USERNAME, every_type,
     special_rule{set_plain_text<&s::plain_username>, get_text<&s::plain_username>}},
    {ZMQ_PLAIN_PASSWORD, every_type,
     special_rule{set_plain_text<&s::plain_password>, get_text<&s::plain_password>}},
    {ZMQ_CURVE_SERVER, every_type, special_rule{set_curve_server, get_curve_server}},
    {ZMQ_CURVE_PUBLICKEY, every_type,
     special_rule{set_curve_key<&s::curve_public_key, false>, get_curve_key<&s::curve_public_key>}},
    {ZMQ_CURVE_SECRETKEY, every_type,
     special_rule{set_curve_key<&s::curve_secret_key, false>, get_curve_key<&s::curve_secret_key>}},
    {ZMQ_CURVE_SERVERKEY, every_type,
     special_rule{set_curve_key<&s::curve_server_key, true>, get_curve_key<&s::curve_server_key>}},
    {ZMQ_ZAP_DOMAIN, every_type, text_rule{&s::zap_domain, 255, when_empty::clear}},
    {ZMQ_ZAP_ENFORCE_DOMAIN, every_type, flag_rule{&s::zap_enforce_domain, truth::any_int}},
#ifdef ZLINK_WITH_TLS
    {ZMQ_TLS_CERT, every_type, special_rule{set_path<&s::tls_cert>, get_path<&s::tls_cert>}},
    {ZMQ_TLS_KEY, every_type, special_rule{set_path<&s::tls_key>, get_path<&s::tls_key>}},
    {ZMQ_TLS_CA, every_type, special_rule{set_path<&s::tls_ca>, get_path<&s::tls_ca>}},
    {ZMQ_TLS_VERIFY, every_type, flag_rule{&s::tls_verify, truth::zero_or_one}},
    {ZMQ_TLS_REQUIRE_CLIENT_CERT, every_type, flag_rule{&s::tls_require_client_cert, truth::zero_or_one}},
    {ZMQ_TLS_HOSTNAME, every_type, text_rule{&s::tls_hostname, 255, when_empty::clear, false, false}},
    {ZMQ_TLS_TRUST_SYSTEM, every_type, number_rule{&s::tls_trust_system, -1, 1}},
    {ZMQ_TLS_PASSWORD, every_type, special_rule{set_password, get_text<&s::tls_password>}},
    {ZMQ_TLS_ZAP, every_type, flag_rule{&s::tls_zap, truth::zero_or_one}},
    {ZMQ_TLS_GROUPS, every_type, text_rule{&s::tls_groups, 255, when_empty::clear, false, false}},
    {ZMQ_WSS_KEY_PEM, every_type, special_rule{set_pem<&s::tls_key>, nullptr}},
    {ZMQ_WSS_CERT_PEM, every_type, special_rule{set_pem<&s::tls_cert>, nullptr}},
    {ZMQ_WSS_TRUST_PEM, every_type, special_rule{set_pem<&s::tls_ca>, nullptr}},
    {ZMQ_WSS_HOSTNAME, every_type, special_rule{set_hostname_of_drafts, nullptr}},
    {ZMQ_WSS_TRUST_SYSTEM, every_type, special_rule{set_trust_system, nullptr}},
#endif

    // Options of pgm, epgm and norm, whose endpoints are refused
    {ZMQ_RATE, every_type, number_rule{&s::rate, 1}},
    {ZMQ_RECOVERY_IVL, every_type, number_rule{&s::recovery_interval_ms, 0}},
    {ZMQ_MULTICAST_HOPS, every_type, number_rule{&s::multicast_hops, 1}},
    {ZMQ_MULTICAST_MAXTPDU, every_type, number_rule{&s::multicast_max_tpdu, 1}},
    {ZMQ_MULTICAST_LOOP, every_type, flag_rule{&s::multicast_loop, truth::any_int}},
    {ZMQ_LOOPBACK_FASTPATH, every_type, off_rule{}},  // of Windows
};

const option_row *find_row(int number) noexcept {
    const auto row = std::ranges::find(table, number, &option_row::number);
    return row == std::end(table) ? nullptr : row;
}

}  // namespace

settings default_settings(socket_type type) {
    settings result;
    result.type = type;
    // Only subscriptions could linger here, and they are worth nothing to a socket that is gone.
    if (type == socket_type::sub || type == socket_type::xsub)
        result.linger_ms = 0;
    return result;
}

error set_option(settings &target, int number, const void *value, std::size_t size) noexcept {
    if (!value && size > 0)
        return error::invalid;
    const option_row *row = find_row(number);
    if (!row || !(row->types & only(target.type)))
        return error::invalid;
    try {
        return std::visit(setter{target, {static_cast<const std::uint8_t *>(value), size}}, row->how);
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    } catch (const std::length_error &) {
        return error::no_memory;
    }
}

error get_option(const settings &source, int number, void *value, std::size_t *size) noexcept {
    if (!value || !size)
        return error::invalid;
    const option_row *row = find_row(number);
    return row ? std::visit(getter{source, value, size}, row->how) : error::invalid;
}

error store_option(byte_span octets, void *value, std::size_t *size) noexcept {
    return write_octets(as_text(octets), value, size);
}

bool is_answered_by_socket(int number) noexcept {
    switch (number) {
    case ZMQ_SUBSCRIBE:
    case ZMQ_UNSUBSCRIBE:
    case ZMQ_RCVMORE:
    case ZMQ_FD:
    case ZLINK_EVENT_FD:
    case ZLINK_ROOM_FD:
    case ZMQ_EVENTS:
    case ZMQ_LAST_ENDPOINT:
    case ZMQ_THREAD_SAFE:
    case ZMQ_TOPICS_COUNT:
        return true;
    default:
        return false;
    }
}

}  // namespace zlink
