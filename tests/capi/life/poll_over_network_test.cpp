// zmq_poll, zmq_poller_* and ZMQ_FD over network transports, together with descriptors of the
// system's.
#include "descriptors.hpp"
#include "raw_peer.hpp"
#include "sockets.hpp"

#include <random>
#include <sys/epoll.h>
#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::raw_peer;

// Returns what is ready at once: a mask in the order of the items.
unsigned ready_now(std::vector<zmq_pollitem_t> &items) {
    const int count = zmq_poll(items.data(), static_cast<int>(items.size()), 0);
    unsigned mask = 0;
    for (std::size_t i = 0; i < items.size(); ++i)
        mask |= items[i].revents ? 1u << i : 0;
    EXPECT_EQ(count, __builtin_popcount(mask));
    return mask;
}

// ---- Sockets of several transports and descriptors ----

class mixed : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char *transport : {"tcp", "ipc", "inproc"}) {
            pulls.push_back(zmq.socket(ZMQ_PULL));
            pushes.push_back(zmq.socket(ZMQ_PUSH));
            connected(zmq, pulls.back(), pushes.back(), transport);
        }
    }
    // The last source is the descriptor.
    void feed(std::size_t which) {
        if (which == pulls.size())
            descriptor.write();
        else
            EXPECT_EQ(pushes[which].send("x"), 1);
    }
    void drain(std::size_t which) {
        if (which == pulls.size())
            descriptor.read();
        else
            EXPECT_EQ(pulls[which].receive(ZMQ_DONTWAIT), "x");
    }

    context zmq;
    std::vector<test_socket> pulls, pushes;
    pipe_pair descriptor;
};

