// A session from its first attempt to connect to its end, in virtual time: dialing, dialing again,
// lingering, and everything that may come in between.
#include <gtest/gtest.h>

#include "pipe/in_band.hpp"
#include "scripted_network.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::greeting;
using testing::message;
using testing::ready;

constexpr std::chrono::hours for_ever{24};

class session_life : public ::testing::Test {
protected:
    void make(bool has_pipe = true) {
        auto surroundings = environment_for(socket_type::dealer, io, owner, chance);
        surroundings->options = options;
        surroundings->events = heard;
        if (has_pipe) {
            pipe_options marks;
            marks.first_to_second_hwm = marks.second_to_first_hwm = 1000;
            const pipe_ends ends = make_pipe(owner->pool, marks);
            owner->near = ends.first;
            it = session::connecting(surroundings, net, ends.second);
            ends.second->set_events(it);
            watch();
        } else {
            it = session::connecting(surroundings, net, nullptr);
        }
        ASSERT_EQ(it->start(), error::none);
    }
    void TearDown() override {
        if (owner->near)
            owner->near->close(0);
        if (it && !owner->has_ended)
            it->stop();
        io.run();
        if (it) {
            EXPECT_TRUE(owner->has_ended);
            EXPECT_FALSE(net.is_called()) << "the attempt goes on";
            EXPECT_EQ(io.pending(), 0u);
            if (far) {
                EXPECT_FALSE(far->is_open);
            }
            std::weak_ptr<session> weak = it;
            it.reset();
            owner->near.reset();
            EXPECT_TRUE(weak.expired()) << "somebody keeps it";
        }
    }

    void watch() {
        owner->near->set_events(owner);
        owner->near->set_pace(&pace_of_sender);
    }
    void queue(std::string_view body) {
        ASSERT_EQ(owner->near->write(0, as_bytes(body)), error::none);
        owner->near->publish();
    }
    void send(std::string_view body) {
        queue(body);
        io.run();
    }
    void close(int linger_ms) {
        owner->near->close(linger_ms);
        io.run();
    }
    void connect() {
        io.run();
        ASSERT_TRUE(net.is_called());
        far = net.answer();
        io.run();
    }
    void establish() {
        ASSERT_NO_FATAL_FAILURE(connect());
        far->receive(greeting() + ready("DEALER"));
        io.run();
        if (owner->near && !owner->near->is_closed())
            watch();
    }
    std::string traffic() const {
        const auto at = far->output.find("Identity");
        return at == std::string::npos ? far->output : far->output.substr(at + 8 + 4);
    }
    std::vector<std::string> read_all() {
        std::vector<std::string> bodies;
        for (frame_view frame; owner->near->read(frame);)
            if (!frame.is_command())
                bodies.emplace_back(reinterpret_cast<const char *>(frame.data), frame.size);
        return bodies;
    }

    virtual_loop io;
    played_transport net;
    no_chance chance;
    fixed_clock clock;
    lone_thread sender;
    pace pace_of_sender{clock, sender};
    settings options = testing::socket_of(socket_type::dealer);
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::shared_ptr<event_log> heard = std::make_shared<event_log>();
    std::shared_ptr<far_side> far;
    std::shared_ptr<session> it;
};

// ---- dialing ----

TEST_F(session_life, begins_on_its_loop_and_tells_what_becomes_of_it) {
    make();
    EXPECT_TRUE(net.attempts.empty()) << "start() may be called on any thread";
    io.run();
    ASSERT_TRUE(net.is_called());
    EXPECT_EQ(net.attempts[0]->address, "there");
    EXPECT_EQ(heard->take(), events());
    net.attempts[0]->pending();
    EXPECT_EQ(heard->take(), (events{"delayed " + std::to_string(EINPROGRESS)}));
    establish();
    EXPECT_EQ(heard->take(), (events{"connected 7", "handshake_succeeded 0"}));
    far->receive(message("hello"));
    EXPECT_EQ(read_all(), (std::vector<std::string>{"hello"}));
    far->end();
    io.run();
    EXPECT_EQ(heard->take(), (events{"disconnected 7", "retried 100"}));
}

