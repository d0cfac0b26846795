// The text of a policy, taken apart into its rules. See policy_file.hpp.
//
// Map: values of an entry; its keys; the whole file.
#include "policy/policy_file.hpp"

#ifdef ZLINK_WITH_POLICY

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <climits>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/schemes.hpp"
#include "policy/entry_check.hpp"
#include "policy/toml_values.hpp"

namespace zlink {

using namespace toml_text;

namespace {

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

/// The schemes there are, as texts of TOML.
std::string all_schemes() {
    std::string all;
    for (const known_scheme &each : known_schemes) {
        if (!all.empty())
            all.append(&each == std::end(known_schemes) - 1 ? " or " : ", ");
        all.append("\"").append(each.name).append("\"");
    }
    return all;
}

std::string scheme_of(const item &from, const toml::node &value) {
    std::string scheme = text_of(from, value);
    if (find_scheme(scheme))
        return scheme;
    from.refuse(all_schemes());
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

protection protection_of(const item &from) {
    constexpr std::array<std::pair<std::string_view, protection>, 5> known{{{"refuse", protection::refuse},
                                                                            {"clear", protection::clear},
                                                                            {"tls", protection::tls},
                                                                            {"plain", protection::plain},
                                                                            {"curve", protection::curve}}};
    const std::string word = text_of(from);
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto &each) { return each.first == word; });
    if (found == known.end())
        from.refuse("\"tls\", \"curve\", \"plain\", \"clear\" or \"refuse\"");
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

    std::string path_of(const item &from) const {
        std::string path = text_of(from);
        if (path.front() != '/')
            path.insert(0, policy_path, 0, policy_path.rfind('/') + 1);
        return path;
    }

    using content = policy_rules::content;
    std::string file_of(const item &from, bool is_secret, content holds) {
        std::string path = path_of(from);
        files.push_back({path, from.line(), is_secret, holds});
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
        static constexpr std::pair<std::string_view, step> known[] = {
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
            {"cert", [](auto &r, const item &i) { r.entry.cert = r.file_of(i, false, content::for_tls); }},
            {"key", [](auto &r, const item &i) { r.entry.key = r.file_of(i, true, content::for_tls); }},
            {"ca", [](auto &r, const item &i) { r.entry.ca = r.file_of(i, false, content::for_tls); }},
            {"name", [](auto &r, const item &i) { r.entry.name = host_of(i, i.value); }},
            {"fingerprints",
             [](auto &r, const item &i) { r.entry.fingerprints = list_of(i, fingerprint_of); }},
            {"client_certificates",
             [](auto &r, const item &i) { r.entry.requires_client_cert = client_certificates_of(i); }},
            {"username", [](auto &r, const item &i) { r.entry.username = text_of(i); }},
            {"password", [](auto &r, const item &i) { r.entry.password = r.password_of(i); }},
            {"zap", [](auto &r, const item &i) { r.entry.zap = r.file_of(i, true, content::text); }},
            {"curve_dir", [](auto &r, const item &i) { r.entry.curve_dir = r.path_of(i); }},
            {"certificate",
             [](auto &r, const item &i) { r.entry.certificate = r.file_of(i, true, content::curve_keys); }},
            {"server_certificate",
             [](auto &r,
                const item &i) { r.entry.server_certificate = r.file_of(i, false, content::curve_keys); }},
            {"server_key", [](auto &r, const item &i) { r.entry.server_key = curve_key_of(i, i.value); }},
            {"curve_server", [](auto &r, const item &i) { r.entry.curve_server = switch_of(i); }},
            {"bind", [](auto &r, const item &i) { r.entry.bind_host = bind_host_of(i); }},
            {"allow", [](auto &r, const item &i) { r.entry.allow = list_of(i, range_of); }},
            {"max_message",
             [](auto &r,
                const item &i) { r.entry.max_message = number_of(i, i.value, 0, std::int64_t{1} << 62); }},
            {"handshake_limit", [](auto &r, const item &i) { r.entry.handshake_limit_ms = duration_of(i); }},
            {"heartbeat", [](auto &r, const item &i) { r.entry.heartbeat_ms = duration_of(i); }},
        };
        const auto *const found = std::find_if(std::begin(known), std::end(known),
                                               [&](const auto &each) { return each.first == from.key; });
        if (found == std::end(known))
            fail(from.line(), "there is no key " + std::string(from.key) + " in an entry");
        found->second(*this, from);
    }
};

policy_entry read_entry(const toml::table &from, const std::string &path, file_list &files) {
    entry_reader reader{path, files};
    reader.entry.line = line_of(from);
    for (const auto &[key, value] : from)
        reader.read({key.str(), value});
    if (const char *const fault = fault_in(reader.entry, from.contains("use")))
        fail(reader.entry.line, fault);
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

}  // namespace

bool read_policy(const std::string &text, const std::string &path, policy_rules &out, std::string &why) {
    return understands(text, path, why, [&](const toml::table &all) {
        policy_rules found;
        for (const auto &[key, value] : all)
            read_top({key.str(), value}, path, found);
        out = std::move(found);
    });
}

}  // namespace zlink

#else

namespace zlink {

bool read_policy(const std::string &, const std::string &path, policy_rules &, std::string &why) {
    why = path + ": this library is built without policies (WITH_POLICY)";
    return false;
}

}  // namespace zlink

#endif
