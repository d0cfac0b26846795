// Whole conversations with peers of ZMTP 2.0 and 1.0: what each side says first, and what may come
// then.
#include <gtest/gtest.h>

#include <random>

#include "script.hpp"
#include "zmtp/peer.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;

settings named(socket_type type, std::string_view id) {
    settings options = socket_of(type);
    options.routing_id = id;
    return options;
}

/// The greeting of a ZMTP 2.0 peer.
octets greeting_2_0(socket_type type, int revision = 1) {
    octets out = signature();
    out += static_cast<char>(revision);
    return out += static_cast<char>(type);
}

/// A frame of ZMTP 1.0.
octets frame_1_0(std::string_view body, int flags = 0) {
    octets out;
    if (body.size() < 254) {
        out += static_cast<char>(body.size() + 1);
    } else {
        out += '\xff';
        for (int shift = 56; shift >= 0; shift -= 8)
            out += static_cast<char>((body.size() + 1) >> shift);
    }
    out += static_cast<char>(flags);
    return out.append(body);
}

/// The answer to a 2.0 peer: our version, type and routing id.
octets answer_2_0(socket_type type, std::string_view id = {}) {
    octets out = "\3";
    out += static_cast<char>(type);
    return out += frame(id);
}

octets signature_with_id_of(std::size_t size) {
    octets out = signature();
    out[8] = static_cast<char>(1 + size);
    return out;
}

TEST(older_peer, of_2_0_hears_our_type_and_routing_id_and_then_no_more) {
    for (const int revision : {1, 2})
        peer_script(named(socket_type::router, "me"))
            .expects_write(signature_with_id_of(2))
            .receives(greeting_2_0(socket_type::dealer, revision))
            .expects_write(answer_2_0(socket_type::router, "me"))
            .receives(frame("you") + part("a") + message("b"))
            .expects("established")
            .expects("message a|b")
            .waits(100s)
            .run()
            .fails_at_every_step();
}

TEST(older_peer, of_1_0_hears_our_routing_id_as_a_frame_whose_header_the_signature_is) {
    for (const octets &id : {octets(), octets("me"), octets(255, 'i')}) {
        peer_script(named(socket_type::router, id))
            .expects_write(id.size() == 255 ? octets("\xff\0\0\0\0\0\0\1\0\x7f", 10)
                                            : signature_with_id_of(id.size()))
            .receives(frame_1_0("you") + frame_1_0("a", 1) + frame_1_0("b"))
            .expects_write(id)
            .expects("established, takes all")
            .expects("message a|b")
            .waits(100s)
            .run()
            .fails_at_every_step();
    }
}

TEST(older_peer, is_the_same_however_its_octets_arrive) {
    std::mt19937 random(5);
    const auto chance = [&] { return static_cast<unsigned>(random()); };
    const octets large(700, 'm');
    const octets traffic_1_0 = frame_1_0("a", 1) + frame_1_0(large, 1) + frame_1_0("") + frame_1_0("x") +
                               frame_1_0(octets(253, 'y')) + frame_1_0(octets(254, 'z'));
    const settings dealer = named(socket_type::dealer, "me");
    peer_script(dealer).receives(frame_1_0("you") + traffic_1_0).is_the_same_in_any_split(500, chance);
    peer_script(dealer)
        .receives(frame_1_0(octets(255, 'i')) + traffic_1_0)
        .is_the_same_in_any_split(500, chance);
    peer_script(dealer)
        .receives(greeting_2_0(socket_type::router, 0) + frame_1_0("you") + traffic_1_0)
        .is_the_same_in_any_split(500, chance);
    peer_script(dealer)
        .receives(greeting_2_0(socket_type::router) + frame("you") + part("a") + message(large) + message(""))
        .is_the_same_in_any_split(500, chance);
}

TEST(older_peer, with_a_signature_and_revision_0_has_the_framing_of_1_0) {
    peer_script(named(socket_type::xpub, "me"))
        .receives(greeting_2_0(socket_type::sub, 0) + frame_1_0("you") + frame_1_0("\1abc"))
        .expects_write(signature_with_id_of(2) + "\3\x09" + frame_1_0("me"))
        .expects("established")
        .expects("message \1abc")
        .run();
}

