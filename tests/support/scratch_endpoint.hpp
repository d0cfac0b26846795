// An endpoint to bind that nobody else uses: a wild-card port or path, or a fresh name.
#pragma once

#include <atomic>
#include <string>

namespace zlink_test {

inline std::string scratch_endpoint(const std::string &transport) {
    static std::atomic<int> number{0};
    if (transport == "inproc")
        return "inproc://scratch-" + std::to_string(++number);
    if (transport == "ipc")
        return "ipc://*";
    return transport + "://127.0.0.1:*";
}

}  // namespace zlink_test
