// Tests what a socket says of itself on the wire before anything else: the octets of libzmq 4.3.4,
// for each type.
#include "raw_peer.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

using namespace zlink::test;
using namespace std::string_literals;

struct announced_type {
    int number;
    const char *name;
    bool announces_routing_id;
};
constexpr announced_type types[] = {
    {ZMQ_PAIR, "PAIR", false},    {ZMQ_PUB, "PUB", false},   {ZMQ_SUB, "SUB", false},
    {ZMQ_REQ, "REQ", true},       {ZMQ_REP, "REP", false},   {ZMQ_DEALER, "DEALER", true},
    {ZMQ_ROUTER, "ROUTER", true}, {ZMQ_PULL, "PULL", false}, {ZMQ_PUSH, "PUSH", false},
    {ZMQ_XPUB, "XPUB", false},    {ZMQ_XSUB, "XSUB", false}};

std::string greeting_of(std::size_t routing_id_size) {
    std::string out = "\xff\0\0\0\0\0\0\0?\x7f\x03\x01NULL"s.append(48, '\0');
    out[8] = static_cast<char>(1 + routing_id_size);
    return out;
}

/// The property is there without an id, too: mock peers count octets.
std::string ready_of(const announced_type &type, std::string_view routing_id) {
    std::string properties = property("Socket-Type", type.name);
    if (type.announces_routing_id)
        properties += property("Identity", routing_id);
    return command("READY", properties);
}

void expect_octets(std::string_view routing_id) {
    const zmq_context context;
    for (const announced_type &type : types) {
        zmq_socket_of socket(context, type.number);
        if (!routing_id.empty()) {
            ASSERT_EQ(socket.set(ZMQ_ROUTING_ID, routing_id), 0);
        }
        raw_listener listener;
        ASSERT_TRUE(socket.connect(listener.endpoint()));
        raw_peer peer = listener.accept();
        ASSERT_TRUE(peer.send(greeting()));
        const std::string expected = greeting_of(routing_id.size()) + ready_of(type, routing_id);
        EXPECT_EQ(peer.receive(expected.size()), expected) << type.name;
    }
}

TEST(handshake_octets, of_each_type_are_those_of_libzmq) { expect_octets(""); }

TEST(handshake_octets, of_each_type_with_a_routing_id_are_those_of_libzmq) { expect_octets("abc"); }

}  // namespace
