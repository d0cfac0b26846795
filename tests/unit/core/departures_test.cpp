#include "core/departures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace zlink {
namespace {

departure of(std::string host, counter why, int second) {
    departure made;
    made.host = std::move(host);
    made.why = why;
    made.last = time_point(std::chrono::seconds(second));
    return made;
}

TEST(departures, count_how_often_a_peer_has_gone_for_the_same_reason) {
    departures all;
    departure named = of("10.0.0.1", counter::disconnects_peer, 1);
    named.routing_id = "a";
    all.note(named);
    named.last += std::chrono::seconds(5);
    named.words = "it went again";
    all.note(named);
    all.note(of("10.0.0.1", counter_of(handshake_failure::auth, 0), 3));
    const auto told = all.all();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].times, 2u);
    EXPECT_EQ(told[0].words, "it went again");
    EXPECT_EQ(told[0].last, time_point(std::chrono::seconds(6)));
    EXPECT_EQ(told[1].times, 1u);
}

TEST(departures, forget_whoever_went_first_where_they_are_many) {
    departures all;
    all.note(of("comes and goes", counter::disconnects_peer, 0));
    for (int i = 1; i <= 1000; ++i) {
        all.note(of("stranger " + std::to_string(i), counter_of(handshake_failure::protocol, 0), i));
        if (i % 50 == 0)
            all.note(of("comes and goes", counter::disconnects_peer, i));
    }
    const auto told = all.all();
    ASSERT_EQ(told.size(), departures::most_departures);
    std::uint64_t times = 0;
    for (const departure &each : told)
        times += each.host == "comes and goes" ? each.times : 0;
    EXPECT_EQ(times, 21u);
}

TEST(departures, keep_who_has_gone_often_when_ever_new_names_go) {
    departures all;
    for (int i = 0; i < 3; ++i)
        all.note(of("comes and goes", counter::disconnects_peer, i));
    for (int i = 0; i < 70; ++i)
        all.note(of("newcomer " + std::to_string(i), counter::disconnects_peer, 10 + i));
    const auto told = all.all();
    ASSERT_EQ(told.size(), departures::most_departures);
    EXPECT_EQ(told[0].host, "comes and goes");
    EXPECT_EQ(told[0].times, 3u);
    EXPECT_EQ(
        std::count_if(told.begin(), told.end(), [](const auto &each) { return each.host == "newcomer 69"; }),
        1);
}

}  // namespace
}  // namespace zlink
