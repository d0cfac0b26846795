// bench_raw_tls: TLS over loopback without a library of messages, to hold that of a library
// against.
//
// Question: how many octets a second, and how many microseconds one way, do OpenSSL and two
//           blocking sockets make?
// Method:   two threads, one at each end of a connection over 127.0.0.1. A stream is written in
//           records of 16 KiB and read as far as there is room for, 64 KiB at a time: its rate is
//           told in messages of the size asked for. A round trip is one record each way.
//           Certificates, the protocol and its cipher are those of bench_zmq: what OpenSSL chooses.
// It lies if: the machine is busy with something else.
//
// Prints RESULT,raw,STREAM|PING,tls,<size>,throughput|latency,<value> as bench_zmq does.
// Order:    one end of a connection; the two measures; the command line.
#include "system.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t record_size = 16 * 1024;
constexpr std::size_t read_at_once = 64 * 1024;
constexpr std::uint64_t warmup_octets = 4 << 20;
constexpr std::uint64_t warmup_trips = 1000;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    ERR_print_errors_fp(stderr);
    std::_Exit(1);
}

void require(bool good, const char *what) {
    if (!good)
        fail(what);
}

const char *variable(const char *name) {
    const char *const text = std::getenv(name);
    require(text != nullptr, name);
    return text;
}

// One end of a connection, with its handshake over.
class end {
public:
    end(SSL_CTX *context, int socket) : socket_(socket), tls_(SSL_new(context)) {
        require(tls_ && SSL_set_fd(tls_, socket_) == 1, "SSL_set_fd");
        SSL_set_read_ahead(tls_, 1);
        SSL_set_default_read_buffer_len(tls_, read_at_once);
    }
    end(const end &) = delete;
    end &operator=(const end &) = delete;
    ~end() {
        SSL_free(tls_);
        ::close(socket_);
    }
    void connect() { require(SSL_connect(tls_) == 1, "SSL_connect"); }
    void accept() { require(SSL_accept(tls_) == 1, "SSL_accept"); }
    void write(const char *octets, std::size_t size) {
        std::size_t written = 0;
        require(SSL_write_ex(tls_, octets, size, &written) == 1 && written == size, "SSL_write");
    }
    std::size_t read(char *to, std::size_t room) {
        std::size_t found = 0;
        require(SSL_read_ex(tls_, to, room, &found) == 1, "SSL_read");
        return found;
    }
    void read_all(char *to, std::size_t size) {
        while (size > 0) {
            const std::size_t found = read(to, size);
            to += found;
            size -= found;
        }
    }
    const char *cipher() const { return SSL_get_cipher_name(tls_); }

private:
    const int socket_;
    SSL *const tls_;
};

double stream(end &from, end &to, std::size_t size, std::uint64_t messages) {
    const std::uint64_t measured = size * messages;
    std::thread sender([&] {
        const std::vector<char> octets(std::max(record_size, size), 'z');
        std::size_t at = 0;
        for (std::uint64_t left = warmup_octets + measured; left > 0;) {
            const std::size_t part = static_cast<std::size_t>(
                std::min<std::uint64_t>(left, std::min(record_size, octets.size() - at)));
            from.write(octets.data() + at, part);
            left -= part;
            at = (at + part) % octets.size();
        }
    });
    std::vector<char> room(std::max(read_at_once, size));
    std::size_t at = 0;
    const auto pass = [&](std::uint64_t left) {
        while (left > 0) {
            const std::size_t found = to.read(
                room.data() + at, static_cast<std::size_t>(std::min<std::uint64_t>(left, room.size() - at)));
            left -= found;
            at = (at + found) % room.size();
        }
    };
    pass(warmup_octets);
    const auto start = steady::now();
    pass(measured);
    const std::chrono::duration<double> taken = steady::now() - start;
    sender.join();
    return static_cast<double>(messages) / taken.count();
}

double ping(end &a, end &b, std::size_t size, std::uint64_t trips) {
    std::thread echo([&] {
        std::vector<char> body(size);
        for (std::uint64_t i = 0; i < warmup_trips + trips; ++i) {
            b.read_all(body.data(), size);
            b.write(body.data(), size);
        }
    });
    std::vector<char> body(size, 'z');
    steady::time_point start;
    for (std::uint64_t i = 0; i < warmup_trips + trips; ++i) {
        if (i == warmup_trips)
            start = steady::now();
        a.write(body.data(), size);
        a.read_all(body.data(), size);
    }
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    echo.join();
    return taken.count() / (2.0 * static_cast<double>(trips));
}

}  // namespace

int main(int argc, char **argv) {
    const std::string measure = argc == 3 ? argv[2] : "";
    const std::size_t size = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (size == 0 || (measure != "throughput" && measure != "latency")) {
        std::fputs("usage: bench_raw_tls SIZE throughput|latency\n"
                   "variables: BENCH_MSG_COUNT BENCH_LAT_COUNT BENCH_TLS_CERT BENCH_TLS_KEY\n",
                   stderr);
        return 2;
    }
    SSL_CTX *const server = SSL_CTX_new(TLS_server_method());
    SSL_CTX *const client = SSL_CTX_new(TLS_client_method());
    require(server && client && SSL_CTX_use_certificate_chain_file(server, variable("BENCH_TLS_CERT")) == 1 &&
                SSL_CTX_use_PrivateKey_file(server, variable("BENCH_TLS_KEY"), SSL_FILETYPE_PEM) == 1 &&
                SSL_CTX_set_min_proto_version(client, TLS1_3_VERSION) == 1,
            "contexts of OpenSSL");
    {
        const bench::tcp_pair both = bench::open_tcp_pair();
        require(bool(both), "two sockets");
        end a(client, both.connected);
        end b(server, both.accepted);
        std::thread accepting([&] { b.accept(); });
        a.connect();
        accepting.join();
        std::printf("LIBRARY,raw,%s,%s\n", a.cipher(), OpenSSL_version(OPENSSL_VERSION_STRING));
        const bool is_stream = measure == "throughput";
        const auto count =
            static_cast<std::uint64_t>(is_stream ? bench::number_from("BENCH_MSG_COUNT", 20'000)
                                                 : bench::number_from("BENCH_LAT_COUNT", 1000));
        const double value = is_stream ? stream(a, b, size, count) : ping(a, b, size, count);
        std::printf("RESULT,raw,%s,tls,%zu,%s,%.3f\n", is_stream ? "STREAM" : "PING", size, measure.c_str(),
                    value);
    }
    SSL_CTX_free(client);
    SSL_CTX_free(server);
    return 0;
}
