// Conversations over WebSocket, of both sides: upgrade and handshake. What follows is in
// web_traffic_test.cpp.
#include "zmtp/web_conversation.hpp"

#include <gtest/gtest.h>

#include <random>

#include "web_script.hpp"
#include "zmtp/mechanism.hpp"
#include "zmtp/peer.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using log_of = std::vector<std::string>;

settings limited(settings options) {
    options.handshake_interval_ms = 1000;
    return options;
}

peer_script server_script(const settings &options) { return peer_script(options, true, &a_place); }

struct two_sides {
    peer_driver client, server;
    two_sides(const settings &c, const settings &s) : client(c, false, &a_place), server(s, true, &a_place) {
        talk();
    }
    void talk() {
        for (;;) {
            const octets to_server = client.take_written(), to_client = server.take_written();
            if (to_server.empty() && to_client.empty())
                return;
            server.feed(to_server);
            client.feed(to_client);
        }
    }
};

// ---- the way into traffic ----

TEST(web_conversation, brings_two_sides_together) {
    settings dealer = socket_of(socket_type::dealer);
    dealer.routing_id = "name";
    two_sides both(dealer, socket_of(socket_type::router));
    EXPECT_EQ(both.client.log(), log_of{"established"});
    EXPECT_EQ(both.server.log(), log_of{"established"});
    EXPECT_EQ(both.server.machine().info().routing_id, "name");
    EXPECT_STREQ(both.server.machine().info().find("Socket-Type"), "DEALER");
    EXPECT_STREQ(both.client.machine().info().find("Socket-Type"), "ROUTER");
    std::vector<std::uint8_t> wire;
    both.client.machine().framing().encode(frame_flag::more, as_bytes("one"), wire);
    both.client.machine().framing().encode(0, as_bytes(octets(70000, 'x')), wire);
    both.server.feed(text(wire));
    EXPECT_EQ(both.server.log().back(), "message one|" + octets(70000, 'x'));
}

TEST(web_conversation, server_answers_the_request_and_sends_its_ready_at_once) {
    server_script(socket_of(socket_type::pull))
        .expects_write("")
        .receives(web_request())
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .receives(masked_zws(2, ready_body("PUSH")))
        .expects("established")
        .receives(masked_zws(1, "one") + masked_zws(0, "two"))
        .expects("message one|two")
        .receives(web_frame(0x88, close_payload(1001, "going"), a_mask))
        .expects_write(web_frame(0x88, close_payload(1001)))
        .expects(ended)
        .run();
}

TEST(web_conversation, client_asks_for_both_protocols_and_sends_its_ready_when_it_is_answered) {
    asking_client client;
    EXPECT_EQ(client.request, replaced(web_request(), "dGhlIHNhbXBsZSBub25jZQ==", client.key()));
    client.feed(client.good_answer());
    EXPECT_EQ(unmasked(client.take_written()), zws(2, ready_body("PULL")));
    client.feed(zws(2, ready_body("PUSH")) + zws(0, "hello"));
    EXPECT_EQ(client.log(), (log_of{"established", "message hello"}));
}

TEST(web_conversation, frames_that_come_with_the_answer_are_taken) {
    asking_client client;
    client.feed(client.good_answer() + zws(2, ready_body("PUSH")) + zws(0, "hello") + web_frame(0x89, "p") +
                web_frame(0x88, ""));
    EXPECT_EQ(client.log(), (log_of{"established", "message hello", ended}));
    EXPECT_EQ(unmasked(client.take_written()),
              zws(2, ready_body("PULL")) + web_frame(0x8a, "p") + web_frame(0x88, ""));
}

TEST(web_conversation, frames_that_come_with_the_request_are_taken) {
    server_script(socket_of(socket_type::pull))
        .receives(web_request() + masked_zws(2, ready_body("PUSH")) + masked_zws(0, "hello"))
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .expects("established")
        .expects("message hello")
        .run();
}

