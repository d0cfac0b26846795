// Addresses that are understood, but that the system does not let a socket have: the number is
// libzmq's, and monitors hear why.
#include <fstream>
#include <unistd.h>

#include "sockets.hpp"

namespace {

using namespace zlink_test;

class failing_bind : public ::testing::Test {
protected:
    /// `was_open`: a descriptor was, and its end is told first.
    void expect_failure(const std::string &endpoint, int number, const std::string &words,
                        bool was_open = true) {
        EXPECT_FAILS(number, zmq_bind(socket.handle(), endpoint.c_str()));
        const monitor_event why = events.next();
        EXPECT_EQ(why.event, ZMQ_EVENT_REASON) << endpoint;
        EXPECT_EQ(why.value, number) << endpoint;
        EXPECT_EQ(why.endpoint, endpoint);
        EXPECT_EQ(why.words, words);
        monitor_event failed = events.next();
        if (was_open) {
            EXPECT_EQ(failed.event, ZMQ_EVENT_CLOSED) << endpoint;
            EXPECT_GE(failed.value, 0) << endpoint;
            EXPECT_EQ(failed.endpoint, endpoint);
            failed = events.next();
        }
        EXPECT_EQ(failed.event, ZMQ_EVENT_BIND_FAILED) << endpoint;
        EXPECT_EQ(failed.value, number) << endpoint;
        EXPECT_EQ(failed.endpoint, endpoint.substr(endpoint.find("://") + 3)) << "the address alone";
    }

    context zmq;
    test_socket socket = zmq.socket(ZMQ_DEALER);
    test_socket other = zmq.socket(ZMQ_DEALER);
    monitor events{zmq, socket, everything};
};

TEST_F(failing_bind, of_a_port_that_is_taken_names_it) {
    const std::string endpoint = other.bind("tcp://127.0.0.1:*");
    const std::string place = endpoint.substr(6);
    const std::string port = place.substr(place.find(':'));
    expect_failure(endpoint, EADDRINUSE, place + " is in use by another socket");
    expect_failure("tcp://*" + port, EADDRINUSE, "*" + port + " is in use by another socket");
    if (zmq_has("ws"))
        expect_failure("ws://" + place, EADDRINUSE, place + " is in use by another socket");
}

TEST_F(failing_bind, of_an_address_of_another_machine_says_so) {
    expect_failure("tcp://192.0.2.7:5555", EADDRNOTAVAIL, "192.0.2.7 is no address of this machine");
}

// Ports that are kept for the system, as root has it set up. Whoever is root is somebody else for
// the call.
TEST_F(failing_bind, of_a_port_that_is_kept_says_so) {
    int first_free = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
    if (first_free < 1024)
        GTEST_SKIP() << "all ports are free";
    constexpr uid_t nobody = 65534;
    const uid_t self = ::geteuid();
    struct as_before {
        uid_t self;
        ~as_before() { EXPECT_EQ(::seteuid(self), 0); }
    } const over{self};
    if (self == 0) {
        ASSERT_EQ(::seteuid(nobody), 0);
    }
    expect_failure("tcp://127.0.0.1:83", EACCES,
                   "this user may not listen at 127.0.0.1:83: ports below 1024 are kept for the system");
}

TEST_F(failing_bind, for_want_of_a_device_names_that) {
    ASSERT_EQ(socket.set(ZMQ_BINDTODEVICE, std::string("nowhere7")), 0);
    expect_failure("tcp://127.0.0.1:*", ENODEV, "cannot listen on the device nowhere7: No such device",
                   false);
}

TEST_F(failing_bind, to_a_file_has_its_name_and_the_words_of_the_system) {
    expect_failure("ipc:///no/such/place", ENOENT,
                   "cannot make the file /no/such/place: No such file or directory");
    expect_failure("ipc:///etc/passwd/x", ENOTDIR, "cannot make the file /etc/passwd/x: Not a directory");
    expect_failure("ipc:///tmp", EADDRINUSE, "/tmp is there already, and is no socket");
}

TEST_F(failing_bind, to_an_abstract_name_that_is_taken_names_it) {
    const std::string endpoint = "ipc://@" + scratch_endpoint("inproc").substr(9);
    other.bind(endpoint);
    expect_failure(endpoint, EADDRINUSE, endpoint.substr(6) + " is in use by another socket");
}

TEST_F(failing_bind, of_a_descriptor_that_is_none_names_the_option) {
    const int file = ::dup(0);
    ::close(file);
    ASSERT_EQ(socket.set(ZMQ_USE_FD, file), 0);
    const std::string words = "ZMQ_USE_FD: " + std::to_string(file) + ": Bad file descriptor";
    expect_failure("tcp://127.0.0.1:*", EBADF, words, false);
    expect_failure("ipc://@x", EBADF, words, false);
}

TEST_F(failing_bind, leaves_no_words_for_the_next) {
    expect_failure("tcp://192.0.2.7:5555", EADDRNOTAVAIL, "192.0.2.7 is no address of this machine");
    socket.bind("tcp://127.0.0.1:*");
    EXPECT_EQ(events.next().event, ZMQ_EVENT_LISTENING);
}

// This is as in libzmq, without another event.
TEST_F(failing_bind, to_a_name_within_the_context_has_a_reason_alone) {
    const std::string endpoint = other.bind(scratch_endpoint("inproc"));
    EXPECT_FAILS(EADDRINUSE, zmq_bind(socket.handle(), endpoint.c_str()));
    const monitor_event why = events.next();
    EXPECT_EQ(why.event, ZMQ_EVENT_REASON);
    EXPECT_EQ(why.value, EADDRINUSE);
    EXPECT_EQ(why.words, "another socket of this context has the name " + endpoint.substr(9));
    EXPECT_FALSE(events.has_input());
}

}  // namespace
