// The NULL handshake: what is announced, what is accepted and what is taken over.
#include <gtest/gtest.h>
#include <malloc.h>

#include "script.hpp"
#include "zmq.h"
#include "zmtp/mechanism.hpp"

namespace zlink {
namespace {

using testing::octets;
using testing::property;
using testing::socket_of;
using testing::text;

class null_handshake : public ::testing::Test {
protected:
    mechanism::outcome receive(const settings &options, std::string_view name, const octets &data) {
        info_ = block_ref::adopt(new peer_info);
        out_.clear();
        return make_mechanism(options, false)->receive({name, as_bytes(data)}, info(), out_);
    }
    peer_info &info() { return static_cast<peer_info &>(*info_.get()); }

    block_ref info_;
    std::vector<std::uint8_t> out_;
};

octets announced(const settings &options) {
    std::vector<std::uint8_t> out;
    make_mechanism(options, false)->start(out);
    return text(out);
}

TEST_F(null_handshake, announces_the_socket_type) {
    EXPECT_EQ(announced(socket_of(socket_type::push)), testing::ready("PUSH"));
    EXPECT_EQ(announced(socket_of(socket_type::rep)), testing::ready("REP"));
}

TEST_F(null_handshake, announces_the_routing_id_of_the_types_that_have_one) {
    for (const auto type : {socket_type::req, socket_type::dealer, socket_type::router}) {
        settings options = socket_of(type);
        EXPECT_EQ(announced(options), testing::ready(socket_type_name(type), property("Identity", "")));
        options.routing_id = octets(255, 'i');
        EXPECT_EQ(announced(options),
                  testing::ready(socket_type_name(type), property("Identity", octets(255, 'i'))));
    }
}

TEST_F(null_handshake, announces_the_properties_of_the_application) {
    settings options = socket_of(socket_type::pub);
    options.metadata = {{"X-a", "1"}, {"X-b", octets(300, 'v')}};
    EXPECT_EQ(announced(options),
              testing::ready("PUB", property("X-a", "1") + property("X-b", octets(300, 'v'))));
}

TEST_F(null_handshake, accepts_exactly_the_compatible_socket_types) {
    static constexpr const char *names[] = {"PAIR",   "PUB",    "SUB",  "REQ",  "REP",    "DEALER",
                                            "ROUTER", "PULL",   "PUSH", "XPUB", "XSUB",   "STREAM",
                                            "CLIENT", "SERVER", "",     "push", "PUSH\1", "RADIO"};
    for (int type = 0; type < 11; ++type)
        for (const char *name : names) {
            const settings options = socket_of(static_cast<socket_type>(type));
            const auto outcome = receive(options, "READY", property("Socket-Type", name));
            if (is_compatible(options.type, name)) {
                EXPECT_EQ(outcome.status, mechanism::progress::complete);
                EXPECT_TRUE(out_.empty());
                EXPECT_STREQ(info().find("Socket-Type"), name);
                continue;
            }
            EXPECT_EQ(outcome.status, mechanism::progress::failed);
            EXPECT_EQ(outcome.failure, failure_kind::protocol);
            EXPECT_EQ(outcome.detail, protocol_errors::invalid_metadata);
            EXPECT_FALSE(outcome.may_retry);
            EXPECT_EQ(text(out_).substr(2, 6), "\5ERROR");
        }
}

TEST_F(null_handshake, accepts_a_peer_that_names_no_socket_type) {
    EXPECT_EQ(receive(socket_of(socket_type::pull), "READY", "").status, mechanism::progress::complete);
}

TEST_F(null_handshake, knows_properties_in_any_case) {
    const octets list = property("SOCKET-TYPE", "DEALER") + property("identity", "me");
    EXPECT_EQ(receive(socket_of(socket_type::router), "READY", list).status, mechanism::progress::complete);
    EXPECT_EQ(info().routing_id, "me");
    EXPECT_STREQ(info().find("Socket-Type"), "DEALER");
    EXPECT_STREQ(info().find("Identity"), "me");
    EXPECT_STREQ(info().find("Routing-Id"), "me");
    EXPECT_EQ(receive(socket_of(socket_type::router), "READY", property("socket-type", "PUSH")).status,
              mechanism::progress::failed);
}

TEST_F(null_handshake, uses_a_routing_id_only_between_the_types_that_have_one) {
    const auto id_of = [&](socket_type self, const char *peer) {
        const octets list = property("Socket-Type", peer) + property("Identity", "me");
        EXPECT_EQ(receive(socket_of(self), "READY", list).status, mechanism::progress::complete);
        return info().routing_id;
    };
    for (const char *peer : {"REQ", "DEALER", "ROUTER"})
        EXPECT_EQ(id_of(socket_type::router, peer), "me");
    EXPECT_EQ(id_of(socket_type::dealer, "ROUTER"), "");
    EXPECT_EQ(id_of(socket_type::pull, "PUSH"), "");
}

TEST_F(null_handshake, does_not_use_a_routing_id_that_begins_with_zero) {
    const octets list = property("Socket-Type", "DEALER") + property("Identity", octets("\0abcd", 5));
    EXPECT_EQ(receive(socket_of(socket_type::router), "READY", list).status, mechanism::progress::complete);
    EXPECT_EQ(info().routing_id, "");
}

TEST_F(null_handshake, refuses_a_routing_id_of_more_than_255_octets) {
    for (const std::size_t size : {255, 256}) {
        const octets list = property("Socket-Type", "DEALER") + property("Identity", octets(size, 'i'));
        const auto outcome = receive(socket_of(socket_type::router), "READY", list);
        EXPECT_EQ(outcome.status, size > 255 ? mechanism::progress::failed : mechanism::progress::complete);
    }
}

TEST_F(null_handshake, keeps_the_peers_other_properties_but_none_in_our_own_name) {
    const octets list = property("X-colour", "red") + property("Resource", "r") +
                        property("user-id", "root") + property("Peer-Address", "1.2.3.4") +
                        property("__fd", "0") + property("Routing-Id", "x") +
                        property("X-Zlink-Batch", "1c") + property("X-Zlink-Gap", "1");
    EXPECT_EQ(receive(socket_of(socket_type::pull), "READY", list).status, mechanism::progress::complete);
    EXPECT_STREQ(info().find("X-Colour"), "red");
    EXPECT_STREQ(info().find("Resource"), "r");
    for (const char *name : {"User-Id", "Peer-Address", "__fd", "Routing-Id", "X-Zlink-Batch", "X-Zlink-Gap"})
        EXPECT_EQ(info().find(name), nullptr) << name;
}

TEST_F(null_handshake, asks_for_gaps_for_a_subscriber_alone_and_hears_it_of_one) {
    settings sub = socket_of(socket_type::sub);
    std::vector<std::uint8_t> list;
    append_own_properties(list, sub);
    EXPECT_EQ(text(list), property("Socket-Type", "SUB"));
    sub.hears_gaps = true;
    list.clear();
    append_own_properties(list, sub);
    EXPECT_EQ(text(list), property("Socket-Type", "SUB") + property("X-Zlink-Gap", "1"));
    settings push = socket_of(socket_type::push);
    push.hears_gaps = true;
    list.clear();
    append_own_properties(list, push);
    EXPECT_EQ(text(list), property("Socket-Type", "PUSH"));
    const struct {
        socket_type own;
        const char *peer, *name, *value;
        bool hears;
    } table[] = {{socket_type::pub, "SUB", "X-Zlink-Gap", "1", true},
                 {socket_type::xpub, "XSUB", "x-ZLINK-gap", "1", true},
                 {socket_type::pub, "SUB", "X-Zlink-Gap", "", false},
                 {socket_type::pub, "SUB", "X-Zlink-Gap", "2", false},
                 {socket_type::pub, "SUB", "X-Zlink-Gap", "1 ", false},
                 {socket_type::sub, "PUB", "X-Zlink-Gap", "1", false},
                 {socket_type::pull, "PUSH", "X-Zlink-Gap", "1", false}};
    for (const auto &row : table) {
        const octets said = property("Socket-Type", row.peer) + property(row.name, row.value);
        EXPECT_EQ(receive(socket_of(row.own), "READY", said).status, mechanism::progress::complete);
        EXPECT_EQ(info().hears_gaps, row.hears) << row.peer << row.name << row.value;
    }
}

TEST_F(null_handshake, finds_each_of_many_properties_and_keeps_little_more_than_their_octets) {
    octets list;
    for (int i = 0; i < 5000; ++i)
        list += property("X" + std::to_string(i), i % 2 ? "" : "value");
    const settings options = socket_of(socket_type::pull);
    EXPECT_EQ(receive(options, "READY", list).status, mechanism::progress::complete);
    info_.reset();
    const std::size_t before = ::mallinfo2().uordblks;
    EXPECT_EQ(receive(options, "READY", list).status, mechanism::progress::complete);
    EXPECT_LT(::mallinfo2().uordblks - before, 2 * list.size());
    for (int i = 0; i < 5000; ++i)
        ASSERT_STREQ(info().find("x" + std::to_string(i)), i % 2 ? "" : "value");
    EXPECT_EQ(info().find("X5000"), nullptr);
}

TEST_F(null_handshake, tells_refusals_from_other_errors) {
    const settings options = socket_of(socket_type::pull);
    for (const char *status : {"300", "400", "500"}) {
        const auto outcome = receive(options, "ERROR", octets("\3") + status);
        EXPECT_EQ(outcome.failure, failure_kind::authentication);
        EXPECT_EQ(outcome.detail, static_cast<protocol_error>(std::stoi(status)));
        EXPECT_FALSE(outcome.may_retry);
    }
    const auto other = receive(options, "ERROR", "\2no");
    EXPECT_EQ(other.failure, failure_kind::peer_error);
    EXPECT_FALSE(other.may_retry);
    const auto malformed = receive(options, "ERROR", "\3no");
    EXPECT_EQ(malformed.failure, failure_kind::protocol);
    EXPECT_EQ(malformed.detail, protocol_errors::malformed_error);
}

TEST_F(null_handshake, refuses_every_other_command) {
    for (const char *name :
         {"HELLO", "WELCOME", "INITIATE", "PING", "PONG", "SUBSCRIBE", "CANCEL", "ready", "X"}) {
        const auto outcome = receive(socket_of(socket_type::pull), name, "");
        EXPECT_EQ(outcome.status, mechanism::progress::failed);
        EXPECT_EQ(outcome.detail, protocol_errors::unexpected_command);
    }
}

TEST(mechanism, is_null_when_not_built_in) {
    settings options;
    options.mechanism = mechanism_kind::gssapi;
    EXPECT_EQ(make_mechanism(options, true), nullptr);
}

TEST(protocol_errors, have_the_numbers_of_the_public_header) {
    EXPECT_EQ(protocol_errors::unspecified, ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED);
    EXPECT_EQ(protocol_errors::unexpected_command, ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND);
    EXPECT_EQ(protocol_errors::invalid_sequence, ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE);
    EXPECT_EQ(protocol_errors::malformed_command, ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED);
    EXPECT_EQ(protocol_errors::malformed_error, ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR);
    EXPECT_EQ(protocol_errors::malformed_ready, ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY);
    EXPECT_EQ(protocol_errors::invalid_metadata, ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA);
    EXPECT_EQ(protocol_errors::mechanism_mismatch, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH);
}

}  // namespace
}  // namespace zlink
