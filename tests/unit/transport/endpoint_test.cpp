// Endpoints taken apart and printed. Pure.
#include "transport/endpoint.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace zlink {
namespace {

TEST(split_endpoint, gives_scheme_and_address) {
    std::string scheme, address;
    ASSERT_EQ(split_endpoint("tcp://127.0.0.1:5555", scheme, address), error::none);
    EXPECT_EQ(scheme, "tcp");
    EXPECT_EQ(address, "127.0.0.1:5555");
    ASSERT_EQ(split_endpoint("ipc:///tmp/a://b", scheme, address), error::none);
    EXPECT_EQ(scheme, "ipc");
    EXPECT_EQ(address, "/tmp/a://b");
}

TEST(split_endpoint, refuses_what_lacks_a_half) {
    std::string scheme, address;
    for (const char *text : {"", "tcp", "tcp:", "tcp:/", "tcp://", "://", "://a", "/tcp:/a", "tcp:a"})
        EXPECT_EQ(split_endpoint(text, scheme, address), error::invalid) << text;
}

struct bind_case {
    const char *text, *host;
    int port;
};

TEST(tcp_bind_address, is_host_and_port) {
    const bind_case cases[] = {{"*:5555", "*", 5555},
                               {"*:*", "*", 0},
                               {"*:0", "*", 0},
                               {"lo:1", "lo", 1},
                               {"127.0.0.1:65535", "127.0.0.1", 65535},
                               {"[::1]:5555", "::1", 5555},
                               {"::1:5555", "::1", 5555},
                               {"[::]:*", "::", 0},
                               {"[fe80::1%lo]:7", "fe80::1%lo", 7},
                               {":5555", "", 5555},
                               {"[*]:1", "*", 1}};
    for (const auto &c : cases) {
        tcp_local_address out;
        EXPECT_EQ(parse_tcp_bind(c.text, out), error::none) << c.text;
        EXPECT_EQ(out.host, c.host) << c.text;
        EXPECT_EQ(out.port, c.port) << c.text;
    }
}

TEST(tcp_bind_address, needs_a_port_from_1_to_65535_or_a_wild_card) {
    tcp_local_address out;
    for (const char *text : {"", "*", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                             "127.0.0.1:abc", "127.0.0.1:12x", "127.0.0.1:1 ", "127.0.0.1:+1", "127.0.0.1:00",
                             "*:**", "lo:http", "a;127.0.0.1:1", "127.0.0.1:99999999999999999999"})
        EXPECT_EQ(parse_tcp_bind(text, out), error::invalid) << text;
}

TEST(tcp_connect_address, is_host_and_port) {
    const bind_case cases[] = {{"localhost:5555", "localhost", 5555},
                               {"127.0.0.1:0", "127.0.0.1", 0},
                               {"no_such-host.example:80", "no_such-host.example", 80},
                               {"[::1]:5555", "::1", 5555},
                               {"::1:55", "::1", 55},
                               {"[fe80::1%eth0]:55", "fe80::1%eth0", 55},
                               {"h:00005555", "h", 5555},
                               {":5555", "", 5555}};
    for (const auto &c : cases) {
        tcp_remote_address out;
        EXPECT_EQ(parse_tcp_connect(c.text, out), error::none) << c.text;
        EXPECT_EQ(out.host, c.host) << c.text;
        EXPECT_EQ(out.port, c.port) << c.text;
        EXPECT_FALSE(out.has_source) << c.text;
    }
}

TEST(tcp_connect_address, may_name_its_source) {
    struct {
        const char *text, *source;
        int source_port;
    } const cases[] = {{"127.0.0.1:0;127.0.0.1:5555", "127.0.0.1", 0},
                       {"127.0.0.1:5556;h:5555", "127.0.0.1", 5556},
                       {"127.0.0.1;h:5555", "127.0.0.1", 0},
                       {"lo:*;h:5555", "lo", 0},
                       {"lo;h:5555", "lo", 0},
                       {"[::1]:77;[::1]:5555", "::1", 77},
                       {"[::1];[::1]:5555", "::1", 0},
                       {"::1;[::1]:5555", "::1", 0}};
    for (const auto &c : cases) {
        tcp_remote_address out;
        ASSERT_EQ(parse_tcp_connect(c.text, out), error::none) << c.text;
        EXPECT_TRUE(out.has_source) << c.text;
        EXPECT_EQ(out.source.host, c.source) << c.text;
        EXPECT_EQ(out.source.port, c.source_port) << c.text;
        EXPECT_EQ(out.port, 5555) << c.text;
    }
}

TEST(tcp_connect_address, refuses_what_no_host_or_port_looks_like) {
    tcp_remote_address out;
    const std::string long_host = std::string(300, 'a') + ":55";
    for (const char *text : {"", "*:5555", "127.0.0.1:*", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                             "h:abc", "-h:5", "a b:55", "a/b:55", "127.0.0.1:5555/", "h:+5", "a@b:5", "a#b:5",
                             "!:5", ";h:55", "h:1;", "lo:x;h:5", long_host.c_str()})
        EXPECT_EQ(parse_tcp_connect(text, out), error::invalid) << text;
}

TEST(tcp_endpoint, prints_ipv4_and_ipv6) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(5555);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(print_endpoint(reinterpret_cast<sockaddr *>(&v4), sizeof v4), "tcp://127.0.0.1:5555");
    EXPECT_EQ(print_host(reinterpret_cast<sockaddr *>(&v4), sizeof v4), "127.0.0.1");
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(80);
    v6.sin6_addr = in6addr_loopback;
    EXPECT_EQ(print_endpoint(reinterpret_cast<sockaddr *>(&v6), sizeof v6), "tcp://[::1]:80");
    ::inet_pton(AF_INET6, "::ffff:1.2.3.4", &v6.sin6_addr);
    EXPECT_EQ(print_endpoint(reinterpret_cast<sockaddr *>(&v6), sizeof v6), "tcp://[::ffff:1.2.3.4]:80");
}

}  // namespace
}  // namespace zlink
