// Which spin is due, told the facts, and how long each may last.
#include "pipe/flow/spins.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "lone_thread.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

/// Holds what a thread that is about to sleep knows. To begin with nothing is due.
struct facts_of {
    std::size_t leases_ = 0;
    std::size_t pipes_ = 1;
    bool wants_input_ = true;
    bool wants_room_ = false;
    bool is_alone_ = true;
    bool is_inproc_ = false;
    bool is_there_ = false;
    bool has_commands_ = false;
    bool may_spin_ = true;
    bool had_short_wait_ = false;
    bool expects_large_ = false;
    bool was_woken_for_little_ = false;
    mutable int looks = 0;

    std::size_t leases() const { return leases_; }
    std::size_t pipes() const { return pipes_; }
    bool wants_input() const { return wants_input_; }
    bool wants_room() const { return wants_room_; }
    bool is_alone() const { return is_alone_; }
    bool is_inproc() const { return is_inproc_; }
    bool is_there() const {
        ++looks;
        return is_there_;
    }
    bool has_commands() const { return has_commands_; }
    bool may_spin() const { return may_spin_; }
    bool had_short_wait() const { return had_short_wait_; }
    bool expects_large() const { return expects_large_; }
    bool was_woken_for_little() const { return was_woken_for_little_; }
};

using change = void (*)(facts_of &);

struct spin_case {
    const char *what;
    spin due;
    change facts;                 // under which the spin is due
    std::vector<change> without;  // each of these takes it away
};

const change asks_for_nothing = [](facts_of &f) { f.wants_input_ = f.wants_room_ = false; };
const change has_no_processor = [](facts_of &f) { f.may_spin_ = false; };
const change has_two_pipes = [](facts_of &f) { f.pipes_ = 2; };
const change has_two_leases = [](facts_of &f) { f.leases_ = f.pipes_ = 2; };
const change waits_for_others = [](facts_of &f) { f.is_alone_ = false; };
const change is_there = [](facts_of &f) { f.is_there_ = true; };

const spin_case spin_cases[] = {
    {"input from a peer in the process",
     spin::peer,
     [](facts_of &f) { f.is_inproc_ = true; },
     {asks_for_nothing, has_no_processor, has_two_pipes, waits_for_others, is_there,
      [](facts_of &f) { f.is_inproc_ = false; }, [](facts_of &f) { f.has_commands_ = true; }}},
    {"room from a peer in the process",
     spin::peer,
     [](facts_of &f) {
         f.is_inproc_ = f.wants_room_ = true;
         f.wants_input_ = false;
     },
     {asks_for_nothing, has_no_processor, has_two_pipes, waits_for_others, is_there,
      [](facts_of &f) { f.is_inproc_ = false; }, [](facts_of &f) { f.has_commands_ = true; }}},
    {"room in the stream of the one connection",
     spin::room,
     [](facts_of &f) {
         f.leases_ = 1;
         f.wants_room_ = true;
         f.wants_input_ = false;
     },
     {asks_for_nothing, has_no_processor, has_two_pipes, has_two_leases, is_there}},
    {"the rest of a large frame",
     spin::rest,
     [](facts_of &f) {
         f.leases_ = 1;
         f.expects_large_ = true;
     },
     {asks_for_nothing, has_no_processor, has_two_leases, [](facts_of &f) { f.expects_large_ = false; }}},
    {"an answer that mostly comes soon",
     spin::answer,
     [](facts_of &f) {
         f.leases_ = 1;
         f.was_woken_for_little_ = true;
     },
     {asks_for_nothing, has_no_processor, has_two_pipes, has_two_leases, waits_for_others,
      [](facts_of &f) { f.was_woken_for_little_ = false; }}},
};

TEST(due_spin, is_the_one_whose_conditions_hold) {
    EXPECT_EQ(due_spin(facts_of{}), spin::none);
    for (const spin_case &each : spin_cases) {
        facts_of facts;
        each.facts(facts);
        EXPECT_EQ(due_spin(facts), each.due) << each.what;
    }
}

TEST(due_spin, is_none_as_soon_as_one_condition_does_not_hold) {
    for (const spin_case &each : spin_cases) {
        for (std::size_t i = 0; i < each.without.size(); ++i) {
            facts_of facts;
            each.facts(facts);
            each.without[i](facts);
            EXPECT_EQ(due_spin(facts), spin::none) << each.what << ", " << i;
        }
    }
}

TEST(due_spin, waits_for_the_rest_of_a_large_frame_whatever_else_is_waited_for) {
    facts_of facts;
    facts.leases_ = 1;
    facts.pipes_ = 3;
    facts.is_alone_ = false;
    facts.expects_large_ = facts.was_woken_for_little_ = true;
    EXPECT_EQ(due_spin(facts), spin::rest);
}

TEST(due_spin, does_not_look_at_a_pipe_while_commands_wait) {
    facts_of facts;
    facts.is_inproc_ = facts.has_commands_ = true;
    EXPECT_EQ(due_spin(facts), spin::none);
    EXPECT_EQ(facts.looks, 0);
}

TEST(reads_first, after_a_short_wait_for_input_of_one_lease) {
    facts_of facts;
    facts.leases_ = 1;
    EXPECT_FALSE(reads_first(facts));
    facts.had_short_wait_ = true;
    EXPECT_TRUE(reads_first(facts));
    facts.may_spin_ = false;  // one read costs no more than the question whether there is something
    EXPECT_TRUE(reads_first(facts));
    for (const change without : {asks_for_nothing, has_two_leases}) {
        facts_of less = facts;
        without(less);
        EXPECT_FALSE(reads_first(less));
    }
}

