// The parts of one benchmark run: what is asked for, the sockets under test, and the messages sent
// through them.
//
// Question: how many messages a second, and how many microseconds one way, does a library move for
//           one pattern, transport and size?
// Method:   one source compiled once against zmq.h. The dynamic linker picks the library at run
//           time, so the code around both libraries is the same machine code. Every message is
//           counted and its order and content are checked.
// It lies if: the machine is busy with something else, or the two libraries are not run in turn.
#pragma once

#include "bodies.hpp"
#include "common.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

// The end that binds; the other one connects. Usual is the receiver, but where it subscribes.
enum class end_that { is_usual, sends, receives };

// Everything a run needs to know, from the command line and the BENCH_* variables.
struct settings {
    std::string library;
    std::string pattern;
    std::string transport;
    std::size_t size = 64;
    bool throughput = true;
    bool latency = true;
    bool latency_in_one_thread = false;
    std::uint64_t messages = 0;
    std::uint64_t warmup = 1000;
    std::uint64_t round_trips = 1000;
    int contexts = 1;  // 2: the receiver has one of its own
    body_way bodies = body_way::copied;
    end_that binds = end_that::is_usual;
    bool seals = false;  // CURVE
    int io_threads = 1;
    int high_water_mark = -1;  // -1: the library's own default
    bool debug = false;
};

settings parse_settings(int argc, char **argv);

// One row of the table of patterns. The sender of the row is end A of a round trip.
struct pattern {
    const char *name;
    int sender_type;
    int receiver_type;
    bool one_way;           // the receiver cannot answer on the same socket
    bool sender_addresses;  // the sender is a ROUTER
    bool receiver_sees_id;  // the receiver is a ROUTER
    bool polls;             // zmq_poll before every receive
};

const pattern &find_pattern(const std::string &name);

// One connected pair of sockets.
struct link {
    void *sender = nullptr;
    void *receiver = nullptr;
};

class context {
public:
    explicit context(const settings &wanted);
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    ~context();

    // Returns once a message has gone through, so that nothing sent afterwards can be lost.
    link open_link(const pattern &kind);
    void close(link &pair);

private:
    void *make_socket(void *handle, int type);

    const settings &wanted_;
    void *senders_;
    void *receivers_;  // the same, unless two are wanted
    int links_ = 0;
};

// The routing ids used by ROUTER on either side, without the terminating NUL.
inline constexpr char receiver_id[] = "receiver";
inline constexpr char sender_id[] = "sender";
inline constexpr std::size_t receiver_id_size = sizeof receiver_id - 1;
inline constexpr std::size_t sender_id_size = sizeof sender_id - 1;

// Messages a second, measured at the receiver from the first message to the last.
double measure_throughput(const settings &wanted);

// Microseconds one way: half of the mean round trip.
double measure_latency(const settings &wanted);

}  // namespace bench
