// Map: the place where it listens; one connection; the thread; the contexts.
#include "metrics/exporter.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/owned_descriptor.hpp"
#include "core/platform.hpp"
#include "core/tuning.hpp"
#include "metrics/address.hpp"
#include "metrics/http_request.hpp"
#include "metrics/text.hpp"

namespace zlink::metrics {

namespace {

constexpr std::size_t most_connections = 8;
constexpr std::size_t most_octets_of_request = 8 * 1024;
constexpr std::chrono::seconds longest_connection{5};

using clock = std::chrono::steady_clock;

void say(const std::string &what) noexcept {
    try {
        platform::write_error_output("zlink: metrics: " + what + '\n');
    } catch (const std::bad_alloc &) {
    }
}

// ---- The place where it listens -----------------------------------------------------------------

/// Binds and does not listen yet. Empty where that fails; `failure` says why.
owned_descriptor bind_to(const sockaddr *where, socklen_t size, int &failure) noexcept {
    owned_descriptor made(::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (made && where->sa_family != AF_UNIX)
        (void)::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (made && ::bind(made.get(), where, size) == 0)
        return made;
    failure = errno;
    return owned_descriptor();
}

owned_descriptor listen_at_port(const std::string &host, std::uint16_t port, int &failure) noexcept {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(port);
    const bool is_v4 = ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1;
    if (!is_v4)
        (void)::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr);
    owned_descriptor made = is_v4 ? bind_to(reinterpret_cast<const sockaddr *>(&v4), sizeof v4, failure)
                                  : bind_to(reinterpret_cast<const sockaddr *>(&v6), sizeof v6, failure);
    // Two may be bound with SO_REUSEADDR; only one can listen.
    if (!made || ::listen(made.get(), most_connections) == 0)
        return made;
    failure = errno;
    return owned_descriptor();
}

/// Whether somebody answers there, or it is no socket at all. One that is left over gives way.
bool is_in_use(const std::string &path, sockaddr_un where) noexcept {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0)
        return false;
    std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
    const owned_descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return !S_ISSOCK(found.st_mode) || !probe ||
           ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&where), sizeof where) == 0 ||
           errno == EAGAIN;
}

/// Nobody but the user may ask, at no time: it gets its name when it has its rights.
owned_descriptor listen_at_path(const std::string &path, int &failure) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (is_in_use(path, where)) {
        failure = EADDRINUSE;
        return owned_descriptor();
    }
    const std::string temporary = path + '.' + std::to_string(::getpid());
    std::memcpy(where.sun_path, temporary.c_str(), temporary.size() + 1);
    (void)::unlink(temporary.c_str());
    owned_descriptor made = bind_to(reinterpret_cast<const sockaddr *>(&where), sizeof where, failure);
    if (!made)
        return made;
    if (::chmod(temporary.c_str(), S_IRUSR | S_IWUSR) == 0 && ::listen(made.get(), most_connections) == 0 &&
        ::rename(temporary.c_str(), path.c_str()) == 0)
        return made;
    failure = errno;
    (void)::unlink(temporary.c_str());
    return owned_descriptor();
}

owned_descriptor listen_at(const address &where, int &failure) {
    if (!where.path.empty())
        return listen_at_path(where.path, failure);
    owned_descriptor made;
    for (unsigned port = where.first_port; port <= where.last_port && !made; ++port)
        made = listen_at_port(where.host, static_cast<std::uint16_t>(port), failure);
    return made;
}

// ---- The contexts -------------------------------------------------------------------------------

/// The contexts of one process; lives for ever.
struct registry {
    explicit registry(registry *parents) noexcept : of_parent(parents) {}

    registry *const of_parent;  // whom nobody uses any more, or null
    const unsigned generation = platform::fork_generation();
    std::atomic<int> listening{-1};  // the descriptor
    std::mutex mutex;                // guards the rest
    std::vector<context *> contexts;
    bool has_begun = false;
};

