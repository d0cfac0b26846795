// PUB and XPUB against fake peers.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "pattern_bench.hpp"

namespace zlink::test {

namespace {

void subscribe(pattern_bench &bench, fake_peer &peer, std::string_view topic) {
    write_command(*peer.far, in_band::subscribe, topic);
    bench.deliver();
}
void cancel(pattern_bench &bench, fake_peer &peer, std::string_view topic) {
    write_command(*peer.far, in_band::cancel, topic);
    bench.deliver();
}
std::ptrdiff_t unwanted(const pattern_bench &bench) {
    return std::ranges::count(bench.drops, counter::dropped_unwanted);
}
/// All notices and messages that the application can read.
std::vector<frames> news(pattern_bench &bench) {
    std::vector<frames> all;
    while (auto m = bench.receive())
        all.push_back(*m);
    return all;
}

}  // namespace

TEST(pub, sends_to_those_who_subscribe_to_a_prefix) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach(), b = bench.attach(), c = bench.attach();
    subscribe(bench, a, "news.");
    subscribe(bench, b, "");
    EXPECT_EQ(bench.send({"news.sport", "1"}), error::none);
    EXPECT_EQ(bench.send({"weather", "2"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"news.sport", "1"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"news.sport", "1"}, {"weather", "2"}}));
    EXPECT_TRUE(read_messages(*c.far).empty());
    EXPECT_EQ(bench.subject->topics_count(), 2);
}

TEST(pub, sends_a_message_once_for_several_topics) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach();
    subscribe(bench, a, "a");
    subscribe(bench, a, "ab");
    subscribe(bench, a, "ab");
    EXPECT_EQ(bench.send({"abc"}), error::none);
    EXPECT_EQ(read_messages(*a.far).size(), 1u);
    cancel(bench, a, "ab");
    cancel(bench, a, "a");
    cancel(bench, a, "never subscribed");
    EXPECT_EQ(bench.send({"abc"}), error::none);
    EXPECT_TRUE(read_messages(*a.far).empty());
}

TEST(pub, takes_subscriptions_in_the_form_of_messages) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach();
    write_message(*a.far, {on + "t"});
    write_message(*a.far, {"a message of the user's"});
    bench.deliver();
    EXPECT_EQ(bench.send({"t1"}), error::none);
    write_message(*a.far, {off + "t"});
    bench.deliver();
    EXPECT_EQ(bench.send({"t2"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"t1"}}));
    EXPECT_FALSE(bench.subject->has_input());
    bench.receive();
    EXPECT_EQ(bench.last_error, error::not_supported);
}

TEST(pub, reads_what_was_written_before_it_was_attached) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach_prepared([](fake_peer &p) { write_command(*p.far, in_band::subscribe, "t"); });
    EXPECT_EQ(bench.send({"t1"}), error::none);
    EXPECT_EQ(read_messages(*a.far).size(), 1u);
}

TEST(pub, drops_for_a_full_peer_and_never_waits) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach(2), b = bench.attach();
    subscribe(bench, a, "");
    subscribe(bench, b, "");
    for (const char *m : {"1", "2", "3", "4"})
        EXPECT_EQ(bench.send({m}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}, {"2"}}));
    EXPECT_EQ(read_messages(*b.far).size(), 4u);
}

TEST(pub, forgets_a_peer_that_goes_in_the_middle_of_a_message) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, a, "");
    subscribe(bench, b, "");
    EXPECT_EQ(bench.send_frame("1", true), error::none);
    bench.close_far(a);
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(bench.send_frame("2"), error::none);
    EXPECT_EQ(bench.send({"3"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1", "2"}, {"3"}}));
}

TEST(pub, inverts_matching_when_asked_to) {
    pattern_bench bench(socket_type::pub);
    bench.options.invert_matching = true;
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, a, "x");
    EXPECT_EQ(bench.send({"x"}), error::none);
    EXPECT_EQ(bench.send({"y"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"y"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"x"}, {"y"}}));
}

TEST(pub, takes_no_subscriptions_of_its_own) {
    pattern_bench bench(socket_type::pub);
    EXPECT_EQ(bench.subject->subscribe(as_bytes("a")), error::invalid);
}

