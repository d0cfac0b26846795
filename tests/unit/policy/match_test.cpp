// Which entry is meant by an endpoint, as programs write them. Pure.
#include "policy/match.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

/// Whether one entry matches.
bool matches(const policy_entry &entry, const endpoint_request &what) {
    policy_rules rules;
    rules.entries.push_back(entry);
    return first_match(rules, what) != nullptr;
}

endpoint_request to_bind(const char *scheme, const char *address, socket_type type = socket_type::pub) {
    return {true, type, scheme, address};
}
endpoint_request to_connect(const char *scheme, const char *address, socket_type type = socket_type::sub) {
    return {false, type, scheme, address};
}

policy_entry of_host(const char *host) {
    policy_entry entry;
    entry.hosts = {host};
    return entry;
}

TEST(policy_match, is_the_first_entry_that_matches) {
    policy_rules rules;
    rules.entries.resize(3);
    rules.entries[0].schemes = {"ipc"};
    rules.entries[1].ports = {{5555, 5555}};
    EXPECT_EQ(first_match(rules, to_bind("tcp", "*:5555")), &rules.entries[1]);
    EXPECT_EQ(first_match(rules, to_bind("tcp", "*:5556")), &rules.entries[2]);
    EXPECT_EQ(first_match(rules, to_bind("ipc", "/a")), &rules.entries[0]);
    EXPECT_EQ(first_match({}, to_bind("tcp", "*:5555")), nullptr);
}

TEST(policy_match, takes_hosts_for_what_they_are) {
    EXPECT_TRUE(matches(of_host("*"), to_bind("tcp", "*:1")));
    EXPECT_FALSE(matches(of_host("*"), to_bind("tcp", "127.0.0.1:1"))) << "no pattern";
    EXPECT_FALSE(matches(of_host("*"), to_bind("tcp", "0.0.0.0:1")));
    EXPECT_TRUE(matches(of_host("lo"), to_bind("tcp", "lo:1")));
    EXPECT_TRUE(matches(of_host("::"), to_bind("tcp", "[::]:1")));
    EXPECT_TRUE(matches(of_host("localhost"), to_connect("tcp", "localhost:1")));
    EXPECT_TRUE(matches(of_host("LocalHost"), to_connect("tcp", "localhosT:1")));
    EXPECT_FALSE(matches(of_host("localhost"), to_connect("tcp", "127.0.0.1:1")));
    EXPECT_TRUE(matches(of_host("::1"), to_connect("tcp", "[0:0:0:0:0:0:0:1]:1")));
    EXPECT_TRUE(matches(of_host("0::1"), to_connect("tls", "::1:1")));
}

TEST(policy_match, takes_a_numeric_address_for_the_one_that_is_dialled) {
    for (const char *host : {"10.1", "0xa.0.0.1", "012.0.0.1", "167772161", "[::ffff:10.0.0.1]"})
        EXPECT_TRUE(matches(of_host("10.0.0.1"), to_connect("tcp", (std::string(host) + ":1").c_str())))
            << host;
    EXPECT_TRUE(matches(of_host("0.0.0.0"), to_bind("tcp", "0:1")));
    EXPECT_TRUE(matches(of_host("feed.example"), to_connect("tcp", "feed.example.:1")));
    EXPECT_TRUE(matches(of_host("fe80::1%eth0"), to_connect("tcp", "[fe80:0::1%eth0]:1")));
    EXPECT_FALSE(matches(of_host("fe80::1"), to_connect("tcp", "[fe80::1%eth0]:1")));
}

TEST(policy_match, looks_at_the_scheme_as_it_is_written) {
    policy_entry entry;
    entry.schemes = {"tcp"};
    EXPECT_TRUE(matches(entry, to_bind("tcp", "*:1")));
    EXPECT_FALSE(matches(entry, to_bind("TCP", "*:1")));
    EXPECT_FALSE(matches(entry, to_bind("tls", "*:1")));
}

TEST(policy_match, takes_ports_and_their_ranges) {
    policy_entry entry;
    entry.ports = {{5555, 5555}, {6000, 6010}};
    EXPECT_TRUE(matches(entry, to_bind("tcp", "*:5555")));
    EXPECT_TRUE(matches(entry, to_connect("wss", "host:6010/feed")));
    EXPECT_FALSE(matches(entry, to_connect("wss", "host:6011/feed")));
    EXPECT_FALSE(matches(entry, to_bind("tcp", "*:*")));
    entry.ports = {{0, 0}};
    EXPECT_TRUE(matches(entry, to_bind("tcp", "*:*")));
    EXPECT_TRUE(matches(entry, to_bind("ws", "*:0/a")));
    EXPECT_FALSE(matches(entry, to_bind("tcp", "*:1")));
}

TEST(policy_match, knows_side_type_source_and_path) {
    policy_entry entry;
    entry.binds = true;
    EXPECT_TRUE(matches(entry, to_bind("tcp", "*:1")));
    EXPECT_FALSE(matches(entry, to_connect("tcp", "a:1")));
    entry = {};
    entry.types = {socket_type::pub, socket_type::xpub};
    EXPECT_TRUE(matches(entry, to_bind("tcp", "*:1", socket_type::xpub)));
    EXPECT_FALSE(matches(entry, to_bind("tcp", "*:1", socket_type::push)));
    entry = {};
    entry.sources = {"eth0", "192.0.2.1"};
    EXPECT_TRUE(matches(entry, to_connect("tcp", "eth0;a:1")));
    EXPECT_TRUE(matches(entry, to_connect("tcp", "192.0.2.1:77;a:1")));
    EXPECT_FALSE(matches(entry, to_connect("tcp", "a:1"))) << "it has none";
    entry = {};
    entry.paths = {"/run/feed"};
    EXPECT_TRUE(matches(entry, to_connect("ipc", "/run/feed")));
    EXPECT_FALSE(matches(entry, to_connect("ipc", "/run/feed2")));
    EXPECT_FALSE(matches(entry, to_connect("tcp", "a:1")));
}

TEST(policy_match, of_what_cannot_be_taken_apart_names_no_part) {
    for (const char *const address : {"", "a", "a:b", ":", "a:1;", "*:1"}) {
        policy_entry entry = of_host("a");
        EXPECT_FALSE(matches(entry, to_connect("tcp", address))) << address;
        entry = {};
        entry.ports = {{1, 65535}};
        EXPECT_FALSE(matches(entry, to_connect("tcp", address))) << address;
        EXPECT_TRUE(matches({}, to_connect("tcp", address))) << address;
    }
    EXPECT_FALSE(matches(of_host("a"), to_connect("udp", "a:1")));
}

}  // namespace
}  // namespace zlink
