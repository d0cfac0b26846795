// The attempts of a session, one at a time, and the waits between them.
#include "session/dialing.hpp"

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using test::virtual_loop;

/// Makes dialers that are for one attempt, or for more.
class counted_transport final : public transport {
public:
    const char *scheme() const noexcept override { return "counted"; }
    error check_connect(const std::string &, const settings &) const noexcept override { return error::none; }
    error make_dialer(const std::string &, const settings &, const batching &, loop &,
                      std::unique_ptr<dialer> &out) const noexcept override {
        if (failed(failure))
            return failure;
        ++made;
        out = std::make_unique<counted_dialer>(*this);
        return error::none;
    }
    error make_listener(const std::string &, const settings &, const tuning &, loop &,
                        std::unique_ptr<listener> &) const noexcept override {
        return error::invalid;
    }

    error failure = error::none;
    bool keeps = false;
    mutable int made = 0;
    mutable int alive = 0;

private:
    struct counted_dialer final : dialer {
        explicit counted_dialer(const counted_transport &from) : maker(from) { ++maker.alive; }
        ~counted_dialer() override { --maker.alive; }
        void dial(dial_handler) noexcept override {}
        bool is_for_more_attempts() const noexcept override { return maker.keeps; }
        int descriptor() const noexcept override { return 7; }
        const counted_transport &maker;
    };
};

class dialing_of_one : public ::testing::Test {
protected:
    error begin() { return it.begin("there", options, sizes, io); }

    virtual_loop io;
    const settings options;
    const batching sizes;
    counted_transport kind;
    dialing it{options};
};

TEST_F(dialing_of_one, is_not_used_until_it_is_told_by_what) {
    EXPECT_FALSE(it.is_used());
    it.use(kind);
    EXPECT_TRUE(it.is_used());
    EXPECT_FALSE(it.is_going_on());
    EXPECT_EQ(it.descriptor(), -1);
}

TEST_F(dialing_of_one, makes_a_dialer_for_each_attempt) {
    it.use(kind);
    for (int i = 1; i <= 2; ++i) {
        ASSERT_EQ(begin(), error::none);
        EXPECT_EQ(kind.made, i);
        EXPECT_TRUE(it.is_trying());
        EXPECT_TRUE(it.is_going_on());
        EXPECT_EQ(it.descriptor(), 7);
        it.end_attempt();
        EXPECT_FALSE(it.is_trying());
        EXPECT_EQ(it.descriptor(), -1);
        EXPECT_EQ(kind.alive, 0);
    }
}

TEST_F(dialing_of_one, keeps_a_dialer_that_is_for_more_attempts_until_one_is_broken_off) {
    kind.keeps = true;
    it.use(kind);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(begin(), error::none);
        it.end_attempt();
        EXPECT_EQ(kind.made, 1);
        EXPECT_EQ(kind.alive, 1);
        EXPECT_FALSE(it.is_trying()) << "it waits for the next attempt";
        EXPECT_EQ(it.descriptor(), -1);
    }
    it.end_attempt();
    EXPECT_EQ(kind.alive, 1) << "there was none to end";
    ASSERT_EQ(begin(), error::none);
    it.break_off();
    EXPECT_FALSE(it.is_trying());
    EXPECT_EQ(kind.alive, 0);
}

TEST_F(dialing_of_one, tries_nothing_when_there_is_no_dialer) {
    it.use(kind);
    kind.failure = error::no_memory;
    EXPECT_EQ(begin(), error::no_memory);
    EXPECT_FALSE(it.is_going_on());
    it.end_attempt();
    EXPECT_EQ(it.descriptor(), -1);
}

TEST_F(dialing_of_one, goes_on_while_it_waits_and_ends_with_its_waits) {
    it.use(kind);
    int times = 0;
    ASSERT_TRUE(it.make_timer(io, [&] { ++times; }));
    EXPECT_FALSE(it.is_going_on());
    it.wait_until(io.now() + 10ms);
    EXPECT_TRUE(it.is_going_on());
    io.pass(10ms);
    EXPECT_EQ(times, 1);
    EXPECT_FALSE(it.is_going_on());
    it.wait_until(io.now() + 10ms);
    ASSERT_EQ(begin(), error::none);
    it.end();
    EXPECT_FALSE(it.is_going_on());
    EXPECT_EQ(kind.alive, 0);
    io.pass(10ms);
    EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace zlink
