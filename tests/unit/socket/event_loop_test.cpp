// An event loop of the application that waits on ZMQ_FD: what it reads itself, and what it hears.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "borrowing_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

/// The stream of its peer is an eventfd.
class event_loop_test : public test::borrowing_socket {
protected:
    event_loop_test() { make_talker(socket_type::dealer); }
    ~event_loop_test() override { ::close(stream); }

    void make_talker(socket_type type) {
        make(type);
        peer->stream = stream;
        peer->on_write = [this] { return peer->take_all(); };
    }

    void export_descriptor() {
        std::size_t size = sizeof descriptor;
        ASSERT_EQ(self->get_option(ZMQ_FD, &descriptor, &size), error::none);
    }
    int events() {
        int found = -1;
        std::size_t size = sizeof found;
        EXPECT_EQ(self->get_option(ZMQ_EVENTS, &found, &size), error::none);
        return found;
    }
    bool has_input() { return events() & ZMQ_POLLIN; }
    bool is_readable() const {
        pollfd item{descriptor, POLLIN, 0};
        return ::poll(&item, 1, 0) == 1;
    }
    /// Asks for the events until the descriptor is quiet.
    void calm_down() {
        for (int i = 0; i < 10 && is_readable(); ++i)
            (void)events();
        ASSERT_FALSE(is_readable());
    }
    /// Octets of a message stand in the stream.
    void arrive(const test::frames &what) {
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(peer->stream, &one, sizeof one), static_cast<ssize_t>(sizeof one));
        peer->on_read = [this, what] {
            std::uint64_t count = 0;
            if (::read(peer->stream, &count, sizeof count) > 0)
                peer->publish(what);
            return true;
        };
    }
    /// A question and its answer, which the I/O thread reads.
    void ask(const test::frames &answer = {"answer"}) {
        EXPECT_EQ(self->send(as_bytes("question"), 0), error::none);
        peer->publish(answer);
        EXPECT_EQ(receive(ZMQ_DONTWAIT), "answer");
        EXPECT_FALSE(has_input());
    }
    /// Asks so many times, so far apart.
    void ask_again(int times, duration apart) {
        for (int i = 0; i < times; ++i) {
            clock.at += apart;
            ask();
        }
    }
    /// Talks with its peer until that is leased.
    void talk(const test::frames &answer = {"answer"}) {
        for (int i = 0; i < 10 && peer->owns_reading(); ++i) {
            clock.at += 100us;
            ask(answer);
        }
        ASSERT_FALSE(peer->owns_reading());
        calm_down();
    }

    const int stream = ::eventfd(0, EFD_NONBLOCK);
    int descriptor = -1;
};

TEST_F(event_loop_test, hears_of_its_stream_and_reads_it) {
    export_descriptor();
    talk();
    const int calls = peer->calls;
    for (int i = 0; i < 3; ++i) {
        arrive({"good day"});
        EXPECT_TRUE(is_readable());
        EXPECT_TRUE(has_input());
        EXPECT_EQ(receive(ZMQ_DONTWAIT), "good day");
        EXPECT_FALSE(has_input());
        EXPECT_FALSE(is_readable());
    }
    EXPECT_EQ(peer->calls, calls) << "nobody else is needed";
}

TEST_F(event_loop_test, that_receives_until_there_is_nothing_hears_of_its_stream_too) {
    export_descriptor();
    talk();
    for (int i = 0; i < 3; ++i) {
        arrive({"good day"});
        EXPECT_TRUE(is_readable());
        EXPECT_EQ(receive(ZMQ_DONTWAIT), "good day");
        EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
        EXPECT_FALSE(is_readable());
    }
}

TEST_F(event_loop_test, sleeps_while_it_does_not_receive_what_is_there) {
    export_descriptor();
    talk();
    arrive({"first"});
    EXPECT_TRUE(has_input());
    arrive({"second"});
    EXPECT_TRUE(has_input());
    EXPECT_FALSE(is_readable()) << "it knows that something is there";
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "first");
    EXPECT_TRUE(has_input());
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "second");
    EXPECT_FALSE(has_input());
}

TEST_F(event_loop_test, hears_of_what_the_io_thread_reads_once_that_has_the_stream_back) {
    export_descriptor();
    talk();
    peer->recall();
    ASSERT_TRUE(peer->owns_reading());
    peer->grants = false;
    EXPECT_FALSE(is_readable());
    peer->publish({"read elsewhere"});
    EXPECT_TRUE(is_readable());
    EXPECT_TRUE(has_input());
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "read elsewhere");
    EXPECT_FALSE(has_input());
    arrive({"once more"});
    EXPECT_TRUE(is_readable()) << "the stream is watched still";
    EXPECT_FALSE(has_input());
    EXPECT_FALSE(is_readable()) << "and not any more";
}