TEST_F(session_life, tells_once_that_an_attempt_is_over_when_it_ends_with_it_and_nothing_between_two) {
    make();
    io.run();
    ASSERT_TRUE(net.is_called());
    net.attempts[0]->descriptor = 9;
    close(0);
    EXPECT_EQ(heard->take(), (events{"closed 9"}));

    make();
    io.run();
    net.refuse(error::host_unreachable, 9);
    EXPECT_EQ(heard->take(), (events{"closed 9", "retried 100"}));
    close(0);
    EXPECT_EQ(heard->take(), events());

    options.reconnect_stop = reconnect_stop_on::connection_refused;
    make();
    io.run();
    net.refuse(error::connection_refused, 9);
    io.run();
    EXPECT_EQ(heard->take(), (events{"closed 9"}));
}

TEST_F(session_life, dials_again_after_exactly_the_interval_that_doubles_up_to_its_maximum) {
    options.reconnect_interval_ms = 100;
    options.reconnect_interval_max_ms = 700;
    make();
    for (const int delay : {100, 200, 400, 700, 700}) {
        io.run();
        ASSERT_TRUE(net.is_called());
        net.refuse(error::host_unreachable, 9);
        EXPECT_EQ(heard->take(), (events{"closed 9", "retried " + std::to_string(delay)}));
        io.pass(std::chrono::milliseconds(delay) - 1ns);
        EXPECT_FALSE(net.is_called()) << "too early, after " << delay;
        io.pass(1ns);
        EXPECT_TRUE(net.is_called()) << "too late, after " << delay;
    }
    EXPECT_EQ(net.attempts.size(), 6u);
}

#ifdef ZLINK_WITH_CURVE
TEST_F(session_life, comes_ever_later_to_a_server_of_curve_that_refuses_it) {
    const greeting_octets greets = make_greeting("CURVE", true);
    options.mechanism = mechanism_kind::curve;
    options.curve_server_key = options.curve_public_key = std::string(32, '\7');
    options.curve_secret_key = std::string_view("01234567890123456789012345678901");
    options.reconnect_interval_ms = 100;
    make();
    for (const int delay : {100, 200, 400}) {
        ASSERT_NO_FATAL_FAILURE(connect());
        far->receive(std::string(as_text(byte_span(greets))));
        io.run();
        far->receive(testing::command_frame("ERROR", "\3"
                                                     "400"));
        io.run();
        EXPECT_EQ(heard->take().back(), "retried " + std::to_string(delay));
        io.pass(std::chrono::milliseconds(delay));
    }
    ASSERT_TRUE(net.is_called());
    net.refuse(error::host_unreachable, 9);
    EXPECT_EQ(heard->take().back(), "retried 100") << "another reason";
}
#endif

TEST_F(session_life, begins_with_the_first_interval_again_once_a_handshake_has_succeeded_and_not_before) {
    options.reconnect_interval_max_ms = 10'000;
    make();
    io.run();
    net.refuse();
    io.pass(100ms);
    connect();  // and no handshake
    far->end();
    io.run();
    EXPECT_EQ(heard->take().back(), "retried 200");
    io.pass(200ms);
    establish();
    far->end();
    io.run();
    EXPECT_EQ(heard->take().back(), "retried 100");
}

TEST_F(session_life, leaves_little_in_a_pipe_that_nobody_reads_while_its_peer_comes_and_goes) {
    make();
    for (int life = 0; life < 1000; ++life) {
        ASSERT_NO_FATAL_FAILURE(establish());
        far->end();
        io.run();
        io.pass(100ms);
    }
    int frames = 0;
    for (frame_view frame; owner->near->read(frame);)
        ++frames;
    EXPECT_LT(frames, 20);
}

TEST_F(session_life, says_that_its_peer_is_gone_once_the_reader_has_caught_up) {
    make();
    for (int life = 0; life < 12; ++life) {
        ASSERT_NO_FATAL_FAILURE(establish());
        far->end();
        io.run();
        io.pass(100ms);
    }
    int news = 0;
    for (frame_view frame; owner->near->read(frame); ++news)
        owner->near->note_news_taken();
    EXPECT_LT(news, 24);
    net.refuse();
    io.run();
    frame_view frame;
    ASSERT_TRUE(owner->near->read(frame));
    EXPECT_EQ(frame.body().front(), in_band::gone);
}

