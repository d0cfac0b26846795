// Peers that do not speak ZMTP at a socket that does: no connection comes of it, and monitors hear
// what was met.
#include "raw_peer.hpp"
#include "refusals.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

struct stranger {
    std::string octets, words;
};
const std::string http = "the peer speaks HTTP, not ZMTP; for WebSocket there is ws://, inside TLS wss://";
const std::string tls = "the peer speaks TLS, not ZMTP; for ZMTP inside TLS there is tls://";

void expect_refusal(monitor &events, const std::string &endpoint, const std::string &words) {
    EXPECT_EQ(reason_for(events, EPROTO, endpoint), words);
    expect_failure(events, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED);
}

TEST(strangers, that_call_are_refused_by_name) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    monitor events(zmq, server, everything);
    const std::string endpoint = server.bind("tcp://127.0.0.1:*");
    ASSERT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
    const stranger all[] = {
        {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", http},
        {"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", http},
        {std::string("\x16\3\1\0\xc4\1\0\0\xc0\3\3", 11), tls},
        {"SSH-2.0-OpenSSH_9.2p1\r\n", "the peer speaks SSH, not ZMTP"},
        {"hello", "the peer's first octets are no greeting of ZMTP"},
    };
    for (const stranger &each : all) {
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send(each.octets));
        ASSERT_EQ(events.next().event, ZMQ_EVENT_ACCEPTED);
        expect_refusal(events, endpoint, each.words);
        EXPECT_TRUE(peer.is_closed_by_other_side());
    }
}

TEST(strangers, that_are_called_are_refused_by_name) {
    context zmq;
    raw_listener there;
    test_socket client = zmq.socket(ZMQ_PUSH);
    client.set(ZMQ_RECONNECT_IVL, 1);
    monitor events(zmq, client, everything);
    client.connect(there.endpoint());
    const stranger all[] = {
        {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", http},
        {std::string("\x15\3\1\0\2\2\x0a", 7), tls},
        {"SSH-2.0-OpenSSH_9.2p1\r\n", "the peer speaks SSH, not ZMTP"},
    };
    for (const stranger &each : all) {
        raw_peer peer = there.accept();
        ASSERT_EQ(events.next(ZMQ_EVENT_CONNECTED).event, ZMQ_EVENT_CONNECTED);
        ASSERT_TRUE(peer.send(each.octets));
        expect_refusal(events, there.endpoint(), each.words);
        ASSERT_EQ(events.next().event, ZMQ_EVENT_CONNECT_RETRIED);
    }
}

// This is as a server of TLS does that is called without it.
TEST(strangers, that_hang_up_are_told_of_in_words) {
    context zmq;
    raw_listener there;
    for (const std::string &scheme : where_built({"tcp", "ws"})) {
        test_socket client = zmq.socket(ZMQ_PUSH);
        client.set(ZMQ_RECONNECT_IVL, -1);
        monitor events(zmq, client, everything);
        const std::string endpoint = scheme + there.endpoint().substr(3) + (scheme == "ws" ? "/" : "");
        client.connect(endpoint);
        { const raw_peer gone = there.accept(); }
        EXPECT_EQ(reason_for(events, ECONNRESET, endpoint),
                  "the peer closed the connection during the handshake");
        expect_failure(events, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, ECONNRESET);
    }
}

}  // namespace
