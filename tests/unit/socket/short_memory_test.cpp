// Patterns whose allocations fail: what was taken from a pipe is not lost, and a pipe that cannot
// be kept is closed.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>

#include "call_short_of_memory.hpp"
#include "core/platform.hpp"
#include "pattern_bench.hpp"
#include "socket/options.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

namespace zlink::test {
namespace {

TEST(short_memory, leaves_a_request_whole) {
    const frames envelope{std::string(30, 'a'), std::string(90, 'b'), std::string(300, 'c'), ""};
    frames request = envelope, reply = envelope;
    request.push_back("question");
    reply.push_back("answer");
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::rep);
        fake_peer a = bench.attach();
        write_message(*a.far, request);
        failures += fails_with_short_memory(nth, [&] { (void)bench.subject->has_input(); });
        ASSERT_EQ(bench.receive(), frames{"question"}) << nth;
        ASSERT_EQ(bench.send({"answer"}), error::none);
        ASSERT_EQ(read_messages(*a.far), std::vector<frames>{reply}) << nth;
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, forgets_half_an_envelope_with_its_peer) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"short", std::string(500, 'x'), "", "lost"});
    EXPECT_TRUE(fails_with_short_memory(2, [&] { (void)bench.subject->has_input(); }));
    bench.subject->detach(*a.near);
    write_message(*b.far, {"id", "", "question"});
    EXPECT_EQ(bench.receive(), frames{"question"});
    EXPECT_EQ(bench.send({"answer"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"id", "", "answer"}}));
}

// ---- ROUTER ----

const std::string name(40, 'n');

void expect_named(pattern_bench &bench, fake_peer &peer, unsigned nth) {
    EXPECT_EQ(bench.receive(), (frames{name, "1"})) << nth;
    EXPECT_EQ(bench.send({name, "2"}), error::none) << nth;
    EXPECT_EQ(read_messages(*peer.far), (std::vector<frames>{{"2"}})) << nth;
}

TEST(short_memory, names_a_peer_that_it_was_too_short_for_at_first) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::router);
        fake_peer a = bench.network.connect();
        write_command(*a.far, in_band::hello, name);
        write_message(*a.far, {"1"});
        failures += fails_with_short_memory(nth, [&] { bench.subject->attach(a.near, false); });
        if (bench.must_rescan)
            bench.subject->on_readable(*a.near);
        expect_named(bench, a, nth);
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, names_peers_whose_hello_comes_when_it_is_short) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::router);
        fake_peer a = bench.attach(), b = bench.attach();
        write_command(*a.far, in_band::hello, name);
        write_message(*a.far, {"1"});
        write_message(*b.far, {"from b"});
        failures += fails_with_short_memory(nth, [&] { bench.subject->on_readable(*a.near); });
        bench.subject->on_readable(*b.near);
        bench.subject->on_readable(*a.near);
        const auto early = bench.receive();
        ASSERT_TRUE(early) << nth;
        EXPECT_EQ(early->back(), "from b") << nth;
        expect_named(bench, a, nth);
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, keeps_the_first_message_of_a_peer_without_a_hello) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::router);
        fake_peer a = bench.attach();
        write_message(*a.far, {"1", "2"});
        failures += fails_with_short_memory(nth, [&] { bench.subject->on_readable(*a.near); });
        bench.subject->on_readable(*a.near);
        const auto got = bench.receive();
        ASSERT_TRUE(got) << nth;
        EXPECT_EQ(frames(got->begin() + 1, got->end()), (frames{"1", "2"})) << nth;
        EXPECT_EQ(bench.receive(), std::nullopt) << nth;
    }
    EXPECT_GE(failures, 1);
}

// ---- PUB, XPUB, SUB ----

const std::string topic(40, 't');

