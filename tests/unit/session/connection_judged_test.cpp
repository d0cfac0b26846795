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

// The socket is told this first of a peer without a routing id.
const octets hello_of_ring = "!" + octets(1, static_cast<char>(in_band::hello));

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

TEST(connection_judged, gives_nothing_on_of_what_comes_meanwhile) {
    judged it;
    it.arrive(greeting());
    it.arrive(ready("DEALER") + message("early"));
    EXPECT_EQ(it.established, 0);
    it.judge(accepted());
    EXPECT_EQ(it.established, 1);
    it.expect({hello_of_ring, "=early"});
}

TEST(connection_judged, reads_no_more_than_a_little_meanwhile) {
    judged it;
    it.arrive(greeting());
    const octets much = body_of(1000000);
    it.arrive(ready("DEALER") + message(much));
    EXPECT_GE(it.state.taken, most_octets_unjudged);
    EXPECT_LE(it.state.taken, greeting().size() + most_octets_unjudged + it.sizes.in_batch_size);
    it.judge(accepted());
    it.arrive("");
    it.expect({hello_of_ring, "=" + much});
}

TEST(connection_judged, goes_on_with_what_came_in_one_piece) {
    judged it;
    it.arrive(greeting() + ready("DEALER") + message("early") + message("late"));
    EXPECT_EQ(it.established, 0);
    it.judge(accepted());
    EXPECT_EQ(it.established, 1);
    it.expect({hello_of_ring, "=early", "=late"});
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

TEST(connection_judged, ends_when_the_peer_goes_meanwhile) {
    judged it(judging(0));
    it.arrive(greeting());
    it.state.is_reset = true;
    it.arrive("");
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.system, error::connection_reset);
    EXPECT_FALSE(it.reason.was_established);
    it.judge(accepted());
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

// A stream that has the peer judged by what its own handshake has shown: over TLS, say.
struct introduced : driven {
    explicit introduced(int handshake_ms = 30000, bool is_judged_twice = false)
        : driven(options_of(handshake_ms, is_judged_twice)) {
        state.own_handshake = error::again;
        state.shown = credentials{"TLS", {secret("digest"), secret("CN=alice")}};
        start(true);
    }
    static settings options_of(int handshake_ms, bool is_judged_twice) {
        settings options = judging(handshake_ms);
        if (!is_judged_twice)
            options.zap_domain.clear();
        return options;
    }
    void shake_hands() {
        state.own_handshake = error::none;
        arrive("");
        state.events->on_stream_readable();
        run();
    }
    void judge(const verdict &by) {
        it->on_verdict(by);
        run();
    }
};

TEST(connection_introduced, says_nothing_before_the_verdict) {
    introduced it;
    EXPECT_EQ(it.to_judge, 0);
    it.shake_hands();
    EXPECT_EQ(it.to_judge, 1);
    EXPECT_EQ(it.it->shown().mechanism, "TLS");
    EXPECT_EQ(it.it->shown().items, (std::vector{secret("digest"), secret("CN=alice")}));
    it.arrive(greeting() + ready("DEALER"));
    it.arrive(message("early"));
    EXPECT_EQ(it.state.output, "");
    it.judge(accepted());
    EXPECT_EQ(it.established, 1);
    it.expect({hello_of_ring, "=early"});
    EXPECT_STREQ(it.it->info().find("User-Id"), "alice");
}

TEST(connection_introduced, begins_no_conversation_with_whom_the_verdict_keeps_out) {
    const auto outcome_of = [](verdict::kind what, int status, std::uint32_t detail) {
        introduced it;
        it.shake_hands();
        verdict no;
        no.what = what;
        no.status = status;
        no.detail = detail;
        it.judge(no);
        EXPECT_EQ(it.broken, 1);
        EXPECT_EQ(it.established, 0);
        EXPECT_EQ(it.state.output, "");
        EXPECT_FALSE(it.reason.was_established);
        return std::pair{it.reason.failure, it.reason.detail};
    };
    EXPECT_EQ(outcome_of(verdict::kind::refused, 400, 0), (std::pair{failure_kind::authentication, 400u}));
    EXPECT_EQ(outcome_of(verdict::kind::refused, 300, 0), (std::pair{failure_kind::authentication, 300u}));
    EXPECT_EQ(outcome_of(verdict::kind::no_handler, 0, 0), (std::pair{failure_kind::no_handler, 0u}));
    EXPECT_EQ(outcome_of(verdict::kind::unanswered, 0, 0), (std::pair{failure_kind::no_handler, 0u}));
    EXPECT_EQ(outcome_of(verdict::kind::unusable, 0, 7), (std::pair{failure_kind::protocol, 7u}));
}

TEST(connection_introduced, has_one_time_for_all_of_it) {
    introduced it(500);
    it.pass(milliseconds(300));
    it.shake_hands();
    it.pass(milliseconds(199));
    EXPECT_EQ(it.broken, 0);
    it.pass(milliseconds(1));
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.failure, failure_kind::handshake_timeout);
    it.judge(accepted());
    EXPECT_EQ(it.state.output, "") << "a verdict that comes too late";
}

