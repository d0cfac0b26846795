// Peers that do not speak ZMTP: ZMQ_STREAM and ZMQ_ROUTER_RAW, with peers made of bare sockets on
// either side of a connection.
//
// But for the tests whose names begin with "not_as_libzmq", these hold for libzmq as well.
#include "bare_peers.hpp"
#include "raw_peer.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

/// One way to have such peers.
struct way {
    const char *name;
    int type;
    std::string transport;

    bool is_stream() const { return type == ZMQ_STREAM; }
    test_socket make(context &zmq) const { return make_bare(zmq, type); }
};
void PrintTo(const way &which, std::ostream *out) { *out << which.name; }

std::string random_octets(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string out(std::min<std::size_t>(size, 1'000'003), '\0');
    for (char &octet : out)
        octet = static_cast<char>(random());
    out.reserve(size);
    while (out.size() < size)  // again and again, at distances that nothing else has
        out.append(out, 0, size - out.size());
    return out;
}

/// Whether the other side has closed. libzmq closes a connection while its socket is being used.
bool is_closed(raw_peer &peer, test_socket &by) {
    return eventually([&] {
        (void)by.get(ZMQ_EVENTS);
        char octet;
        const ssize_t n = ::recv(peer.descriptor(), &octet, 1, MSG_DONTWAIT | MSG_PEEK);
        return n == 0 || (n < 0 && errno != EAGAIN);
    });
}

