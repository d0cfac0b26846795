// A read lease as a script: each state of it, and what may happen there. The test plays the thread
// of the socket.
#include "session/lease_keeper.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "connection_parts.hpp"

namespace zlink {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::greeting;
using testing::message;
using testing::ready;
using testing::socket_of;

/// The keeper of one connection that is served, and what it says.
class lender : public connection_parts, public pipe_events, private lease_events, private connection_port {
public:
    explicit lender(bool is_written_out = true) : connection_parts(socket_of(socket_type::pair)) {
        near->set_events({std::shared_ptr<void>(), this});
        far->set_events({std::shared_ptr<void>(), this});
        out.open(far, false, *this, *pool);
        keeper.open(*far);
        if (is_written_out) {
            EXPECT_EQ(out.write(io.now()), outbound::written::all);
        }
    }

    // The socket's thread
    void ask() { EXPECT_TRUE(near->ask_for_lease()); }
    bool use() {
        reading begun = near->begin_use();
        if (!begun)
            return false;
        held = std::move(begun);
        return true;
    }
    void leave(bool keep) { held.end(keep); }
    /// Reads bodies of so many octets, and leaves.
    void use_for(std::initializer_list<std::size_t> bodies) {
        for (const std::size_t octets : bodies)
            far->lease().note_large(octets);
        near->note_use();
        leave(true);
    }
    void borrow() {
        ask();
        grant();
        ASSERT_TRUE(use());
    }
    // The loop's
    void grant() {
        EXPECT_TRUE(keeper.tend());
        keeper.grant();
    }
    bool is_out() { return keeper.reading() == nullptr; }
    /// The loop and the stream agree on whose it is.
    void expect_out(bool is_lent) {
        EXPECT_EQ(is_out(), is_lent);
        EXPECT_EQ(state.is_leased, is_lent);
    }
    /// The borrower has left: it is still out so long after, and back so long after that.
    void expect_left_unused(duration kept, duration over) {
        io.pass(kept);
        expect_out(true);
        io.pass(over);
        expect_back(1);
    }
    void expect_back(int times) {
        expect_out(false);
        EXPECT_EQ(returns, times);
        EXPECT_EQ(io.pending(), 0u) << "nothing is left to look at";
        returns = 0;
    }

    std::unique_ptr<conversation> peer = talk(greeting() + ready("PAIR"));
    scripted_stream bytes{state};
    const connection_environment environment{&io, options, sizes, pool, nullptr, {}};
    outbound out{bytes, *peer, nullptr, sizes};
    lease_keeper keeper{environment, bytes, out, *this};

