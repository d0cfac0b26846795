// The parts of benchmarks that need no library of messages: numbers from the environment, and
// sockets of the loopback interface.
#pragma once

namespace bench {

// The number in an environment variable; ends the program if it holds anything else.
long long number_from(const char *variable, long long otherwise);

// A port of 127.0.0.1 that nobody listens at; 0 when there is none.
int free_port();

// Two connected blocking sockets over 127.0.0.1, without delay.
struct tcp_pair {
    int connected = -1;
    int accepted = -1;

    explicit operator bool() const { return accepted >= 0; }
};
tcp_pair open_tcp_pair();

}  // namespace bench