TEST_F(mixed, zmq_poll_tells_which_is_ready) {
    std::vector<zmq_pollitem_t> items;
    for (const test_socket &each : pulls)
        items.push_back({each.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({nullptr, descriptor.reader(), ZMQ_POLLIN, 0});
    for (unsigned wanted = 0; wanted < 1u << items.size(); ++wanted) {
        for (std::size_t i = 0; i < items.size(); ++i)
            if (wanted >> i & 1)
                feed(i);
        EXPECT_TRUE(eventually([&] { return ready_now(items) == wanted; })) << wanted;
        for (std::size_t i = 0; i < items.size(); ++i)
            if (wanted >> i & 1)
                drain(i);
    }
    EXPECT_EQ(ready_now(items), 0u);
}

TEST_F(mixed, a_poller_tells_which_is_ready) {
    const std::size_t count = pulls.size() + 1;
    owned_poller poller;
    int tags[4] = {0, 1, 2, 3};
    for (std::size_t i = 0; i < pulls.size(); ++i)
        ASSERT_EQ(zmq_poller_add(poller.get(), pulls[i].handle(), &tags[i], ZMQ_POLLIN), 0);
    ASSERT_EQ(zmq_poller_add_fd(poller.get(), descriptor.reader(), &tags[pulls.size()], ZMQ_POLLIN), 0);
    for (std::size_t i = 0; i < count; ++i) {
        feed(i);
        zmq_poller_event_t event{};
        ASSERT_EQ(zmq_poller_wait(poller.get(), &event, -1), 0);
        EXPECT_EQ(event.user_data, &tags[i]);
        EXPECT_EQ(event.events, ZMQ_POLLIN);
        EXPECT_EQ(event.socket, i < pulls.size() ? pulls[i].handle() : nullptr);
        drain(i);
        EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
    }
    zmq_poller_event_t events[4] = {};
    for (std::size_t i = 0; i < count; ++i)
        feed(i);
    EXPECT_TRUE(eventually([&] { return zmq_poller_wait_all(poller.get(), events, 4, patience_ms) == 4; }));
    // No more than there is space for; those left out are not lost.
    EXPECT_EQ(zmq_poller_wait_all(poller.get(), events, 2, patience_ms), 2);
    EXPECT_EQ(zmq_poller_wait_all(poller.get(), events, 4, patience_ms), 4);
}

TEST_F(mixed, any_source_ends_an_endless_wait) {
    std::vector<zmq_pollitem_t> items;
    for (const test_socket &each : pulls)
        items.push_back({each.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({nullptr, descriptor.reader(), ZMQ_POLLIN, 0});
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const std::size_t which = random() % items.size();
        std::thread feeder([&] { feed(which); });
        ASSERT_EQ(zmq_poll(items.data(), static_cast<int>(items.size()), -1), 1);
        EXPECT_EQ(items[which].revents, ZMQ_POLLIN);
        feeder.join();
        drain(which);
    }
}

TEST_F(mixed, a_poller_may_change_what_it_watches) {
    owned_poller poller;
    zmq_poller_event_t event{};
    for (std::size_t i = 0; i < pulls.size(); ++i) {
        ASSERT_EQ(zmq_poller_add(poller.get(), pulls[i].handle(), nullptr, 0), 0);
        feed(i);
        EXPECT_TRUE(pulls[i].has_input());
        EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
        ASSERT_EQ(zmq_poller_modify(poller.get(), pulls[i].handle(), ZMQ_POLLIN), 0);
        EXPECT_EQ(zmq_poller_wait(poller.get(), &event, patience_ms), 0);
        EXPECT_EQ(event.socket, pulls[i].handle());
        ASSERT_EQ(zmq_poller_remove(poller.get(), pulls[i].handle()), 0);
        EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
    }
    ASSERT_EQ(zmq_poller_add_fd(poller.get(), descriptor.writer(), nullptr, ZMQ_POLLIN), 0);
    EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
    ASSERT_EQ(zmq_poller_modify_fd(poller.get(), descriptor.writer(), ZMQ_POLLOUT), 0);
    EXPECT_EQ(zmq_poller_wait(poller.get(), &event, patience_ms), 0);
    EXPECT_EQ(event.fd, descriptor.writer());
    EXPECT_EQ(event.events, ZMQ_POLLOUT);
}

TEST(asio_poller, reports_that_the_other_end_of_a_descriptor_is_gone) {
    pipe_pair descriptor;
    zmq_pollitem_t item{nullptr, descriptor.writer(), ZMQ_POLLOUT | ZMQ_POLLERR, 0};
    EXPECT_EQ(zmq_poll(&item, 1, patience_ms), 1);
    EXPECT_EQ(item.revents, ZMQ_POLLOUT);
    descriptor.close_reader();
    EXPECT_EQ(zmq_poll(&item, 1, patience_ms), 1);
    EXPECT_TRUE(item.revents & ZMQ_POLLERR);
}

TEST(asio_poller, a_poller_is_woken_by_the_end_of_the_context) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(scratch_endpoint("tcp"));
    owned_poller poller;
    ASSERT_EQ(zmq_poller_add(poller.get(), pull.handle(), nullptr, ZMQ_POLLIN), 0);
    std::thread ends([&] { zmq.shutdown(); });
    zmq_poller_event_t event{};
    EXPECT_FAILS(ETERM, zmq_poller_wait(poller.get(), &event, -1));
    ends.join();
}

// ---- One network transport ----

class asio_poller_over : public ::testing::TestWithParam<const char *> {
protected:
    context zmq;
};

TEST_P(asio_poller_over, there_is_room_when_a_peer_comes) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = push.bind(scratch_endpoint(GetParam()));
    EXPECT_FALSE(push.has_room(0));
    test_socket pull = zmq.socket(ZMQ_PULL);
    std::thread comes([&] { pull.connect(endpoint); });
    EXPECT_TRUE(push.has_room(-1));
    comes.join();
    EXPECT_EQ(push.send("x", ZMQ_DONTWAIT), 1);
    EXPECT_EQ(pull.receive(), "x");
}

TEST_P(asio_poller_over, there_is_no_room_at_the_mark_until_the_peer_reads) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_SNDHWM, 2);
    raw_peer peer(push.bind(scratch_endpoint(GetParam())));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    const std::string body(1'000'000, 'x');
    int sent = 0;
    // Room comes back for a while as the kernel takes in what it can hold.
    while (push.has_room(100)) {
        ASSERT_EQ(push.send(body, ZMQ_DONTWAIT), 1'000'000);
        ASSERT_LT(++sent, 1000);
    }
    EXPECT_GE(sent, 2);
    EXPECT_FAILS(EAGAIN, push.send(body, ZMQ_DONTWAIT));
    EXPECT_FALSE(push.get(ZMQ_EVENTS) & ZMQ_POLLOUT);
    owned_poller poller;
    ASSERT_EQ(zmq_poller_add(poller.get(), push.handle(), nullptr, ZMQ_POLLOUT), 0);
    std::thread reader([&] {
        for (int i = 0; i < sent + 1; ++i)
            EXPECT_EQ(peer.receive_frame().second, body);
    });
    zmq_poller_event_t event{};
    EXPECT_EQ(zmq_poller_wait(poller.get(), &event, -1), 0);
    EXPECT_EQ(event.events, ZMQ_POLLOUT);
    EXPECT_EQ(push.send(body, ZMQ_DONTWAIT), 1'000'000);
    reader.join();
}

