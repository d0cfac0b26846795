// An acceptor whose listener, streams, loops and time are played by the test: whom it makes
// sessions of and where they live, what it tells of, and its end while peers are in the middle of
// their handshakes.
#include "session/acceptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <new>

#include "scripted_network.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::greeting;
using testing::message;
using testing::ready;

/// Holds what a listener shows of itself, also when it is gone.
struct listener_state {
    accept_handler handler;
    bool is_listening = true;
    int times_told_to_go_on = 0;
};

class played_listener final : public listener {
public:
    explicit played_listener(listener_state &state) : state_(state) {}
    ~played_listener() override { state_.is_listening = false; }
    void start(accept_handler handler) noexcept override { state_.handler = std::move(handler); }
    void go_on() noexcept override { ++state_.times_told_to_go_on; }
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return 3; }

private:
    listener_state &state_;
    const std::string endpoint_ = "tcp://there";
};

/// The loops that a test has put in, and what lives there.
struct played_supply final : loop_supply {
    loop *choose(std::uint64_t affinity) noexcept override {
        asked_for = affinity;
        const auto least = [&](loop *one, loop *other) { return load[one] < load[other]; };
        return *std::min_element(loops.begin(), loops.end(), least);
    }
    void add_load(loop &on) noexcept override { ++load[&on]; }
    void remove_load(loop &on) noexcept override { --load[&on]; }

    std::vector<loop *> loops;
    std::map<loop *, int> load;
    std::uint64_t asked_for = 0;
};

/// Owns as many sessions as there are pipes and ends of.
struct many_owner final : session_host, pipe_events {
    pipe_end_ptr make_session_pipe(session &which) noexcept override {
        pipe_options marks;
        marks.first_to_second_hwm = marks.second_to_first_hwm = 1000;
        const pipe_ends ends = make_pipe(pool, marks);
        ends.second->set_events(which.shared_from_this());
        near.push_back(ends.first);
        return refuses ? nullptr : ends.second;
    }
    void withdraw_pipe(const pipe_end &) noexcept override { ++withdrawn; }
    void on_session_end(session &which) noexcept override {
        ++ended;
        supply.remove_load(*which.environment()->io);
        std::erase_if(alive, [&](const auto &each) { return each.get() == &which; });
    }
    void on_readable(pipe_end &) noexcept override {}
    void on_writable(pipe_end &) noexcept override {}
    void on_closed(pipe_end &) noexcept override {}

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    played_supply supply;
    std::vector<std::shared_ptr<session>> alive;
    std::vector<pipe_end_ptr> near;
    bool refuses = false;  // the socket has closed
    int withdrawn = 0, ended = 0;
};

class accepting : public ::testing::Test {
protected:
    void SetUp() override {
        auto surroundings = environment_for(socket_type::pull, io, std::make_shared<session_owner>(), chance);
        surroundings->options.handshake_interval_ms = 3000;
        surroundings->options.affinity = 5;
        surroundings->events = heard;
        surroundings->host = owner;
        surroundings->pool = owner->pool;
        owner->supply.loops = {&io};
        it = std::make_shared<acceptor>(surroundings, std::make_unique<played_listener>(listening),
                                        owner->supply,
                                        [this](const std::shared_ptr<session> &made) { return take(made); });
    }
    void TearDown() override {
        for (const pipe_end_ptr &each : owner->near)
            each->close(0);
        for (const auto &each : owner->alive)
            each->stop();
        if (it)
            it->close();
        it.reset();
        io.run();
        elsewhere.run();
        third.run();
        owner->near.clear();  // pipes keep their sessions, and these keep the owner
        EXPECT_TRUE(owner->alive.empty());
        for (const auto &each : peers)
            EXPECT_FALSE(each->is_open) << "a stream is left";
        EXPECT_EQ(io.pending() + elsewhere.pending() + third.pending(), 0u);
        for (const auto &[where, load] : owner->supply.load)
            EXPECT_EQ(load, 0);
        EXPECT_FALSE(listening.is_listening);
    }
    bool take(const std::shared_ptr<session> &made) {
        if (throws)
            throw std::bad_alloc();
        EXPECT_FALSE(made->is_connecting());
        if (takes) {
            owner->alive.push_back(made);
            owner->supply.add_load(*made->environment()->io);
        }
        return takes;
    }
    /// The next message; the session says things of its own in between.
    static std::string read(pipe_end &from) {
        for (frame_view frame; from.read(frame);)
            if (!frame.is_command())
                return {reinterpret_cast<const char *>(frame.data), frame.size};
        return "nothing";
    }
    void start() {
        ASSERT_EQ(it->start({}), error::none);
        io.run();
        ASSERT_TRUE(listening.handler);
        EXPECT_EQ(heard->take(), events{"listening 3"});
    }
    std::shared_ptr<far_side> come(int descriptor = 7) {
        auto peer = std::make_shared<far_side>();
        peer->descriptor = descriptor;
        peers.push_back(peer);
        listening.handler(maker_of(peer), error::none);
        io.run();
        return peer;
    }
    static stream_maker maker_of(const std::shared_ptr<far_side> &peer) {
        // Open from the beginning, as a socket is, and closed with the last copy.
        return [bytes = std::make_shared<std::unique_ptr<stream>>(std::make_unique<played_stream>(peer))](
                   loop &, std::unique_ptr<stream> &out) {
            out = std::move(*bytes);
            return error::none;
        };
    }
    std::ptrdiff_t sessions_on(const loop &which) const {
        return std::count_if(owner->alive.begin(), owner->alive.end(),
                             [&](const auto &each) { return each->environment()->io == &which; });
    }

