// An endpoint to bind that nobody else uses: a wild-card port or path, or a fresh name. A scheme
// that is not known here is a fault of the test: who adds a transport says what its addresses are.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

namespace zlink_test {

// Whether the addresses of a scheme are a host and a port.
inline bool has_ports(const std::string &transport) {
    constexpr std::array<std::string_view, 4> known{"tcp", "tls", "ws", "wss"};
    return std::find(known.begin(), known.end(), transport) != known.end();
}

inline std::string scratch_endpoint(const std::string &transport) {
    static std::atomic<int> number{0};
    if (transport == "inproc")
        return "inproc://scratch-" + std::to_string(++number);
    if (transport == "ipc")
        return "ipc://*";
    if (has_ports(transport))
        return transport + "://127.0.0.1:*";
    throw std::invalid_argument("scratch_endpoint() does not know what an address of " + transport + " is");
}

}  // namespace zlink_test
