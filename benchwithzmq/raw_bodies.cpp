// bench_raw: large bodies over blocking sockets without a library of messages, to hold that of a
// library against.
//
// Question: how long does a body of this size take over tcp or ipc on this machine, if nothing but
//           the system carries it?
// Method:   two threads, one at each end of a connection; a body is one send and as many receives
//           as it takes, into memory that is used again. With --bodies=allocated it is copied by
//           the sender first, as bench_zmq fills memory of the library. The system chooses how tcp
//           behaves, unless --send-buffer=OCTETS and --congestion=NAME say otherwise.
// It lies if: the machine is busy with something else, or a size other than the system's own would
// be quicker: try some.
//
// Prints RESULT,raw,STREAM|PING,<transport>,<size>,throughput|latency,<value> as bench_zmq does.
// Order:    one end; the two measures; the command line.
#include "peers/peers.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct wanted {
    std::string transport;
    std::size_t size = 0;
    std::string measure;
    bool fills = false;
    int send_buffer = 0;
    std::string congestion;
};

// One end of a connection.
class end {
public:
    end(int socket, const wanted &asked)
        : socket_(socket), fills_(asked.fills), made_(asked.size), filled_(asked.size), found_(asked.size) {
        if (asked.send_buffer)
            bench::require(::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &asked.send_buffer,
                                        sizeof asked.send_buffer) == 0,
                           "SO_SNDBUF");
        if (!asked.congestion.empty())
            bench::require(::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, asked.congestion.data(),
                                        static_cast<socklen_t>(asked.congestion.size())) == 0,
                           "TCP_CONGESTION");
    }
    end(const end &) = delete;
    end &operator=(const end &) = delete;
    ~end() { ::close(socket_); }

    void send(std::uint64_t sequence) {
        const char *at = made_.make(sequence);
        if (fills_)
            at = static_cast<const char *>(std::memcpy(filled_.data(), at, made_.size()));
        bench::write_all(socket_, at, made_.size());
    }

    void receive(std::uint64_t sequence) {
        bench::read_all(socket_, found_.data(), found_.size());
        bench::require(found_.is_message(sequence), "order and content of a message");
    }

private:
    const int socket_;
    const bool fills_;
    bench::outgoing made_;
    bench::own_lines filled_;
    bench::incoming found_;
};

double ping(end &a, end &b, std::uint64_t warmup, std::uint64_t trips) {
    std::thread echo([&] {
        for (std::uint64_t i = 0; i < warmup + trips; ++i) {
            b.receive(i);
            b.send(i);
        }
    });
    bench::steady::time_point start;
    for (std::uint64_t i = 0; i < warmup + trips; ++i) {
        if (i == warmup)
            start = bench::steady::now();
        a.send(i);
        a.receive(i);
    }
    const std::chrono::duration<double, std::micro> taken = bench::steady::now() - start;
    echo.join();
    return taken.count() / (2.0 * static_cast<double>(trips));
}

// The text behind `name` if `word` begins with it.
std::optional<std::string> value_of(std::string_view word, std::string_view name) {
    if (!word.starts_with(name))
        return std::nullopt;
    return std::string(word.substr(name.size()));
}

std::optional<wanted> parsed(int argc, char **argv) {
    if (argc < 4)
        return std::nullopt;
    wanted asked;
    asked.transport = argv[1];
    asked.size = std::strtoull(argv[2], nullptr, 10);
    asked.measure = argv[3];
    for (int i = 4; i < argc; ++i) {
        if (const auto bodies = value_of(argv[i], "--bodies="); bodies == "copied" || bodies == "allocated")
            asked.fills = bodies == "allocated";
        else if (const auto octets = value_of(argv[i], "--send-buffer="))
            asked.send_buffer = std::atoi(octets->c_str());
        else if (const auto name = value_of(argv[i], "--congestion="))
            asked.congestion = *name;
        else
            return std::nullopt;
    }
    const bool good = (asked.transport == "tcp" || asked.transport == "ipc") &&
                      asked.size >= bench::smallest_body &&
                      (asked.measure == "throughput" || asked.measure == "latency") &&
                      (asked.congestion.empty() || asked.transport == "tcp");
    return good ? std::optional(asked) : std::nullopt;
}

}  // namespace

int main(int argc, char **argv) {
    const auto asked = parsed(argc, argv);
    if (!asked) {
        std::fputs("usage: bench_raw tcp|ipc SIZE throughput|latency [--bodies=copied|allocated] "
                   "[--send-buffer=OCTETS]\n"
                   "                 [--congestion=NAME]\n"
                   "variables: BENCH_MSG_COUNT BENCH_LAT_COUNT BENCH_WARMUP_COUNT\n",
                   stderr);
        return 2;
    }
    const bench::raw_pair both = bench::open_raw_pair(asked->transport);
    end a(both.a, *asked);
    end b(both.b, *asked);
    const bool is_stream = asked->measure == "throughput";
    const auto warmup = static_cast<std::uint64_t>(bench::number_from("BENCH_WARMUP_COUNT", 10));
    const auto count = static_cast<std::uint64_t>(
        bench::number_from(is_stream ? "BENCH_MSG_COUNT" : "BENCH_LAT_COUNT", is_stream ? 1000 : 100));
    const double value = is_stream ? bench::time_stream(warmup, count, a, b) : ping(a, b, warmup, count);
    std::printf("RESULT,raw,%s,%s,%zu,%s,%.3f\n", is_stream ? "STREAM" : "PING", asked->transport.c_str(),
                asked->size, asked->measure.c_str(), value);
    return 0;
}
