// Map: values out of TOML; an entry's keys; what an entry must have; the whole file.
#include "policy/policy_file.hpp"

#include <memory>

#ifdef ZLINK_WITH_POLICY

#define TOML_EXCEPTIONS        0
#define TOML_HEADER_ONLY       1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <map>
#include <string_view>

namespace zlink {

namespace {

/// Thrown and caught in this file only.
struct fault {
    int line;
    std::string words;
};

[[noreturn]] void fail(int line, std::string words) { throw fault{line, std::move(words)}; }

int line_of(const toml::node &value) noexcept { return static_cast<int>(value.source().begin.line); }

/// A key of a table, with its value.
struct item {
    std::string_view key;
    const toml::node &value;

    int line() const noexcept { return line_of(value); }
    [[noreturn]] void refuse(const std::string &expected) const {
        fail(line(), std::string(key) + " = " + expected + " is expected");
    }
};

// ---- values ----

std::string text_of(const item &from, const toml::node &value) {
    const auto *const text = value.as_string();
    if (!text || text->get().empty() || text->get().find('\0') != std::string::npos)
        from.refuse("a text that is not empty");
    return text->get();
}

std::string text_of(const item &from) { return text_of(from, from.value); }

bool switch_of(const item &from) {
    const auto *const value = from.value.as_boolean();
    if (!value)
        from.refuse("true or false");
    return value->get();
}

std::int64_t number_of(const item &from, const toml::node &value, std::int64_t least, std::int64_t most) {
    const auto *const number = value.as_integer();
    if (!number || number->get() < least || number->get() > most)
        from.refuse("a number from " + std::to_string(least) + " to " + std::to_string(most));
    return number->get();
}

/// "500ms", "5s", "2min": in milliseconds.
int duration_of(const item &from) {
    const std::string text = text_of(from);
    const char *const end = text.data() + text.size();
    int count = 0;
    const auto [rest, failure] = std::from_chars(text.data(), end, count);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    const int scale = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "min" ? 60'000 : 0;
    if (failure != std::errc() || scale == 0 || count <= 0 || count > INT_MAX / 60'000)
        from.refuse("a time such as \"500ms\", \"5s\" or \"2min\"");
    return count * scale;
}

/// One value, or a list of them that is not empty.
template <class Read>
auto list_of(const item &from, Read read) {
    std::vector<decltype(read(from, from.value))> all;
    const toml::array *const list = from.value.as_array();
    if (!list)
        all.push_back(read(from, from.value));
    else if (list->empty())
        from.refuse("a list that is not empty");
    else
        for (const toml::node &each : *list)
            all.push_back(read(from, each));
    return all;
}

std::string scheme_of(const item &from, const toml::node &value) {
    std::string scheme = text_of(from, value);
    for (const char *known : {"tcp", "ipc", "tls", "ws", "wss"})
        if (scheme == known)
            return scheme;
    from.refuse("\"tcp\", \"ipc\", \"tls\", \"ws\" or \"wss\"");
}

std::string host_of(const item &from, const toml::node &value) {
    std::string host = text_of(from, value);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    if (host.find_first_of("[]/;, ") != std::string::npos)
        from.refuse("a name, an address, an interface or \"*\", as the program gives it, without a port");
    return host;
}

std::uint16_t port_of(const item &from, std::string_view text) {
    std::uint16_t port = 0;
    const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (failure != std::errc() || rest != text.data() + text.size())
        from.refuse("a port, \"first-last\", or \"*\" for any that is free");
    return port;
}

port_range ports_of(const item &from, const toml::node &value) {
    if (value.is_integer()) {
        const auto port = static_cast<std::uint16_t>(number_of(from, value, 1, 65535));
        return {port, port};
    }
    const std::string text = text_of(from, value);
    if (text == "*")
        return {0, 0};
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos)
        from.refuse("a port, \"first-last\", or \"*\" for any that is free");
    const std::string_view both = text;
    const port_range found{port_of(from, both.substr(0, dash)), port_of(from, both.substr(dash + 1))};
    if (found.first == 0 || found.first > found.last)
        from.refuse("ports \"first-last\" from 1 on");
    return found;
}

socket_type type_of(const item &from, const toml::node &value) {
    const std::string name = text_of(from, value);
    for (int i = 0; i <= static_cast<int>(socket_type::stream); ++i)
        if (name == socket_type_name(static_cast<socket_type>(i)))
            return static_cast<socket_type>(i);
    from.refuse("a type of socket, such as \"PUB\"");
}

ipv4_or_6_filter range_of(const item &from, const toml::node &value) {
    const std::string text = text_of(from, value);
    const std::size_t slash = text.find('/');
    const std::string address = text.substr(0, slash);
    ipv4_or_6_filter range;
    range.is_v6 = address.find(':') != std::string::npos;
    const int most = range.is_v6 ? 128 : 32;
    range.prefix_bits = most;
    bool is_good = ::inet_pton(range.is_v6 ? AF_INET6 : AF_INET, address.c_str(), range.address) == 1;
    if (is_good && slash != std::string::npos) {
        const char *const begin = text.data() + slash + 1, *const end = text.data() + text.size();
        const auto [rest, failure] = std::from_chars(begin, end, range.prefix_bits);
        is_good =
            failure == std::errc() && rest == end && range.prefix_bits >= 0 && range.prefix_bits <= most;
    }
    if (!is_good)
        from.refuse("addresses such as \"10.0.0.0/8\" or \"fe80::/10\"");
    return range;
}

/// SHA-256 in 64 hexadecimal digits, with or without colons between the octets.
std::string fingerprint_of(const item &from, const toml::node &value) {
    std::string digits = text_of(from, value);
    std::erase(digits, ':');
    std::string octets(digits.size() / 2, '\0');
    bool is_good = digits.size() == 64;
    for (std::size_t i = 0; is_good && i < octets.size(); ++i) {
        unsigned octet = 0;
        const char *const at = digits.data() + 2 * i;
        const auto [rest, failure] = std::from_chars(at, at + 2, octet, 16);
        is_good = failure == std::errc() && rest == at + 2;
        octets[i] = static_cast<char>(octet);
    }
    if (!is_good)
        from.refuse("SHA-256 of a certificate in 64 hexadecimal digits");
    return octets;
}

protection protection_of(const item &from) {
    constexpr std::array<std::pair<std::string_view, protection>, 4> known{{{"refuse", protection::refuse},
                                                                            {"clear", protection::clear},
                                                                            {"tls", protection::tls},
                                                                            {"plain", protection::plain}}};
    const std::string word = text_of(from);
    if (word == "curve")
        fail(from.line(), "use = \"curve\": this library is built without it");
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto &each) { return each.first == word; });
    if (found == known.end())
        from.refuse("\"tls\", \"plain\", \"clear\" or \"refuse\"");
    return found->second;
}

