// Peers that break the protocol where PLAIN is asked for, and while a handler has not answered yet:
// each loses its connection, nothing that it has said is delivered, and nothing else happens.
#define ZMQ_BUILD_DRAFT_API
#include "honest_peer.hpp"
#include "own_memory.hpp"
#include "raw_peer.hpp"
#include "zap_handler.hpp"

#include <vector>

namespace {

using namespace zlink_test;
using namespace zlink::test;

std::string sized(const std::string &text) { return static_cast<char>(text.size()) + text; }
std::string hello(const std::string &name = "bob", const std::string &password = "secret") {
    return command("HELLO", sized(name) + sized(password));
}
std::string initiate(const std::string &type = "PUSH") {
    return command("INITIATE", property("Socket-Type", type));
}

class hostile_peer_of_plain : public beside_an_honest_peer {
protected:
    void SetUp() override {
        make_plain_server(server);
        make_plain_client(honest);
        bring_in_the_honest_peer();
        expect_honest_peer_is_served();
    }
    void expect_refused(const std::string &what, const std::string &said) {
        SCOPED_TRACE(what);
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.is_open());
        (void)peer.send(greeting("PLAIN") + said);
        EXPECT_TRUE(peer.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }
    /// Does expect_refused() by a guest that waits for WELCOME.
    void expect_refused_behind_welcome(const std::string &what, const std::string &said) {
        SCOPED_TRACE(what);
        raw_peer peer = welcomed();
        (void)peer.send(said);
        EXPECT_TRUE(peer.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }
    raw_peer welcomed() {
        raw_peer peer(endpoint);
        EXPECT_TRUE(peer.send(greeting("PLAIN") + hello()));
        EXPECT_EQ(peer.receive(64).size(), 64u);
        EXPECT_EQ(peer.receive_frame().second, "\7WELCOME");
        return peer;
    }

    handler judge{zmq, ZMQ_REP, [](const frames &asked) {
                      return reply_to(asked, asked.at(6) == "bob" && asked.at(7) == "secret" ? "200" : "400");
                  }};
};
INSTANTIATE_TEST_SUITE_P(transports, hostile_peer_of_plain, testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param, 3); });

TEST_P(hostile_peer_of_plain, is_refused_when_it_does_not_say_hello) {
    expect_refused("a message", message("hello"));
    expect_refused("a message with more", message("hello", true));
    for (const char *const other :
         {"WELCOME", "INITIATE", "ERROR", "PING", "SUBSCRIBE", "MESSAGE", "WHATEVER"})
        expect_refused(other, command(other, sized("bob") + sized("secret")));
    expect_refused("READY", ready("PUSH"));
    expect_refused("an empty command", frame(4, ""));
    expect_refused("a command with more", frame(5, "\5HELLO" + sized("bob") + sized("secret")));
    expect_refused("a command of 1 GiB", long_header(4, 1u << 30));
    expect_refused("a second greeting", greeting("PLAIN"));
    const std::string whole = sized("bob") + sized("secret");
    for (std::size_t size = 0; size < whole.size(); ++size)
        expect_refused("cut at " + std::to_string(size), command("HELLO", whole.substr(0, size)));
    expect_refused("something behind it", command("HELLO", whole + "x"));
    expect_refused("names that are longer than it", command("HELLO", std::string(600, '\xff')));
    expect_refused("as much as a command may be", command("HELLO", std::string((64 << 10) - 6, 's')));
    expect_refused("a wrong password", hello("bob", "guessed"));
}

TEST_P(hostile_peer_of_plain, is_refused_when_it_does_not_say_initiate) {
    expect_refused_behind_welcome("HELLO again", hello());
    expect_refused_behind_welcome("a message", message("not yet"));
    expect_refused_behind_welcome("READY", ready("PUSH"));
    expect_refused_behind_welcome("ERROR", command("ERROR", sized("400")));
    expect_refused_behind_welcome("a socket that does not fit", initiate("SUB"));
    const std::string whole = property("Socket-Type", "PUSH");
    for (std::size_t size = 1; size < whole.size(); ++size)
        expect_refused_behind_welcome("cut at " + std::to_string(size),
                                      command("INITIATE", whole.substr(0, size)));
    expect_refused_behind_welcome(
        "more than a command may be",
        command("INITIATE", whole + property("X-Much", std::string(64 << 10, 'm'))));
    expect_refused_behind_welcome("a command of 1 GiB", long_header(4, 1u << 30));
}