TEST(xpub, tells_of_the_first_subscription_and_the_end_of_the_last) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_FALSE(bench.subject->has_input());
    subscribe(bench, a, "t");
    subscribe(bench, b, "t");
    subscribe(bench, a, "t");
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(news(bench), (std::vector<frames>{{on + "t"}}));
    cancel(bench, a, "t");
    EXPECT_TRUE(news(bench).empty());
    cancel(bench, b, "t");
    cancel(bench, b, "t");
    EXPECT_EQ(news(bench), (std::vector<frames>{{off + "t"}}));
    EXPECT_EQ(bench.last_error, error::again);
}

TEST(xpub, shows_a_subscription_and_its_end_that_were_both_unread) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach();
    subscribe(bench, a, "t");
    cancel(bench, a, "t");
    subscribe(bench, a, "t");
    EXPECT_EQ(news(bench), (std::vector<frames>{{on + "t"}, {off + "t"}, {on + "t"}}));
}

TEST(xpub, takes_back_the_subscriptions_of_a_peer_that_goes) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, a, "own");
    subscribe(bench, a, "shared");
    subscribe(bench, b, "shared");
    news(bench);
    bench.close_far(a);
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(news(bench), (std::vector<frames>{{off + "own"}}));
    bench.subject->detach(*b.near);
    EXPECT_EQ(news(bench), (std::vector<frames>{{off + "shared"}}));
}

TEST(xpub, is_left_with_nothing_by_peers_that_come_and_go_unseen) {
    const std::vector<std::vector<bool settings::*>> modes = {
        {}, {&settings::xpub_verbose}, {&settings::xpub_verboser}, {&settings::xpub_manual}};
    for (const auto &mode : modes) {
        pattern_bench bench(socket_type::xpub);
        for (bool settings::*const option : mode)
            bench.options.*option = true;
        std::vector<fake_peer> all;
        for (int i = 0; i < 100; ++i) {
            fake_peer a = all.emplace_back(bench.attach()), b = all.emplace_back(bench.attach());
            subscribe(bench, a, "t");
            subscribe(bench, b, "t");
            subscribe(bench, a, "u");
            bench.close_far(a);
            bench.close_far(b);
        }
        EXPECT_TRUE(news(bench).empty());
    }
}

TEST(xpub, tells_of_the_end_when_the_beginning_was_read) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_verboser = true;
    fake_peer a = bench.attach();
    subscribe(bench, a, "t");
    EXPECT_EQ(news(bench).size(), 1u);
    subscribe(bench, a, "t");  // unread repetition
    bench.close_far(a);
    EXPECT_EQ(news(bench), (std::vector<frames>{{off + "t"}}));
}

TEST(xpub, tells_of_no_end_without_its_beginning_when_a_peer_comes_back_to_a_topic_and_goes) {
    for (const bool each_end : {false, true}) {
        pattern_bench bench(socket_type::xpub);
        (each_end ? bench.options.xpub_verboser : bench.options.xpub_verbose) = true;
        fake_peer a = bench.attach();
        subscribe(bench, a, "t");
        cancel(bench, a, "t");
        subscribe(bench, a, "t");
        bench.close_far(a);
        EXPECT_EQ(news(bench), (std::vector<frames>{{on + "t"}, {off + "t"}}));
    }
}

TEST(xpub, tells_of_the_end_when_the_last_beginning_is_another_peers) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_verbose = true;
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, a, "t");
    cancel(bench, a, "t");
    subscribe(bench, b, "t");
    subscribe(bench, a, "t");
    cancel(bench, b, "t");  // not the last
    bench.close_far(a);
    EXPECT_EQ(news(bench).back(), frames{off + "t"});
}

TEST(xpub, bounds_what_a_peer_that_never_makes_up_its_mind_leaves_unread) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach();
    for (int i = 0; i < 5000; ++i) {
        write_command(*a.far, in_band::subscribe, "t");
        write_command(*a.far, in_band::cancel, "t");
    }
    bench.deliver();
    const std::vector<frames> all = news(bench);
    EXPECT_LE(all.size(), 1002u);
    EXPECT_EQ(all.back(), frames{off + "t"});
}

