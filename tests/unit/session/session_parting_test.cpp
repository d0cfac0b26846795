// A session whose connection has ended with last words, in virtual time: the stream stays until the
// peer has them, and nothing else waits.
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
using testing::greeting;
using testing::masked_zws;
using testing::message;
using testing::ready;
using testing::ready_body;
using testing::web_frame;
using testing::web_request;

class session_parting : public ::testing::Test {
protected:
    std::shared_ptr<session_environment> surroundings() {
        auto made = environment_for(socket_type::dealer, io, owner, chance);
        made->events = heard;
        return made;
    }
    /// Whose peer speaks WebSocket.
    void accept() {
        auto with = surroundings();
        with->place = a_place;
        far = std::make_shared<far_side>();
        far->descriptor = 7;
        far->finishes = true;
        it = session::accepted(with, std::make_unique<played_stream>(far));
        ASSERT_EQ(it->start(), error::none);
        io.run();
    }
    void establish() {
        accept();
        receive(web_request() + masked_zws(2, ready_body("DEALER")));
        ASSERT_TRUE(owner->near);
        heard->take();
        far->output.clear();
    }
    void connect() {
        pipe_options marks;
        marks.first_to_second_hwm = marks.second_to_first_hwm = 1000;
        const pipe_ends ends = make_pipe(owner->pool, marks);
        owner->near = ends.first;
        it = session::connecting(surroundings(), net, ends.second);
        ends.second->set_events(it);
        ASSERT_EQ(it->start(), error::none);
        io.run();
    }
    void answer() {
        ASSERT_TRUE(net.is_called());
        far = net.answer();
        far->finishes = true;
        io.run();
    }
    void receive(const std::string &what) {
        far->receive(what);
        io.run();
    }
    void expect_waiting() {
        EXPECT_FALSE(owner->has_ended);
        EXPECT_TRUE(far->has_finished);
        EXPECT_TRUE(far->is_open);
    }
    void expect_end() {
        io.run();
        EXPECT_TRUE(owner->has_ended);
        EXPECT_FALSE(far->is_open);
        EXPECT_EQ(io.pending(), 0u);
    }
    void TearDown() override {
        if (owner->near)
            owner->near->close(0);
        if (it && !owner->has_ended)
            it->stop_within(0);
        expect_end();
        std::weak_ptr<session> weak = it;
        it.reset();
        owner->near.reset();
        EXPECT_TRUE(weak.expired()) << "somebody keeps it";
    }

    virtual_loop io;
    played_transport net;
    no_chance chance;
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::shared_ptr<event_log> heard = std::make_shared<event_log>();
    std::shared_ptr<far_side> far;
    std::shared_ptr<session> it;
};

// ---- accepted ----

TEST_F(session_parting, of_a_refused_upgrade_reads_on_until_the_peer_ends) {
    accept();
    receive(web_request("ZWS2.0", "/elsewhere") + std::string(1000, 'x'));
    EXPECT_TRUE(far->output.starts_with("HTTP/1.1 404 "));
    EXPECT_EQ(heard->take().back(), "disconnected 7");
    expect_waiting();
    receive(std::string(100'000, 'x'));
    EXPECT_TRUE(far->input.empty());
    expect_waiting();
    far->end();
    expect_end();
    EXPECT_EQ(heard->take(), events());
}

TEST_F(session_parting, of_a_fault_in_traffic_tells_the_application_at_once) {
    establish();
    receive(web_frame(0x81, "text", a_mask) + std::string(1000, 'x'));
    EXPECT_EQ(far->output, web_frame(0x88, close_payload(1003)));
    EXPECT_EQ(heard->take().back(), "disconnected 7");
    EXPECT_TRUE(owner->near->is_peer_closed());
    expect_waiting();
    io.pass(499ms);
    expect_waiting();
    io.pass(1ms);
    expect_end();
}

TEST_F(session_parting, of_an_answered_close_waits_for_the_end_of_the_stream) {
    establish();
    receive(web_frame(0x88, close_payload(1000), a_mask));
    EXPECT_EQ(far->output, web_frame(0x88, close_payload(1000)));
    expect_waiting();
    far->end();
    expect_end();
}

TEST_F(session_parting, is_nothing_to_wait_for_where_nothing_was_said) {
    connect();
    answer();
    receive(greeting() + ready("DEALER"));
    far->output.clear();
    receive("\x08\1x");
    EXPECT_EQ(far->output, "");
    EXPECT_FALSE(far->has_finished);
    EXPECT_FALSE(far->is_open);
}

TEST_F(session_parting, is_given_up_where_its_stream_cannot_be_half_closed) {
    establish();
    far->finishes = false;
    receive(web_frame(0x81, "text", a_mask));
    expect_end();
}

TEST_F(session_parting, ends_at_once_where_the_socket_does_not_linger) {
    establish();
    receive(web_frame(0x81, "text", a_mask));
    expect_waiting();
    it->stop_within(0);
    expect_end();
}

TEST_F(session_parting, lasts_no_longer_than_the_socket_lingers) {
    establish();
    receive(web_frame(0x81, "text", a_mask));
    it->stop_within(100);
    io.pass(99ms);
    expect_waiting();
    io.pass(1ms);
    expect_end();
}

TEST_F(session_parting, goes_on_where_the_socket_lingers_for_ever) {
    establish();
    receive(web_frame(0x81, "text", a_mask));
    it->stop_within(-1);
    io.pass(499ms);
    expect_waiting();
    io.pass(1ms);
    expect_end();
}

// ---- connecting ----

TEST_F(session_parting, does_not_keep_it_from_dialing_again_and_is_over_when_the_next_begins) {
    connect();
    answer();
    const auto first = far;
    receive(greeting("PLAIN"));
    EXPECT_EQ(heard->take().back(), "retried 100");
    expect_waiting();
    io.pass(100ms);
    answer();
    EXPECT_TRUE(first->is_open);
    receive(greeting("PLAIN"));
    expect_waiting();
    EXPECT_FALSE(first->is_open) << "one of a session";
    io.pass(200ms);
    answer();
    receive(greeting() + ready("DEALER") + message("hello"));
    frame_view frame;
    ASSERT_TRUE(owner->near->read(frame));
    io.pass(1s);
    EXPECT_FALSE(owner->has_ended);
    EXPECT_TRUE(far->is_open) << "it is another one's time that is over";
}

TEST_F(session_parting, of_one_that_dials_no_more_is_out_of_the_way_of_who_connects_there_anew) {
    connect();
    answer();
    receive(greeting() + ready("PUSH"));
    EXPECT_NE(far->output.find("\5ERROR"), std::string::npos);
    EXPECT_TRUE(owner->near->is_peer_closed());
    expect_waiting();
    EXPECT_TRUE(it->is_stopping());
    EXPECT_FALSE(it->stop(session::why_stopped::disconnected));
    io.run();
    expect_waiting();
    far->end();
    expect_end();
}

}  // namespace
}  // namespace zlink
