// Upgrades and handshakes over ws that do not come about: what the other side is answered, and what
// monitors are told.
#include "refusals.hpp"
#include "web_accept.hpp"
#include "web_peer.hpp"

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::upgrade;
using zlink::test::upgrade_answer;
using zlink::test::web_close;
using zlink::test::web_peer;
using zlink::test::web_ready;

void expect_bad_upgrade(monitor &events, const std::string &endpoint, const std::string &words) {
    EXPECT_EQ(reason_for(events, EPROTO, endpoint), words);
    expect_failure(events, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED);
}

// ---- what is answered ----

class ws_answer : public ::testing::Test {
protected:
    std::string head_for(const std::string &request) {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.send(request));
        std::string head = peer.receive_head();
        EXPECT_TRUE(peer.is_closed_by_other_side());
        return head;
    }
    static std::string with(std::string text, std::string_view what, std::string_view instead) {
        return text.replace(text.find(what), what.size(), instead);
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
};

TEST_F(ws_answer, names_the_method_that_is_served_to_others_with_and_without_a_body) {
    const std::string get = upgrade();
    for (const char *method : {"POST", "PUT", "DELETE", "OPTIONS"})
        for (const char *body :
             {"Content-Length: 3\r\n\r\nabc", "Content-Length: 123456789\r\n\r\nabc",
              "Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
            const std::string head = head_for(with(get.substr(0, get.size() - 2), "GET", method) + body);
            EXPECT_TRUE(head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n")) << method << body << head;
            EXPECT_NE(head.find("\r\nAllow: GET\r\n"), std::string::npos) << head;
        }
}

TEST_F(ws_answer, names_the_version_that_is_spoken_to_who_names_another_or_none) {
    for (const char *version : {"", "Sec-WebSocket-Version: 8\r\n", "Sec-WebSocket-Version: 14\r\n",
                                "Sec-WebSocket-Version: 13, 8\r\n"}) {
        const std::string head = head_for(with(upgrade(), "Sec-WebSocket-Version: 13\r\n", version));
        EXPECT_TRUE(head.starts_with("HTTP/1.1 426 Upgrade Required\r\n")) << head;
        EXPECT_NE(head.find("\r\nSec-WebSocket-Version: 13\r\n"), std::string::npos) << head;
        EXPECT_NE(head.find("\r\nUpgrade: websocket\r\n"), std::string::npos) << head;
        EXPECT_NE(head.find("\r\nConnection: close, Upgrade\r\n"), std::string::npos) << head;
    }
}

// ---- what a monitor is told ----

TEST(ws_reason, of_a_client_names_the_status_that_it_was_answered_with) {
    context zmq;
    raw_listener there;
    test_socket client = zmq.socket(ZMQ_PUSH);
    monitor events(zmq, client, everything);
    const std::pair<std::string, std::string> answers[] = {
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "the web server answered with 403"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "the web server answered with 200"},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
         "the web server's answer does not grant what was asked for"},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "the peer speaks SSH, not HTTP"},
        {"\x15\x03\x01", "the peer speaks TLS, not HTTP; for WebSocket inside TLS there is wss://"},
        {"GOPHER/1.0\r\n\r\n", "the answer is not one of HTTP/1.1"},
        {"\xff", "the answer is not one of HTTP/1.1"},
        {"HTTP/1.1 101 Switching Protocols\r\nX: " + std::string(10'000, 'x') + "\r\n\r\n",
         "the answer is too long"},
    };
    client.set(ZMQ_RECONNECT_IVL, 1);
    const std::string endpoint = "ws" + there.endpoint().substr(3) + "/";
    client.connect(endpoint);
    for (const auto &[answer, words] : answers) {
        web_peer peer(there.accept());
        (void)peer.receive_head();
        ASSERT_TRUE(peer.send(answer));
        expect_bad_upgrade(events, endpoint, words);
    }
}

TEST(ws_reason, of_a_server_is_what_it_has_answered) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    const auto refuse = [&](const std::string &request, const std::string &words) {
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.send(request));
        expect_bad_upgrade(events, endpoint, words);
    };
    refuse(upgrade("/elsewhere"), "answered with 404: There is nothing at this path.");
    refuse("GET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "answered with 426: Only WebSocket connections are served here.");
    refuse("\x16", "answered with 400: This is not a request of HTTP.");
    refuse("\x16\x03\x01", "the peer speaks TLS, not HTTP; for WebSocket inside TLS there is wss://");
    refuse(std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10),
           "the peer speaks ZMTP, not HTTP; for ZMTP without WebSocket there is tcp://, inside TLS tls://");
    refuse(upgrade("/", "chat"), "answered with 400: None of the sub-protocols offered is spoken here.");
}

