// zmq_getsockopt, zmq_setsockopt and zmq_ctx_set: sizes, and what is refused.
#define ZMQ_BUILD_DRAFT_API
#include "raw_peer.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

namespace {

using namespace zlink::test;

constexpr std::size_t room_size = 64;
constexpr std::uint8_t untouched = 0xaa;

struct answer {
    int result = -1;
    std::size_t size = 0;
    std::array<std::uint8_t, 2 * room_size> octets;

    bool is_zero(std::size_t from, std::size_t to) const {
        return std::all_of(octets.begin() + static_cast<std::ptrdiff_t>(from),
                           octets.begin() + static_cast<std::ptrdiff_t>(to), [](auto o) { return o == 0; });
    }
    bool is_untouched(std::size_t from) const {
        return std::all_of(octets.begin() + static_cast<std::ptrdiff_t>(from), octets.end(),
                           [](auto o) { return o == untouched; });
    }
};

answer ask(void *socket, int option, std::size_t room) {
    answer out;
    out.octets.fill(untouched);
    out.size = room;
    out.result = zmq_getsockopt(socket, option, out.octets.data(), &out.size);
    return out;
}

// ---- Reading into more room than the value takes: as libzmq 4.3.4 was seen to answer ----

TEST(getsockopt, of_what_a_socket_knows_fills_a_larger_integer_with_zeros) {
    const zmq_context context;
    const zmq_socket_of socket(context, ZMQ_DEALER);
    for (const int option : {ZMQ_RCVMORE, ZMQ_EVENTS, ZMQ_FD, ZMQ_THREAD_SAFE})
        for (const std::size_t room : {sizeof(int), sizeof(int) + 1, sizeof(std::int64_t), room_size}) {
            const answer got = ask(socket, option, room);
            EXPECT_EQ(got.result, 0) << option;
            EXPECT_EQ(got.size, sizeof(int)) << option;
            EXPECT_TRUE(got.is_zero(sizeof(int), room)) << option << " in " << room;
            EXPECT_TRUE(got.is_untouched(room)) << option << " in " << room;
        }
}

TEST(getsockopt, of_more_reads_as_0_or_1_in_64_bits) {
    const zmq_context context;
    zmq_socket_of a(context, ZMQ_PAIR), b(context, ZMQ_PAIR);
    ASSERT_FALSE(a.bind("inproc://more").empty());
    ASSERT_TRUE(b.connect("inproc://more"));
    ASSERT_TRUE(a.send("one", ZMQ_SNDMORE) && a.send("two"));
    for (const std::int64_t expected : {1, 0}) {
        ASSERT_EQ(b.receive().size(), 3u);
        std::int64_t more = -1;
        std::size_t size = sizeof more;
        ASSERT_EQ(zmq_getsockopt(b, ZMQ_RCVMORE, &more, &size), 0);
        EXPECT_EQ(more, expected);
        EXPECT_EQ(size, sizeof(int));
    }
}

TEST(getsockopt, of_other_integers_wants_their_size) {
    const zmq_context context;
    const zmq_socket_of socket(context, ZMQ_DEALER);
    for (const int option : {ZMQ_TYPE, ZMQ_LINGER, ZMQ_SNDHWM, ZMQ_MECHANISM, ZMQ_HEARTBEAT_TTL})
        for (const std::size_t room : {std::size_t{3}, std::size_t{5}, sizeof(std::int64_t), room_size}) {
            const answer got = ask(socket, option, room);
            EXPECT_EQ(got.result, -1) << option << " in " << room;
            EXPECT_TRUE(got.is_untouched(0)) << option << " in " << room;
        }
}

TEST(getsockopt, of_text_and_octets_fills_what_is_left_with_zeros) {
    const zmq_context context;
    const zmq_socket_of socket(context, ZMQ_DEALER);
    for (const int option : {ZMQ_LAST_ENDPOINT, ZMQ_ROUTING_ID, ZMQ_PLAIN_USERNAME, ZMQ_BINDTODEVICE}) {
        const answer got = ask(socket, option, room_size);
        EXPECT_EQ(got.result, 0) << option;
        EXPECT_EQ(got.size, option == ZMQ_ROUTING_ID ? 0u : 1u) << option;
        EXPECT_TRUE(got.is_zero(0, room_size)) << option;
        EXPECT_TRUE(got.is_untouched(room_size)) << option;
    }
}

// ---- What is not built ----

TEST(refused_option, takes_its_neutral_value_only) {
    const zmq_context context;
    const struct {
        int option, type;
        bool is_read;
    } options[] = {{ZMQ_LOOPBACK_FASTPATH, ZMQ_PUSH, true}};
    for (const auto &each : options) {
        zmq_socket_of socket(context, each.type);
        EXPECT_EQ(socket.set(each.option, 0), 0) << each.option;
        for (const int value : {1, 2, -1}) {
            EXPECT_EQ(socket.set(each.option, value), -1) << each.option;
            EXPECT_EQ(zmq_errno(), EINVAL) << each.option;
        }
        const answer got = ask(socket, each.option, sizeof(int));
        EXPECT_EQ(got.result, each.is_read ? 0 : -1) << each.option;
        if (each.is_read) {
            EXPECT_TRUE(got.is_zero(0, sizeof(int))) << each.option;
        }
    }
    EXPECT_EQ(zmq_ctx_set(context, ZMQ_ZERO_COPY_RECV, 1), 0);
    EXPECT_EQ(zmq_ctx_get(context, ZMQ_ZERO_COPY_RECV), 1);
    EXPECT_EQ(zmq_ctx_set(context, ZMQ_ZERO_COPY_RECV, 0), -1);
    EXPECT_EQ(zmq_errno(), EINVAL);
}

TEST(ctx, sends_no_message_beyond_its_limit) {
    const zmq_context context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_MAX_MSGSZ, 10), 0);
    EXPECT_EQ(zmq_ctx_get(context, ZMQ_MAX_MSGSZ), 10);
    zmq_socket_of a(context, ZMQ_PAIR), b(context, ZMQ_PAIR);
    ASSERT_FALSE(a.bind("inproc://limit").empty());
    ASSERT_TRUE(b.connect("inproc://limit"));
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(a.send("ten octets"));
        EXPECT_FALSE(a.send("ten octets."));
        EXPECT_EQ(zmq_errno(), EMSGSIZE);
        EXPECT_EQ(zmq_send_const(a, "eleven octe", 11, 0), -1);
        EXPECT_EQ(zmq_errno(), EMSGSIZE);
        for (const std::size_t size : {11, 100'000}) {
            zmq_msg_t large;
            ASSERT_EQ(zmq_msg_init_size(&large, size), 0);
            EXPECT_EQ(zmq_msg_send(&large, a, 0), -1);
            EXPECT_EQ(zmq_errno(), EMSGSIZE);
            EXPECT_EQ(zmq_msg_size(&large), size) << "stays the caller's";
            zmq_msg_close(&large);
        }
        EXPECT_EQ(b.receive(), "ten octets");
    }
}

}  // namespace
