// The pipes of a socket: how they come and go, also where memory is short.
#include "socket/pipe_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "call_short_of_memory.hpp"
#include "core/platform.hpp"
#include "no_endpoints.hpp"
#include "socket/options.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

namespace zlink::test {
namespace {

class pipe_table_test : public ::testing::Test {
protected:
    std::unique_ptr<socket> make(socket_type type) {
        return socket::make(default_settings(type),
                            {endpoints_, *blocking_, platform::steady_clock(), *random_, pool_});
    }
    /// The first gets its pipe at once, the second hears of it by mail.
    void join(socket &a, socket &b) {
        const pipe_ends ends = make_pipe(pool_, {.second = end_kind::socket});
        ends.first->set_events(a.inbox());
        ends.second->set_events(b.inbox());
        ASSERT_TRUE(b.inbox()->post({mailbox::command_kind::attach, ends.second, false}));
        ends.first->slot.endpoint = std::make_shared<const std::string>("inproc://b");
        a.attach(ends.first, true);
    }
    static error receive(socket &from, std::string &out) {
        char buffer[64];
        std::size_t size = 0;
        const error e = from.receive(buffer, sizeof buffer, size, ZMQ_DONTWAIT);
        out.assign(buffer, failed(e) ? 0 : size);
        return e;
    }
    static std::string next(socket &from) {
        std::string got;
        (void)receive(from, got);
        return got;
    }
    static error send(socket &to, std::string_view body) { return to.send(as_bytes(body), ZMQ_DONTWAIT); }
    static short events(socket &of) {
        short ready = 0;
        EXPECT_EQ(of.events(ZMQ_POLLIN | ZMQ_POLLOUT, ready, true), error::none);
        return ready;
    }

    no_endpoints endpoints_;
    std::unique_ptr<waiter> blocking_ = platform::make_waiter(platform::steady_clock());
    std::unique_ptr<random_source> random_ = platform::make_random_source();
    std::shared_ptr<chunk_pool> pool_ = chunk_pool::make();
};

TEST_F(pipe_table_test, closes_its_pipes_with_its_linger) {
    const auto a = make(socket_type::pair);
    const pipe_ends ends = make_pipe(pool_, {.second = end_kind::socket});
    ends.first->set_events(a->inbox());
    a->attach(ends.first, true);
    const int linger_ms = 17;
    ASSERT_EQ(a->set_option(ZMQ_LINGER, &linger_ms, sizeof linger_ms), error::none);
    EXPECT_EQ(send(*a, "last words"), error::none);
    a->close();
    EXPECT_TRUE(ends.second->is_peer_closed());
    EXPECT_EQ(ends.second->peer_linger_ms(), 17);
    EXPECT_TRUE(ends.second->has_input());
}

TEST_F(pipe_table_test, reads_what_a_peer_left_and_then_drops_its_pipe) {
    const auto a = make(socket_type::pair);
    const auto b = make(socket_type::pair);
    join(*a, *b);
    EXPECT_EQ(send(*a, "left"), error::none);
    a->close();
    EXPECT_EQ(next(*b), "left");
    EXPECT_EQ(next(*b), "");
    EXPECT_EQ(send(*b, "x"), error::again);
    const auto c = make(socket_type::pair);
    join(*c, *b);
    EXPECT_EQ(send(*c, "next"), error::none);
    EXPECT_EQ(next(*b), "next");
}

TEST_F(pipe_table_test, survives_a_pipe_that_was_closed_before_it_was_attached) {
    const auto b = make(socket_type::pull);
    for (int i = 0; i < 3; ++i) {
        const auto a = make(socket_type::push);
        join(*a, *b);
        EXPECT_EQ(send(*a, std::to_string(i)), error::none);
    }
    for (const char *expected : {"0", "1", "2"})
        EXPECT_EQ(next(*b), expected);
    EXPECT_EQ(next(*b), "");
}

TEST_F(pipe_table_test, ends_the_pipes_of_an_endpoint) {
    const auto a = make(socket_type::push);
    const auto b = make(socket_type::pull);
    join(*a, *b);
    EXPECT_EQ(a->disconnect("inproc://other"), error::no_entry);
    EXPECT_EQ(send(*a, "x"), error::none);
    EXPECT_EQ(a->disconnect("inproc://b"), error::none);
    EXPECT_EQ(send(*a, "y"), error::again);
    EXPECT_EQ(next(*b), "x");
    EXPECT_EQ(next(*b), "");
}

// ---- where memory is short ----

TEST_F(pipe_table_test, leaves_new_peers_to_the_next_call) {
    for (const socket_type type : {socket_type::pull, socket_type::router, socket_type::dealer}) {
        int failures = 0;
        for (unsigned nth = 1; nth <= most_allocations; ++nth) {
            auto here = make(type), first = make(socket_type::dealer), second = make(socket_type::dealer);
            join(*first, *here);
            join(*second, *here);
            short ready = 0;
            failures += fails_with_short_memory(nth, [&] { (void)here->events(ZMQ_POLLIN, ready, true); });
            ASSERT_EQ(first->send(as_bytes("1"), ZMQ_DONTWAIT), error::none);
            ASSERT_EQ(second->send(as_bytes("2"), ZMQ_DONTWAIT), error::none);
            std::string all;
            for (std::string got; !failed(receive(*here, got));)
                all += got.size() == 1 ? got : "";
            std::sort(all.begin(), all.end());
            ASSERT_EQ(all, "12") << nth;
        }
        EXPECT_GE(failures, 2);
    }
}

TEST_F(pipe_table_test, counts_what_a_peer_left_that_was_never_attached) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        const auto here = make(socket_type::pull), there = make(socket_type::push);
        join(*there, *here);
        ASSERT_EQ(send(*there, "1"), error::none);
        ASSERT_EQ(send(*there, "2"), error::none);
        there->close();  // what it has sent is the other one's from here on
        failures += fails_with_short_memory(nth, [&] { here->close(); });
        ASSERT_EQ(here->counts()->get(counter::dropped_unread), 2u) << nth;
        ASSERT_EQ(there->counts()->get(counter::dropped_peer_gone), 0u) << nth;
    }
    EXPECT_GE(failures, 1);
}

