// The transports ws and wss: messages, addresses, options, and how a connection ends.
#include "both_ways.hpp"
#include "sockets.hpp"
#include "web_accept.hpp"
#include "web_peer.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::web_close;
using zlink::test::web_message;
using zlink::test::web_peer;
using zlink::test::web_ready;
namespace opcode = zlink::test::opcode;

std::vector<std::string> web_transports() {
    std::vector<std::string> built{"ws"};
    if (zmq_has("wss"))
        built.emplace_back("wss");
    return built;
}

// Two sockets that talk to each other.
class asio_ws : public ::testing::TestWithParam<std::string> {
protected:
    std::string any(const std::string &path = "") { return GetParam() + "://127.0.0.1:*" + path; }
    void link(const std::string &path = "") { client.connect(server.bind(any(path))); }
    void expect_talk() {
        ASSERT_EQ(client.send("question"), 8) << zmq_strerror(zmq_errno());
        ASSERT_EQ(server.receive(), "question") << zmq_strerror(zmq_errno());
        ASSERT_EQ(server.send("answer"), 6);
        ASSERT_EQ(client.receive(), "answer");
    }
    std::string port_of(const std::string &endpoint) {
        const std::string rest = endpoint.substr(endpoint.rfind(':') + 1);
        return rest.substr(0, rest.find('/'));
    }

    context zmq;
    test_socket server = zmq.socket(ZMQ_PAIR);
    test_socket client = zmq.socket(ZMQ_PAIR);
};

TEST(ws, sends_large_messages_of_a_subscriber_that_came_first) {
    context zmq;
    test_socket publisher = zmq.socket(ZMQ_XPUB);
    test_socket subscriber = zmq.socket(ZMQ_XSUB);
    const std::string endpoint = publisher.bind("ws://127.0.0.1:*/a");
    ASSERT_EQ(publisher.unbind(endpoint), 0);
    subscriber.connect(endpoint);
    for (const std::size_t size : {70u * 1024, 300u * 1024})
        ASSERT_EQ(subscriber.send(std::string(size, 'b')), static_cast<int>(size));
    ASSERT_EQ(publisher.bind(endpoint), endpoint);
    for (const std::size_t size : {70u * 1024, 300u * 1024})
        EXPECT_TRUE(publisher.receive() == std::string(size, 'b'));
}

TEST(ws, is_a_capability_in_both_spellings) {
    EXPECT_EQ(zmq_has("ws"), 1);
    EXPECT_EQ(zmq_has("WS"), 1);
    EXPECT_EQ(zmq_has("wss"), zmq_has("tls"));
    EXPECT_EQ(zmq_has("WSS"), zmq_has("tls"));
}

TEST_P(asio_ws, names_the_endpoint_with_its_path) {
    EXPECT_TRUE(server.bind(any("/a/b?c=d")).ends_with("/a/b?c=d"));
    const std::string plain = server.bind(any());
    EXPECT_TRUE(plain.starts_with(GetParam() + "://127.0.0.1:")) << plain;
    EXPECT_TRUE(plain.ends_with("/")) << plain;
    client.connect(plain.substr(0, plain.size() - 1));
    EXPECT_EQ(client.last_endpoint(), plain);
    expect_talk();
}

TEST_P(asio_ws, passes_bodies_of_every_size_and_one_of_64_mib) {
    link("/path");
    exchange_bodies(
        client, server,
        {0, 1, 124, 125, 126, 255, 256, 8191, 8192, 65534, 65535, 65536, 131072, 1 << 20, 64 << 20});
}

TEST_P(asio_ws, passes_messages_of_many_frames) {
    link();
    for (int i = 0; i < 20; ++i) {
        const frames message{"", body_of(70'000, 1), "x", body_of(9'000, 2), ""};
        ASSERT_TRUE(client.send_all(message));
        ASSERT_TRUE(server.receive_all() == message);
        ASSERT_TRUE(server.send_all(message));
        ASSERT_TRUE(client.receive_all() == message);
    }
}

