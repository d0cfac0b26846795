// All options of a socket as one plain struct of values. Sessions get a copy taken when bind or
// connect is called.
//
// `socket/options.cpp` maps option numbers to these fields; nothing else knows the numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/curve_own_key.hpp"
#include "core/kept_files.hpp"
#include "core/secret.hpp"

namespace zlink {

/// Socket types, numbered as in zmq.h.
enum class socket_type : int { pair, pub, sub, req, rep, dealer, router, pull, push, xpub, xsub, stream };

/// The name used in the Socket-Type property (RFC 23).
const char *socket_type_name(socket_type type) noexcept;
bool is_socket_type(std::string_view name) noexcept;
/// Whether two socket types may talk to each other (RFC 23 "Socket-Type", RFC 28 to 31).
bool is_compatible(socket_type self, std::string_view peer_type_name) noexcept;

/// Bits of `settings::reconnect_stop`, numbered as ZMQ_RECONNECT_STOP_ in zmq.h.
namespace reconnect_stop_on {
constexpr int connection_refused = 1;
constexpr int handshake_failed = 2;
constexpr int disconnect = 4;
}  // namespace reconnect_stop_on

/// Values of `settings::slow_peer`, numbered as ZLINK_SLOW_PEER_ in zmq.h.
namespace slow_peer_rule {
constexpr int as_type = 0;
constexpr int block = 1;
constexpr int drop = 2;
constexpr int disconnect = 3;
}  // namespace slow_peer_rule

/// A property by which two sides of CURVE agree that a box may hold several frames. It is no
/// application's to announce, nor shown to one.
constexpr std::string_view batch_property = "X-Zlink-Batch";
/// Such a property, too: by it a subscriber asks to be told how many messages its publisher had no
/// room for.
constexpr std::string_view gap_property = "X-Zlink-Gap";

enum class mechanism_kind : int { null, plain, curve, gssapi };

/// The part of its peers' messages that a socket can make use of.
enum class reception : std::uint8_t { all, subscriptions, none };

struct ipv4_or_6_filter {
    std::uint8_t address[16] = {};
    bool is_v6 = false;
    int prefix_bits = 0;

    bool operator==(const ipv4_or_6_filter &) const = default;
};

struct settings {
    socket_type type = socket_type::pair;

    // Flow
    int send_hwm = 1000;                   // messages, 0 = no limit
    int receive_hwm = 1000;                // messages, 0 = no limit
    std::uint64_t send_hwm_octets = 0;     // 0 = no limit
    std::uint64_t receive_hwm_octets = 0;  // 0 = no limit
    int linger_ms = -1;
    int send_timeout_ms = -1;
    int receive_timeout_ms = -1;
    bool conflate = false;
    bool immediate = false;
    std::int64_t max_message_size = -1;    // octets, -1 = no limit
    std::size_t max_sent_size = SIZE_MAX;  // octets of a frame: the context's limit
    std::uint64_t affinity = 0;            // bitmap of I/O threads, 0 = any

    // Identity and patterns
    std::string routing_id;
    // For people who look at metrics; empty = its number and endpoint.
    std::string socket_name;
    std::string connect_routing_id;  // one-shot: taken by the next connect
    bool router_mandatory = false;
    bool router_handover = false;
    bool router_raw = false;
    int router_notify = 0;
    bool probe_router = false;
    bool req_correlate = false;
    bool req_relaxed = false;
    bool xpub_verbose = false;
    bool xpub_verboser = false;
    bool xpub_nodrop = false;
    int slow_peer = slow_peer_rule::as_type;  // of a PUB that blocks: xpub_nodrop alone says so
    int slow_peer_after_ms = 0;               // a queue full for so long is told of; 0 = none is
    bool xpub_manual = false;
    bool xpub_manual_last_value = false;
    std::string xpub_welcome_message;
    bool invert_matching = false;
    bool only_first_subscribe = false;
    bool xsub_verbose_unsubscribe = false;
    bool hears_gaps = false;  // a monitor asks how many messages publishers had no room for
    bool stream_notify = true;
    std::string hello_message;       // sent to each new peer
    std::string disconnect_message;  // received when a peer is gone for good
    std::string hiccup_message;      // received when one is gone that is connected to again

