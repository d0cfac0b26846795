// The application's half of a socket, on pipes that the test joins itself: waiting, options, the
// life of pipes.
#include "socket/socket.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "c_calls.hpp"
#include "core/platform.hpp"
#include "socket/options.hpp"
#include "socket/poll_set.hpp"

namespace zlink {
namespace {

class no_endpoints : public endpoint_service {
public:
    error bind(socket &, const std::string &endpoint, std::string &actual) override {
        actual = endpoint;
        return error::none;
    }
    error connect(socket &, const std::string &, std::string &) override { return error::invalid; }
    error unbind(socket &, const std::string &) override { return error::no_entry; }
    error disconnect(socket &self, const std::string &endpoint) override {
        return self.detach_endpoint(endpoint) ? error::none : error::no_entry;
    }
    error list_peers(const socket &, std::vector<peer_view> &) override { return error::none; }
    error cut_peer(socket &, std::uint64_t) override { return error::no_entry; }
    void stop_listening(socket &) noexcept override {
        if (at_stop_listening)
            at_stop_listening();
    }
    void close_all(socket &) noexcept override { ++closed; }
    error make_monitor_socket(const std::string &, std::unique_ptr<socket> &out) override {
        out = make();
        publisher = out.get();
        return error::none;
    }

    std::function<std::unique_ptr<socket>()> make;
    socket *publisher = nullptr;
    std::function<void()> at_stop_listening;
    int closed = 0;
};

class socket_test : public ::testing::Test {
protected:
    socket_test() {
        endpoints.make = [this] { return make(socket_type::pair); };
    }
    std::unique_ptr<socket> make(socket_type type) {
        return socket::make(default_settings(type),
                            {endpoints, *blocking, platform::steady_clock(), *random, pool});
    }
    /// Joins two sockets as an inproc connect does: `b` hears of it by mail.
    void join(socket &a, socket &b, std::uint64_t hwm = 0) {
        const pipe_ends ends = make_pipe(
            pool, {.first_to_second_hwm = hwm, .second_to_first_hwm = hwm, .second = end_kind::socket});
        ends.first->set_events(a.inbox());
        ends.second->set_events(b.inbox());
        ends.first->slot.endpoint = std::make_shared<const std::string>("inproc://b");
        EXPECT_TRUE(b.inbox()->post({mailbox::command_kind::attach, ends.second, false}));
        a.attach(ends.first, true);
    }
    static error send(socket &s, std::string_view body, int flags = ZMQ_DONTWAIT) {
        return test::send_as_in_c(s, as_bytes(body), flags);
    }
    static std::string receive(socket &s, int flags = ZMQ_DONTWAIT) {
        char buffer[64];
        std::size_t size = 0;
        const error e = test::receive_as_in_c(s, buffer, sizeof buffer, size, flags);
        return failed(e) ? describe(to_errno(e)) : std::string(buffer, std::min(size, sizeof buffer));
    }
    static int option(socket &s, int number) {
        int value = -1;
        std::size_t size = sizeof value;
        EXPECT_EQ(s.get_option(number, &value, &size), error::none);
        return value;
    }
    static void set(socket &s, int number, int value) {
        EXPECT_EQ(s.set_option(number, &value, sizeof value), error::none);
    }
    bool is_raised(int descriptor) {
        wait_item item{descriptor, ZMQ_POLLIN, 0, nullptr, 0};
        return blocking->wait({&item, 1}, time_point::min()) == error::none;
    }

    no_endpoints endpoints;
    std::unique_ptr<waiter> blocking = platform::make_waiter(platform::steady_clock());
    std::unique_ptr<random_source> random = platform::make_random_source();
    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
};

TEST_F(socket_test, passes_frames_and_says_whether_more_follow) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    EXPECT_EQ(send(*a, "one", ZMQ_SNDMORE), error::none);
    EXPECT_EQ(receive(*b), describe(EAGAIN)) << "half a message";
    EXPECT_EQ(send(*a, "two"), error::none);
    EXPECT_EQ(receive(*b), "one");
    EXPECT_EQ(option(*b, ZMQ_RCVMORE), 1);
    EXPECT_EQ(receive(*b), "two");
    EXPECT_EQ(option(*b, ZMQ_RCVMORE), 0);
}

/// With one peer alone, messages of a burst go past the pattern. It must be asked again as soon as
/// it has a choice.
TEST_F(socket_test, deals_messages_out_once_a_second_peer_is_there) {
    auto push = make(socket_type::push), first = make(socket_type::pull), second = make(socket_type::pull);
    join(*push, *first);
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(send(*push, std::to_string(i)), error::none);
        ASSERT_EQ(receive(*first), std::to_string(i));
    }
    join(*push, *second);
    for (const char *body : {"a", "b", "c", "d"})
        ASSERT_EQ(send(*push, body), error::none);
    for (const char *body : {"a", "c"})
        EXPECT_EQ(receive(*first), body);
    for (const char *body : {"b", "d"})
        EXPECT_EQ(receive(*second), body);
}

