// Tests what an entry makes of a bind or a connect, option by option. Pure.
#include "policy/terms.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

endpoint_request bind_of(const char *address, const char *scheme = "tcp") {
    return {true, socket_type::pull, scheme, address};
}
endpoint_request connect_of(const char *address, const char *scheme = "tcp") {
    return {false, socket_type::push, scheme, address};
}

policy_entry entry_for(protection use) {
    policy_entry entry;
    entry.line = 7;
    entry.use = use;
    return entry;
}

policy_entry tls_entry() {
    policy_entry entry = entry_for(protection::tls);
    entry.cert = "/c", entry.key = "/k", entry.ca = "/a";
    return entry;
}

/// Holds what comes of it, and why not.
struct outcome {
    outcome(const policy_entry &entry, const endpoint_request &what, const settings &program = {}) {
        policy_rules rules;
        rules.entries = {entry};
        is_granted = judge(rules, what, program, terms, why, line);
    }
    bool is_granted;
    endpoint_terms terms;
    std::string why;
    int line = 0;
};

TEST(policy_terms, refuse_what_no_entry_matches) {
    policy_rules rules;
    endpoint_terms terms;
    std::string why;
    int line = -1;
    EXPECT_FALSE(judge(rules, bind_of("*:1"), {}, terms, why, line));
    EXPECT_EQ(line, 0);
    rules.clears_others = true;
    EXPECT_TRUE(judge(rules, bind_of("*:1"), {}, terms, why, line));
    EXPECT_EQ(terms, (endpoint_terms{{}, "*:1", false, {}}));
}

TEST(policy_terms, refuse_and_clear_by_name) {
    const outcome refused(entry_for(protection::refuse), bind_of("*:1"));
    EXPECT_FALSE(refused.is_granted);
    EXPECT_EQ(refused.line, 7);
    settings program;
    program.plain_server = true;
    const outcome cleared(entry_for(protection::clear), bind_of("*:1"), program);
    EXPECT_TRUE(cleared.is_granted);
    EXPECT_EQ(cleared.terms.options, program);
}

TEST(policy_terms, put_a_server_inside_tls_that_knows_its_clients) {
    for (const char *scheme : {"tcp", "tls", "ws", "wss"}) {
        const outcome found(tls_entry(), bind_of("*:1", scheme));
        ASSERT_TRUE(found.is_granted) << scheme;
        EXPECT_TRUE(found.terms.is_inside_tls);
        EXPECT_EQ(found.terms.address, "*:1");
        EXPECT_EQ(found.terms.options.tls_cert, "/c");
        EXPECT_EQ(found.terms.options.tls_key, "/k");
        EXPECT_EQ(found.terms.options.tls_ca, "/a");
        EXPECT_TRUE(found.terms.options.tls_require_client_cert);
    }
    EXPECT_FALSE(outcome(tls_entry(), bind_of("/a", "ipc")).is_granted);
}

TEST(policy_terms, refuse_what_is_for_hosts_where_a_scheme_has_none_or_is_not_known) {
    for (const std::string scheme : {"ipc", "nosuch"}) {
        policy_entry entry = entry_for(protection::clear);
        entry.bind_host = "loopback";
        EXPECT_EQ(outcome(entry, bind_of("a:1", scheme.c_str())).why,
                  "bind = is for addresses, and " + scheme + " has none");
        entry = entry_for(protection::clear);
        entry.allow = {ipv4_or_6_filter{{10}, false, 8}};
        EXPECT_EQ(outcome(entry, bind_of("a:1", scheme.c_str())).why,
                  "allow = is for addresses, and " + scheme + " has none");
        EXPECT_EQ(outcome(tls_entry(), connect_of("a:1", scheme.c_str())).why,
                  scheme + " does not go inside TLS");
        EXPECT_TRUE(outcome(entry_for(protection::clear), bind_of("a:1", scheme.c_str())).is_granted);
    }
}