    virtual_loop io;
    virtual_loop elsewhere, third;  // once a test has put them in
    listener_state listening;
    no_chance chance;
    std::shared_ptr<many_owner> owner = std::make_shared<many_owner>();
    std::shared_ptr<event_log> heard = std::make_shared<event_log>();
    std::vector<std::shared_ptr<far_side>> peers;
    bool takes = true, throws = false;
    std::shared_ptr<acceptor> it;
};

TEST_F(accepting, begins_on_its_loop) {
    EXPECT_EQ(it->endpoint(), "tcp://there");
    ASSERT_EQ(it->start({}), error::none);
    EXPECT_FALSE(listening.handler) << "start() may be called on any thread";
    io.run();
    EXPECT_TRUE(listening.handler);
}

TEST_F(accepting, says_when_its_loop_takes_no_work) {
    io.refuses_functions = true;
    EXPECT_EQ(it->start({}), error::no_memory);
}

TEST_F(accepting, makes_a_session_of_each_peer_and_begins_it) {
    start();
    std::vector<std::shared_ptr<far_side>> three{come(7), come(8), come(9)};
    EXPECT_EQ(heard->take(), (events{"accepted 7", "accepted 8", "accepted 9"}));
    EXPECT_TRUE(owner->near.empty()) << "nobody has said anything yet";
    for (const auto &peer : three) {
        EXPECT_TRUE(peer->output.starts_with(testing::signature()));
        peer->receive(greeting() + ready("PUSH") + message("from " + std::to_string(peer->descriptor)));
    }
    io.run();
    ASSERT_EQ(owner->near.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(read(*owner->near[i]), "from " + std::to_string(7 + i));
    }
    EXPECT_EQ(heard->take(), events(3, "handshake_succeeded 0"));
}

TEST_F(accepting, leaves_a_peer_that_nobody_wants) {
    start();
    takes = false;
    const auto unwanted = come();
    EXPECT_FALSE(unwanted->is_open);
    EXPECT_EQ(unwanted->output, "") << "its session was begun";
    EXPECT_EQ(heard->take(), events{"accepted 7"});
    takes = true;
    EXPECT_TRUE(come()->is_open) << "the next one";
}

/// Why, and that a peer is not accepted.
events failure_of(error why) {
    const std::string number = std::to_string(to_errno(why));
    return {"reason " + number, "accept_failed " + number};
}

TEST_F(accepting, leaves_a_peer_that_there_is_no_memory_for_and_goes_on) {
    start();
    throws = true;
    EXPECT_FALSE(come()->is_open);
    events expected = failure_of(error::no_memory);
    expected.insert(expected.begin(), "accepted 7");
    EXPECT_EQ(heard->take(), expected);
    throws = false;
    EXPECT_TRUE(come()->is_open);
    EXPECT_EQ(heard->take(), events{"accepted 7"});
}

TEST_F(accepting, tells_of_each_failure_and_goes_on) {
    start();
    for (const error why :
         {error::too_many_files, error::no_memory, error::connection_refused /* a filter */}) {
        listening.handler(nullptr, why);
        EXPECT_EQ(heard->take(), failure_of(why));
    }
    EXPECT_TRUE(owner->alive.empty());
    EXPECT_TRUE(listening.is_listening);
    EXPECT_TRUE(come()->is_open);
}

