// An entry applied to what a program wants, step by step; see terms.hpp. Map: hosts and ranges
// within the machine; the ruling, which refuses with words; the judgement.
#include "policy/terms.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <string_view>

#include "core/schemes.hpp"
#include "policy/match.hpp"
#include "transport/endpoint.hpp"

namespace zlink {

namespace {

bool is_loopback(const std::string &host) noexcept {
    in_addr v4;
    in6_addr v6;
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_v6(const std::string &host) noexcept {
    in6_addr unused;
    return ::inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

std::vector<ipv4_or_6_filter> loopback_only() {
    ipv4_or_6_filter v4{{127}, false, 8};
    ipv4_or_6_filter v6{{}, true, 128};
    v6.address[15] = 1;
    return {v4, v6};
}

bool is_within_loopback(const ipv4_or_6_filter &range) noexcept {
    if (!range.is_v6)
        return range.prefix_bits >= 8 && range.address[0] == 127;
    in6_addr v6;
    std::memcpy(&v6, range.address, sizeof v6);
    return range.prefix_bits == 128 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/// One endpoint on its way through one entry. Each step is false where it is refused.
class ruling {
public:
    ruling(const policy_entry &by, const endpoint_request &what, endpoint_terms &out, std::string &why)
        : by_(by), what_(what), out_(out), why_(why), how_(find_scheme(what.scheme)) {}

    bool run() {
        if (by_.use == protection::refuse)
            return refuse("the policy refuses it");
        tighten();
        return place() && restrict_peers() && protect();
    }

private:
    /// A scheme that nobody knows has neither: what is for one of them is refused.
    bool has_hosts() const noexcept { return how_ && how_->has_hosts(); }
    bool is_local_file() const noexcept { return how_ && how_->form == address_form::file; }

    bool refuse(std::string words) {
        why_ = std::move(words);
        return false;
    }

    /// The stricter one of the program's limit and the entry's.
    void tighten() noexcept {
        settings &o = out_.options;
        if (by_.max_message >= 0)
            o.max_message_size =
                o.max_message_size < 0 ? by_.max_message : std::min(o.max_message_size, by_.max_message);
        if (by_.handshake_limit_ms > 0)
            o.handshake_interval_ms = o.handshake_interval_ms <= 0
                                          ? by_.handshake_limit_ms
                                          : std::min(o.handshake_interval_ms, by_.handshake_limit_ms);
        if (by_.heartbeat_ms > 0) {
            o.heartbeat_interval_ms = o.heartbeat_interval_ms <= 0
                                          ? by_.heartbeat_ms
                                          : std::min(o.heartbeat_interval_ms, by_.heartbeat_ms);
            if (o.heartbeat_timeout_ms == 0 || o.heartbeat_timeout_ms > by_.heartbeat_ms)
                o.heartbeat_timeout_ms = by_.heartbeat_ms;
        }
    }

    /// The address that it is bound to instead of the program's.
    bool place() {
        if (by_.bind_host.empty() || !what_.binds)
            return true;
        if (!has_hosts())
            return refuse("bind = is for addresses, and " + what_.scheme + " has none");
        if (out_.options.use_fd >= 0)
            return refuse("bind = does not go with ZMQ_USE_FD");
        const std::size_t slash = std::min(what_.address.find('/'), what_.address.size());
        tcp_local_address at;
        if (failed(parse_tcp_bind(std::string_view(what_.address).substr(0, slash), at)))
            return true;  // it comes to nothing, and the program hears why
        std::string host = by_.bind_host;
        if (host == "loopback")
            host = is_loopback(at.host) ? at.host : is_v6(at.host) ? "::1" : "127.0.0.1";
        out_.address = host_before_port(host) + ":" + (at.port == 0 ? "*" : std::to_string(at.port)) +
                       what_.address.substr(slash);
        return true;
    }

    bool restrict_peers() {
        if (by_.allow.empty())
            return true;
        if (!has_hosts())
            return refuse("allow = is for addresses, and " + what_.scheme + " has none");
        if (!what_.binds && !out_.options.socks_proxy.empty())
            return refuse("allow = cannot be judged through a SOCKS proxy");
        out_.options.allowed_peers = by_.allow;
        return true;
    }

    bool protect() {
        switch (by_.use) {
        case protection::clear:
            return true;
        case protection::tls:
            return use_tls();
        case protection::plain:
            return use_plain();
        case protection::curve:
            return use_curve();
        default:
            return refuse("the policy refuses it");
        }
    }

    bool use_tls() {
        if (!go_inside_tls())
            return false;
        if (what_.binds && !by_.zap.empty()) {
            out_.options.tls_zap = true;
            out_.judged_mechanism = "TLS";
        }
        return true;
    }

    bool go_inside_tls() {
        if (!has_hosts())
            return refuse(what_.scheme + " does not go inside TLS");
        settings &o = out_.options;
        o.tls_cert = std::string_view(by_.cert);
        o.tls_key = std::string_view(by_.key);
        o.tls_ca = by_.ca;
        o.tls_hostname = what_.binds ? std::string() : by_.name;
        o.tls_fingerprints = by_.fingerprints;
        o.tls_password = std::string_view();
        o.tls_groups.clear();
        o.tls_verify = true;
        o.tls_require_client_cert = what_.binds && by_.requires_client_cert;
        o.tls_trust_system = 0;
        out_.is_inside_tls = true;
        return true;
    }

    /// PLAIN hides nothing by itself.
    bool use_plain() {
        if (out_.options.is_raw())
            return refuse("a socket of octets without frames cannot speak PLAIN");
        if (out_.options.mechanism == mechanism_kind::curve)
            return refuse("the program uses CURVE, and PLAIN would take its place");
        if (is_local_file() && out_.options.use_fd >= 0)
            return refuse("nobody knows what the descriptor in ZMQ_USE_FD listens at");
        if (by_.has_tls_files() && has_hosts()) {
            if (!go_inside_tls())
                return false;
        } else if (how_ && how_->is_encrypted) {
            return refuse("use = \"plain\" needs the entry's own cert, key and ca for " + what_.scheme);
        } else if (!is_local_file() && !(what_.binds ? listens_on_loopback() : dials_loopback())) {
            return refuse("PLAIN is for tls, wss, ipc and loopback only");
        }
        settings &o = out_.options;
        o.mechanism = mechanism_kind::plain;
        o.plain_server = what_.binds;
        o.plain_username = what_.binds ? std::string() : by_.username;
        o.plain_password = what_.binds ? std::string() : std::string(by_.password);
        if (what_.binds && !by_.zap.empty())
            out_.judged_mechanism = "PLAIN";
        return true;
    }

    /// It protects by itself, whatever it goes through. What the program asks of its peers must not
    /// get lost.
    bool use_curve() {
        settings &o = out_.options;
        const bool is_server = by_.is_curve_server(what_.binds);
        if (o.is_raw())
            return refuse("a socket of octets without frames cannot speak CURVE");
        if (o.mechanism == mechanism_kind::plain)
            return refuse("the program uses PLAIN, and CURVE would take its place");
        if (o.mechanism == mechanism_kind::curve && o.curve_server != is_server)
            return refuse(is_server ? "the program is a client of CURVE, and the policy makes it the server"
                                    : "the program is a server of CURVE, and the policy makes it a client");
        if (o.mechanism == mechanism_kind::curve && !is_server && o.curve_server_key != by_.server_key)
            return refuse("the program asks for another server's key of CURVE than the policy");
        o.mechanism = mechanism_kind::curve;
        o.curve_server = is_server;
        o.curve_public_key = by_.own_keys.public_key;
        o.curve_secret_key = by_.own_keys.secret_key;
        o.curve_server_key = is_server ? std::string() : by_.server_key;
        if (is_server && by_.names_clients())
            out_.judged_mechanism = "CURVE";
        return true;
    }

    bool listens_on_loopback() const {
        tcp_local_address at;
        return out_.options.use_fd < 0 &&
               !failed(parse_tcp_bind(out_.address.substr(0, out_.address.find('/')), at)) &&
               is_loopback(at.host);
    }

    /// A name's addresses are known only when it is dialled: they are judged then.
    bool dials_loopback() {
        settings &o = out_.options;
        if (!o.socks_proxy.empty())
            return false;
        if (o.allowed_peers.empty())
            o.allowed_peers = loopback_only();
        else
            std::erase_if(o.allowed_peers, [](const auto &each) { return !is_within_loopback(each); });
        return !o.allowed_peers.empty();
    }

    const policy_entry &by_;
    const endpoint_request &what_;
    endpoint_terms &out_;
    std::string &why_;
    const known_scheme *const how_;  // null where no transport goes by that name
};

}  // namespace

bool judge(const policy_rules &by, const endpoint_request &what, const settings &program, endpoint_terms &out,
           std::string &why, int &line) {
    out = {program, what.address, false, {}};
    const policy_entry *const entry = first_match(by, what);
    line = entry ? entry->line : 0;
    if (entry)
        return ruling(*entry, what, out, why).run();
    if (!by.clears_others)
        why = "no entry of the policy matches it";
    return by.clears_others;
}

}  // namespace zlink
