// inproc: connecting before binding, names, disconnecting, and large bodies that move by reference.
#include "lent_bodies.hpp"
#include "sockets.hpp"

#include <thread>

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

}  // namespace
