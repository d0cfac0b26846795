// Tests what the reading half keeps from its socket: messages that nobody takes, and all but
// subscriptions.
#include "session/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stepped_reader.hpp"

namespace zlink {
namespace {

using namespace test;

// ---- what nobody takes ----

TEST(inbound, throws_away_what_comes_once_nobody_takes_it_and_goes_on_with_commands) {
    const octets head = message("taken");
    const struct {
        const char *what;
        octets wire;
    } cases[] = {{"small", message(body_of(100))},
                 {"large", message(body_of(100'000))},
                 {"multipart", part("a") + part(body_of(50'000)) + message("b")},
                 {"with a command", part("a") + testing::ping(0, "inside") + message(body_of(300))}};
    for (const auto &each : cases) {
        std::vector<std::size_t> cuts = every(each.wire.size() > 10'000 ? 997 : 1, each.wire.size());
        cuts.insert(cuts.begin(), {0, 1, 2, 9});
        for (const std::size_t cut : cuts) {
            SCOPED_TRACE(::testing::Message() << each.what << " " << cut);
            reader it(socket_of(socket_type::dealer), 5);
            it.state.input = head + each.wire.substr(0, cut);
            ASSERT_NO_FATAL_FAILURE(it.read());
            it.in.discard();
            EXPECT_TRUE(it.in.discards());
            it.state.input += each.wire.substr(cut);
            for (int i = 0; i < 10; ++i)
                it.state.input += message(body_of(20'000)) + part("") + message("more");
            it.state.input += testing::ping(0, "end");
            ASSERT_NO_FATAL_FAILURE(it.read());
            EXPECT_FALSE(it.in.failure());
            EXPECT_FALSE(it.far->has_unpublished());
            ASSERT_FALSE(it.answers.empty());
            EXPECT_EQ(it.answers.back(), testing::pong("end"));
            EXPECT_LE(it.take(), 2u);
            EXPECT_EQ(it.log.at(0), "=taken");
            EXPECT_EQ(it.counts->get(counter::dropped_unread), 22 - it.log.size())
                << "two at a time, and the last, that is 22 with what was taken";
            EXPECT_EQ(it.log.size() > 1, cut == each.wire.size() && it.log.size() > 1);
        }
    }
}

TEST(inbound, throws_away_what_was_kept_back_at_the_mark_too) {
    reader it(socket_of(socket_type::dealer), 1);
    it.state.input = message("a") + message("b") + part("c");
    (void)it.in.read(it.io.scratch, *it.peer);
    ASSERT_TRUE(it.in.is_paused());
    it.in.discard();
    EXPECT_TRUE(it.in.resume(*it.peer));
    it.state.input += message("d") + testing::ping(0, "x");
    ASSERT_NO_FATAL_FAILURE(it.read());
    EXPECT_EQ(it.answers, std::vector{testing::pong("x")});
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a"}));
    EXPECT_EQ(it.counts->get(counter::dropped_unread), 2u) << "b, and d with its part";
    EXPECT_EQ(it.counts->get(counter::dropped_unwanted), 0u);
}

TEST(inbound, counts_what_is_kept_back_at_its_end_whether_it_is_thrown_away_or_not) {
    for (const bool discards : {false, true}) {
        std::shared_ptr<counters> counts;
        {
            reader it(socket_of(socket_type::dealer), 1);
            counts = it.counts;
            it.state.input = message("a") + message("b") + part("c") + message("d") + part("e");
            (void)it.in.read(it.io.scratch, *it.peer);
            ASSERT_TRUE(it.in.is_paused());
            if (discards)
                it.in.discard();
        }
        EXPECT_EQ(counts->get(counter::dropped_unread), 2u) << discards;
    }
}

TEST(inbound, counts_what_came_behind_a_message_that_is_too_large) {
    settings limited = socket_of(socket_type::dealer);
    limited.max_message_size = 2000;
    const octets too_large = message(body_of(2001));
    for (const octets &each : {too_large, part("a") + too_large, part(body_of(2001)) + message("b")})
        for (const std::size_t behind : {0u, 1u, 2u}) {
            reader it(limited);
            it.state.input = message("taken") + each;
            for (std::size_t i = 0; i < behind; ++i)
                it.state.input += part("c") + message("d");
            it.state.input += part("e");
            ASSERT_NO_FATAL_FAILURE(it.read());
            ASSERT_TRUE(it.in.failure());
            EXPECT_EQ(it.in.failure()->system, error::message_too_big);
            EXPECT_EQ(it.counts->get(counter::dropped_unread), behind) << each.size();
            EXPECT_EQ(it.counts->get(counter::dropped_too_large), 1u) << each.size();
        }
}

TEST(inbound, counts_what_came_behind_a_command_that_ends_it) {
    reader it(socket_of(socket_type::dealer));
    it.state.input = message("taken") + command_frame("PING", "x") + message("a") + part("b") + message("c");
    ASSERT_NO_FATAL_FAILURE(it.read());
    ASSERT_TRUE(it.in.failure());
    ASSERT_NO_FATAL_FAILURE(it.expect({"=taken"}));
    EXPECT_EQ(it.counts->get(counter::dropped_unread), 2u);
}

TEST(inbound, keeps_nothing_for_a_socket_that_receives_nothing) {
    for (const std::size_t size : {1u, 1000u, 70'000u}) {
        reader it(socket_of(socket_type::push), 1, {}, greeting() + ready("PULL"));
        const octets wire = message("a") + message(body_of(100'000)) + part("b") + message(body_of(300)) +
                            testing::ping(0, "x");
        const long before = short_heap::blocks();
        ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size())));
        EXPECT_EQ(it.answers, std::vector{testing::pong("x")});
        EXPECT_LE(short_heap::blocks() - before, 20) << "the scratch block, and what was answered";
        EXPECT_FALSE(it.in.has_delivered());
        EXPECT_EQ(it.counts->get(counter::dropped_unwanted), 3u);
        EXPECT_EQ(it.counts->get(counter::dropped_unread), 0u);
        ASSERT_NO_FATAL_FAILURE(it.expect({}));
    }
}

// ---- subscriptions ----

TEST(inbound, passes_on_only_subscriptions_to_a_pub) {
    traffic said;
    const auto ignores = [&](const octets &wire) { said.wire += wire; };
    said.says({"\1a"});
    ignores(message("b"));
    ignores(part("c") + message("d"));
    said.says({octets("\0a", 2)});
    subscribes(said, "command");
    said.wire += command_frame("CANCEL", "command");
    said.log.push_back("=" + octets(1, '\0') + "command");
    ignores(message(body_of(100'000)));
    ignores(part("x"));
    said.wire += part("\1second");  // one frame stands for those before
    said.log.insert(said.log.end(), {"+", "+\1second"});
    subscribes(said, "inside", true);
    ignores(part(body_of(40'000)));
    said.wire += message("behind");
    said.log.push_back("=");
    said.says({"\1" + body_of(50'000)});
    ignores(message(""));
    said.says({"\1end"});
    for (const std::uint64_t mark : {0u, 1u, 3u})
        for (const std::size_t size : {1u, 2u, 5u, 1000u, 8192u, 70'000u, 1'000'000u}) {
            SCOPED_TRACE(::testing::Message() << mark << " " << size);
            reader it(socket_of(socket_type::pub), mark);
            ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, every(size, said.wire.size())));
            ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
            EXPECT_FALSE(it.in.has_delivered()) << "messages, that is";
            EXPECT_EQ(it.counts->get(counter::dropped_unwanted), 4u) << "those without a subscription";
        }
}

TEST(inbound, throws_subscriptions_away_once_nobody_takes_them) {
    const octets wire = message("\1a") + part("\1b") + part(body_of(300)) + message("\1" + body_of(50'000)) +
                        command_frame("SUBSCRIBE", "c");
    for (const socket_type type : {socket_type::pub, socket_type::xpub})
        for (std::size_t cut = 0; cut < wire.size(); cut += cut < 400 ? 1 : 1001) {
            SCOPED_TRACE(cut);
            reader it(socket_of(type), 4);
            it.state.input = wire.substr(0, cut);
            ASSERT_NO_FATAL_FAILURE(it.read());
            it.in.discard();
            it.state.input = wire + wire + testing::ping(0, "end");
            ASSERT_NO_FATAL_FAILURE(it.read());
            ASSERT_FALSE(it.answers.empty());
            EXPECT_EQ(it.answers.back(), testing::pong("end"));
            EXPECT_FALSE(it.far->has_unpublished());
            it.take();
            EXPECT_LE(it.log.size(), 1u);
        }
}

TEST(inbound, counts_each_subscription_once_wherever_it_ends) {
    const octets subscription = command_frame("SUBSCRIBE", "c"), end = command_frame("CANCEL", "c");
    const octets wire = message("\1a") + subscription + message("b") + end + part("\1d") + part("e") +
                        message("f") + subscription + testing::ping(0, "x") + message("g");
    constexpr std::uint64_t all = 7;
    for (const socket_type type : {socket_type::pub, socket_type::xpub})
        for (const bool discards : {false, true})
            for (const std::uint64_t mark : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
                SCOPED_TRACE(::testing::Message() << discards << " " << mark);
                std::shared_ptr<counters> counts;
                std::uint64_t delivered = 0;
                {
                    reader it(socket_of(type), mark);
                    counts = it.counts;
                    it.state.input = wire;
                    (void)it.in.read(it.io.scratch, *it.peer);
                    it.take();
                    delivered = static_cast<std::uint64_t>(
                        std::ranges::count_if(it.log, [](const octets &each) { return each[0] == '='; }));
                    if (discards) {
                        it.in.discard();
                        (void)it.in.resume(*it.peer);
                        it.state.input += wire;
                        ASSERT_NO_FATAL_FAILURE(it.read());
                    }
                }
                EXPECT_EQ(delivered + counts->get(counter::dropped_unread) +
                              counts->get(counter::dropped_unwanted),
                          discards ? 2 * all : all);
            }
}

TEST(inbound, counts_no_subscription_inside_of_a_message_that_is_thrown_away) {
    const octets inside = part("\1a") + command_frame("SUBSCRIBE", "c") + message("b");
    for (const socket_type type : {socket_type::pub, socket_type::xpub}) {
        reader it(socket_of(type), 0);
        it.state.input = part("\1a");
        ASSERT_NO_FATAL_FAILURE(it.read());
        it.in.discard();
        it.state.input += message("b") + command_frame("SUBSCRIBE", "c") + inside;
        ASSERT_NO_FATAL_FAILURE(it.read());
        EXPECT_EQ(it.counts->get(counter::dropped_unread), 3u);
    }
}

TEST(inbound, takes_a_peer_that_tells_no_subscriptions_for_one_of_everything) {
    for (const socket_type type : {socket_type::pub, socket_type::xpub}) {
        reader it(socket_of(type));
        it.in.subscribe_to_all();
        ASSERT_NO_FATAL_FAILURE(it.expect({"=\1"}));
        it.in.discard();
        it.in.subscribe_to_all();
        ASSERT_NO_FATAL_FAILURE(it.expect({"=\1"}));
    }
}

}  // namespace
}  // namespace zlink