TEST_P(asio_poller_over, input_stays_when_its_sender_is_gone) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, GetParam());
    monitor watch(zmq, pull, ZMQ_EVENT_DISCONNECTED);
    ASSERT_EQ(push.send("one"), 3);
    ASSERT_EQ(push.send("two"), 3);
    EXPECT_TRUE(pull.has_input());
    push.set(ZMQ_LINGER, -1);
    push.close();
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(pull.has_input());
    EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), "one");
    EXPECT_TRUE(pull.has_input());
    EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), "two");
    EXPECT_FALSE(pull.has_input(0));
}

TEST_P(asio_poller_over, follows_whose_turn_it_is) {
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, GetParam());
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(req.has_room());
        EXPECT_FALSE(rep.has_room(0));
        ASSERT_EQ(req.send("ask"), 3);
        EXPECT_FALSE(req.has_room(0));
        EXPECT_FALSE(req.has_input(0));
        EXPECT_TRUE(rep.has_input(-1));
        ASSERT_EQ(rep.receive(ZMQ_DONTWAIT), "ask");
        EXPECT_FALSE(rep.has_input(0));
        EXPECT_TRUE(rep.has_room());
        ASSERT_EQ(rep.send("answer"), 6);
        EXPECT_TRUE(req.has_input(-1));
        ASSERT_EQ(req.receive(ZMQ_DONTWAIT), "answer");
    }
}

TEST_P(asio_poller_over, one_thread_serves_many_sockets) {
    constexpr int count = 8;
    constexpr int rounds = 500;
    std::vector<test_socket> servers, clients;
    std::vector<zmq_pollitem_t> items;
    for (int i = 0; i < count; ++i) {
        servers.push_back(zmq.socket(ZMQ_DEALER));
        clients.push_back(zmq.socket(ZMQ_DEALER));
        connected(zmq, servers.back(), clients.back(), GetParam());
        items.push_back({servers.back().handle(), 0, ZMQ_POLLIN, 0});
    }
    std::thread serving([&] {
        for (int served = 0; served < rounds;) {
            if (zmq_poll(items.data(), count, -1) <= 0)
                return;
            for (std::size_t i = 0; i < items.size(); ++i)
                if (items[i].revents & ZMQ_POLLIN) {
                    servers[i].send(servers[i].receive(ZMQ_DONTWAIT).value_or("nothing"));
                    ++served;
                }
        }
    });
    std::mt19937 random(1);
    for (int round = 0; round < rounds; ++round) {
        test_socket &client = clients[random() % count];
        client.send(std::to_string(round));
        EXPECT_EQ(client.receive(), std::to_string(round));
    }
    serving.join();
}

// ---- The descriptor of a socket ----

