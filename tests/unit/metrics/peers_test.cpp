#include "metrics/peers.hpp"

#include <gtest/gtest.h>

namespace zlink::metrics {
namespace {

peer_view peer_with(std::string address, std::uint64_t waiting) {
    peer_view made;
    made.address = std::move(address);
    made.out.published.messages = waiting;
    return made;
}

std::size_t count(const std::string &text, const std::string &what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

TEST(the_text_of_peers, names_those_for_whom_most_waits_and_sums_the_rest) {
    std::vector<peers_of_context> all(1);
    all[0].context = "1";
    for (std::uint64_t socket = 1; socket <= 3; ++socket)
        all[0].sockets.push_back({socket, "market", socket_type::pub, {}, {}});
    for (std::uint64_t i = 0; i < 1000; ++i)
        all[0].sockets[i % 2].peers.push_back(peer_with("tcp://10.0.0.1:" + std::to_string(i), i / 10));
    const std::string text = text_of(all);
    EXPECT_EQ(count(text, "\"address\""), most_peers);
    EXPECT_EQ(count(text, "\"queue_messages_out\":99,"), 10u);
    EXPECT_EQ(count(text, "\"queue_messages_out\":74,"), 6u) << "as many as there is room for";
    EXPECT_EQ(count(text, "\"peers\":370,") + count(text, "\"peers\":374,"), 2u) << "the others of both";
    EXPECT_EQ(count(text, "\"others\":[{\"context\":\"1\",\"socket\":\"market\",\"type\":\"PUB\""), 1u);
    EXPECT_EQ(count(text, "#2 market"), 500 - 374 + 1u) << "as it is called where the numbers of sockets are";
    EXPECT_LT(text.size(), 256u * 1024);
}

TEST(the_text_of_peers, is_json_whatever_a_peer_calls_itself) {
    peer_view odd;
    odd.routing_id = std::string("\0\x1b\"", 3);
    odd.user_id = "a\"b\\c\n\xff";
    odd.endpoint = "ipc:///" + std::string(500, 'x');
    const std::string text = text_of({{"1", {{1, "s", socket_type::router, {odd}, {}}}, false, {}}});
    EXPECT_NE(text.find("\"routing_id\":\"0x001b22\""), text.npos) << text;
    EXPECT_NE(text.find("\"user_id\":\"a\\\"b\\\\c??\""), text.npos) << text;
    EXPECT_NE(text.find("\"is_whole\":false"), text.npos) << text;
    EXPECT_LT(text.size(), 1200u) << "the endpoint is cut";
}

TEST(the_text_of_peers, tells_apart_peers_that_have_no_name) {
    std::vector<peer_view> nameless(2);
    nameless[0].id = 7;
    nameless[1].id = 8;
    const std::string text = text_of({{"1", {{1, "s", socket_type::pull, nameless, {}}}, true, {}}});
    EXPECT_EQ(count(text, "\"id\":7,"), 1u) << text;
    EXPECT_EQ(count(text, "\"id\":8,"), 1u) << text;
}

TEST(the_text_of_peers, tells_who_has_gone_how_often_and_who_was_kept_out) {
    const time_point now(std::chrono::seconds(100));
    departure gone;
    gone.host = "10.0.0.7";
    gone.routing_id = "worker";
    gone.why = counter::disconnects_heartbeat;
    gone.times = 12;
    gone.last = now - std::chrono::milliseconds(1500);
    departure kept_out;
    kept_out.host = "10.0.0.8";
    kept_out.why = counter_of(handshake_failure::auth, 0);
    kept_out.words = "a \"word\"";
    kept_out.last = now;
    const std::string text =
        text_of({{"1", {{1, "s", socket_type::router, {}, {gone, kept_out}}}, true, now}});
    EXPECT_NE(text.find("\"gone\":[{\"context\":\"1\",\"socket\":\"s\",\"type\":\"ROUTER\",\"endpoint\":\"\","
                        "\"address\":\"10.0.0.7\",\"routing_id\":\"worker\",\"user_id\":\"\",\"connects\":0,"
                        "\"event\":\"disconnects\",\"reason\":\"heartbeat\",\"words\":\"\",\"times\":12,"
                        "\"seconds_ago\":1.500}"),
              text.npos)
        << text;
    EXPECT_NE(
        text.find(
            "\"event\":\"handshakes_failed\",\"reason\":\"auth\",\"words\":\"a \\\"word\\\"\",\"times\":1,"
            "\"seconds_ago\":0.000}"),
        text.npos)
        << text;
}

TEST(the_text_of_peers, leaves_out_those_who_went_first_where_they_are_many) {
    std::vector<peers_of_context> all(1);
    for (std::uint64_t socket = 0; socket < 100; ++socket) {
        all[0].sockets.push_back({socket, "s", socket_type::pub, {}, {}});
        for (std::uint64_t i = 0; i < departures::most_departures; ++i) {
            departure each;
            each.host = "h" + std::to_string(i);
            each.last = time_point(std::chrono::seconds(socket * departures::most_departures + i));
            all[0].sockets.back().gone.push_back(each);
        }
    }
    const std::string text = text_of(all);
    EXPECT_EQ(count(text, "\"seconds_ago\""), most_peers);
    EXPECT_EQ(count(text, "\"socket\":\"#99 s\""), departures::most_departures);
    all[0].sockets[1].gone[0].times = 2;
    EXPECT_EQ(count(text_of(all), "\"socket\":\"#1 s\""), 1u) << "but for whoever goes again and again";
}

}  // namespace
}  // namespace zlink::metrics
