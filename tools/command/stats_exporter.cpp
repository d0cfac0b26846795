// Serves what a process tells to itself alone. See stats_exporter.hpp.
//
// Server:   the library's own, which is linked into the command, too (CMakeLists.txt here): who may
//           ask, and how much, is decided in one place.
// Threads:  eight, each of which has one connection: each asks by itself.
// Asks:     the process anew for each answer, for two seconds at most. Where that tells nothing,
//           has ended or is another one, the answer is 503, and the words are on stderr, once.

#include "stats_exporter.hpp"

#include "arguments.hpp"
#include "interrupts.hpp"
#include "metrics/address.hpp"
#include "metrics/listener.hpp"
#include "metrics/server.hpp"
#include "numbers_source.hpp"
#include "socket_address.hpp"
#include "wall_clock.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace command {

namespace {

namespace http = zlink::metrics;

constexpr double longest_silence = 5;            // seconds, of a file that is written each second
constexpr std::chrono::seconds longest_wait{2};  // for what one answer takes

http::address parsed(const std::string &where) {
    constexpr const char *scheme = "tcp://";
    const bool has_port_alone =
        where.substr(0, where.find('?')).find_first_not_of("0123456789-") == where.npos;
    const std::string text = where.starts_with(":")      ? scheme + ("127.0.0.1" + where)
                             : where.starts_with(scheme) ? where
                             : has_port_alone            ? scheme + ("127.0.0.1:" + where)
                                                         : scheme + where;
    const char *const anywhere = std::getenv("ZLINK_METRICS_ANY");
    http::address found;
    std::string why;
    if (!http::parse(text, getpid(), anywhere && std::strcmp(anywhere, "1") == 0, found, why)) {
        throw failure(status::usage, fmt::format("--listen {}: {}", where, why));
    }
    return found;
}

zlink::owned_descriptor listening_at(const http::address &where, const std::string &text) {
    int why = 0;
    zlink::owned_descriptor made = http::listen_at(where, why);
    if (!made) {
        throw failure(status::unreachable, fmt::format("cannot listen at {}: {}", text, std::strerror(why)));
    }
    return made;
}

std::string url_of(const zlink::owned_descriptor &listening, const http::address &where) {
    socket_address bound;
    bound.size = sizeof bound.octets;
    getsockname(listening.get(), &bound.any, &bound.size);
    const bool is_v6 = bound.any.sa_family == AF_INET6;
    return is_v6 ? fmt::format("http://[{}]:{}/metrics", where.host, ntohs(bound.v6.sin6_port))
                 : fmt::format("http://{}:{}/metrics", where.host, ntohs(bound.v4.sin_port));
}

class exporter {
public:
    exporter(const std::string &target, bool tells_peers)
        : source_(target, longest_wait), tells_peers_(tells_peers) {}

    std::string answer(const http::http_request &request) {
        if (!has(request.path)) {
            return http::refusal("404 Not Found");
        }
        try {
            std::string told = request.path == "/healthz" ? health() : numbers_of(request);
            was_silent_ = false;
            return told;
        } catch (const failure &error) {
            if (request.path == "/peers" && dynamic_cast<const not_told *>(&error)) {
                return http::refusal("404 Not Found");
            }
            return unavailable(was_silent_, error.what());
        }
    }

    /// Why there are no numbers just now; empty where there are some.
    std::string words_of_silence() const {
        try {
            (void)source_.look_at_running();
        } catch (const failure &error) {
            return error.what();
        }
        return {};
    }

private:
    bool has(std::string_view path) const {
        return path == "/metrics" || path == "/metrics.json" || path == "/healthz" ||
               (path == "/peers" && tells_peers_ && !source_.is_file());
    }

    /// Says why, unless this has been said.
    static std::string unavailable(std::atomic<bool> &is_said, const std::string &why) {
        if (!is_said.exchange(true)) {
            complain(why);
        }
        return http::refusal("503 Service Unavailable");
    }

    std::string numbers_of(const http::http_request &request) const {
        if (request.path != "/metrics") {
            return http::response("200 OK", "application/json",
                                  source_.get_of_running(std::string(request.path)));
        }
        const bool is_open = !source_.is_file() &&
                             request.accept.find("application/openmetrics-text") != std::string_view::npos;
        return http::response(
            "200 OK",
            is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                    : "text/plain; version=0.0.4; charset=utf-8",
            source_.get_of_running("/metrics", is_open ? "application/openmetrics-text" : ""));
    }

    /// A process that is stopped leaves its file as it is.
    std::string health() {
        const numbers now = source_.look_at_running();
        const double age = seconds_now() - now.time();
        if (source_.is_file() && age > longest_silence) {
            return unavailable(is_stale_, fmt::format("the process {} has told nothing at {} for {:.0f} s",
                                                      now.process(), source_.address(), age));
        }
        is_stale_ = false;
        return http::response("200 OK", "text/plain", "ok\n");
    }

    const numbers_source source_;
    const bool tells_peers_;
    std::atomic<bool> was_silent_{false};  // and this has been said
    std::atomic<bool> is_stale_{false};
};

/// Each connection has a server of its own: one that waits for a process that is stopped keeps
/// nobody else waiting.
void serve(exporter &of, const zlink::owned_descriptor &listening, const std::vector<std::string> &names,
           int until) {
    std::vector<std::thread> all;
    all.reserve(http::server::all_connections);
    try {
        while (all.size() < http::server::all_connections) {
            zlink::owned_descriptor shared(fcntl(listening.get(), F_DUPFD_CLOEXEC, 0));
            if (!shared) {
                throw std::system_error(errno, std::generic_category());
            }
            auto one = std::make_shared<http::server>(
                std::move(shared), names,
                [&of](const http::http_request &request) { return of.answer(request); }, 1);
            all.emplace_back([one, until] { one->run(until); });
        }
    } catch (const std::exception &error) {
        if (all.empty()) {
            throw failure(status::other, fmt::format("cannot listen: {}", error.what()));
        }
        // Fewer answer at once.
    }
    for (std::thread &each : all) {
        each.join();
    }
}

}  // namespace

status export_numbers(const std::string &target, const std::string &where) {
    interrupts ends;
    const http::address address = parsed(where);
    if (!address.path.empty()) {
        throw failure(status::usage, fmt::format("--listen {}: an address such as :9464 is expected", where));
    }
    exporter of(target, address.tells_peers);
    zlink::owned_descriptor listening = listening_at(address, where);
    const std::string url = url_of(listening, address), silence = of.words_of_silence();
    complain(silence.empty() ? fmt::format("the numbers of {} are at {}", target, url)
                             : fmt::format("{}; as soon as there are any, the numbers of {} are at {}",
                                           silence, target, url));
    serve(of, listening, address.names, ends.descriptor());
    return ends.take() ? status::interrupted : status::other;
}

}  // namespace command