TEST(policy_terms, take_nothing_of_tls_from_the_program) {
    settings program;
    program.tls_verify = false;
    program.tls_hostname = "evil.example";
    program.tls_trust_system = 1;
    program.tls_password = std::string_view("p");
    program.tls_groups = "ffdhe8192";
    program.tls_ca = "/evil";
    policy_entry entry = tls_entry();
    const settings options = outcome(entry, connect_of("a:1"), program).terms.options;
    EXPECT_TRUE(options.tls_verify);
    EXPECT_EQ(options.tls_hostname, "") << "the host of the endpoint";
    EXPECT_EQ(options.tls_trust_system, 0);
    EXPECT_EQ(options.tls_password, "");
    EXPECT_EQ(options.tls_groups, "");
    EXPECT_EQ(options.tls_ca, "/a");
    entry.name = "feed.example";
    EXPECT_EQ(outcome(entry, connect_of("a:1"), program).terms.options.tls_hostname, "feed.example");
}

TEST(policy_terms, keep_the_stricter_limit_of_program_and_policy) {
    policy_entry entry = entry_for(protection::clear);
    entry.max_message = 100;
    entry.handshake_limit_ms = 1000;
    entry.heartbeat_ms = 500;
    settings program;
    program.handshake_interval_ms = 0;  // none
    settings got = outcome(entry, bind_of("*:1"), program).terms.options;
    EXPECT_EQ(got.max_message_size, 100);
    EXPECT_EQ(got.handshake_interval_ms, 1000);
    EXPECT_EQ(got.heartbeat_interval_ms, 500);
    EXPECT_EQ(got.heartbeat_timeout_ms, -1) << "as the interval";
    program.max_message_size = 99;
    program.handshake_interval_ms = 999;
    program.heartbeat_interval_ms = 499;
    program.heartbeat_timeout_ms = 498;
    EXPECT_EQ(outcome(entry, bind_of("*:1"), program).terms.options, program);
    program.max_message_size = 101;
    program.handshake_interval_ms = 1001;
    program.heartbeat_interval_ms = 501;
    program.heartbeat_timeout_ms = 10'000;
    got = outcome(entry, bind_of("*:1"), program).terms.options;
    EXPECT_EQ(got.max_message_size, 100);
    EXPECT_EQ(got.handshake_interval_ms, 1000);
    EXPECT_EQ(got.heartbeat_interval_ms, 500);
    EXPECT_EQ(got.heartbeat_timeout_ms, 500);
}

TEST(policy_terms, bind_where_the_policy_says) {
    policy_entry entry = entry_for(protection::clear);
    entry.bind_host = "loopback";
    EXPECT_EQ(outcome(entry, bind_of("*:5555")).terms.address, "127.0.0.1:5555");
    EXPECT_EQ(outcome(entry, bind_of("*:*")).terms.address, "127.0.0.1:*");
    EXPECT_EQ(outcome(entry, bind_of("127.0.0.2:1")).terms.address, "127.0.0.2:1") << "it is one already";
    EXPECT_EQ(outcome(entry, bind_of("[::]:1")).terms.address, "[::1]:1");
    EXPECT_EQ(outcome(entry, bind_of("*:1/feed", "ws")).terms.address, "127.0.0.1:1/feed");
    EXPECT_EQ(outcome(entry, connect_of("a:1")).terms.address, "a:1");
    EXPECT_FALSE(outcome(entry, bind_of("/a", "ipc")).is_granted);
    settings program;
    program.use_fd = 5;
    EXPECT_FALSE(outcome(entry, bind_of("*:1"), program).is_granted);
    entry.bind_host = "fe80::1";
    EXPECT_EQ(outcome(entry, bind_of("*:1")).terms.address, "[fe80::1]:1");
}

TEST(policy_terms, allow_addresses_that_can_be_judged) {
    policy_entry entry = entry_for(protection::clear);
    entry.allow = {{{10}, false, 8}};
    EXPECT_EQ(outcome(entry, connect_of("a:1")).terms.options.allowed_peers, entry.allow);
    EXPECT_FALSE(outcome(entry, connect_of("/a", "ipc")).is_granted);
    settings program;
    program.socks_proxy = "proxy:1080";
    EXPECT_FALSE(outcome(entry, connect_of("a:1"), program).is_granted);
    EXPECT_TRUE(outcome(entry, bind_of("*:1"), program).is_granted);
}

