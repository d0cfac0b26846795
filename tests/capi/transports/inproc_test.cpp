// inproc: connecting before binding, names, disconnecting, and large bodies that move by reference.
#include "lent_bodies.hpp"
#include "sockets.hpp"

#include <poll.h>
#include <thread>
#include <tuple>

namespace {

using namespace zlink_test;

TEST(inproc, may_connect_before_the_other_binds) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    test_socket early = zmq.socket(ZMQ_PUSH);
    early.connect(name);
    ASSERT_TRUE(early.send_all({"sent", "before", "binding"}));
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(name);
    EXPECT_EQ(pull.receive_all(), (frames{"sent", "before", "binding"}));
}

TEST(inproc, many_may_connect_before_the_other_binds) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    std::vector<test_socket> early;
    for (int i = 0; i < 5; ++i) {
        early.push_back(zmq.socket(ZMQ_PUSH));
        early.back().connect(name);
        early.back().send(std::to_string(i));
    }
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(name);
    std::string seen;
    for (int i = 0; i < 5; ++i)
        seen += pull.receive().value_or("?");
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, "01234");
}

TEST(inproc, a_subscription_made_before_binding_counts) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.connect(name);
    test_socket pub = zmq.socket(ZMQ_XPUB);
    pub.bind(name);
    EXPECT_EQ(pub.receive(), "\1a");
    pub.send("abc");
    EXPECT_EQ(sub.receive(), "abc");
}

TEST(inproc, a_connection_never_answered_is_given_up_on_close) {
    context zmq;
    test_socket lonely = zmq.socket(ZMQ_PUSH);
    lonely.connect(scratch_endpoint("inproc"));
    lonely.send("never received");
    EXPECT_EQ(lonely.close(), 0);
}

// ---- What was sent before anybody bound the name ----

enum class leaves { by_closing, by_disconnecting };

class inproc_leaving : public testing::TestWithParam<std::tuple<leaves, int>> {
protected:
    void leave(test_socket &early, const std::string &name) {
        early.set(ZMQ_LINGER, std::get<1>(GetParam()));
        if (std::get<0>(GetParam()) == leaves::by_closing)
            EXPECT_EQ(early.close(), 0);
        else
            EXPECT_EQ(early.disconnect(name), 0);
    }
};

