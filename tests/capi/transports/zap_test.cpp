// Authentication: PLAIN over every transport, and handlers at inproc://zeromq.zap.01 of every kind
//                 and mood (RFC 24, RFC 27).
#define ZMQ_BUILD_DRAFT_API
#include "flooded_server.hpp"
#include "raw_peer.hpp"
#include "transports.hpp"
#include "zap_handler.hpp"

#include <future>

namespace {

using namespace zlink_test;

frames by_password(const frames &asked) {
    return reply_to(asked, asked.at(5) == "PLAIN" && asked.at(6) == "bob" && asked.at(7) == "secret" ? "200"
                                                                                                     : "400");
}

// A server that asks for a name and a password, and a client that has them.
struct plain_pair {
    plain_pair() {
        make_plain_server(server);
        make_plain_client(client);
    }
    void call(const std::string &transport = "tcp") {
        client.connect(server.bind(scratch_endpoint(transport)));
    }
    void expect_message() {
        ASSERT_EQ(client.send("x"), 1);
        EXPECT_EQ(server.receive(), "x");
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
};

class plain_over : public ::testing::TestWithParam<std::string>, public plain_pair {};
class zap_handler : public ::testing::Test, public plain_pair {};
INSTANTIATE_TEST_SUITE_P(transports, plain_over, ::testing::ValuesIn(network_transports()), transport_name);

TEST_P(plain_over, lets_in_who_knows_the_password) {
    for (const bool server_binds : {true, false}) {
        plain_pair each;
        handler judge(each.zmq, ZMQ_REP, by_password);
        test_socket &bound = server_binds ? each.server : each.client;
        test_socket &connecting = server_binds ? each.client : each.server;
        connecting.connect(bound.bind(scratch_endpoint(GetParam())));
        for (int i = 0; i < 100; ++i)
            ASSERT_EQ(each.client.send(std::string(static_cast<std::size_t>(i) * 300, 'x')), i * 300);
        EXPECT_EQ(user_id_of(each.server), "alice");
        for (int i = 1; i < 100; ++i)
            EXPECT_EQ(each.server.receive()->size(), static_cast<std::size_t>(i) * 300);
    }
}

TEST_P(plain_over, tells_both_sides_of_a_wrong_password) {
    handler judge(zmq, ZMQ_REP, by_password);
    make_plain_client(client, "guessed");
    monitor at_server(zmq, server), at_client(zmq, client);
    call(GetParam());
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 400);
    EXPECT_EQ(at_client.next(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 400);
    EXPECT_EQ(at_client.next().event, ZMQ_EVENT_DISCONNECTED);
    client.set(ZMQ_SNDTIMEO, 0);
    EXPECT_TRUE(eventually([&] { return client.send("x") == -1 && zmq_errno() == EAGAIN; }));
    EXPECT_EQ(judge.asked(), 1) << "it came again with the same password";
}

TEST_P(plain_over, lets_nobody_in_without_a_handler) {
    client.set(ZMQ_RECONNECT_IVL, 20);
    monitor at_server(zmq, server, everything);
    call(GetParam());
    monitor_event said = at_server.next(ZMQ_EVENT_REASON);
    for (int others = 0; others < 5 && said.words.find("handler") == std::string::npos; ++others)
        said = at_server.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(said.words,
              "no authentication handler is bound to inproc://zeromq.zap.01, or it has not answered");
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT);
    // The client tries again, and finds somebody.
    handler judge(zmq, ZMQ_REP, by_password);
    expect_message();
}

TEST_F(zap_handler, is_told_all_that_is_known_of_a_peer) {
    std::promise<frames> told;
    handler judge(zmq, ZMQ_REP, [&](const frames &asked) {
        told.set_value(asked);
        return reply_to(asked, "200");
    });
    ASSERT_EQ(server.set(ZMQ_ROUTING_ID, "desk"), 0);
    call();
    EXPECT_EQ(told.get_future().get(),
              (frames{"1.0", "1", "here", "127.0.0.1", "desk", "PLAIN", "bob", "secret"}));
}

TEST_F(zap_handler, may_be_a_router) {
    handler judge(zmq, ZMQ_ROUTER, [](const frames &asked) {
        frames reply(asked.begin(), asked.begin() + 2);
        for (std::string &each : by_password(frames(asked.begin() + 2, asked.end())))
            reply.push_back(std::move(each));
        return reply;
    });
    call();
    expect_message();
}

// A DEALER would answer in turn, and so give one peer another's verdict.
TEST_F(zap_handler, of_another_type_is_none) {
    for (const int type : {ZMQ_PULL, ZMQ_DEALER, ZMQ_PAIR}) {
        plain_pair each;
        test_socket no_handler = each.zmq.socket(type);
        no_handler.bind(handlers_endpoint);
        monitor at_server(each.zmq, each.server);
        each.call();
        EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT);
    }
}