void set_blocking(raw_peer &peer, bool on) {
    const int flags = ::fcntl(peer.descriptor(), F_GETFL);
    ::fcntl(peer.descriptor(), F_SETFL, on ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/// Ends a connection as a crash does.
void reset(raw_peer &peer) {
    const linger at_once{1, 0};
    ::setsockopt(peer.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    peer.close();
}

class stream : public testing::TestWithParam<way> {
protected:
    test_socket bound() {
        test_socket made = GetParam().make(zmq_);
        endpoint_ = made.bind(scratch_endpoint(GetParam().transport));
        return made;
    }
    /// A peer of a bound socket, whose id goes to `id`.
    raw_peer arrived(test_socket &at, std::string &id) {
        raw_peer peer(endpoint_);
        id = told(at);
        EXPECT_EQ(id.size(), 5u);
        return peer;
    }

    context zmq_;
    std::string endpoint_;
};

TEST_P(stream, serves_a_request_and_closes_behind_the_answer) {
    test_socket server = bound();
    std::string id;
    raw_peer browser = arrived(server, id);
    EXPECT_EQ(id[0], '\0');
    ASSERT_TRUE(browser.send("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(octets_from(server, id, 18), "GET / HTTP/1.0\r\n\r\n");
    const std::string answer = "HTTP/1.0 200 OK\r\n\r\n" + random_octets(300000, 1);
    ASSERT_TRUE(server.send_all({id, answer}));
    ASSERT_TRUE(server.send_all({id, ""}));
    EXPECT_EQ(browser.receive(answer.size()), answer);
    EXPECT_TRUE(is_closed(browser, server));
}

TEST_P(stream, asks_a_server_and_hears_when_it_closes_and_comes_again) {
    raw_listener server(GetParam().transport);
    test_socket client = GetParam().make(zmq_);
    client.connect(server.endpoint());
    for (int round = 0; round < 2; ++round) {
        raw_peer peer = server.accept();
        const std::string id = told(client);
        ASSERT_EQ(id.size(), 5u);
        ASSERT_TRUE(client.send_all({id, "GET "}));
        ASSERT_TRUE(client.send_all({id, "/\r\n"}));
        EXPECT_EQ(peer.receive(7), "GET /\r\n");
        ASSERT_TRUE(peer.send("200"));
        EXPECT_EQ(octets_from(client, id, 3), "200");
        peer.close();
        EXPECT_EQ(told(client), id);
    }
}

TEST_P(stream, tells_of_a_connection_before_and_behind_all_that_it_brings) {
    test_socket server = bound();
    std::string previous;
    for (int round = 0; round < 3; ++round) {
        raw_peer peer(endpoint_);
        ASSERT_TRUE(peer.send("first and last"));
        peer.close();
        const std::string id = told(server);
        EXPECT_EQ(id.size(), 5u);
        EXPECT_NE(id, previous);
        EXPECT_EQ(octets_from(server, id, 14), "first and last");
        EXPECT_EQ(told(server), id);
        previous = id;
    }
}

TEST_P(stream, takes_the_end_of_what_a_peer_writes_for_the_end_of_the_connection) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    peer.send("all");
    peer.finish_writing();
    EXPECT_EQ(octets_from(server, id, 3), "all");
    EXPECT_EQ(told(server), id);
    EXPECT_TRUE(is_closed(peer, server));
}

TEST_P(stream, says_no_more_of_a_connection_that_it_was_told_to_close) {
    test_socket server = bound();
    std::string closed, other;
    raw_peer peer = arrived(server, closed);
    raw_peer witness = arrived(server, other);
    ASSERT_TRUE(server.send_all({closed, ""}));
    EXPECT_TRUE(is_closed(peer, server));
    peer.close();
    ASSERT_TRUE(witness.send("next"));
    EXPECT_EQ(server.receive_all(), (frames{other, "next"}));
}

TEST_P(stream, drops_what_nobody_has_read_of_a_connection_that_it_closes) {
    test_socket server = bound();
    std::string closed, other;
    raw_peer peer = arrived(server, closed);
    raw_peer witness = arrived(server, other);
    ASSERT_TRUE(peer.send("unread"));
    ASSERT_TRUE(server.has_input());
    EXPECT_EQ(server.receive(), closed);
    EXPECT_EQ(server.receive(), "unread");
    ASSERT_TRUE(peer.send(random_octets(20000, 2)));
    ASSERT_EQ(server.receive(), closed);  // and is in the middle of a message
    ASSERT_TRUE(server.send_all({closed, ""}));
    EXPECT_TRUE(is_closed(peer, server));
    const auto rest = server.receive();
    ASSERT_TRUE(rest);
    EXPECT_EQ(*rest, random_octets(20000, 2).substr(0, rest->size()));
    EXPECT_FALSE(server.get(ZMQ_RCVMORE));
    ASSERT_TRUE(witness.send("next"));
    EXPECT_EQ(server.receive_all(), (frames{other, "next"}));
}

TEST_P(stream, ends_each_message_with_its_data_whatever_the_flag_says) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    ASSERT_NE(server.send(id, ZMQ_SNDMORE), -1);
    ASSERT_NE(server.send("one ", ZMQ_SNDMORE), -1);
    ASSERT_NE(server.send(id, ZMQ_SNDMORE), -1);
    ASSERT_NE(server.send("two", ZMQ_SNDMORE), -1);
    EXPECT_EQ(peer.receive(7), "one two");
}

TEST_P(stream, keeps_many_peers_apart) {
    constexpr std::size_t count = 100;
    test_socket server = bound();
    std::vector<raw_peer> peers;
    std::map<std::string, std::size_t> number_of;
    for (std::size_t i = 0; i < count; ++i) {
        std::string id;
        peers.push_back(arrived(server, id));
        EXPECT_TRUE(number_of.emplace(id, i).second);
    }
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(peers[i * 37 % count].send("from " + std::to_string(i * 37 % count)));
    for (std::size_t i = 0; i < count; ++i) {
        const frames message = server.receive_all();
        ASSERT_EQ(message.size(), 2u);
        const std::string number = std::to_string(number_of.at(message[0]));
        EXPECT_EQ(message[1], "from " + number);
        ASSERT_TRUE(server.send_all({message[0], "to " + number}));
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::string expected = "to " + std::to_string(i);
        EXPECT_EQ(peers[i].receive(expected.size()), expected);
    }
    // Every other one goes, each in a way of its own.
    std::set<std::string> gone;
    for (const auto &[id, i] : number_of) {
        if (i % 4 == 1) {
            peers[i].close();
        } else if (i % 4 == 3) {
            ASSERT_TRUE(server.send_all({id, ""}));
        }
    }
    for (std::size_t i = 0; i < count / 4; ++i)
        gone.insert(told(server));
    EXPECT_EQ(gone.size(), count / 4);
    for (const auto &[id, i] : number_of) {
        EXPECT_EQ(gone.contains(id), i % 4 == 1);
        if (i % 4 == 3) {
            EXPECT_TRUE(is_closed(peers[i], server));
        } else if (i % 2 == 0) {
            ASSERT_TRUE(server.send_all({id, "still"}));
            EXPECT_EQ(peers[i].receive(5), "still");
        }
    }
}

TEST_P(stream, carries_much_both_ways_unchanged) {
    constexpr std::size_t much = 10 * 1024 * 1024;
    const std::string there = random_octets(much, 3);
    const std::string back = random_octets(much, 4);
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    std::thread sender([&] { EXPECT_TRUE(peer.send(there)); });
    EXPECT_TRUE(octets_from(server, id, much) == there);
    sender.join();

    std::string received;
    std::thread receiver([&] { received = peer.receive(2 * much); });
    ASSERT_TRUE(server.send_all({id, back}));
    for (std::size_t at = 0, size; at < much; at += size) {
        size = std::min<std::size_t>(1 + at % 40000, much - at);
        ASSERT_TRUE(server.send_all({id, back.substr(at, size)}));
    }
    receiver.join();
    EXPECT_TRUE(received == back + back);
}

TEST_P(stream, reads_no_more_than_its_mark_and_loses_nothing) {
    test_socket server = GetParam().make(zmq_);
    server.set(ZMQ_RCVHWM, 2);
    server.set(ZMQ_RCVBUF, 32 * 1024);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    std::string id;
    raw_peer peer = arrived(server, id);
    const std::string sent = random_octets(64 * 1024 * 1024, 5);
    set_blocking(peer, false);
    std::size_t taken = 0;
    pollfd room{peer.descriptor(), POLLOUT, 0};
    while (taken < sent.size() && ::poll(&room, 1, 500) == 1) {
        const ssize_t n = ::send(peer.descriptor(), sent.data() + taken, sent.size() - taken, MSG_NOSIGNAL);
        ASSERT_GT(n, 0);
        taken += static_cast<std::size_t>(n);
    }
    EXPECT_LT(taken, sent.size() / 2);
    set_blocking(peer, true);
    peer.finish_writing();
    EXPECT_TRUE(octets_from(server, id, taken) == sent.substr(0, taken));
}

TEST_P(stream, waits_for_room_for_a_peer_that_does_not_read) {
    test_socket server = GetParam().make(zmq_);
    if (!GetParam().is_stream())
        server.set(ZMQ_ROUTER_MANDATORY, 1);
    server.set(ZMQ_SNDHWM, 4);
    server.set(ZMQ_SNDBUF, 32 * 1024);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    std::string id, other;
    raw_peer peer = arrived(server, id);
    raw_peer idle = arrived(server, other);
    const std::string piece = random_octets(200000, 6);
    std::size_t sent = 0;
    while (server.send(id, ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
        ASSERT_NE(server.send(piece), -1);
        ++sent;
    }
    EXPECT_EQ(zmq_errno(), EAGAIN);
    EXPECT_LT(sent, 200u);
    ASSERT_TRUE(server.send_all({other, "there is room for others"}));
    EXPECT_EQ(idle.receive(24), "there is room for others");
    std::string received;
    std::thread reader([&] { received = peer.receive((sent + 1) * piece.size()); });
    ASSERT_TRUE(server.send_all({id, piece}));  // once there is room
    reader.join();
    std::string expected;
    for (std::size_t i = 0; i <= sent; ++i)
        expected += piece;
    EXPECT_TRUE(received == expected);
}

TEST_P(stream, survives_a_peer_that_disappears_in_the_middle) {
    test_socket server = bound();
    std::string id, other;
    raw_peer peer = arrived(server, id);
    raw_peer witness = arrived(server, other);
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(server.send_all({id, std::string(100000, 'x')}));
    reset(peer);
    EXPECT_EQ(told(server), id);
    // The socket may not have let go of it yet.
    if (server.send(id, ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
        EXPECT_NE(server.send("for nobody"), -1);
    } else {
        EXPECT_TRUE(zmq_errno() == EHOSTUNREACH || zmq_errno() == EAGAIN) << zmq_strerror(zmq_errno());
    }
    ASSERT_TRUE(server.send_all({other, "here"}));
    EXPECT_EQ(witness.receive(4), "here");
}

TEST_P(stream, says_nothing_of_its_own_and_has_no_time_limit_before_or_behind_a_word) {
    test_socket server = GetParam().make(zmq_);
    test_socket clock = zmq_.socket(ZMQ_DEALER);
    for (test_socket *each : {&server, &clock})
        for (const int option : {ZMQ_HANDSHAKE_IVL, ZMQ_HEARTBEAT_IVL, ZMQ_HEARTBEAT_TIMEOUT})
            ASSERT_EQ(each->set(option, option == ZMQ_HEARTBEAT_TIMEOUT ? 10000 : 20), 0);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    std::string id;
    raw_peer peer = arrived(server, id);

    // Some intervals pass: a socket that speaks ZMTP sends PINGs, and gives up who says nothing.
    const std::string watch = clock.bind(scratch_endpoint("tcp"));
    raw_peer silent(watch), polite(watch);
    ASSERT_TRUE(polite.shake_hands("DEALER"));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(polite.receive_frame().second.substr(0, 5), "\4PING");
    EXPECT_TRUE(silent.is_closed_by_other_side());

    char octet;
    EXPECT_EQ(::recv(peer.descriptor(), &octet, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_TRUE(peer.send("still"));
    EXPECT_EQ(octets_from(server, id, 5), "still");
    ASSERT_TRUE(server.send_all({id, "there"}));
    EXPECT_EQ(peer.receive(5), "there");
}

TEST_P(stream, passes_on_what_looks_like_zmtp) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    const std::string handshake = zlink::test::greeting() + zlink::test::ready("DEALER");
    ASSERT_TRUE(peer.send(handshake));
    EXPECT_EQ(octets_from(server, id, handshake.size()), handshake);
}

TEST_P(stream, has_no_use_for_security_nor_for_a_limit_of_a_message) {
    test_socket server = GetParam().make(zmq_);
    ASSERT_EQ(server.set(ZMQ_PLAIN_SERVER, 1), 0);
    const std::int64_t most = 10;
    ASSERT_EQ(zmq_setsockopt(server.handle(), ZMQ_MAXMSGSIZE, &most, sizeof most), 0);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    std::string id;
    raw_peer peer = arrived(server, id);
    ASSERT_TRUE(peer.send(std::string(1000, 'x')));
    EXPECT_EQ(octets_from(server, id, 1000), std::string(1000, 'x'));
}

TEST_P(stream, reads_at_most_8_kib_into_a_message) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    ASSERT_TRUE(peer.send(std::string(5 * read_of_libzmq, 'x')));
    EXPECT_EQ(octets_from(server, id, 5 * read_of_libzmq).size(), 5 * read_of_libzmq);
}

TEST_P(stream, says_where_each_message_comes_from) {
    test_socket server = bound();
    raw_peer peer(endpoint_);
    ASSERT_TRUE(peer.send("x"));
    for (int i = 0; i < 4; ++i) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        ASSERT_NE(zmq_msg_recv(&part, server.handle(), 0), -1);
        if (GetParam().transport == "tcp") {
            EXPECT_STREQ(zmq_msg_gets(&part, "Peer-Address"), "127.0.0.1");
        }
        EXPECT_EQ(zmq_msg_gets(&part, "Socket-Type"), nullptr);
        zmq_msg_close(&part);
    }
}

TEST_P(stream, sends_all_before_its_end) {
    const std::string sent = random_octets(1000000, 7);
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    ASSERT_TRUE(server.send_all({id, sent}));
    server.close();
    EXPECT_EQ(peer.receive(sent.size()), sent);
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_P(stream, sends_what_it_has_sent_before_it_ends_a_connection_however_long_it_lingers) {
    test_socket server = bound();
    server.set(ZMQ_LINGER, 0);
    std::string id;
    raw_peer peer = arrived(server, id);
    const std::string piece = random_octets(1000000, 8);
    constexpr std::size_t pieces = 30;
    for (std::size_t i = 0; i < pieces; ++i)
        ASSERT_TRUE(server.send_all({id, piece}));
    ASSERT_TRUE(server.send_all({id, ""}));
    std::string expected;
    for (std::size_t i = 0; i < pieces; ++i)
        expected += piece;
    // Only now does the peer read.
    EXPECT_TRUE(peer.receive(expected.size()) == expected);
    EXPECT_TRUE(is_closed(peer, server));
}

TEST_P(stream, lingers_for_no_longer_than_its_socket_does_where_it_ends_a_connection) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    const std::string piece = random_octets(1000000, 9);
    for (int i = 0; i < 30; ++i)
        ASSERT_TRUE(server.send_all({id, piece}));
    ASSERT_TRUE(server.send_all({id, ""}));
    server.set(ZMQ_LINGER, 0);
    EXPECT_EQ(server.close(), 0);
    EXPECT_EQ(zmq_.term(), 0) << "although the peer does not read";
}

TEST_P(stream, ends_the_connections_of_an_endpoint_that_it_gives_up) {
    raw_listener listener(GetParam().transport);
    test_socket socket = bound();
    std::string id;
    raw_peer came = arrived(socket, id);
    socket.connect(listener.endpoint());
    raw_peer called = listener.accept();
    const std::string other = told(socket);
    ASSERT_EQ(socket.disconnect(listener.endpoint()), 0);
    EXPECT_TRUE(is_closed(called, socket));
    ASSERT_TRUE(came.send("still here"));
    EXPECT_EQ(octets_from(socket, id, 10), "still here");
    ASSERT_EQ(socket.unbind(endpoint_), 0);
    EXPECT_TRUE(is_closed(came, socket));
}

TEST_P(stream, knows_a_connection_by_the_id_that_it_was_given) {
    raw_listener server(GetParam().transport);
    test_socket client = GetParam().make(zmq_);
    ASSERT_EQ(client.set(ZMQ_CONNECT_ROUTING_ID, "server"), 0);
    client.connect(server.endpoint());
    ASSERT_TRUE(client.send_all({"server", "hello"}));  // it need not be there yet
    raw_peer peer = server.accept();
    EXPECT_EQ(peer.receive(5), "hello");
    EXPECT_EQ(told(client), "server");
    ASSERT_TRUE(peer.send("world"));
    EXPECT_EQ(octets_from(client, "server", 5), "world");
}

TEST_P(stream, does_not_call_again_where_it_has_closed) {
    raw_listener server(GetParam().transport);
    for (const int immediate : {0, 1}) {
        test_socket client = GetParam().make(zmq_);
        client.set(ZMQ_RECONNECT_IVL, 1);
        client.set(ZMQ_IMMEDIATE, immediate);
        client.connect(server.endpoint());
        raw_peer peer = server.accept();
        const std::string id = told(client);
        ASSERT_TRUE(client.send_all({id, ""}));
        EXPECT_TRUE(is_closed(peer, client));
        peer.close();
        // Another call comes first.
        test_socket later = GetParam().make(zmq_);
        later.connect(server.endpoint());
        raw_peer next = server.accept();
        const std::string second = told(later);
        ASSERT_TRUE(later.send_all({second, "later"}));
        EXPECT_EQ(next.receive(5), "later");
        EXPECT_FALSE(server.is_called(50));
    }
}

TEST_P(stream, joins_two_sockets_of_its_kind) {
    test_socket server = bound();
    test_socket client = GetParam().make(zmq_);
    client.connect(endpoint_);
    const std::string at_server = told(server);
    const std::string at_client = told(client);
    const std::string sent = random_octets(1000000, 8);
    ASSERT_TRUE(client.send_all({at_client, sent}));
    EXPECT_TRUE(octets_from(server, at_server, sent.size()) == sent);
    ASSERT_TRUE(server.send_all({at_server, "answer"}));
    EXPECT_EQ(octets_from(client, at_client, 6), "answer");
    ASSERT_TRUE(client.send_all({at_client, ""}));
    EXPECT_TRUE(eventually([&] { return !(client.get(ZMQ_EVENTS) & ZMQ_POLLIN) && server.has_input(0); }));
    EXPECT_EQ(told(server), at_server);
}

TEST_P(stream, not_as_libzmq_sends_nothing_where_an_id_stands_alone) {
    test_socket server = bound();
    std::string id;
    raw_peer peer = arrived(server, id);
    ASSERT_NE(server.send(id), -1);
    ASSERT_TRUE(server.send_all({id, "next"}));
    EXPECT_EQ(peer.receive(4), "next");
}

TEST_P(stream, not_as_libzmq_tells_of_the_end_of_a_connection_that_has_filled_its_mark) {
    test_socket server = GetParam().make(zmq_);
    server.set(ZMQ_RCVHWM, 2);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    std::string id;
    raw_peer peer = arrived(server, id);
    const std::string sent = random_octets(100000, 9);
    ASSERT_TRUE(peer.send(sent));
    peer.close();
    EXPECT_TRUE(octets_from(server, id, sent.size()) == sent);
    EXPECT_EQ(told(server), id);
}

TEST_P(stream, not_as_libzmq_refuses_an_id_that_is_taken) {
    raw_listener server(GetParam().transport);
    test_socket client = GetParam().make(zmq_);
    client.set(ZMQ_CONNECT_ROUTING_ID, "server");
    client.connect(server.endpoint());
    client.set(ZMQ_CONNECT_ROUTING_ID, "server");
    EXPECT_FAILS(EADDRINUSE, zmq_connect(client.handle(), server.endpoint().c_str()));
}

TEST_P(stream, not_as_libzmq_leaves_nothing_of_a_peer_that_came_and_went_unseen) {
    test_socket server = GetParam().make(zmq_);
    monitor events(zmq_, server, ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_ACCEPTED);
    endpoint_ = server.bind(scratch_endpoint(GetParam().transport));
    for (int i = 0; i < 10; ++i) {
        raw_peer(endpoint_).close();
        ASSERT_EQ(events.next(ZMQ_EVENT_DISCONNECTED).event, ZMQ_EVENT_DISCONNECTED);
    }
    raw_peer peer(endpoint_);
    ASSERT_EQ(events.next(ZMQ_EVENT_ACCEPTED).event, ZMQ_EVENT_ACCEPTED);
    const std::string id = told(server);
    ASSERT_TRUE(peer.send("only one"));
    EXPECT_EQ(octets_from(server, id, 8), "only one");
}

const way ways[] = {{"STREAM_tcp", ZMQ_STREAM, "tcp"},
                    {"STREAM_ipc", ZMQ_STREAM, "ipc"},
                    {"ROUTER_tcp", ZMQ_ROUTER, "tcp"},
                    {"ROUTER_ipc", ZMQ_ROUTER, "ipc"}};

INSTANTIATE_TEST_SUITE_P(over, stream, testing::ValuesIn(ways),
                         [](const auto &which) { return which.param.name; });

// ---- of a STREAM alone ----

TEST(stream_socket, tells_the_id_of_a_connection_when_it_is_asked_for) {
    context zmq;
    raw_listener server;
    test_socket client = zmq.socket(ZMQ_STREAM);
    EXPECT_EQ(client.get_text(ZMQ_ROUTING_ID), "");
    client.connect(server.endpoint());
    const std::string id = client.get_text(ZMQ_ROUTING_ID);
    EXPECT_EQ(id.size(), 5u);
    ASSERT_TRUE(client.send_all({id, "early"}));
    raw_peer peer = server.accept();
    EXPECT_EQ(peer.receive(5), "early");
    EXPECT_EQ(told(client), id);
}

TEST(stream_socket, cannot_send_to_a_peer_that_it_does_not_know) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_STREAM);
    raw_peer peer(server.bind(scratch_endpoint("tcp")));
    const std::string id = told(server);
    for (const std::string &unknown : {std::string("\0none", 5), std::string("name"), std::string()})
        EXPECT_FAILS(EHOSTUNREACH, server.send(unknown, ZMQ_SNDMORE));
    ASSERT_TRUE(server.send_all({id, "known"}));
    EXPECT_EQ(peer.receive(5), "known");
    ASSERT_TRUE(server.send_all({id, ""}));
    EXPECT_FAILS(EHOSTUNREACH, server.send(id, ZMQ_SNDMORE));
}

TEST(stream_socket, tells_of_no_connection_where_it_is_not_to) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_STREAM);
    ASSERT_EQ(server.set(ZMQ_STREAM_NOTIFY, 0), 0);
    const std::string endpoint = server.bind(scratch_endpoint("tcp"));
    std::set<std::string> ids;
    for (int i = 0; i < 3; ++i) {
        raw_peer peer(endpoint);
        ASSERT_TRUE(peer.send("data"));
        peer.close();
        const frames message = server.receive_all();
        ASSERT_EQ(message.size(), 2u);
        EXPECT_EQ(message[1], "data");
        ids.insert(message[0]);
    }
    EXPECT_EQ(ids.size(), 3u);
}