// This is as libzmq does, whatever ZMQ_LINGER says.
TEST_P(inproc_leaving, messages_sent_before_binding_outlive_their_sender) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    std::vector<test_socket> early;
    for (int i = 0; i < 3; ++i) {
        early.push_back(zmq.socket(ZMQ_PUSH));
        early.back().connect(name);
        ASSERT_TRUE(early.back().send_all({std::to_string(i), octets(100'000)}));
        ASSERT_EQ(early.back().send("never finished", ZMQ_SNDMORE), 14);
        leave(early.back(), name);
    }
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(name);
    std::string seen;
    for (int i = 0; i < 3; ++i) {
        const frames message = pull.receive_all();
        ASSERT_EQ(message.size(), 2u);
        EXPECT_EQ(message[1], octets(100'000));
        seen += message[0];
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, "012");
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
}

TEST_P(inproc_leaving, a_body_that_nobody_came_for_is_freed_with_the_context) {
    lent_bodies bodies;
    const std::string body = octets(20'000);
    context zmq;
    test_socket early = zmq.socket(ZMQ_PUSH);
    const std::string name = scratch_endpoint("inproc");
    early.connect(name);
    ASSERT_TRUE(bodies.send(early, body, 0));
    leave(early, name);
    early.close();
    EXPECT_EQ(zmq.term(), 0);
    EXPECT_EQ(bodies.given_back(), 1);
}

INSTANTIATE_TEST_SUITE_P(in_all_ways, inproc_leaving,
                         testing::Combine(testing::Values(leaves::by_closing, leaves::by_disconnecting),
                                          testing::Values(-1, 0, 1)));

TEST(inproc, a_router_hears_of_who_has_closed_before_it_bound) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    test_socket early = zmq.socket(ZMQ_DEALER);
    early.set(ZMQ_ROUTING_ID, "early");
    early.connect(name);
    early.send("last words");
    early.close();
    test_socket router = zmq.socket(ZMQ_ROUTER);
    router.bind(name);
    EXPECT_EQ(router.receive_all(), (frames{"early", "last words"}));
}

// Whatever a closed socket leaves is bounded by the number of sockets that may be.
TEST(inproc, a_closed_socket_counts_as_a_socket_as_long_as_its_messages_are_to_wait) {
    context zmq;
    zmq.set(ZMQ_MAX_SOCKETS, 3);
    const std::string name = scratch_endpoint("inproc");
    for (int i = 0; i < 10; ++i) {
        test_socket silent = zmq.socket(ZMQ_PUSH);
        ASSERT_TRUE(silent);
        silent.connect(name);
    }
    test_socket pull = zmq.socket(ZMQ_PULL);
    for (int i = 0; i < 2; ++i) {
        test_socket early = zmq.socket(ZMQ_PUSH);
        early.set(ZMQ_LINGER, -1);
        early.connect(name);
        early.send("kept");
    }
    EXPECT_EQ(zmq_socket(zmq.handle(), ZMQ_PUSH), nullptr);
    EXPECT_EQ(zmq_errno(), EMFILE);
    pull.bind(name);
    EXPECT_EQ(pull.receive(), "kept");
    EXPECT_EQ(pull.receive(), "kept");
    EXPECT_TRUE(zmq.socket(ZMQ_PUSH));
}

TEST(inproc, messages_that_nobody_came_for_give_way_to_sockets_once_they_have_lingered) {
    lent_bodies bodies;
    const std::string body = octets(20'000);
    context zmq;
    zmq.set(ZMQ_MAX_SOCKETS, 3);
    const std::string name = scratch_endpoint("inproc");
    int sent = 0;
    for (const int linger_ms : {0, 1}) {
        for (int i = 0; i < 10; ++i, ++sent) {
            test_socket early;
            ASSERT_TRUE(eventually([&] { return bool(early = zmq.socket(ZMQ_PUSH)); }))
                << zmq_strerror(errno);
            early.set(ZMQ_LINGER, linger_ms);
            early.connect(name);
            ASSERT_TRUE(bodies.send(early, body, 0));
        }
    }
    EXPECT_GE(bodies.given_back(), sent - 3);
    {
        test_socket early;
        ASSERT_TRUE(eventually([&] { return bool(early = zmq.socket(ZMQ_PUSH)); })) << zmq_strerror(errno);
        early.set(ZMQ_LINGER, -1);
        early.connect(name);
        ASSERT_TRUE(bodies.send(early, body, 0));
    }
    // Those that have not lingered for a millisecond yet leave no room.
    test_socket pull;
    ASSERT_TRUE(eventually([&] { return bool(pull = zmq.socket(ZMQ_PULL)); })) << zmq_strerror(errno);
    pull.bind(name);
    EXPECT_EQ(pull.receive(), body) << "who lingers for ever does not give way";
}

TEST(inproc, who_binds_tells_those_who_wait_what_it_subscribes_to) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    test_socket pub = zmq.socket(ZMQ_PUB);
    pub.connect(name);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "");
    ASSERT_EQ(zmq_bind(sub.handle(), name.c_str()), 0);  // and no further call
    pub.send("first");
    EXPECT_EQ(sub.receive(), "first");
}

TEST(inproc, a_descriptor_tells_of_what_came_with_binding) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(name);
    push.send("sent before");
    test_socket pull = zmq.socket(ZMQ_PULL);
    pollfd level{pull.get(ZMQ_FD), POLLIN, 0};
    (void)pull.get(ZMQ_EVENTS);
    ASSERT_EQ(zmq_bind(pull.handle(), name.c_str()), 0);
    EXPECT_EQ(::poll(&level, 1, patience_ms), 1);
    EXPECT_EQ(pull.get(ZMQ_EVENTS), ZMQ_POLLIN);
}

// ---- Names ----

TEST(inproc, taking_a_name_back_ends_no_connection) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket before = zmq.socket(ZMQ_PAIR);
    const std::string name = connected(zmq, bound, before, "inproc");
    before.send("not read yet");
    ASSERT_EQ(bound.unbind(name), 0);
    EXPECT_FAILS(ENOENT, bound.unbind(name));
    EXPECT_FAILS(ENOENT, bound.disconnect(name));
    EXPECT_EQ(bound.receive(), "not read yet");
    bound.send("still there");
    EXPECT_EQ(before.receive(), "still there");
    before.send("as is the other");
    EXPECT_EQ(bound.receive(), "as is the other");

    // Whoever comes later belongs to the next owner of the name.
    test_socket after = zmq.socket(ZMQ_PAIR);
    after.connect(name);
    after.send("for the next");
    test_socket next = zmq.socket(ZMQ_PAIR);
    next.bind(name);
    EXPECT_EQ(next.receive(), "for the next");
    EXPECT_FALSE(bound.receive(ZMQ_DONTWAIT));
    EXPECT_EQ(before.disconnect(name), 0);
    EXPECT_FAILS(ENOENT, before.disconnect(name));
}

TEST(inproc, one_name_has_one_owner) {
    context zmq;
    test_socket first = zmq.socket(ZMQ_PAIR);
    test_socket second = zmq.socket(ZMQ_PAIR);
    const std::string name = first.bind(scratch_endpoint("inproc"));
    EXPECT_FAILS(EADDRINUSE, zmq_bind(second.handle(), name.c_str()));
    EXPECT_EQ(first.unbind(name), 0);
    EXPECT_EQ(zmq_bind(second.handle(), name.c_str()), 0);
}

TEST(inproc, a_name_becomes_free_after_its_owner_closed) {
    context zmq;
    const std::string name = scratch_endpoint("inproc");
    for (int i = 0; i < 5; ++i) {
        test_socket owner = zmq.socket(ZMQ_PAIR);
        EXPECT_TRUE(eventually([&] { return zmq_bind(owner.handle(), name.c_str()) == 0; }));
    }
}

TEST(inproc, disconnecting_ends_the_flow_and_may_be_undone) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "a");
    const std::string name = connected(zmq, pub, sub, "inproc");
    ASSERT_EQ(pub.receive(), "\1a");
    ASSERT_EQ(sub.disconnect(name), 0);
    // libzmq ends the pipe during calls on both sockets.
    EXPECT_TRUE(eventually([&] {
        sub.get(ZMQ_EVENTS);
        return pub.receive(ZMQ_DONTWAIT) == std::string("\0a", 2);
    }));
    pub.send("a lost");
    sub.connect(name);
    ASSERT_EQ(pub.receive(), "\1a");
    pub.send("a kept");
    EXPECT_EQ(sub.receive(), "a kept");
}