TEST(web_conversation, first_message_without_a_mechanism_is_the_routing_id) {
    settings router = socket_of(socket_type::router);
    router.routing_id = "server";
    server_script(router)
        .receives(web_request("ZWS2.0"))
        .expects_write(web_answer("ZWS2.0") + zws(0, "server"))
        .receives(masked_zws(0, "client"))
        .expects("established")
        .receives(masked_zws(0, "hello"))
        .expects("message hello")
        .receives(masked_zws(2, octets("\4PING\0\0", 7)))
        .expects_write(web_frame(0x88, close_payload(1002)))
        .expects("close protocol 10000001")
        .run();
    peer_driver server(router, true, &a_place);
    server.feed(web_request("ZWS2.0") + masked_zws(0, "client"));
    EXPECT_EQ(server.machine().info().routing_id, "client");

    asking_client client;
    client.feed(client.good_answer("ZWS2.0"));
    EXPECT_EQ(unmasked(client.take_written()), zws(0, ""));
    client.feed(zws(0, octets(255, 'i')) + zws(0, "hello"));
    EXPECT_EQ(client.log(), (log_of{"established", "message hello"}));
}

TEST(web_conversation, routing_ids_that_cannot_be_are_refused) {
    for (const octets &bad :
         {masked_zws(1, "more"), masked_zws(2, "\5READY"), masked_zws(0, octets(256, 'i'))}) {
        peer_driver server(socket_of(socket_type::router), true, &a_place);
        server.feed(web_request("ZWS2.0") + bad);
        EXPECT_EQ(server.log(), log_of{"close protocol 10000018"});
        EXPECT_TRUE(server.written().ends_with(web_frame(0x88, close_payload(1002))));
    }
}

TEST(web_conversation, carries_octets_without_frames_where_neither_side_speaks_zmtp) {
    settings raw_router = socket_of(socket_type::router);
    raw_router.router_raw = true;
    two_sides both(socket_of(socket_type::stream), raw_router);
    EXPECT_EQ(both.client.log(), log_of{"established"});
    EXPECT_EQ(both.server.log(), log_of{"established"});
    EXPECT_EQ(both.client.written().find("Protocol"), octets::npos);
    EXPECT_EQ(both.server.written(),
              make_answer(both.client.written().substr(both.client.written().find("Key: ") + 5, 24), ""));
    both.client.feed(web_frame(0x82, "hello") + web_frame(0x82, ""));
    both.server.feed(web_frame(0x02, "hel", a_mask) + web_frame(0x80, "lo", a_mask));
    EXPECT_EQ(both.client.log().back(), "message hello");
    EXPECT_EQ(both.server.log().back(), "message hello");
    std::vector<std::uint8_t> wire;
    both.server.machine().framing().encode(0, as_bytes("hello"), wire);
    EXPECT_EQ(text(wire), web_frame(0x82, "hello"));
}

TEST(web_conversation, subscriptions_come_as_messages_and_publishers_are_publishers) {
    two_sides both(socket_of(socket_type::xsub), socket_of(socket_type::xpub));
    EXPECT_EQ(both.server.log(), log_of{"established"});
    std::vector<std::uint8_t> wire;
    both.client.machine().framing().encode_subscription(true, as_bytes("a"), wire);
    EXPECT_EQ(unmasked(text(wire)), zws(0, "\1a"));
    both.server.feed(text(wire));
    EXPECT_EQ(both.server.log().back(), "message \1a");
    // A peer of ZMTP 3.1 at heart.
    both.server.feed(masked_zws(2, "\x09SUBSCRIBEb"));
    EXPECT_EQ(both.server.log().back(), "subscribe b");
}

TEST(web_conversation, socket_types_have_to_fit) {
    const char *const names[] = {"PAIR",   "PUB",  "SUB",  "REQ",  "REP", "DEALER",
                                 "ROUTER", "PULL", "PUSH", "XPUB", "XSUB"};
    for (int type = 0; type < 11; ++type)
        for (const char *peer : names) {
            peer_driver server(socket_of(static_cast<socket_type>(type)), true, &a_place);
            server.feed(web_request() + masked_zws(2, ready_body(peer)));
            const bool fits = is_compatible(static_cast<socket_type>(type), peer);
            EXPECT_EQ(server.log(), log_of{fits ? "established" : "close protocol 10000018 for good"});
            EXPECT_EQ(server.written().ends_with(zws(2, octets("\5ERROR\x18Incompatible-Socket-Type")) +
                                                 web_frame(0x88, close_payload(1002))),
                      !fits);
        }
}

