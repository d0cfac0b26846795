// The PLAIN handshake, both roles, and what the verdict of a handler makes of it; and the NULL
// handshake with a domain.
#include <gtest/gtest.h>

#include "script.hpp"
#include "zmq.h"

namespace zlink {
namespace {

using testing::command_frame;
using testing::milliseconds;
using testing::octets;
using testing::peer_driver;
using testing::peer_script;
using testing::property;
using testing::ready;
using testing::socket_of;

octets plain_greeting(bool is_server) {
    octets out = testing::greeting("PLAIN");
    out[32] = is_server;
    return out;
}

settings plain_server(socket_type type) {
    settings options = socket_of(type);
    options.mechanism = mechanism_kind::plain;
    options.plain_server = true;
    return options;
}

settings plain_client(socket_type type) {
    settings options = socket_of(type);
    options.mechanism = mechanism_kind::plain;
    options.plain_username = "bob";
    options.plain_password = "secret";
    return options;
}

verdict accepted(std::string user = {}) {
    verdict out;
    out.what = verdict::kind::accepted;
    out.status = 200;
    out.user_id = std::move(user);
    return out;
}

verdict refused(int status) {
    verdict out;
    out.what = verdict::kind::refused;
    out.status = status;
    return out;
}

octets type_of(std::string_view type) { return property("Socket-Type", type); }
octets hello() { return command_frame("HELLO", "\3bob\6secret"); }
octets error_of(std::string_view reason) {
    return command_frame("ERROR", octets(1, static_cast<char>(reason.size())) + octets(reason));
}

peer_script server_script() {
    peer_script script(plain_server(socket_type::pull), true);
    script.judged(accepted("alice"))
        .receives(plain_greeting(false))
        .expects_write(plain_greeting(true))
        .receives(hello())
        .expects("authenticate PLAIN bob secret")
        .expects_write(command_frame("WELCOME"))
        .receives(command_frame("INITIATE", type_of("PUSH")))
        .expects_write(ready("PULL"))
        .expects("established");
    return script;
}

peer_script client_script() {
    peer_script script(plain_client(socket_type::push));
    script.receives(plain_greeting(true))
        .expects_write(plain_greeting(false) + hello())
        .receives(command_frame("WELCOME"))
        .expects_write(command_frame("INITIATE", type_of("PUSH")))
        .receives(ready("PULL"))
        .expects("established");
    return script;
}

TEST(plain_handshake, lets_in_whom_the_handler_accepts) { server_script().run().fails_at_every_step(); }

TEST(plain_handshake, of_a_client_shows_its_name_and_password) {
    client_script().run().fails_at_every_step();
}

TEST(plain_handshake, is_the_same_in_any_split) {
    server_script().is_the_same_in_any_split(0, {});
    client_script().is_the_same_in_any_split(0, {});
}

TEST(plain_handshake, waits_for_the_verdict_and_takes_nothing_meanwhile) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    (void)server.take_written();
    server.feed(command_frame("INITIATE", type_of("PUSH")));
    server.pass(milliseconds(1000));
    EXPECT_EQ(server.take_written(), "");
    EXPECT_EQ(server.log(), std::vector<std::string>{"authenticate PLAIN bob secret"});
    server.judge(accepted());
    EXPECT_EQ(server.take_written(), command_frame("WELCOME") + ready("PULL"));
    EXPECT_EQ(server.log().back(), "established");
}

TEST(plain_handshake, gives_up_a_peer_whose_verdict_takes_too_long) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    server.pass(milliseconds(30000));
    EXPECT_EQ(server.log().back(), "close handshake_timeout 0");
    server.judge(accepted());
    EXPECT_EQ(server.log().back(), "close handshake_timeout 0")
        << "an answer that comes too late does nothing";
}

TEST(plain_handshake, tells_a_peer_that_is_refused_for_good) {
    for (const int status : {400, 500}) {
        peer_driver server(plain_server(socket_type::pull), true);
        server.feed(plain_greeting(false) + hello());
        (void)server.take_written();
        server.judge(refused(status));
        EXPECT_EQ(server.take_written(), error_of(std::to_string(status)));
        EXPECT_EQ(server.log().back().substr(0, 20), "close authentication");
    }
}

TEST(plain_handshake, says_nothing_to_a_peer_that_may_come_again) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    (void)server.take_written();
    server.judge(refused(300));
    EXPECT_EQ(server.take_written(), "");
    EXPECT_EQ(server.log().back(), "close authentication 12c");
}

TEST(plain_handshake, lets_nobody_in_without_a_handler) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    server.judge({});
    EXPECT_EQ(server.log().back(), "close no_handler 0");
}