TEST(stream_socket, may_always_be_tried_for_output) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_STREAM);
    EXPECT_EQ(server.get(ZMQ_EVENTS), ZMQ_POLLOUT);
    EXPECT_TRUE(server.has_room());
}

TEST(stream_socket, exchanges_messages_with_a_socket_of_another_type_over_inproc) {
    context zmq;
    test_socket stream = zmq.socket(ZMQ_STREAM);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    const std::string endpoint = stream.bind(scratch_endpoint("inproc"));
    dealer.connect(endpoint);
    ASSERT_NE(dealer.send("hello"), -1);
    const frames message = stream.receive_all();
    ASSERT_EQ(message.size(), 2u);
    EXPECT_EQ(message[0].size(), 5u);
    EXPECT_EQ(message[1], "hello");
    ASSERT_TRUE(stream.send_all({message[0], "world"}));
    EXPECT_EQ(dealer.receive_all(), (frames{"world"}));
}

TEST(stream_socket, has_its_own_options_alone) {
    context zmq;
    test_socket stream = zmq.socket(ZMQ_STREAM);
    EXPECT_EQ(stream.get(ZMQ_TYPE), ZMQ_STREAM);
    EXPECT_EQ(stream.set(ZMQ_STREAM_NOTIFY, 1), 0);
    EXPECT_FAILS(EINVAL, stream.set(ZMQ_STREAM_NOTIFY, 2));
    for (const int option : {ZMQ_ROUTER_RAW, ZMQ_ROUTER_MANDATORY, ZMQ_ROUTER_HANDOVER, ZMQ_PROBE_ROUTER})
        EXPECT_FAILS(EINVAL, stream.set(option, 1));
    for (const int type : {ZMQ_ROUTER, ZMQ_DEALER, ZMQ_PAIR})
        EXPECT_FAILS(EINVAL, zmq.socket(type).set(ZMQ_STREAM_NOTIFY, 1));
}