std::string numbers_as(registry &all, format how) {
    std::vector<line> lines;
    {
        std::lock_guard guard(all.mutex);
        for (context *const each : all.contexts) {
            std::vector<line> its = look_at(*each);
            std::move(its.begin(), its.end(), std::back_inserter(lines));
        }
    }
    return text_of(lines, how);
}

// ---- A connection -------------------------------------------------------------------------------

std::string response(const char *status, const char *type, const std::string &body) {
    return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n" + body;
}

std::string refusal(const char *status) { return response(status, "text/plain", std::string(status) + '\n'); }

std::string answer_to(const http_request &request, registry &all) {
    if (request.path == "/healthz")
        return response("200 OK", "text/plain", "ok\n");
    const bool is_json = request.path == "/metrics.json";
    if (!is_json && request.path != "/metrics")
        return refusal("404 Not Found");
    const bool is_open = request.accept.find("application/openmetrics-text") != std::string_view::npos;
    const format how = is_json ? format::json : is_open ? format::open_metrics : format::prometheus;
    return response("200 OK", media_type(how), numbers_as(all, how));
}

class connection {
public:
    explicit connection(owned_descriptor stream) noexcept : stream_(std::move(stream)) {}

    bool is_over(clock::time_point now) const noexcept { return is_over_ || now >= ends_at_; }
    clock::time_point ends_at() const noexcept { return ends_at_; }
    pollfd wish() const noexcept {
        return {stream_.get(), static_cast<short>(answer_.empty() ? POLLIN : POLLOUT), 0};
    }
    void go_on(registry &all, const address &where) {
        if (answer_.empty())
            read_request(all, where);
        if (!answer_.empty())
            write_answer();
    }

private:
    void read_request(registry &all, const address &where);
    void write_answer() noexcept;

    owned_descriptor stream_;
    const clock::time_point ends_at_ = clock::now() + longest_connection;
    std::string request_;
    std::string answer_;
    std::size_t written_ = 0;
    bool is_over_ = false;
};

void connection::read_request(registry &all, const address &where) {
    char some[2048];
    const ssize_t size = ::recv(stream_.get(), some, sizeof some, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        is_over_ = true;
        return;
    }
    request_.append(some, static_cast<std::size_t>(size));
    http_request request;
    switch (read(request_, request)) {
    case http_progress::incomplete:
        if (request_.size() > most_octets_of_request)
            answer_ = refusal("431 Request Header Fields Too Large");
        return;
    case http_progress::malformed:
        answer_ = refusal("400 Bad Request");
        return;
    case http_progress::complete:
        break;
    }
    if (where.path.empty() && !is_asked_by_name(request, where.names))
        answer_ = refusal("403 Forbidden");
    else if (request.method != "GET")
        answer_ = refusal("405 Method Not Allowed");
    else
        answer_ = answer_to(request, all);
}

void connection::write_answer() noexcept {
    const ssize_t size =
        ::send(stream_.get(), answer_.data() + written_, answer_.size() - written_, MSG_NOSIGNAL);
    if (size >= 0)
        written_ += static_cast<std::size_t>(size);
    else if (errno != EAGAIN && errno != EINTR)
        is_over_ = true;
    if (written_ == answer_.size()) {
        (void)::shutdown(stream_.get(), SHUT_WR);
        is_over_ = true;
    }
}

// ---- The thread ---------------------------------------------------------------------------------

class server {
public:
    server(owned_descriptor listening, address where, registry &all) noexcept
        : listening_(std::move(listening)), where_(std::move(where)), all_(all) {}

    /// Returns when the program has closed what it listens with.
    void run() {
        while (!is_closed_)
            turn();
    }
    void drop_all() noexcept {
        connections_.clear();
        is_short_ = true;
    }

private:
    void turn();
    void accept_one();

    const owned_descriptor listening_;
    const address where_;
    registry &all_;
    std::list<connection> connections_;
    bool is_closed_ = false;
    bool is_short_ = false;  // of memory or descriptors: waits a moment before it lets in more
};