TEST(older_peer, gives_its_routing_id_to_sockets_that_use_one) {
    const auto id_of = [](socket_type type, const octets &input) {
        const settings options = socket_of(type);
        peer_driver driver(options);
        driver.feed(input);
        EXPECT_TRUE(driver.machine().is_established());
        return driver.machine().info().routing_id;
    };
    EXPECT_EQ(id_of(socket_type::router, greeting_2_0(socket_type::dealer) + frame("you")), "you");
    EXPECT_EQ(id_of(socket_type::dealer, greeting_2_0(socket_type::rep) + frame("you")), "");
    EXPECT_EQ(id_of(socket_type::pull, greeting_2_0(socket_type::push) + frame("you")), "");
    EXPECT_EQ(id_of(socket_type::router, frame_1_0("you")), "you");
    EXPECT_EQ(id_of(socket_type::router, frame_1_0(octets(255, 'i'))), octets(255, 'i'));
    EXPECT_EQ(id_of(socket_type::router, octets("\xff\0\0\0\0\0\0\0\4\0you", 13)), "you");
    EXPECT_EQ(id_of(socket_type::router, frame_1_0("you", 1)), "you");
    EXPECT_EQ(id_of(socket_type::router, frame_1_0(octets("\0you", 4))), "") << "ours to give";
}

TEST(older_peer, of_a_type_that_does_not_fit_is_refused_for_good) {
    for (int type = 0; type < 256; ++type) {
        const bool fits = type == static_cast<int>(socket_type::push);
        peer_script script(socket_of(socket_type::pull));
        script.receives(greeting_2_0(static_cast<socket_type>(type)) + frame(""));
        script.expects_write(signature() + answer_2_0(socket_type::pull));
        script.expects(fits ? "established" : "close protocol 10000018 for good").run();
    }
}

TEST(older_peer, with_a_routing_id_that_cannot_be_is_refused_on_its_header) {
    const octets start = greeting_2_0(socket_type::push);
    const settings pull = socket_of(socket_type::pull);
    const auto closes = [&](const octets &input) {
        peer_driver driver(pull);
        driver.feed(input);
        EXPECT_EQ(driver.log(), std::vector<std::string>{"close protocol 10000018"});
    };
    for (const int flags : {1, 4, 5, 0x80})
        closes(start + frame("you", flags).substr(0, 2));
    closes(start + octets("\2\0\0\0\0\0\0\1\0", 9));
    closes(start + octets("\2\xff\xff\xff\xff\xff\xff\xff\xff", 9));
    closes(greeting_2_0(socket_type::push, 0) + octets("\1\2", 2));
}

std::string end_of(const octets &input, std::string &words) {
    peer_driver driver(socket_of(socket_type::pull));
    driver.feed(input);
    words = driver.machine().reason();
    return driver.log().empty() ? "nothing" : driver.log().back();
}

TEST(older_peer, of_1_0_begins_with_a_header_that_can_be_one_of_a_routing_id) {
    std::string words;
    for (const octets &start :
         {octets("\0\0", 2), octets("\xff\0\0\0\0\0\0\0\0\0", 10), octets("\xff\0\0\0\0\0\0\1\1\0", 10),
          octets("\xff\xff\xff\xff\xff\xff\xff\xff\xff\0", 10), octets("\xff\0\0\0\0\0\0\0\1\6", 10),
          octets("\xff\0\0\0\0\0\0\0\1\xfd", 10)}) {
        EXPECT_EQ(end_of(start, words), "close protocol 10000000");
        EXPECT_EQ(words, "the peer's first octets are no greeting of ZMTP");
    }
    for (int flags = 0; flags < 256; ++flags) {
        EXPECT_EQ(end_of(frame_1_0("", flags), words),
                  flags < 2 ? "established, takes all" : "close protocol 10000000");
        EXPECT_EQ(words.empty(), flags < 2);
    }
}

