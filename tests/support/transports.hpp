// The transports that tests run over: those of the library that is loaded, by what zmq_has says.
#pragma once

#include <zmq.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "sockets.hpp"

namespace zlink_test {

// libzmq does not answer for tcp and inproc, which are always there, and asks for capitals in WS
// and WSS.
inline std::vector<std::string> built_transports() {
    std::vector<std::string> built{"tcp", "inproc"};
    for (const char *optional : {"ipc", "tls", "ws", "wss"})
        if (zmq_has(optional))
            built.emplace_back(optional);
    return built;
}

// Those whose peers may be other processes.
inline std::vector<std::string> network_transports() {
    std::vector<std::string> built = built_transports();
    std::erase(built, "inproc");
    return built;
}

// Leaves out the schemes, or endpoints, that the library does not have.
inline std::vector<std::string> where_built(std::vector<std::string> endpoints) {
    const std::vector<std::string> built = built_transports();
    std::erase_if(endpoints, [&](const std::string &each) {
        return std::ranges::find(built, each.substr(0, each.find("://"))) == built.end();
    });
    return endpoints;
}

// For INSTANTIATE_TEST_SUITE_P over transports: tests are named for them.
inline std::string transport_name(const ::testing::TestParamInfo<std::string> &which) { return which.param; }

// Two sockets over each transport, with either one binding: the parameters are the transport and
// whether the first binds.
class either_binds : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
protected:
    void link(test_socket &first, test_socket &second) {
        const auto &[transport, first_binds] = GetParam();
        connected(zmq, first_binds ? first : second, first_binds ? second : first, transport);
    }

    context zmq;
};

}  // namespace zlink_test
