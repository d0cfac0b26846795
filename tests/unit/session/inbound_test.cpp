// The reading half as a script: the same messages whatever the pieces, on either thread, at any
// mark, in each framing.
#include "session/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "stepped_reader.hpp"
#include "zmtp/framing_raw.hpp"

namespace zlink {
namespace {

using namespace test;

traffic small_traffic() {
    traffic out;
    out.says({"one"}).says({""}).says({"", "a", ""}).says({body_of(255)}).says({body_of(256), "", "b"});
    subscribes(out, "topic");
    out.says({"after"});
    says_with_command_inside(out, "head", "inside", "rest");
    subscribes(out, "");
    subscribes(out, body_of(300));
    return out.says({"last"});
}

traffic large_traffic() {
    traffic out;
    out.says({"one"}).says({body_of(32 * 1024 - 10, 1)}).says({body_of(32 * 1024 - 9, 2)});
    out.says({"a", body_of(70 * 1024, 3), "", body_of(40'000, 4)});
    subscribes(out, "topic");
    out.says({body_of(1024 * 1024, 5)}).says({body_of(70 * 1024, 6)});
    says_with_command_inside(out, body_of(70 * 1024, 7), "inside", body_of(1000, 8));
    subscribes(out, body_of(40'000, 9));
    return out.says({"last"});
}

// ---- marks in octets ----

TEST(inbound, never_stops_inside_a_message_at_a_mark_in_octets) {
    for (const reads whose : both_threads) {
        reader it(socket_of(socket_type::dealer), 0, reading_batches(8192));
        it.near->set_read_octets(1000);
        traffic said;
        said.says({"small"}).says({body_of(900), body_of(900, 1), body_of(900, 2)}).says({"held back"});
        std::size_t fed = 0;
        for (const std::size_t cut : every(500, said.wire.size())) {
            it.state.input += said.wire.substr(fed, cut - fed);
            fed = cut;
            it.step(whose);
            EXPECT_FALSE(it.in.is_paused()) << "inside a message";
        }
        it.state.input += said.wire.substr(fed);
        it.step(whose);
        EXPECT_TRUE(it.in.is_paused());
        it.take();
        EXPECT_EQ(it.log.size(), 4u) << "though it was told of nothing";
        ASSERT_NO_FATAL_FAILURE(it.read(whose));
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

// ---- pieces ----

TEST(inbound, gives_octets_before_it_is_open_to_who_reads) {
    connection_parts parts(socket_of(socket_type::dealer));
    const auto peer = make_conversation(parts.options, false);
    scripted_stream bytes(parts.state);
    const connection_environment environment{&parts.io, parts.options, parts.sizes, parts.pool, nullptr, {}};
    inbound in(environment, bytes);
    parts.state.input = octets(5000, 'x');
    const inbound::found first = in.read(parts.io.scratch, *peer);
    EXPECT_EQ(as_text(first.handshake), octets(4096, 'x'));
    EXPECT_TRUE(first.has_filled_room);
    const inbound::found rest = in.read(parts.io.scratch, *peer);
    EXPECT_EQ(as_text(rest.handshake), octets(904, 'x'));
    EXPECT_FALSE(rest.has_filled_room);
    EXPECT_EQ(in.read(parts.io.scratch, *peer).octets, 0u);
    EXPECT_FALSE(in.failure());
}

TEST(inbound, begins_with_what_came_behind_the_handshake) {
    const traffic said = small_traffic();
    for (std::size_t cut = 0; cut <= said.wire.size(); ++cut) {
        SCOPED_TRACE(cut);
        reader it(socket_of(socket_type::xpub));
        it.io.scratch = block_ref::adopt(it.pool->allocate(8192));
        auto *const block = static_cast<chunk *>(it.io.scratch.get());
        constexpr std::size_t handshake = 100;
        said.wire.copy(reinterpret_cast<char *>(block->data()) + handshake, cut);
        it.in.begin(*block, {block->data() + handshake, cut}, *it.peer);
        EXPECT_FALSE(block->is_shared()) << "for so little";
        it.state.input = said.wire.substr(cut);
        ASSERT_NO_FATAL_FAILURE(it.read());
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

TEST(inbound, delivers_the_same_whatever_the_pieces) {
    const traffic said = small_traffic();
    for (const std::size_t batch : {64u * 1024, 8u * 1024})
        for (const reads whose : both_threads) {
            for (std::size_t cut = 0; cut <= said.wire.size(); ++cut) {
                SCOPED_TRACE(cut);
                reader it(socket_of(socket_type::xpub), 0, reading_batches(batch));
                ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, {cut}, whose));
                ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
            }
            for (std::size_t size = 1; size <= 300; ++size) {
                SCOPED_TRACE("pieces of " + std::to_string(size));
                reader it(socket_of(socket_type::xpub), 0, reading_batches(batch));
                ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, every(size, said.wire.size()), whose));
                ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
                EXPECT_TRUE(it.in.has_delivered());
            }
        }
}

TEST(inbound, shares_a_well_filled_block_and_copies_a_small_read) {
    for (const std::size_t count : {10u, 300u}) {
        traffic said;
        for (std::size_t i = 0; i < count; ++i)
            said.says({body_of(200, static_cast<unsigned>(i))});
        reader it(socket_of(socket_type::dealer), 0, reading_batches(64 * 1024));
        ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, {}));
        EXPECT_EQ(it.io.scratch.get()->is_shared(), count == 300);
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

TEST(inbound, delivers_large_frames_whatever_the_pieces) {
    const traffic said = large_traffic();
    std::vector<std::size_t> places;
    for (const std::size_t end : said.ends)
        for (const int beside : {-8193, -1, 0, 1, 8, 9, 10, 15, 16'384, 33'000})
            if (const auto at = static_cast<std::ptrdiff_t>(end) + beside;
                at > 0 && at < static_cast<std::ptrdiff_t>(said.wire.size()))
                places.push_back(static_cast<std::size_t>(at));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const reads whose : both_threads) {
        for (const std::size_t cut : places) {
            SCOPED_TRACE(cut);
            reader it(socket_of(socket_type::xpub));
            ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, {cut}, whose));
            ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
        }
        for (const std::size_t size : {700u, 8'192u, 16'383u, 16'393u, 65'535u, 65'536u, 100'000u}) {
            SCOPED_TRACE("pieces of " + std::to_string(size));
            reader it(socket_of(socket_type::xpub), 0, reading_batches(size % 2 ? 8 * 1024 : 256 * 1024));
            ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, every(size, said.wire.size()), whose));
            ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
        }
        reader it(socket_of(socket_type::xpub));
        ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, places, whose));
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

TEST(inbound, answers_commands_wherever_they_stand) {
    traffic said;
    said.says({"a"});
    said.wire += testing::ping(0, "1");
    said.wire += part("b") + testing::ping(0, "2") + message("c");
    said.log.insert(said.log.end(), {"+b", "=c"});
    said.says({body_of(40'000)});
    said.wire += testing::ping(0, "3");
    for (const reads whose : both_threads)
        for (const std::size_t size : {1u, 7u}) {
            reader it(socket_of(socket_type::dealer));
            ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, every(size, said.wire.size()), whose));
            ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
            EXPECT_EQ(it.answers, (std::vector{testing::pong("1"), testing::pong("2"), testing::pong("3")}));
        }
}

TEST(inbound, pauses_at_a_command_on_the_sockets_thread_until_the_loops_goes_on) {
    reader it(socket_of(socket_type::dealer));
    it.state.input = message("a") + testing::ping(0, "x") + message("b");
    EXPECT_FALSE(it.in.read_now(it.borrowers));
    EXPECT_TRUE(it.in.is_paused());
    EXPECT_TRUE(it.peer->output().empty());
    it.take();
    ASSERT_NO_FATAL_FAILURE(it.expect_taken({"=a"}));
    it.state.input += message("c");
    EXPECT_FALSE(it.in.read_now(it.borrowers)) << "the command is still there";
    it.take();
    EXPECT_EQ(it.log.size(), 1u);
    EXPECT_TRUE(it.in.resume(*it.peer));
    EXPECT_EQ(testing::text(it.peer->output()), testing::pong("x"));
    ASSERT_NO_FATAL_FAILURE(it.read());
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "=b", "=c"}));
}

