// Peers that break the rules of CURVE with words that an honest client has said: cut, doubled, out
// of their turn, or recorded and played again. Nothing of it is delivered.
#define ZMQ_BUILD_DRAFT_API
#include "honest_peer.hpp"
#include "raw_peer.hpp"
#include "zap_handler.hpp"

#include <optional>
#include <vector>

namespace {

using namespace zlink_test;
using namespace zlink::test;

struct key_pair {
    key_pair() { EXPECT_EQ(zmq_curve_keypair(open, hidden), 0); }
    char open[41], hidden[41];
};

void make_client(test_socket &socket, const key_pair &own, const key_pair &servers) {
    ASSERT_EQ(socket.set(ZMQ_CURVE_SERVERKEY, servers.open), 0);
    ASSERT_EQ(socket.set(ZMQ_CURVE_PUBLICKEY, own.open), 0);
    ASSERT_EQ(socket.set(ZMQ_CURVE_SECRETKEY, own.hidden), 0);
}

std::string greeting_of(bool is_server) {
    std::string out = greeting("CURVE");
    out[32] = is_server;
    return out;
}

/// A command with other data. Its size says the truth.
std::string with_data(const std::string &whole, const std::string &data) {
    const std::size_t header = whole[0] & 2 ? 9 : 2;
    const std::string name = whole.substr(header + 1, static_cast<std::size_t>(whole[header]));
    return command(name, data);
}
std::string data_of(const std::string &whole) {
    const std::size_t header = whole[0] & 2 ? 9 : 2;
    return whole.substr(header + 1 + static_cast<std::size_t>(whole[header]));
}

/// An honest client whose words reach the server by the test only.
class guest {
public:
    guest(context &zmq, const std::string &server, const key_pair &own, const key_pair &servers)
        : socket(zmq.socket(ZMQ_PUSH)), to_server(server) {
        make_client(socket, own, servers);
        raw_listener listener;
        socket.connect(listener.endpoint());
        from_client = listener.accept();
        EXPECT_TRUE(from_client.send(greeting_of(true)) && to_server.send(greeting_of(false)));
        EXPECT_EQ(from_client.receive(64).size(), 64u);
        EXPECT_EQ(to_server.receive(64).size(), 64u);
    }
    /// The client's next command.
    std::string next() { return frame_from(from_client); }
    /// Gives the client the server's next one.
    void answer() { EXPECT_TRUE(from_client.send(frame_from(to_server))); }

    test_socket socket;
    raw_peer from_client, to_server;

private:
    static std::string frame_from(raw_peer &peer) {
        const auto [flags, body] = peer.receive_frame();
        EXPECT_NE(flags, 0xff);
        return frame(static_cast<std::uint8_t>(flags & ~2), body);
    }
};

class hostile_peer_of_curve : public beside_an_honest_peer {
protected:
    void SetUp() override {
        ASSERT_EQ(server.set(ZMQ_CURVE_SERVER, 1), 0);
        ASSERT_EQ(server.set(ZMQ_CURVE_SECRETKEY, servers.hidden), 0);
        make_client(honest, own, servers);
        bring_in_the_honest_peer();
        expect_honest_peer_is_served();
    }
    /// The handshake of a guest goes so far before the peer says what it should not.
    enum class stage { greeted, welcomed, ready };
    guest guest_at(stage where) {
        guest out(zmq, endpoint, own, servers);
        hello = out.next();
        if (where == stage::greeted)
            return out;
        EXPECT_TRUE(out.to_server.send(hello));
        out.answer();
        initiate = out.next();
        if (where == stage::welcomed)
            return out;
        EXPECT_TRUE(out.to_server.send(initiate));
        out.answer();
        EXPECT_EQ(out.socket.send("guest"), 5);
        box = out.next();
        return out;
    }
    template <class Words>
    void expect_refused(stage where, const std::string &what, Words &&words) {
        SCOPED_TRACE(what);
        guest each = guest_at(where);
        (void)each.to_server.send(words());
        EXPECT_TRUE(each.to_server.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }
    /// Each way in which a command can be spoiled.
    template <class Whole>
    void expect_refused_when_spoiled(stage where, Whole &&whole) {
        for (const std::size_t less : {1u, 16u, 31u, 64u})
            expect_refused(where, "cut by " + std::to_string(less), [&] {
                const std::string data = data_of(whole());
                return with_data(whole(), data.substr(0, data.size() - std::min(less, data.size())));
            });
        expect_refused(where, "nothing left", [&] { return with_data(whole(), ""); });
        expect_refused(where, "longer", [&] { return with_data(whole(), data_of(whole()) + "x"); });
        expect_refused(where, "changed", [&] {
            std::string data = data_of(whole());
            data.back() = static_cast<char>(data.back() ^ 1);
            return with_data(whole(), data);
        });
        if (where != stage::ready)  // there it may be a message
            expect_refused(where, "a command of 1 GiB", [&] { return long_header(4, 1u << 30) + whole(); });
    }
    void expect_refused_in_place(stage where, const std::vector<const std::string *> &commands) {
        for (const std::string *each : commands)
            expect_refused(where, "a command in the place of another", [&] { return *each; });
        for (const char *const name : {"READY", "WELCOME", "ERROR", "PING", "SUBSCRIBE", "WHATEVER"})
            expect_refused(where, name, [&] {
                return command(name, "\3"
                                     "400");
            });
        expect_refused(where, "an empty command", [] { return frame(4, ""); });
        expect_refused(where, "a message in clear", [] { return message("clear"); });
    }

    const key_pair own, servers;
    std::string hello, initiate, box;  // what the last guest has said
};
INSTANTIATE_TEST_SUITE_P(transports, hostile_peer_of_curve, testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param, 3); });