TEST_P(hostile_peer_of_plain, is_refused_when_it_says_its_commands_again) {
    const std::string hands = hello() + initiate();
    expect_refused("HELLO at once", hello() + hello() + initiate() + message("twice"));
    expect_refused("a message in the place of INITIATE", hello() + message("not yet") + initiate());
    for (const std::string &again : {hello(), initiate(), command("WELCOME"), ready("PUSH")})
        expect_refused("behind READY", hands + again + message("too late"));
}

TEST_P(hostile_peer_of_plain, may_say_much_of_itself_within_a_command) {
    raw_peer peer = welcomed();
    ASSERT_TRUE(peer.send(command("INITIATE", property("Socket-Type", "PUSH") +
                                                  property("X-Much", std::string(60 << 10, 'm'))) +
                          message("still")));
    EXPECT_EQ(server.receive(), "still");
    expect_honest_peer_is_served();
}

// ---- While nobody has answered ----

/// The test is the handler: it answers when it is told what.
class hostile_peer_that_is_judged : public beside_an_honest_peer {
protected:
    void SetUp() override {
        make_plain_server(server);
        make_plain_client(honest);
        judge.bind(handlers_endpoint);
        bring_in_the_honest_peer();
        answer("200");
        expect_honest_peer_is_served();
    }
    void answer(const std::string &status) {
        const frames asked = judge.receive_all();
        ASSERT_EQ(asked.size(), 8u);
        EXPECT_TRUE(judge.send_all(reply_to(asked, status)));
    }
    /// A peer that was to wait may go on with these.
    static std::vector<std::string> words() {
        return {initiate() + message("now"),
                message("now"),
                hello("bob", "another"),
                hello() + initiate() + message("now"),
                command("INITIATE", "half a property"),
                long_header(4, 1u << 30),
                std::string(8192, '\xff'),
                std::string(100000, '\0')};
    }

    test_socket judge = zmq.socket(ZMQ_REP);
};
INSTANTIATE_TEST_SUITE_P(transports, hostile_peer_that_is_judged,
                         testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param, 3); });

TEST_P(hostile_peer_that_is_judged, says_nothing_that_is_delivered_where_it_is_refused) {
    for (const std::string &more : words()) {
        SCOPED_TRACE(more.substr(0, 30));
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send(greeting("PLAIN") + hello()));
        ASSERT_TRUE(judge.has_input());
        (void)peer.send(more);
        expect_honest_peer_is_served();
        answer("400");
        EXPECT_TRUE(peer.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }
}

TEST_P(hostile_peer_that_is_judged, is_held_to_the_order_of_commands_where_it_is_let_in) {
    for (const std::string &more : words()) {
        SCOPED_TRACE(more.substr(0, 30));
        const bool is_in_order = more == words().front();
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send(greeting("PLAIN") + hello() + more));
        ASSERT_TRUE(judge.has_input());
        expect_honest_peer_is_served();
        answer("200");
        if (is_in_order)
            EXPECT_EQ(server.receive(), "now");
        else
            EXPECT_TRUE(peer.is_closed_by_other_side());
        expect_honest_peer_is_served();
    }
}

TEST_P(hostile_peer_that_is_judged, that_says_much_meanwhile_costs_little) {
    constexpr int many = 64;
    const std::string much_more(1 << 20, 'm');
    std::vector<raw_peer> peers;
    const long before = resident();
    for (int i = 0; i < many; ++i) {
        peers.emplace_back(endpoint);
        ASSERT_TRUE(peers.back().send(greeting("PLAIN") + hello()));
    }
    for (int round = 0; round < 2; ++round)
        for (raw_peer &each : peers)
            (void)::send(each.descriptor(), much_more.data(), much_more.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    expect_honest_peer_is_served();
    EXPECT_LT(resident() - before, much);
    for (int i = 0; i < many; ++i)
        answer("400");
    for (raw_peer &each : peers)
        EXPECT_TRUE(each.is_closed_by_other_side());
    expect_honest_peer_is_served();
}

}  // namespace
