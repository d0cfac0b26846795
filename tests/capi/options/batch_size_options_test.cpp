// ZMQ_IN_BATCH_SIZE and ZMQ_OUT_BATCH_SIZE: how much one call reads or writes.
//
// The calls of the library to recv, recvmsg, send and sendmsg come here, since a program's own
// definitions go first.
#define ZMQ_BUILD_DRAFT_API
#include "raw_peer.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>

namespace {

std::atomic<std::size_t> longest_read{0};   // asked for
std::atomic<std::size_t> longest_write{0};  // handed over

void note(std::atomic<std::size_t> &longest, std::size_t octets) {
    for (std::size_t known = longest; known < octets && !longest.compare_exchange_weak(known, octets);) {
    }
}

std::size_t octets_of(const msghdr *message) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < message->msg_iovlen; ++i)
        sum += message->msg_iov[i].iov_len;
    return sum;
}

}  // namespace

extern "C" {

ssize_t recv(int socket, void *buffer, std::size_t size, int flags) {
    note(longest_read, size);
    return ::syscall(SYS_recvfrom, socket, buffer, size, flags, nullptr, nullptr);
}
ssize_t recvmsg(int socket, msghdr *message, int flags) {
    note(longest_read, octets_of(message));
    return ::syscall(SYS_recvmsg, socket, message, flags);
}
ssize_t send(int socket, const void *buffer, std::size_t size, int flags) {
    note(longest_write, size);
    return ::syscall(SYS_sendto, socket, buffer, size, flags, nullptr, 0);
}
ssize_t sendmsg(int socket, const msghdr *message, int flags) {
    note(longest_write, octets_of(message));
    return ::syscall(SYS_sendmsg, socket, message, flags);
}

}  // extern "C"

namespace {

using namespace zlink::test;

constexpr int small_batch = 16 * 1024;
constexpr std::size_t body_size = 100;
constexpr int messages = 5000;

/// Sends before anybody listens, so that all of it is there for the first write and the first
/// reads.
void pass_messages(int option, int batch) {
    const zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH), pull(context, ZMQ_PULL);
    for (zmq_socket_of *socket : {&push, &pull}) {
        ASSERT_EQ(socket->set(ZMQ_SNDHWM, 0), 0);
        ASSERT_EQ(socket->set(ZMQ_RCVHWM, 0), 0);
        ASSERT_EQ(socket->set(ZMQ_RECONNECT_IVL, 1), 0);
        if (batch) {
            ASSERT_EQ(socket->set(option, batch), 0);
        }
    }
    const std::string endpoint = raw_listener().endpoint();
    ASSERT_TRUE(push.connect(endpoint));
    for (int i = 0; i < messages; ++i)
        ASSERT_TRUE(push.send(std::string(body_size, 'm')));
    longest_read = longest_write = 0;
    ASSERT_FALSE(pull.bind(endpoint).empty());
    for (int i = 0; i < messages; ++i)
        ASSERT_EQ(pull.receive().size(), body_size);
}

TEST(batch_size_of_a_socket, bounds_its_reads) {
    pass_messages(ZMQ_IN_BATCH_SIZE, 0);
    EXPECT_GT(longest_read, 2u * small_batch);
    pass_messages(ZMQ_IN_BATCH_SIZE, small_batch);
    EXPECT_EQ(longest_read, std::size_t{small_batch});
}

TEST(batch_size_of_a_socket, bounds_its_writes) {
    pass_messages(ZMQ_OUT_BATCH_SIZE, 0);
    EXPECT_GT(longest_write, 2u * small_batch);
    pass_messages(ZMQ_OUT_BATCH_SIZE, small_batch);
    EXPECT_LE(longest_write, std::size_t{small_batch});
}

TEST(small_send_buffer, is_not_filled_with_one_write) {
    pass_messages(ZMQ_SNDBUF, 4 * small_batch);
    EXPECT_GT(longest_write, 2u * small_batch);
    pass_messages(ZMQ_SNDBUF, small_batch);
    EXPECT_LE(longest_write, std::size_t{small_batch}) << "the system makes twice as much of it";
}

TEST(batch_size_of_a_socket, reads_as_it_was_set) {
    const zmq_context context;
    zmq_socket_of socket(context, ZMQ_PUSH);
    for (const int option : {ZMQ_IN_BATCH_SIZE, ZMQ_OUT_BATCH_SIZE}) {
        int value = 0;
        std::size_t size = sizeof value;
        ASSERT_EQ(zmq_getsockopt(socket, option, &value, &size), 0);
        EXPECT_EQ(value, 8192) << "libzmq's default, until it is set";
        ASSERT_EQ(socket.set(option, 5000), 0);
        ASSERT_EQ(zmq_getsockopt(socket, option, &value, &size), 0);
        EXPECT_EQ(value, 5000);
        EXPECT_EQ(socket.set(option, 0), -1);
    }
}

}  // namespace