TEST_P(hostile_peer_of_curve, is_let_in_where_its_words_are_left_as_they_are) {
    guest each = guest_at(stage::ready);
    ASSERT_TRUE(each.to_server.send(box));
    EXPECT_EQ(server.receive(), "guest");
}

TEST_P(hostile_peer_of_curve, is_refused_when_its_hello_is_spoiled) {
    (void)guest_at(stage::ready);
    const std::string others_initiate = initiate, others_box = box;
    expect_refused_when_spoiled(stage::greeted, [&] { return hello; });
    expect_refused_in_place(stage::greeted, {&others_initiate, &others_box});
    expect_refused(stage::greeted, "twice", [&] { return hello + hello; });
    expect_refused(stage::greeted, "a message behind it", [&] { return hello + others_box; });
}

TEST_P(hostile_peer_of_curve, is_refused_when_its_initiate_is_spoiled) {
    (void)guest_at(stage::ready);
    const std::string others_initiate = initiate, others_box = box;
    expect_refused_when_spoiled(stage::welcomed, [&] { return initiate; });
    expect_refused_in_place(stage::welcomed, {&hello, &others_initiate, &others_box});
    expect_refused(stage::welcomed, "twice", [&] { return initiate + initiate; });
    expect_refused(stage::welcomed, "another's box behind it", [&] { return initiate + others_box; });
}

TEST_P(hostile_peer_of_curve, is_refused_when_its_traffic_is_spoiled) {
    (void)guest_at(stage::ready);
    const std::string others_box = box;
    expect_refused_when_spoiled(stage::ready, [&] { return box; });
    expect_refused_in_place(stage::ready, {&hello, &initiate, &others_box});
    guest twice = guest_at(stage::ready);
    ASSERT_TRUE(twice.to_server.send(box + box));
    EXPECT_EQ(server.receive(), "guest");
    EXPECT_TRUE(twice.to_server.is_closed_by_other_side());
    expect_honest_peer_is_served();
}

/// Larger than what a command may be: the client itself says it.
TEST_P(hostile_peer_of_curve, is_refused_when_it_says_too_much_of_itself) {
    test_socket talkative = zmq.socket(ZMQ_PUSH);
    make_client(talkative, own, servers);
    ASSERT_EQ(talkative.set(ZMQ_METADATA, "X-Much:" + std::string(64 << 10, 'm')), 0);
    ASSERT_EQ(talkative.set(ZMQ_RECONNECT_IVL, -1), 0);
    monitor events(zmq, talkative, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    talkative.connect(endpoint);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    expect_honest_peer_is_served();
}

TEST_P(hostile_peer_of_curve, gets_nothing_delivered_by_a_conversation_that_it_plays_again) {
    std::string all;
    {
        guest recorded = guest_at(stage::ready);
        ASSERT_TRUE(recorded.to_server.send(box));
        EXPECT_EQ(server.receive(), "guest");
        all = greeting_of(false) + hello + initiate + box;
        for (int i = 0; i < 10; ++i) {  // while it goes on
            SCOPED_TRACE(i);
            raw_peer again(endpoint);
            ASSERT_TRUE(again.send(all));
            EXPECT_TRUE(again.is_closed_by_other_side());
        }
        expect_honest_peer_is_served();
    }
    std::vector<raw_peer> peers;
    for (int i = 0; i < 10; ++i) {  // all at once, when it is over
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().send(all));
    }
    for (raw_peer &each : peers)
        EXPECT_TRUE(each.is_closed_by_other_side());
    for (int i = 0; i < 10; ++i) {  // with each command when it is due
        SCOPED_TRACE(i);
        raw_peer patient(endpoint);
        ASSERT_TRUE(patient.send(greeting_of(false)));
        ASSERT_EQ(patient.receive(64).size(), 64u);
        ASSERT_TRUE(patient.send(hello));
        EXPECT_EQ(patient.receive_frame().second.substr(0, 8), "\7WELCOME");
        (void)patient.send(initiate + box);
        EXPECT_TRUE(patient.is_closed_by_other_side());
    }
    expect_honest_peer_is_served();
}

/// The box cannot be there yet: the client does not send it before READY. Another's is.
TEST_P(hostile_peer_of_curve, says_nothing_that_is_delivered_while_it_is_judged) {
    (void)guest_at(stage::ready);
    const std::string others_box = box;
    test_socket judge = zmq.socket(ZMQ_REP);
    judge.bind(handlers_endpoint);
    ASSERT_EQ(server.set(ZMQ_ZAP_DOMAIN, "here"), 0);
    endpoint = server.bind(GetParam());
    for (const std::string status : {"400", "200"})
        for (int what = 0; what < 5; ++what) {
            SCOPED_TRACE(status + " " + std::to_string(what));
            guest each = guest_at(stage::welcomed);
            const std::string more[] = {others_box, initiate, hello, long_header(4, 1u << 30),
                                        std::string(8192, '\xff')};
            ASSERT_TRUE(each.to_server.send(initiate));
            ASSERT_TRUE(judge.has_input());
            (void)each.to_server.send(more[what]);
            expect_honest_peer_is_served();
            const frames asked = judge.receive_all();
            EXPECT_TRUE(judge.send_all(reply_to(asked, status)));
            EXPECT_TRUE(each.to_server.is_closed_by_other_side());
            expect_honest_peer_is_served();
        }
}

}  // namespace