void expect_close_in_handshake(monitor &events, const std::string &endpoint, const std::string &words) {
    EXPECT_EQ(reason_for(events, ECONNRESET, endpoint),
              "the peer closed during the handshake of WebSocket, " + words);
    expect_failure(events, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ECONNRESET);
}

TEST(ws_reason, of_a_peer_that_closes_before_the_handshake_is_over_names_its_status) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.send(upgrade() + web_close(1001)));
    expect_close_in_handshake(events, endpoint, "with 1001 (going away)");
    web_peer wordless(endpoint);
    ASSERT_TRUE(wordless.send(upgrade() + zlink::test::web_frame(zlink::test::opcode::close, "")));
    expect_close_in_handshake(events, endpoint, "without a status");

    raw_listener there;
    test_socket client = zmq.socket(ZMQ_PUSH);
    monitor at_client(zmq, client, everything);
    const std::string called_at = "ws" + there.endpoint().substr(3) + "/";
    client.connect(called_at);
    web_peer called(there.accept());
    ASSERT_TRUE(called.send(upgrade_answer(called.receive_head()) + web_close(1008, false)));
    expect_close_in_handshake(at_client, called_at, "with 1008 (policy violation)");
}

void expect_end(monitor &events, int value, const std::string &endpoint, const std::string &words) {
    EXPECT_EQ(reason_for(events, value, endpoint), words);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST(ws_reason, of_a_fault_in_traffic_is_the_status_that_it_is_closed_with) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    const std::int64_t limit = 100;
    ASSERT_EQ(zmq_setsockopt(server.handle(), ZMQ_MAXMSGSIZE, &limit, sizeof limit), 0);
    monitor events(zmq, server, ZMQ_EVENT_REASONS | ZMQ_EVENT_DISCONNECTED);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    using namespace zlink::test;
    const std::pair<std::string, std::string> faults[] = {
        {web_frame(opcode::binary, "\x7f"), "1002 (protocol error)"},
        {web_frame(opcode::text, "hello"), "1003 (unacceptable type of data)"},
        {web_frame(opcode::close, std::string("\x03\xe8\xff", 3)), "1007 (invalid data)"},
        {web_message(std::string(101, 'a')), "1009 (message too big)"},
    };
    for (const auto &[octets, words] : faults) {
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.call("PUSH"));
        ASSERT_TRUE(peer.send(octets));
        expect_end(events, EPROTO, endpoint, "closed the WebSocket with " + words);
    }
}

TEST(ws_reason, of_a_peer_that_closes_for_a_fault_is_its_status_and_what_it_says) {
    context zmq;
    raw_listener there;
    test_socket client = zmq.socket(ZMQ_PUSH);
    client.set(ZMQ_RECONNECT_IVL, 1);
    monitor events(zmq, client, ZMQ_EVENT_REASONS | ZMQ_EVENT_DISCONNECTED);
    const std::string endpoint = "ws" + there.endpoint().substr(3) + "/";
    client.connect(endpoint);
    const std::pair<std::string, std::string> closes[] = {
        {std::string("\x03\xf1"), "with 1009 (message too big)"},
        {std::string("\x03\xf1no more\x1b[2J\xc2\x9b\xc3\xa4"),
         "with 1009 (message too big): no more?[2J?\xc3\xa4"},
        {std::string("\x0f\xa0") + std::string(123, 'a'), "with 4000: " + std::string(123, 'a')},
    };
    for (const auto &[payload, words] : closes) {
        web_peer called(there.accept());
        ASSERT_TRUE(called.send(upgrade_answer(called.receive_head()) + web_ready("PULL", false)));
        ASSERT_TRUE(called.send(zlink::test::web_frame(zlink::test::opcode::close, payload, false)));
        expect_end(events, ECONNRESET, endpoint, "the peer closed the WebSocket " + words);
    }
}

TEST(ws_reason, is_not_given_for_a_leave_in_traffic) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, ZMQ_EVENT_REASONS | ZMQ_EVENT_DISCONNECTED);
    web_peer peer(server.bind("ws://127.0.0.1:*"));
    ASSERT_TRUE(peer.call("PUSH"));
    ASSERT_TRUE(peer.send(web_close(1001)));
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
}

}  // namespace
