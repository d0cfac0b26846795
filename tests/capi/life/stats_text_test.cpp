// zlink_stats_text stays short, whatever sockets there are and whatever their names.
#include <array>
#include <cctype>
#include <set>
#include <unistd.h>

#include "stats.hpp"

namespace {

using namespace zlink_test;

constexpr std::array formats{ZLINK_STATS_PROMETHEUS, ZLINK_STATS_OPENMETRICS, ZLINK_STATS_JSON};
constexpr std::size_t most_octets = 256 * 1024;
constexpr int sockets_of_context = 70;

/// The names in a text, of all but the sum.
std::set<std::string> names_in(const std::string &json) {
    std::set<std::string> found;
    const std::string key = ",\"socket\":\"";
    for (std::size_t at = 0; (at = json.find(key, at)) != std::string::npos;) {
        at += key.size();
        const std::string name = json.substr(at, json.find("\",\"type\"", at) - at);
        if (name != "_other")
            found.insert(name);
    }
    return found;
}

/// Sums a counter over all lines.
std::uint64_t sum_in(const std::string &json, const std::string &number) {
    const std::string key = '"' + number + "\":";
    std::uint64_t sum = 0;
    for (std::size_t at = 0; (at = json.find(key, at)) != std::string::npos;)
        if (std::isdigit(static_cast<unsigned char>(json[at += key.size()])))  // or it is a list
            sum += std::stoull(json.substr(at));
    return sum;
}

class the_text : public ::testing::TestWithParam<bool> {
protected:
    bool has_names() const { return GetParam(); }
    void open(context &zmq, int type, int number) {
        sockets.push_back(zmq.socket(type));
        test_socket &made = sockets.back();
        if (has_names()) {
            std::string name(64, '"');
            name.replace(60, 4, std::to_string(1000 + number));
            ASSERT_EQ(made.set(ZLINK_SOCKET_NAME, name), 0);
        }
        (void)made.bind("ipc:///tmp/zlink-" + std::string(60, 'n') + std::to_string(::getpid()) + '-' +
                        std::to_string(number));
        EXPECT_TRUE(type != ZMQ_PUB || made.send("nobody") != -1);
    }

    std::vector<test_socket> sockets;
};

TEST_P(the_text, stays_short_with_many_sockets_of_long_names_in_several_contexts) {
    std::array<context, 4> contexts;
    constexpr std::array types{ZMQ_PUB,    ZMQ_SUB,    ZMQ_PUSH, ZMQ_PULL, ZMQ_REQ, ZMQ_REP,
                               ZMQ_DEALER, ZMQ_ROUTER, ZMQ_XPUB, ZMQ_XSUB, ZMQ_PAIR};
    int number = 0;
    std::array<std::uint64_t, 4> lost{};
    for (std::size_t at = 0; at < contexts.size(); ++at)
        for (int i = 0; i < sockets_of_context; ++i, ++number) {
            const int type = types[static_cast<std::size_t>(number) % types.size()];
            lost[at] += type == ZMQ_PUB ? 1 : 0;
            ASSERT_NO_FATAL_FAILURE(open(contexts[at], type, number));
        }
    for (int round = 0; round < 2; ++round)
        for (std::size_t at = 0; at < contexts.size(); ++at)
            for (const int how : formats) {
                const std::string text = text_of(contexts[at], how);
                EXPECT_LE(text.size(), most_octets);
                if (how != ZLINK_STATS_JSON)
                    continue;
                EXPECT_EQ(sum_in(text, "messages_dropped_no_peer"), lost[at]);
                EXPECT_EQ(sum_in(text, "sockets"), std::uint64_t{sockets_of_context});
                const std::set<std::string> names = names_in(text);
                EXPECT_GE(names.size(), 20u);
                EXPECT_LE(names.size(), 64u);
            }
    sockets.clear();  // before their contexts
}

TEST(the_text_of_a_context, names_its_sockets_however_many_contexts_there_are) {
    std::array<context, 20> contexts;
    std::vector<test_socket> sockets;
    for (context &each : contexts) {
        sockets.push_back(each.socket(ZMQ_PUB));
        ASSERT_EQ(sockets.back().set(ZLINK_SOCKET_NAME, "mine"), 0);
    }
    for (context &each : contexts)
        EXPECT_EQ(names_in(text_of(each, ZLINK_STATS_JSON)), std::set<std::string>{"mine"});
    sockets.clear();  // before their contexts
}

INSTANTIATE_TEST_SUITE_P(every_kind, the_text, ::testing::Bool(), [](const auto &given) {
    return std::string(given.param ? "with_long_names" : "with_long_paths");
});

}  // namespace