TEST(connection_introduced, may_be_judged_by_the_conversation_too_which_has_the_last_word) {
    introduced it(30000, true);
    it.shake_hands();
    verdict first = accepted();
    first.metadata = {{"X-Outer", "outer"}, {"X-Both", "outer"}};
    it.judge(first);
    it.arrive(greeting());
    EXPECT_EQ(it.to_judge, 2);
    EXPECT_EQ(it.it->shown().mechanism, "NULL");
    verdict second = accepted();
    second.user_id = "bob";
    second.metadata = {{"X-Both", "inner"}};
    it.judge(second);
    it.arrive(ready("DEALER", property("X-Outer", "claimed") + property("X-Own", "own")));
    EXPECT_EQ(it.established, 1);
    EXPECT_STREQ(it.it->info().find("User-Id"), "bob");
    EXPECT_STREQ(it.it->info().find("X-Both"), "inner");
    EXPECT_STREQ(it.it->info().find("X-Outer"), "outer");
    EXPECT_STREQ(it.it->info().find("X-Own"), "own");
}

TEST(connection_introduced, keeps_the_user_id_where_the_second_verdict_has_none) {
    introduced it(30000, true);
    it.shake_hands();
    it.judge(accepted());
    it.arrive(greeting());
    verdict nobody;  // was there to be asked about a peer without security
    it.judge(nobody);
    it.arrive(ready("DEALER"));
    EXPECT_STREQ(it.it->info().find("User-Id"), "alice");
}

TEST(connection_introduced, ends_when_the_peer_goes_meanwhile) {
    introduced it(0);
    it.shake_hands();
    it.state.is_reset = true;
    it.arrive(greeting());
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.system, error::connection_reset);
}

TEST(connection_introduced, gives_octets_without_frames_on_behind_the_verdict) {
    settings options = socket_of(socket_type::stream);
    options.stream_notify = false;
    driven it(options);
    it.state.shown = credentials{"TLS", {}};
    it.start(true);
    it.arrive("early");
    EXPECT_EQ(it.established, 0);
    it.it->on_verdict(accepted());
    it.run();
    it.arrive("late");
    it.settle();
    octets all;
    for (const octets &each : it.log)
        all += each.substr(each.front() == '=' ? 1 : each.size());
    EXPECT_EQ(all, "earlylate");
}

TEST(connection_introduced, ends_where_nobody_can_be_asked) {
    introduced it;
    it.state.introduction = error::no_memory;
    it.shake_hands();
    EXPECT_EQ(it.to_judge, 0);
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.system, error::no_memory);
}

TEST(connection_introduced, may_be_let_go) {
    introduced it;
    it.shake_hands();
    EXPECT_TRUE(it.it->let_go(true));
    it.judge(accepted());
    EXPECT_EQ(it.state.output, "");
    it.it.reset();
}

}  // namespace
}  // namespace zlink
