// The end of a session while the thread of the socket is inside its connection: the loop's thread
// goes on with other things, and comes back when that thread has left.
//
// Method:   one thread plays both. What the loop has to do meanwhile is done from inside the
//           stream, in the middle of a call of the socket's; a loop that waited for that call would
//           never come back.
#include "session/session.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stepped_session.hpp"

namespace zlink {
namespace {

using testing::greeting;
using testing::message;
using testing::ready;
using namespace test;

class session_test : public ::testing::Test {
protected:
    void SetUp() override {
        auto environment = environment_for(socket_type::pair, io, owner, chance);
        it = session::accepted(environment, std::make_unique<scripted_stream>(state));
        ASSERT_EQ(it->start(), error::none);
        io.run();
        state.receive(greeting());
        state.receive(ready("PAIR"));
        io.run();
        ASSERT_TRUE(owner->near);
        owner->near->set_events(owner);
        owner->near->set_pace(&pace_of_sender);
    }
    void TearDown() override {
        io.run();
        EXPECT_TRUE(owner->has_ended);
        EXPECT_FALSE(state.is_open);
        owner->near.reset();  // the pipe keeps its owner
    }

    void send(std::string_view body) {
        ASSERT_EQ(owner->near->write(0, {reinterpret_cast<const std::uint8_t *>(body.data()), body.size()}),
                  error::none);
        owner->near->publish();
    }
    /// The connection is lent, and in use.
    void borrow() {
        ASSERT_TRUE(owner->near->ask_for_lease());
        io.run();
        held = owner->near->begin_use();
        ASSERT_TRUE(held);
    }
    void lose_peer() {
        state.is_reset = true;
        state.events->on_stream_readable();
        io.run();
    }

    virtual_loop io;
    stream_state state;
    no_chance chance;
    fixed_clock clock;
    lone_thread sender;
    pace pace_of_sender{clock, sender};
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::shared_ptr<session> it;
    reading held;
};

TEST_F(session_test, ends_when_its_peer_is_gone_and_nobody_writes) {
    lose_peer();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_sender_that_is_writing_when_the_peer_goes) {
    bool was_in_write = false;
    state.in_write = [&] {
        was_in_write = true;
        lose_peer();
        EXPECT_FALSE(owner->has_ended);
        EXPECT_TRUE(state.is_open);
    };
    send("one");
    EXPECT_TRUE(was_in_write);
    const std::size_t before = state.output.size();
    send("two");
    EXPECT_EQ(state.output.size(), before) << "the turn was left to the end of the connection";
    io.run();
    EXPECT_TRUE(owner->has_ended);
    EXPECT_TRUE(owner->near->is_peer_closed());
}

TEST_F(session_test, leaves_the_end_to_a_sender_that_is_writing_when_its_socket_closes_without_linger) {
    state.in_write = [&] {
        owner->near->close(0);
        io.run();
        EXPECT_FALSE(owner->has_ended);
        io.run();
    };
    send("one");
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_borrower) {
    borrow();
    owner->near->close(0);
    io.run();
    EXPECT_FALSE(owner->has_ended);
    EXPECT_TRUE(state.is_open);
    held.end(true);
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_borrower_and_then_to_a_sender) {
    borrow();
    state.in_write = [&] {
        owner->near->close(0);
        io.run();
        held.end(true);
        io.run();
        EXPECT_FALSE(owner->has_ended);
        EXPECT_TRUE(state.is_open);
    };
    send("one");
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

/// Connects while the n-th allocation fails. Whether it came to that.
bool connect_with_short_heap(unsigned n, bool from_there_on, const settings &options) {
    virtual_loop io;
    stream_state first;
    no_chance chance;
    stepped_transport net;
    const auto owner = std::make_shared<session_owner>();
    const auto environment = environment_for(options.type, io, owner, chance);
    environment->options = options;
    const auto it = session::connecting(environment, net, nullptr);
    bool has_struck = false;
    {
        EXPECT_EQ(it->start(), error::none);
        io.run();
        const short_heap heap(n, from_there_on);
        const auto run = [&] { short_heap::counted([&] { io.run(); }); };
        short_heap::counted([&] { net.answer(first); });
        run();
        if (first.is_open && first.events)
            first.input = options.is_raw() ? "octets" : greeting() + ready("DEALER");
        if (first.is_open && first.events)
            short_heap::counted([&] { first.let_read(); });
        run();
        has_struck = short_heap::has_struck();
    }
    EXPECT_FALSE(owner->has_ended) << "allocation " << n << from_there_on;
    io.pass(std::chrono::milliseconds(100));
    EXPECT_TRUE(net.is_called() || owner->near) << "allocation " << n << from_there_on;
    if (owner->near)
        owner->near->close(0);
    it->stop();
    io.run();
    EXPECT_TRUE(owner->has_ended);
    owner->near.reset();
    return has_struck;
}

void connect_with_each_short_heap(socket_type type) {
    settings options = testing::socket_of(type);
    options.immediate = true;
    for (const bool from_there_on : {false, true})
        for (unsigned n = 1; connect_with_short_heap(n, from_there_on, options); ++n)
            ASSERT_LT(n, 200u);
}

TEST(session_with_short_memory, connects_again_where_each_connection_has_a_pipe_of_its_own) {
    connect_with_each_short_heap(socket_type::dealer);
}
TEST(session_with_short_memory, connects_again_where_peers_do_not_speak_zmtp) {
    connect_with_each_short_heap(socket_type::stream);
}

}  // namespace
}  // namespace zlink
