// The wait for a peer behind last words, in virtual time: with what it ends, and what it leaves to
// others.
#include "session/parting.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "scripted_network.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace test;

class partings : public ::testing::Test, private parting_events {
protected:
    void begin() { it = parting::begin(io, std::make_unique<played_stream>(far), *this); }
    void expect_going() {
        EXPECT_FALSE(it->is_over());
        EXPECT_EQ(ended, 0);
        EXPECT_TRUE(far->waits_readable);
    }
    void expect_over() {
        EXPECT_TRUE(it->is_over());
        EXPECT_EQ(ended, 1);
        EXPECT_EQ(io.pending(), 0u);
        it.reset();
        EXPECT_FALSE(far->is_open);
    }

    virtual_loop io;
    std::shared_ptr<far_side> far = std::make_shared<far_side>();
    std::unique_ptr<parting> it;
    int ended = 0;
    struct : parting_events {
        void on_parted() noexcept override {}
    } ignored;

private:
    void on_parted() noexcept override { ++ended; }
};

TEST_F(partings, end_with_the_stream) {
    begin();
    expect_going();
    far->receive(std::string(100'000, 'x'));
    EXPECT_TRUE(far->input.empty()) << "it is thrown away";
    expect_going();
    far->end();
    expect_over();
}

TEST_F(partings, do_not_begin_where_the_stream_has_ended) {
    far->has_ended = true;
    begin();
    EXPECT_FALSE(it);
    EXPECT_EQ(ended, 0);
    EXPECT_FALSE(far->is_open);
}

TEST_F(partings, end_after_half_a_second_whatever_comes) {
    for (const bool is_silent : {true, false}) {
        far = std::make_shared<far_side>();
        ended = 0;
        begin();
        for (int i = 0; i < 99; ++i) {
            if (!is_silent)
                far->receive("more");
            io.pass(5ms);
        }
        expect_going();
        io.pass(5ms - 1ns);
        expect_going();
        io.pass(1ns);
        expect_over();
    }
}

TEST_F(partings, are_shed_the_oldest_first_where_descriptors_run_out) {
    const auto second = std::make_shared<far_side>();
    begin();
    const std::unique_ptr<parting> later =
        parting::begin(io, std::make_unique<played_stream>(second), ignored);
    EXPECT_FALSE(io.sheddables.makes_way_after(EAGAIN));
    EXPECT_TRUE(far->is_open);
    EXPECT_TRUE(io.sheddables.makes_way_after(EMFILE));
    EXPECT_FALSE(far->is_open) << "its descriptor is of use at once";
    EXPECT_TRUE(second->is_open);
    EXPECT_TRUE(it->is_over());
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(io.sheddables.makes_way_after(ENFILE));
    EXPECT_FALSE(second->is_open);
    EXPECT_FALSE(io.sheddables.makes_way_after(EMFILE));
    io.pass(1s);
    EXPECT_EQ(ended, 1);
}

TEST_F(partings, that_are_over_or_gone_are_not_shed) {
    begin();
    far->end();
    EXPECT_FALSE(io.sheddables.makes_way_after(EMFILE));
    far = std::make_shared<far_side>();
    begin();
    it.reset();
    EXPECT_FALSE(io.sheddables.makes_way_after(EMFILE));
    far = std::make_shared<far_side>();
    begin();
    it->end_by(io.now());
    EXPECT_FALSE(io.sheddables.makes_way_after(EMFILE));
}

TEST_F(partings, end_behind_so_many_octets) {
    begin();
    const std::string piece(1 << 20, 'x');
    for (std::size_t octets = piece.size(); octets < parting::most_octets; octets += piece.size()) {
        far->receive(piece);
        while (!far->input.empty() && far->waits_readable)
            far->tell_readable();
        ASSERT_TRUE(far->input.empty());
        expect_going();
    }
    far->receive(piece);
    while (far->waits_readable)
        far->tell_readable();
    EXPECT_TRUE(far->input.empty());
    expect_over();
}

TEST_F(partings, leave_the_loop_to_others_while_much_is_there) {
    far->input = std::string(4 << 20, 'x');
    begin();
    std::size_t before = far->input.size();
    EXPECT_GT(before, 0u);
    for (; !far->input.empty(); before = far->input.size()) {
        ASSERT_TRUE(far->waits_readable);
        far->tell_readable();
        ASSERT_LE(before - far->input.size(), 256u << 10);
    }
    expect_going();
}

TEST_F(partings, end_sooner_where_they_are_told_so_and_never_later) {
    begin();
    it->end_by(io.now() + 1s);
    it->end_by(io.now() + 100ms);
    it->end_by(io.now() + 200ms);
    io.pass(100ms - 1ns);
    expect_going();
    io.pass(1ns);
    expect_over();
}

TEST_F(partings, end_without_an_event_where_that_is_now) {
    begin();
    it->end_by(io.now());
    EXPECT_TRUE(it->is_over());
    far->receive("late");
    io.pass(1s);
    EXPECT_EQ(ended, 0);
    it.reset();
    EXPECT_FALSE(far->is_open);
}

TEST_F(partings, do_not_begin_without_a_timer) {
    io.makes_timers = false;
    begin();
    EXPECT_FALSE(it);
    EXPECT_FALSE(far->is_open);
}

}  // namespace
}  // namespace zlink
