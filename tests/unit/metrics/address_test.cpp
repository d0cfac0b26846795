#include "metrics/address.hpp"

#include <gtest/gtest.h>

namespace zlink::metrics {
namespace {

constexpr int process = 4711;

address parsed(std::string_view text, bool anywhere = false) {
    address found;
    std::string why;
    EXPECT_TRUE(parse(text, process, anywhere, found, why)) << text << ": " << why;
    return found;
}

TEST(an_address_of_metrics, is_a_host_in_numbers_and_a_port) {
    const address v4 = parsed("tcp://127.0.0.1:9464");
    EXPECT_EQ(v4.host, "127.0.0.1");
    EXPECT_EQ(v4.first_port, 9464);
    EXPECT_EQ(v4.last_port, 9464);
    EXPECT_EQ(parsed("tcp://[::1]:1").host, "::1");
    EXPECT_EQ(parsed("tcp://localhost:65535").host, "127.0.0.1");
    EXPECT_EQ(parsed("tcp://127.8.8.8:1").host, "127.8.8.8");
}

TEST(an_address_of_metrics, may_leave_the_choice_of_a_port) {
    const address some = parsed("tcp://127.0.0.1:9464-9470");
    EXPECT_EQ(some.first_port, 9464);
    EXPECT_EQ(some.last_port, 9470);
}

TEST(an_address_of_metrics, names_whom_it_may_be_asked_as) {
    const address one = parsed("tcp://127.0.0.1:9464?host=a&host=b.example");
    EXPECT_EQ(one.names, (std::vector<std::string>{"a", "b.example"}));
}

TEST(an_address_of_metrics, has_the_number_of_the_process_where_it_asks_for_it) {
    EXPECT_EQ(parsed("unix:/run/zlink-%p.socket").path, "/run/zlink-4711.socket");
    EXPECT_EQ(parsed("unix:100%").path, "100%");
    EXPECT_EQ(parsed("tcp://127.0.0.1:%p").first_port, 4711);
}

TEST(an_address_of_metrics, is_also_a_file) {
    const address one = parsed("file:/dev/shm/zlink-%p");
    EXPECT_EQ(one.path, "/dev/shm/zlink-4711");
    EXPECT_TRUE(one.is_file);
    EXPECT_FALSE(one.tells_peers);
    EXPECT_EQ(parsed("file:" + std::string(200, 'x')).path.size(), 200u);
}

TEST(an_address_of_metrics, tells_of_peers_where_only_the_user_comes_or_it_is_asked_to) {
    EXPECT_TRUE(parsed("unix:/run/zlink").tells_peers);
    EXPECT_FALSE(parsed("tcp://127.0.0.1:1?host=a").tells_peers);
    const address one = parsed("tcp://127.0.0.1:1?peers=1&host=a");
    EXPECT_TRUE(one.tells_peers);
    EXPECT_EQ(one.names, std::vector<std::string>{"a"});
}

TEST(an_address_of_metrics, that_other_machines_reach_has_to_be_allowed) {
    address found;
    std::string why;
    for (const char *text : {"tcp://0.0.0.0:1", "tcp://10.0.0.1:1", "tcp://[::]:1"}) {
        EXPECT_FALSE(parse(text, process, false, found, why)) << text;
        EXPECT_TRUE(parse(text, process, true, found, why)) << text;
    }
}

TEST(an_address_of_metrics, is_nothing_else) {
    for (const char *text : {"", "9464", "http://127.0.0.1:9464", "tcp://", "tcp://127.0.0.1",
                             "tcp://127.0.0.1:", "tcp://127.0.0.1:0", "tcp://127.0.0.1:65536",
                             "tcp://127.0.0.1:2-1", "tcp://127.0.0.1:1-", "tcp://127.0.0.1: 1",
                             "tcp://example.org:1", "tcp://:1", "tcp://*:1", "tcp://127.0.0.1:1?host=",
                             "tcp://127.0.0.1:1?name=a", "tcp://127.0.0.1:1?peers=0", "unix:", "file:"}) {
        address found;
        std::string why;
        EXPECT_FALSE(parse(text, process, true, found, why)) << text;
        EXPECT_FALSE(why.empty()) << text;
    }
    address found;
    std::string why;
    EXPECT_FALSE(parse("unix:/" + std::string(100, 'x'), process, false, found, why));
    EXPECT_EQ(why, "the path is too long");
}

}  // namespace
}  // namespace zlink::metrics