// It tells of changes only: what is there already has to be asked for.
TEST_P(asio_poller_over, the_descriptor_is_quiet_about_what_was_told) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, GetParam());
    const int fd = pull.get(ZMQ_FD);
    for (int round = 0; round < 50; ++round) {
        for (const char *text : {"one", "two", "three"})
            ASSERT_EQ(push.send(text), static_cast<int>(std::strlen(text)));
        for (const char *text : {"one", "two", "three"}) {
            while (!(pull.get(ZMQ_EVENTS) & ZMQ_POLLIN))
                ASSERT_TRUE(is_readable(fd, patience_ms)) << round;
            ASSERT_EQ(pull.receive(ZMQ_DONTWAIT), text);
        }
        // A last signal of what was seen already may still come.
        EXPECT_TRUE(eventually([&] { return !(pull.get(ZMQ_EVENTS) & ZMQ_POLLIN) && !is_readable(fd, 0); }));
    }
}

// The known trap: a send may take in the signal that input has come, so the events are asked for
// again.
TEST_P(asio_poller_over, input_that_comes_during_a_send_is_seen_in_the_events) {
    test_socket bound = zmq.socket(ZMQ_DEALER);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    connected(zmq, bound, peer, GetParam());
    constexpr int rounds = 500;
    std::thread echo([&] {
        for (int i = 0; i < rounds; ++i)
            if (const auto found = bound.receive())
                bound.send(*found);
    });
    const int fd = peer.get(ZMQ_FD);
    int received = 0;
    const auto take = [&] {
        while (peer.get(ZMQ_EVENTS) & ZMQ_POLLIN)
            EXPECT_EQ(peer.receive(ZMQ_DONTWAIT), std::to_string(received++));
    };
    for (int i = 0; i < rounds; ++i) {
        ASSERT_NE(peer.send(std::to_string(i)), -1);
        take();
    }
    while (received < rounds) {
        const bool is_signalled = is_readable(fd, patience_ms);
        const int before = received;
        take();
        ASSERT_TRUE(is_signalled || received > before) << received;
    }
    echo.join();
}

TEST_P(asio_poller_over, descriptors_of_many_sockets_work_in_an_epoll_set) {
    constexpr std::size_t count = 6;
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    ASSERT_GE(set, 0);
    std::vector<test_socket> pulls, pushes;
    for (std::size_t i = 0; i < count; ++i) {
        pulls.push_back(zmq.socket(ZMQ_PULL));
        pushes.push_back(zmq.socket(ZMQ_PUSH));
        connected(zmq, pulls.back(), pushes.back(), GetParam());
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.u64 = i;
        ASSERT_EQ(::epoll_ctl(set, EPOLL_CTL_ADD, pulls.back().get(ZMQ_FD), &wanted), 0);
    }
    constexpr std::size_t each = 100;
    std::thread sender([&] {
        for (std::size_t n = 0; n < each; ++n)
            for (test_socket &push : pushes)
                push.send(std::to_string(n));
    });
    std::vector<std::size_t> received(count, 0);
    const auto take = [&](std::size_t which) {
        while (pulls[which].get(ZMQ_EVENTS) & ZMQ_POLLIN)
            EXPECT_EQ(pulls[which].receive(ZMQ_DONTWAIT), std::to_string(received[which]++));
    };
    for (std::size_t i = 0; i < count; ++i)
        take(i);
    while (std::any_of(received.begin(), received.end(), [](std::size_t n) { return n < each; })) {
        epoll_event found[count];
        const int ready = ::epoll_wait(set, found, count, patience_ms);
        ASSERT_GT(ready, 0);
        for (int i = 0; i < ready; ++i)
            take(found[i].data.u64);
    }
    sender.join();
    ::close(set);
}

INSTANTIATE_TEST_SUITE_P(transports, asio_poller_over, ::testing::Values("tcp", "ipc"),
                         [](const auto &which) { return std::string(which.param); });

}  // namespace
