// The parts of one benchmark run: what is asked for, the sockets under test, and the messages sent through them.
//
// Question: how many messages a second, and how many microseconds one way, does a library move for one pattern,
//           transport and size?
// Method:   one source compiled once against zmq.h. The dynamic linker picks the library at run time, so the code
//           around both libraries is the same machine code. Every message is counted and its order and content
//           are checked.
// It lies if: the machine is busy with something else, or the two libraries are not run in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

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
    void *make_socket(int type);

    const settings &wanted_;
    void *handle_;
    int links_ = 0;
};

// Stops the run with a message; a benchmark whose messages are wrong has no result.
[[noreturn]] void fail(const char *what);
void require(bool good, const char *what);

// The routing ids used by ROUTER on either side, without the terminating NUL.
inline constexpr char receiver_id[] = "receiver";
inline constexpr char sender_id[] = "sender";
inline constexpr std::size_t receiver_id_size = sizeof receiver_id - 1;
inline constexpr std::size_t sender_id_size = sizeof sender_id - 1;

// Sequence numbers that mark the messages around the measured ones.
inline constexpr std::uint64_t hello_mark = ~std::uint64_t{0};
inline constexpr std::uint64_t go_mark = ~std::uint64_t{1};
inline constexpr std::uint64_t end_mark = ~std::uint64_t{2};

// The position of the word that moves through the body, one step a message.
class moving_sample {
public:
    explicit moving_sample(std::size_t size) : end_(size >= 24 ? (size / 8 - 1) * 8 : 16) {}

    std::size_t position() const { return at_; }
    bool is_inside(std::size_t size) const { return at_ + 16 <= size; }
    void step() { at_ = at_ + 8 >= end_ ? 8 : at_ + 8; }

private:
    std::size_t end_;
    std::size_t at_ = 8;
};

inline std::uint64_t scrambled(std::uint64_t sequence) { return sequence * 0x9E3779B97F4A7C15u; }

inline std::uint64_t load_word(const char *from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline void store_word(char *to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

// The sender's message: its sequence number in the first word, its complement in the last, and a scrambled copy in
// a word that moves through the body.
class outgoing {
public:
    explicit outgoing(std::size_t size) : body_(size, 'z'), sample_(size) {}

    const char *make(std::uint64_t sequence) {
        store_word(body_.data(), sequence);
        if (sample_.is_inside(body_.size()))
            store_word(body_.data() + sample_.position(), scrambled(sequence));
        store_word(body_.data() + body_.size() - 8, ~sequence);
        sample_.step();
        return body_.data();
    }
    std::size_t size() const { return body_.size(); }

private:
    std::vector<char> body_;
    moving_sample sample_;
};

// The receiver's buffer and its check of the three words.
class incoming {
public:
    explicit incoming(std::size_t size) : body_(size), sample_(size) {}

    char *data() { return body_.data(); }
    std::size_t size() const { return body_.size(); }

    bool is_message(std::uint64_t sequence) {
        const bool good = load_word(body_.data()) == sequence &&
                          load_word(body_.data() + body_.size() - 8) == ~sequence &&
                          (!sample_.is_inside(body_.size()) ||
                           load_word(body_.data() + sample_.position()) == scrambled(sequence));
        sample_.step();
        return good;
    }

private:
    std::vector<char> body_;
    moving_sample sample_;
};

// Messages a second, measured at the receiver from the first message to the last.
double measure_throughput(const settings &wanted);

// Microseconds one way: half of the mean round trip.
double measure_latency(const settings &wanted);

// The path of the libzmq.so that this process has mapped.
std::string loaded_library();

}  // namespace bench