TEST_F(accepting, leaves_peers_that_do_not_shake_hands_in_time) {
    start();
    const auto silent = come(7), slow = come(8), quick = come(9);
    slow->receive(greeting().substr(0, 12));
    quick->receive(greeting() + ready("PUSH"));
    io.pass(3s - 1ns);
    EXPECT_TRUE(silent->is_open && slow->is_open);
    (void)heard->take();
    io.pass(1ns);
    EXPECT_FALSE(silent->is_open || slow->is_open);
    EXPECT_TRUE(quick->is_open);
    const std::string late = "handshake_failed " + std::to_string(EAGAIN);
    const std::string why = "reason " + std::to_string(EAGAIN);
    EXPECT_EQ(heard->take(), (events{why, late, "disconnected 7", why, late, "disconnected 8"}));
    EXPECT_EQ(owner->ended, 2);
}

TEST_F(accepting, leaves_peers_whose_socket_has_closed_meanwhile) {
    start();
    const auto peer = come();
    owner->refuses = true;
    peer->receive(greeting() + ready("PUSH"));
    io.run();
    EXPECT_FALSE(peer->is_open);
    EXPECT_EQ(owner->ended, 1);
}

// ---- its end ----

TEST_F(accepting, frees_its_address_before_close_returns_and_tells_of_it_once) {
    start();
    it->close();
    EXPECT_FALSE(listening.is_listening);
    EXPECT_EQ(heard->take(), events{"closed 3"});
    it->close();
    EXPECT_EQ(heard->take(), events());
}

TEST_F(accepting, never_listens_when_it_was_closed_before_it_began) {
    it->close();
    ASSERT_FALSE(listening.is_listening);
    it.reset();
    io.run();
    EXPECT_FALSE(listening.handler);
}

TEST_F(accepting, ends_at_every_point_of_a_handshake_and_the_peer_is_served_all_the_same) {
    const std::string all = greeting() + ready("PUSH") + message("served");
    for (std::size_t said = 0; said <= all.size(); said += 7) {
        SCOPED_TRACE("after octet " + std::to_string(said));
        owner->near.clear();
        start();
        const auto peer = come();
        peer->receive(all.substr(0, said));
        io.run();
        it->close();
        it.reset();
        io.run();
        EXPECT_TRUE(peer->is_open) << "its address was unbound, not the peer";
        peer->receive(all.substr(said));
        io.run();
        ASSERT_EQ(owner->near.size(), 1u);
        EXPECT_EQ(read(*owner->near[0]), "served");
        owner->near[0]->close(0);
        io.run();
        EXPECT_FALSE(peer->is_open);
        (void)heard->take();
        SetUp();
    }
}

TEST_F(accepting, takes_nobody_whom_its_listener_brings_once_it_is_gone) {
    start();
    const accept_handler left = listening.handler;
    it->close();
    it.reset();
    auto peer = std::make_shared<far_side>();
    left(maker_of(peer), error::none);
    EXPECT_FALSE(peer->is_open);
    left(nullptr, error::no_memory);
    EXPECT_TRUE(owner->alive.empty());
    EXPECT_EQ(heard->take(), events{"closed 3"});
}

TEST_F(accepting, says_why_there_is_no_stream_and_goes_on) {
    start();
    for (const error why : {error::connection_refused /* a filter */, error::no_memory}) {
        listening.handler([why](loop &, std::unique_ptr<stream> &) { return why; }, error::none);
        EXPECT_EQ(heard->take(), failure_of(why));
    }
    listening.handler([](loop &, std::unique_ptr<stream> &) -> error { throw std::bad_alloc(); },
                      error::none);
    EXPECT_EQ(heard->take(), failure_of(error::no_memory));
    EXPECT_TRUE(come()->is_open);
    (void)heard->take();
}

// ---- several loops ----

TEST_F(accepting, puts_each_session_where_the_least_lives) {
    start();
    owner->supply.loops = {&io, &elsewhere};
    for (int i = 0; i < 3; ++i) {
        const auto peer = come();
        elsewhere.run();
        EXPECT_TRUE(peer->output.starts_with(testing::signature()));
        peer->receive(greeting() + ready("PUSH") + message("served"));
        io.run();
        elsewhere.run();
        ASSERT_EQ(owner->near.size(), static_cast<std::size_t>(i + 1));
        EXPECT_EQ(read(*owner->near.back()), "served");
    }
    EXPECT_EQ(owner->supply.asked_for, 5u) << "the affinity of the socket";
    EXPECT_EQ(sessions_on(io), 2);
    EXPECT_EQ(sessions_on(elsewhere), 1);
    for (const auto &each : owner->alive)
        EXPECT_EQ(each->environment()->endpoint, it->endpoint());
    (void)heard->take();
}