TEST_F(socket_test, keeps_long_and_short_messages_and_parts_in_order) {
    auto a = make(socket_type::pair), b = make(socket_type::pair);
    join(*a, *b);
    const std::string large(300, 'x');
    for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(send(*a, std::to_string(i)), error::none);
        if (i % 10 == 0) {
            ASSERT_EQ(send(*a, "part", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
            ASSERT_EQ(send(*a, "end"), error::none);
        }
        if (i % 7 == 0) {
            ASSERT_EQ(send(*a, large), error::none);
        }
    }
    for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(receive(*b), std::to_string(i));
        ASSERT_EQ(option(*b, ZMQ_RCVMORE), 0);
        if (i % 10 == 0) {
            ASSERT_EQ(receive(*b), "part");
            ASSERT_EQ(option(*b, ZMQ_RCVMORE), 1);
            ASSERT_EQ(receive(*b), "end");
        }
        if (i % 7 == 0) {
            ASSERT_EQ(receive(*b), large.substr(0, 64));
        }
    }
}

TEST_F(socket_test, matches_topics_again_when_they_change_in_a_stream) {
    auto pub = make(socket_type::pub), all = make(socket_type::sub), some = make(socket_type::sub);
    ASSERT_EQ(all->set_option(ZMQ_SUBSCRIBE, "", 0), error::none);
    ASSERT_EQ(some->set_option(ZMQ_SUBSCRIBE, "b", 1), error::none);
    join(*pub, *all);
    const auto burst = [&] {
        for (int i = 0; i < 200; ++i) {
            ASSERT_EQ(send(*pub, "a"), error::none);
            ASSERT_EQ(receive(*all), "a");
        }
    };
    ASSERT_NE(receive(*all), "a");  // takes in its pipe
    burst();
    join(*pub, *some);
    ASSERT_NE(receive(*some), "a");
    burst();
    ASSERT_EQ(send(*pub, "b"), error::none);
    EXPECT_EQ(receive(*all), "b");
    EXPECT_EQ(receive(*some), "b");
    burst();
    ASSERT_EQ(all->set_option(ZMQ_UNSUBSCRIBE, "", 0), error::none);
    for (const char *topic : {"a", "b", "a", "b"})
        ASSERT_EQ(send(*pub, topic), error::none);
    EXPECT_EQ(receive(*some), "b");
    EXPECT_EQ(receive(*some), "b");
    ASSERT_EQ(all->set_option(ZMQ_SUBSCRIBE, "c", 1), error::none);
    ASSERT_EQ(send(*pub, "c"), error::none);
    EXPECT_EQ(receive(*all), "c");
}

/// ROUTER: addresses never enter the pipe while there is one peer. Whatever comes between an
/// address and the rest of its message must find the pattern where it would be.
class routed : public socket_test {
protected:
    routed() {
        set(*a, ZMQ_ROUTER_MANDATORY, 1);
        join(*a, *b);
    }
    /// Names the peers as sessions do, in band.
    void join(socket &first, socket &second) {
        const pipe_ends ends = make_pipe(pool, {.second = end_kind::socket});
        ends.first->set_events(first.inbox());
        ends.second->set_events(second.inbox());
        hello(*ends.first, "A");
        hello(*ends.second, "B");
        EXPECT_TRUE(second.inbox()->post({mailbox::command_kind::attach, ends.second, false}));
        first.attach(ends.first, true);
    }
    static void hello(pipe_end &from, const std::string &id) {
        EXPECT_EQ(from.write(frame_flag::command, as_bytes("\2" + id)), error::none);
        from.publish();
    }
    void send_to_b(std::string_view body) {
        ASSERT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
        ASSERT_EQ(send(*a, body), error::none);
    }
    void expect_from_a(std::string_view body) {
        ASSERT_EQ(receive(*b), "A");
        ASSERT_EQ(receive(*b), body);
    }
    /// Until nothing but short messages has gone this way for long.
    void burst() {
        for (int i = 0; i < 200; ++i) {
            send_to_b(std::to_string(i));
            expect_from_a(std::to_string(i));
        }
    }