TEST(spin_limits, stand_in_the_order_of_the_names) {
    for (std::size_t i = 0; i < std::size(spin_limits); ++i)
        EXPECT_EQ(spin_limits[i].which, static_cast<spin>(i));
}

TEST(spin_limits, are_as_documented) {
    EXPECT_EQ(limit_of(spin::first_read).looks, 1u);
    EXPECT_EQ(limit_of(spin::answer).looks, 12u);
    EXPECT_EQ(limit_of(spin::rest).looks, 100u);
    EXPECT_EQ(limit_of(spin::room).looks, 200u);
    EXPECT_EQ(limit_of(spin::peer).looks, 1000u);
    EXPECT_EQ(longest_look_for_body_end, std::chrono::microseconds(100));
    EXPECT_EQ(longest_lag_sleep, std::chrono::milliseconds(1));
    std::vector<unsigned> pauses;
    for (unsigned look = 1; look <= limit_of(spin::answer).looks; ++look)
        pauses.push_back(pauses_before_look(look));
    EXPECT_EQ(pauses, (std::vector<unsigned>{128, 128, 128, 256, 256, 256, 512, 512, 512, 1024, 1024, 1024}));
}

TEST(a_look_for_an_answer, ends_by_the_time_or_where_that_stands_still_by_the_looks) {
    using namespace std::chrono_literals;
    EXPECT_TRUE(looks_for_answer(1, 0us));
    EXPECT_TRUE(looks_for_answer(12, 29us));
    EXPECT_FALSE(looks_for_answer(2, 30us));
    EXPECT_FALSE(looks_for_answer(13, 0us));
}

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr backlog_kind small{64, false, false};
constexpr backlog_kind small_inproc{64, false, true};
constexpr backlog_kind large{256 << 10, true, false};
constexpr backlog_kind huge{16 << 20, true, true};

TEST(backlog, has_a_limit_for_each_kind) {
    EXPECT_EQ(most_octets_ahead(small), 4 * mebibyte);
    EXPECT_EQ(most_octets_ahead(small_inproc), 16 * mebibyte);
    EXPECT_EQ(most_octets_ahead(large), mebibyte + 1024);
    EXPECT_EQ(most_octets_ahead(huge), mebibyte + 1024);
}

TEST(backlog, is_made_smaller_step_by_step) {
    EXPECT_EQ(near_enough(4 * mebibyte + 5, small), 4 * mebibyte);
    EXPECT_EQ(near_enough(9 * mebibyte, small), 8 * mebibyte);
    EXPECT_EQ(near_enough(9 * mebibyte, large), 9 * mebibyte - 2 * large.size);
    EXPECT_EQ(near_enough(9 * mebibyte, huge), mebibyte + 1024);
}

TEST(backlog, is_looked_at_as_long_as_the_octets_take_to_be_moved) {
    EXPECT_EQ(looks_for_lag(small), mebibyte / 32);
    EXPECT_EQ(looks_for_lag(large), large.size / 32);
    EXPECT_EQ(looks_for_lag(huge), mebibyte / 32);
}

/// The test passes the time.
struct passed_clock final : clock_source {
    time_point now() const noexcept override { return at; }
    time_point at{std::chrono::hours(1)};
};

class spins_test : public ::testing::Test {
protected:
    test::lone_thread thread{true};
    passed_clock clock;
    spins self{clock, thread};
};

TEST_F(spins_test, have_a_patience_each) {
    EXPECT_FALSE(self.look_for(spin::rest, [] { return false; }));
    EXPECT_TRUE(self.take_skip(spin::rest));
    for (const spin other : {spin::first_read, spin::answer, spin::room, spin::peer, spin::lag})
        EXPECT_FALSE(self.take_skip(other));
}

TEST_F(spins_test, have_one_patience_for_what_a_lone_peer_does) {
    self.note(spin::answer, false);
    EXPECT_TRUE(self.take_skip(spin::peer));
    self.note(spin::peer, false);
    EXPECT_TRUE(self.take_skip(spin::answer));
}

TEST_F(spins_test, look_as_often_as_the_limit_says) {
    for (const spin which : {spin::rest, spin::room, spin::peer}) {
        spins self{clock, thread};
        std::size_t looks = 0;
        EXPECT_FALSE(self.look_for(which, [&] { return ++looks, false; }));
        EXPECT_EQ(looks, limit_of(which).looks);
    }
}

TEST_F(spins_test, are_all_left_out_for_a_good_while_after_a_dear_one_though_it_found_something) {
    int looks = 0;
    const auto look = [&] { return ++looks, true; };
    EXPECT_TRUE(self.look_for(spin::room, [&] {
        clock.at += ++looks == 60 ? 5ms : 1us;  // strangers had the processor
        return looks == 60;
    }));
    looks = 0;
    spins other{clock, thread};
    for (const spin which : {spin::rest, spin::room, spin::peer}) {
        EXPECT_FALSE(self.look_for(which, look));
        EXPECT_FALSE(other.look_for(which, look)) << "of another socket";
    }
    EXPECT_EQ(looks, 0);
    test::lone_thread another{true};
    EXPECT_TRUE(spins(clock, another).look_for(spin::peer, look));
    clock.at += 5ms * spin_rest::times_as_long;
    for (const spin which : {spin::rest, spin::room, spin::peer})
        EXPECT_TRUE(self.look_for(which, look));
}

}  // namespace
}  // namespace zlink
