// The cells of bench_peers: many peers, many topics, idle connections, and the same work on raw
// sockets.
//
// Question: what does a library cost where there is not one sender and one receiver but a hundred
//           peers, a million topics or ten thousand idle connections; and how far is it from the
//           system's own sockets?
// Method:   one source compiled once against zmq.h, one context with BENCH_IO_THREADS threads;
//           count, order and content of all messages are checked. Each cell's own file tells the
//           rest.
// It lies if: the machine is busy with something else, or the contestants are not run in turn.
#pragma once

#include "common.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>
#include <zmq.h>

namespace bench {

using steady = std::chrono::steady_clock;

// Everything a run needs to know, from the command line and the BENCH_* variables.
struct peer_settings {
    std::string library;
    std::string cell;       // without the count
    std::size_t count = 0;  // of peers, topics, connections or messages together; or nanoseconds
    std::string transport;
    std::size_t size = 64;
    bool raw = false;            // the system's sockets instead of the library's
    std::uint64_t messages = 0;  // in all, over all peers
    std::uint64_t warmup = 1000;
    int io_threads = 1;
    int high_water_mark = -1;  // -1: the library's own default
    bool debug = false;
};

// The finding of a cell. The measure is throughput (a second), latency or latency_99 (microseconds
// one way), processor (microseconds of processor time for a message), or memory, memory_peak or
// memory_used (octets each).
struct finding {
    const char *measure;
    double value;
};
using findings = std::vector<finding>;

findings measure_fan_out(peer_settings &wanted);
findings measure_fan_in(peer_settings &wanted);
findings measure_lock_step(peer_settings &wanted);
findings measure_filtering(peer_settings &wanted);
findings measure_publisher(peer_settings &wanted);
findings measure_topic_memory(peer_settings &wanted);
findings measure_topic_memory_alone(peer_settings &wanted);
findings measure_idle(peer_settings &wanted);
findings measure_handshakes(peer_settings &wanted);
findings measure_ping(peer_settings &wanted);
findings measure_wake(peer_settings &wanted);
findings measure_stream(peer_settings &wanted);
findings measure_work(peer_settings &wanted);
findings measure_paced(peer_settings &wanted);
findings measure_burst(peer_settings &wanted);

// A context that closes what was opened in it. Its sockets do not linger and have the run's
// high-water mark.
class context {
public:
    explicit context(const peer_settings &wanted, int most_sockets = 64);
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    ~context();

    void *open(int type);
    void *handle() const { return handle_; }

private:
    const int high_water_mark_;
    void *const handle_;
    std::vector<void *> sockets_;
};

// Binds a socket that so many will connect to at once; its endpoint. And so many of a type that do.
std::string bind_for_many(void *socket, const peer_settings &wanted);
std::vector<void *> connect_many(context &zmq, int type, const peer_settings &wanted,
                                 const std::string &endpoint);

// Receives with zmq_recv, and checks each message.
class copying_receiver {
public:
    copying_receiver(void *socket, std::size_t size) : socket_(socket), message_(size) {}

    void receive(std::uint64_t sequence) {
        require(zmq_recv(socket_, message_.data(), message_.size(), 0) == static_cast<int>(message_.size()),
                "receive of a message of the right size");
        require(message_.is_message(sequence), "order and content of a message");
    }

private:
    void *const socket_;
    incoming message_;
};

double seconds_between(steady::time_point from, steady::time_point to);
double one_way_us(steady::duration elapsed, std::uint64_t round_trips);

// The memory that this process has, and the most it ever had, in octets.
struct memory_use {
    std::size_t now;
    std::size_t peak;
};
memory_use memory_in_use();

// Raises the soft limit of descriptors to the hard one, and returns it.
std::size_t raise_descriptor_limit();

// A forked process that runs one function, and a channel to it. Must be made before any context.
class child_process {
public:
    // The function is given the child's end of the channel. If either process dies the other one
    // ends, too.
    template <class Function>
    explicit child_process(Function run) {
        const int channel = fork_with_channel();
        if (channel < 0)
            return;
        run(channel);
        leave();
    }
    child_process(const child_process &) = delete;
    child_process &operator=(const child_process &) = delete;

    int channel() const { return channel_; }
    void wait_for_end();

private:
    int fork_with_channel();  // -1 in the parent
    [[noreturn]] static void leave();

    pid_t pid_ = 0;
    int channel_ = -1;
};

// Two connected blocking stream sockets: over loopback TCP without delay, or of the unix domain.
struct raw_pair {
    int a = -1;
    int b = -1;
};
raw_pair open_raw_pair(const std::string &transport);
void write_all(int fd, const void *data, std::size_t size);
void read_all(int fd, void *data, std::size_t size);

void write_text(int fd, const std::string &text);
std::string read_text(int fd);

}  // namespace bench