    std::unique_ptr<socket> a = make(socket_type::router), b = make(socket_type::router);
};

TEST_F(routed, says_that_more_follows_the_address) {
    burst();
    for (int i = 0; i < 3; ++i) {
        send_to_b("x");
        EXPECT_EQ(receive(*b), "A");
        EXPECT_EQ(option(*b, ZMQ_RCVMORE), 1);
        EXPECT_EQ(receive(*b), "x");
        EXPECT_EQ(option(*b, ZMQ_RCVMORE), 0);
    }
}

TEST_F(routed, cuts_an_address_that_does_not_fit) {
    burst();
    send_to_b("xyz");
    send_to_b("next");
    char buffer[3] = {};
    std::size_t size = 0;
    EXPECT_EQ(test::receive_as_in_c(*b, buffer, 0, size, 0), error::none);
    EXPECT_EQ(size, 1u);
    EXPECT_EQ(test::receive_as_in_c(*b, buffer, 2, size, 0), error::none);
    EXPECT_EQ(size, 3u);
    EXPECT_STREQ(buffer, "xy");
    expect_from_a("next");
}

TEST_F(routed, goes_on_behind_the_address_whatever_comes_between) {
    burst();
    ASSERT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    EXPECT_EQ(option(*a, ZMQ_EVENTS), ZMQ_POLLOUT);
    ASSERT_EQ(send(*a, "1", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    ASSERT_EQ(send(*a, std::string(10000, 'x')), error::none);
    EXPECT_EQ(receive(*b), "A");
    EXPECT_EQ(receive(*b), "1");
    EXPECT_EQ(receive(*b), std::string(64, 'x'));
    burst();
    ASSERT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    EXPECT_NE(receive(*a), "B");  // nothing is there
    ASSERT_EQ(send(*a, "2"), error::none);
    EXPECT_EQ(receive(*b), "A");
    EXPECT_EQ(option(*b, ZMQ_EVENTS), ZMQ_POLLIN | ZMQ_POLLOUT);
    EXPECT_EQ(receive(*b), "2");
    burst();
    send_to_b("3");
    EXPECT_EQ(receive(*b), "A");
    ASSERT_EQ(send(*b, "A", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    ASSERT_EQ(send(*b, "back"), error::none);
    EXPECT_EQ(receive(*a), "B");
    EXPECT_EQ(receive(*a), "back");
    EXPECT_EQ(receive(*b), "3");
    burst();
}

TEST_F(routed, does_not_know_an_address_that_is_not_there) {
    burst();
    EXPECT_EQ(send(*a, "C", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::host_unreachable);
    EXPECT_EQ(send(*a, "BB", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::host_unreachable);
    ASSERT_EQ(send(*a, "B"), error::none);  // an address and no message
    burst();
}

TEST_F(routed, drops_the_rest_of_a_message_whose_peer_goes_behind_the_address) {
    burst();
    ASSERT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    b->close();
    EXPECT_NE(receive(*a), "");
    EXPECT_EQ(send(*a, "B"), error::none);
    EXPECT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::host_unreachable);
}

TEST_F(routed, gives_what_a_peer_left_behind_its_address) {
    burst();
    send_to_b("x");
    send_to_b("y");
    EXPECT_EQ(receive(*b), "A");
    a->close();
    EXPECT_EQ(receive(*b), "x");
    expect_from_a("y");
}

TEST_F(routed, keeps_messages_apart_when_a_second_peer_comes_behind_an_address) {
    burst();
    auto c = make(socket_type::router);
    send_to_b("x");
    EXPECT_EQ(receive(*b), "A");
    ASSERT_EQ(send(*a, "B", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    const pipe_ends ends = make_pipe(pool, {.second = end_kind::socket});
    ends.first->set_events(b->inbox());
    ends.second->set_events(c->inbox());
    hello(*ends.first, "B2");
    hello(*ends.second, "C");
    c->attach(ends.second, false);
    b->attach(ends.first, true);
    ASSERT_EQ(send(*c, "B2", ZMQ_SNDMORE | ZMQ_DONTWAIT), error::none);
    ASSERT_EQ(send(*c, "z"), error::none);
    ASSERT_EQ(send(*a, "y"), error::none);
    EXPECT_EQ(receive(*b), "x");
    std::vector<std::string> rest;
    for (int i = 0; i < 4; ++i)
        rest.push_back(receive(*b));
    EXPECT_TRUE(rest == (std::vector<std::string>{"A", "y", "C", "z"}) ||
                rest == (std::vector<std::string>{"C", "z", "A", "y"}));
}

/// Whatever an XPUB receives may end the subscription that let its messages pass the pattern by.
TEST_F(socket_test, matches_topics_again_after_a_receive_that_reads_on) {
    auto xpub = make(socket_type::xpub), xsub = make(socket_type::xsub);
    set(*xpub, ZMQ_RCVHWM, 1);
    join(*xsub, *xpub);
    ASSERT_EQ(send(*xsub, "\1"), error::none);
    ASSERT_EQ(receive(*xpub), "\1");
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(send(*xpub, "a"), error::none);
        ASSERT_EQ(receive(*xsub), "a");
    }
    for (const std::string &upstream : {std::string("x"), std::string("y"), std::string(1, '\0')})
        ASSERT_EQ(send(*xsub, upstream), error::none);
    ASSERT_EQ(send(*xpub, "b"), error::none);
    ASSERT_EQ(receive(*xsub), "b");
    ASSERT_EQ(receive(*xpub), "x");
    ASSERT_EQ(receive(*xpub), "y");  // makes room for the end of the subscription
    ASSERT_EQ(send(*xpub, "c"), error::none);
    EXPECT_NE(receive(*xsub), "c");
}

TEST_F(socket_test, tells_the_full_size_of_a_frame_that_does_not_fit) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(send(*a, "abcdef"), error::none);
    EXPECT_EQ(receive(*b), "abcdef");
    for (const std::size_t room : {2, 0, 6}) {
        char buffer[7] = {};
        std::size_t size = 0;
        EXPECT_EQ(test::receive_as_in_c(*b, buffer, room, size, 0), error::none);
        EXPECT_EQ(size, 6u);
        EXPECT_EQ(buffer, std::string("abcdef").substr(0, room));
    }
    EXPECT_EQ(receive(*b), "abcdef");
}

TEST_F(socket_test, empties_a_message_on_success_and_leaves_it_on_failure) {
    const auto a = make(socket_type::push);
    const auto b = make(socket_type::pull);
    for (const std::size_t size : {10u, 1000u, 100000u}) {
        message m;
        EXPECT_EQ(m.init_size(size), error::none);
        EXPECT_EQ(a->send(m, ZMQ_DONTWAIT), size == 10 ? error::again : error::none);
        if (size == 10) {
            EXPECT_EQ(m.size(), size);
            join(*a, *b);
            EXPECT_EQ(a->send(m, ZMQ_DONTWAIT), error::none);
        }
        EXPECT_EQ(m.size(), 0u);
        EXPECT_EQ(b->receive(m, ZMQ_DONTWAIT), error::none);
        EXPECT_EQ(m.size(), size);
        EXPECT_EQ(m.close(), error::none);
    }
}

TEST_F(socket_test, gives_a_large_lent_body_back_when_the_receiver_is_done_with_it) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    std::string memory(20000, 'x');
    bool is_free = false;
    const auto note = [](void *, void *hint) { *static_cast<bool *>(hint) = true; };
    message m;
    EXPECT_EQ(m.init_external(memory.data(), memory.size(), note, &is_free), error::none);
    EXPECT_EQ(a->send(m, 0), error::none);
    EXPECT_EQ(b->receive(m, ZMQ_DONTWAIT), error::none);
    EXPECT_EQ(static_cast<void *>(m.data()), memory.data()) << "not copied";
    EXPECT_FALSE(is_free);
    EXPECT_EQ(m.close(), error::none);
    EXPECT_TRUE(is_free);
}

TEST_F(socket_test, sleeps_until_a_message_comes) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    std::thread sender([&] { EXPECT_EQ(send(*a, "news"), error::none); });
    EXPECT_EQ(receive(*b, 0), "news");
    sender.join();
}

TEST_F(socket_test, sleeps_until_there_is_room) {
    const auto a = make(socket_type::push);
    const auto b = make(socket_type::pull);
    join(*a, *b, 2);
    EXPECT_EQ(send(*a, "1"), error::none);
    EXPECT_EQ(send(*a, "2"), error::none);
    EXPECT_EQ(send(*a, "3"), error::again);
    std::thread reader([&] {
        EXPECT_EQ(receive(*b, 0), "1");
        EXPECT_EQ(receive(*b, 0), "2");
        EXPECT_EQ(receive(*b, 0), "3");
    });
    EXPECT_EQ(send(*a, "3", 0), error::none);
    reader.join();
}

TEST_F(socket_test, gives_up_when_the_time_is_up) {
    const auto b = make(socket_type::pair);
    set(*b, ZMQ_RCVTIMEO, 5);
    set(*b, ZMQ_SNDTIMEO, 5);
    const time_point begin = platform::steady_clock().now();
    EXPECT_EQ(receive(*b, 0), describe(EAGAIN));
    EXPECT_EQ(send(*b, "x", 0), error::again);
    EXPECT_GE(platform::steady_clock().now() - begin, std::chrono::milliseconds(10));
}

TEST_F(socket_test, ends_a_blocked_call_when_it_is_stopped) {
    const auto b = make(socket_type::pair);
    std::thread ender([&] { b->stop(); });
    EXPECT_EQ(receive(*b, 0), describe(ETERM));
    ender.join();
    EXPECT_EQ(send(*b, "x"), error::terminated);
    int value = 0;
    std::size_t size = sizeof value;
    EXPECT_EQ(b->get_option(ZMQ_TYPE, &value, &size), error::terminated);
    EXPECT_EQ(b->bind("inproc://x"), error::terminated);
    b->close();
    EXPECT_EQ(endpoints.closed, 1);
}

/// A peer whose connection ended first would connect to the dying socket again.
TEST_F(socket_test, stops_listening_before_it_ends_its_connections) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    std::vector<error> meanwhile;
    endpoints.at_stop_listening = [&] { meanwhile.push_back(send(*b, "x")); };
    a->close();
    EXPECT_EQ(meanwhile, std::vector{error::none});
    EXPECT_EQ(send(*b, "x"), error::again) << "a PAIR alone";
    endpoints.at_stop_listening = nullptr;
}

TEST_F(socket_test, remembers_the_endpoint_bound_last) {
    const auto a = make(socket_type::pair);
    EXPECT_EQ(a->bind("inproc://name"), error::none);
    char text[32];
    std::size_t size = sizeof text;
    EXPECT_EQ(a->get_option(ZMQ_LAST_ENDPOINT, text, &size), error::none);
    EXPECT_STREQ(text, "inproc://name");
    EXPECT_EQ(size, sizeof "inproc://name");
    size = 4;
    EXPECT_EQ(a->get_option(ZMQ_LAST_ENDPOINT, text, &size), error::invalid);
}

TEST_F(socket_test, raises_its_descriptor_for_news_and_lowers_it_when_asked_for_events) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b, 1);
    const int descriptor = option(*b, ZMQ_FD);
    EXPECT_EQ(option(*b, ZMQ_FD), descriptor);
    EXPECT_EQ(option(*b, ZMQ_EVENTS), ZMQ_POLLOUT);
    EXPECT_FALSE(is_raised(descriptor));

    EXPECT_EQ(send(*a, "x"), error::none);
    EXPECT_TRUE(is_raised(descriptor));
    EXPECT_EQ(option(*b, ZMQ_EVENTS), ZMQ_POLLIN | ZMQ_POLLOUT);
    EXPECT_FALSE(is_raised(descriptor));
    EXPECT_EQ(receive(*b), "x");
    EXPECT_EQ(receive(*b), describe(EAGAIN)) << "which arms as ZMQ_EVENTS does";
    EXPECT_EQ(send(*a, "y"), error::none);
    EXPECT_TRUE(is_raised(descriptor));
    EXPECT_EQ(receive(*b), "y");

    EXPECT_EQ(send(*b, "full"), error::none);
    EXPECT_EQ(send(*b, "too much"), error::again);
    EXPECT_EQ(option(*b, ZMQ_EVENTS), 0);
    EXPECT_FALSE(is_raised(descriptor));
    EXPECT_EQ(receive(*a), "full");
    EXPECT_TRUE(is_raised(descriptor));
    EXPECT_EQ(option(*b, ZMQ_EVENTS), ZMQ_POLLOUT);
}

