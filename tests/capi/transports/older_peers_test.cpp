// Peers of ZMTP 2.0 and 1.0, which libzmq 4 talks to as well: made of a bare socket, on either side
// of a connection.
#include "raw_peer.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace zlink::test;
using namespace std::string_literals;

enum class version { zmtp_1_0, zmtp_2_0 };
enum class side { accepts, connects };  // the library's

const std::string signature = "\xff\0\0\0\0\0\0\0\x01\x7f"s;

/// A socket of the library with one old peer, whose handshake is over.
struct conversation {
    conversation(version of, side which, int type, int peers_type, std::string_view peers_id = {},
                 std::string_view own_id = {}, const std::function<void(zmq_socket_of &)> &set_up = {})
        : of_(of), type_(type), peers_type_(peers_type), peers_id_(peers_id), own_id_(own_id),
          socket_(context_, type) {
        if (set_up)
            set_up(socket_);
        if (!own_id.empty())
            socket_.set(ZMQ_ROUTING_ID, own_id);
        open(which);
        greet();
    }

    void greet() {
        std::string expected = signature;
        expected[8] = static_cast<char>(1 + own_id_.size());
        std::string said;
        if (of_ == version::zmtp_2_0) {
            said = signature + "\1" + std::string(1, static_cast<char>(peers_type_));
            expected += "\3" + std::string(1, static_cast<char>(type_)) + framed(own_id_);
        } else {
            expected += own_id_;
        }
        EXPECT_TRUE(peer_.send(said + framed(peers_id_)));
        EXPECT_EQ(peer_.receive(expected.size()), expected);
    }

    /// A frame as the peer writes it.
    std::string framed(std::string_view body, bool more = false) const {
        if (of_ == version::zmtp_2_0)
            return frame(more, body);
        std::string out = body.size() < 254 ? std::string(1, static_cast<char>(body.size() + 1))
                                            : "\xff" + long_header(0, body.size() + 1).substr(1);
        out += static_cast<char>(more);
        return out.append(body);
    }
    void says(std::string_view body, bool more = false) { EXPECT_TRUE(peer_.send(framed(body, more))); }
    /// At once: a peer that writes part after part would wait for the system's acknowledgement of
    ///          each.
    void says_behind_delimiter(std::string_view body) {
        EXPECT_TRUE(peer_.send(framed("", true) + framed(body)));
    }
    void expects_at_peer(std::string_view body, bool more = false) {
        const std::string expected = framed(body, more);
        EXPECT_TRUE(peer_.receive(expected.size()) == expected) << body.size() << " octets";
    }
    void expects(const std::string &body, bool more = false) {
        EXPECT_TRUE(socket_.receive() == body) << body.size() << " octets";
        int has_more = 0;
        std::size_t size = sizeof has_more;
        EXPECT_EQ(zmq_getsockopt(socket_, ZMQ_RCVMORE, &has_more, &size), 0);
        EXPECT_EQ(has_more, more);
    }

    version of_;
    int type_, peers_type_;
    std::string peers_id_, own_id_;
    zmq_context context_;
    zmq_socket_of socket_;
    std::unique_ptr<raw_listener> listener_;
    raw_peer peer_;

private:
    void open(side which) {
        if (which == side::accepts) {
            peer_ = raw_peer(socket_.bind("tcp://127.0.0.1:*"));
        } else {
            listener_ = std::make_unique<raw_listener>();
            EXPECT_TRUE(socket_.connect(listener_->endpoint()));
            peer_ = listener_->accept();
        }
        EXPECT_TRUE(peer_.is_open());
    }
};

// The last is more than one read takes.
const std::vector<std::size_t> sizes = {0, 1, 2, 252, 253, 254, 255, 256, 8000, 33000, 100 * 1024, 4 << 20};

std::string body_of(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<char>(i * 7 + size);
    return out;
}

class older_peers : public testing::TestWithParam<std::tuple<version, side>> {
protected:
    version of() const { return std::get<0>(GetParam()); }
    side which() const { return std::get<1>(GetParam()); }
};

TEST_P(older_peers, push_to_a_pull_bodies_of_all_sizes) {
    conversation c(of(), which(), ZMQ_PULL, ZMQ_PUSH);
    for (const std::size_t size : sizes)
        c.says(body_of(size));
    for (const std::size_t size : sizes)
        c.expects(body_of(size));
}

