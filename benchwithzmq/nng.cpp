// bench_nng: the same throughput and round trips over nng, for the transports that the
// distribution's libzmq does not have.
//
// Question: how many messages a second, and how many microseconds one way, does nng make for one
//           pattern, transport and size?
// Method:   as bench_zmq: a sender thread and a receiver thread, copied bodies, the same check of
//           what arrives, the same watch (common.hpp). PUSH_PULL is push0 and pull0, PAIR is pair0;
//           tls is nng's tls+tcp. Its queues take no more than 8192 messages: that is a mark of 0,
//           too.
// It lies if: the machine is busy with something else, or it is not run in turn with zlink. Its TLS
// is mbed TLS, with a cipher of its own choice.
//
// Prints RESULT,nng,<pattern>,<transport>,<size>,throughput|latency,<value> as bench_zmq does;
// `bench_nng schemes` prints the transports it has.
// Order:    what a run asks for; URLs and certificates; messages and the link; the two measures;
//           the command line.
#include "common.hpp"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/supplemental/tls/tls.h>
#include <nng/transport/tls/tls.h>
#include <nng/transport/ws/websocket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

namespace {

using steady = std::chrono::steady_clock;

constexpr int deepest_queue = 8192;

void require(int code, const char *what) {
    if (code == 0)
        return;
    std::fprintf(stderr, "FAILED: %s (%s)\n", what, nng_strerror(code));
    std::_Exit(1);
}

std::string content_of(const char *variable) {
    const char *const path = std::getenv(variable);
    require(path ? 0 : NNG_ENOENT, variable);
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct settings {
    std::string pattern;
    std::string transport;
    std::size_t size = 0;
    bool latency = false;
    bool sender_binds = false;

    bool is_encrypted() const { return transport == "tls" || transport == "wss"; }
    bool is_web() const { return transport == "ws" || transport == "wss"; }
};

std::string url_of(const settings &wanted) {
    const std::string scheme = wanted.transport == "tls" ? "tls+tcp" : wanted.transport;
    // nng tells the port it was given for some transports only, so one is chosen here.
    const int port = bench::free_port();
    require(port > 0 ? 0 : NNG_EADDRINUSE, "a port");
    return scheme + "://localhost:" + std::to_string(port) + (wanted.is_web() ? "/bench" : "");
}

nng_tls_config *make_certificates(bool server) {
    nng_tls_config *made = nullptr;
    require(nng_tls_config_alloc(&made, server ? NNG_TLS_MODE_SERVER : NNG_TLS_MODE_CLIENT), "TLS");
    if (server) {
        require(nng_tls_config_own_cert(made, content_of("BENCH_TLS_CERT").c_str(),
                                        content_of("BENCH_TLS_KEY").c_str(), nullptr),
                "the certificate");
        return made;
    }
    require(nng_tls_config_ca_chain(made, content_of("BENCH_TLS_CA").c_str(), nullptr), "the authority");
    require(nng_tls_config_server_name(made, "localhost"), "the name of the server");
    return made;
}

void set_queues(nng_socket socket) {
    const auto mark = static_cast<int>(bench::number_from("BENCH_HWM", 1000));
    const int depth = mark == 0 ? deepest_queue : std::min(mark, deepest_queue);
    // Not every protocol has both.
    for (const char *option : {NNG_OPT_SENDBUF, NNG_OPT_RECVBUF}) {
        const int code = nng_socket_set_int(socket, option, depth);
        require(code == NNG_ENOTSUP ? 0 : code, option);
    }
    require(nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0), NNG_OPT_RECVMAXSZ);
}

void send_body(nng_socket socket, const char *body, std::size_t size) {
    require(nng_send(socket, const_cast<char *>(body), size, 0), "nng_send");
}

void receive_body(nng_socket socket, bench::incoming &room, std::uint64_t sequence) {
    std::size_t size = room.size();
    require(nng_recv(socket, room.data(), &size, 0), "nng_recv");
    require(size == room.size() && room.is_message(sequence) ? 0 : NNG_EPROTO, "a message that was not sent");
}

// Two connected sockets.
struct link {
    explicit link(const settings &wanted) {
        const bool one_way = wanted.pattern == "PUSH_PULL";
        require(one_way ? nng_push0_open(&sender) : nng_pair0_open(&sender), "a sender");
        require(one_way ? nng_pull0_open(&receiver) : nng_pair0_open(&receiver), "a receiver");
        set_queues(sender);
        set_queues(receiver);
        const std::string url = url_of(wanted);
        nng_listener listener{};
        nng_dialer dialer{};
        require(nng_listener_create(&listener, wanted.sender_binds ? sender : receiver, url.c_str()),
                "nng_listener_create");
        require(nng_dialer_create(&dialer, wanted.sender_binds ? receiver : sender, url.c_str()),
                "nng_dialer_create");
        if (wanted.is_encrypted()) {
            nng_tls_config *const server = make_certificates(true);
            nng_tls_config *const client = make_certificates(false);
            require(nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, server), "TLS of the listener");
            require(nng_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, client), "TLS of the dialer");
            nng_tls_config_free(server);
            nng_tls_config_free(client);
        }
        require(nng_listener_start(listener, 0), "nng_listener_start");
        require(nng_dialer_start(dialer, 0), "nng_dialer_start");
    }
    link(const link &) = delete;
    link &operator=(const link &) = delete;
    ~link() {
        nng_close(sender);
        nng_close(receiver);
    }

    nng_socket sender{};
    nng_socket receiver{};
};