// ---- of a raw ROUTER alone ----

TEST(raw_router, drops_what_is_for_nobody_unless_it_is_to_say_so) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_RAW, 1), 0);
    raw_peer peer(router.bind(scratch_endpoint("tcp")));
    const std::string id = told(router);
    EXPECT_TRUE(router.send_all({"nobody", "lost"}));
    EXPECT_TRUE(router.send_all({"nobody", ""}));
    ASSERT_TRUE(router.send_all({id, "kept"}));
    EXPECT_EQ(peer.receive(4), "kept");
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    EXPECT_FAILS(EHOSTUNREACH, router.send("nobody", ZMQ_SNDMORE));
    ASSERT_TRUE(router.send_all({id, "kept"}));
    EXPECT_EQ(peer.receive(4), "kept");
}

TEST(raw_router, tells_of_connections_without_being_asked_and_keeps_its_own_id) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_RAW, 1), 0);
    ASSERT_EQ(router.set(ZMQ_ROUTING_ID, "me"), 0);
    const std::string endpoint = router.bind(scratch_endpoint("tcp"));
    raw_peer peer(endpoint);
    const std::string id = told(router);
    EXPECT_EQ(id.size(), 5u);
    EXPECT_EQ(router.get_text(ZMQ_ROUTING_ID), "me");
    peer.close();
    EXPECT_EQ(told(router), id);
}