TEST(web_conversation, security_that_is_asked_for_and_not_built_ends_it_before_a_word) {
    for (const auto mechanism : {mechanism_kind::plain, mechanism_kind::curve, mechanism_kind::gssapi})
        for (const bool is_server : {false, true}) {
            settings secure = socket_of(socket_type::pull);
            secure.mechanism = mechanism;
            if (make_mechanism(secure, is_server))
                continue;
            peer_script(secure, is_server, &a_place)
                .expects("close mechanism_mismatch 11000002 for good")
                .expects_write("")
                .receives(web_request("ZWS2.0"))
                .run();
        }
}

TEST(web_conversation, conversation_inside_leaves_the_time_to_it) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    peer inside(options, true, peer::first_words::handshake);
    (void)inside.resume({conversation::event_kind::start});
    EXPECT_EQ(text(inside.output()), ready("PULL"));
    (void)inside.resume({conversation::event_kind::octets, as_bytes(ready("PUSH"))});
    EXPECT_TRUE(inside.is_established());
    EXPECT_EQ(inside.deadline(), conversation::time_point::max());
}

// ---- what is refused on the way ----

TEST(web_conversation, server_refuses_in_words_and_closes) {
    const std::pair<octets, octets> requests[] = {
        {web_request("", "/socket"), make_refusal(400, "None of the sub-protocols offered is spoken here.")},
        {web_request("ZWS2.0/CURVE"), make_refusal(400, "None of the sub-protocols offered is spoken here.")},
        {web_request("ZWS2.0", "/other"), make_refusal(404, "There is nothing at this path.")},
        {replaced(web_request(), "GET", "PUT"),
         make_refusal(405, "WebSocket connections are made with GET.")},
        {replaced(web_request(), "13", "12"), make_refusal(426, "WebSocket is spoken here in version 13.")},
        {"GET /socket HTTP/1.1\r\nHost: a\r\n\r\n",
         make_refusal(426, "Only WebSocket connections are served here.")},
        {octets("\x16\x03\x01\x02\0\1\0\1\xfc\3\3", 11), make_refusal(400, "This is not a request of HTTP.")},
        {greeting(), make_refusal(400, "This is not a request of HTTP.")},
        {"GET /" + octets(10000, 'a'), make_refusal(431, "The request is too long.")},
    };
    for (const auto &[request, refusal] : requests)
        server_script(socket_of(socket_type::pull))
            .receives(request + "more")
            .expects_write(refusal)
            .expects(websocket_fault)
            .run();
}

TEST(web_conversation, server_lets_those_pages_in_that_are_named) {
    settings options = socket_of(socket_type::pull);
    options.web_origin = "https://example.org";
    for (const auto &[origin, is_allowed] :
         {std::pair("https://example.org", true), {"https://evil.org", false}}) {
        peer_driver server(options, true, &a_place);
        server.feed(web_request("ZWS2.0", "/socket", octets("Origin: ") + origin + "\r\n"));
        EXPECT_EQ(server.is_closed(), !is_allowed);
        EXPECT_EQ(server.written().substr(0, 12), is_allowed ? "HTTP/1.1 101" : "HTTP/1.1 403");
    }
    asking_client client(options);
    EXPECT_NE(client.request.find("\r\nOrigin: https://example.org\r\n"), octets::npos);
}

TEST(web_conversation, client_says_nothing_where_its_request_would_be_another) {
    for (const web_place &bad :
         {web_place{"a\r\nX: y", "/"}, web_place{"", "/"}, web_place{"a", "/ HTTP/1.1\r\n"}}) {
        asking_client client(socket_of(socket_type::pull), bad);
        EXPECT_EQ(client.log(), log_of{websocket_fault + " for good"});
        EXPECT_EQ(client.request, "");
    }
}

TEST(web_conversation, client_closes_without_a_word_when_the_answer_is_bad) {
    for (int kind = 0; kind < 5; ++kind) {
        asking_client client;
        const octets answers[] = {
            make_refusal(404, "no"), web_answer(), client.good_answer("ZWS2.0/CURVE"), client.good_answer(""),
            replaced(client.good_answer(), "Upgrade", "Sec-WebSocket-Extensions: x\r\nUpgrade")};
        client.feed(answers[kind] + zws(2, ready_body("PUSH")));
        EXPECT_EQ(client.log(), log_of{websocket_fault}) << kind;
        EXPECT_EQ(client.take_written(), "");
    }
    for (const octets &other : {octets("\xff"), octets("\x15\3\1"), octets("{"), octets("\r\n")}) {
        asking_client client;
        client.feed(other);
        EXPECT_EQ(client.log(), log_of{websocket_fault});
    }
}