TEST_P(asio_ws, passes_a_hundred_thousand_small_messages_both_ways_at_once) {
    link();
    exchange_numbers_both_ways(client, server, 100'000);
}

// A sender that waits, with bodies that stand where it has them.
TEST_P(asio_ws, passes_large_messages_to_a_slow_reader) {
    link();
    for (test_socket *from : {&client, &server}) {
        test_socket &to = from == &client ? server : client;
        std::thread sender([&] {
            for (unsigned i = 0; i < 40; ++i) {
                std::string body = body_of(300'000, i);
                ASSERT_EQ(from->send(body), 300'000);
                body.assign(body.size(), '!');
            }
        });
        for (unsigned i = 0; i < 40; ++i) {
            const auto found = to.receive();
            ASSERT_TRUE(found && *found == body_of(300'000, i)) << i;
        }
        sender.join();
    }
}

TEST_P(asio_ws, hears_ipv6_too) {
    server.set(ZMQ_IPV6, 1);
    client.set(ZMQ_IPV6, 1);
    if (zmq_bind(test_socket(zmq.handle(), ZMQ_PAIR).handle(), "tcp://[::1]:*") != 0 && errno == ENODEV)
        GTEST_SKIP() << "no IPv6 here";
    const std::string endpoint = server.bind(GetParam() + "://[::1]:*/six");
    EXPECT_TRUE(endpoint.starts_with(GetParam() + "://[::1]:")) << endpoint;
    client.connect(endpoint);
    expect_talk();
}

TEST_P(asio_ws, connects_by_name_and_from_a_chosen_address) {
    const std::string port = port_of(server.bind(any("/path")));
    client.connect(GetParam() + "://127.0.0.1:0;localhost:" + port + "/path");
    expect_talk();
}

TEST_P(asio_ws, unbinds_by_every_way_to_write_the_address) {
    const std::string bound = server.bind(any("/path"));
    const std::string port = port_of(bound);
    EXPECT_FAILS(ENOENT, server.unbind(GetParam() + "://127.0.0.1:" + port));
    EXPECT_FAILS(ENOENT, server.unbind("tcp://127.0.0.1:" + port));
    EXPECT_EQ(server.unbind(bound), 0);
    const std::string name = GetParam() + "://lo:" + port + "/path";
    server.bind(name);
    EXPECT_EQ(server.unbind(name), 0);
    const std::string plain = GetParam() + "://127.0.0.1:" + port;
    server.bind(plain);
    EXPECT_EQ(server.unbind(plain), 0);
}

TEST_P(asio_ws, disconnects_by_the_name_that_was_given_and_by_its_own) {
    const std::string bound = server.bind(any());
    for (const std::string &name : {bound, bound.substr(0, bound.size() - 1)}) {
        client.connect(bound.substr(0, bound.size() - 1));
        EXPECT_EQ(client.disconnect(name), 0) << name;
        EXPECT_FAILS(ENOENT, client.disconnect(name));
    }
}

TEST_P(asio_ws, goes_on_when_the_server_comes_back) {
    client.set(ZMQ_RECONNECT_IVL, 1);
    const std::string bound = server.bind(any("/path"));
    client.connect(bound);
    expect_talk();
    monitor watch(zmq, client, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    server.close();
    server = zmq.socket(ZMQ_PAIR);
    ASSERT_EQ(server.bind(bound), bound);
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    ASSERT_EQ(client.send("again"), 5);
    EXPECT_EQ(server.receive(), "again");
}

TEST_P(asio_ws, is_for_those_who_know_the_path) {
    const std::string bound = server.bind(any("/right"));
    monitor watch(zmq, client, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    client.connect(bound.substr(0, bound.rfind('/')) + "/wrong");
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    test_socket other = zmq.socket(ZMQ_PAIR);
    other.connect(bound);
    ASSERT_EQ(other.send("I know"), 6);
    EXPECT_EQ(server.receive(), "I know");
}

TEST_P(asio_ws, needs_an_address_as_tcp_does_and_a_path_that_fits_into_a_request) {
    const std::string scheme = GetParam() + "://";
    for (const char *address :
         {"127.0.0.1", "127.0.0.1/", "127.0.0.1/path:80", "127.0.0.1:/path", "127.0.0.1:x/path",
          "127.0.0.1:80/a b", "127.0.0.1:80/a\r\nb", "127.0.0.1:80/a#b", "127.0.0.1:80/\xc3\xa4"}) {
        SCOPED_TRACE(address);
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), (scheme + address).c_str()));
        EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), (scheme + address).c_str()));
    }
    EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), scheme.c_str()));
    if (GetParam() == "ws")  // before it looks for a certificate
        EXPECT_FAILS(ENODEV, zmq_bind(server.handle(), "ws://nowhere:80/"));
}

