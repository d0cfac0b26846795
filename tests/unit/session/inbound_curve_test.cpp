// The reading half of a connection that speaks CURVE: large boxes are read where they are opened,
// and are the same messages whatever the pieces, on either thread, at any mark.
#include <gtest/gtest.h>

#include "stepped_reader.hpp"
#include "zmtp/framing_curve.hpp"

namespace zlink {
namespace {

using namespace test;

curve_session session_of(bool is_server) {
    curve_session session;
    std::fill_n(session.shared.data(), curve_secret_key::octets, std::uint8_t{7});
    session.is_server = is_server;
    return session;
}

/// Boxes on the wire, and what is in them.
struct sealed_traffic {
    octets wire;
    std::vector<octets> log;
    std::vector<std::size_t> ends;  // of boxes, in the wire

    sealed_traffic &says(const std::vector<octets> &parts) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool has_more = i + 1 < parts.size();
            std::vector<std::uint8_t> out;
            sender.encode(has_more ? frame_flag::more : 0, as_bytes(parts[i]), out);
            wire.append(out.begin(), out.end());
            log.push_back((has_more ? "+" : "=") + parts[i]);
            ends.push_back(wire.size());
        }
        return *this;
    }

    const framing_curve sender{session_of(false), framing_of_zmtp_3_1(), {}};
};

struct curve_reader : reader {
    explicit curve_reader(std::uint64_t mark = 0, std::size_t batch = 64 * 1024)
        : reader(socket_of(socket_type::dealer), mark, reading_batches(batch)) {
        in.set_decoder(own.make_decoder(pool.get()));
    }

    const framing_curve own{session_of(true), framing_of_zmtp_3_1(), {}};
};

/// Around the sizes from which a box is large, its memory grows, and a read is cut; large ones
/// behind one another, among small ones and at the end.
void say_large(sealed_traffic &to) {
    to.says({"one"}).says({body_of(20 * 1024 - 43, 1)}).says({body_of(20 * 1024 - 41, 2)});
    to.says({"a", body_of(64 * 1024 - 33, 3), "", body_of(40'000, 4)});
    to.says({body_of(256 * 1024 - 33, 5)}).says({body_of(256 * 1024, 6)}).says({"two"});
    to.says({body_of(1024 * 1024, 7), body_of(30'000, 8)}).says({body_of(70'000, 9)});
}

TEST(inbound_curve, delivers_large_boxes_whatever_the_pieces) {
    sealed_traffic said;
    say_large(said);
    std::vector<std::size_t> beside_ends;
    for (const std::size_t end : said.ends)
        for (const std::size_t beyond : {0u, 1u, 9u, 41u, 42u, 16'383u, 16'384u})
            beside_ends.push_back(end + beyond);
    std::sort(beside_ends.begin(), beside_ends.end());
    std::erase_if(beside_ends, [&](std::size_t at) { return at > said.wire.size(); });
    for (const reads whose : both_threads)
        for (const std::uint64_t mark : {0u, 1u, 3u})
            for (const std::size_t batch : {8u * 1024, 64u * 1024}) {
                SCOPED_TRACE(::testing::Message()
                             << mark << " " << (whose == reads::on_the_sockets_thread) << " " << batch);
                for (const std::size_t size :
                     {1000u, 8'192u, 16'393u, 65'536u, 70'001u, 262'144u, 3'000'000u}) {
                    SCOPED_TRACE("pieces of " + std::to_string(size));
                    curve_reader it(mark, batch);
                    ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, every(size, said.wire.size()), whose));
                    ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
                }
                curve_reader it(mark, batch);
                ASSERT_NO_FATAL_FAILURE(it.feed(said.wire, beside_ends, whose));
                ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
            }
}

/// Whatever comes in more than one piece is not copied once more: the stream was told where to.
TEST(inbound_curve, reads_most_of_a_large_box_into_its_own_memory) {
    sealed_traffic said;
    said.says({body_of(1024 * 1024)}).says({"behind"});
    curve_reader it;
    it.state.input = said.wire;
    std::size_t elsewhere = 0;
    while (it.state.taken < said.wire.size()) {
        std::size_t left = it.state.taken;
        it.step(reads::on_the_loops_thread);
        left = it.state.taken - left;
        auto *const scratch = static_cast<chunk *>(it.io.scratch.get());
        for (const iovec &range : it.state.last_read) {
            const std::size_t octets = std::min(left, range.iov_len);
            const auto *const at = static_cast<const std::uint8_t *>(range.iov_base);
            if (at < scratch->data() || at >= scratch->data() + scratch->capacity)
                elsewhere += octets;
            left -= octets;
        }
    }
    EXPECT_GT(elsewhere, 950'000u);
    ASSERT_NO_FATAL_FAILURE(it.expect(said.log));
}

TEST(inbound_curve, delivers_nothing_of_a_large_box_that_was_changed_or_is_cut_short) {
    sealed_traffic said;
    said.says({"in front"}).says({"first", body_of(300'000)}).says({"behind"});
    const std::size_t begin = said.ends[1], end = said.ends[2];
    for (const reads whose : both_threads)
        for (const std::size_t piece : {5000u, 65'536u, 1'000'000u}) {
            for (const std::size_t at : {begin + 9, begin + 17, begin + 30, begin + 41, begin + 42,
                                         begin + 16'400, begin + 150'000, end - 1}) {
                SCOPED_TRACE(::testing::Message() << at - begin << " in pieces of " << piece);
                octets changed = said.wire;
                changed[at] ^= 1;
                curve_reader it;
                ASSERT_NO_FATAL_FAILURE(it.feed(changed, every(piece, changed.size()), whose));
                ASSERT_TRUE(it.in.failure());
                EXPECT_EQ(it.in.failure()->failure, failure_kind::protocol);
                it.expect_end();
                ASSERT_NO_FATAL_FAILURE(it.expect({said.log[0]}));
            }
            curve_reader it;
            const octets cut = said.wire.substr(0, end - 1);
            ASSERT_NO_FATAL_FAILURE(it.feed(cut, every(piece, cut.size()), whose));
            EXPECT_FALSE(it.in.failure());
            ASSERT_NO_FATAL_FAILURE(it.expect({said.log[0]}));
        }
}

}  // namespace
}  // namespace zlink
