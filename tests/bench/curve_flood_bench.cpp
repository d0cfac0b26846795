// Question: what does a flood of CURVE's HELLO, behind which no INITIATE comes, take from a pair
//           that is connected already?
// Method:   a DEALER asks a ROUTER for its own octets back, in lockstep and over CURVE, both on the
//           first processor that there is, and with heartbeats (1), so that it is an I/O thread
//           which reads at the server, or without (0), so that the application's thread does. The
//           flood is a thread on the second one. It connects to the same ROUTER, says a HELLO that
//           opens (2) or a greeting only (1), waits for the answer, and goes, 64 connections at a
//           time.
// Lies:     when the two processors are not this program's alone, or are two threads of one core.
#include <zmq.h>

#include <benchmark/benchmark.h>

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int greeting_size = 64;
constexpr int hello_frame_size = 2 + 6 + 194;  // header, name, data
constexpr int welcome_frame_size = 2 + 8 + 160;
constexpr int at_a_time = 64;
constexpr int patience_ms = 1000;

// The pairs of zmq_curve(7).
constexpr auto client_public = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
constexpr auto client_secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
constexpr auto server_public = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";
constexpr auto server_secret = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";

void require(bool holds, const char *what) {
    if (!holds) {
        std::perror(what);
        std::exit(1);
    }
}

/// Whatever this thread begins from here on runs there, too.
void stay_on(int processor) {
    static const cpu_set_t all = [] {
        cpu_set_t found;
        require(sched_getaffinity(0, sizeof found, &found) == 0, "sched_getaffinity");
        return found;
    }();
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int each = 0, found = 0; each < CPU_SETSIZE; ++each)
        if (CPU_ISSET(each, &all) && found++ == processor)
            CPU_SET(each, &one);
    require(sched_setaffinity(0, sizeof one, &one) == 0, "two processors");
}

void set_client(void *socket) {
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server_public, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, client_public, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, client_secret, 40);
}

std::string read_some(int from, std::size_t size) {
    std::string out;
    char octets[512];
    while (out.size() < size) {
        pollfd item{from, POLLIN, 0};
        const ssize_t count = poll(&item, 1, patience_ms) == 1
                                  ? read(from, octets, std::min(sizeof octets, size - out.size()))
                                  : 0;
        if (count <= 0)
            break;
        out.append(octets, static_cast<std::size_t>(count));
    }
    return out;
}

/// Returns what a client says up to its HELLO, its greeting in front.
std::string recorded_hello() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    require(bind(listener, reinterpret_cast<sockaddr *>(&address), size) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) == 0,
            "listen");
    void *context = zmq_ctx_new(), *client = zmq_socket(context, ZMQ_DEALER);
    const int linger = 0;
    zmq_setsockopt(client, ZMQ_LINGER, &linger, sizeof linger);
    set_client(client);
    zmq_connect(client, ("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port))).c_str());
    const int server = accept(listener, nullptr, nullptr);
    std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f\3\1CURVE", 17);
    greeting.resize(greeting_size);
    greeting[32] = 1;
    require(write(server, greeting.data(), greeting.size()) == greeting_size, "write");
    std::string said = read_some(server, greeting_size + hello_frame_size);
    require(said.size() == greeting_size + hello_frame_size, "a client's HELLO");
    close(server), close(listener);
    zmq_close(client), zmq_ctx_term(context);
    return said;
}

class flood {
public:
    flood(int port, bool says_hello)
        : said_(recorded_hello().substr(0, says_hello ? std::string::npos : greeting_size)),
          answer_size_(greeting_size + (says_hello ? welcome_frame_size : 0)), port_(port),
          thread_([this] { run(); }) {}
    ~flood() {
        is_over_ = true;
        thread_.join();
    }
    long answered() const { return answered_; }

private:
    void run() {
        stay_on(1);
        while (!is_over_) {
            std::array<int, at_a_time> strangers;
            for (int &each : strangers)
                each = come();
            for (const int each : strangers) {
                answered_ += read_some(each, answer_size_).size() == answer_size_;
                close(each);
            }
        }
    }
    int come() const {
        const int stranger = socket(AF_INET, SOCK_STREAM, 0);
        const linger none{1, 0};  // so that ports do not run out
        setsockopt(stranger, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port_));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(stranger, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0)
            (void)!write(stranger, said_.data(), said_.size());
        return stranger;
    }

    const std::string said_;
    const std::size_t answer_size_;
    const int port_;
    std::atomic<bool> is_over_{false};
    std::atomic<long> answered_{0};
    std::thread thread_;
};

enum kind { none, greetings, hellos };

void echo(benchmark::State &state) {
    stay_on(0);
    void *context = zmq_ctx_new(), *server = zmq_socket(context, ZMQ_ROUTER);
    void *other = zmq_ctx_new(), *client = zmq_socket(other, ZMQ_DEALER);
    const int one = 1, at_once = 0, heartbeats = state.range(1) ? 10'000 : 0;
    zmq_setsockopt(server, ZMQ_HEARTBEAT_IVL, &heartbeats, sizeof heartbeats);
    zmq_setsockopt(server, ZMQ_CURVE_SERVER, &one, sizeof one);
    zmq_setsockopt(server, ZMQ_CURVE_SECRETKEY, server_secret, 40);
    zmq_setsockopt(server, ZMQ_LINGER, &at_once, sizeof at_once);
    zmq_setsockopt(client, ZMQ_LINGER, &at_once, sizeof at_once);
    set_client(client);
    char endpoint[64];
    std::size_t size = sizeof endpoint;
    require(zmq_bind(server, "tcp://127.0.0.1:*") == 0 &&
                zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, endpoint, &size) == 0 &&
                zmq_connect(client, endpoint) == 0,
            "bind and connect");
    std::thread answers([server] {
        for (;;) {
            char id[256], body[256];
            const int id_size = zmq_recv(server, id, sizeof id, 0),
                      size = zmq_recv(server, body, sizeof body, 0);
            if (size <= 0)
                return;
            zmq_send(server, id, static_cast<std::size_t>(id_size), ZMQ_SNDMORE);
            zmq_send(server, body, static_cast<std::size_t>(size), 0);
        }
    });
    char body[64] = {1};
    const auto ask = [&] {
        require(zmq_send(client, body, sizeof body, 0) == sizeof body &&
                    zmq_recv(client, body, sizeof body, 0) == sizeof body,
                "echo");
    };
    ask();
    {
        std::unique_ptr<flood> strangers;
        if (state.range(0))
            strangers =
                std::make_unique<flood>(std::atoi(std::strrchr(endpoint, ':') + 1), state.range(0) == hellos);
        for (auto _ : state)
            ask();
        if (strangers)
            state.counters["strangers"] =
                benchmark::Counter(static_cast<double>(strangers->answered()), benchmark::Counter::kIsRate);
        state.counters["echoes"] =
            benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    }
    zmq_send(client, nullptr, 0, 0);
    answers.join();
    zmq_close(client), zmq_close(server);
    zmq_ctx_term(other), zmq_ctx_term(context);
}

BENCHMARK(echo)
    ->ArgNames({"flood", "heartbeats"})
    ->ArgsProduct({{none, greetings, hellos}, {0, 1}})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->MinTime(2);

}  // namespace
