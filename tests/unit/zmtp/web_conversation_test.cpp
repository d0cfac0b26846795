// Conversations over WebSocket, of both sides.
#include "zmtp/web_conversation.hpp"

#include <gtest/gtest.h>

#include "web_script.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;

struct two_sides {
    peer_driver client, server;
    two_sides(const settings &c, const settings &s) : client(c, false, &a_place), server(s, true, &a_place) {
        talk();
    }
    void talk() {
        for (;;) {
            const octets to_server = client.take_written(), to_client = server.take_written();
            if (to_server.empty() && to_client.empty())
                return;
            server.feed(to_server);
            client.feed(to_client);
        }
    }
};

using log_of = std::vector<std::string>;

TEST(web_conversation, brings_two_sides_together) {
    two_sides both(socket_of(socket_type::dealer), socket_of(socket_type::router));
    EXPECT_EQ(both.client.log(), log_of{"established"});
    EXPECT_EQ(both.server.log(), log_of{"established"});
    std::vector<std::uint8_t> wire;
    both.client.machine().framing().encode(frame_flag::more, as_bytes("one"), wire);
    both.client.machine().framing().encode(0, as_bytes(octets(70000, 'x')), wire);
    both.server.feed(text(wire));
    EXPECT_EQ(both.server.log().back(), "message one|" + octets(70000, 'x'));
}

TEST(web_conversation, carries_octets_without_frames_where_neither_side_speaks_zmtp) {
    two_sides both(socket_of(socket_type::stream), socket_of(socket_type::stream));
    EXPECT_EQ(both.client.log(), log_of{"established"});
    EXPECT_EQ(both.server.log(), log_of{"established"});
    both.client.feed(web_frame(0x82, "hello"));
    both.server.feed(web_frame(0x82, "hello", a_mask));
    EXPECT_EQ(both.client.log().back(), "message hello");
    EXPECT_EQ(both.server.log().back(), "message hello");
}

}  // namespace
}  // namespace zlink