TEST(xpub, bounds_what_a_verbose_one_is_told_of_one_topic) {
    for (bool settings::*const told :
         {&settings::xpub_verbose, &settings::xpub_verboser, &settings::xpub_manual}) {
        pattern_bench bench(socket_type::xpub);
        bench.options.*told = true;
        fake_peer a = bench.attach(), b = bench.attach();
        for (int i = 0; i < 3000; ++i)
            write_command(*a.far, in_band::subscribe, "t");
        for (int i = 0; i < 3000; ++i) {
            write_command(*a.far, in_band::cancel, "t");
            write_command(*a.far, in_band::subscribe, "t");
        }
        for (int i = 0; i < 3000; ++i)
            write_command(*a.far, in_band::cancel, "never begun " + std::to_string(i));
        while (a.near->has_input())
            bench.deliver(), bench.go_on();
        subscribe(bench, b, "t");
        const std::vector<frames> all = news(bench);
        EXPECT_LE(all.size(), 1010u);
        EXPECT_EQ(all.back(), frames{on + "t"});
        if (!bench.options.xpub_manual) {
            EXPECT_EQ(bench.send({"t"}), error::none);
            EXPECT_EQ(read_messages(*a.far).size(), 1u);
            EXPECT_EQ(read_messages(*b.far).size(), 1u);
        }
    }
}

namespace {

/// An XPUB whose application reads now and then, and peers that change their minds.
struct fickle_world {
    static constexpr int peers = 4, topics = 6;

    explicit fickle_world(bool settings::*mode) {
        if (mode)
            bench.options.*mode = true;
        for (int i = 0; i < peers; ++i)
            there.push_back(bench.attach());
    }
    /// More than is kept whatever it says.
    void fill() {
        for (int i = 0; i < 1100; ++i)
            subscribe(bench, steady, "filler " + std::to_string(++fillers));
    }
    int one_of(unsigned count) { return static_cast<int>(chance() % count); }
    std::string some_topic() { return "topic " + std::to_string(one_of(topics)); }
    void step() {
        const auto who = static_cast<std::size_t>(one_of(peers));
        const std::string topic = some_topic();
        if (one_of(20) == 0) {
            bench.close_far(there[who]);
            gone.push_back(std::exchange(there[who], bench.attach()));
            wanted[who].clear();
        } else if (one_of(2)) {
            subscribe(bench, there[who], topic);
            wanted[who].insert(topic);
        } else {
            cancel(bench, there[who], topic);
            wanted[who].erase(topic);
        }
    }
    void read(int count) {
        for (; count > 0; --count) {
            const auto message = bench.receive();
            if (!message)
                return;
            const std::string topic = message->front().substr(1);
            told[topic] = message->front()[0] == 1;
            if (bench.options.xpub_manual)
                (void)(told[topic] ? bench.subject->subscribe(as_bytes(topic))
                                   : bench.subject->unsubscribe(as_bytes(topic)));
        }
    }
    bool is_wanted(const std::string &topic) const {
        return std::any_of(wanted.begin(), wanted.end(),
                           [&](const auto &those) { return those.count(topic); });
    }

    void expect_is_known(const std::string &topic) {
        SCOPED_TRACE(topic);
        if (!bench.options.xpub_verboser && !bench.options.xpub_manual) {  // else told of each peer
            EXPECT_EQ(told[topic], is_wanted(topic));
        }
        EXPECT_EQ(bench.send({topic}), error::none);
        for (std::size_t who = 0; who < there.size(); ++who)
            EXPECT_EQ(read_messages(*there[who].far).size(), wanted[who].count(topic)) << who;
    }

    pattern_bench bench{socket_type::xpub};
    std::mt19937 chance{7};
    fake_peer steady = bench.attach();
    int fillers = 0;
    std::vector<fake_peer> there, gone;
    std::vector<std::set<std::string>> wanted{peers};
    std::map<std::string, bool> told;
};

}  // namespace

