// A server, and a peer that keeps the rules, for tests of others that do not: nothing of its words
// is lost, and nothing else is delivered.
#pragma once

#include "sockets.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink_test {

class honest_peer {
public:
    honest_peer(int type_of_server, int own_type)
        : server(zmq.socket(type_of_server)), honest(zmq.socket(own_type)) {}

    void bring_in(const std::string &address) {
        endpoint = server.bind(address);
        honest.connect(endpoint);
    }
    /// Nothing of anybody else has come before.
    void expect_honest_peer_is_served() {
        const std::string text = "honest " + std::to_string(++count_);
        ASSERT_EQ(honest.send(text), static_cast<int>(text.size()));
        ASSERT_EQ(server.receive(), text);
    }

    context zmq;
    test_socket server, honest;
    std::string endpoint;

private:
    int count_ = 0;
};

/// Over the transport that the parameter's endpoint names.
class beside_an_honest_peer : public ::testing::TestWithParam<const char *>, protected honest_peer {
protected:
    beside_an_honest_peer() : honest_peer(ZMQ_PULL, ZMQ_PUSH) {}
    void bring_in_the_honest_peer() { bring_in(GetParam()); }
};

}  // namespace zlink_test
