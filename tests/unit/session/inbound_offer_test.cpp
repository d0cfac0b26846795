// Bodies that are read straight into the borrower's memory, and what else may come.
#include "session/inbound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "placed_memory.hpp"
#include "stepped_reader.hpp"

namespace zlink {
namespace {

using namespace test;

// ---- the borrower's memory ----

struct offering : reader {
    explicit offering(std::uint64_t mark = 0) : reader(socket_of(socket_type::dealer), mark) {
        in.note_lease();
    }
    /// The borrower reads what is there, with this offer.
    void borrow(std::size_t size, std::size_t offset_in_page = placed_memory::usual) {
        place = placed_memory(size, offset_in_page);
        in.offer(place.octets());
        read_on();
    }
    void read_on() {
        while (state.taken < state.input.size() && in.read_now(borrowers)) {
        }
    }
    placed_memory place{0};
};

TEST(inbound, reads_the_next_body_into_the_memory_offered_for_it) {
    const octets body = body_of(200'000);
    for (const std::size_t first : {9u, 10u, 500u, 20'000u, 65'536u, 200'008u})
        for (const std::size_t more : {0u, 1u, 40u}) {
            SCOPED_TRACE(::testing::Message() << first << " " << more);
            offering it(more == 1 ? 1 : 0);
            const octets wire = message(body) + message(octets(more, 'x'));
            it.state.input = wire.substr(0, first);
            it.borrow(body.size());
            EXPECT_TRUE(it.in.fills_offer());
            it.state.input = wire;
            it.read_on();
            EXPECT_FALSE(it.in.fills_offer());
            EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::filled);
            EXPECT_TRUE(it.place.text() == body);
            EXPECT_TRUE(it.in.has_delivered());
            frame_view delivered;
            ASSERT_TRUE(it.near->read(delivered));
            EXPECT_EQ(delivered.data, reinterpret_cast<const std::uint8_t *>(it.place.data()));
            EXPECT_EQ(delivered.size, body.size());
            EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::unused);
            ASSERT_NO_FATAL_FAILURE(it.read());
            ASSERT_NO_FATAL_FAILURE(it.expect({"=" + octets(more, 'x')}));
        }
}

TEST(inbound, tells_the_lease_how_large_the_bodies_are) {
    const octets body = body_of(9 * 1024 * 1024);
    for (const std::size_t offered : {body.size(), std::size_t{0}}) {
        SCOPED_TRACE(offered);
        offering it;
        it.state.input = message(body) + message("small");
        it.borrow(offered);
        EXPECT_EQ(it.far->lease().take_more_looks(), 2u);
        EXPECT_EQ(it.far->lease().take_more_looks(), 0u);
    }
}

TEST(inbound, lets_no_lease_be_longer_unused_where_the_peer_sends_commands) {
    offering it;
    it.state.input = message("small") + testing::ping(0, "context");
    it.borrow(0);
    ASSERT_NO_FATAL_FAILURE(it.read());
    it.state.input += message(body_of(9 * 1024 * 1024));
    it.borrow(0);
    EXPECT_EQ(it.far->lease().take_more_looks(), 0u) << "only the loop's thread answers a PING";
}

TEST(inbound, reads_by_another_place_into_memory_where_the_system_would_copy_slowly) {
    const octets body = body_of(400'000);
    const octets wire = message(body) + message(octets(20, 'x'));
    for (const std::size_t offset : {10u, 16u, 24u, 9u, 25u, 64u}) {
        SCOPED_TRACE(offset);
        offering it;
        it.state.is_of_the_system = true;
        it.state.input = wire;
        it.state.most_in_read = 20'000;
        it.place = placed_memory(body.size(), offset);
        it.in.offer(it.place.octets());
        bool is_straight = false;
        int slow_reads = 0;
        for (std::size_t at = 0; at < wire.size(); at = it.state.taken) {
            ASSERT_TRUE(it.in.read_now(it.borrowers));
            const iovec &to = it.state.last_read.front();
            is_straight |= to.iov_base >= it.place.data() && to.iov_base < it.place.data() + body.size();
            const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to.iov_base) - at) % 4096;
            slow_reads += at > 0 && behind >= 1 && behind <= 15;
        }
        EXPECT_EQ(is_straight, offset < 10 || offset > 24);
        EXPECT_EQ(slow_reads, 0);
        EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::filled);
        EXPECT_EQ(it.place.text(), body);
    }
}

TEST(inbound, reads_straight_into_memory_where_the_stream_copies_by_itself) {
    const octets body = body_of(400'000);
    offering it;
    it.state.input = message(body);
    it.place = placed_memory(body.size(), 16);
    it.in.offer(it.place.octets());
    while (it.state.taken < it.state.input.size())
        ASSERT_TRUE(it.in.read_now(it.borrowers));
    const void *const to = it.state.last_read.front().iov_base;
    EXPECT_TRUE(to >= it.place.data() && to < it.place.data() + body.size());
    EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::filled);
    EXPECT_EQ(it.place.text(), body);
}

TEST(inbound, leaves_the_offer_alone_where_something_else_comes) {
    const octets body = body_of(100'000);
    const struct {
        const char *what;
        octets wire;
        std::vector<octets> log;
    } cases[] = {{"too large", message(body + "x"), {"=" + body + "x"}},
                 {"multipart", part(body) + message("z"), {"+" + body, "=z"}},
                 {"the last of several", part("a") + message(body), {"+a", "=" + body}},
                 {"behind a small one", message("a") + message(body), {"=a", "=" + body}},
                 {"small", message("a"), {"=a"}}};
    for (const auto &each : cases)
        for (const std::size_t size : {9u, 30'000u}) {
            SCOPED_TRACE(each.what);
            offering it;
            it.place = placed_memory(body.size());
            it.in.offer(it.place.octets());
            for (std::size_t at = 0; at < each.wire.size(); at += size) {
                it.state.input += each.wire.substr(at, size);
                it.read_on();
                EXPECT_FALSE(it.in.fills_offer());
            }
            EXPECT_EQ(it.place.text(), octets(body.size(), '?'));
            EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::unused);
            ASSERT_NO_FATAL_FAILURE(it.expect(each.log));
        }
}

TEST(inbound, leaves_the_offer_alone_for_the_rest_of_a_message_that_has_begun) {
    const octets body = body_of(100'000);
    offering it;
    it.state.input = part("a");
    it.read_on();
    it.state.input += message(body);
    it.borrow(body.size());
    EXPECT_EQ(it.place.text(), octets(body.size(), '?'));
    EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::unused);
    ASSERT_NO_FATAL_FAILURE(it.expect({"+a", "=" + body}));
}

TEST(inbound, leaves_the_offer_alone_on_the_loops_thread) {
    offering it;
    it.place = placed_memory(100'000);
    it.in.offer(it.place.octets());
    it.state.input = message(body_of(100'000));
    ASSERT_NO_FATAL_FAILURE(it.read());
    EXPECT_EQ(it.place.text(), octets(100'000, '?'));
    EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::unused);
    ASSERT_NO_FATAL_FAILURE(it.expect({"=" + body_of(100'000)}));
}

TEST(inbound, moves_a_body_on_when_the_offer_is_withdrawn_in_the_middle) {
    const octets body = body_of(300'000);
    const octets wire = message(body) + message("next");
    for (const std::size_t first : {9u, 10u, 16'392u, 16'393u, 16'394u, 200'000u, 300'008u}) {
        SCOPED_TRACE(first);
        offering it;
        it.state.input = wire.substr(0, first);
        it.borrow(body.size());
        ASSERT_TRUE(it.in.fills_offer());
        EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::unused);
        std::ranges::fill(it.place.octets(), std::uint8_t{'!'});
        it.state.input = wire;
        ASSERT_NO_FATAL_FAILURE(it.read());
        EXPECT_EQ(it.place.text(), octets(body.size(), '!'));
        ASSERT_NO_FATAL_FAILURE(it.expect({"=" + body, "=next"}));
    }
}

TEST(inbound, fails_when_the_offer_is_withdrawn_and_there_is_no_memory_for_what_has_come) {
    const octets wire = message("before") + message(body_of(300'000));
    for (const std::size_t first : {40u, 20'000u, 200'000u}) {
        SCOPED_TRACE(first);
        offering it;
        it.state.input = wire.substr(0, 8);
        it.read_on();
        it.state.input = wire.substr(0, first);
        it.borrow(300'000);
        ASSERT_TRUE(it.in.fills_offer());
        {
            const short_heap none(1, true);
            EXPECT_EQ(short_heap::counted([&] { return it.in.withdraw_offer(); }),
                      reading_half::offer_end::failed);
        }
        ASSERT_TRUE(it.in.failure());
        EXPECT_EQ(it.in.failure()->system, error::no_memory);
        EXPECT_FALSE(it.in.fills_offer());
        it.expect_end();
        ASSERT_NO_FATAL_FAILURE(it.expect({"=before"}));
    }
}

}  // namespace
}  // namespace zlink