TEST(xpub, tells_in_the_end_what_is_subscribed_to_however_much_of_it_was_unread) {
    for (bool settings::*const mode : {static_cast<bool settings::*>(nullptr), &settings::xpub_verbose,
                                       &settings::xpub_verboser, &settings::xpub_manual}) {
        fickle_world world(mode);
        for (int episode = 0; episode < 100; ++episode) {
            for (const int to_read : {world.one_of(1200), INT_MAX}) {
                if (world.one_of(4) != 0)
                    world.fill();
                for (int i = world.one_of(40); i > 0; --i)
                    world.step();
                world.read(to_read);
            }
            for (fake_peer &peer : world.there)
                (void)read_messages(*peer.far);
            for (int i = 0; i < world.topics; ++i)
                world.expect_is_known("topic " + std::to_string(i));
        }
    }
}

TEST(xpub, hears_of_subscriptions_of_one_peer_while_it_does_not_read_what_another_sends) {
    pattern_bench bench(socket_type::xpub);
    bench.options.receive_hwm = 10;
    fake_peer a = bench.attach(), b = bench.attach();
    for (int i = 0; i < 100; ++i)
        write_message(*a.far, {"u"});
    write_command(*a.far, in_band::subscribe, "a's");
    bench.deliver();
    write_message(*b.far, {"v"});
    subscribe(bench, b, "t");
    EXPECT_EQ(bench.send({"t"}), error::none);
    EXPECT_EQ(read_messages(*b.far).size(), 1u);
    EXPECT_TRUE(a.near->has_input());
    const std::vector<frames> all = news(bench);
    EXPECT_EQ(std::count(all.begin(), all.end(), frames{"u"}), 100);
    EXPECT_EQ(all.back(), frames{on + "a's"});
}

TEST(xpub, reads_on_from_a_peer_that_was_held_back_by_a_mark_that_was_raised) {
    pattern_bench bench(socket_type::xpub);
    bench.options.receive_hwm = 2;
    fake_peer a = bench.attach();
    for (int i = 0; i < 100; ++i)
        write_message(*a.far, {"u"});
    bench.deliver();
    bench.options.receive_hwm = 1000;
    EXPECT_EQ(news(bench).size(), 100u);
}

TEST(xpub, tells_of_each_subscription_when_verbose_and_of_each_end_when_verboser) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_verbose = true;
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, a, "t");
    subscribe(bench, b, "t");
    subscribe(bench, b, "t");
    EXPECT_EQ(news(bench).size(), 3u);
    cancel(bench, a, "t");
    EXPECT_TRUE(news(bench).empty());
    subscribe(bench, a, "t");
    bench.options.xpub_verboser = true;
    cancel(bench, a, "t");
    EXPECT_EQ(news(bench), (std::vector<frames>{{on + "t"}, {off + "t"}}));
    bench.close_far(b);
    EXPECT_EQ(news(bench), (std::vector<frames>{{off + "t"}}));
}

TEST(xpub, lets_the_application_decide_when_manual) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_manual = true;
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_EQ(bench.subject->subscribe(as_bytes("X")), error::none);
    subscribe(bench, a, "A");
    subscribe(bench, b, "B");
    EXPECT_EQ(bench.send({"A"}), error::none);
    EXPECT_EQ(bench.receive(), frames{on + "A"});
    EXPECT_EQ(bench.subject->subscribe(as_bytes("XA")), error::none);
    EXPECT_EQ(bench.receive(), frames{on + "B"});
    EXPECT_EQ(bench.subject->subscribe(as_bytes("XB")), error::none);
    EXPECT_EQ(bench.send({"XA"}), error::none);
    EXPECT_EQ(bench.send({"XB"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"XA"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"XB"}}));
    EXPECT_EQ(bench.subject->unsubscribe(as_bytes("XB")), error::none);
    EXPECT_EQ(bench.send({"XB"}), error::none);
    EXPECT_TRUE(read_messages(*b.far).empty());
    bench.close_far(a);
    EXPECT_EQ(bench.receive(), frames{off + "A"});
    EXPECT_EQ(bench.subject->subscribe(as_bytes("Y")), error::none);  // for nobody
}

TEST(xpub, does_not_act_for_a_peer_that_went_before_its_notice_was_read) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_manual = true;
    fake_peer a = bench.attach();
    subscribe(bench, a, "A");
    cancel(bench, a, "A");
    bench.close_far(a);
    EXPECT_EQ(bench.receive(), frames{on + "A"});
    EXPECT_EQ(bench.subject->subscribe(as_bytes("A")), error::none);
    EXPECT_EQ(bench.send({"A"}), error::none);
}

