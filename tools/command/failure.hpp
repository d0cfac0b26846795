// Ends the command: the numbers that scripts may rely on, and the exception that carries one to
// main().

#pragma once

#include <stdexcept>
#include <string>

namespace command {

enum class status : int {
    done = 0,
    other = 1,
    usage = 2,
    timed_out = 3,    // nothing came
    unreachable = 4,  // could not resolve, connect or bind
    refused = 5,      // by TLS, CURVE, PLAIN, a handler or a policy
    protocol = 6,     // no ZMTP, or a type of socket that does not fit
    peer_gone = 7,
    partial = 8,  // fewer than --count
    interrupted = 130,
};

class failure : public std::runtime_error {
public:
    failure(status code, const std::string &words) : std::runtime_error(words), code_(code) {}
    status code() const { return code_; }

private:
    status code_;
};

}  // namespace command
