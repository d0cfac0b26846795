// The reading half comes to one end whatever goes wrong: what came before is delivered, and nothing
// after.
#include "session/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepped_reader.hpp"

namespace zlink {
namespace {

using namespace test;

// ---- the end ----

struct bad_ending {
    const char *what;
    octets wire;
    bool is_protocol;
    error system;
};

std::vector<bad_ending> bad_endings() {
    octets huge("\2\x80\0\0\0\0\0\0\0", 9);
    return {{"a reserved flag", octets("\x08\1x", 3), true, error::none},
            {"a command with more", octets("\x05\1x", 3), true, error::none},
            {"a size that cannot be", huge, true, error::none},
            {"a message that is too large", message(body_of(2001)), false, error::message_too_big},
            {"a command that is too large", octets("\x06\0\0\0\0\0\1\0\1", 9), false, error::message_too_big},
            {"a command that says nothing", frame("", 4), true, error::none}};
}

TEST(inbound, ends_with_a_bad_frame_and_delivers_what_came_before) {
    settings limited = socket_of(socket_type::dealer);
    limited.max_message_size = 2000;
    for (const bad_ending &each : bad_endings())
        for (const reads whose : both_threads)
            for (const std::size_t size : {1u, 1000u}) {
                SCOPED_TRACE(each.what);
                reader it(limited);
                const octets wire = message("a") + part("b") + message("c") + part("cut") + each.wire;
                ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size()), whose));
                ASSERT_TRUE(it.in.failure());
                EXPECT_TRUE(it.in.failure()->was_established);
                EXPECT_EQ(it.in.failure()->system, each.system);
                EXPECT_EQ(it.in.failure()->failure,
                          each.is_protocol ? failure_kind::protocol : failure_kind::none);
                it.expect_end();
                ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "+b", "=c"}));
            }
}

TEST(inbound, ends_when_a_message_goes_on_without_end_where_one_part_is_limited) {
    for (const auto &[type, piece] :
         {std::pair{socket_type::dealer, part(body_of(1000))},
          std::pair{socket_type::xpub, command_frame("SUBSCRIBE", body_of(900))},
          std::pair{socket_type::pub, part("\1" + body_of(900))},
          std::pair{socket_type::pub, command_frame("SUBSCRIBE", body_of(900))}}) {
        settings limited = socket_of(type);
        limited.max_message_size = 2000;
        reader it(limited, 1000);
        it.state.input = message("\1begin") + part("\1first");
        while (!it.in.failure() && it.state.taken < 4'000'000) {
            it.state.input += piece;
            ASSERT_NO_FATAL_FAILURE(it.read());
        }
        ASSERT_TRUE(it.in.failure());
        EXPECT_EQ(it.in.failure()->system, error::message_too_big);
        EXPECT_GE(it.state.taken, 1'000'000u);
        it.expect_end();
        ASSERT_NO_FATAL_FAILURE(it.expect({"=\1begin"}));
    }
}

TEST(inbound, does_not_count_the_parts_of_messages_that_end) {
    settings limited = socket_of(socket_type::dealer);
    limited.max_message_size = 2000;
    reader it(limited, 1000);
    for (int i = 0; i < 3000; ++i) {
        it.state.input += part(body_of(1000));
        ASSERT_NO_FATAL_FAILURE(it.read());
        it.state.input += message("");
        ASSERT_NO_FATAL_FAILURE(it.read());
    }
    EXPECT_FALSE(it.in.failure());
}

TEST(inbound, says_that_the_stream_has_ended_once_all_of_it_was_read) {
    for (const std::uint64_t mark : {0u, 1u})
        for (const reads whose : both_threads) {
            reader it(socket_of(socket_type::dealer), mark);
            it.state.input = message("a") + message("b") + message("c") + part("cut").substr(0, 3);
            it.state.is_reset = true;
            ASSERT_NO_FATAL_FAILURE(it.read(whose));
            EXPECT_FALSE(it.in.failure());
            it.take();
            while (!it.in.failure())
                it.step(whose);
            EXPECT_EQ(it.in.failure()->system, error::connection_reset);
            EXPECT_TRUE(it.in.failure()->was_established);
            it.expect_end();
            ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "=b", "=c"}));
        }
}

TEST(inbound, fails_once_and_keeps_why) {
    reader it(socket_of(socket_type::dealer));
    it.state.input = octets("\x08\1x", 3);
    it.state.is_reset = true;
    ASSERT_NO_FATAL_FAILURE(it.read());
    ASSERT_TRUE(it.in.failure());
    (void)it.in.read(it.io.scratch, *it.peer);
    EXPECT_EQ(it.in.failure()->failure, failure_kind::protocol);
}

TEST(inbound, has_an_answer_for_the_peer_where_the_conversation_ends_it) {
    reader it(socket_of(socket_type::dealer));
    it.state.input = message("a") + ready("DEALER") + message("b");
    (void)it.in.read(it.io.scratch, *it.peer);
    ASSERT_TRUE(it.in.failure());
    EXPECT_TRUE(it.in.failure()->has_answer_for_peer);
    it.expect_end();
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a"}));
}

