// A connection whose handshake waits for its turn, because a step of CURVE is costly.
#include <gtest/gtest.h>

#include "core/curve_keys.hpp"
#include "stepped_connection.hpp"
#include "zws_octets.hpp"

namespace zlink {
namespace {

using namespace test;
using testing::command_frame;
using testing::milliseconds;
using testing::octets;

// A server of CURVE whose client has said HELLO, which waits for its turn.
struct queued : driven {
    explicit queued(int handshake_ms = 30000) : driven(server_of(handshake_ms)), client(client_of()) {
        start(true);
        arrive(client.take_written() + client_says(std::exchange(state.output, {})));
    }
    static settings server_of(int handshake_ms) {
        settings options = socket_of(socket_type::dealer);
        options.mechanism = mechanism_kind::curve;
        options.curve_server = true;
        options.curve_secret_key = std::string_view(octets(32, '\1'));
        options.handshake_interval_ms = handshake_ms;
        return options;
    }
    static settings client_of() {
        settings options = socket_of(socket_type::dealer);
        options.mechanism = mechanism_kind::curve;
        curve_key server;
        EXPECT_TRUE(derive_curve_public(as_bytes(octets(32, '\1')), server));
        options.curve_server_key = as_text(byte_span(server));
        curve_key own;
        EXPECT_TRUE(derive_curve_public(as_bytes(octets(32, '\2')), own));
        options.curve_public_key = as_text(byte_span(own));
        options.curve_secret_key = std::string_view(octets(32, '\2'));
        return options;
    }
    octets client_says(std::string_view heard) {
        client.feed(heard);
        return client.take_written();
    }
    /// Returns what has been written in the one turn that is due.
    octets take_turn() {
        EXPECT_FALSE(io.costly.is_empty());
        state.output.clear();
        io.costly.run_one();
        run();
        return state.output;
    }

    /// Both sides are in traffic, with nothing left to do.
    void establish_curve() {
        arrive(client_says(take_turn()));
        take_turn();
        state.output.clear();
        verdict good;
        good.what = verdict::kind::accepted;
        it->on_verdict(good);
        run();
        client_says(std::exchange(state.output, {}));
        ASSERT_EQ(established, 1);
        ASSERT_TRUE(client.machine().is_established());
    }

    testing::peer_driver client;
};

TEST(connection_queued, does_what_is_costly_when_it_is_its_turn) {
    queued it;
    EXPECT_EQ(it.state.output, "") << "the WELCOME";
    it.arrive(it.client_says(it.take_turn()));
    EXPECT_EQ(it.to_judge, 0);
    EXPECT_EQ(it.take_turn(), "");
    EXPECT_EQ(it.to_judge, 1);
    EXPECT_TRUE(it.io.costly.is_empty());
    it.state.output.clear();
    verdict good;
    good.what = verdict::kind::accepted;
    it.it->on_verdict(good);
    it.client_says(it.state.output);
    EXPECT_EQ(it.established, 1);
    EXPECT_TRUE(it.client.machine().is_established());
    EXPECT_TRUE(it.state.expects_sealed_bodies);
}

TEST(connection_queued, takes_what_comes_meanwhile_behind_it) {
    queued it;
    it.arrive(command_frame("X", ""));
    EXPECT_EQ(it.broken, 0);
    EXPECT_NE(it.take_turn(), "");
    EXPECT_EQ(it.broken, 1) << "a command that is not due";
}

TEST(connection_queued, spends_nothing_on_a_peer_that_has_gone) {
    queued it;
    it.state.is_reset = true;
    it.arrive("");
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.take_turn(), "");
    EXPECT_EQ(it.established, 0);
}

TEST(connection_queued, ends_when_the_handshake_has_taken_too_long) {
    queued it(500);
    it.io.time += milliseconds(500);
    it.io.pass_time();
    it.run();
    EXPECT_EQ(it.broken, 1);
    EXPECT_EQ(it.reason.failure, failure_kind::handshake_timeout);
}

TEST(connection_queued, may_be_let_go) {
    queued it;
    EXPECT_TRUE(it.it->let_go(true));
    it.it.reset();
    EXPECT_TRUE(it.io.costly.is_empty());
}

// ---- what is lost ----

// A box is there as a whole, or not at all; many messages stand in one.
TEST(connection_curve, counts_each_message_of_a_box_that_is_not_written_whole_and_no_other) {
    constexpr std::size_t count = 400;
    for (std::size_t cut = 0; cut < count * 110; cut += 1'501) {
        SCOPED_TRACE(cut);
        queued it;
        it.environment.counts = std::make_shared<counters>();
        ASSERT_NO_FATAL_FAILURE(it.establish_curve());
        it.state.room = cut;
        for (std::size_t i = 0; i < count; ++i)
            it.send({body_of(100)});
        it.run();
        ASSERT_EQ(it.state.output.size(), std::min(cut, it.state.output.size()));
        const auto decoder = it.client.machine().framing().make_decoder();
        const octets frames = testing::decoded(*decoder, it.state.output);
        const std::size_t heard = frames.size() / 102;
        it.state.is_reset = true;
        it.state.let_read();
        ASSERT_EQ(it.broken, 1);
        EXPECT_EQ(heard + it.environment.counts->get(counter::dropped_peer_gone) +
                      it.far->incoming().under_way().messages,
                  count);
    }
}

TEST(connection_curve, takes_no_box_for_a_message_behind_a_ready_that_there_was_no_memory_for) {
    verdict good;
    good.what = verdict::kind::accepted;
    unsigned n = 1;
    for (bool goes_on = true; goes_on; ++n) {
        SCOPED_TRACE(n);
        testing::peer_driver server(queued::server_of(30000), true, nullptr, nullptr, good);
        driven one(queued::client_of());
        one.environment.counts = std::make_shared<counters>();
        one.start();
        octets said;
        for (int turns = 0; !server.machine().is_established(); ++turns) {
            ASSERT_LT(turns, 10);
            one.arrive(std::exchange(said, {}));
            server.feed(std::exchange(one.state.output, {}));
            said = server.take_written();
        }
        {
            const short_heap heap(n, false);
            one.arrive(said + message("a box") + message("and one more"));
            goes_on = short_heap::has_struck();
        }
        EXPECT_EQ(one.broken, 1);
        EXPECT_EQ(one.environment.counts->get(counter::dropped_unread), 0u);
        ASSERT_LT(n, 100u);
    }
    EXPECT_GT(n, 2u) << "there was an allocation";
}

}  // namespace
}  // namespace zlink