// Holds what is offered on each connection to one server, where the ones before ended with these
// answers.
struct server_remembered {
    web_memory memory;
    settings options = socket_of(socket_type::pull);

    octets offer_answered_with(std::function<octets(const asking_client &)> answer) {
        asking_client client(options, a_place, &memory);
        client.feed(answer(client));
        const octets name = "Sec-WebSocket-Protocol: ";
        const std::size_t at = client.request.find(name);
        return at == octets::npos ? ""
                                  : client.request.substr(at + name.size(),
                                                          client.request.find("\r\n", at) - at - name.size());
    }
    octets offer_refused_with(int status) {
        return offer_answered_with([status](const asking_client &) { return make_refusal(status, "no"); });
    }
    octets offer_taken(std::string_view protocol) {
        return offer_answered_with([protocol](const asking_client &c) { return c.good_answer(protocol); });
    }
    octets offer_heard_by_nobody() {
        return offer_answered_with([](const asking_client &) { return octets(); });
    }
};

const octets both_names = "ZWS2.0/NULL,ZWS2.0";

TEST(web_conversation, offers_no_slash_to_a_server_that_has_refused_one_and_goes_on_like_that) {
    server_remembered strict;
    EXPECT_EQ(strict.offer_refused_with(400), both_names);
    EXPECT_EQ(strict.offer_taken("ZWS2.0"), "ZWS2.0");
    EXPECT_EQ(strict.offer_taken("ZWS2.0"), "ZWS2.0");
    EXPECT_EQ(strict.offer_heard_by_nobody(), "ZWS2.0");
    EXPECT_EQ(strict.offer_taken("ZWS2.0/NULL"), both_names);
    EXPECT_EQ(strict.offer_taken("ZWS2.0/NULL"), both_names);
}

TEST(web_conversation, offers_both_names_again_where_one_alone_is_not_taken_either) {
    server_remembered other;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(other.offer_refused_with(400), both_names);
        EXPECT_EQ(other.offer_refused_with(i % 2 ? 400 : 404), "ZWS2.0");
    }
}

TEST(web_conversation, takes_nothing_but_a_bad_request_for_a_refusal_of_the_slash) {
    server_remembered other;
    for (const int status : {403, 404, 405, 426, 431})
        EXPECT_EQ(other.offer_refused_with(status), both_names) << status;
    EXPECT_EQ(other.offer_answered_with([](const asking_client &) { return octets("\xff"); }), both_names);
    EXPECT_EQ(other.offer_taken("other"), both_names);
    EXPECT_EQ(other.offer_heard_by_nobody(), both_names);
}

TEST(web_conversation, offers_nothing_where_peers_do_not_speak_zmtp_whatever_the_answer) {
    server_remembered raw;
    raw.options = socket_of(socket_type::stream);
    EXPECT_EQ(raw.offer_refused_with(400), "");
    EXPECT_EQ(raw.offer_refused_with(400), "");
}

TEST(web_conversation, messages_in_the_handshake_end_it) {
    server_script(socket_of(socket_type::pull))
        .receives(web_request())
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .receives(masked_zws(0, "message"))
        .expects_write(web_frame(0x88, close_payload(1002)))
        .expects("close protocol 10000001")
        .run();
}

TEST(web_conversation, handshake_commands_are_bounded) {
    peer_driver server(socket_of(socket_type::pull), true, &a_place);
    server.feed(web_request() + octets("\x82\xff\0\0\0\0\0\1\0\2", 10) + "mask");
    EXPECT_EQ(server.log(), log_of{websocket_fault});
    EXPECT_TRUE(server.written().ends_with(web_frame(0x88, close_payload(1009))));
}

