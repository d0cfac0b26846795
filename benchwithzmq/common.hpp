// The parts that both programs share: failing, options and endpoints of sockets, and messages that
// can be checked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "system.hpp"

namespace bench {

// Stops the run with a message; a benchmark whose messages are wrong has no result.
[[noreturn]] void fail(const char *what);
void require(bool good, const char *what);

// Prints LIBRARY,<lib>,<file>,<version>: the libzmq.so that this process has mapped.
void print_library(const std::string &name);

void set_int(void *socket, int option, int value);
void set_bytes(void *socket, int option, const char *bytes, std::size_t size);

// An endpoint to bind to; the system chooses the port or path, the number tells inproc names apart.
std::string wildcard(const std::string &transport, int number);

// Binds, and returns the endpoint to connect to.
std::string bind_and_name(void *socket, const std::string &where);

bool has_input(void *socket, long timeout_ms);

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

inline constexpr std::size_t smallest_body = 16;  // the first and the last word of the check

inline std::uint64_t scrambled(std::uint64_t sequence) { return sequence * 0x9E3779B97F4A7C15u; }

inline std::uint64_t load_word(const char *from) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline void store_word(char *to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }

// Memory that two threads write must not share cache lines, or pairs of lines that processors fetch
// together: where it does, each message costs both of them the line, by the luck of addresses, and
// the libraries are not what is measured.
inline constexpr std::size_t apart = 128;

// Octets in lines of their own.
class own_lines {
public:
    explicit own_lines(std::size_t size) : size_(size), lines_(size / apart + 1) {
        std::memset(data(), 'z', size);
    }
    char *data() { return lines_.front().octets; }
    std::size_t size() const { return size_; }

private:
    struct alignas(apart) line {
        char octets[apart];
    };

    std::size_t size_;
    std::vector<line> lines_;
};

// The sender's message: its sequence number in the first word, its complement in the last, and a
// scrambled copy in a word that moves through the body.
class alignas(apart) outgoing {
public:
    explicit outgoing(std::size_t size) : body_(size), sample_(size) {}

    const char *make(std::uint64_t sequence) {
        make_in(body_.data(), sequence);
        return body_.data();
    }
    // Does make() in memory of as many octets.
    void make_in(char *body, std::uint64_t sequence) {
        store_word(body, sequence);
        if (sample_.is_inside(size()))
            store_word(body + sample_.position(), scrambled(sequence));
        store_word(body + size() - 8, ~sequence);
        sample_.step();
    }
    std::size_t size() const { return body_.size(); }

private:
    own_lines body_;
    moving_sample sample_;
};

// The check of the three words.
inline bool is_message(const char *body, std::size_t size, moving_sample &sample, std::uint64_t sequence) {
    const bool good = load_word(body) == sequence && load_word(body + size - 8) == ~sequence &&
                      (!sample.is_inside(size) || load_word(body + sample.position()) == scrambled(sequence));
    sample.step();
    return good;
}

// The receiver's buffer and its check.
class alignas(apart) incoming {
public:
    explicit incoming(std::size_t size) : body_(size), sample_(size) {}

    char *data() { return body_.data(); }
    std::size_t size() const { return body_.size(); }

    bool is_message(std::uint64_t sequence) {
        return bench::is_message(body_.data(), body_.size(), sample_, sequence);
    }

private:
    own_lines body_;
    moving_sample sample_;
};

// Messages a second from `to.send(sequence)` on one thread to `from.receive(sequence)` on another,
// which holds the watch: warm-up, then the receiver says go, then the measured messages, then one
// end mark. The samples move in step at both ends, so those around the measured ones are messages
// like any other. A lost, doubled or reordered message shows as a wrong sequence number; the end
// mark catches a loss at the tail.
template <class Sender, class Receiver>
double time_stream(std::uint64_t warmup, std::uint64_t messages, Sender &to, Receiver &from) {
    using watch = std::chrono::steady_clock;
    std::binary_semaphore warm{0};
    std::chrono::duration<double> taken{};
    std::thread receiver([&] {
        for (std::uint64_t i = 0; i < warmup; ++i)
            from.receive(i);
        warm.release();
        from.receive(0);
        const auto first = watch::now();
        for (std::uint64_t i = 1; i < messages; ++i)
            from.receive(i);
        taken = watch::now() - first;
        from.receive(end_mark);
    });
    std::thread sender([&] {
        for (std::uint64_t i = 0; i < warmup; ++i)
            to.send(i);
        warm.acquire();
        for (std::uint64_t i = 0; i < messages; ++i)
            to.send(i);
        to.send(end_mark);
    });
    sender.join();
    receiver.join();
    return static_cast<double>(messages - 1) / taken.count();
}

}  // namespace bench
