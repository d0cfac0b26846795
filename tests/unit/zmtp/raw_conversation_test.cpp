// Peers that do not speak ZMTP: nothing is said to them, whatever they send is traffic.
#include <gtest/gtest.h>

#include <random>

#include "script.hpp"
#include "zmtp/conversation.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;

const settings stream = socket_of(socket_type::stream);

settings raw_router() {
    settings options = socket_of(socket_type::router);
    options.router_raw = true;
    return options;
}

settings with_every_time_limit() {
    settings options = stream;
    options.handshake_interval_ms = 10;
    options.heartbeat_interval_ms = 10;
    options.heartbeat_timeout_ms = 10;
    options.heartbeat_ttl_ms = 100;
    return options;
}

TEST(raw_conversation, is_established_before_anything_arrives_and_writes_nothing) {
    for (const settings &options : {stream, raw_router()})
        for (const bool is_server : {false, true})
            peer_script(options, is_server).expects("established").run();
}

TEST(raw_conversation, takes_whatever_arrives_for_traffic) {
    peer_script(stream)
        .expects("established")
        .receives("GET / HTTP/1.0\r\n")
        .expects("message GET / HTTP/1.0\r\n")
        .receives(greeting())
        .expects("message " + greeting())
        .receives(command_frame("PING", octets(2, '\0')))
        .expects("message " + command_frame("PING", octets(2, '\0')))
        .receives(octets("\xff\xff\xff\xff", 4))
        .expects("message " + octets("\xff\xff\xff\xff", 4))
        .run();
}

TEST(raw_conversation, makes_a_message_of_each_octet_where_they_come_one_by_one) {
    peer_driver driver(stream);
    for (const char octet : greeting() + ready("PUSH")) {
        driver.feed({&octet, 1});
        EXPECT_EQ(driver.log().back(), octets("message ") + octet);
    }
    EXPECT_EQ(driver.log().size(), 1 + greeting().size() + ready("PUSH").size());
}

TEST(raw_conversation, splits_what_is_longer_than_a_read_of_libzmq) {
    peer_script(stream)
        .expects("established")
        .receives(octets(8192, 'a') + "b")
        .expects("message " + octets(8192, 'a'))
        .expects("message b")
        .run();
    settings small = stream;
    small.in_batch_size = 1000;
    peer_script(small)
        .expects("established")
        .receives(octets(1001, 'a'))
        .expects("message " + octets(1000, 'a'))
        .expects("message a")
        .run();
}

TEST(raw_conversation, has_no_time_limit) {
    peer_script(with_every_time_limit())
        .expects("established")
        .waits(1h)
        .receives("still here")
        .expects("message still here")
        .waits(1h)
        .run();
    peer_driver driver(with_every_time_limit());
    EXPECT_EQ(driver.machine().deadline(), conversation::time_point::max());
}

TEST(raw_conversation, knows_nothing_of_its_peer_and_never_ends_by_itself) {
    const auto machine = make_raw_conversation(stream);
    EXPECT_FALSE(machine->is_established());
    EXPECT_EQ(machine->resume({conversation::event_kind::start}).kind,
              conversation::action_kind::established);
    EXPECT_TRUE(machine->is_established());
    EXPECT_FALSE(machine->framing().is_identity());
    EXPECT_EQ(machine->info().routing_id, "");
    for (const auto kind : {conversation::event_kind::start, conversation::event_kind::octets,
                            conversation::event_kind::command, conversation::event_kind::time}) {
        const auto what = machine->resume({kind, as_bytes("\4PING")});
        EXPECT_EQ(what.kind, conversation::action_kind::wait);
        EXPECT_EQ(what.consumed, 0u);
        EXPECT_TRUE(machine->output().empty());
    }
}

TEST(raw_conversation, is_led_where_the_options_say_so_alone) {
    peer_script(socket_of(socket_type::router)).expects_write(signature()).run();
}

}  // namespace
}  // namespace zlink