/// While all places are taken nobody else is let in: they wait in the system's queue, or are turned
/// away by it.
void server::turn() {
    std::vector<pollfd> wishes;
    const clock::time_point now = clock::now();
    auto wakes_at = is_short_ ? now + std::chrono::milliseconds(100) : clock::time_point::max();
    for (const connection &each : connections_) {
        wishes.push_back(each.wish());
        wakes_at = std::min(wakes_at, each.ends_at());
    }
    const bool lets_in = connections_.size() < most_connections && !is_short_;
    wishes.push_back({lets_in ? listening_.get() : -1, POLLIN, 0});
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wakes_at - now).count();
    const int timeout = wakes_at == clock::time_point::max() ? -1 : static_cast<int>(std::max<long>(wait, 0));
    is_short_ = ::poll(wishes.data(), wishes.size(), timeout) < 0 && errno != EINTR;
    std::size_t at = 0;
    for (connection &each : connections_)
        if (wishes[at++].revents != 0)
            each.go_on(all_, where_);
    is_closed_ = (wishes.back().revents & POLLNVAL) != 0;
    if (!is_closed_ && wishes.back().revents != 0)
        accept_one();
    connections_.remove_if([now = clock::now()](const connection &each) { return each.is_over(now); });
}

void server::accept_one() {
    owned_descriptor stream(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (stream)
        connections_.emplace_back(std::move(stream));
    else
        is_short_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

/// When memory is short the connections go, and it goes on.
void serve(const std::shared_ptr<server> &what) noexcept {
    for (;;) {
        try {
            what->run();
            return;
        } catch (const std::bad_alloc &) {
            what->drop_all();
        }
    }
}

std::atomic<registry *> current{nullptr};

/// That of this process: a child of fork has its own, since another thread may have held the lock.
registry &contexts() {
    registry *found = current.load(std::memory_order_acquire);
    if (found && found->generation == platform::fork_generation())
        return *found;
    auto made = std::make_unique<registry>(found);
    return current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel) ? *made.release()
                                                                                         : *found;
}

/// The address is the parent's: who starts it again finds it free, although its children live.
void let_go_in_child() noexcept {
    registry *const found = current.load(std::memory_order_acquire);
    if (found && found->generation != platform::fork_generation())
        if (const int number = found->listening.exchange(-1, std::memory_order_relaxed); number >= 0)
            ::close(number);
}

void start(const std::shared_ptr<server> &what) {
    platform::stay_loaded();
    const platform::signal_shield shield;
    std::thread([what] {
        platform::name_this_thread("zlink-metrics");
        serve(what);
    }).detach();
}

void begin(registry &all) {
    const std::string text = from_environment("ZLINK_METRICS", "");
    if (text.empty())
        return;
    address where;
    std::string why;
    const bool anywhere = from_environment("ZLINK_METRICS_ANY", "") == "1";
    if (!parse(text, ::getpid(), anywhere, where, why)) {
        say("ZLINK_METRICS=" + text + " is ignored: " + why);
        return;
    }
    int failure = 0;
    owned_descriptor listening = listen_at(where, failure);
    if (!listening) {
        say("cannot listen at " + text + ": " + describe(failure));
        return;
    }
    (void)platform::around_fork([] {}, let_go_in_child);
    all.listening.store(listening.get(), std::memory_order_relaxed);
    try {
        start(std::make_shared<server>(std::move(listening), std::move(where), all));
    } catch (const std::exception &) {
        all.listening.store(-1, std::memory_order_relaxed);
        say("nothing is told at " + text + ": there is no thread for it");
    }
}

}  // namespace

void watch(context &which) noexcept {
    try {
        registry &all = contexts();
        std::lock_guard guard(all.mutex);
        all.contexts.push_back(&which);
        if (!std::exchange(all.has_begun, true))
            begin(all);
    } catch (const std::exception &) {
        // There are no numbers of it, then.
    }
}

void forget(context &which) noexcept {
    try {
        registry &all = contexts();
        std::lock_guard guard(all.mutex);
        std::erase(all.contexts, &which);
    } catch (const std::exception &) {
        // Nothing was ever watched.
    }
}

}  // namespace zlink::metrics