TEST(plain_handshake, says_how_an_answer_broke_the_rules) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    verdict broken;
    broken.what = verdict::kind::unusable;
    broken.detail = ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION;
    server.judge(broken);
    EXPECT_EQ(server.log().back(), "close protocol 20000003");
}

TEST(plain_handshake, passes_on_what_the_verdict_says_of_the_peer) {
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(plain_greeting(false) + hello());
    verdict good = accepted("alice");
    good.metadata = {{"X-Role", "admin"}};
    server.judge(good);
    server.feed(command_frame("INITIATE", type_of("PUSH") + property("User-Id", "root")));
    EXPECT_STREQ(server.machine().info().find("User-Id"), "alice") << "a peer cannot name itself";
    EXPECT_STREQ(server.machine().info().find("X-Role"), "admin");
}

TEST(plain_handshake, refuses_a_hello_that_is_not_two_texts) {
    for (const octets &data : {octets(""), octets("\3bo"), octets("\3bob"), octets("\3bob\6secre"),
                               octets("\3bob\6secret!"), octets("\xff"), octets("\3bob\xff")}) {
        peer_driver server(plain_server(socket_type::pull), true);
        server.feed(plain_greeting(false) + command_frame("HELLO", data));
        ASSERT_EQ(server.log().size(), 1u);
        EXPECT_EQ(server.log().back(), "close protocol 10000013");
    }
}

TEST(plain_handshake, refuses_a_hello_that_is_cut_anywhere) {
    const octets whole = "\3bob\6secret";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        peer_driver server(plain_server(socket_type::pull), true);
        server.feed(plain_greeting(false) + command_frame("HELLO", whole.substr(0, size)));
        EXPECT_EQ(server.log(), std::vector<std::string>{"close protocol 10000013"}) << size;
    }
}

TEST(plain_handshake, takes_names_of_no_octets_of_255_and_of_any_kind) {
    for (const octets &name : {octets(), octets(255, 'n'), octets("\0\xff\xc3(", 4)}) {
        const octets text = octets(1, static_cast<char>(name.size())) + name;
        peer_driver server(plain_server(socket_type::pull), true);
        server.feed(plain_greeting(false) + command_frame("HELLO", text + text));
        EXPECT_EQ(server.log().back(), "authenticate PLAIN " + name + " " + name);
    }
}

TEST(plain_handshake, refuses_commands_out_of_their_order) {
    const octets words[] = {hello(), command_frame("WELCOME"), command_frame("INITIATE", type_of("PUSH")),
                            ready("PUSH"), command_frame("PING", octets(2, '\0'))};
    for (const octets &word : words) {
        if (word != ready("PUSH")) {
            peer_driver client(plain_client(socket_type::pull));
            client.feed(plain_greeting(true) + command_frame("WELCOME") + word);
            EXPECT_EQ(client.log(), std::vector<std::string>{"close protocol 10000001"});
        }
        if (word != hello()) {
            peer_driver server(plain_server(socket_type::pull), true);
            server.feed(plain_greeting(false) + word);
            EXPECT_EQ(server.log().back(), "close protocol 10000001");
        }
        if (word != command_frame("INITIATE", type_of("PUSH"))) {
            peer_driver server(plain_server(socket_type::pull), true);
            server.feed(plain_greeting(false) + hello());
            server.judge(accepted());
            server.feed(word);
            EXPECT_EQ(server.log().back(), "close protocol 10000001");
        }
        if (word != command_frame("WELCOME")) {
            peer_driver client(plain_client(socket_type::push));
            client.feed(plain_greeting(true) + word);
            EXPECT_EQ(client.log().back(), "close protocol 10000001");
        }
    }
}

TEST(plain_handshake, takes_no_message_before_it_is_over) {
    const octets early = testing::frame("early");
    for (const octets &before : {octets(), hello()}) {
        peer_driver server(plain_server(socket_type::pull), true, nullptr, nullptr, accepted());
        server.feed(plain_greeting(false) + before + early);
        EXPECT_TRUE(server.is_closed());
        EXPECT_EQ(server.log().back().substr(0, 14), "close protocol");
    }
    for (const octets &before : {octets(), command_frame("WELCOME")}) {
        peer_driver client(plain_client(socket_type::pull));
        client.feed(plain_greeting(true) + before + early);
        EXPECT_TRUE(client.is_closed());
        EXPECT_EQ(client.log().back().substr(0, 14), "close protocol");
    }
}