TEST_F(socket_test, raises_a_fresh_descriptor_when_there_is_something_already) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    EXPECT_EQ(send(*a, "x"), error::none);
    EXPECT_TRUE(is_raised(option(*b, ZMQ_FD)));
}

TEST_F(socket_test, keeps_events_for_a_reader_that_comes_late) {
    const auto self = make(socket_type::pair);
    EXPECT_EQ(self->start_monitor("tcp://127.0.0.1:1", ZMQ_EVENT_ALL), error::protocol_not_supported);
    EXPECT_EQ(self->start_monitor("rubbish", ZMQ_EVENT_ALL), error::invalid);
    EXPECT_EQ(self->start_monitor("inproc://m", ZMQ_EVENT_ALL & ~ZMQ_EVENT_ACCEPTED), error::none);
    self->events_sink()->emit({event_kind::accepted, 1, "unwanted"});
    self->events_sink()->emit({event_kind::listening, 7, "tcp://here"});

    const auto reader = make(socket_type::pair);
    join(*reader, *endpoints.publisher);
    const auto next = [&] {
        std::uint16_t kind = 0;
        std::uint32_t value = 0;
        std::uint8_t record[6] = {};
        std::size_t size = 0;
        EXPECT_EQ(reader->receive(record, sizeof record, size, ZMQ_DONTWAIT), error::none);
        std::memcpy(&kind, record, 2);
        std::memcpy(&value, record + 2, 4);
        return std::to_string(kind) + " " + std::to_string(value) + " " + receive(*reader);
    };
    EXPECT_EQ(next(), "8 7 tcp://here");
    self->events_sink()->emit({event_kind::disconnected, 9, "there"});
    EXPECT_EQ(next(), "512 9 there");
    self->close();
    EXPECT_EQ(next(), "1024 0 ");
    EXPECT_EQ(receive(*reader), describe(EAGAIN));
}