    // Connections
    int reconnect_interval_ms = 100;  // -1 = never
    int reconnect_interval_max_ms = 0;
    int reconnect_stop = 0;
    int connect_timeout_ms = 0;
    int handshake_interval_ms = 30000;
    int heartbeat_interval_ms = 0;
    int heartbeat_ttl_ms = 0;
    int heartbeat_timeout_ms = -1;  // -1 = the interval
    int backlog = 100;
    bool ipv6 = false;
    int use_fd = -1;
    int send_buffer = -1;
    int receive_buffer = -1;
    int tcp_keepalive = -1;
    int tcp_keepalive_count = -1;
    int tcp_keepalive_idle = -1;
    int tcp_keepalive_interval = -1;
    int tcp_max_retransmit_ms = 0;
    int type_of_service = 0;
    int priority = 0;
    int busy_poll = 0;
    std::string bind_to_device;
    std::vector<ipv4_or_6_filter> tcp_accept_filters;
    // A policy's, to accept and to connect to; empty = all.
    std::vector<ipv4_or_6_filter> allowed_peers;
    std::set<unsigned> ipc_uid_filters;
    std::set<unsigned> ipc_gid_filters;
    std::set<int> ipc_pid_filters;
    int in_batch_size = 0;  // octets; 0 = as the environment says
    int out_batch_size = 0;
    std::string socks_proxy;
    std::string socks_username;
    std::string socks_password;
    // A client's; a server's: those that may come, separated by commas, empty = all.
    std::string web_origin;

    // Security
    mechanism_kind mechanism = mechanism_kind::null;
    bool plain_server = false;
    std::string plain_username;
    secret plain_password;
    std::string zap_domain;  // asked about peers in its name
    // No peer without a handler that accepts it, where there is a domain.
    bool zap_enforce_domain = false;
    bool curve_server = false;
    std::string curve_public_key;  // 32 octets or empty
    curve_own_key curve_secret_key;
    std::string curve_server_key;
    secret tls_cert;  // files, by path, or what would stand in them: is_pem() tells
    secret tls_key;
    std::string tls_ca;
    std::string tls_hostname;  // empty = the host of the endpoint
    secret tls_password;
    std::string tls_groups;  // empty = as transport/tls_terms.hpp has it
    bool tls_verify = true;
    bool tls_require_client_cert = false;
    bool tls_zap = false;                        // a handler is asked about clients
    int tls_trust_system = -1;                   // -1 = where there is no tls_ca
    std::vector<std::string> tls_fingerprints;   // SHA-256 of the peer's, 32 octets; empty = any
    std::shared_ptr<const kept_files> tls_kept;  // where the files are taken from; null = the disk
    // The application's own "X-" properties.
    std::vector<std::pair<std::string, std::string>> metadata;

    // For transports that are not built
    int rate = 100;
    int recovery_interval_ms = 10000;
    int multicast_hops = 1;
    int multicast_max_tpdu = 1500;
    bool multicast_loop = true;

    bool operator==(const settings &) const = default;

    static bool is_pem(std::string_view text) noexcept {
        return text.find("-----BEGIN ") != std::string_view::npos;
    }

    /// Nobody is asked who a peer is. Then peers of protocols that cannot tell are as good as any.
    bool takes_anybody() const noexcept { return mechanism == mechanism_kind::null && zap_domain.empty(); }
    reception receives() const noexcept {
        if (type == socket_type::push)
            return reception::none;
        return type == socket_type::pub ? reception::subscriptions : reception::all;
    }
    /// Peers subscribe to what it sends.
    bool has_subscribers() const noexcept { return type == socket_type::pub || type == socket_type::xpub; }
    /// It subscribes to what peers send.
    bool is_subscriber() const noexcept { return type == socket_type::sub || type == socket_type::xsub; }
    /// It is to be told how many messages publishers had no room for. Where the newest is kept,
    /// nothing is lost.
    bool asks_for_gaps() const noexcept { return is_subscriber() && hears_gaps && !keeps_newest(); }
    /// Peers do not speak ZMTP: what a connection brings and takes are octets without frames.
    bool is_raw() const noexcept { return type == socket_type::stream || router_raw; }
    /// Octets of a message frame, -1 = no limit. Of octets without frames as many are a message as
    /// were read at once.
    std::int64_t most_in_frame() const noexcept { return is_raw() ? -1 : max_message_size; }
    /// The application gets an empty message when a connection is made, and when it is gone.
    bool tells_of_connections() const noexcept {
        return type == socket_type::stream ? stream_notify : router_raw;
    }
    bool has_routing_id_exchange() const noexcept {
        return type == socket_type::req || type == socket_type::rep || type == socket_type::dealer ||
               type == socket_type::router;
    }
    /// Whether queues keep the newest message only. Other types count on every message, or on all
    /// its parts.
    bool keeps_newest() const noexcept {
        return conflate &&
               (type == socket_type::pull || type == socket_type::push || type == socket_type::sub ||
                type == socket_type::pub || type == socket_type::dealer);
    }
};

}  // namespace zlink
