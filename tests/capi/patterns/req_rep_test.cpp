// REQ and REP: strict turns, relaxed turns, correlation, and the envelope between them.
#include "sockets.hpp"

namespace {

using namespace zlink_test;

class req_rep : public ::testing::TestWithParam<const char *> {};

TEST_P(req_rep, carries_a_request_and_its_reply) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, GetParam());
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(req.send_all({"question", std::to_string(i)}));
        ASSERT_EQ(rep.receive_all(), (frames{"question", std::to_string(i)}));
        ASSERT_TRUE(rep.send_all({"answer", "", std::to_string(i)}));
        ASSERT_EQ(req.receive_all(), (frames{"answer", "", std::to_string(i)}));
    }
}

INSTANTIATE_TEST_SUITE_P(transports, req_rep, ::testing::Values("tcp", "ipc", "inproc"));

TEST(req, must_send_before_it_receives) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, "inproc");
    char byte;
    EXPECT_FAILS(EFSM, zmq_recv(req.handle(), &byte, 1, 0));
}

TEST(req, must_receive_before_it_sends_again) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, "inproc");
    ASSERT_EQ(req.send("one"), 3);
    EXPECT_FAILS(EFSM, req.send("two"));
    ASSERT_EQ(rep.receive(), "one");
    rep.send("answer");
    EXPECT_EQ(req.receive(), "answer");
    EXPECT_EQ(req.send("two"), 3);
}

TEST(rep, must_receive_before_it_sends) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, "inproc");
    EXPECT_FAILS(EFSM, rep.send("early"));
    req.send("one");
    ASSERT_EQ(rep.receive(), "one");
    char byte;
    EXPECT_FAILS(EFSM, zmq_recv(rep.handle(), &byte, 1, 0));
    EXPECT_EQ(rep.send("answer"), 6);
    EXPECT_FAILS(EFSM, rep.send("twice"));
}

TEST(req, asks_its_peers_in_turn) {
    context zmq;
    test_socket req = zmq.socket(ZMQ_REQ);
    const std::string endpoint = req.bind(scratch_endpoint("inproc"));
    test_socket first = zmq.socket(ZMQ_REP);
    test_socket second = zmq.socket(ZMQ_REP);
    first.connect(endpoint);
    second.connect(endpoint);
    for (test_socket *expected : {&first, &second, &first, &second}) {
        ASSERT_EQ(req.send("question"), 8);
        ASSERT_EQ(expected->receive(), "question");
        expected->send("answer");
        ASSERT_EQ(req.receive(), "answer");
    }
}

TEST(req, relaxed_may_ask_again_and_gets_the_answer_to_the_last_question) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket req = zmq.socket(ZMQ_REQ);
    ASSERT_EQ(req.set(ZMQ_REQ_RELAXED, 1), 0);
    ASSERT_EQ(req.set(ZMQ_REQ_CORRELATE, 1), 0);
    connected(zmq, router, req, "tcp");
    ASSERT_EQ(req.send("one"), 3);
    ASSERT_TRUE(req.has_room());
    const frames first = router.receive_all();
    ASSERT_EQ(first.size(), 4u);  // routing id, request id, delimiter, body
    EXPECT_EQ(first[1].size(), 4u);
    EXPECT_EQ(first[2], "");
    EXPECT_EQ(first[3], "one");
    ASSERT_EQ(req.send("two"), 3);
    const frames second = router.receive_all();
    ASSERT_EQ(second.size(), 4u);
    EXPECT_EQ(second[3], "two");
    EXPECT_NE(first[1], second[1]);
    // The relaxed request may come over a new connection with a new routing id; answer each where
    // it came from.
    router.send_all({second[0], first[1], "", "stale"});
    router.send_all({second[0], second[1], "", "fresh"});
    EXPECT_EQ(req.receive(), "fresh");
}

TEST(req, passes_over_answers_without_a_delimiter) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, router, req, "inproc");
    req.send("one");
    const frames found = router.receive_all();
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[1], "");
    router.send_all({found[0], "not a delimiter", "bad"});
    router.send_all({found[0], "", "good"});
    EXPECT_EQ(req.receive(), "good");
}

TEST(req, takes_an_answer_from_the_peer_it_asked_only) {
    context zmq;
    test_socket req = zmq.socket(ZMQ_REQ);
    const std::string endpoint = req.bind(scratch_endpoint("inproc"));
    test_socket asked = zmq.socket(ZMQ_ROUTER);
    asked.connect(endpoint);
    ASSERT_EQ(req.send("one"), 3);
    const frames found = asked.receive_all();
    test_socket stranger = zmq.socket(ZMQ_DEALER);
    stranger.connect(endpoint);
    stranger.send_all({"", "from a stranger"});
    ASSERT_EQ(found.size(), 3u);
    asked.send_all({found[0], "", "from the one asked"});
    EXPECT_EQ(req.receive(), "from the one asked");
}

TEST(rep, keeps_an_envelope_of_several_ids) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    connected(zmq, rep, dealer, "inproc");
    ASSERT_TRUE(dealer.send_all({"hop 1", "hop 2", "", "question"}));
    ASSERT_EQ(rep.receive_all(), (frames{"question"}));
    ASSERT_EQ(rep.send("answer"), 6);
    EXPECT_EQ(dealer.receive_all(), (frames{"hop 1", "hop 2", "", "answer"}));
}

TEST(rep, answers_through_a_router_and_a_dealer) {
    context zmq;
    test_socket front = zmq.socket(ZMQ_ROUTER);
    test_socket back = zmq.socket(ZMQ_DEALER);
    test_socket req = zmq.socket(ZMQ_REQ);
    test_socket rep = zmq.socket(ZMQ_REP);
    connected(zmq, front, req, "inproc");
    connected(zmq, back, rep, "inproc");
    ASSERT_TRUE(req.send_all({"a", "b"}));
    ASSERT_TRUE(back.send_all(front.receive_all()));
    ASSERT_EQ(rep.receive_all(), (frames{"a", "b"}));
    rep.send("c");
    ASSERT_TRUE(front.send_all(back.receive_all()));
    EXPECT_EQ(req.receive_all(), (frames{"c"}));
}

TEST(rep, drops_the_answer_to_a_peer_that_has_gone) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    const std::string endpoint = connected(zmq, rep, req, "inproc");
    req.send("one");
    ASSERT_EQ(rep.receive(), "one");
    req.close();
    EXPECT_EQ(rep.send("for nobody"), 10);
    test_socket next = zmq.socket(ZMQ_REQ);
    next.connect(endpoint);
    next.send("two");
    EXPECT_EQ(rep.receive(), "two");
}

}  // namespace