TEST_F(zap_handler, that_cannot_tell_for_now_is_asked_again) {
    handler judge(zmq, ZMQ_REP, [tries = 0](const frames &asked) mutable {
        return reply_to(asked, ++tries < 3 ? "300" : "200");
    });
    client.set(ZMQ_RECONNECT_IVL, 20);
    monitor at_server(zmq, server);
    call();
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 300);
    expect_message();
    EXPECT_EQ(judge.asked(), 3);
}

TEST_F(zap_handler, that_breaks_the_rules_lets_nobody_in) {
    const struct {
        frames reply;
        int why;
    } cases[] = {
        {{"2.0", "1", "200", "", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION},
        {{"1.0", "9", "200", "", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID},
        {{"1.0", "1", "999", "", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE},
        {{"1.0", "1", "200", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {{"1.0", "1", "200", "", "", "", ""}, ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY},
        {{"1.0", "1", "200", "", "", "\4X-H"}, ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA},
    };
    for (const auto &each : cases) {
        plain_pair asking;
        handler judge(asking.zmq, ZMQ_REP, [&](const frames &) { return each.reply; });
        monitor at_server(asking.zmq, asking.server);
        asking.call();
        EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL).value, each.why);
    }
}

TEST_F(zap_handler, that_says_nothing_holds_back_nobody_else) {
    handler judge(zmq, ZMQ_ROUTER, [](const frames &asked) {
        if (asked.at(8) == "silent")
            return frames();
        frames reply = reply_to(frames(asked.begin() + 2, asked.end()), "200", asked.at(8));
        reply.insert(reply.begin(), {asked[0], ""});
        return reply;
    });
    test_socket silent = zmq.socket(ZMQ_PUSH);
    server.set(ZMQ_HANDSHAKE_IVL, 1000);
    monitor at_server(zmq, server);
    ASSERT_EQ(silent.set(ZMQ_PLAIN_USERNAME, "silent"), 0);
    const std::string endpoint = server.bind("tcp://127.0.0.1:*");
    silent.connect(endpoint);
    ASSERT_TRUE(eventually([&] { return judge.asked() == 1; }));
    client.connect(endpoint);
    client.send("x");
    EXPECT_EQ(user_id_of(server), "bob");
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).event,
              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        << "the one that waits has a limit";
}

TEST_F(zap_handler, may_end_while_it_is_asked) {
    for (const bool is_plain : {true, false}) {
        plain_pair each;
        if (!is_plain) {
            ASSERT_EQ(each.server.set(ZMQ_PLAIN_SERVER, 0), 0);
            ASSERT_EQ(zmq_setsockopt(each.client.handle(), ZMQ_PLAIN_USERNAME, nullptr, 0), 0);
        }
        each.client.set(ZMQ_RECONNECT_IVL, 20);
        monitor at_server(each.zmq, each.server);
        {
            test_socket quiet = each.zmq.socket(ZMQ_REP);
            quiet.bind(handlers_endpoint);
            each.call();
            EXPECT_TRUE(quiet.has_input());
        }
        EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT);
        handler judge(each.zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200"); });
        each.expect_message();
    }
}

TEST_F(zap_handler, that_is_asked_keeps_no_socket_from_ending) {
    for (const bool client_goes_first : {true, false}) {
        plain_pair each;
        test_socket quiet = each.zmq.socket(ZMQ_REP);
        quiet.bind(handlers_endpoint);
        each.call();
        ASSERT_TRUE(quiet.has_input());
        test_socket &first = client_goes_first ? each.client : each.server;
        EXPECT_EQ(first.close(), 0);
        // Answering a question that nobody asks any more is not an error.
        const frames asked = quiet.receive_all();
        ASSERT_EQ(asked.size(), 8u);
        EXPECT_TRUE(quiet.send_all(reply_to(asked, "200")));
    }
}

TEST_F(zap_handler, is_asked_about_a_peer_without_security_where_there_is_a_domain) {
    handler judge(zmq, ZMQ_REP, [](const frames &asked) {
        return reply_to(asked, asked.at(5) == "NULL" && asked.at(2) == "mine" ? "200" : "400", "carol");
    });
    for (const char *domain : {"mine", "other", ""}) {
        test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
        if (*domain) {
            ASSERT_EQ(server.set(ZMQ_ZAP_DOMAIN, domain), 0);
        }
        monitor at_server(zmq, server);
        client.connect(server.bind("tcp://127.0.0.1:*"));
        if (std::string_view(domain) == "other") {
            EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH).value, 400);
            continue;  // the client has nobody to send to any more
        }
        ASSERT_NE(client.send("x"), -1);
        EXPECT_EQ(user_id_of(server), *domain ? "carol" : "nobody");
    }
    EXPECT_EQ(judge.asked(), 2);
}

