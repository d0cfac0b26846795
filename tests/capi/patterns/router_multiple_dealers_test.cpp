// One ROUTER and several DEALERs over every transport: replies, turns, and peers that are not
// there.
#include "busy_threads.hpp"
#include "sockets.hpp"
#include "transports.hpp"

#include <map>
#include <set>
#include <thread>

namespace {

using namespace zlink_test;

std::string name_of(std::size_t i) { return "dealer-" + std::to_string(i); }

class router_with_dealers : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { endpoint = router.bind(scratch_endpoint(GetParam())); }

    test_socket dealer(const std::string &name) {
        test_socket made = zmq.socket(ZMQ_DEALER);
        if (!name.empty()) {
            EXPECT_EQ(made.set(ZMQ_ROUTING_ID, name), 0);
        }
        made.connect(endpoint);
        return made;
    }
    // The router knows each of them when this returns.
    std::vector<test_socket> known_dealers(std::size_t count) {
        std::vector<test_socket> made;
        for (std::size_t i = 0; i < count; ++i) {
            made.push_back(dealer(name_of(i)));
            EXPECT_EQ(made.back().send("hello"), 5);
            EXPECT_EQ(router.receive_all(), (frames{name_of(i), "hello"}));
        }
        return made;
    }

    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    std::string endpoint;
};

TEST_P(router_with_dealers, replies_go_to_the_one_that_asked) {
    std::vector<test_socket> dealers;
    for (std::size_t i = 0; i < 10; ++i) {
        dealers.push_back(dealer(name_of(i)));
        ASSERT_TRUE(dealers.back().send_all({"", "question", std::to_string(i)}));
    }
    for (std::size_t i = 0; i < dealers.size(); ++i) {
        frames found = router.receive_all();
        ASSERT_EQ(found.size(), 4u);
        EXPECT_EQ(found[0], name_of(static_cast<std::size_t>(std::stoi(found[3]))));
        found[2] = "answer";
        ASSERT_TRUE(router.send_all(found));
    }
    for (std::size_t i = 0; i < dealers.size(); ++i) {
        EXPECT_EQ(dealers[i].receive_all(), (frames{"", "answer", std::to_string(i)}));
        EXPECT_FALSE(dealers[i].receive(ZMQ_DONTWAIT));
    }
}

TEST_P(router_with_dealers, sends_to_whom_it_chooses_in_any_order) {
    std::vector<test_socket> dealers = known_dealers(7);
    for (std::size_t n = 0; n < 700; ++n)
        ASSERT_TRUE(router.send_all({name_of(n * 3 % 7), std::to_string(n), "body"}));
    for (std::size_t n = 0; n < 700; ++n)
        ASSERT_EQ(dealers[n * 3 % 7].receive_all(), (frames{std::to_string(n), "body"}));
    for (test_socket &each : dealers)
        EXPECT_FALSE(each.receive(ZMQ_DONTWAIT));
}

TEST_P(router_with_dealers, names_those_that_have_no_name) {
    std::vector<test_socket> dealers;
    std::map<std::string, std::string> ids;
    for (int i = 0; i < 10; ++i) {
        dealers.push_back(dealer(""));
        ASSERT_NE(dealers.back().send(std::to_string(i)), -1);
        const frames found = router.receive_all();
        ASSERT_EQ(found.size(), 2u);
        EXPECT_EQ(found[1], std::to_string(i));
        ids[found[0]] = found[1];
    }
    EXPECT_EQ(ids.size(), dealers.size());
    for (const auto &[id, number] : ids)
        ASSERT_TRUE(router.send_all({id, "you are " + number}));
    for (std::size_t i = 0; i < dealers.size(); ++i)
        EXPECT_EQ(dealers[i].receive(), "you are " + std::to_string(i));
}

TEST_P(router_with_dealers, a_dealer_that_never_stops_does_not_starve_the_others) {
    constexpr std::size_t quiet = 4;
    constexpr int messages = 50;
    std::vector<test_socket> dealers = known_dealers(quiet + 1);
    busy_threads busy;
    busy.add([&] { dealers[quiet].send("busy", ZMQ_DONTWAIT); });
    for (std::size_t i = 0; i < quiet; ++i)
        for (int n = 0; n < messages; ++n)
            EXPECT_NE(dealers[i].send(std::to_string(n)), -1);
    std::map<std::string, int> taken;
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 1000; ++i) {
            const frames found = router.receive_all(ZMQ_DONTWAIT);
            if (found.size() == 2 && found[1] != "busy") {
                EXPECT_EQ(found[1], std::to_string(taken[found[0]]++));
            }
        }
        return taken.size() == quiet && std::all_of(taken.begin(), taken.end(),
                                                    [](const auto &each) { return each.second == messages; });
    }));
}