bool side_of(const item &from) {
    const std::string word = text_of(from);
    if (word != "bind" && word != "connect")
        from.refuse("\"bind\" or \"connect\"");
    return word == "bind";
}

std::string bind_host_of(const item &from) {
    std::string host = host_of(from, from.value);
    unsigned char unused[sizeof(in6_addr)];
    if (host != "loopback" && ::inet_pton(AF_INET, host.c_str(), unused) != 1 &&
        ::inet_pton(AF_INET6, host.c_str(), unused) != 1)
        from.refuse("\"loopback\" or an address");
    return host;
}

bool client_certificates_of(const item &from) {
    const std::string word = text_of(from);
    if (word != "required" && word != "none")
        from.refuse("\"required\" or \"none\"");
    return word == "required";
}

// ---- an entry ----

using file_list = std::vector<policy_rules::named_file>;

struct entry_reader {
    const std::string &policy_path;
    file_list &files;
    policy_entry entry{};

    std::string file_of(const item &from, bool is_secret) {
        std::string path = text_of(from);
        if (path.front() != '/')
            path.insert(0, policy_path, 0, policy_path.rfind('/') + 1);
        files.push_back({path, from.line(), is_secret});
        return path;
    }

    /// It makes the policy itself a file that others may not read.
    secret password_of(const item &from) {
        files.push_back({policy_path, from.line(), true});
        secret password;
        password = std::string_view(text_of(from));
        return password;
    }