TEST(inproc, disconnecting_what_was_not_connected_fails) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_FAILS(ENOENT, any.disconnect("inproc://nowhere"));
    EXPECT_FAILS(ENOENT, any.unbind("inproc://nowhere"));
}

TEST(inproc, a_pair_takes_one_peer_at_a_time) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket first = zmq.socket(ZMQ_PAIR);
    test_socket second = zmq.socket(ZMQ_PAIR);
    const std::string name = connected(zmq, bound, first, "inproc");
    bound.get(ZMQ_EVENTS);
    second.connect(name);
    first.send("from the first");
    EXPECT_EQ(bound.receive(), "from the first");
    bound.send("to the first");
    EXPECT_EQ(first.receive(), "to the first");
    EXPECT_FALSE(second.receive(ZMQ_DONTWAIT));
}

TEST(inproc, a_pair_hears_everybody_who_comes_and_goes_in_turn) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    const std::string name = bound.bind(scratch_endpoint("inproc"));
    for (const bool reads_at_once : {true, false}) {
        for (int i = 0; i < 6; ++i) {
            test_socket peer = zmq.socket(ZMQ_PAIR);
            peer.connect(name);
            ASSERT_NE(peer.send(std::to_string(i)), -1);
            peer.close();
            if (reads_at_once) {
                EXPECT_EQ(bound.receive(), std::to_string(i));
            }
        }
        for (int i = 0; !reads_at_once && i < 6; ++i)
            EXPECT_EQ(bound.receive(), std::to_string(i));
    }
}

TEST(inproc, passes_bodies_of_every_size_between_threads) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    const std::size_t sizes[] = {0, 1, 33, 34, 255, 256, 8191, 8192, 100'000, 1 << 20};
    std::thread sender([&] {
        for (const std::size_t size : sizes)
            push.send(std::string(size, static_cast<char>('a' + size % 26)));
    });
    for (const std::size_t size : sizes)
        EXPECT_EQ(pull.receive(), std::string(size, static_cast<char>('a' + size % 26))) << size;
    sender.join();
}

TEST(inproc, a_body_given_with_its_memory_arrives_where_it_lies_and_is_freed_once_by_the_receiver) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    static int freed;
    static char body[10'000];
    for (const std::size_t size : {std::size_t{1}, std::size_t{40}, std::size_t{64}, sizeof body}) {
        SCOPED_TRACE(size);
        freed = 0;
        zmq_msg_t sent;
        ASSERT_EQ(zmq_msg_init_data(
                      &sent, body, size, [](void *, void *count) { ++*static_cast<int *>(count); }, &freed),
                  0);
        ASSERT_EQ(zmq_msg_send(&sent, push.handle(), 0), static_cast<int>(size));
        zmq_msg_t received;
        zmq_msg_init(&received);
        ASSERT_EQ(zmq_msg_recv(&received, pull.handle(), 0), static_cast<int>(size));
        EXPECT_EQ(zmq_msg_data(&received), body);
        EXPECT_EQ(freed, 0);
        zmq_msg_close(&received);
        EXPECT_EQ(freed, 1);
    }
}

TEST(inproc, a_body_given_with_its_memory_is_freed_once_when_nobody_receives_it) {
    lent_bodies bodies;
    const std::string body = octets(64);
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(bodies.send(push, body, i % 2 ? 0 : ZMQ_SNDMORE));
    EXPECT_EQ(pull.receive(), body);
    pull.close();
    push.close();
    zmq.term();
    EXPECT_EQ(bodies.given_back(), 10);
}

TEST(inproc, disconnects_from_a_peer_that_has_just_closed) {
    for (const bool has_last_words : {false, true}) {
        context zmq;
        test_socket ours = zmq.socket(ZMQ_DEALER);
        test_socket peer = zmq.socket(ZMQ_DEALER);
        const std::string endpoint = connected(zmq, peer, ours, "inproc");
        if (has_last_words) {
            EXPECT_EQ(peer.send("last words"), 10);
        }
        peer.close();
        EXPECT_EQ(ours.disconnect(endpoint), 0);
        if (has_last_words) {
            EXPECT_EQ(ours.receive(), "last words");
        }
        EXPECT_FAILS(ENOENT, ours.disconnect(endpoint));
    }
}

}  // namespace