TEST_F(accepting, counts_those_that_are_on_their_way) {
    start();
    owner->supply.loops = {&io, &elsewhere};
    for (int i = 0; i < 10; ++i)
        come();
    EXPECT_EQ(sessions_on(io), 5);
    EXPECT_EQ(sessions_on(elsewhere), 0) << "it has not had its turn";
    elsewhere.run();
    EXPECT_EQ(sessions_on(elsewhere), 5);
    EXPECT_EQ(heard->take(), events(10, "accepted 7"));
}

TEST_F(accepting, lets_no_more_wait_for_another_loop_than_it_accepts_in_a_turn) {
    start();
    owner->supply.loops = {&elsewhere};
    for (int i = 0; i < 100; ++i)
        come();
    EXPECT_EQ(sessions_on(io), 36);
    elsewhere.run();
    EXPECT_EQ(sessions_on(elsewhere), 64);
    come();
    elsewhere.run();
    EXPECT_EQ(sessions_on(elsewhere), 65);
    (void)heard->take();
}

TEST_F(accepting, keeps_a_session_where_it_is_when_memory_is_short) {
    start();
    owner->supply.loops = {&elsewhere};
    elsewhere.refuses_functions = true;
    EXPECT_TRUE(come()->is_open);
    EXPECT_EQ(sessions_on(io), 1);
    EXPECT_TRUE(come()->is_open);
    elsewhere.run();
    EXPECT_EQ(sessions_on(elsewhere), 1);
    (void)heard->take();
}

TEST_F(accepting, is_closed_when_those_on_their_way_are_there) {
    start();
    owner->supply.loops = {&elsewhere};
    EXPECT_TRUE(come()->is_open);
    EXPECT_EQ(sessions_on(elsewhere), 0);
    it->close();
    EXPECT_EQ(sessions_on(elsewhere), 1) << "nobody would end it";
    EXPECT_EQ(heard->take(), (events{"accepted 7", "closed 3"}));
}

/// Holds what an I/O thread can do without.
struct idle_stream final : sheddable {
    void shed() noexcept override { is_shed = true; }
    bool is_shed = false;
};

TEST_F(accepting, asks_other_loops_for_a_descriptor_one_after_the_other) {
    idle_stream of_elsewhere[2], of_third;
    start();
    owner->supply.loops = {&elsewhere, &third};
    come();
    come();
    elsewhere.run();
    third.run();
    for (idle_stream &each : of_elsewhere)
        elsewhere.sheddables.add(each);
    third.sheddables.add(of_third);
    const auto fail = [&](error why) {
        listening.handler(nullptr, why);
        for (int i = 0; i < 3; ++i)
            io.run(), elsewhere.run(), third.run();
        io.run();
    };
    fail(error::no_memory);
    EXPECT_FALSE(of_elsewhere[0].is_shed) << "of no use";
    fail(error::too_many_files);
    EXPECT_TRUE(of_elsewhere[0].is_shed);
    EXPECT_FALSE(of_elsewhere[1].is_shed) << "one is enough";
    EXPECT_EQ(listening.times_told_to_go_on, 1);
    fail(from_errno(ENFILE));
    EXPECT_TRUE(of_elsewhere[1].is_shed);
    EXPECT_FALSE(of_third.is_shed);
    fail(error::too_many_files);
    EXPECT_TRUE(of_third.is_shed);
    EXPECT_EQ(listening.times_told_to_go_on, 3);
    fail(error::too_many_files);
    EXPECT_EQ(listening.times_told_to_go_on, 3) << "nobody has one";
    (void)heard->take();
}

TEST_F(accepting, ends_while_others_are_asked) {
    idle_stream idle;
    start();
    owner->supply.loops = {&elsewhere};
    come();
    elsewhere.run();
    elsewhere.sheddables.add(idle);
    listening.handler(nullptr, error::too_many_files);
    it->close();
    io.run();
    EXPECT_TRUE(idle.is_shed);
    EXPECT_EQ(listening.times_told_to_go_on, 0);
    (void)heard->take();
}

TEST_F(accepting, leaves_it_to_the_context_to_end_peers_that_shake_hands) {
    start();
    const auto peer = come();
    peer->receive(greeting());
    io.run();
    it->close();
    EXPECT_TRUE(peer->is_open);
    owner->alive[0]->stop();
    io.run();
    EXPECT_FALSE(peer->is_open);
    EXPECT_TRUE(owner->near.empty());
    EXPECT_EQ(owner->ended, 1);
}

}  // namespace
}  // namespace zlink