    int returns = 0;  // on_reading_back
    int ends = 0;     // on_lease_over
    int socket_woken = 0;
    int loop_woken = 0;
    error last_failure = error::none;
    std::function<void()> on_return;
    reading held;

private:
    void on_reading_back(inbound &in, error failure) noexcept override {
        EXPECT_EQ(&in, keeper.reading()) << "it is the loop's by then";
        ++returns;
        last_failure = failure;
        if (on_return)
            on_return();
    }
    void on_lease_over() noexcept override {
        EXPECT_EQ(returns, 1) << "after it has returned";
        ++ends;
    }
    void on_readable(pipe_end &end) noexcept override { ++(&end == near.get() ? socket_woken : loop_woken); }
    void on_writable(pipe_end &) noexcept override {}
    void on_closed(pipe_end &) noexcept override {}
    written write_now(writing &turn, occasion when) noexcept override { return out.write_now(turn, when); }
    bool is_full() const noexcept override { return out.is_full(); }
    int descriptor() const noexcept override { return -1; }
    reading_half &leased_half() noexcept override { return keeper.leased_half(); }
};

TEST(lease_keeper, has_the_reading_half_with_the_loop_while_nobody_asks) {
    lender it;
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_EQ(it.keeper.recall(), it.keeper.reading());
    EXPECT_TRUE(it.keeper.recall_quietly());
    it.expect_back(0);
    EXPECT_FALSE(it.use()) << "without a lease";
}

TEST(lease_keeper, does_nothing_before_there_is_a_pipe) {
    connection_parts parts(socket_of(socket_type::pair));
    const auto peer = parts.talk(greeting() + ready("PAIR"));
    scripted_stream bytes(parts.state);
    const connection_environment environment{&parts.io, parts.options, parts.sizes, parts.pool, nullptr, {}};
    outbound out(bytes, *peer, nullptr, parts.sizes);
    struct : lease_events {
        void on_reading_back(inbound &, error) noexcept override { FAIL(); }
        void on_lease_over() noexcept override { FAIL(); }
    } nobody;
    lease_keeper keeper(environment, bytes, out, nobody);
    EXPECT_FALSE(keeper.tend());
    EXPECT_NE(keeper.recall(), nullptr);
    EXPECT_TRUE(keeper.recall_quietly());
}

TEST(lease_keeper, refuses_what_was_asked_of_an_earlier_connection) {
    lender it;
    it.ask();
    lender next;
    it.keeper.open(*it.far);
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_TRUE(it.near->is_lease_over());
}

TEST(lease_keeper, grants_what_is_asked_for_and_tells_the_socket) {
    lender it;
    it.ask();
    EXPECT_EQ(it.loop_woken, 1);
    EXPECT_FALSE(it.near->ask_for_lease()) << "it has been asked";
    EXPECT_FALSE(it.use()) << "it was not granted";
    it.grant();
    it.expect_out(true);
    EXPECT_EQ(it.socket_woken, 1);
    EXPECT_EQ(it.io.pending(), 1u);
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_TRUE(it.use());
    EXPECT_FALSE(it.near->is_recalled());
    it.leave(false);
    (void)it.keeper.tend();
}

TEST(lease_keeper, leaves_a_refused_socket_free_to_ask_again) {
    lender it;
    it.ask();
    EXPECT_TRUE(it.keeper.tend());
    it.keeper.refuse();
    EXPECT_FALSE(it.keeper.tend());
    it.expect_back(0);
    EXPECT_TRUE(it.near->is_lease_over());
    it.borrow();
    it.expect_out(true);
    it.leave(false);
    (void)it.keeper.tend();
}

TEST(lease_keeper, refuses_where_the_stream_does) {
    lender it;
    it.state.may_be_leased = false;
    it.ask();
    it.grant();
    it.expect_back(0);
    EXPECT_TRUE(it.near->is_lease_over());
    // The loop waits for a full stream as before.
    it.state.room = 0;
    it.send({"a"});
    EXPECT_EQ(it.out.write(it.io.now()), outbound::written::refused);
    EXPECT_TRUE(it.state.is_room_awaited);
}

TEST(lease_keeper, refuses_where_there_is_no_memory_for_a_timer) {
    lender it;
    it.io.makes_timers = false;
    it.ask();
    it.grant();
    it.expect_back(0);
    EXPECT_TRUE(it.near->is_lease_over());
    it.io.makes_timers = true;
    it.borrow();
    it.expect_out(true);
    it.leave(false);
    (void)it.keeper.tend();
}

TEST(lease_keeper, refuses_while_the_writing_half_has_control_octets_to_write) {
    lender it;
    it.peer->output().assign(10, 'p');
    it.ask();
    it.grant();
    it.expect_back(0);
    EXPECT_TRUE(it.near->is_lease_over());
}

TEST(lease_keeper, refuses_while_somebody_else_writes) {
    lender it;
    it.ask();
    EXPECT_TRUE(it.keeper.tend());
    {
        const writing turn = it.far->take_turn();
        it.keeper.grant();
    }
    it.expect_back(0);
    EXPECT_TRUE(it.near->is_lease_over());
}

TEST(lease_keeper, cannot_be_asked_before_the_handshake_is_written_out) {
    lender it(false);
    EXPECT_FALSE(it.near->ask_for_lease());
    EXPECT_FALSE(it.keeper.tend());
}

// ---- granted, and not in use ----

TEST(lease_keeper, ends_a_lease_that_nobody_uses_at_the_next_look) {
    lender it;
    it.ask();
    it.grant();
    it.io.pass(1ms);
    it.expect_out(true);
    it.io.pass(6ms);
    it.expect_back(1);
    EXPECT_EQ(it.ends, 1);
    EXPECT_FALSE(it.use());
    EXPECT_TRUE(it.near->is_lease_over());
    EXPECT_FALSE(it.keeper.tend());
    it.expect_back(0);
}

TEST(lease_keeper, leaves_a_lease_longer_unused_while_large_bodies_come) {
    lender it;
    it.borrow();
    it.use_for({16 * 1024 * 1024, 4 * 1024 * 1024});
    it.io.pass(20ms);
    it.expect_out(true);
    // Once it was used again, what came since then decides.
    ASSERT_TRUE(it.use());
    it.use_for({});
    it.expect_left_unused(4ms, 8ms);
    EXPECT_EQ(it.ends, 1);
}

TEST(lease_keeper, leaves_a_lease_longer_unused_after_a_long_wait_for_a_large_body) {
    lender it;
    it.borrow();
    it.io.pass(100ms);
    ASSERT_EQ(it.io.pending(), 0u) << "a thread that sleeps is not looked at";
    it.use_for({16 * 1024 * 1024});
    EXPECT_FALSE(it.keeper.tend());
    it.expect_left_unused(16ms, 8ms);
}

TEST(lease_keeper, forgets_what_came_before_the_lease) {
    lender it;
    it.far->lease().note_large(16 * 1024 * 1024);
    it.borrow();
    it.leave(true);
    it.io.pass(8ms);
    it.expect_back(1);
}

TEST(lease_keeper, leaves_no_full_stream_to_an_unused_lease) {
    lender it;
    it.borrow();
    it.use_for({16 * 1024 * 1024});
    it.state.room = 3;
    it.send({"abc"});
    EXPECT_FALSE(it.near->write_now(connection_port::occasion::any));
    {
        const writing turn = it.far->take_turn();
        it.io.pass(8ms);
        it.expect_out(true);  // who writes looks after it
    }
    it.io.pass(4ms);
    ASSERT_TRUE(it.out.is_full());
    it.expect_back(1);
}

TEST(lease_keeper, leaves_no_lease_unused_for_ever_however_large_the_bodies) {
    lender it;
    it.borrow();
    it.use_for({SIZE_MAX});
    it.expect_left_unused(30ms, 12ms);
}

TEST(lease_keeper, looks_at_all_leases_in_the_same_moments) {
    lender it;
    for (const auto begun : {0us, 100us, 1900us, 2100us, 3900us}) {
        const time_point start = it.io.time = time_point(24h) + begun;
        it.ask();
        it.grant();
        while (it.is_out())
            it.io.pass(1us);
        EXPECT_EQ(it.io.time.time_since_epoch() % 4ms, duration::zero());
        EXPECT_GE(it.io.time - start, 2ms);
        EXPECT_LE(it.io.time - start, 6ms);
        it.returns = 0;
    }
}

TEST(lease_keeper, takes_an_unused_lease_back_at_once) {
    lender it;
    it.ask();
    it.grant();
    EXPECT_NE(it.keeper.recall(), nullptr);
    it.expect_back(1);
    EXPECT_EQ(it.ends, 0) << "whoever called it back goes on";
    EXPECT_FALSE(it.use());
}

TEST(lease_keeper, ends_an_unused_lease_quietly) {
    lender it;
    it.ask();
    it.grant();
    it.socket_woken = 0;
    EXPECT_TRUE(it.keeper.recall_quietly());
    EXPECT_EQ(it.returns, 0);
    EXPECT_EQ(it.socket_woken, 0);
    EXPECT_FALSE(it.use());
}

// ---- in use ----

TEST(lease_keeper, leaves_a_borrower_alone_that_uses_it_at_each_look) {
    lender it;
    it.borrow();
    for (int i = 0; i < 10; ++i) {
        it.near->note_use();
        it.leave(true);
        EXPECT_EQ(it.loop_woken, 1) << "the loop looks after it";
        it.io.pass(4ms);
        it.expect_out(true);
        EXPECT_TRUE(it.use());
    }
    it.leave(true);
    it.io.pass(8ms);
    it.expect_back(1);
}

TEST(lease_keeper, leaves_a_borrower_alone_that_waits_and_looks_again_once_it_has_left) {
    lender it;
    it.borrow();
    it.io.pass(100ms);
    it.expect_out(true);
    EXPECT_EQ(it.io.pending(), 0u) << "a thread that sleeps is not looked at";
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_EQ(it.io.pending(), 1u) << "it may have left";
    it.io.pass(100ms);
    EXPECT_EQ(it.io.pending(), 0u);
    it.loop_woken = 0;
    it.leave(true);
    EXPECT_EQ(it.loop_woken, 1) << "nobody looks after it";
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_EQ(it.io.pending(), 1u);
    it.expect_out(true);
    it.io.pass(6ms);
    it.expect_back(1);
    EXPECT_EQ(it.ends, 1);
}

TEST(lease_keeper, calls_a_lease_in_use_back_and_has_it_when_the_borrower_leaves) {
    for (const bool keeps : {false, true})
        for (const bool time_passes : {false, true}) {
            lender it;
            it.borrow();
            it.socket_woken = it.loop_woken = 0;
            EXPECT_EQ(it.keeper.recall(), nullptr);
            EXPECT_TRUE(it.near->is_recalled());
            EXPECT_EQ(it.socket_woken, 1);
            EXPECT_EQ(it.keeper.recall(), nullptr) << "as long as it is used";
            EXPECT_FALSE(it.keeper.recall_quietly());
            if (time_passes)
                it.io.pass(20ms);
            it.expect_out(true);
            EXPECT_EQ(it.returns, 0);
            it.leave(keeps);
            EXPECT_EQ(it.loop_woken, 1);
            EXPECT_FALSE(it.use());
            if (keeps) {
                EXPECT_FALSE(it.keeper.tend());
            } else {
                EXPECT_NE(it.keeper.recall(), nullptr);
            }
            it.expect_back(1);
        }
}

TEST(lease_keeper, calls_a_lease_in_use_back_without_waking_anybody_at_the_end) {
    lender it;
    it.borrow();
    it.socket_woken = 0;
    EXPECT_FALSE(it.keeper.recall_quietly());
    EXPECT_EQ(it.socket_woken, 0);
    EXPECT_TRUE(it.near->is_recalled());
    it.leave(true);
    EXPECT_TRUE(it.keeper.recall_quietly());
    EXPECT_EQ(it.returns, 0);
}

// ---- ended by the borrower ----

TEST(lease_keeper, notices_that_the_borrower_has_given_it_back) {
    const struct {
        const char *how;
        std::function<void(lender &)> notices;
        int ends;
    } ways[] = {{"tend", [](lender &it) { EXPECT_FALSE(it.keeper.tend()); }, 0},
                {"recall", [](lender &it) { EXPECT_NE(it.keeper.recall(), nullptr); }, 0},
                {"timer", [](lender &it) { it.io.pass(6ms); }, 1}};
    for (const auto &way : ways) {
        SCOPED_TRACE(way.how);
        lender it;
        it.borrow();
        it.loop_woken = 0;
        it.leave(false);
        EXPECT_EQ(it.loop_woken, 1);
        it.expect_out(true);
        way.notices(it);
        it.expect_back(1);
        EXPECT_EQ(it.ends, way.ends);
    }
}

TEST(lease_keeper, takes_it_back_before_it_lends_it_again_to_one_that_asked_before_that_was_noticed) {
    lender it;
    it.borrow();
    it.leave(false);
    it.ask();
    EXPECT_TRUE(it.keeper.tend());
    it.expect_back(1);
    it.keeper.grant();
    it.expect_out(true);
    EXPECT_TRUE(it.use());
    it.leave(false);

    it.ask();
    it.io.pass(6ms);
    it.expect_back(1);
    EXPECT_FALSE(it.near->is_lease_over()) << "it is still wanted";
    EXPECT_TRUE(it.keeper.tend());
    it.keeper.refuse();

    it.borrow();
    it.leave(false);
    it.ask();
    EXPECT_NE(it.keeper.recall(), nullptr);
    it.expect_back(1);
    EXPECT_TRUE(it.keeper.tend());
}

TEST(lease_keeper, says_of_one_return_only_that_another_may_follow) {
    lender it;
    it.borrow();
    it.leave(false);
    // Whatever follows a return calls the lease back, as the end of a connection does.
    it.on_return = [&] { EXPECT_EQ(it.keeper.recall(), it.keeper.reading()); };
    EXPECT_FALSE(it.keeper.tend());
    it.expect_back(1);
}

// ---- failures, and the end ----

TEST(lease_keeper, says_with_each_return_whether_the_stream_can_be_used_on) {
    const std::function<void(lender &)> ways[] = {[](lender &it) {
                                                      it.leave(true);
                                                      (void)it.keeper.recall();
                                                  },
                                                  [](lender &it) {
                                                      it.leave(false);
                                                      (void)it.keeper.tend();
                                                  },
                                                  [](lender &it) {
                                                      it.leave(true);
                                                      it.io.pass(10ms);
                                                  }};
    for (const auto &way : ways)
        for (const error failure : {error::none, error::no_memory}) {
            lender it;
            it.borrow();
            it.state.take_back_failure = failure;
            way(it);
            EXPECT_EQ(it.last_failure, failure);
            it.expect_back(1);
        }
}

TEST(lease_keeper, keeps_what_was_read_by_the_borrower) {
    lender it;
    it.keeper.reading()->open(*it.far);
    it.borrow();
    it.state.input = message("a") + message("b").substr(0, 2);
    block_ref scratch;
    EXPECT_TRUE(it.held->read_now(scratch));
    it.take();
    it.leave(true);
    inbound *const in = it.keeper.recall();
    ASSERT_NE(in, nullptr);
    it.state.input += "b";
    (void)in->read(it.io.scratch, *it.peer);
    it.take();
    EXPECT_EQ(it.log, (std::vector<octets>{"=a", "=b"}));
}

TEST(lease_keeper, lets_go_of_a_lease_whose_socket_closes_its_end) {
    lender it;
    it.ask();
    it.grant();
    it.near->close();
    EXPECT_FALSE(it.keeper.tend());
    it.expect_back(1);
}

TEST(lease_keeper, has_the_loop_wait_for_a_full_stream_again_when_a_lease_ends) {
    lender it;
    it.borrow();
    it.state.room = 3;
    it.send({"abc"});
    EXPECT_EQ(it.out.write(it.io.now()), outbound::written::full);
    EXPECT_FALSE(it.state.is_room_awaited);
    it.leave(false);
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_EQ(it.out.write(it.io.now()), outbound::written::refused);
    EXPECT_TRUE(it.state.is_room_awaited);
}

TEST(lease_keeper, hands_a_full_stream_over_to_who_borrows_it) {
    lender it;
    it.state.room = 3;
    it.send({"abc"});
    EXPECT_EQ(it.out.write(it.io.now()), outbound::written::refused);
    EXPECT_TRUE(it.state.is_room_awaited);
    it.borrow();
    EXPECT_TRUE(it.out.is_full());
    it.state.room = SIZE_MAX;
    EXPECT_TRUE(it.near->write_now(connection_port::occasion::ready));
    EXPECT_EQ(it.state.output, message("abc"));
    it.leave(false);
    EXPECT_FALSE(it.keeper.tend());
    EXPECT_EQ(it.out.write(it.io.now()), outbound::written::all);
    EXPECT_FALSE(it.state.is_room_awaited);
}

}  // namespace
}  // namespace zlink