TEST(inbound, says_whether_more_is_to_be_expected_without_a_wait) {
    reader it(socket_of(socket_type::dealer));
    it.state.input = message("a");
    it.state.holds_input = true;
    it.in.note_lease();
    EXPECT_TRUE(it.in.expects_more());
    it.state.holds_input = false;
    EXPECT_TRUE(it.in.read_now(it.borrowers));
    EXPECT_FALSE(it.in.expects_more());
    EXPECT_FALSE(it.in.expects_large());
    it.state.input += message(body_of(200'000));
    EXPECT_TRUE(it.in.read_now(it.borrowers));
    EXPECT_TRUE(it.in.expects_more());
    EXPECT_TRUE(it.in.expects_large());
    while (it.state.taken < it.state.input.size())
        EXPECT_TRUE(it.in.read_now(it.borrowers));
    EXPECT_TRUE(it.in.expects_large()) << "the next one is likely to be one";
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "=" + body_of(200'000)}));
}

TEST(inbound, reads_a_large_frame_piece_by_piece) {
    constexpr std::size_t beside = 16 * 1024;
    reader it(socket_of(socket_type::dealer));
    it.state.input += message(body_of(1024 * 1024));
    while (it.state.taken < it.state.input.size()) {
        const std::size_t before = it.state.taken;
        ASSERT_TRUE(it.in.read_now(it.borrowers));
        ASSERT_LE(it.state.taken - before, 256 * 1024 + beside);
    }
}

// ---- the mark ----

TEST(inbound, pauses_at_the_mark_and_goes_on_without_a_loss) {
    traffic small;
    for (int i = 0; i < 3; ++i) {
        const traffic once = small_traffic();
        small.wire += once.wire;
        small.log.insert(small.log.end(), once.log.begin(), once.log.end());
    }
    const traffic large = large_traffic();
    for (const std::uint64_t mark : {1u, 2u, 10u})
        for (const reads whose : both_threads)
            for (const std::size_t batch : {64u * 1024, 8u * 1024}) {
                SCOPED_TRACE(::testing::Message()
                             << mark << " " << (whose == reads::on_the_sockets_thread) << " " << batch);
                for (const std::size_t size : {1u, 2u, 3u, 10u, 100u, 600u, 4000u, 100'000u}) {
                    SCOPED_TRACE("pieces of " + std::to_string(size));
                    reader it(socket_of(socket_type::xpub), mark, reading_batches(batch));
                    ASSERT_NO_FATAL_FAILURE(it.feed(small.wire, every(size, small.wire.size()), whose));
                    ASSERT_NO_FATAL_FAILURE(it.expect(small.log));
                }
                for (const std::size_t size : {5000u, 65'536u, 3'000'000u}) {
                    SCOPED_TRACE("pieces of " + std::to_string(size));
                    reader it(socket_of(socket_type::xpub), mark, reading_batches(batch));
                    ASSERT_NO_FATAL_FAILURE(it.feed(large.wire, every(size, large.wire.size()), whose));
                    ASSERT_NO_FATAL_FAILURE(it.expect(large.log));
                }
            }
}

TEST(inbound, reads_nothing_at_the_mark_and_keeps_back_what_was_read_with_the_last_message) {
    for (const std::size_t size : {10u, 3000u}) {  // of copied blocks, and of shared ones
        reader it(socket_of(socket_type::dealer), 2, reading_batches(8 * 1024));
        traffic said;
        for (unsigned i = 0; i < 4; ++i)
            said.says({body_of(size, i)});
        it.state.input = said.wire;
        (void)it.in.read(it.io.scratch, *it.peer);
        if (!it.in.is_paused())
            (void)it.in.read(it.io.scratch, *it.peer);
        ASSERT_TRUE(it.in.is_paused());
        EXPECT_FALSE(it.in.may_deliver());
        const std::size_t taken = it.state.taken;
        EXPECT_FALSE(it.in.resume(*it.peer));
        EXPECT_FALSE(it.in.read_now(it.borrowers));
        EXPECT_EQ(it.state.taken, taken);
        EXPECT_EQ(it.take(), 2u);
        EXPECT_TRUE(it.in.is_paused());
        ASSERT_NO_FATAL_FAILURE(it.read());
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

TEST(inbound, counts_subscriptions_as_messages_at_the_mark) {
    traffic said;
    for (int i = 0; i < 7; ++i)
        subscribes(said, octets(1, static_cast<char>('a' + i)));
    reader it(socket_of(socket_type::xpub), 2);
    it.state.input = said.wire;
    ASSERT_NO_FATAL_FAILURE(it.read(reads::on_the_loops_thread, SIZE_MAX));
    ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
}

TEST(inbound, is_paused_again_once_more_comes_than_what_was_kept_back_has_left_room_for) {
    reader it(socket_of(socket_type::dealer), 1);
    it.state.input = message("a") + message("b");
    (void)it.in.read(it.io.scratch, *it.peer);
    EXPECT_TRUE(it.in.is_paused());
    EXPECT_EQ(it.take(), 1u);
    EXPECT_TRUE(it.in.resume(*it.peer));
    EXPECT_FALSE(it.in.may_deliver());
    it.state.input += message("c");
    (void)it.in.read(it.io.scratch, *it.peer);
    EXPECT_TRUE(it.in.is_paused());
    EXPECT_FALSE(it.in.resume(*it.peer));
    EXPECT_EQ(it.take(), 1u);
    EXPECT_TRUE(it.in.resume(*it.peer));
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "=b", "=c"}));
}

TEST(inbound, notices_the_end_of_the_stream_at_exactly_the_mark) {
    for (const reads whose : both_threads) {
        reader it(socket_of(socket_type::dealer), 1);
        it.state.input = message("a");
        ASSERT_NO_FATAL_FAILURE(it.read(whose));
        EXPECT_FALSE(it.in.may_deliver());
        EXPECT_FALSE(it.in.is_paused());
        it.state.is_reset = true;
        it.step(whose);
        ASSERT_TRUE(it.in.failure());
        EXPECT_EQ(it.in.failure()->system, error::connection_reset);
        EXPECT_EQ(it.take(), 1u);
    }
}

TEST(inbound, obeys_a_command_behind_the_last_message_that_the_mark_lets_through) {
    reader it(socket_of(socket_type::dealer), 1);
    it.state.input = message("a") + testing::ping(0, "x") + message("b") + testing::ping(0, "y");
    (void)it.in.read(it.io.scratch, *it.peer);
    EXPECT_TRUE(it.in.is_paused());
    EXPECT_EQ(testing::text(it.peer->output()), testing::pong("x"));
    ASSERT_NO_FATAL_FAILURE(it.read());
    ASSERT_NO_FATAL_FAILURE(it.expect({"=a", "=b"}));
}

TEST(inbound, goes_beyond_the_mark_up_to_8_mib_once_it_may) {
    constexpr std::size_t limit = 8 * 1024 * 1024;
    for (const std::size_t size : {1000u, 100'000u}) {
        SCOPED_TRACE(size);
        reader it(socket_of(socket_type::dealer), 2);
        traffic said;
        while (said.wire.size() < limit + 3 * 1024 * 1024)
            said.says({body_of(size, static_cast<unsigned>(said.log.size()))});
        it.state.input = said.wire;
        (void)it.in.read(it.io.scratch, *it.peer);
        while (!it.in.is_paused())
            (void)it.in.read(it.io.scratch, *it.peer);
        it.in.exceed_mark();
        (void)it.in.resume(*it.peer);
        while (!it.in.is_paused())
            (void)it.in.read(it.io.scratch, *it.peer);
        EXPECT_GE(it.state.taken, limit);
        EXPECT_LE(it.state.taken, limit + 2 * 64 * 1024 + 2 * size + 1000);
        EXPECT_FALSE(it.in.may_deliver());
        // A later connection of the same pipe has no more.
        inbound next(it.environment, it.bytes);
        next.open(*it.far);
        next.exceed_mark();
        EXPECT_FALSE(next.may_deliver());
        const std::size_t messages = it.take();
        EXPECT_TRUE(it.in.may_deliver());
        EXPECT_GE(messages, limit / (size + 10));
        ASSERT_NO_FATAL_FAILURE(it.read());
        ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
    }
}

// ---- other framings ----

TEST(inbound, delivers_the_same_of_zmtp_1_0_whatever_the_pieces) {
    traffic said;
    const octets wire = traffic_1_0(said);
    for (const reads whose : both_threads)
        for (const std::uint64_t mark : {0u, 1u, 2u}) {
            for (std::size_t cut = 0; cut < 1200; cut += mark ? 7 : 1) {
                SCOPED_TRACE(cut);
                reader it(socket_of(socket_type::dealer), mark, {}, frame_1_0("you"));
                ASSERT_NO_FATAL_FAILURE(it.feed(wire.substr(0, 1200), {cut}, whose));
            }
            for (const std::size_t size : {301u, 8192u, 65'537u, 2'000'000u}) {
                SCOPED_TRACE(::testing::Message() << mark << " " << size);
                reader it(socket_of(socket_type::dealer), mark, {}, frame_1_0("you"));
                ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size()), whose));
                ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
            }
            reader it(socket_of(socket_type::dealer), mark, {}, frame_1_0("you"));
            ASSERT_NO_FATAL_FAILURE(it.feed(wire.substr(0, 2000), every(1, 2000), whose));
            it.take();
            it.expect_taken(
                {said.log.begin(), said.log.begin() + static_cast<std::ptrdiff_t>(it.log.size())});
            EXPECT_GE(it.log.size(), 6u);
        }
}

TEST(inbound, makes_messages_of_octets_without_frames) {
    const octets wire = body_of(300'000);
    for (const reads whose : both_threads)
        for (const std::uint64_t mark : {0u, 1u, 3u})
            for (const std::size_t size : {1u, 700u, 8192u, 8193u, 70'000u, 300'000u}) {
                SCOPED_TRACE(::testing::Message() << mark << " " << size);
                const octets said = wire.substr(0, std::min<std::size_t>(wire.size(), 3000 * size));
                reader it(socket_of(socket_type::stream), mark);
                ASSERT_NO_FATAL_FAILURE(it.feed(said, every(size, said.size()), whose));
                it.take();
                octets all;
                for (const octets &each : it.log) {
                    ASSERT_EQ(each[0], '=');
                    ASSERT_LE(each.size(), 1 + framing_raw::usual_message);
                    all += each.substr(1);
                }
                EXPECT_TRUE(all == said);
            }
}

TEST(inbound, begins_in_other_framings_behind_the_handshake) {
    traffic said;
    const octets wire = traffic_1_0(said).substr(0, 300);
    for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
        reader it(socket_of(socket_type::dealer), 0, {}, frame_1_0("you"));
        it.io.scratch = block_ref::adopt(it.pool->allocate(4096));
        auto *const block = static_cast<chunk *>(it.io.scratch.get());
        wire.copy(reinterpret_cast<char *>(block->data()), cut);
        it.in.begin(*block, {block->data(), cut}, *it.peer);
        it.state.input = wire.substr(cut);
        ASSERT_NO_FATAL_FAILURE(it.read());
        it.take();
        ASSERT_NO_FATAL_FAILURE(it.expect_taken({said.log[0]}));
    }
}

}  // namespace
}  // namespace zlink
