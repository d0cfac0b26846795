// A large frame arrives whole in any pieces, and its memory follows what has arrived.
#include "zmtp/large_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace zlink {
namespace {

struct large_frame_test : ::testing::Test {
    static std::vector<std::uint8_t> frame_of(std::size_t body) {
        std::vector<std::uint8_t> out(long_header_size + body);
        put_frame_header(out.data(), body, 0);
        for (std::size_t i = 0; i < body; ++i)
            out[long_header_size + i] = static_cast<std::uint8_t>(i * 13 + i / 251);
        return out;
    }
    static frame_header header_of(std::uint64_t body) { return {body, frame_flag::large, long_header_size}; }

    const std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    large_frame incoming;
};

TEST_F(large_frame_test, arrives_whole_in_any_pieces) {
    for (const std::size_t body : {40'000u, 262'144u, 300'000u, 5'000'000u, 40'000'000u})
        for (const std::size_t first : {9u, 20'000u})
            for (const std::size_t piece : {7'000u, 65'536u, 3'000'000u}) {
                SCOPED_TRACE(::testing::Message() << body << " " << first << " " << piece);
                const std::vector<std::uint8_t> sent = frame_of(body);
                ASSERT_TRUE(incoming.begin(*pool, {sent.data(), first}, header_of(body)));
                std::size_t have = first;
                while (!incoming.is_whole()) {
                    const large_frame::place next = incoming.place_for_next(*pool);
                    ASSERT_GT(next.octets, 0u);
                    ASSERT_EQ(incoming.missing(), sent.size() - have);
                    const std::size_t count = std::min(piece, next.octets);
                    std::memcpy(next.begin, sent.data() + have, count);
                    incoming.note_read(count);
                    have += count;
                    (void)incoming.place_for_next(*pool);
                    incoming.note_read(0);  // nothing was there
                }
                block_ref owner;
                const byte_span all = incoming.take(owner);
                ASSERT_EQ(all.size(), sent.size());
                EXPECT_EQ(std::memcmp(all.data(), sent.data(), sent.size()), 0);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.data() + long_header_size) % 16, 0u);
                EXPECT_FALSE(incoming.is_under_way());
            }
}

TEST_F(large_frame_test, has_room_for_no_more_than_eight_times_what_has_arrived_but_for_256_kib) {
    constexpr std::uint64_t announced = std::uint64_t{1} << 40;
    const std::vector<std::uint8_t> sent = frame_of(100);
    ASSERT_TRUE(incoming.begin(*pool, {sent.data(), 19}, header_of(announced)));
    for (std::size_t have = 19; have < 100'000'000;) {
        const large_frame::place next = incoming.place_for_next(*pool);
        ASSERT_GT(next.octets, 0u);
        EXPECT_LE(next.octets, std::max<std::size_t>(262'144, 7 * have + 1024));
        incoming.note_read(next.octets);
        have += next.octets;
    }
}

TEST_F(large_frame_test, of_any_size_is_refused_where_there_is_no_memory_and_not_before) {
    const std::vector<std::uint8_t> sent = frame_of(100);
    ASSERT_TRUE(incoming.begin(*pool, {sent.data(), 19}, header_of(INT64_MAX)));
    EXPECT_GT(incoming.place_for_next(*pool).octets, 0u);
    incoming.note_read(0);
    incoming.forget();
    EXPECT_FALSE(incoming.is_under_way());
}

}  // namespace
}  // namespace zlink
