// Large bodies arrive as they were sent, however they are sent and received, and whatever happens
// while one is half there.
#include <zmq.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "raw_peer.hpp"

using namespace zlink::test;

namespace {

std::string body_of(std::size_t size, unsigned seed) {
    std::string out(size, '\0');
    std::uint64_t state = seed * 2654435761u + 1;
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::memcpy(out.data() + i, &state, 8);
    }
    return out;
}

constexpr std::size_t large = 600'000;

class half_a_body : public testing::TestWithParam<const char *> {
protected:
    /// A receiver that waits often reads for itself.
    void SetUp() override {
        endpoint = pull.bind(GetParam());
        ASSERT_FALSE(endpoint.empty());
        peer = raw_peer(endpoint);
        ASSERT_TRUE(peer.shake_hands("PUSH"));
        for (unsigned i = 0; i < 30; ++i)
            receive_from(peer, body_of(large, i));
    }
    /// Sent piece by piece by another thread.
    void receive_from(raw_peer &from, const std::string &body) {
        std::thread sender([&] {
            const std::string wire = message(body);
            for (std::size_t at = 0; at < wire.size(); at += 50'000)
                EXPECT_TRUE(from.send(std::string_view(wire).substr(at, 50'000)));
        });
        expect(body);
        sender.join();
    }
    void expect(const std::string &body) {
        EXPECT_EQ(zmq_recv(pull, buffer.data(), buffer.size(), 0), static_cast<int>(body.size()));
        EXPECT_TRUE(buffer.compare(0, body.size(), body) == 0);
    }
    void expect_nothing() {
        pull.set(ZMQ_RCVTIMEO, 20);
        EXPECT_EQ(zmq_recv(pull, buffer.data(), buffer.size(), 0), -1);
        EXPECT_EQ(errno, EAGAIN);
        pull.set(ZMQ_RCVTIMEO, patience_ms);
        buffer.assign(buffer.size(), 'X');
    }

    zmq_context context;
    zmq_socket_of pull{context, ZMQ_PULL};
    std::string endpoint;
    raw_peer peer;
    std::string buffer = std::string(1'000'000, ' ');
};

TEST_P(half_a_body, stays_when_the_receiver_gives_up_and_uses_its_memory_for_something_else) {
    for (const std::size_t first : {20u, 10'000u, 100'000u, 500'000u}) {
        SCOPED_TRACE(first);
        const std::string body = body_of(large, static_cast<unsigned>(first));
        const std::string wire = message(body);
        ASSERT_TRUE(peer.send(std::string_view(wire).substr(0, first)));
        expect_nothing();
        expect_nothing();
        ASSERT_TRUE(peer.send(std::string_view(wire).substr(first)));
        expect(body);
    }
}

TEST_P(half_a_body, lets_the_message_of_another_peer_pass) {
    const std::string body = body_of(large, 1);
    const std::string wire = message(body);
    ASSERT_TRUE(peer.send(std::string_view(wire).substr(0, 300'000)));
    expect_nothing();
    raw_peer other(endpoint);
    ASSERT_TRUE(other.shake_hands("PUSH"));
    receive_from(other, "small");
    receive_from(other, body_of(large, 2));
    ASSERT_TRUE(peer.send(std::string_view(wire).substr(300'000)));
    expect(body);
}

TEST_P(half_a_body, goes_with_its_peer) {
    ASSERT_TRUE(peer.send(message(body_of(large, 1)).substr(0, 300'000)));
    expect_nothing();
    peer.close();
    expect_nothing();
    raw_peer other(endpoint);
    ASSERT_TRUE(other.shake_hands("PUSH"));
    receive_from(other, body_of(large, 2));
}

TEST_P(half_a_body, comes_before_its_parts_and_what_is_behind_it) {
    const std::string body = body_of(large, 7);
    const std::string wire = message("small") + message(body) + message("behind") +
                             message(body_of(200'000, 1), true) + message(body_of(200'000, 2)) +
                             message("end");
    for (std::size_t piece : {30'000u, 700'000u}) {
        std::thread sender([&] {
            for (std::size_t at = 0; at < wire.size(); at += piece)
                EXPECT_TRUE(peer.send(std::string_view(wire).substr(at, piece)));
        });
        expect("small");
        expect(body);
        expect("behind");
        expect(body_of(200'000, 1));
        expect(body_of(200'000, 2));
        expect("end");
        sender.join();
    }
}

TEST_P(half_a_body, keeps_nobody_beyond_the_time_limit) {
    constexpr std::size_t size = 1'000'000'000;
    const std::unique_ptr<char[]> room(new char[size]);
    pull.set(ZMQ_RCVTIMEO, 50);
    const std::string piece(100'000, ' ');
    std::atomic<bool> has_returned{false};
    std::thread sender([&] {  // there is always something to read
        EXPECT_TRUE(peer.send(long_header(0, size) + piece));
        while (!has_returned && peer.send(piece)) {
        }
    });
    EXPECT_EQ(zmq_recv(pull, room.get(), size, 0), -1);
    EXPECT_EQ(errno, EAGAIN);
    has_returned = true;
    pull.close();
    sender.join();
}

TEST_P(half_a_body, that_ends_while_it_is_awaited_makes_room_for_the_next_connection) {
    raw_listener listener(GetParam()[0] == 't' ? "tcp" : "ipc");
    zmq_socket_of connecting(context, ZMQ_PULL);
    connecting.set(ZMQ_RECONNECT_IVL, 1);
    connecting.set(ZMQ_RCVTIMEO, patience_ms);
    ASSERT_TRUE(connecting.connect(listener.endpoint()));
    const auto next_peer = [&] {
        peer = listener.accept();
        EXPECT_TRUE(peer.shake_hands("PUSH"));
    };
    next_peer();
    const std::string body = body_of(large, 3);
    for (int i = 0; i < 5; ++i) {
        for (int before = 0; before < 30; ++before) {
            std::thread sender([&] { EXPECT_TRUE(peer.send(message(body))); });
            EXPECT_EQ(zmq_recv(connecting, buffer.data(), buffer.size(), 0), static_cast<int>(body.size()));
            sender.join();
        }
        std::thread sender([&] {
            EXPECT_TRUE(peer.send(message(body).substr(0, 300'000)));
            peer.close();
            next_peer();
            EXPECT_TRUE(peer.send(message("next")));
        });
        EXPECT_EQ(zmq_recv(connecting, buffer.data(), buffer.size(), 0), 4);
        EXPECT_EQ(buffer.compare(0, 4, "next"), 0);
        sender.join();
    }
}

INSTANTIATE_TEST_SUITE_P(transports, half_a_body, testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &each) { return std::string(each.param).substr(0, 3); });

class any_body : public testing::TestWithParam<const char *> {};

/// Both sides do by chance what they may do.
TEST_P(any_body, arrives_as_it_was_sent) {
    constexpr unsigned messages = 300;
    zmq_context near, far;
    zmq_socket_of out(near, ZMQ_PAIR), in(far, ZMQ_PAIR);
    in.set(ZMQ_RCVHWM, 10);
    out.set(ZMQ_SNDHWM, 10);
    const std::string endpoint = in.bind(GetParam());
    ASSERT_TRUE(out.connect(endpoint));
    const auto size_of = [](unsigned i) { return std::mt19937(i)() % (i % 3 ? 400'000 : 4'000'000) + 1; };

    std::thread sender([&] {
        std::mt19937 chance(1);
        for (unsigned i = 0; i < messages; ++i) {
            std::string body = body_of(size_of(i), i);
            const int more = i + 1 < messages && chance() % 4 == 0 ? ZMQ_SNDMORE : 0;
            const auto size = static_cast<int>(body.size());
            if (chance() % 3 == 0) {
                zmq_msg_t part;
                zmq_msg_init_size(&part, body.size());
                std::memcpy(zmq_msg_data(&part), body.data(), body.size());
                ASSERT_EQ(zmq_msg_send(&part, out, more), size);
            } else if (chance() % 2 == 0) {
                int sent;
                while ((sent = zmq_send(out, body.data(), body.size(), more | ZMQ_DONTWAIT)) < 0 &&
                       errno == EAGAIN)
                    std::this_thread::yield();
                ASSERT_EQ(sent, size);
            } else {
                ASSERT_EQ(zmq_send(out, body.data(), body.size(), more), size);
            }
            std::fill(body.begin(), body.end(), 'X');
        }
    });
    std::mt19937 chance(2);
    std::string buffer(4'100'000, ' ');
    for (unsigned i = 0; i < messages; ++i) {
        const std::string body = body_of(size_of(i), i);
        int received = -1;
        bool is_same = false;
        while (received < 0) {
            const unsigned how = chance() % 6;
            in.set(ZMQ_RCVTIMEO, how < 2 ? 1 : patience_ms);
            if (how % 3 == 0) {
                zmq_msg_t part;
                zmq_msg_init(&part);
                received = zmq_msg_recv(&part, in, how == 3 ? ZMQ_DONTWAIT : 0);
                is_same = received >= 0 && zmq_msg_size(&part) == body.size() &&
                          std::memcmp(zmq_msg_data(&part), body.data(), body.size()) == 0;
                zmq_msg_close(&part);
            } else {
                const std::size_t capacity = how == 4 ? body.size() / 2 : buffer.size();
                received = zmq_recv(in, buffer.data(), capacity, how == 5 && i % 2 ? ZMQ_DONTWAIT : 0);
                is_same = received == static_cast<int>(body.size()) &&
                          buffer.compare(0, std::min(capacity, body.size()), body, 0, capacity) == 0;
            }
            ASSERT_TRUE(received >= 0 || errno == EAGAIN) << zmq_strerror(errno);
        }
        ASSERT_TRUE(is_same) << i;
    }
    sender.join();
}

INSTANTIATE_TEST_SUITE_P(transports, any_body, testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &each) { return std::string(each.param).substr(0, 3); });

}  // namespace
