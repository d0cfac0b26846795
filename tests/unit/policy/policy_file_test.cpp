// Tests what a policy says, and what it may not say: each fault with its line. Pure.
#include "policy/policy_file.hpp"

#include <gtest/gtest.h>

#ifdef ZLINK_WITH_POLICY

namespace zlink {
namespace {

const std::string path = "/etc/zlink/policy.toml";

policy_rules read(const std::string &text) {
    policy_rules out;
    std::string why;
    EXPECT_TRUE(read_policy(text, path, out, why)) << why;
    return out;
}

/// Without the path in front.
std::string fault_of(const std::string &text) {
    policy_rules out;
    std::string why;
    EXPECT_FALSE(read_policy(text, path, out, why)) << text;
    EXPECT_EQ(why.substr(0, path.size() + 1), path + ":");
    return why.substr(std::min(why.size(), path.size() + 1));
}

std::string fault_of_entry(const std::string &lines) { return fault_of("[[entry]]\n" + lines); }

TEST(policy_file, of_nothing_refuses_all) {
    const policy_rules rules = read("");
    EXPECT_TRUE(rules.entries.empty());
    EXPECT_FALSE(rules.clears_others);
    EXPECT_FALSE(rules.announces);
}

TEST(policy_file, says_what_becomes_of_others) {
    EXPECT_TRUE(read("default = \"clear\"").clears_others);
    EXPECT_FALSE(read("default = \"refuse\"").clears_others);
    EXPECT_TRUE(read("announce = true").announces);
}

TEST(policy_file, says_where_a_header_names_no_table) {
    for (const char *text : {"[[[", "\n[=]", "[[entry]]\n[[.]]", "[,", "[[#]]", "[/]"}) {
        SCOPED_TRACE(text);
        const std::string line = std::string(text).find('\n') == std::string::npos ? "1: " : "2: ";
        EXPECT_EQ(fault_of(text).substr(0, 3), line);
    }
}

TEST(policy_file, says_where_a_letter_stands_that_no_key_has) {
    for (const char *text : {"us\u00e9 = 1", "\u00e9 = 1", "announce\u1681 = true", "announce\u2100 = true"})
        EXPECT_EQ(fault_of(text).substr(0, 3), "1: ") << text;
}

#ifdef ZLINK_WITH_TLS
TEST(policy_file, finds_files_from_its_own_folder) {
    const policy_rules rules = read(R"(
[[entry]]
use = "tls"
cert = "server.pem"
key = "/run/secrets/server.key"
ca = "ca/ca.pem"
)");
    ASSERT_EQ(rules.entries.size(), 1u);
    const policy_entry &entry = rules.entries[0];
    EXPECT_EQ(entry.line, 2);
    EXPECT_EQ(entry.use, protection::tls);
    EXPECT_EQ(entry.cert, "/etc/zlink/server.pem");
    EXPECT_EQ(entry.key, "/run/secrets/server.key");
    EXPECT_EQ(entry.ca, "/etc/zlink/ca/ca.pem");
    EXPECT_TRUE(entry.requires_client_cert);
    ASSERT_EQ(rules.files.size(), 3u);
    for (const auto &each : rules.files)
        EXPECT_EQ(each.is_secret, each.path == entry.key) << each.path;
}
#endif

TEST(policy_file, reads_every_key_of_an_entry) {
    const policy_rules rules = read(R"(
[[entry]]
scheme = ["tcp", "ws"]
host = "[::1]"
port = [5555, "6000-6010", "*"]
side = "bind"
type = ["PUB", "XPUB"]
use = "clear"
bind = "loopback"
allow = ["10.0.0.0/8", "fe80::/10", "192.0.2.1"]
max_message = 4096
handshake_limit = "500ms"
heartbeat = "2min"
[[entry]]
scheme = "tcp"
source = "eth0"
side = "connect"
use = "plain"
username = "alice"
password = "secret"
)");
    ASSERT_EQ(rules.entries.size(), 2u);
    const policy_entry &first = rules.entries[0];
    EXPECT_EQ(first.schemes, (std::vector<std::string>{"tcp", "ws"}));
    EXPECT_EQ(first.hosts, std::vector<std::string>{"::1"});
    ASSERT_EQ(first.ports.size(), 3u);
    EXPECT_EQ(first.ports[1].first, 6000);
    EXPECT_EQ(first.ports[1].last, 6010);
    EXPECT_EQ(first.ports[2].last, 0);
    EXPECT_EQ(first.binds, true);
    EXPECT_EQ(first.types, (std::vector<socket_type>{socket_type::pub, socket_type::xpub}));
    EXPECT_EQ(first.bind_host, "loopback");
    ASSERT_EQ(first.allow.size(), 3u);
    EXPECT_EQ(first.allow[0].prefix_bits, 8);
    EXPECT_TRUE(first.allow[1].is_v6);
    EXPECT_EQ(first.allow[2].prefix_bits, 32);
    EXPECT_EQ(first.max_message, 4096);
    EXPECT_EQ(first.handshake_limit_ms, 500);
    EXPECT_EQ(first.heartbeat_ms, 120'000);
    EXPECT_EQ(rules.entries[1].sources, std::vector<std::string>{"eth0"});
    EXPECT_EQ(rules.entries[1].username, "alice");
    ASSERT_EQ(rules.files.size(), 1u) << "a password makes the policy itself a secret";
    EXPECT_EQ(rules.files[0].path, path);
    EXPECT_TRUE(rules.files[0].is_secret);
}

TEST(policy_file, that_is_no_toml_is_refused_with_the_line) {
    EXPECT_EQ(fault_of("\n\ndefault = clear").substr(0, 3), "3: ");
    EXPECT_EQ(fault_of("default = \"clear\"\ndefault = \"refuse\"").substr(0, 3), "2: ");
    EXPECT_EQ(fault_of("[[entry]]\nuse = \"clear\n").substr(0, 3), "2: ");
}

TEST(policy_file, with_an_unknown_key_is_refused) {
    EXPECT_EQ(fault_of("defaults = \"clear\""), "1: there is no key defaults");
    EXPECT_EQ(fault_of("[entries]"), "1: there is no key entries");
    EXPECT_EQ(fault_of_entry("use = \"clear\"\nusr = 1"), "3: there is no key usr in an entry");
    EXPECT_EQ(
        fault_of_entry("use = \"clear\"\nzap = \"users.toml\""),
        "1: zap is for side = \"bind\" with use = \"plain\" or \"curve\", or with \"tls\" that requires "
        "certificates");
    EXPECT_EQ(fault_of_entry("use = \"clear\"\n[entry.tls]"), "3: there is no key tls in an entry");
}

TEST(policy_file, with_an_unknown_value_is_refused) {
    for (const char *const text :
         {"default = \"Clear\"", "default = true", "default = \"\"", "announce = 1", "announce = \"true\"",
          "entry = 1", "entry = [1]", "entry = []\n[[other]]"})
        EXPECT_EQ(fault_of(text).substr(0, 2).back(), ':') << text;
    for (const char *const line : {"scheme = \"udp\"",
                                   "scheme = \"TCP\"",
                                   "scheme = \"inproc\"",
                                   "scheme = []",
                                   "scheme = 1",
                                   "host = \"a:1/\"",
                                   "host = \"\"",
                                   "port = 0",
                                   "port = 65536",
                                   "port = \"0-5\"",
                                   "port = \"9-5\"",
                                   "port = \"5555\"",
                                   "port = true",
                                   "side = \"both\"",
                                   "type = \"pub\"",
                                   "type = [\"PUB\", \"POB\"]",
                                   "bind = \"eth0\"",
                                   "bind = \"*\"",
                                   "allow = \"10.0.0.0/33\"",
                                   "allow = \"10/8\"",
                                   "allow = []",
                                   "allow = \"10.0.0.0/\"",
                                   "allow = \"localhost\"",
                                   "max_message = -1",
                                   "max_message = \"1\"",
                                   "handshake_limit = 5",
                                   "handshake_limit = \"5\"",
                                   "handshake_limit = \"0s\"",
                                   "heartbeat = \"-1s\"",
                                   "heartbeat = \"5 s\"",
                                   "heartbeat = \"99999999999s\"",
                                   "path = \"/a\"",
                                   "name = \"a\"",
                                   "cert = \"a\"",
                                   "username = \"a\"",
                                   "fingerprints = \"00\"",
                                   "client_certificates = \"none\""})
        (void)fault_of_entry("use = \"clear\"\n" + std::string(line));
}

TEST(policy_file, with_an_entry_that_lacks_something_is_refused) {
    EXPECT_EQ(fault_of_entry("port = 1"),
              "1: an entry needs use = \"tls\", \"curve\", \"plain\", \"clear\" or \"refuse\"");
    EXPECT_EQ(fault_of_entry("use = \"wss\""),
              "2: use = \"tls\", \"curve\", \"plain\", \"clear\" or \"refuse\" is expected");
    (void)fault_of_entry("use = \"curve\"");
    (void)fault_of_entry("use = \"tls\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"bind\"\ncert = \"a\"\nkey = \"b\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"bind\"\nca = \"a\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"connect\"\ncert = \"a\"\nkey = \"b\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"connect\"\nca = \"a\"\ncert = \"b\"");
    (void)fault_of_entry("use = \"tls\"\nscheme = \"ipc\"\nca = \"a\"\ncert = \"b\"\nkey = \"c\"");
    (void)fault_of_entry("use = \"plain\"\nscheme = \"ipc\"\nside = \"connect\"");
    (void)fault_of_entry("use = \"plain\"\nscheme = \"ipc\"\nside = \"connect\"\nusername = \"a\"");
    (void)fault_of_entry("use = \"clear\"\nside = \"connect\"\nbind = \"loopback\"");
}

TEST(policy_file, that_nests_without_end_is_refused_before_it_is_taken_apart) {
    const auto repeated = [](const char *what) {
        std::string all;
        for (int i = 0; i < 300'000; ++i)
            all += what;
        return all;
    };
    EXPECT_EQ(fault_of("\n" + repeated("a.") + "a = 1"), "2: it nests too deep");
    EXPECT_EQ(fault_of("[" + repeated("\"a\".") + "a]"), "1: it nests too deep");
    EXPECT_EQ(fault_of("a = " + repeated("[")), "1: it nests too deep");
    EXPECT_EQ(fault_of("a = " + repeated("{a = ")), "1: it nests too deep");
}

#ifdef ZLINK_WITH_CURVE
const std::string own_keys = "use = \"curve\"\ncertificate = \"own.key_secret\"\n";
const std::string server_key = "server_key = \"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7\"\n";

TEST(policy_file, reads_the_keys_of_curve) {
    const policy_rules rules =
        read("[[entry]]\nside = \"connect\"\n" + own_keys + server_key + "[[entry]]\nside = \"bind\"\n" +
             own_keys + "zap = \"users.toml\"\n[[entry]]\nside = \"bind\"\n" + own_keys +
             "curve_server = false\nserver_certificate = \"/s.key\"\n");
    ASSERT_EQ(rules.entries.size(), 3u);
    const policy_entry &client = rules.entries[0], &server = rules.entries[1], &turned = rules.entries[2];
    EXPECT_EQ(client.use, protection::curve);
    EXPECT_EQ(client.certificate, "/etc/zlink/own.key_secret");
    EXPECT_EQ(client.server_key.size(), 32u);
    EXPECT_FALSE(client.is_curve_server(false));
    EXPECT_TRUE(server.is_curve_server(true));
    EXPECT_FALSE(turned.is_curve_server(true));
    EXPECT_EQ(turned.server_certificate, "/s.key");
    ASSERT_EQ(rules.files.size(), 5u);
    for (const auto &each : rules.files)
        EXPECT_EQ(each.is_secret, each.path != "/s.key") << each.path;
}

TEST(policy_file, with_curve_that_lacks_something_is_refused) {
    const std::string bind = "side = \"bind\"\n", connect = "side = \"connect\"\n",
                      anybody = "client_certificates = \"none\"\n", users = "zap = \"u\"\n";
    for (const std::string &lines : {connect + own_keys,
                                     bind + own_keys,
                                     connect + "use = \"curve\"\n" + server_key,
                                     connect + own_keys + server_key + "server_certificate = \"s\"\n",
                                     bind + own_keys + users + server_key,
                                     bind + own_keys + users + anybody,
                                     connect + own_keys + server_key + users,
                                     connect + own_keys + server_key + anybody,
                                     bind + own_keys + users + "curve_server = false\n",
                                     connect + own_keys + "curve_server = true\n",
                                     bind + own_keys + users + "cert = \"c\"\n",
                                     bind + own_keys + users + "username = \"u\"\n",
                                     own_keys + users,
                                     own_keys + server_key,
                                     bind + "use = \"clear\"\ncertificate = \"c\"\n",
                                     bind + "use = \"clear\"\ncurve_server = true\n",
                                     connect + "use = \"clear\"\n" + server_key,
                                     bind + own_keys + users + "curve_dir = \"d\"\n",
                                     connect + own_keys + server_key + "curve_dir = \"d\"\n",
                                     bind + own_keys + anybody + "curve_dir = \"d\"\n",
                                     bind + "use = \"clear\"\ncurve_dir = \"d\"\n",
                                     connect + own_keys + "server_key = \"too short\"\n",
                                     connect + own_keys + "server_key = [\"a\"]\n"})
        (void)fault_of_entry(lines);
    for (const std::string &lines : {bind + own_keys + "curve_dir = \"d\"\n", own_keys + server_key + users,
                                     own_keys + server_key + anybody, bind + own_keys + anybody,
                                     connect + own_keys + users + "curve_server = true\n"})
        (void)read("[[entry]]\n" + lines);
}
#else
TEST(policy_file, with_curve_is_refused_where_that_is_not_built) {
    EXPECT_EQ(fault_of_entry("use = \"curve\"\ncertificate = \"a\"\nclient_certificates = \"none\"\nside = "
                             "\"bind\""),
              "1: use = \"curve\": this library is built without it");
}
#endif

#ifdef ZLINK_WITH_TLS
TEST(policy_file, takes_what_is_enough_for_one_side) {
    (void)read("[[entry]]\nuse = \"tls\"\nside = \"connect\"\nca = \"a\"");
    (void)read("[[entry]]\nuse = \"tls\"\nside = \"bind\"\ncert = \"a\"\nkey = \"b\"\n"
               "client_certificates = \"none\"");
    const std::string print = "aa:BB" + std::string(60, '0');
    EXPECT_EQ(
        read("[[entry]]\nuse = \"tls\"\nside = \"connect\"\nca = \"a\"\nfingerprints = [\"" + print + "\"]")
            .entries[0]
            .fingerprints[0],
        std::string("\xaa\xbb") + std::string(30, '\0'));
    (void)read(
        "[[entry]]\nuse = \"tls\"\nside = \"bind\"\nca = \"a\"\ncert = \"b\"\nkey = \"c\"\nzap = \"u\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"bind\"\ncert = \"b\"\nkey = \"c\"\nzap = \"u\"\n"
                         "client_certificates = \"none\"");
    (void)fault_of_entry("use = \"tls\"\nside = \"connect\"\nca = \"a\"\nname = \"b\"\nfingerprints = \"" +
                         print + "\"");
    // Else a server would look at nobody's certificate.
    (void)fault_of_entry("use = \"tls\"\nca = \"a\"\ncert = \"b\"\nkey = \"c\"\n"
                         "client_certificates = \"none\"\nfingerprints = \"" +
                         print + "\"");
}
#endif

}  // namespace
}  // namespace zlink

#endif