TEST_P(older_peers, push_to_a_pull_octet_by_octet) {
    conversation c(of(), which(), ZMQ_PULL, ZMQ_PUSH);
    ASSERT_TRUE(c.peer_.send_slowly(c.framed("a", true) + c.framed("", true) + c.framed(body_of(300)) +
                                    c.framed("b")));
    c.expects("a", true);
    c.expects("", true);
    c.expects(body_of(300));
    c.expects("b");
}

TEST_P(older_peers, pull_from_a_push_bodies_of_all_sizes) {
    conversation c(of(), which(), ZMQ_PUSH, ZMQ_PULL);
    for (const std::size_t size : sizes)
        ASSERT_TRUE(c.socket_.send(body_of(size)));
    for (const std::size_t size : sizes)
        c.expects_at_peer(body_of(size));
}

TEST_P(older_peers, pull_what_is_more_than_the_stream_holds) {
    conversation c(of(), which(), ZMQ_PUSH, ZMQ_PULL);
    constexpr int count = 40;
    const std::string large = body_of(1024 * 1024);
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(c.socket_.send(std::to_string(i), ZMQ_SNDMORE));
        ASSERT_TRUE(c.socket_.send(large));
    }
    for (int i = 0; i < count; ++i) {
        c.expects_at_peer(std::to_string(i), true);
        c.expects_at_peer(large);
    }
}

TEST_P(older_peers, send_many_small_messages_both_ways_and_mixed_with_large_ones) {
    conversation c(of(), which(), ZMQ_PAIR, ZMQ_PAIR);
    constexpr std::size_t count = 500;  // less than the mark
    std::string all;
    const auto size_of = [](std::size_t i) { return i % 50 == 0 ? 40000 + i : i % 300; };
    for (std::size_t i = 0; i < count; ++i)
        all += c.framed(body_of(size_of(i)), i % 3 == 0);
    all += c.framed("end");
    ASSERT_TRUE(c.peer_.send(all));
    for (std::size_t i = 0; i < count; ++i)
        c.expects(body_of(size_of(i)), i % 3 == 0);
    c.expects("end");
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(c.socket_.send(body_of(size_of(i)), i % 3 == 0 ? ZMQ_SNDMORE : 0));
    ASSERT_TRUE(c.socket_.send("end"));
    EXPECT_TRUE(c.peer_.receive(all.size()) == all);
}

TEST_P(older_peers, subscribe_to_a_pub) {
    conversation c(of(), which(), ZMQ_XPUB, ZMQ_SUB);
    if (of() == version::zmtp_1_0)  // these choose for themselves
        c.expects("\1");
    c.says("\1abc");
    c.expects("\1abc");
    ASSERT_TRUE(c.socket_.send("abcd"));
    ASSERT_TRUE(c.socket_.send("other"));
    ASSERT_TRUE(c.socket_.send("abc"));
    c.expects_at_peer("abcd");
    if (of() == version::zmtp_1_0)
        c.expects_at_peer("other");
    c.expects_at_peer("abc");
    c.says("\0abc"s);
    c.expects("\0abc"s);
}

TEST_P(older_peers, publish_to_a_sub) {
    conversation c(of(), which(), ZMQ_SUB, ZMQ_PUB);
    ASSERT_EQ(c.socket_.set(ZMQ_SUBSCRIBE, "abc"), 0);
    c.says("other");
    c.says("abcd", true);
    c.says("x");
    c.expects("abcd", true);
    c.expects("x");
    // A SUB that is bound tells a new peer of its subscriptions within a call: that one was.
    c.expects_at_peer("\1abc");
    ASSERT_EQ(c.socket_.set(ZMQ_UNSUBSCRIBE, "abc"), 0);
    c.expects_at_peer("\0abc"s);
}

TEST_P(older_peers, ask_a_rep) {
    conversation c(of(), which(), ZMQ_REP, ZMQ_REQ);
    for (int i = 0; i < 100; ++i) {
        c.says_behind_delimiter("question");
        c.expects("question");
        ASSERT_TRUE(c.socket_.send("answer"));
        c.expects_at_peer("", true);
        c.expects_at_peer("answer");
    }
}

