// Tests how a session ends whose peer speaks WebSocket, in virtual time: Close frames, and how long
// is waited for whom.
#include <gtest/gtest.h>

#include "connection_parts.hpp"
#include "scripted_network.hpp"
#include "web_script.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::a_mask;
using testing::a_place;
using testing::close_payload;
using testing::masked_zws;
using testing::octets;
using testing::ready_body;
using testing::web_frame;
using testing::web_request;
using testing::zws;

const octets close_of_server = web_frame(0x88, close_payload(1000));
const octets close_of_client = web_frame(0x88, close_payload(1000), a_mask);

class session_web : public ::testing::Test {
protected:
    void SetUp() override {
        auto surroundings = environment_for(socket_type::dealer, io, owner, chance);
        surroundings->place = a_place;
        it = session::accepted(surroundings, std::make_unique<played_stream>(far));
        ASSERT_EQ(it->start(), error::none);
        io.run();
        far->receive(web_request() + masked_zws(2, ready_body("DEALER")));
        io.run();
        ASSERT_TRUE(owner->near);
        far->output.clear();
        far->finishes = true;
    }
    void TearDown() override {
        EXPECT_TRUE(owner->has_ended);
        EXPECT_FALSE(far->is_open);
        EXPECT_EQ(io.pending(), 0u);
        owner->near->close(0);
        owner->near.reset();
        io.run();
    }
    void send(const octets &body) {
        ASSERT_EQ(owner->near->write(0, as_bytes(body)), error::none);
        owner->near->publish();
        io.run();
    }
    void close() {
        owner->near->close(-1);
        io.run();
    }
    void receive(const octets &what) {
        far->receive(what);
        io.run();
    }
    void make_room(std::size_t size) {
        far->make_room(size);
        io.run();
    }
    void end_of_peer() {
        EXPECT_TRUE(far->has_finished);
        far->end();
        io.run();
        EXPECT_TRUE(owner->has_ended);
    }
    void answers_close_behind_a_frame(bool is_closed_here) {
        far->room = 5'000;
        send(body_of(20'000));
        send("behind");
        if (is_closed_here)
            close();
        receive(close_of_client);
        ASSERT_FALSE(owner->has_ended);
        make_room(5'000);
        io.pass(499ms);
        make_room(5'000);
        io.pass(499ms);
        ASSERT_FALSE(owner->has_ended);
        make_room(100'000);
        EXPECT_TRUE(far->output == zws(0, body_of(20'000)) + close_of_server) << far->output.size();
        end_of_peer();
    }

    virtual_loop io;
    no_chance chance;
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::shared_ptr<far_side> far = std::make_shared<far_side>();
    std::shared_ptr<session> it;
};

// ---- this side says Close first ----

TEST_F(session_web, that_has_said_close_ends_with_the_answer) {
    close();
    EXPECT_EQ(far->output, close_of_server);
    EXPECT_TRUE(far->has_finished);
    ASSERT_FALSE(owner->has_ended);
    receive(close_of_client);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_web, that_has_said_close_waits_half_a_second_for_the_answer_whatever_else_comes) {
    close();
    for (int i = 0; i < 99; ++i) {
        receive(masked_zws(0, "no answer") + web_frame(0x89, "nor this", a_mask));
        io.pass(5ms);
    }
    EXPECT_FALSE(owner->has_ended);
    io.pass(5ms + 16ms);
    EXPECT_TRUE(owner->has_ended);
    EXPECT_EQ(far->output, close_of_server);
}

// ---- the peer does ----

TEST_F(session_web, answers_close_behind_the_frame_under_way_and_ends) {
    answers_close_behind_a_frame(false);
    owner->near->close(0);
}

TEST_F(session_web, answers_close_behind_the_frame_under_way_where_this_side_has_closed_too) {
    answers_close_behind_a_frame(true);
}

TEST_F(session_web, gives_a_peer_up_that_says_close_and_does_not_read) {
    far->room = 5'000;
    far->unconfirmed = 5'000;
    send(body_of(20'000));
    receive(close_of_client);
    io.pass(499ms);
    ASSERT_FALSE(owner->has_ended);
    far->unconfirmed = 4'000;  // it has read something, if not enough to make room
    io.pass(500ms);
    ASSERT_FALSE(owner->has_ended);
    io.pass(1ms);
    EXPECT_TRUE(owner->has_ended);
    EXPECT_EQ(far->output.size(), 5'000u);
}

TEST_F(session_web, ends_at_once_when_the_peer_that_said_close_is_gone) {
    far->room = 5'000;
    send(body_of(20'000));
    receive(close_of_client);
    far->has_ended = true;
    make_room(1);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_web, does_not_wait_with_its_answer_where_its_socket_does_not_linger) {
    far->room = 5'000;
    send(body_of(20'000));
    receive(close_of_client);
    owner->near->close(0);
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_web, tells_a_fault_behind_the_frame_under_way) {
    far->room = 5'000;
    send(body_of(20'000));
    receive(web_frame(0x81, "text", a_mask));
    make_room(100'000);
    EXPECT_TRUE(far->output == zws(0, body_of(20'000)) + web_frame(0x88, close_payload(1003)));
    end_of_peer();
}

}  // namespace
}  // namespace zlink