TEST(short_memory, keeps_a_subscription_that_it_was_too_short_for) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::xpub);
        fake_peer a = bench.attach(), b = bench.attach();
        write_command(*a.far, in_band::subscribe, topic);
        write_command(*a.far, in_band::subscribe, "other");
        write_command(*b.far, in_band::subscribe, topic);
        bench.subject->on_readable(*a.near);
        failures += fails_with_short_memory(nth, [&] { bench.go_on(); });
        bench.subject->on_readable(*b.near);
        bench.subject->on_readable(*a.near);
        EXPECT_EQ(bench.receive(), frames{"\1" + topic}) << nth;
        EXPECT_EQ(bench.receive(), frames{"\1other"}) << nth;
        EXPECT_EQ(bench.receive(), std::nullopt) << nth;
        ASSERT_EQ(bench.send({topic}), error::none);
        EXPECT_EQ(read_messages(*a.far), std::vector<frames>{{topic}}) << nth;
        EXPECT_EQ(read_messages(*b.far), std::vector<frames>{{topic}}) << nth;
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, reads_what_was_written_before_a_publisher_had_memory_for_it) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::pub);
        fake_peer a = bench.network.connect();
        write_command(*a.far, in_band::subscribe, topic);
        const auto attach = [&] { bench.subject->attach(a.near, false); };
        bool is_refused = true;
        failures += fails_with_short_memory(nth, [&] {
            attach();
            is_refused = false;
        });
        if (is_refused) {
            bench.subject->detach(*a.near);
            attach();
        }
        failures += fails_with_short_memory(nth, [&] { bench.go_on(); });
        bench.go_on();
        ASSERT_EQ(bench.send({topic}), error::none);
        EXPECT_EQ(read_messages(*a.far), std::vector<frames>{{topic}}) << nth;
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, lets_a_peer_go_whose_last_words_it_was_too_short_for) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::xpub);
        fake_peer a = bench.attach();
        write_message(*a.far, {std::string(40, 'u'), std::string(40, 'v')});
        a.far->close();
        bench.done.reserve(1);
        failures += fails_with_short_memory(nth, [&] {
            bench.subject->on_closed(*a.near);
            if (bench.goes_on)
                throw std::bad_alloc();
        });
        bench.go_on();
        EXPECT_TRUE(bench.is_done(a)) << nth;
        EXPECT_EQ(bench.receive(), (frames{std::string(40, 'u'), std::string(40, 'v')})) << nth;
    }
    EXPECT_GE(failures, 2);
}

TEST(short_memory, sends_a_message_to_all_its_receivers_or_says_so) {
    int failures = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::pub);
        std::vector<fake_peer> peers;
        for (int i = 0; i < 3; ++i) {
            peers.push_back(bench.attach());
            write_command(*peers.back().far, in_band::subscribe, "t");
        }
        bench.deliver();
        const std::string parts[] = {topic, std::string(20'000, 'x'), "end"};
        error e = error::none;
        failures += fails_with_short_memory(nth, [&] { e = bench.send_frame(parts[0], true); });
        if (failed(e)) {
            ASSERT_EQ(bench.send_frame(parts[0], true), error::none);
        }
        failures += fails_with_short_memory(nth, [&] { e = bench.send_frame(parts[1], true); });
        if (failed(e)) {
            ASSERT_EQ(bench.send_frame(parts[1], true), error::none);
        }
        ASSERT_EQ(bench.send_frame(parts[2]), error::none);
        for (const fake_peer &peer : peers)
            ASSERT_EQ(read_messages(*peer.far), (std::vector<frames>{{topic, parts[1], "end"}})) << nth;
    }
    EXPECT_GE(failures, 3);
}

/// Leaves a message in constant memory in the pipe to the peer: what is written behind it needs a
/// segment of its own, which is an allocation that can fail.
void write_in_place(fake_peer &peer) {
    static constexpr std::uint8_t frame[] = {0, 1, 'x'};
    ASSERT_EQ(peer.near->append(nullptr, frame, 1, true), error::none);
    peer.near->publish();
}

TEST(short_memory, subscribes_at_all_publishers_or_at_none) {
    const std::string topic(300, 't');  // longer than one node of the set takes
    int failures = 0, failures_of_writes = 0;
    for (unsigned nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::sub);
        fake_peer a = bench.attach_prepared(write_in_place), b = bench.attach_prepared(write_in_place);
        error e = error::none;
        bool has_thrown = true;
        const auto subscribe = [&] {
            e = bench.subject->subscribe(as_bytes(topic));
            has_thrown = false;
        };
        const bool has_failed = fails_with_short_memory(nth, subscribe);
        failures += has_failed;
        if (has_thrown || failed(e)) {
            failures_of_writes += !has_thrown;
            EXPECT_EQ(bench.subject->topics_count(), 0) << nth;
            EXPECT_FALSE(a.near->has_unpublished()) << nth;
            EXPECT_FALSE(b.near->has_unpublished()) << nth;
            subscribe();
        }
        const std::vector<frames> once{{"x"}, {"!1" + topic}};
        EXPECT_EQ(read_messages(*a.far), once) << nth;
        EXPECT_EQ(read_messages(*b.far), once) << nth;
        ASSERT_EQ(bench.subject->unsubscribe(as_bytes(topic)), error::none);
        EXPECT_EQ(bench.subject->topics_count(), 0) << nth;
    }
    EXPECT_GE(failures, 3);
    EXPECT_GE(failures_of_writes, 2) << "one at the first publisher, and one behind it";
}

}  // namespace
}  // namespace zlink::test