TEST(plain_handshake, lets_nobody_in_by_a_verdict_that_is_none) {
    for (const auto kind : {verdict::kind::refused, verdict::kind::no_handler, verdict::kind::unanswered,
                            verdict::kind::unusable}) {
        settings judging = socket_of(socket_type::pull);
        judging.zap_domain = "d";
        judging.zap_enforce_domain = true;
        verdict no;
        no.what = kind;
        no.status = 500;
        peer_driver plain(plain_server(socket_type::pull), true, nullptr, nullptr, no),
            null(judging, true, nullptr, nullptr, no);
        plain.feed(plain_greeting(false) + hello());
        null.feed(testing::greeting());
        for (peer_driver *each : {&plain, &null}) {
            EXPECT_TRUE(each->is_closed());
            EXPECT_EQ(each->written().find("READY"), octets::npos);
            EXPECT_EQ(each->written().find("WELCOME"), octets::npos);
        }
    }
}

TEST(plain_handshake, of_a_client_ends_for_good_when_it_is_told_so) {
    for (const octets &before : {octets(), command_frame("WELCOME")}) {
        peer_driver client(plain_client(socket_type::push));
        client.feed(plain_greeting(true) + before + error_of("400"));
        EXPECT_EQ(client.log().back(), "close authentication 190 for good");
    }
}

TEST(plain_handshake, of_a_client_understands_the_error_of_libzmq) {
    peer_driver client(plain_client(socket_type::push));
    client.feed(plain_greeting(true) + testing::frame("^RROR\3"
                                                      "400",
                                                      4));
    EXPECT_EQ(client.log().back(), "close authentication 190 for good");
    peer_driver other(plain_client(socket_type::push));
    other.feed(plain_greeting(true) + testing::frame("^RROR" + octets(90, 'R'), 4));
    EXPECT_EQ(other.log().back(), "close protocol 10000001") << "a command with that long a name";
}

TEST(plain_handshake, of_a_client_takes_an_empty_welcome_only) {
    peer_driver client(plain_client(socket_type::push));
    client.feed(plain_greeting(true) + command_frame("WELCOME", "x"));
    EXPECT_EQ(client.log().back(), "close protocol 10000017");
}

TEST(plain_handshake, refuses_peers_of_other_mechanisms_and_of_older_protocols) {
    for (const octets &first : {testing::greeting(), testing::greeting("CURVE")}) {
        peer_driver server(plain_server(socket_type::pull), true);
        server.feed(first);
        EXPECT_EQ(server.log().back().substr(0, 24), "close mechanism_mismatch");
    }
    peer_driver server(plain_server(socket_type::pull), true);
    server.feed(octets("\xff\0\0\0\0\0\0\0\1\x7f\1", 11));
    EXPECT_TRUE(server.is_closed()) << "ZMTP 2.0 has no security";
}

TEST(null_handshake_with_a_domain, has_its_peer_judged_before_it_says_ready) {
    settings options = socket_of(socket_type::pull);
    options.zap_domain = "d";
    peer_driver server(options, true);
    server.feed(testing::greeting() + ready("PUSH"));
    EXPECT_EQ(server.take_written(), testing::greeting());
    EXPECT_EQ(server.log(), std::vector<std::string>{"authenticate NULL"});
    server.judge(accepted("alice"));
    EXPECT_EQ(server.take_written(), ready("PULL"));
    EXPECT_EQ(server.log().back(), "established");
    EXPECT_STREQ(server.machine().info().find("User-Id"), "alice");
}

TEST(null_handshake_with_a_domain, does_without_a_handler_unless_the_domain_is_enforced) {
    for (const bool is_enforced : {false, true}) {
        settings options = socket_of(socket_type::pull);
        options.zap_domain = "d";
        options.zap_enforce_domain = is_enforced;
        peer_driver server(options, true);
        server.feed(testing::greeting() + ready("PUSH"));
        server.judge({});
        EXPECT_EQ(server.log().back(), is_enforced ? "close no_handler 0" : "established");
    }
}

TEST(null_handshake_with_a_domain, lets_nobody_in_whose_question_stays_unanswered) {
    settings options = socket_of(socket_type::pull);
    options.zap_domain = "d";
    peer_driver server(options, true);
    server.feed(testing::greeting() + ready("PUSH"));
    verdict none;
    none.what = verdict::kind::unanswered;
    server.judge(none);
    EXPECT_EQ(server.log().back(), "close no_handler 0");
}

TEST(null_handshake_with_a_domain, takes_no_peer_that_cannot_be_judged) {
    settings options = socket_of(socket_type::pull);
    options.zap_domain = "d";
    peer_driver server(options, true);
    server.feed(octets("\xff\0\0\0\0\0\0\0\1\x7f\1", 11));
    EXPECT_TRUE(server.is_closed()) << "of ZMTP 2.0";
}

}  // namespace
}  // namespace zlink