TEST_P(router_with_dealers, mandatory_tells_who_is_not_there) {
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    std::vector<test_socket> dealers = known_dealers(3);
    EXPECT_FAILS(EHOSTUNREACH, router.send("nobody", ZMQ_SNDMORE));
    EXPECT_FAILS(EHOSTUNREACH, router.send("", ZMQ_SNDMORE));
    EXPECT_FAILS(EHOSTUNREACH, router.send("dealer-", ZMQ_SNDMORE));
    EXPECT_FAILS(EHOSTUNREACH, router.send("dealer-10", ZMQ_SNDMORE));
    // Nothing of the failed ones goes with the next.
    for (std::size_t i = 0; i < dealers.size(); ++i)
        ASSERT_TRUE(router.send_all({name_of(i), "to you"}));
    for (test_socket &each : dealers) {
        EXPECT_EQ(each.receive_all(), (frames{"to you"}));
        EXPECT_FALSE(each.receive(ZMQ_DONTWAIT));
    }
}

TEST_P(router_with_dealers, one_that_goes_is_forgotten_and_the_others_are_served) {
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    std::vector<test_socket> dealers = known_dealers(4);
    dealers[1].close();
    EXPECT_TRUE(eventually([&] {
        if (router.send(name_of(1), ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
            router.send("too late", ZMQ_DONTWAIT);
            return false;
        }
        return zmq_errno() == EHOSTUNREACH;
    }));
    for (const std::size_t i : {0, 2, 3}) {
        ASSERT_TRUE(router.send_all({name_of(i), "still here"}));
        EXPECT_EQ(dealers[i].receive(), "still here");
        ASSERT_NE(dealers[i].send("me too"), -1);
        EXPECT_EQ(router.receive_all(), (frames{name_of(i), "me too"}));
    }
}

TEST_P(router_with_dealers, one_that_comes_back_under_its_name_is_served_again) {
    ASSERT_EQ(router.set(ZMQ_ROUTER_HANDOVER, 1), 0);
    std::vector<test_socket> dealers = known_dealers(2);
    for (int life = 0; life < 5; ++life) {
        dealers[1] = dealer(name_of(1));
        ASSERT_NE(dealers[1].send("back"), -1);
        ASSERT_EQ(router.receive_all(), (frames{name_of(1), "back"}));
        ASSERT_TRUE(router.send_all({name_of(1), "welcome"}));
        EXPECT_EQ(dealers[1].receive(), "welcome");
        ASSERT_TRUE(router.send_all({name_of(0), "as before"}));
        EXPECT_EQ(dealers[0].receive(), "as before");
    }
}

TEST_P(router_with_dealers, what_a_dealer_said_before_it_went_is_received) {
    std::vector<test_socket> dealers = known_dealers(3);
    for (std::size_t i = 0; i < dealers.size(); ++i) {
        dealers[i].set(ZMQ_LINGER, -1);
        ASSERT_TRUE(dealers[i].send_all({"last words", std::to_string(i)}));
        dealers[i].close();
    }
    std::set<frames> found;
    for (std::size_t i = 0; i < dealers.size(); ++i)
        found.insert(router.receive_all());
    for (std::size_t i = 0; i < dealers.size(); ++i)
        EXPECT_TRUE(found.contains({name_of(i), "last words", std::to_string(i)})) << i;
}

TEST_P(router_with_dealers, threads_ask_and_each_gets_its_answers) {
    constexpr std::size_t count = 6;
    constexpr int rounds = 200;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            test_socket own = dealer(name_of(i));
            for (int n = 0; n < rounds; ++n) {
                own.send_all({std::to_string(i), std::to_string(n)});
                EXPECT_EQ(own.receive_all(), (frames{std::to_string(i), std::to_string(n), "re"}));
            }
        });
    for (std::size_t n = 0; n < count * rounds; ++n) {
        frames found = router.receive_all();
        EXPECT_EQ(found.size(), 3u);
        found.push_back("re");
        EXPECT_TRUE(router.send_all(found));
    }
    for (std::thread &each : threads)
        each.join();
}

INSTANTIATE_TEST_SUITE_P(transports, router_with_dealers, ::testing::ValuesIn(built_transports()),
                         transport_name);

}  // namespace