struct sending_end {
    void send(std::uint64_t sequence) { send_body(socket, body.make(sequence), body.size()); }
    nng_socket socket;
    bench::outgoing body;
};

struct receiving_end {
    void receive(std::uint64_t sequence) { receive_body(socket, room, sequence); }
    nng_socket socket;
    bench::incoming room;
};

double throughput(const settings &wanted, std::uint64_t warmup) {
    const link pair(wanted);
    sending_end to{pair.sender, bench::outgoing(wanted.size)};
    receiving_end from{pair.receiver, bench::incoming(wanted.size)};
    const auto messages =
        static_cast<std::uint64_t>(std::max(2LL, bench::number_from("BENCH_MSG_COUNT", 20'000)));
    return bench::time_stream(warmup, messages, to, from);
}

void trip(nng_socket out, nng_socket in, const settings &wanted, std::uint64_t first, std::uint64_t past,
          bool asks) {
    bench::outgoing body(wanted.size);
    bench::incoming room(wanted.size);
    for (std::uint64_t i = first; i < past; ++i) {
        if (!asks)
            receive_body(in, room, i);
        send_body(out, body.make(i), body.size());
        if (asks)
            receive_body(in, room, i);
    }
}

double latency(const settings &wanted, std::uint64_t warmup) {
    const auto trips = static_cast<std::uint64_t>(std::max(1LL, bench::number_from("BENCH_LAT_COUNT", 1000)));
    const link forth(wanted);
    const bool one_way = wanted.pattern == "PUSH_PULL";
    std::optional<link> back;
    if (one_way)
        back.emplace(wanted);
    const nng_socket answers = back ? back->sender : forth.receiver;
    const nng_socket hears = back ? back->receiver : forth.sender;
    const auto both_ways = [&](std::uint64_t count) {
        std::thread echo([&] { trip(answers, forth.receiver, wanted, 0, count, false); });
        const auto start = steady::now();
        trip(forth.sender, hears, wanted, 0, count, true);
        const std::chrono::duration<double, std::micro> taken = steady::now() - start;
        echo.join();
        return taken.count();
    };
    both_ways(warmup);
    return both_ways(trips) / (2.0 * static_cast<double>(trips));
}

// The transports that this build of nng has.
int print_schemes() {
    std::string found;
    for (const char *name : {"tcp", "ws", "wss", "tls"}) {
        settings wanted;
        wanted.transport = name;
        nng_socket socket{};
        nng_listener listener{};
        require(nng_pair0_open(&socket), "nng_pair0_open");
        if (nng_listener_create(&listener, socket, url_of(wanted).c_str()) == 0)
            found += found.empty() ? name : std::string(" ") + name;
        nng_close(socket);
    }
    std::printf("SCHEMES,%s\n", found.c_str());
    return 0;
}

[[noreturn]] void usage() {
    std::fputs(
        "usage: bench_nng PUSH_PULL|PAIR tcp|ws|wss|tls SIZE throughput|latency [--sender=binds|connects]\n"
        "       bench_nng schemes\n"
        "variables: BENCH_MSG_COUNT BENCH_WARMUP_COUNT BENCH_LAT_COUNT BENCH_HWM BENCH_TLS_CERT "
        "BENCH_TLS_KEY BENCH_TLS_CA\n",
        stderr);
    std::exit(2);
}

settings parse(int argc, char **argv) {
    settings wanted;
    if (argc < 5)
        usage();
    wanted.pattern = argv[1];
    wanted.transport = argv[2];
    wanted.size = std::strtoull(argv[3], nullptr, 10);
    const std::string measure = argv[4];
    wanted.latency = measure == "latency";
    const std::string sender = argc > 5 ? argv[5] : "--sender=connects";
    wanted.sender_binds = sender == "--sender=binds";
    if ((wanted.pattern != "PUSH_PULL" && wanted.pattern != "PAIR") || wanted.size < bench::smallest_body ||
        (!wanted.latency && measure != "throughput") ||
        (!wanted.sender_binds && sender != "--sender=connects"))
        usage();
    return wanted;
}

}  // namespace

int main(int argc, char **argv) {
    require(nng_tls_register(), "nng_tls_register");
    require(nng_ws_register(), "nng_ws_register");
    nng_wss_register();  // ENOTSUP where there is no TLS
    if (argc == 2 && std::string(argv[1]) == "schemes")
        return print_schemes();
    const settings wanted = parse(argc, argv);
    const auto warmup = static_cast<std::uint64_t>(bench::number_from("BENCH_WARMUP_COUNT", 1000));
    std::printf("LIBRARY,nng,%s,%s\n", nng_tls_engine_name(), nng_version());
    const double value = wanted.latency ? latency(wanted, warmup) : throughput(wanted, warmup);
    std::printf("RESULT,nng,%s,%s,%zu,%s,%.3f\n", wanted.pattern.c_str(), wanted.transport.c_str(),
                wanted.size, wanted.latency ? "latency" : "throughput", value);
    return 0;
}