TEST(policy_terms, use_plain_where_nobody_listens) {
    policy_entry entry = entry_for(protection::plain);
    entry.username = "alice";
    entry.password = std::string_view("secret");
    const outcome client(entry, connect_of("/a", "ipc"));
    ASSERT_TRUE(client.is_granted);
    EXPECT_EQ(client.terms.options.mechanism, mechanism_kind::plain);
    EXPECT_EQ(client.terms.options.plain_username, "alice");
    EXPECT_EQ(client.terms.options.plain_password, "secret");
    EXPECT_FALSE(client.terms.options.plain_server);
    const outcome server(entry, bind_of("127.0.0.1:1"));
    ASSERT_TRUE(server.is_granted);
    EXPECT_TRUE(server.terms.options.plain_server);
    EXPECT_EQ(server.terms.options.plain_password, "");
    EXPECT_FALSE(outcome(entry, bind_of("*:1")).is_granted);
    EXPECT_FALSE(outcome(entry, bind_of("*:1", "tls")).is_granted) << "whose certificate?";
    EXPECT_TRUE(outcome(entry, bind_of("[::1]:1")).is_granted);
    settings program;
    program.use_fd = 5;
    EXPECT_FALSE(outcome(entry, bind_of("127.0.0.1:1"), program).is_granted);
    program = {};
    program.mechanism = mechanism_kind::curve;
    EXPECT_FALSE(outcome(entry, bind_of("127.0.0.1:1"), program).is_granted);
    program = {};
    program.type = socket_type::stream;
    EXPECT_FALSE(outcome(entry, bind_of("127.0.0.1:1"), program).is_granted) << "it speaks no ZMTP";
    entry.bind_host = "loopback";
    EXPECT_TRUE(outcome(entry, bind_of("*:1")).is_granted);
}

TEST(policy_terms, dial_loopback_only_for_plain_outside_tls) {
    policy_entry entry = entry_for(protection::plain);
    const outcome named(entry, connect_of("feed.example:1"));
    ASSERT_TRUE(named.is_granted) << "its addresses are judged as it dials";
    EXPECT_EQ(named.terms.options.allowed_peers.size(), 2u);
    entry.allow = {{{10}, false, 8}, {{127}, false, 16}};
    EXPECT_EQ(outcome(entry, connect_of("a:1")).terms.options.allowed_peers.size(), 1u);
    entry.allow = {{{}, false, 0}};
    EXPECT_FALSE(outcome(entry, connect_of("a:1")).is_granted);
    settings program;
    program.socks_proxy = "proxy:1080";
    EXPECT_FALSE(outcome(entry_for(protection::plain), connect_of("a:1"), program).is_granted);
}

TEST(policy_terms, put_plain_inside_tls_where_there_are_the_files) {
    policy_entry entry = tls_entry();
    entry.use = protection::plain;
    const outcome found(entry, bind_of("*:1"));
    ASSERT_TRUE(found.is_granted);
    EXPECT_TRUE(found.terms.is_inside_tls);
    EXPECT_TRUE(found.terms.options.plain_server);
    EXPECT_TRUE(outcome(entry, connect_of("a:1", "tls")).terms.options.tls_verify);
    EXPECT_FALSE(outcome(entry, bind_of("/a", "ipc")).terms.is_inside_tls);
}

policy_entry curve_entry() {
    policy_entry entry = entry_for(protection::curve);
    entry.own_keys = {std::string(32, 'P'), curve_own_key(std::string(32, 'S'))};
    entry.server_key = std::string(32, 'X');
    entry.zap = "/users";
    return entry;
}