    void read(const item &from) {
        using step = void (*)(entry_reader &, const item &);
        // Never destroyed: a thread may read a file while the process ends.
        static const auto &known = *new std::map<std::string_view, step>{
            {"scheme", [](auto &r, const item &i) { r.entry.schemes = list_of(i, scheme_of); }},
            {"host", [](auto &r, const item &i) { r.entry.hosts = list_of(i, host_of); }},
            {"port", [](auto &r, const item &i) { r.entry.ports = list_of(i, ports_of); }},
            {"source", [](auto &r, const item &i) { r.entry.sources = list_of(i, host_of); }},
            {"path",
             [](auto &r, const item &i) {
                 r.entry.paths = list_of(
                     i, [](const item &from, const toml::node &value) { return text_of(from, value); });
             }},
            {"side", [](auto &r, const item &i) { r.entry.binds = side_of(i); }},
            {"type", [](auto &r, const item &i) { r.entry.types = list_of(i, type_of); }},
            {"use", [](auto &r, const item &i) { r.entry.use = protection_of(i); }},
            {"cert", [](auto &r, const item &i) { r.entry.cert = r.file_of(i, false); }},
            {"key", [](auto &r, const item &i) { r.entry.key = r.file_of(i, true); }},
            {"ca", [](auto &r, const item &i) { r.entry.ca = r.file_of(i, false); }},
            {"name", [](auto &r, const item &i) { r.entry.name = host_of(i, i.value); }},
            {"fingerprints",
             [](auto &r, const item &i) { r.entry.fingerprints = list_of(i, fingerprint_of); }},
            {"client_certificates",
             [](auto &r, const item &i) { r.entry.requires_client_cert = client_certificates_of(i); }},
            {"username", [](auto &r, const item &i) { r.entry.username = text_of(i); }},
            {"password", [](auto &r, const item &i) { r.entry.password = r.password_of(i); }},
            {"zap", [](auto &r, const item &i) { r.entry.zap = r.file_of(i, true); }},
            {"bind", [](auto &r, const item &i) { r.entry.bind_host = bind_host_of(i); }},
            {"allow", [](auto &r, const item &i) { r.entry.allow = list_of(i, range_of); }},
            {"max_message",
             [](auto &r,
                const item &i) { r.entry.max_message = number_of(i, i.value, 0, std::int64_t{1} << 62); }},
            {"handshake_limit", [](auto &r, const item &i) { r.entry.handshake_limit_ms = duration_of(i); }},
            {"heartbeat", [](auto &r, const item &i) { r.entry.heartbeat_ms = duration_of(i); }},
        };
        const auto found = known.find(from.key);
        if (found == known.end())
            fail(from.line(), "there is no key " + std::string(from.key) + " in an entry");
        found->second(*this, from);
    }
};

// ---- what an entry must have, and must not ----

void check_tls(const policy_entry &entry) {
#ifndef ZLINK_WITH_TLS
    fail(entry.line, "an entry needs TLS, and this library is built without it");
#endif
    if (entry.cert.empty() != entry.key.empty())
        fail(entry.line, "cert and key go together");
    if (entry.may_bind() && entry.cert.empty())
        fail(entry.line, "an entry for bind needs cert and key");
    if (entry.may_bind() && entry.requires_client_cert && entry.ca.empty())
        fail(entry.line,
             "an entry for bind needs ca, which vouches for clients, or client_certificates = \"none\"");
    if (entry.may_bind() && !entry.requires_client_cert && !entry.fingerprints.empty())
        fail(entry.line, "fingerprints of clients need client_certificates = \"required\"");
    if (entry.may_connect() && entry.ca.empty())
        fail(entry.line, "an entry for connect needs ca, which vouches for servers");
    if (!entry.name.empty() && !entry.fingerprints.empty())
        fail(entry.line, "either name or fingerprints tells who a server is");
}

