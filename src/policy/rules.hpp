// The content of a policy: entries that match endpoints, and what becomes of these. Plain values;
// docs/policy.md has the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/secret.hpp"
#include "core/settings.hpp"
#include "policy/curve_certificate.hpp"

namespace zlink {

enum class protection : std::uint8_t { refuse, clear, tls, plain, curve };

struct port_range {
    std::uint16_t first = 0;  // 0 = "any free port" of a bind
    std::uint16_t last = 0;

    bool operator==(const port_range &) const = default;
};

/// Whom an entry lets in, and what they are called.
struct policy_users {
    std::map<std::string, secret, std::less<>> passwords;        // by name
    std::map<std::string, std::string, std::less<>> curve_keys;  // names by public key, 32 octets
    std::map<std::string, std::string, std::less<>>
        fingerprints;  // names by SHA-256 of a certificate, 32 octets

    bool operator==(const policy_users &) const = default;
};

struct policy_entry {
    int line = 0;

    // Which endpoints: what is empty matches all.
    std::vector<std::string> schemes;
    std::vector<std::string> hosts;
    std::vector<std::string> sources;
    std::vector<std::string> paths;  // of ipc
    std::vector<port_range> ports;
    std::optional<bool> binds;
    std::vector<socket_type> types;

    // Below: what becomes of them.
    protection use = protection::refuse;
    std::string cert;
    std::string key;
    std::string ca;
    // That a server has to prove; empty = the host of the endpoint.
    std::string name;
    // SHA-256 of a peer's certificate, 32 octets; empty = any.
    std::vector<std::string> fingerprints;
    bool requires_client_cert = true;
    std::string username;
    secret password;
    // The file of the users that may connect; empty = the program's handler judges alone.
    std::string zap;
    policy_users users;
    // The folder of the users' certificates of CURVE, instead of such a file.
    std::string curve_dir;
    std::string certificate;           // of CURVE: the file of this side's keys,
    std::string server_certificate;    // and that of the server's
    std::optional<bool> curve_server;  // whatever the side; none = who binds is the server
    curve_certificate own_keys;        // that stand in the file
    std::string server_key;            // 32 octets
    // "loopback" or a numeric address; empty = as the program says.
    std::string bind_host;
    std::vector<ipv4_or_6_filter> allow;
    std::int64_t max_message = -1;
    int handshake_limit_ms = 0;
    int heartbeat_ms = 0;

    bool has_tls_files() const noexcept { return !cert.empty() || !ca.empty(); }
    bool may_bind() const noexcept { return binds.value_or(true); }
    bool may_connect() const noexcept { return !binds.value_or(false); }
    bool names_clients() const noexcept { return !zap.empty() || !curve_dir.empty(); }
    bool is_curve_server(bool binding) const noexcept { return curve_server.value_or(binding); }
    bool may_be_curve_server() const noexcept { return curve_server.value_or(may_bind()); }
    bool may_be_curve_client() const noexcept { return !curve_server.value_or(!may_connect()); }
    bool operator==(const policy_entry &) const = default;
};

struct policy_rules {
    std::vector<policy_entry> entries;
    bool clears_others = false;  // what no entry matches
    bool announces = false;

    // The files that the entries name, with the lines that do.
    enum class content : std::uint8_t { text, for_tls, curve_keys };
    struct named_file {
        std::string path;
        int line;
        bool is_secret;
        content holds = content::text;

        bool operator==(const named_file &) const = default;
    };
    std::vector<named_file> files;

    bool operator==(const policy_rules &) const = default;
};

/// A socket's request, as the program says it.
struct endpoint_request {
    bool binds = false;
    socket_type type = socket_type::pair;
    std::string scheme;
    std::string address;

    std::string endpoint() const { return scheme + "://" + address; }
};

}  // namespace zlink
