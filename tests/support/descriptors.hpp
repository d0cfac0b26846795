// Descriptors of the system's, and pollers, with owners.
#pragma once

#include <zmq.h>

#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>
#include <utility>

namespace zlink_test {

class pipe_pair {
public:
    pipe_pair() { EXPECT_EQ(::pipe(ends_), 0); }
    pipe_pair(const pipe_pair &) = delete;
    pipe_pair &operator=(const pipe_pair &) = delete;
    ~pipe_pair() {
        close(ends_[0]);
        close(ends_[1]);
    }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    void write() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
    void read() {
        char octet;
        EXPECT_EQ(::read(ends_[0], &octet, 1), 1);
    }
    void close_reader() { close(ends_[0]); }
    void close_writer() { close(ends_[1]); }

private:
    static void close(int &end) {
        if (end >= 0)
            ::close(std::exchange(end, -1));
    }

    int ends_[2] = {-1, -1};
};

inline bool is_readable(int fd, int timeout_ms) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, timeout_ms) == 1;
}

class owned_poller {
public:
    owned_poller() : handle_(zmq_poller_new()) {}
    ~owned_poller() { EXPECT_EQ(zmq_poller_destroy(&handle_), 0); }
    void *get() const { return handle_; }

private:
    void *handle_;
};

}  // namespace zlink_test