TEST(raw_router, takes_its_option_as_libzmq_does) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    for (const int value : {0, 1, 2})
        EXPECT_EQ(router.set(ZMQ_ROUTER_RAW, value), 0);
    EXPECT_FAILS(EINVAL, router.set(ZMQ_ROUTER_RAW, -1));
    int value = 0;
    std::size_t size = sizeof value;
    EXPECT_FAILS(EINVAL, zmq_getsockopt(router.handle(), ZMQ_ROUTER_RAW, &value, &size));
    for (const int type : {ZMQ_DEALER, ZMQ_STREAM, ZMQ_REQ})
        EXPECT_FAILS(EINVAL, zmq.socket(type).set(ZMQ_ROUTER_RAW, 1));
}

TEST(raw_router, not_as_libzmq_goes_back_to_zmtp_and_stays_what_it_is_with_a_peer) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_RAW, 1), 0);
    ASSERT_EQ(router.set(ZMQ_ROUTER_RAW, 0), 0);
    dealer.set(ZMQ_ROUTING_ID, "dealer");
    connected(zmq, router, dealer);
    ASSERT_NE(dealer.send("hello"), -1);
    EXPECT_EQ(router.receive_all(), (frames{"dealer", "hello"}));
    EXPECT_FAILS(EINVAL, router.set(ZMQ_ROUTER_RAW, 1));
    EXPECT_EQ(router.set(ZMQ_ROUTER_RAW, 0), 0);
    ASSERT_TRUE(router.send_all({"dealer", "one", ""}));
    EXPECT_EQ(dealer.receive_all(), (frames{"one", ""}));
}

TEST(raw_router, not_as_libzmq_probes_nobody) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_RAW, 1), 0);
    ASSERT_EQ(router.set(ZMQ_PROBE_ROUTER, 1), 0);
    raw_peer peer(router.bind(scratch_endpoint("tcp")));
    const std::string id = told(router);
    ASSERT_TRUE(router.send_all({id, "first"}));
    EXPECT_EQ(peer.receive(5), "first");
}

}  // namespace