// ---- Waiting for several ------------------------------------------------------------------------

TEST_F(socket_test, wait_for_any_reports_each_item_that_is_ready) {
    const auto a = make(socket_type::push);
    const auto b = make(socket_type::pull);
    const auto idle = make(socket_type::pull);
    join(*a, *b, 1);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    watched items[] = {{a.get(), -1, ZMQ_POLLIN | ZMQ_POLLOUT, 0},
                       {b.get(), -1, ZMQ_POLLIN, 0},
                       {idle.get(), -1, ZMQ_POLLIN, 0},
                       {nullptr, ends[0], ZMQ_POLLIN, 0},
                       {nullptr, ends[1], ZMQ_POLLOUT, 0}};
    std::size_t count = 9;
    EXPECT_EQ(wait_for_any(items, -1, count), error::none);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(items[0].ready, ZMQ_POLLOUT);
    EXPECT_EQ(items[1].ready, 0);
    EXPECT_EQ(items[4].ready, ZMQ_POLLOUT);

    EXPECT_EQ(send(*a, "x"), error::none);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(wait_for_any({items, 4}, 0, count), error::none);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(items[0].ready, 0);
    EXPECT_EQ(items[1].ready, ZMQ_POLLIN);
    EXPECT_EQ(items[2].ready, 0);
    EXPECT_EQ(items[3].ready, ZMQ_POLLIN);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(socket_test, wait_for_any_sleeps_on_sockets_and_descriptors_together) {
    const auto a = make(socket_type::push);
    const auto b = make(socket_type::pull);
    join(*a, *b);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    watched items[] = {{nullptr, ends[0], ZMQ_POLLIN, 0}, {b.get(), -1, ZMQ_POLLIN, 0}};
    std::size_t count = 0;
    std::thread first([&] { EXPECT_EQ(send(*a, "x"), error::none); });
    EXPECT_EQ(wait_for_any(items, -1, count), error::none);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(items[1].ready, ZMQ_POLLIN);
    first.join();
    EXPECT_EQ(receive(*b), "x");

    std::thread second([&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); });
    EXPECT_EQ(wait_for_any(items, -1, count), error::none);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(items[0].ready, ZMQ_POLLIN);
    EXPECT_EQ(items[1].ready, 0);
    second.join();
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(socket_test, wait_for_any_ends_with_the_time_or_the_context) {
    const auto b = make(socket_type::pull);
    watched items[] = {{b.get(), -1, ZMQ_POLLIN, 0}};
    std::size_t count = 9;
    EXPECT_EQ(wait_for_any(items, 0, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait_for_any(items, 5, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait_for_any({}, 5, count), error::none);
    EXPECT_EQ(count, 0u);
    std::thread ender([&] { b->stop(); });
    EXPECT_EQ(wait_for_any(items, -1, count), error::terminated);
    ender.join();
}

}  // namespace
}  // namespace zlink