TEST(inbound, delivers_nothing_of_what_was_kept_back_behind_the_command_that_ended_it) {
    const octets wire = ready("DEALER", testing::property("X", body_of(40'000))) + message("late");
    reader it(socket_of(socket_type::dealer));
    it.state.input = wire.substr(0, 20'000);
    EXPECT_TRUE(it.in.read_now(it.borrowers));
    it.state.input = wire;
    EXPECT_FALSE(it.in.read_now(it.borrowers));
    EXPECT_EQ(it.state.taken, wire.size());
    EXPECT_FALSE(it.in.resume(*it.peer));
    EXPECT_TRUE(it.in.failure());
    it.expect_end();
    ASSERT_NO_FATAL_FAILURE(it.expect({}));
}

// ---- memory ----

/// Plays it with the n-th allocation failing, for every n, until it is not reached any more.
template <class Make>
void fails_at_every_allocation(const traffic &said, const octets &wire, const std::vector<std::size_t> &cuts,
                               reads whose, Make make) {
    for (const bool from_there_on : {false, true}) {
        unsigned n = 1;
        for (bool goes_on = true; goes_on; ++n) {
            SCOPED_TRACE(::testing::Message() << "allocation " << n << (from_there_on ? " and more" : ""));
            const long before = short_heap::blocks();
            {
                std::unique_ptr<reader> it = make();
                {
                    const short_heap heap(n, from_there_on);
                    ASSERT_NO_FATAL_FAILURE(it->feed(wire, cuts, whose));
                    goes_on = short_heap::has_struck();
                }
                it->take();
                ASSERT_LE(it->log.size(), said.log.size());
                ASSERT_NO_FATAL_FAILURE(it->expect_taken(
                    {said.log.begin(), said.log.begin() + static_cast<std::ptrdiff_t>(it->log.size())}));
                if (!it->log.empty()) {
                    EXPECT_EQ(it->log.back()[0], '=') << "half a message";
                }
                if (it->in.failure()) {
                    EXPECT_TRUE(goes_on);
                    EXPECT_EQ(it->in.failure()->system, error::no_memory);
                    if (it->options.receives() == reception::all) {
                        EXPECT_EQ(it->in.has_delivered(),
                                  std::any_of(it->log.begin(), it->log.end(),
                                              [](const octets &each) { return each[1] != 1; }));
                    }
                    it->expect_end();
                } else {
                    EXPECT_EQ(it->log.size(), said.log.size()) << "lost without a word";
                }
                it->log.shrink_to_fit();
            }
            ASSERT_FALSE(::testing::Test::HasFailure());
            EXPECT_EQ(short_heap::blocks(), before) << "a leak";
            ASSERT_LT(n, 1000u);
        }
        EXPECT_GT(n, 3u);
    }
}

TEST(inbound, comes_to_one_end_wherever_memory_is_short) {
    traffic said;
    said.says({"one"}).says({"a", body_of(300)}).says({body_of(5000)});
    subscribes(said, "topic");
    said.says({body_of(40'000), "x", body_of(33'000)});
    says_with_command_inside(said, "head", "inside", "rest");
    said.says({body_of(300'000)});
    // Kept back on the socket's thread, with what stands behind it.
    subscribes(said, body_of(40'000));
    said.says({"last"});
    for (const std::uint64_t mark : {0u, 1u})
        for (const reads whose : both_threads)
            for (const std::size_t size : {50u, 3000u, 20'000u, 1'000'000u}) {
                if (size == 50 && mark == 0 && whose == reads::on_the_sockets_thread)
                    continue;
                SCOPED_TRACE(::testing::Message() << mark << " " << size);
                ASSERT_NO_FATAL_FAILURE(
                    fails_at_every_allocation(said, said.wire, every(size, said.wire.size()), whose, [&] {
                        return std::make_unique<reader>(socket_of(socket_type::xpub), mark,
                                                        reading_batches(8 * 1024));
                    }));
            }
}

TEST(inbound, comes_to_one_end_wherever_memory_is_short_for_subscriptions) {
    traffic said;
    said.says({"\1a"});
    subscribes(said, "command");
    said.wire += message(body_of(50'000)) + part("x") + part("\1second");
    said.log.insert(said.log.end(), {"+", "+\1second"});
    subscribes(said, "inside", true);
    said.wire += part(body_of(40'000)) + message("y");
    said.log.push_back("=");
    said.says({"\1" + body_of(50'000)}).says({"\1end"});
    for (const std::size_t size : {700u, 20'000u})
        ASSERT_NO_FATAL_FAILURE(fails_at_every_allocation(
            said, said.wire, every(size, said.wire.size()), reads::on_the_loops_thread,
            [] { return std::make_unique<reader>(socket_of(socket_type::pub), 1); }));
}

TEST(inbound, comes_to_one_end_wherever_memory_is_short_in_other_framings) {
    traffic said;
    const octets wire = traffic_1_0(said);
    for (const reads whose : both_threads)
        ASSERT_NO_FATAL_FAILURE(fails_at_every_allocation(said, wire, every(20'000, wire.size()), whose, [] {
            return std::make_unique<reader>(socket_of(socket_type::dealer), 1, batching{}, frame_1_0("you"));
        }));
}

TEST(inbound, goes_on_where_a_connection_ended_for_want_of_memory) {
    reader it(socket_of(socket_type::dealer));
    {
        const short_heap none(1, true);
        it.state.input = message("a") + part("b") + message(body_of(50'000));
        ASSERT_NO_FATAL_FAILURE(it.read());
    }
    ASSERT_TRUE(it.in.failure());
    it.far->roll_back();
    inbound next(it.environment, it.bytes);
    next.open(*it.far);
    it.state.input += message("c");
    it.state.taken = it.state.input.size() - message("c").size();
    (void)next.read(it.io.scratch, *it.peer);
    EXPECT_FALSE(next.failure());
    ASSERT_NO_FATAL_FAILURE(it.expect({"=c"}));
}

}  // namespace
}  // namespace zlink