TEST_F(session_life, tries_again_where_not_even_a_dialer_could_be_made) {
    net.next_failure = error::no_memory;
    make();
    io.run();
    EXPECT_TRUE(net.attempts.empty());
    EXPECT_EQ(heard->take(), (events{"retried 100"}));
    io.pass(100ms);
    EXPECT_TRUE(net.is_called());
}

// So it is with TLS, once OpenSSL has been taken down: sockets that linger for ever would wait for
// it.
TEST_F(session_life, ends_where_no_dialer_can_be_made_any_more) {
    net.next_failure = error::terminated;
    make();
    send("for nobody");
    EXPECT_TRUE(owner->has_ended);
    EXPECT_TRUE(net.attempts.empty());
    EXPECT_EQ(heard->take(), events());
}

TEST_F(session_life, without_a_timer_ends_instead_of_staying_for_nothing) {
    io.makes_timers = false;
    make();
    io.run();
    net.refuse();
    io.run();
    EXPECT_TRUE(owner->has_ended);
    EXPECT_TRUE(owner->near->is_peer_closed());
}

TEST_F(session_life, without_an_interval_dials_once_and_ends_with_its_socket_whatever_the_linger) {
    options.reconnect_interval_ms = -1;
    make();
    send("never goes out");
    net.refuse();
    io.pass(for_ever);
    EXPECT_EQ(net.attempts.size(), 1u);
    EXPECT_FALSE(owner->has_ended) << "the socket may still write";
    close(-1);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_life, without_an_interval_ends_when_its_connection_does) {
    options.reconnect_interval_ms = -1;
    make();
    establish();
    far->end();
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_life, stops_where_it_is_refused_if_it_is_told_so) {
    options.reconnect_stop = reconnect_stop_on::connection_refused;
    make();
    io.run();
    net.refuse(error::host_unreachable);
    io.pass(100ms);
    ASSERT_TRUE(net.is_called()) << "that was no refusal";
    net.refuse(error::connection_refused);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_life, stops_after_a_failed_handshake_if_it_is_told_so) {
    options.reconnect_stop = reconnect_stop_on::handshake_failed;
    make();
    establish();
    far->end();
    io.pass(100ms);
    ASSERT_TRUE(net.is_called()) << "that handshake had not failed";
    connect();
    far->receive(greeting().substr(0, 20));
    EXPECT_FALSE(owner->has_ended);
    far->end();
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_life, does_not_come_again_once_it_was_disconnected_if_it_is_told_so) {
    for (const bool is_told : {true, false}) {
        owner->has_ended = false;
        options.reconnect_stop = is_told ? reconnect_stop_on::disconnect : 0;
        make();
        establish();
        send("delivered");
        EXPECT_TRUE(it->stop(session::why_stopped::disconnected));
        EXPECT_FALSE(it->stop(session::why_stopped::disconnected)) << "the second time";
        far->room = 0;
        send("not delivered");
        close(-1);
        EXPECT_FALSE(owner->has_ended) << "it lingers";
        far->end();
        io.pass(100ms);
        EXPECT_EQ(owner->has_ended, is_told);
        EXPECT_EQ(net.is_called(), !is_told);
        if (!is_told) {
            establish();
            EXPECT_NE(far->output.find("not delivered"), std::string::npos);
            EXPECT_TRUE(owner->has_ended);
        }
    }
}

// ---- what is queued meanwhile ----

TEST_F(session_life, keeps_what_is_sent_until_a_peer_comes_and_between_peers) {
    make();
    send("before");
    net.refuse();
    send("while it waits");
    io.pass(100ms);
    establish();
    EXPECT_NE(far->output.find(message("before") + message("while it waits")), std::string::npos);
    far->end();
    io.run();
    send("between");
    io.pass(100ms);
    establish();
    EXPECT_NE(far->output.find(message("between")), std::string::npos);
    EXPECT_EQ(far->output.find("before"), std::string::npos) << "sent twice";
}