TEST_P(older_peers, answer_a_req) {
    conversation c(of(), which(), ZMQ_REQ, ZMQ_REP);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(c.socket_.send("question"));
        c.expects_at_peer("", true);
        c.expects_at_peer("question");
        c.says_behind_delimiter("answer");
        c.expects("answer");
    }
}

TEST_P(older_peers, are_addressed_by_a_router_by_their_routing_id) {
    conversation c(of(), which(), ZMQ_ROUTER, ZMQ_DEALER, "somebody", "me");
    c.says("hello");
    c.expects("somebody", true);
    c.expects("hello");
    ASSERT_TRUE(c.socket_.send("somebody", ZMQ_SNDMORE));
    ASSERT_TRUE(c.socket_.send("you"));
    c.expects_at_peer("you");
}

TEST_P(older_peers, without_a_routing_id_get_one) {
    conversation c(of(), which(), ZMQ_ROUTER, ZMQ_DEALER);
    c.says("hello");
    const std::string id = c.socket_.receive();
    EXPECT_EQ(id.size(), 5u);
    c.expects("hello");
    ASSERT_TRUE(c.socket_.send(id, ZMQ_SNDMORE));
    ASSERT_TRUE(c.socket_.send("you"));
    c.expects_at_peer("you");
}

TEST_P(older_peers, are_told_the_sockets_routing_id) {
    // Looked at in the constructor.
    conversation c(of(), which(), ZMQ_DEALER, ZMQ_ROUTER, "", "a name");
    c.says("hello");
    c.expects("hello");
}

TEST_P(older_peers, are_closed_when_a_frame_is_larger_than_the_limit) {
    const std::string limit = "\xe8\x03\0\0\0\0\0\0"s;  // 1000
    conversation c(of(), which(), ZMQ_PULL, ZMQ_PUSH, "", "",
                   [&](zmq_socket_of &socket) { EXPECT_EQ(socket.set(ZMQ_MAXMSGSIZE, limit), 0); });
    c.says(body_of(1000));
    c.expects(body_of(1000));
    ASSERT_TRUE(c.peer_.send(c.framed(body_of(1001)).substr(0, 10)));
    EXPECT_TRUE(c.peer_.is_closed_by_other_side());
}

TEST_P(older_peers, are_held_back_at_the_mark_and_lose_nothing) {
    conversation c(of(), which(), ZMQ_PULL, ZMQ_PUSH, "", "",
                   [](zmq_socket_of &socket) { EXPECT_EQ(socket.set(ZMQ_RCVHWM, 5), 0); });
    std::string all;
    for (int i = 0; i < 3000; ++i)
        all += c.framed(std::to_string(i));
    ASSERT_TRUE(c.peer_.send(all));
    for (int i = 0; i < 3000; ++i)
        c.expects(std::to_string(i));
}

TEST_P(older_peers, take_over_the_queue_of_a_peer_that_went_in_the_middle_of_a_message) {
    conversation c(of(), side::connects, ZMQ_PUSH, ZMQ_PULL);
    c.peer_.close();
    c.peer_ = c.listener_->accept();
    ASSERT_TRUE(c.peer_.shake_hands("PULL"));
    const std::string large = body_of(32 * 1024 * 1024);  // more than the system holds
    ASSERT_TRUE(c.socket_.send(large, ZMQ_SNDMORE));
    ASSERT_TRUE(c.socket_.send("cut"));
    ASSERT_TRUE(c.socket_.send("a", ZMQ_SNDMORE));
    ASSERT_TRUE(c.socket_.send("b"));
    EXPECT_EQ(c.peer_.receive(9 + 1000).substr(9), large.substr(0, 1000));
    c.peer_.close();
    c.peer_ = c.listener_->accept();
    c.greet();
    c.expects_at_peer("a", true);
    c.expects_at_peer("b");
}

INSTANTIATE_TEST_SUITE_P(all, older_peers,
                         testing::Combine(testing::Values(version::zmtp_1_0, version::zmtp_2_0),
                                          testing::Values(side::accepts, side::connects)),
                         [](const auto &info) {
                             return std::string(std::get<0>(info.param) == version::zmtp_1_0 ? "zmtp_1_0"
                                                                                             : "zmtp_2_0") +
                                    (std::get<1>(info.param) == side::accepts ? "_accepted"
                                                                              : "_connected_to");
                         });

}  // namespace