TEST(xpub, sends_to_the_last_requester_only_when_asked_to) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_manual_last_value = true;
    fake_peer a = bench.attach(), b = bench.attach();
    for (fake_peer *p : {&a, &b}) {
        subscribe(bench, *p, "t");
        EXPECT_TRUE(bench.receive());
        EXPECT_EQ(bench.subject->subscribe(as_bytes("t")), error::none);
    }
    EXPECT_EQ(bench.send({"t", "last value"}), error::none);
    EXPECT_EQ(bench.send({"t", "next"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"t", "next"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"t", "last value"}, {"t", "next"}}));
}

TEST(xpub, welcomes_a_new_peer) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_welcome_message = "hello";
    fake_peer a = bench.attach();
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"hello"}}));
}

TEST(xpub, waits_for_all_receivers_when_it_may_not_drop) {
    pattern_bench bench(socket_type::xpub);
    bench.options.xpub_nodrop = true;
    fake_peer a = bench.attach(1), b = bench.attach();
    subscribe(bench, a, "");
    subscribe(bench, b, "");
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_EQ(bench.send({"2", "3"}), error::again);
    EXPECT_FALSE(bench.subject->arm(false, true));
    EXPECT_EQ(read_messages(*b.far).size(), 1u);
    EXPECT_EQ(read_messages(*a.far).size(), 1u);
    EXPECT_EQ(bench.network.events->writable, std::vector<pipe_end *>{a.near.get()});
    EXPECT_EQ(bench.send({"2", "3"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"2", "3"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"2", "3"}}));
}

TEST(xpub, passes_messages_from_upstream_on) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach();
    write_message(*a.far, {"u", on + "C"});
    write_message(*a.far, {""});
    bench.deliver();
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(text_of(view), "u");
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(text_of(view), on + "C");  // a subscription inside a message
    EXPECT_EQ(bench.receive(), frames{""});
    EXPECT_EQ(bench.subject->topics_count(), 1);
}

TEST(pub, counts_each_message_that_says_nothing_of_subscriptions) {
    for (const bool only_first : {false, true}) {
        pattern_bench bench(socket_type::pub);
        bench.options.only_first_subscribe = only_first;
        fake_peer a = bench.attach();
        subscribe(bench, a, "command");
        for (const frames &each : {frames{"u"}, {""}, {"u", "v"}, {on + "D"}, {on + "E", "u"}, {off + "D"}})
            write_message(*a.far, each);
        bench.deliver();
        EXPECT_EQ(unwanted(bench), 3);
        write_message(*a.far, {"u", on + "C"});
        bench.deliver();
        EXPECT_EQ(unwanted(bench), 3 + only_first);
        write_message(*a.far, {on + "F"});
        write_message(*a.far, {"w"});
        bench.deliver();
        EXPECT_EQ(unwanted(bench), 4 + only_first);
    }
}

TEST(xpub, counts_what_nobody_has_read_of_it_at_its_end) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach(), b = bench.attach();
    for (const frames &each : {frames{"1"}, {"2", "2"}, {on + "t"}, {"3", on + "C"}, {"4"}, {"5", "5"}})
        write_message(*a.far, each);
    bench.deliver();
    EXPECT_EQ(bench.receive(), frames{"1"});
    bench.subject->detach(*a.near);
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);  // the first frame of one
    EXPECT_EQ(unwanted(bench), 0);
    bench.subject.reset();
    EXPECT_EQ(unwanted(bench), 4) << "not the first, and no subscription";
}

TEST(xpub, looks_for_subscriptions_in_first_frames_only_when_asked_to) {
    pattern_bench bench(socket_type::xpub);
    bench.options.only_first_subscribe = true;
    fake_peer a = bench.attach();
    write_message(*a.far, {"u", on + "C"});
    write_message(*a.far, {on + "D"});
    bench.deliver();
    EXPECT_EQ(news(bench), (std::vector<frames>{{"u", on + "C"}, {on + "D"}}));
    EXPECT_EQ(bench.subject->topics_count(), 1);
}