TEST(policy_terms, use_curve_over_whatever_there_is) {
    for (const char *scheme : {"tcp", "tls", "ws", "wss", "ipc"}) {
        const outcome server(curve_entry(), bind_of("*:1", scheme)),
            client(curve_entry(), connect_of("a:1", scheme));
        ASSERT_TRUE(server.is_granted && client.is_granted) << scheme;
        EXPECT_FALSE(server.terms.is_inside_tls);
        EXPECT_EQ(server.terms.judged_mechanism, "CURVE");
        EXPECT_EQ(client.terms.judged_mechanism, "");
        for (const outcome *each : {&server, &client}) {
            const settings &options = each->terms.options;
            EXPECT_EQ(options.mechanism, mechanism_kind::curve);
            EXPECT_EQ(options.curve_server, each == &server);
            EXPECT_EQ(options.curve_public_key, std::string(32, 'P'));
            EXPECT_EQ(std::string_view(options.curve_secret_key), std::string(32, 'S'));
            EXPECT_EQ(options.curve_server_key, each == &server ? "" : std::string(32, 'X'));
        }
    }
    policy_entry turned = curve_entry();
    turned.curve_server = true;
    EXPECT_TRUE(outcome(turned, connect_of("a:1")).terms.options.curve_server);
    EXPECT_EQ(outcome(turned, connect_of("a:1")).terms.judged_mechanism, "CURVE");
    turned.curve_server = false;
    EXPECT_FALSE(outcome(turned, bind_of("*:1")).terms.options.curve_server);
    EXPECT_EQ(outcome(turned, bind_of("*:1")).terms.judged_mechanism, "");
}

TEST(policy_terms, use_curve_only_where_nothing_gets_lost_that_the_program_asks_of_its_peers) {
    settings program;
    program.mechanism = mechanism_kind::curve;
    program.curve_server_key = std::string(32, 'X');
    program.curve_secret_key = std::string(32, 'a');
    EXPECT_TRUE(outcome(curve_entry(), connect_of("a:1"), program).is_granted);
    EXPECT_EQ(outcome(curve_entry(), connect_of("a:1"), program).terms.options.curve_secret_key,
              curve_own_key(std::string(32, 'S')));
    EXPECT_FALSE(outcome(curve_entry(), bind_of("*:1"), program).is_granted) << "it asks for a server's key";
    program.curve_server_key[0] = 'x';
    EXPECT_FALSE(outcome(curve_entry(), connect_of("a:1"), program).is_granted);
    program.curve_server = true;
    EXPECT_TRUE(outcome(curve_entry(), bind_of("*:1"), program).is_granted);
    EXPECT_FALSE(outcome(curve_entry(), connect_of("a:1"), program).is_granted) << "it judges clients";
    program = {};
    program.mechanism = mechanism_kind::plain;
    EXPECT_FALSE(outcome(curve_entry(), bind_of("*:1"), program).is_granted);
    program = {};
    program.type = socket_type::stream;
    EXPECT_FALSE(outcome(curve_entry(), bind_of("*:1"), program).is_granted);
    program = {};
    program.router_raw = true;
    EXPECT_FALSE(outcome(curve_entry(), bind_of("*:1"), program).is_granted);
}

TEST(policy_terms, leave_curve_of_the_program_where_it_does_not_get_lost) {
    settings program;
    program.mechanism = mechanism_kind::curve;
    program.curve_server_key = std::string(32, 'x');
    for (const policy_entry &entry : {tls_entry(), entry_for(protection::clear)}) {
        const settings options = outcome(entry, connect_of("a:1"), program).terms.options;
        EXPECT_EQ(options.mechanism, mechanism_kind::curve);
        EXPECT_EQ(options.curve_server_key, program.curve_server_key);
    }
}

TEST(policy_terms, judge_clients_by_certificate_where_users_are_named) {
    policy_entry entry = tls_entry();
    EXPECT_EQ(outcome(entry, bind_of("*:1")).terms.judged_mechanism, "");
    EXPECT_FALSE(outcome(entry, bind_of("*:1")).terms.options.tls_zap);
    entry.zap = "/users";
    EXPECT_EQ(outcome(entry, bind_of("*:1")).terms.judged_mechanism, "TLS");
    EXPECT_TRUE(outcome(entry, bind_of("*:1")).terms.options.tls_zap);
    EXPECT_EQ(outcome(entry, connect_of("a:1")).terms.judged_mechanism, "");
    EXPECT_FALSE(outcome(entry, connect_of("a:1")).terms.options.tls_zap);
    entry.use = protection::plain;
    EXPECT_EQ(outcome(entry, bind_of("*:1")).terms.judged_mechanism, "PLAIN");
}

}  // namespace
}  // namespace zlink