TEST_F(pipe_table_test, counts_what_comes_for_a_socket_that_closes) {
    const auto here = make(socket_type::pull), there = make(socket_type::push);
    const pipe_ends ends = make_pipe(pool_, {.second = end_kind::socket});
    ends.first->set_events(there->inbox());
    ends.second->set_events(here->inbox());
    there->attach(ends.first, true);
    ASSERT_EQ(send(*there, "1"), error::none);
    there->close();
    endpoints_.at_close = [&] {
        EXPECT_TRUE(here->inbox()->post({mailbox::command_kind::attach, ends.second, false}));
    };
    here->close();
    EXPECT_EQ(here->counts()->get(counter::dropped_unread), 1u);
}

TEST_F(pipe_table_test, hears_of_a_peer_though_there_was_none_to_say_so) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        auto here = make(socket_type::pull), there = make(socket_type::push);
        join(*there, *here);
        ASSERT_EQ(next(*here), "");
        ASSERT_FALSE(here->arm(ZMQ_POLLIN));
        error e = error::none;
        failures += fails_with_short_memory(nth, [&] { e = there->send(as_bytes("1"), ZMQ_DONTWAIT); });
        if (failed(e)) {
            ASSERT_EQ(there->send(as_bytes("1"), ZMQ_DONTWAIT), error::none);
        }
        ASSERT_EQ(next(*here), "1") << nth;
    }
    EXPECT_GE(failures, 1);
}

TEST_F(pipe_table_test, hears_of_the_end_of_a_peer_though_there_was_none_to_say_so) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        auto here = make(socket_type::push), there = make(socket_type::pull);
        join(*there, *here);
        ASSERT_EQ(events(*here), ZMQ_POLLOUT);
        failures += fails_with_short_memory(nth, [&] { there->close(); });
        ASSERT_EQ(events(*here), 0) << nth;
    }
    EXPECT_GE(failures, 1);
}

}  // namespace
}  // namespace zlink::test
