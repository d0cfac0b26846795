#include "metrics/text.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace zlink::metrics {
namespace {

std::string text_of_one(std::optional<socket_type> type, const stats &numbers = {},
                        format how = format::prometheus) {
    numbers_of_contexts all;
    all.sockets.push_back({"1", "name", type ? socket_type_name(*type) : "", type, numbers});
    return text_of(all, how);
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

TEST(a_text, leaves_out_what_a_type_of_socket_never_has) {
    const std::string pub = text_of_one(socket_type::pub), pull = text_of_one(socket_type::pull);
    EXPECT_TRUE(has(pub, "reason=\"no_peer\"} 0\n"));
    EXPECT_TRUE(has(pull, "reason=\"unread\"} 0\n"));
    EXPECT_FALSE(has(pub, "unroutable")) << pub;
    EXPECT_FALSE(has(pub, "conflate")) << pub;
    EXPECT_FALSE(has(pub, "zlink_messages_received_total{")) << pub;
    EXPECT_FALSE(has(pub, "direction=\"in\"")) << pub;
    EXPECT_FALSE(has(pull, "zlink_messages_sent_total{")) << pull;
    EXPECT_FALSE(has(pull, "zlink_send_blocked_total{")) << pull;
    EXPECT_TRUE(has(text_of_one(socket_type::router), "reason=\"unroutable\"} 0\n"));
}

TEST(a_text, has_each_number_that_is_not_nothing) {
    stats numbers;
    for (std::uint64_t &each : numbers.counts)
        each = 7;
    numbers.queued_out = numbers.queued_in = numbers.highest_out = numbers.highest_in = {7, 7};
    numbers.subscriptions = numbers.peers = numbers.slow_peers = numbers.sockets = 7;
    numbers.peers_over.fill(7);
    const auto lines = [&](std::optional<socket_type> type) {
        const std::string text = text_of_one(type, numbers);
        return std::count(text.begin(), text.end(), '\n');
    };
    const auto all = lines(socket_type::pair);
    for (const socket_type type : {socket_type::pub, socket_type::pull, socket_type::router})
        EXPECT_EQ(lines(type), all);
    EXPECT_EQ(lines(std::nullopt), all) << "of a sum";
}

TEST(a_text, has_peers_and_a_series_of_them_for_each_transport_that_has_any) {
    stats numbers;
    numbers.peers = 5;
    numbers.peers_over[transport_of("ipc://x")] = 2;
    numbers.peers_over[transport_of("inproc://x")] = 3;
    const std::string text = text_of_one(socket_type::pull, numbers);
    const std::string labels = "{context=\"1\",socket=\"name\",type=\"PULL\"";
    EXPECT_TRUE(has(text, "\nzlink_peers" + labels + "} 5\n")) << text;
    EXPECT_TRUE(has(text, "\nzlink_peers_by_transport" + labels + ",transport=\"ipc\"} 2\n")) << text;
    EXPECT_TRUE(has(text, "\nzlink_peers_by_transport" + labels + ",transport=\"inproc\"} 3\n")) << text;
    EXPECT_FALSE(has(text, "transport=\"tcp\"")) << text;
    EXPECT_TRUE(has(text_of_one(socket_type::pull), "\nzlink_peers" + labels + "} 0\n"));
    const std::string json = text_of_one(socket_type::pull, numbers, format::json);
    EXPECT_TRUE(has(json, "\"peers\":5,\"peers_tcp\":0,\"peers_ipc\":2,")) << json;
    EXPECT_TRUE(has(json, "\"peers_inproc\":3,")) << json;
}

TEST(a_text, has_ends_of_connections_that_this_side_has_made_by_reason) {
    stats numbers;
    EXPECT_FALSE(has(text_of_one(socket_type::router), "reason=\"unbind\""));
    EXPECT_FALSE(has(text_of_one(socket_type::router), "reason=\"handover\""));
    numbers[counter::disconnects_unbind] = 4;
    numbers[counter::disconnects_handover] = 6;
    const std::string text = text_of_one(socket_type::router, numbers);
    EXPECT_TRUE(has(text, "reason=\"unbind\"} 4\n")) << text;
    EXPECT_TRUE(has(text, "reason=\"handover\"} 6\n")) << text;
}

TEST(a_transport, is_the_scheme_of_its_endpoint) {
    std::set<std::size_t> all;
    for (const known_scheme &each : known_schemes)
        all.insert(transport_of(std::string(each.name) + "://x"));
    EXPECT_EQ(all.size(), std::size(known_schemes));
    for (const char *const other : {"inproc://tcp://x", "", "tcp", "tcp:", "tcpx://x"})
        EXPECT_EQ(transport_of(other), transport_inproc) << other;
}

TEST(a_text, is_short_where_a_sum_has_nothing) {
    const std::string sum = text_of_one(std::nullopt), pair = text_of_one(socket_type::pair);
    EXPECT_TRUE(has(sum, "zlink_messages_sent_total{context=\"1\",socket=\"name\",type=\"\"} 0\n"));
    EXPECT_LT(std::count(sum.begin(), sum.end(), '{'), std::count(pair.begin(), pair.end(), '{') / 2);
    EXPECT_TRUE(has(text_of_one(std::nullopt, {}, format::json), "\"messages_dropped_unroutable\":0"))
        << "JSON has all of them";
}

/// The longest that there can be of who has lines in any case.
TEST(a_text, of_all_contexts_without_sockets_has_room) {
    numbers_of_contexts all;
    stats numbers;
    constexpr std::uint64_t large = 1'000'000'000'000;
    for (std::uint64_t &each : numbers.counts)
        each = large;
    numbers.queued_out = numbers.queued_in = numbers.highest_out = numbers.highest_in = {large, large};
    numbers.subscriptions = numbers.peers = numbers.slow_peers = numbers.sockets = large;
    numbers.peers_over.fill(large);
    for (std::size_t i = 0; i <= most_contexts; ++i) {
        const std::string name = i < most_contexts ? std::to_string(1000 + i) : "_other";
        all.sockets.push_back({name, "_other", "", std::nullopt, numbers});
        context_line &its = all.contexts.emplace_back();
        its.context = name;
        if (i < most_contexts)
            its.threads.resize(most_threads + 1,
                               {large, large, large, large, std::chrono::seconds(1'000'000)});
    }
    for (const format how : {format::prometheus, format::open_metrics, format::json})
        EXPECT_LE(text_of(all, how).size(), most_octets_of_text);
}

TEST(a_label, that_is_cut_has_an_ending_of_its_own_each_time_the_same) {
    std::set<std::string> found;
    const std::string path = "ipc:///run/" + std::string(80, 'x');
    for (int i = 0; i < 100; ++i) {
        const std::string text = label_text(path + std::to_string(i));
        EXPECT_EQ(text.size(), most_octets_of_label);
        EXPECT_EQ(text, label_text(path + std::to_string(i)));
        EXPECT_TRUE(text.starts_with("ipc:///run/xxx"));
        found.insert(text);
    }
    EXPECT_EQ(found.size(), 100u);
    EXPECT_EQ(label_text(std::string(most_octets_of_label, 'y')), std::string(most_octets_of_label, 'y'));
    EXPECT_EQ(label_text("a\nb\xff"), "a?b?");
}

}  // namespace
}  // namespace zlink::metrics