TEST_P(asio_ws, takes_a_path_of_7_kib_and_no_longer_one) {
    constexpr std::size_t longest = 7 * 1024;
    const std::string scheme = GetParam() + "://", host = "127.0.0.1:80";
    const auto path = [](std::size_t size, const std::string &start) {
        return start + std::string(size - start.size(), 'a');
    };
    for (const std::string start : {"/", "/?"}) {
        EXPECT_FAILS(EINVAL, zmq_bind(server.handle(), any(path(longest + 1, start)).c_str()));
        // Here the address is counted, too, and the origin.
        const std::string fits = path(longest - host.size(), start);
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), (scheme + host + fits + "a").c_str()));
        EXPECT_EQ(zmq_connect(client.handle(), (scheme + host + fits).c_str()), 0);
        EXPECT_EQ(client.set(ZMQ_WS_ORIGIN, "a"), 0);
        EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), (scheme + host + fits).c_str()));
        EXPECT_EQ(client.set(ZMQ_WS_ORIGIN, ""), 0);
    }
    server.bind(any());  // with certificates
    EXPECT_EQ(zmq_bind(server.handle(), any(path(longest, "/")).c_str()), 0);
    EXPECT_EQ(zmq_bind(server.handle(), any(path(longest - 16, "/b")).c_str()), 0);
    test_socket other = zmq.socket(ZMQ_PAIR);
    char last[8192];
    std::size_t size = sizeof last;
    ASSERT_EQ(zmq_getsockopt(server.handle(), ZMQ_LAST_ENDPOINT, last, &size), 0);
    other.connect(last);
    ASSERT_EQ(other.send("found"), 5);
    EXPECT_EQ(server.receive(), "found");
}

TEST_P(asio_ws, tells_monitors_of_the_endpoint_with_its_path) {
    monitor at_server(zmq, server);
    monitor at_client(zmq, client);
    const std::string bound = server.bind(any("/path"));
    client.connect(bound);
    for (const int kind : {ZMQ_EVENT_LISTENING, ZMQ_EVENT_ACCEPTED, ZMQ_EVENT_HANDSHAKE_SUCCEEDED})
        EXPECT_EQ(at_server.next(kind).endpoint, bound);
    for (const int kind : {ZMQ_EVENT_CONNECTED, ZMQ_EVENT_HANDSHAKE_SUCCEEDED})
        EXPECT_EQ(at_client.next(kind).endpoint, bound);
    EXPECT_EQ(server.unbind(bound), 0);
    EXPECT_EQ(at_server.next(ZMQ_EVENT_CLOSED).endpoint, bound);
}

