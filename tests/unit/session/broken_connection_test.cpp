// Connections that break while the socket does not read: what they had brought is all delivered,
// and takes only so much memory.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "stepped_session.hpp"

namespace zlink {
namespace {

using testing::greeting;
using testing::message;
using testing::ready;
using namespace test;

constexpr std::uint64_t mark = 10;
constexpr std::size_t body_size = 1024;
constexpr std::uint32_t per_peer = 1024;  // 1 MiB of messages
constexpr std::size_t most_beyond = 8 * 1024 * 1024;

std::string as_message(const std::string &body) { return message(body); }
std::string as_command(const std::string &topic) { return testing::command_frame("SUBSCRIBE", topic); }

class broken_connection : public ::testing::Test {
protected:
    void SetUp() override { start(socket_type::dealer); }
    void start(socket_type type) {
        auto environment = environment_for(type, io, owner, chance);
        pipe_options options;
        options.first_to_second_hwm = mark;
        options.second_to_first_hwm = mark;
        const pipe_ends ends = make_pipe(owner->pool, options);
        near = ends.first;
        near->set_events(owner);
        near->set_pace(&pace_of_sender);
        it = session::connecting(environment, network, ends.second);
        ends.second->set_events(it);
        ASSERT_EQ(it->start(), error::none);
        io.run();
    }
    void TearDown() override {
        near->close(0);
        io.run();
        EXPECT_TRUE(owner->has_ended);
    }

    /// A peer comes, sends its messages, and goes; the socket finds out by sending.
    void come_and_go() { come_and_go("DEALER", {}, as_message); }
    void come_and_go(const char *peer_type, const std::string &begin,
                     std::string (*form)(const std::string &)) {
        streams.push_back(std::make_unique<stream_state>());
        stream_state &peer = *streams.back();
        network.answer(peer);
        io.run();
        peer.receive(greeting() + ready(peer_type));
        io.run();
        std::string sent;
        for (std::uint32_t i = 0; i < per_peer; ++i) {
            std::string body(body_size, 'x');
            std::memcpy(body.data(), &sent_count, sizeof sent_count);
            sent += form(begin + body);
            ++sent_count;
        }
        peer.receive(sent + message("cut off").substr(0, 5));
        peer.is_reset = true;
        ASSERT_EQ(near->write(0, {}), error::none);
        near->publish();
        io.run();
        near->roll_back();
        io.pass_time();
    }
    /// Reads what is there now, and checks that it goes on where it was.
    void read_on() {
        for (frame_view frame; near->read(frame);) {
            if (frame.is_command())
                continue;
            ASSERT_EQ(frame.size, body_size);
            std::uint32_t number;
            std::memcpy(&number, frame.data, sizeof number);
            ASSERT_EQ(number, read_count++);
        }
        near->arm_reader();
    }
    void read_to_the_end() {
        for (std::uint32_t before = UINT32_MAX; std::exchange(before, read_count) != read_count; io.run())
            ASSERT_NO_FATAL_FAILURE(read_on());
    }

    virtual_loop io;
    stepped_transport network;
    no_chance chance;
    fixed_clock clock;
    lone_thread sender;
    pace pace_of_sender{clock, sender};
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::vector<std::unique_ptr<stream_state>> streams;
    pipe_end_ptr near;
    std::shared_ptr<session> it;
    std::uint32_t sent_count = 0;
    std::uint32_t read_count = 0;
};

TEST_F(broken_connection, leaves_the_way_to_the_next_one_while_little_is_beyond_the_mark) {
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(network.is_called());
        ASSERT_NO_FATAL_FAILURE(come_and_go());
    }
    EXPECT_TRUE(network.is_called());
    ASSERT_NO_FATAL_FAILURE(read_to_the_end());
    EXPECT_EQ(read_count, sent_count);
}

TEST_F(broken_connection, waits_for_the_receiver_where_much_is_beyond_the_mark_and_then_delivers_all) {
    for (int round = 0; round < 3; ++round) {
        SCOPED_TRACE(round);
        const std::uint32_t before = sent_count;
        while (network.is_called()) {
            ASSERT_NO_FATAL_FAILURE(come_and_go());
            ASSERT_LE((sent_count - before) * body_size, 2 * most_beyond) << "memory without end";
        }
        EXPECT_GE((sent_count - before) * body_size, most_beyond);
        ASSERT_NO_FATAL_FAILURE(read_to_the_end());
        EXPECT_EQ(read_count, sent_count);
        io.pass_time();
        EXPECT_TRUE(network.is_called());
    }
}

struct way_to_subscribe {
    const char *name;
    socket_type type;
    std::string begin;
    std::string (*form)(const std::string &);
};

class broken_subscriber : public broken_connection, public ::testing::WithParamInterface<way_to_subscribe> {
protected:
    void SetUp() override { start(GetParam().type); }
    std::size_t read_all() {
        std::size_t count = 0;
        for (std::size_t before = SIZE_MAX; std::exchange(before, count) != count; io.run()) {
            for (frame_view frame; near->read(frame);)
                count += !frame.is_command();
            near->arm_reader();
        }
        return count;
    }
};

TEST_P(broken_subscriber, brings_no_more_beyond_the_mark_than_messages_would) {
    const way_to_subscribe &way = GetParam();
    for (int round = 0; round < 2; ++round) {
        SCOPED_TRACE(round);
        const std::uint32_t before = sent_count;
        while (network.is_called()) {
            ASSERT_NO_FATAL_FAILURE(come_and_go("SUB", way.begin, way.form));
            ASSERT_LE((sent_count - before) * body_size, 2 * most_beyond) << "memory without end";
        }
        EXPECT_GE((sent_count - before) * body_size, most_beyond);
        EXPECT_EQ(read_all(), sent_count - before);
        io.pass_time();
        EXPECT_TRUE(network.is_called());
    }
}

INSTANTIATE_TEST_SUITE_P(
    ways, broken_subscriber,
    ::testing::Values(way_to_subscribe{"pub_messages", socket_type::pub, "\1", as_message},
                      way_to_subscribe{"pub_commands", socket_type::pub, "", as_command},
                      way_to_subscribe{"xpub_messages", socket_type::xpub, "\1", as_message},
                      way_to_subscribe{"xpub_commands", socket_type::xpub, "", as_command}),
    [](const auto &each) { return std::string(each.param.name); });

}  // namespace
}  // namespace zlink