TEST_F(session_life, tells_of_a_queue_that_is_full_for_too_long_and_again_once_it_was_half_empty) {
    options.slow_peer_after_ms = 100;
    make();
    establish();
    far->room = 0;
    const auto fill = [&] {
        while (owner->near->has_credit())
            queue("x");
        io.run();
    };
    fill();
    heard->take();
    io.pass(99ms);
    EXPECT_EQ(heard->take(), events());
    io.pass(51ms);
    EXPECT_EQ(heard->take(), events{"slow_peer 0"});
    io.pass(10s);
    EXPECT_EQ(heard->take(), events()) << "it is as it was";
    const auto take = [&](std::size_t messages) {
        far->make_room(messages * message("x").size());
        io.run();
        io.pass(50ms);
    };
    take(400);
    fill();
    io.pass(10s);
    EXPECT_EQ(heard->take(), events()) << "it was not well";
    take(600);
    fill();
    io.pass(200ms);
    EXPECT_EQ(heard->take(), events{"slow_peer 0"});
}

TEST_F(session_life, does_not_take_a_queue_that_is_emptied_between_two_looks_for_one_that_stays_full) {
    options.slow_peer_after_ms = 100;
    make();
    establish();
    heard->take();
    for (int spell = 0; spell < 20; ++spell) {
        far->room = 0;
        while (owner->near->has_credit())
            queue("x");
        io.run();
        io.pass(50ms);
        far->make_room(SIZE_MAX / 2);
        io.run();
    }
    EXPECT_EQ(heard->take(), events()) << "it was full each time that anybody looked";
}

TEST_F(session_life, looks_at_a_queue_once_a_second_until_somebody_listens) {
    options.slow_peer_after_ms = 10;
    heard->is_heard = false;
    make();
    establish();
    far->room = 0;
    while (owner->near->has_credit())
        queue("x");
    io.run();
    heard->take();
    heard->times_asked = 0;
    io.pass(10s);
    EXPECT_LE(heard->times_asked, 11);
    EXPECT_EQ(heard->take(), events());
    heard->is_heard = true;
    io.pass(1s);
    EXPECT_EQ(heard->take(), events{"slow_peer 0"});
}

TEST_F(session_life, without_anybody_who_asks_for_it_looks_at_no_queue) {
    make();
    establish();
    EXPECT_EQ(io.pending(), 0u);
}

TEST_F(session_life, probes_each_peer_but_the_first_which_the_socket_has_probed) {
    options.probe_router = true;
    make();
    send("of the socket");
    establish();
    EXPECT_EQ(traffic(), message("of the socket"));
    for (int i = 0; i < 2; ++i) {
        far->end();
        io.run();
        send("more");
        io.pass(100ms);
        establish();
        EXPECT_EQ(traffic(), message("") + message("more"));
    }
}

TEST_F(session_life, leaves_it_to_an_immediate_socket_to_probe_its_peers) {
    options.probe_router = options.immediate = true;
    make(false);
    for (int i = 0; i < 3; ++i) {
        establish();
        EXPECT_EQ(traffic(), "") << "each has a pipe that is new to the socket";
        far->end();
        io.run();
        io.pass(100ms);
    }
}

