// Answers of HTTP to who asks for the numbers. See server.hpp.
//
// Map: responses; one connection; the server.
#include "metrics/server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace zlink::metrics {

namespace {

constexpr std::size_t most_octets_of_request = 8 * 1024;
constexpr std::chrono::seconds longest_connection{5};

using clock = std::chrono::steady_clock;

bool can_be_read(int descriptor) noexcept {
    pollfd wish{descriptor, POLLIN, 0};
    return descriptor >= 0 && ::poll(&wish, 1, 0) > 0;
}

std::string response_with(const std::string &field, const char *status, const char *type,
                          const std::string &body) {
    return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + (field.empty() ? "" : "\r\n" + field) +
           "\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n" + body;
}

/// A response to HEAD says how long the body would be, and has none (RFC 9110 §9.3.2).
void drop_body(std::string &response) { response.resize(response.find("\r\n\r\n") + 4); }

}  // namespace

std::string response(const char *status, const char *type, const std::string &body) {
    return response_with("", status, type, body);
}

std::string refusal(const char *status, const std::string &field) {
    return response_with(field, status, "text/plain", std::string(status) + '\n');
}

// ---- A connection -------------------------------------------------------------------------------

class server::connection {
public:
    explicit connection(owned_descriptor stream) noexcept : stream_(std::move(stream)) {}

    bool is_over(clock::time_point now) const noexcept { return is_over_ || now >= ends_at_; }
    clock::time_point ends_at() const noexcept { return ends_at_; }
    pollfd wish() const noexcept {
        return {stream_.get(), static_cast<short>(answer_.empty() ? POLLIN : POLLOUT), 0};
    }
    void go_on(const answering &answer, const std::vector<std::string> *names) {
        if (answer_.empty())
            read_request(answer, names);
        if (!answer_.empty())
            write_answer();
    }

private:
    void read_request(const answering &answer, const std::vector<std::string> *names);
    void write_answer() noexcept;

    owned_descriptor stream_;
    const clock::time_point ends_at_ = clock::now() + longest_connection;
    std::string request_;
    std::string answer_;
    std::size_t written_ = 0;
    bool is_over_ = false;
};

void server::connection::read_request(const answering &answer, const std::vector<std::string> *names) {
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
    if (names && !is_asked_by_name(request, *names))
        answer_ = refusal("403 Forbidden");
    else if (request.method != "GET" && request.method != "HEAD")
        answer_ = refusal("405 Method Not Allowed", "Allow: GET, HEAD");
    else
        answer_ = answer(request);
    if (request.method == "HEAD")
        drop_body(answer_);
}

void server::connection::write_answer() noexcept {
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

// ---- The server ---------------------------------------------------------------------------------

server::server(owned_descriptor listening, std::optional<std::vector<std::string>> names, answering answer,
               std::size_t most_connections)
    : listening_(std::move(listening)), identity_(listening_.get()), names_(std::move(names)),
      answer_(std::move(answer)), most_connections_(most_connections) {}

server::~server() = default;

void server::run(int until) noexcept {
    while (!is_over_)
        try {
            turn(until);
        } catch (const std::bad_alloc &) {
            connections_.clear();
            is_short_ = true;
        }
}

/// While all places are taken nobody else is let in: they wait in the system's queue, or are turned
/// away by it.
void server::turn(int until) {
    std::vector<pollfd> wishes;
    const clock::time_point now = clock::now();
    auto wakes_at = is_short_ ? now + std::chrono::milliseconds(100) : clock::time_point::max();
    for (const connection &each : connections_) {
        wishes.push_back(each.wish());
        wakes_at = std::min(wakes_at, each.ends_at());
    }
    const bool lets_in = connections_.size() < most_connections_ && !is_short_;
    wishes.push_back({lets_in ? listening_.get() : -1, POLLIN, 0});
    wishes.push_back({until, POLLIN, 0});
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wakes_at - now).count();
    const int timeout = wakes_at == clock::time_point::max() ? -1 : static_cast<int>(std::max<long>(wait, 0));
    is_short_ = ::poll(wishes.data(), wishes.size(), timeout) < 0 && errno != EINTR;
    std::size_t at = 0;
    for (connection &each : connections_)
        if (wishes[at++].revents != 0) {
            is_over_ = can_be_read(until);  // an answer may take long
            if (is_over_)
                return;
            each.go_on(answer_, names_ ? &*names_ : nullptr);
        }
    if (wishes[at].revents != 0) {
        look_whether_closed();
        if (!is_over_)
            accept_one();
    }
    is_over_ = is_over_ || wishes.back().revents != 0;
    connections_.remove_if([now = clock::now()](const connection &each) { return each.is_over(now); });
}

/// The number may be another descriptor of the program's by now, which is not ours to close.
void server::look_whether_closed() noexcept {
    is_over_ = !identity_.is_at(listening_.get());
    if (is_over_)
        (void)listening_.release();
}

void server::accept_one() {
    owned_descriptor stream(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (stream)
        connections_.emplace_back(std::move(stream));
    else
        is_short_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

}  // namespace zlink::metrics