void check_entry(const policy_entry &entry, bool has_use) {
    const auto only_for = [&](bool is_used, bool is_fitting, const char *what) {
        if (is_used && !is_fitting)
            fail(entry.line, what);
    };
    if (!has_use)
        fail(entry.line, "an entry needs use = \"tls\", \"plain\", \"clear\" or \"refuse\"");
    const bool is_tls = entry.use == protection::tls, is_plain = entry.use == protection::plain;
    const bool has_tls_words = entry.has_tls_files() || !entry.key.empty() || !entry.name.empty() ||
                               !entry.fingerprints.empty() || !entry.requires_client_cert;
    only_for(has_tls_words, is_tls || is_plain, "certificates are for use = \"tls\" and \"plain\"");
    only_for(!entry.username.empty() || !entry.password.empty(), is_plain,
             "username and password are for use = \"plain\"");
    only_for(!entry.zap.empty(), is_plain && entry.may_bind(),
             "zap is for use = \"plain\" and side = \"bind\"");
    only_for(!entry.bind_host.empty(), entry.may_bind(), "bind = is for side = \"bind\"");
    only_for(!entry.name.empty(), entry.may_connect(), "name is for side = \"connect\"");
    only_for(!entry.sources.empty(), entry.may_connect(), "source is for side = \"connect\"");
    const bool is_of_ipc = entry.schemes == std::vector<std::string>{"ipc"};
    only_for(!entry.paths.empty(), is_of_ipc, "path is for scheme = \"ipc\"");
    only_for(is_tls, !is_of_ipc, "ipc does not go inside TLS");
    if (is_plain && entry.may_connect() && (entry.username.empty() || entry.password.empty()))
        fail(entry.line, "use = \"plain\" for connect needs username and password");
    if (entry.username.size() > 255 || entry.password.size() > 255)
        fail(entry.line, "username and password are 255 octets at most");
    if (is_tls || (is_plain && has_tls_words))
        check_tls(entry);
}

policy_entry read_entry(const toml::table &from, const std::string &path, file_list &files) {
    entry_reader reader{path, files};
    reader.entry.line = line_of(from);
    for (const auto &[key, value] : from)
        reader.read({key.str(), value});
    check_entry(reader.entry, from.contains("use"));
    return std::move(reader.entry);
}

// ---- the whole ----

void read_top(const item &from, const std::string &path, policy_rules &out) {
    if (from.key == "default") {
        const std::string word = text_of(from);
        if (word != "clear" && word != "refuse")
            from.refuse("\"clear\" or \"refuse\"");
        out.clears_others = word == "clear";
    } else if (from.key == "announce") {
        out.announces = switch_of(from);
    } else if (from.key == "entry") {
        const toml::array *const all = from.value.as_array();
        if (!all || !all->is_homogeneous(toml::node_type::table))
            from.refuse("a list of tables, each under [[entry]],");
        for (const toml::node &each : *all)
            out.entries.push_back(read_entry(*each.as_table(), path, out.files));
    } else {
        fail(from.line(), "there is no key " + std::string(from.key));
    }
}

/// Hands the table of a text to `read`, and turns faults into words.
template <class Read>
bool understands(const std::string &text, const std::string &path, std::string &why, Read read) {
    try {
        const toml::parse_result parsed = toml::parse(text);
        if (!parsed)
            fail(static_cast<int>(parsed.error().source().begin.line),
                 std::string(parsed.error().description()));
        read(parsed.table());
        return true;
    } catch (const fault &what) {
        why = path + ":" + std::to_string(what.line) + ": " + what.words;
        return false;
    }
}

}  // namespace

bool read_policy(const std::string &text, const std::string &path, policy_rules &out, std::string &why) {
    return understands(text, path, why, [&](const toml::table &all) {
        policy_rules found;
        for (const auto &[key, value] : all)
            read_top({key.str(), value}, path, found);
        out = std::move(found);
    });
}

bool read_users(const std::string &text, const std::string &path, policy_entry &out, std::string &why) {
    return understands(text, path, why, [&](const toml::table &all) {
        for (const auto &[key, value] : all) {
            const toml::table *const users = value.as_table();
            if (key != "users" || !users)
                fail(line_of(value), "a table [users] is expected, and nothing else");
            for (const auto &[name, password] : *users) {
                if (name.str().empty() || name.str().size() > 255)
                    fail(line_of(password), "a name of 1 to 255 octets is expected");
                out.users[std::string(name.str())] = std::string_view(text_of({name.str(), password}));
            }
        }
        if (out.users.empty())
            fail(1, "there is no user");
    });
}

}  // namespace zlink

#else

namespace zlink {

bool read_policy(const std::string &, const std::string &path, policy_rules &, std::string &why) {
    why = path + ": this library is built without policies (WITH_POLICY)";
    return false;
}

bool read_users(const std::string &, const std::string &path, policy_entry &, std::string &why) {
    return read_policy({}, path, *std::make_unique<policy_rules>(), why);
}

}  // namespace zlink

#endif
