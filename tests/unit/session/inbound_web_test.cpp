// The reading half where the peer is a WebSocket client: each octet is masked, and frames may come
// in fragments.
#include <gtest/gtest.h>

#include "effort.hpp"
#include "session/inbound.hpp"
#include "stepped_reader.hpp"
#include "web_script.hpp"

namespace zlink {
namespace {

using namespace test;
using testing::a_mask;
using testing::a_place;
using testing::masked_zws;
using testing::ready_body;
using testing::web_frame;
using testing::web_request;
using testing::with_flags;

struct web_reader : reader {
    explicit web_reader(const settings &of = socket_of(socket_type::dealer), std::uint64_t mark = 0,
                        const batching &with = {})
        : reader(of, mark, with,
                 of.is_raw() ? web_request("") : web_request() + masked_zws(2, ready_body("DEALER")),
                 &a_place) {}
};

/// In fragments of this size, with a Ping before the last.
octets in_pieces(const octets &payload, std::size_t size) {
    octets wire;
    for (std::size_t at = 0; at < payload.size(); at += size) {
        const bool is_last = at + size >= payload.size();
        if (is_last)
            wire += web_frame(0x89, "ping", a_mask);
        wire += web_frame((at == 0 ? 2 : 0) | (is_last ? 0x80 : 0), payload.substr(at, size), a_mask);
    }
    return wire;
}

octets traffic_of_web(traffic &said) {
    octets wire;
    const auto says = [&](const std::vector<octets> &parts, std::size_t piece = 0) {
        said.says(parts);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const octets payload = with_flags(i + 1 < parts.size(), parts[i]);
            wire += piece ? in_pieces(payload, piece) : web_frame(0x82, payload, a_mask);
        }
    };
    says({"one"});
    says({"", body_of(253), body_of(255)});
    says({"in pieces", body_of(256)}, 5);
    wire += web_frame(0x8a, "", a_mask);
    says({body_of(256), ""});
    says({body_of(70'000)});
    says({"x", body_of(40'000), "y"});
    says({body_of(100'000), body_of(33'000)}, 7'000);
    says({body_of(1'000'000)});
    says({body_of(33'000)}, 33'000);
    says({"last"});
    return wire;
}

TEST(inbound_web, delivers_the_same_whatever_the_pieces) {
    traffic said;
    const octets wire = traffic_of_web(said);
    for (const reads whose : both_threads)
        for (const std::uint64_t mark : {0u, 1u, 2u}) {
            for (std::size_t cut = 0; cut < 2500;
                 cut += mark ? zlink_test::effort(17u, 101u) : zlink_test::effort(3u, 31u)) {
                SCOPED_TRACE(cut);
                web_reader it(socket_of(socket_type::dealer), mark);
                ASSERT_NO_FATAL_FAILURE(it.feed(wire.substr(0, 2500), {cut}, whose));
                it.take();
                ASSERT_GE(it.log.size(), 6u);
                it.expect_taken(
                    {said.log.begin(), said.log.begin() + static_cast<std::ptrdiff_t>(it.log.size())});
            }
            for (const std::size_t size : {299u, 8192u, 65'537u, 2'000'000u})
                for (const std::size_t read : {8192u, 262'144u}) {
                    SCOPED_TRACE(::testing::Message() << mark << " " << size << " " << read);
                    web_reader it(socket_of(socket_type::dealer), mark, reading_batches(read));
                    ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size()), whose));
                    ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
                    EXPECT_FALSE(it.answers.empty());
                    for (const octets &answer : it.answers)
                        EXPECT_EQ(answer, web_frame(0x8a, "ping"));
                }
        }
}

TEST(inbound_web, begins_behind_the_handshake_in_the_block_that_this_was_read_into) {
    traffic said;
    const octets wire = traffic_of_web(said).substr(0, 1000);
    for (std::size_t cut = 0; cut <= wire.size(); cut += 3) {
        web_reader it;
        it.io.scratch = block_ref::adopt(it.pool->allocate(8192));
        auto *const block = static_cast<chunk *>(it.io.scratch.get());
        // It goes as far as a read of the handshake fills it.
        const octets front = masked_zws(0, octets(3000, 'x')) + wire.substr(0, cut);
        front.copy(reinterpret_cast<char *>(block->data()), front.size());
        it.in.begin(*block, {block->data(), front.size()}, *it.peer);
        it.state.input = wire.substr(cut);
        ASSERT_NO_FATAL_FAILURE(it.read());
        it.take();
        ASSERT_GE(it.log.size(), 4u);
        EXPECT_EQ(it.log[0], "=" + octets(3000, 'x'));
        for (std::size_t i = 1; i < it.log.size(); ++i)
            EXPECT_EQ(it.log[i], said.log[i - 1]);
    }
}

TEST(inbound_web, reads_a_masked_body_into_the_memory_offered_for_it) {
    const octets body = body_of(200'000);
    const octets wire = masked_zws(0, body) + masked_zws(0, "x");
    for (const std::size_t first : {14u, 15u, 16u, 17u, 500u, 20'000u, 65'536u, 200'013u}) {
        SCOPED_TRACE(first);
        web_reader it;
        it.in.note_lease();
        octets place(body.size(), '?');
        it.state.input = wire.substr(0, first);
        it.in.offer({reinterpret_cast<std::uint8_t *>(place.data()), place.size()});
        const auto read_on = [&] {
            while (it.state.taken < it.state.input.size() && it.in.read_now(it.borrowers)) {
            }
        };
        read_on();
        it.state.input = wire;
        read_on();
        EXPECT_EQ(it.in.withdraw_offer(), reading_half::offer_end::filled);
        EXPECT_TRUE(place == body);
        ASSERT_NO_FATAL_FAILURE(it.read());
        it.take();
        EXPECT_EQ(it.log.back(), "=x");
    }
}

TEST(inbound_web, skips_a_masked_body_that_nobody_takes_and_goes_on_behind_it) {
    const octets wire = masked_zws(0, body_of(100'000)) + masked_zws(0, "\1topic") +
                        in_pieces(with_flags(0, "junk"), 2) + masked_zws(0, octets("\0topic", 6));
    settings pub = socket_of(socket_type::pub);
    for (const std::size_t size : {1u, 50u, 9'000u, 1'000'000u}) {
        reader it(pub, 0, {}, web_request() + masked_zws(2, ready_body("SUB")), &a_place);
        ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size())));
        it.take();
        EXPECT_EQ(it.log, (std::vector<octets>{"=\1topic", octets("=\0topic", 7)}));
    }
}

TEST(inbound_web, keeps_nothing_of_fragments_without_end_that_nobody_takes) {
    const octets begin = web_frame(0x02, with_flags(1, body_of(10'000)), a_mask);
    const octets more = web_frame(0x00, body_of(10'000), a_mask);
    const octets end = web_frame(0x80, "x", a_mask) + in_pieces(with_flags(0, octets("\1a", 2)), 1);
    for (const socket_type type : {socket_type::push, socket_type::pub, socket_type::dealer})
        for (const std::size_t size : {4'000u, 70'000u}) {
            const bool discards = type == socket_type::dealer;
            const char *const other = discards ? "DEALER" : type == socket_type::pub ? "SUB" : "PULL";
            reader it(socket_of(type), 0, {}, web_request() + masked_zws(2, ready_body(other)), &a_place);
            ASSERT_NO_FATAL_FAILURE(it.feed(begin + more, {}));
            if (discards)
                it.in.discard();
            const long before = short_heap::octets();
            for (int i = 0; i < 1'000; i += 100) {
                octets wire;
                for (int j = 0; j < 100; ++j)
                    wire += more;
                it.state.input.clear();
                it.state.taken = 0;
                ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size())));
            }
            it.state.input.clear();
            it.state.input.shrink_to_fit();
            it.state.taken = 0;
            EXPECT_LT(short_heap::octets() - before, 2'000'000) << "of ten million";
            ASSERT_NO_FATAL_FAILURE(it.feed(end, {}));
            EXPECT_FALSE(it.in.failure());
            ASSERT_NO_FATAL_FAILURE(it.expect(type == socket_type::pub ? std::vector<octets>{"+", "=\1a"}
                                                                       : std::vector<octets>{}));
        }
}

TEST(inbound_web, ends_with_last_words_behind_what_was_good) {
    const struct {
        octets bad;
        int status;
    } cases[] = {
        {web_frame(0x81, "text", a_mask), 1003},
        {masked_zws(9, "flags"), 1002},
        {masked_zws(0, octets(100'001, 'x')), 1009},
        {web_frame(0x02, octets(50'000, '\0'), a_mask) + web_frame(0x80, octets(60'000, 'x'), a_mask), 1009}};
    settings limited = socket_of(socket_type::dealer);
    limited.max_message_size = 100'000;
    for (const auto &each : cases)
        for (const reads whose : both_threads)
            for (const std::size_t size : {7u, 300'000u}) {
                web_reader it(limited);
                const octets wire = masked_zws(0, body_of(100'000)) + each.bad + masked_zws(0, "behind");
                ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size()), whose));
                ASSERT_NO_FATAL_FAILURE(it.expect({"=" + body_of(100'000)}));
                ASSERT_TRUE(it.in.failure());
                EXPECT_TRUE(it.in.failure()->has_answer_for_peer);
                ASSERT_EQ(it.answers.size(), 1u);
                EXPECT_EQ(it.answers[0], web_frame(0x88, testing::close_payload(each.status)));
            }
}

TEST(inbound_web, makes_one_message_of_each_where_the_peer_does_not_speak_zmtp) {
    const octets wire = web_frame(0x82, body_of(100'000), a_mask) + in_pieces(body_of(50'000), 999) +
                        web_frame(0x82, "x", a_mask);
    for (const std::size_t size : {333u, 8192u, 1'000'000u}) {
        web_reader it(socket_of(socket_type::stream));
        ASSERT_NO_FATAL_FAILURE(it.feed(wire, every(size, wire.size())));
        it.take();
        EXPECT_EQ(it.log, (std::vector<octets>{"=" + body_of(100'000), "=" + body_of(50'000), "=x"}));
    }
}

}  // namespace
}  // namespace zlink