TEST_P(asio_ws, delivers_what_was_sent_before_the_socket_closed) {
    link();
    client.set(ZMQ_LINGER, -1);
    for (unsigned i = 0; i < 500; ++i)
        ASSERT_EQ(client.send(body_of(2'000, i)), 2'000);
    client.close();
    for (unsigned i = 0; i < 500; ++i)
        ASSERT_TRUE(server.receive() == body_of(2'000, i)) << i;
}

INSTANTIATE_TEST_SUITE_P(transports, asio_ws, ::testing::ValuesIn(web_transports()),
                         [](const auto &which) { return which.param; });

// ---- what goes over the wire ----

// A socket, and a bare peer that it has connected to.
class ws_client : public ::testing::Test {
protected:
    std::string address() { return there.endpoint().substr(6); }
    std::string request_of(const std::string &endpoint) {
        socket.connect(endpoint);
        peer = web_peer(there.accept());
        return peer.receive_head();
    }

    context zmq;
    raw_listener there;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    web_peer peer;
};

TEST_F(ws_client, names_host_and_path_as_they_were_given) {
    const std::string port = address().substr(address().find(':'));
    const std::vector<std::pair<std::string, std::string>> hosts{{"127.0.0.1", "127.0.0.1"},
                                                                 {"localhost", "localhost"},
                                                                 {"LocalHost", "LocalHost"},
                                                                 {"127.0.0.1:0;127.0.0.1", "127.0.0.1"}};
    const std::vector<std::string> paths{"",        "/",      "/a", "/a/b/",        "/a?b=c&d",
                                         "/%20%00", "/../..", "//", "/;:@!$'()*+,", "/~-._"};
    for (const auto &[given, named] : hosts)
        for (const std::string &path : paths) {
            socket = zmq.socket(ZMQ_PAIR);
            const std::string request = request_of("ws://" + given + port + path);
            EXPECT_TRUE(request.starts_with("GET " + (path.empty() ? "/" : path) + " HTTP/1.1\r\n"))
                << request;
            EXPECT_NE(request.find("\r\nHost: " + named + port + "\r\n"), std::string::npos) << request;
        }
}

TEST_F(ws_client, says_where_it_comes_from_if_it_was_told) {
    EXPECT_EQ(request_of("ws://" + address()).find("\r\nOrigin:"), std::string::npos);
    socket = zmq.socket(ZMQ_PAIR);
    ASSERT_EQ(socket.set(ZMQ_WS_ORIGIN, "https://here.example"), 0);
    EXPECT_EQ(socket.get_text(ZMQ_WS_ORIGIN), std::string("https://here.example") + '\0');
    EXPECT_NE(request_of("ws://" + address()).find("\r\nOrigin: https://here.example\r\n"),
              std::string::npos);
}

// This is as the packages ws of Node and websockets of Python read the field.
TEST_F(ws_client, offers_a_name_that_is_a_token_to_a_server_that_takes_no_other) {
    monitor events(zmq, socket, ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    ASSERT_EQ(socket.set(ZMQ_RECONNECT_IVL, 1), 0);
    const std::string offer = "\r\nSec-WebSocket-Protocol: ZWS2.0";
    EXPECT_NE(request_of("ws://" + address()).find(offer + "/NULL,ZWS2.0\r\n"), std::string::npos);
    for (int i = 0; i < 2; ++i) {
        if (i == 0)
            ASSERT_TRUE(
                peer.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"));
        else
            ASSERT_TRUE(peer.send(web_close(1001, false)));
        EXPECT_EQ(events.next().event,
                  i == 0 ? ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL : ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        peer = web_peer(there.accept());
        const std::string request = peer.receive_head();
        EXPECT_NE(request.find(offer + "\r\n"), std::string::npos) << request;
        ASSERT_TRUE(peer.send(zlink::test::upgrade_answer(request, "ZWS2.0") + web_message("", false)));
        EXPECT_EQ(peer.receive_web_message(), "");
        ASSERT_EQ(socket.send("hello"), 5);
        EXPECT_EQ(peer.receive_web_message(), "hello");
        ASSERT_TRUE(peer.send(web_message("answer", false)));
        EXPECT_EQ(socket.receive(), "answer");
    }
}

// A bare client of a socket.
class ws_server : public ::testing::Test {
protected:
    void call() { ASSERT_TRUE(peer.call("PAIR")); }

    context zmq;
    test_socket socket = zmq.socket(ZMQ_PAIR);
    std::string endpoint = socket.bind("ws://127.0.0.1:*");
    web_peer peer{endpoint};
};

TEST_F(ws_server, understands_a_client_that_sends_everything_at_once) {
    ASSERT_TRUE(
        peer.send(zlink::test::upgrade() + web_ready("PAIR") + web_message("first") + web_message("second")));
    EXPECT_EQ(socket.receive(), "first");
    EXPECT_EQ(socket.receive(), "second");
    EXPECT_TRUE(peer.receive_head().starts_with("HTTP/1.1 101 "));
}

TEST_F(ws_server, understands_a_client_however_its_octets_are_cut) {
    const std::string large = body_of(3'000, 1);
    ASSERT_TRUE(peer.send_slowly(zlink::test::upgrade() + web_ready("PAIR") + web_message("first") +
                                 web_message(large)));
    EXPECT_EQ(socket.receive(), "first");
    EXPECT_TRUE(socket.receive() == large);
}

TEST_F(ws_server, takes_its_leave_behind_all_that_it_has_sent) {
    call();
    socket.set(ZMQ_LINGER, -1);
    for (int i = 0; i < 200; ++i)
        ASSERT_EQ(socket.send(body_of(10'000, 3)), 10'000);
    socket.close();
    for (int i = 0; i < 200; ++i)
        ASSERT_TRUE(peer.receive_web_message() == body_of(10'000, 3)) << i;
    EXPECT_EQ(peer.receive_close(), 1000);
    ASSERT_TRUE(peer.send(web_close(1000)));
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(ws_server, takes_its_leave_also_when_it_does_not_linger) {
    call();
    socket.close();
    EXPECT_EQ(peer.receive_close(), 1000);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(ws_server, does_not_wait_for_a_client_that_does_not_take_its_leave) {
    call();
    socket.set(ZMQ_LINGER, -1);
    ASSERT_EQ(socket.send("last"), 4);
    socket.close();
    EXPECT_EQ(peer.receive_web_message(), "last");
    EXPECT_EQ(peer.receive_close(), 1000);
    EXPECT_EQ(zmq.term(), 0);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(ws_server, answers_a_client_that_takes_its_leave_and_delivers_what_came_before) {
    call();
    ASSERT_TRUE(peer.send(web_message("last") + web_close(1001)));
    EXPECT_EQ(socket.receive(), "last");
    EXPECT_EQ(peer.receive_close(), 1001);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

// ---- origins ----

TEST(ws_origin, lets_in_whom_the_server_names_and_nobody_else) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    ASSERT_EQ(server.set(ZMQ_WS_ORIGIN, "https://a.example, http://b.example:8080"), 0);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    const auto answer_to = [&](std::string_view origin) {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.send(zlink::test::upgrade("/", "ZWS2.0/NULL", origin)));
        return peer.receive_head().substr(9, 3);
    };
    EXPECT_EQ(answer_to("Origin: https://a.example\r\n"), "101");
    EXPECT_EQ(answer_to("Origin: http://b.example:8080\r\n"), "101");
    EXPECT_EQ(answer_to("Origin: https://c.example\r\n"), "403");
    EXPECT_EQ(answer_to("Origin: https://a.example.evil\r\n"), "403");
    test_socket client = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(client.set(ZMQ_WS_ORIGIN, "https://a.example"), 0);
    client.connect(endpoint);
    ASSERT_EQ(client.send("hello"), 5);
    EXPECT_EQ(server.receive(), "hello");
}

TEST(ws_origin, cannot_break_a_request) {
    context zmq;
    test_socket client = zmq.socket(ZMQ_PUSH);
    EXPECT_FAILS(EINVAL, client.set(ZMQ_WS_ORIGIN, "https://a\r\nEvil: b"));
    ASSERT_EQ(client.set(ZMQ_WS_ORIGIN, "https://a,https://b"), 0);
    // It cannot come of two.
    EXPECT_FAILS(EINVAL, zmq_connect(client.handle(), "ws://127.0.0.1:5555/"));
    ASSERT_EQ(client.set(ZMQ_WS_ORIGIN, ""), 0);
    EXPECT_EQ(zmq_connect(client.handle(), "ws://127.0.0.1:5555/"), 0);
}

// ---- sockets that do not speak ZMTP ----

TEST(ws_stream, passes_each_message_as_one_message_of_websocket) {
    context zmq;
    test_socket stream = zmq.socket(ZMQ_STREAM);
    web_peer peer(stream.bind("ws://127.0.0.1:*"));
    ASSERT_TRUE(peer.send(zlink::test::upgrade("/", "")));
    ASSERT_TRUE(peer.receive_head().starts_with("HTTP/1.1 101 "));
    const frames notice = stream.receive_all();
    ASSERT_EQ(notice.size(), 2u);
    EXPECT_EQ(notice[1], "");
    for (const std::size_t size : {1u, 100u, 9'000u, 70'000u}) {
        const std::string body = body_of(size, 5);
        ASSERT_TRUE(peer.send(zlink::test::web_frame(opcode::binary, body)));
        EXPECT_TRUE(stream.receive_all() == (frames{notice[0], body})) << size;
        ASSERT_TRUE(stream.send_all({notice[0], body}));
        const auto [kind, payload] = peer.receive_web_frame();
        EXPECT_EQ(kind, opcode::binary);
        EXPECT_TRUE(payload == body) << size;
    }
    ASSERT_TRUE(stream.send_all({notice[0], ""}));
    EXPECT_EQ(peer.receive_close(), 1000);
}

TEST(ws_stream, tells_of_a_connection_only_once_it_is_upgraded) {
    context zmq;
    test_socket stream = zmq.socket(ZMQ_STREAM);
    const std::string endpoint = stream.bind("ws://127.0.0.1:*");
    web_peer silent(endpoint), refused(endpoint), good(endpoint);
    ASSERT_TRUE(silent.send("GET / HT"));
    ASSERT_TRUE(refused.send("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_TRUE(refused.receive_head().starts_with("HTTP/1.1 400 "));
    ASSERT_TRUE(good.send(zlink::test::upgrade("/", "") + zlink::test::web_frame(opcode::binary, "hello")));
    const frames notice = stream.receive_all();
    ASSERT_EQ(notice.size(), 2u);
    EXPECT_EQ(notice[1], "");
    EXPECT_EQ(stream.receive_all(), (frames{notice[0], "hello"}));
    EXPECT_FALSE(stream.has_input(0));
}

TEST(ws_stream, talks_to_another_one) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_STREAM);
    test_socket client = zmq.socket(ZMQ_STREAM);
    client.connect(server.bind("ws://127.0.0.1:*/raw"));
    const frames at_client = client.receive_all(), at_server = server.receive_all();
    ASSERT_EQ(at_client.size(), 2u);
    ASSERT_EQ(at_server.size(), 2u);
    ASSERT_TRUE(client.send_all({at_client[0], "hello"}));
    EXPECT_EQ(server.receive_all(), (frames{at_server[0], "hello"}));
    ASSERT_TRUE(server.send_all({at_server[0], "answer"}));
    EXPECT_EQ(client.receive_all(), (frames{at_client[0], "answer"}));
}

}  // namespace