TEST(web_conversation, handshake_may_come_in_fragments_with_pings_between_them) {
    const octets ready = with_flags(2, ready_body("PUSH"));
    server_script(socket_of(socket_type::pull))
        .receives(web_request())
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .receives(web_frame(0x89, "first", a_mask) + web_frame(0x02, ready.substr(0, 3), a_mask) +
                  web_frame(0x89, "second", a_mask))
        .waits(100ms)
        .expects_write(web_frame(0x8a, "first") + web_frame(0x8a, "second"))
        .receives(web_frame(0x80, ready.substr(3), a_mask) + masked_zws(0, "x"))
        .expects("established")
        .expects("message x")
        .run();
}

TEST(web_conversation, security_is_not_left_out_because_the_client_does_not_offer_it) {
    // This is as where a mechanism is built: only its own protocol is among those supported.
    const std::vector<std::string> secure{"ZWS2.0/PLAIN"};
    EXPECT_EQ(judge_request(web_request("ZWS2.0"), "/socket", "", secure).status, 400);
}

TEST(web_conversation, whole_way_has_one_time_limit) {
    const settings options = limited(socket_of(socket_type::pull));
    server_script(options).waits(999ms).waits(1ms).expects("close handshake_timeout 0").run();
    server_script(options)
        .waits(600ms)
        .receives(web_request().substr(0, 50))
        .waits(399ms)
        .waits(1ms)
        .expects("close handshake_timeout 0")
        .run();
    server_script(options)
        .waits(600ms)
        .receives(web_request())
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .waits(399ms)
        .receives(masked_zws(2, ready_body("PUSH")).substr(0, 9))
        .waits(1ms)
        .expects_write(web_frame(0x88, close_payload(1008)))
        .expects("close handshake_timeout 0")
        .run();
    asking_client client(options);
    client.pass(1s);
    EXPECT_EQ(client.log(), log_of{"close handshake_timeout 0"});
    server_script(options)
        .receives(web_request() + masked_zws(2, ready_body("PUSH")))
        .expects_write(web_answer() + zws(2, ready_body("PULL")))
        .expects("established")
        .waits(1h)
        .run();
}

TEST(web_conversation, comes_to_the_same_end_however_it_is_cut) {
    std::minstd_rand random(1);
    server_script(limited(socket_of(socket_type::pull)))
        .receives(web_request() + masked_zws(2, ready_body("PUSH")))
        .receives(masked_zws(1, "one") + web_frame(0x89, "ping", a_mask) + masked_zws(0, octets(300, '2')))
        .receives(web_frame(0x02, octets("\0a", 2), a_mask) + web_frame(0x80, "b", a_mask))
        .receives(web_frame(0x88, close_payload(1000), a_mask))
        .is_the_same_in_any_split(200, random);
    server_script(limited(socket_of(socket_type::router)))
        .receives(web_request("ZWS2.0") + masked_zws(0, "id") + masked_zws(0, "x") + masked_zws(7, "bad"))
        .is_the_same_in_any_split(200, random);
    server_script(limited(socket_of(socket_type::pull)))
        .receives(web_request("ZWS2.0", "/nowhere") + "more")
        .is_the_same_in_any_split(20, random);
}

TEST(web_conversation, comes_to_one_end_whatever_octet_is_wrong) {
    server_script(limited(socket_of(socket_type::pull)))
        .receives(web_request())
        .receives(masked_zws(2, ready_body("PUSH")))
        .receives(masked_zws(1, "one") + masked_zws(0, "two"))
        .fails_at_every_step();
}

TEST(web_conversation, client_comes_to_the_same_end_however_the_answer_is_cut) {
    const octets rest = zws(2, ready_body("PUSH")) + zws(1, "one") + zws(0, "two");
    asking_client first;
    const std::size_t size = (first.good_answer() + rest).size();
    for (std::size_t at = 0; at <= size; ++at) {
        asking_client client;
        const octets all = client.good_answer() + rest;
        client.feed(all.substr(0, at));
        client.feed(all.substr(at));
        EXPECT_EQ(client.log(), (log_of{"established", "message one|two"})) << at;
    }
    asking_client slow;
    for (const char octet : slow.good_answer() + rest)
        slow.feed({&octet, 1});
    EXPECT_EQ(slow.log(), (log_of{"established", "message one|two"}));
}

}  // namespace
}  // namespace zlink