TEST(older_peer, is_none_that_speaks_something_else_and_is_called_by_name) {
    const std::pair<octets, std::string_view> strangers[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP"},
        {"HEAD / HTTP/1.0\r\n\r\n", "HTTP"},
        {"POST /a HTTP/1.1\r\n", "HTTP"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP"},
        {"HTTP/1.1 400 Bad Request\r\n", "HTTP"},
        {"GE", "HTTP"},
        {octets("\x16\3\1\2\0\1\0\1\xfc\3\3", 11), "TLS"},
        {octets("\x15\3\1\0\2\2\x28", 7), "TLS"},
        {"SSH-2.0-OpenSSH_9.2\r\n", "SSH"},
    };
    for (const auto &[start, name] : strangers) {
        std::string words;
        const std::string begin = "the peer speaks " + std::string(name) + ", not ZMTP";
        EXPECT_EQ(end_of(start, words), "close protocol 10000000") << start;
        EXPECT_EQ(words.substr(0, begin.size()), begin);
    }
    std::string words;
    EXPECT_EQ(end_of("GEIER", words), "close protocol 10000000");
    EXPECT_EQ(words, "the peer's first octets are no greeting of ZMTP");
    EXPECT_EQ(end_of("220 mail.example ESMTP\r\n", words), "close protocol 10000000");
    EXPECT_EQ(words, "the peer's first octets are no greeting of ZMTP");
}

TEST(older_peer, may_send_no_command) {
    peer_script(socket_of(socket_type::pull))
        .receives(greeting_2_0(socket_type::push) + frame("") + message("a") + ping(0) + message("b"))
        .expects_write(signature() + answer_2_0(socket_type::pull))
        .expects("established")
        .expects("message a")
        .expects("close protocol 10000001")
        .run();
}

TEST(older_peer, breaks_the_framing_of_1_0_behind_what_was_whole) {
    for (const octets &bad : {octets("\0\0", 2), octets("\2\2x"), octets("\2\x80x"), octets("\2\4x"),
                              octets("\xff\0\0\0\0\0\0\0\0\0", 10), octets("\xff\x80\0\0\0\0\0\0\1\0", 10)})
        peer_script(socket_of(socket_type::pull))
            .receives(frame_1_0("") + frame_1_0("good") + bad + frame_1_0("never"))
            .expects_write(signature())
            .expects("established, takes all")
            .expects("message good")
            .expects("close framing")
            .run();
}

TEST(older_peer, is_sent_no_heartbeat) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 10;
    options.heartbeat_timeout_ms = 10;
    for (const octets &start : {greeting_2_0(socket_type::push) + frame(""), frame_1_0("")}) {
        peer_driver driver(options);
        driver.feed(start);
        driver.take_written();
        driver.pass(10s);
        EXPECT_EQ(driver.take_written(), "");
        EXPECT_FALSE(driver.is_closed());
    }
}

TEST(older_peer, that_says_half_of_it_is_closed_by_the_clock) {
    const settings options = socket_of(socket_type::pull);
    for (const octets &start :
         {greeting_2_0(socket_type::push), greeting_2_0(socket_type::push) + octets(1, '\0'), octets("\5"),
          octets("\5\0yo", 4)}) {
        peer_driver driver(options);
        driver.feed(start);
        driver.pass(milliseconds(options.handshake_interval_ms));
        EXPECT_EQ(driver.log(), std::vector<std::string>{"close handshake_timeout 0"});
    }
}

TEST(older_peer, gets_subscriptions_as_messages) {
    const settings sub = socket_of(socket_type::sub);
    const octets topic(300, 't');
    const auto sends = [&](const octets &input) {
        peer_driver driver(sub);
        driver.feed(input);
        std::vector<std::uint8_t> out;
        driver.machine().framing().encode_subscription(true, as_bytes("abc"), out);
        driver.machine().framing().encode_subscription(false, as_bytes(topic), out);
        return text(out);
    };
    EXPECT_EQ(sends(greeting_2_0(socket_type::pub) + frame("")),
              message("\1abc") + message(octets(1, '\0') + topic));
    EXPECT_EQ(sends(frame_1_0("")), frame_1_0("\1abc") + frame_1_0(octets(1, '\0') + topic));
}

}  // namespace
}  // namespace zlink
