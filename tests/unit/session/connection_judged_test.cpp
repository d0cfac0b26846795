// A connection whose peer is judged before it may come in.
#include <gtest/gtest.h>

#include "pipe/in_band.hpp"
#include "stepped_connection.hpp"

namespace zlink {
namespace {

using namespace test;
using testing::command_frame;
using testing::milliseconds;
using testing::octets;
using testing::property;

settings judging(int handshake_ms = 30000) {
    settings options = socket_of(socket_type::dealer);
    options.zap_domain = "d";
    options.handshake_interval_ms = handshake_ms;
    return options;
}

verdict accepted() {
    verdict out;
    out.what = verdict::kind::accepted;
    out.user_id = "alice";
    return out;
}

// What the socket is told first of a peer without a routing id.
const octets hello = "!" + octets(1, static_cast<char>(in_band::hello));

struct judged : driven {
    explicit judged(const settings &options = judging()) : driven(options) { start(true); }
    void judge(const verdict &by) {
        it->on_verdict(by);
        run();
    }
};

TEST(connection_judged, asks_the_host_and_goes_on_with_the_verdict) {
    judged it;
    it.arrive(greeting());
    EXPECT_EQ(it.to_judge, 1);
    EXPECT_EQ(it.it->shown().mechanism, "NULL");
    EXPECT_EQ(it.state.output, greeting());
    it.judge(accepted());
    EXPECT_EQ(it.state.output, greeting() + ready("DEALER", property("Identity", "")));
    it.arrive(ready("DEALER"));
    EXPECT_EQ(it.established, 1);
    EXPECT_STREQ(it.it->info().find("User-Id"), "alice");
}

TEST(connection_judged, reads_nothing_meanwhile) {
    judged it;
    it.arrive(greeting());
    const std::size_t taken = it.state.taken;
    it.arrive(ready("DEALER") + message("early"));
    EXPECT_EQ(it.state.taken, taken);
    EXPECT_EQ(it.established, 0);
    it.judge(accepted());
    it.arrive("");
    EXPECT_EQ(it.established, 1);
    it.expect({hello, "=early"});
}

TEST(connection_judged, goes_on_with_what_came_in_one_piece) {
    judged it;
    it.arrive(greeting() + ready("DEALER") + message("early") + message("late"));
    EXPECT_EQ(it.established, 0);
    it.judge(accepted());
    EXPECT_EQ(it.established, 1);
    it.expect({hello, "=early", "=late"});
}

TEST(connection_judged, ends_with_a_refusal_that_the_peer_is_told) {
    judged it;
    it.arrive(greeting() + ready("DEALER"));
    verdict no;
    no.what = verdict::kind::refused;
    no.status = 400;
    it.judge(no);
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.failure, failure_kind::authentication);
    EXPECT_EQ(it.reason.detail, 400u);
    EXPECT_EQ(it.state.output, greeting() + command_frame("ERROR", "\3"
                                                                   "400"));
    EXPECT_EQ(it.established, 0);
}

TEST(connection_judged, ends_when_the_handshake_has_taken_too_long) {
    judged it(judging(500));
    it.arrive(greeting());
    it.pass(milliseconds(499));
    EXPECT_EQ(it.broken, 0);
    it.pass(milliseconds(1));
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.failure, failure_kind::handshake_timeout);
    it.judge(accepted());
    EXPECT_EQ(it.established, 0) << "a verdict that comes too late";
}

TEST(connection_judged, finds_out_behind_the_verdict_that_the_peer_has_gone) {
    judged it;
    it.arrive(greeting());
    it.state.is_reset = true;
    it.run();
    EXPECT_EQ(it.broken, 0);
    it.judge(accepted());
    it.arrive("");
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.established, 0);
}

TEST(connection_judged, may_be_let_go) {
    judged it;
    it.arrive(greeting() + ready("DEALER"));
    EXPECT_TRUE(it.it->let_go(true));
    it.judge(accepted());
    EXPECT_EQ(it.established, 0);
    it.it.reset();
}

}  // namespace
}  // namespace zlink
