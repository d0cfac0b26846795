// A connection whose stream began as one of a web server's.
#include <gtest/gtest.h>

#include "stepped_connection.hpp"
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

struct web_server : driven {
    explicit web_server(std::uint64_t mark = 0) : driven(socket_type::dealer, mark) {
        environment.place = &a_place;
        start(true);
        arrive(web_request() + masked_zws(2, ready_body("DEALER")));
        EXPECT_TRUE(it->is_established());
        state.output.clear();
    }
    void send(const octets &body) {
        EXPECT_EQ(near->write(0, as_bytes(body)), error::none);
        near->publish();
    }
};

const octets close_1000 = octets("\x88\x02\x03\xe8", 4);

TEST(connection_web, writes_no_message_behind_its_close) {
    web_server it;
    it.send("too late");
    it.send(body_of(20'000));
    it.arrive(web_frame(0x88, octets("\x03\xe8", 2), a_mask));
    EXPECT_EQ(it.state.output, close_1000);
    EXPECT_EQ(it.broken, 1);
}

TEST(connection_web, gives_credit_back_for_small_messages_among_large_ones) {
    web_server it(1000);
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 306; ++i)
            it.send(i % 51 == 50 ? body_of(9'000) : "abc");
        it.run();
        it.it->work();
        ASSERT_TRUE(it.near->has_credit()) << round;
    }
}

}  // namespace
}  // namespace zlink