// Each of many peers has its own answer, whatever the order in which they come.
TEST(zap_questions, are_answered_a_thousand_at_once) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), judge = zmq.socket(ZMQ_ROUTER);
    const int many = effort(1000, 200);
    if (!flooded_server::may_open(static_cast<rlim_t>(3 * many)))
        GTEST_SKIP() << "the system allows too few descriptors";
    make_plain_server(server);
    server.set(ZMQ_BACKLOG, many);
    server.set(ZMQ_HANDSHAKE_IVL, 0);
    judge.bind(handlers_endpoint);
    const std::string endpoint = server.bind("tcp://127.0.0.1:*");
    std::vector<zlink::test::raw_peer> peers;
    for (int i = 0; i < many; ++i) {
        const std::string name = std::to_string(i);
        peers.emplace_back(endpoint);
        ASSERT_TRUE(
            peers.back().send(zlink::test::greeting("PLAIN") +
                              zlink::test::command("HELLO", std::string(1, static_cast<char>(name.size())) +
                                                                name + std::string(1, '\0'))));
    }
    std::vector<frames> asked;
    for (int i = 0; i < many; ++i) {
        asked.push_back(judge.receive_all());
        ASSERT_EQ(asked.back().size(), 10u);
    }
    for (auto each = asked.rbegin(); each != asked.rend(); ++each) {
        const bool is_even = std::stoi((*each)[8]) % 2 == 0;
        frames reply = reply_to(frames(each->begin() + 2, each->end()), is_even ? "200" : "400");
        reply.insert(reply.begin(), {(*each)[0], ""});
        ASSERT_TRUE(judge.send_all(reply));
    }
    for (int i = 0; i < many; ++i) {
        auto &peer = peers[static_cast<std::size_t>(i)];
        ASSERT_EQ(peer.receive(64).size(), 64u);
        EXPECT_EQ(peer.receive_frame().second, i % 2 == 0 ? "\7WELCOME"
                                                          : "\5ERROR\3"
                                                            "400");
    }
}

TEST(zap_domain, is_enforced_when_asked_for) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL), client = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(server.set(ZMQ_ZAP_DOMAIN, "mine"), 0);
    ASSERT_EQ(server.set(ZMQ_ZAP_ENFORCE_DOMAIN, 1), 0);
    monitor at_server(zmq, server);
    client.connect(server.bind("tcp://127.0.0.1:*"));
    EXPECT_EQ(at_server.next(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).value, EFAULT);
}

TEST(zap_domain, is_read_back_and_taken_back) {
    context zmq;
    test_socket socket = zmq.socket(ZMQ_REP);
    EXPECT_EQ(socket.get_text(ZMQ_ZAP_DOMAIN), std::string(1, '\0'));
    ASSERT_EQ(socket.set(ZMQ_ZAP_DOMAIN, "global"), 0);
    EXPECT_EQ(socket.get_text(ZMQ_ZAP_DOMAIN), std::string("global\0", 7));
    EXPECT_EQ(zmq_setsockopt(socket.handle(), ZMQ_ZAP_DOMAIN, nullptr, 0), 0);
    EXPECT_EQ(socket.get_text(ZMQ_ZAP_DOMAIN), std::string(1, '\0'));
    EXPECT_FAILS(EINVAL, socket.set(ZMQ_ZAP_DOMAIN, std::string_view("")));
    EXPECT_EQ(socket.get(ZMQ_ZAP_ENFORCE_DOMAIN), 0);
}

}  // namespace
