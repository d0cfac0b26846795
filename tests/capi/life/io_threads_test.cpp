// Several I/O threads in one context: which of them serve the connections of one bound socket.
//
// Method: a thread has an epoll instance of its own. The system tells which instance waits for the
//         descriptor of a connection.
#include "transports.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace {

using namespace zlink_test;

constexpr int io_threads = 4;

/// Every descriptor that is waited for, and the epoll instance that waits (proc_pid_fdinfo(5)).
std::map<int, int> epoll_of_descriptors() {
    std::map<int, int> out;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
        std::ifstream lines(entry.path());
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("tfd:"))
                out[std::stoi(line.substr(4))] = std::stoi(entry.path().filename());
    }
    return out;
}

class connections_of_one_socket : public ::testing::TestWithParam<std::string> {
protected:
    /// The number of threads that serve `count` peers of a socket with this affinity.
    std::size_t threads_serving(int count, std::uint64_t affinity) {
        EXPECT_EQ(here.set(ZMQ_IO_THREADS, io_threads), 0);
        test_socket pull = here.socket(ZMQ_PULL);
        EXPECT_EQ(zmq_setsockopt(pull.handle(), ZMQ_AFFINITY, &affinity, sizeof affinity), 0);
        monitor events(here, pull, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        const std::string endpoint = pull.bind(scratch_endpoint(GetParam()));
        std::vector<test_socket> peers;
        for (int i = 0; i < count; ++i) {
            peers.push_back(there.socket(ZMQ_PUSH));
            peers.back().connect(endpoint);
        }
        std::vector<int> accepted;
        for (int shaken = 0; shaken < count;) {
            const monitor_event found = events.next();
            if (found.event == ZMQ_EVENT_ACCEPTED)
                accepted.push_back(found.value);
            else if (found.event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
                ++shaken;
            else
                return 0;  // none came
        }
        std::set<int> serving;
        const std::map<int, int> epoll = epoll_of_descriptors();
        for (const int descriptor : accepted)
            serving.insert(epoll.at(descriptor));
        return serving.size();
    }

    context here, there;
};

TEST_P(connections_of_one_socket, are_served_by_all_threads) {
    EXPECT_EQ(threads_serving(2 * io_threads, 0), static_cast<std::size_t>(io_threads));
}

TEST_P(connections_of_one_socket, are_served_by_those_of_its_affinity) {
    EXPECT_EQ(threads_serving(2 * io_threads, 0b0110), 2u);
}

TEST_P(connections_of_one_socket, come_no_more_once_it_has_unbound) {
    EXPECT_EQ(here.set(ZMQ_IO_THREADS, io_threads), 0);
    test_socket pull = here.socket(ZMQ_PULL);
    monitor events(here, pull, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_CLOSED);
    for (int round = 0; round < 20; ++round) {
        const std::string endpoint = pull.bind(scratch_endpoint(GetParam()));
        std::vector<test_socket> peers;
        for (int i = 0; i < 4 * io_threads; ++i) {
            peers.push_back(there.socket(ZMQ_PUSH));
            peers.back().connect(endpoint);
        }
        monitor_event last = events.next();
        ASSERT_EQ(last.event, ZMQ_EVENT_ACCEPTED) << "behind the listener's end, if there are rounds before";
        ASSERT_EQ(pull.unbind(endpoint), 0);
        for (; last.event == ZMQ_EVENT_ACCEPTED; last = events.next())
            EXPECT_EQ(last.endpoint, endpoint);
        ASSERT_EQ(last.event, ZMQ_EVENT_CLOSED);
        EXPECT_EQ(last.endpoint, endpoint);
        EXPECT_FALSE(events.has_input()) << "behind the listener's end";
    }
}

INSTANTIATE_TEST_SUITE_P(over, connections_of_one_socket, ::testing::ValuesIn(network_transports()),
                         transport_name);

}  // namespace