TEST(pub, takes_in_a_bounded_number_of_subscriptions_at_once_and_the_rest_later) {
    constexpr int topics = 50'000;
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach(), b = bench.attach();
    for (int i = 0; i < topics; ++i)
        write_command(*a.far, in_band::subscribe, std::to_string(i));
    write_command(*b.far, in_band::subscribe, "of another peer");
    int before = 0;
    bench.deliver();
    for (int calls = 1; bench.subject->topics_count() < topics + 1; ++calls) {
        ASSERT_LT(calls, 10);
        ASSERT_TRUE(bench.goes_on);
        EXPECT_LE(bench.subject->topics_count() - before, 10'000);
        before = bench.subject->topics_count();
        EXPECT_EQ(bench.send({"of another peer"}), error::none);  // it has had its turn
        bench.go_on();
    }
    EXPECT_GT(before, 0);
    EXPECT_FALSE(bench.goes_on);
    EXPECT_FALSE(read_messages(*b.far).empty());
    subscribe(bench, a, "still armed");
    EXPECT_EQ(bench.subject->topics_count(), topics + 2);
}

TEST(pub, takes_in_a_bounded_number_of_octets_at_once) {
    pattern_bench bench(socket_type::pub);
    fake_peer a = bench.attach();
    for (int i = 0; i < 20; ++i)
        write_command(*a.far, in_band::subscribe, std::to_string(i).append(400'000, 'x'));
    bench.deliver();
    EXPECT_LE(bench.subject->topics_count(), 5);
    for (int calls = 0; calls < 20 && bench.goes_on; ++calls)
        bench.go_on();
    EXPECT_EQ(bench.subject->topics_count(), 20);
}

TEST(xpub, shows_a_message_of_many_frames_once_it_is_all_there) {
    constexpr std::size_t count = 30'000;
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach(), b = bench.attach();
    subscribe(bench, b, "t");
    news(bench);
    write_message(*a.far, frames(count, "u"));
    bench.deliver();
    EXPECT_TRUE(bench.goes_on);
    EXPECT_FALSE(bench.subject->has_input());
    bench.close_far(b);  // what is told of it does not come between the frames
    EXPECT_EQ(bench.receive(), frames{off + "t"});
    while (bench.goes_on)
        bench.go_on();
    EXPECT_EQ(bench.receive(), frames(count, "u"));
}

TEST(xpub, forgets_a_message_that_is_cut_off) {
    pattern_bench bench(socket_type::xpub);
    fake_peer a = bench.attach(), b = bench.attach();
    frames message(30'000, "u");
    message[10] = on + "t";  // a subscription
    write_message(*a.far, message);
    bench.deliver();
    bench.subject->detach(*a.near);
    write_message(*b.far, {"v"});
    bench.deliver();
    EXPECT_EQ(news(bench), (std::vector<frames>{{"v"}}));
    EXPECT_EQ(bench.subject->topics_count(), 0);
}

TEST(xpub, reads_from_all_that_wait_in_turn) {
    constexpr int peers = 50;
    pattern_bench bench(socket_type::xpub);
    bench.options.receive_hwm = 10;
    std::vector<fake_peer> all;
    for (int i = 0; i < peers; ++i) {
        all.push_back(bench.attach());
        for (int n = 0; n < 3; ++n)
            write_message(*all.back().far, {"from " + std::to_string(i)});
    }
    bench.deliver();
    std::vector<frames> got = news(bench);
    EXPECT_EQ(got.size(), std::size_t{3 * peers});
    for (const fake_peer &peer : all)
        write_message(*peer.far, {"again"});
    bench.deliver();
    EXPECT_EQ(news(bench).size(), std::size_t{peers});
}

TEST(xpub, leaves_messages_in_their_pipe_when_the_application_reads_none) {
    pattern_bench bench(socket_type::xpub);
    bench.options.receive_hwm = 10;
    fake_peer a = bench.attach();
    for (int i = 0; i < 100; ++i)
        write_message(*a.far, {"u" + std::to_string(i)});
    bench.deliver();
    bench.close_far(a);
    EXPECT_TRUE(a.near->has_input());
    EXPECT_FALSE(bench.is_done(a));
    EXPECT_EQ(news(bench).size(), 100u);
    EXPECT_TRUE(bench.is_done(a));
}

}  // namespace zlink::test