TEST_F(event_loop_test, that_comes_seldom_does_not_ask) {
    export_descriptor();
    ask_again(40, 5ms);
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(event_loop_test, that_only_receives_does_not_ask) {
    export_descriptor();
    for (int i = 0; i < 40; ++i) {
        clock.at += 100us;
        peer->publish({"x"});
        EXPECT_EQ(receive(ZMQ_DONTWAIT), "x");
        EXPECT_FALSE(has_input());
    }
    EXPECT_TRUE(peer->owns_reading()) << "who reads ahead for it saves time";
}

TEST_F(event_loop_test, gives_back_what_a_call_that_waits_would_not_hear_of) {
    export_descriptor();
    talk();
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        EXPECT_TRUE(peer->owns_reading());
        peer->publish({"x"});
        return error::none;
    };
    EXPECT_EQ(receive(), "x");
    ask_again(100, 100us);
    EXPECT_TRUE(peer->owns_reading()) << "it may wait so again";
}

TEST_F(event_loop_test, gives_back_what_a_level_would_not_tell_of) {
    export_descriptor();
    talk();
    int level = -1;
    std::size_t size = sizeof level;
    ASSERT_EQ(self->get_option(ZLINK_EVENT_FD, &level, &size), error::none);
    EXPECT_TRUE(peer->owns_reading());
    ask_again(40, 100us);
    EXPECT_TRUE(peer->owns_reading());
    calm_down();
    arrive({"for the I/O thread"});
    EXPECT_TRUE(is_readable()) << "it was watched when that was asked for";
    EXPECT_FALSE(has_input());
    EXPECT_FALSE(is_readable()) << "once";
}

TEST_F(event_loop_test, writes_on_where_its_stream_was_full) {
    export_descriptor();
    talk();
    peer->on_write = [this] {
        peer->is_stream_full = true;
        return connection_port::written::full;
    };
    EXPECT_EQ(self->send(as_bytes("large"), 0), error::none);
    ASSERT_TRUE(peer->is_stream_full);
    int writes = peer->writes;
    EXPECT_FALSE(has_input());
    EXPECT_GT(peer->writes, writes) << "it tries";
    EXPECT_TRUE(is_readable()) << "an eventfd has room";
    peer->on_write = [this] { return peer->take_all(); };
    writes = peer->writes;
    EXPECT_FALSE(has_input());
    EXPECT_GT(peer->writes, writes);
    EXPECT_FALSE(is_readable()) << "it does not wait for room that it has no use for";
}

TEST_F(event_loop_test, goes_on_to_hear_of_its_stream_behind_what_its_pattern_throws_away) {
    make_talker(socket_type::req);
    export_descriptor();
    talk({"", "answer"});
    EXPECT_EQ(self->send(as_bytes("question"), 0), error::none);
    EXPECT_FALSE(has_input());
    arrive({"no reply"});
    EXPECT_TRUE(is_readable());
    EXPECT_FALSE(has_input());
    EXPECT_FALSE(is_readable());
    arrive({"", "a reply"});
    EXPECT_TRUE(is_readable());
    EXPECT_TRUE(has_input());
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "a reply");
}

TEST_F(event_loop_test, does_not_read_while_messages_are_there) {
    export_descriptor();
    talk();
    arrive({"first"});
    EXPECT_TRUE(has_input());
    const int reads = peer->reads;
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(has_input());
    EXPECT_EQ(peer->reads, reads);
}

TEST_F(event_loop_test, leaves_octets_that_no_descriptor_shows_to_the_io_thread) {
    export_descriptor();
    talk();
    arrive({"a part"});
    peer->on_read = [this] { return peer->has_more = true; };
    EXPECT_FALSE(has_input());
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(event_loop_test, does_without_where_the_system_has_no_descriptor_left) {
    wait.has_loops = false;
    export_descriptor();
    const int first = descriptor;
    wait.has_loops = true;
    export_descriptor();
    EXPECT_EQ(descriptor, first);
    ask_again(40, 100us);
    EXPECT_TRUE(peer->owns_reading());
    calm_down();
    peer->publish({"x"});
    EXPECT_TRUE(is_readable());
}

}  // namespace
}  // namespace zlink