TEST_F(session_life, of_an_immediate_socket_makes_a_pipe_for_each_peer) {
    options.immediate = true;
    make(false);
    io.run();
    EXPECT_FALSE(owner->near);
    establish();
    ASSERT_TRUE(owner->near);
    const pipe_end_ptr first = owner->near;
    far->end();
    io.run();
    EXPECT_TRUE(first->is_peer_closed());
    io.pass(100ms);
    establish();
    EXPECT_NE(owner->near, first);
    // A socket that refuses this peer wants another one.
    close(0);
    EXPECT_FALSE(owner->has_ended);
    EXPECT_FALSE(far->is_open);
    io.pass(100ms);
    EXPECT_TRUE(net.is_called());
    it->stop();
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

// ---- its end, in each of its states ----

enum class state { unborn, dialing, waiting, shaking_hands, established, full, broken };
constexpr const char *state_names[] = {"unborn",      "dialing", "waiting", "shaking_hands",
                                       "established", "full",    "broken"};

class session_that_ends : public session_life, public ::testing::WithParamInterface<state> {
protected:
    void reach(state which) {
        make();
        if (which == state::unborn)
            return;
        io.run();
        if (which == state::waiting)
            net.refuse();
        if (which == state::shaking_hands) {
            connect();
            far->receive(greeting());
        }
        if (which >= state::established)
            establish();
        if (which == state::full)
            far->room = 0;
        if (which == state::broken)
            far->end();
        io.run();
    }
    bool has_peer() const { return GetParam() == state::established || GetParam() == state::full; }
};

TEST_P(session_that_ends, without_linger_at_once) {
    reach(GetParam());
    queue("lost");
    close(0);
    EXPECT_TRUE(owner->has_ended);
    EXPECT_EQ(io.pending(), 0u);
    io.pass(for_ever);
    EXPECT_FALSE(net.is_called());
}

TEST_P(session_that_ends, at_once_where_there_is_nothing_to_send) {
    reach(GetParam());
    close(-1);
    EXPECT_TRUE(owner->has_ended);
}

TEST_P(session_that_ends, with_its_linger_where_nobody_takes_what_was_sent) {
    reach(GetParam());
    queue("lingers");
    close(250);
    if (GetParam() == state::established) {
        EXPECT_NE(far->output.find("lingers"), std::string::npos);
        EXPECT_TRUE(owner->has_ended) << "it was sent";
        return;
    }
    io.pass(250ms - 1ns);
    EXPECT_FALSE(owner->has_ended) << "too early";
    io.pass(1ns);
    EXPECT_TRUE(owner->has_ended) << "too late";
}

TEST_P(session_that_ends, with_endless_linger_once_somebody_has_taken_what_was_sent) {
    reach(GetParam());
    queue("delivered at last");
    close(-1);
    if (!has_peer()) {
        if (GetParam() == state::shaking_hands) {
            io.pass(1s);
            EXPECT_FALSE(owner->has_ended);
            far->receive(ready("DEALER"));
            io.run();
        } else {
            for (int i = 0; i < 20; ++i) {
                io.pass(100ms);
                EXPECT_FALSE(owner->has_ended);
                if (net.is_called())
                    net.refuse();
            }
            io.pass(100ms);
            establish();
        }
    }
    if (GetParam() == state::full) {
        io.pass(for_ever);
        EXPECT_FALSE(owner->has_ended);
        far->make_room(10'000);
        io.run();
    }
    EXPECT_NE(far->output.find(message("delivered at last")), std::string::npos);
    EXPECT_TRUE(owner->has_ended);
}

TEST_P(session_that_ends, with_its_socket_before_it_has_begun_to_linger) {
    // The context ends: sessions are stopped, and sockets close their ends.
    reach(GetParam());
    EXPECT_TRUE(it->stop());
    EXPECT_TRUE(it->is_stopping());
    io.run();
    EXPECT_FALSE(owner->has_ended) << "it hears of the end through its pipe";
    close(0);
    EXPECT_TRUE(owner->has_ended);
}

TEST_P(session_that_ends, without_a_pipe_when_it_is_stopped) {
    if (has_peer())
        return;
    options.immediate = true;
    make(false);
    if (GetParam() != state::unborn)
        io.run();
    if (GetParam() == state::waiting)
        net.refuse();
    if (GetParam() == state::shaking_hands)
        connect();
    if (GetParam() == state::broken) {
        connect();
        far->end();
    }
    it->stop();
    io.run();
    EXPECT_TRUE(owner->has_ended);
    EXPECT_FALSE(owner->near) << "a pipe came of it";
}

INSTANTIATE_TEST_SUITE_P(when, session_that_ends,
                         ::testing::Values(state::unborn, state::dialing, state::waiting,
                                           state::shaking_hands, state::established, state::full,
                                           state::broken),
                         [](const auto &which) { return state_names[static_cast<int>(which.param)]; });

// ---- parting ----

class session_that_parts : public session_life {
protected:
    /// Everything is written, and not with the peer yet.
    void part(std::size_t left) {
        make();
        establish();
        far->finishes = true;
        far->unconfirmed = left;
        send("the last");
        close(-1);
        EXPECT_TRUE(far->has_finished);
        ASSERT_FALSE(owner->has_ended);
    }
};

TEST_F(session_that_parts, waits_until_its_peer_has_everything) {
    part(1000);
    io.pass(100ms);
    EXPECT_TRUE(far->is_open);
    far->unconfirmed = 0;
    io.pass(17ms);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_that_parts, goes_on_waiting_as_long_as_its_peer_reads_and_then_half_a_second) {
    part(1000);
    for (int i = 0; i < 20; ++i) {
        io.pass(400ms);
        EXPECT_FALSE(owner->has_ended);
        --far->unconfirmed;
    }
    io.pass(16ms);
    io.pass(499ms);
    EXPECT_FALSE(owner->has_ended);
    io.pass(33ms);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_that_parts, ends_when_its_peer_closes) {
    part(1000);
    far->end();
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_that_parts, does_not_wait_where_nothing_can_be_lost) {
    make();
    establish();
    far->finishes = true;
    send("the last");
    close(-1);
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_that_parts, throws_away_what_comes_meanwhile) {
    part(1000);
    far->receive(message("too late"));
    io.run();
    EXPECT_TRUE(far->input.empty());
    EXPECT_FALSE(owner->has_ended);
    far->unconfirmed = 0;
    io.pass(1s);
    EXPECT_TRUE(owner->has_ended);
}

// ---- a break at every octet ----

TEST_F(session_life, comes_again_wherever_its_connection_broke_and_delivers_whole_messages_only) {
    const std::string handshake = greeting() + ready("DEALER");
    const std::string all =
        handshake + message("one") + testing::part("two") + message("three") + message("4");
    options.reconnect_interval_ms = 100;
    make();
    io.run();
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
        SCOPED_TRACE("after octet " + std::to_string(cut));
        (void)heard->take();
        ASSERT_TRUE(net.is_called());
        far = net.answer();
        // In two pieces, so that something is kept between them.
        far->receive(all.substr(0, cut / 2));
        io.run();
        far->receive(all.substr(cut / 2, cut - cut / 2));
        io.run();
        far->end();
        io.run();
        std::vector<std::string> whole;
        const auto has = [&](std::size_t octets) { return cut >= handshake.size() + octets; };
        if (has(5))
            whole.push_back("one");
        if (has(5 + 5 + 7)) {
            whole.push_back("two");
            whole.push_back("three");
        }
        if (has(5 + 5 + 7 + 3))
            whole.push_back("4");
        EXPECT_EQ(read_all(), whole);
        EXPECT_FALSE(far->is_open);
        const events log = heard->take();
        EXPECT_EQ(std::count(log.begin(), log.end(), "disconnected 7"), 1);
        EXPECT_EQ(std::count(log.begin(), log.end(), "handshake_succeeded 0"), cut >= handshake.size());
        EXPECT_TRUE(log.back().starts_with("retried ")) << log.back();
        io.pass(100ms);
    }
}

TEST_F(session_life, sends_the_message_that_was_cut_by_no_connection_twice_and_the_next_one_whole) {
    make();
    establish();
    const std::size_t before = far->output.size();
    const std::string body(300, 'b');
    const std::size_t whole = message(body).size();
    far->end();
    io.run();
    for (std::size_t cut = 0; cut <= whole; ++cut) {
        SCOPED_TRACE("after octet " + std::to_string(cut));
        io.pass(100ms);
        establish();
        far->room = cut;
        send(body);
        send("next");
        far->end();
        io.run();
        io.pass(100ms);
        establish();
        // Whatever the connection had begun to write is dropped whole.
        const std::string now = far->output.substr(before);
        EXPECT_EQ(now, (cut == 0 ? message(body) : std::string()) + message("next"));
        far->end();
        io.run();
        (void)read_all();
    }
}

}  // namespace
}  // namespace zlink
