#include "numbers_source.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

namespace command {

namespace {

constexpr const char *how_to_ask = "start it with ZLINK_METRICS=unix:$XDG_RUNTIME_DIR/zlink-%p, for example";

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    int get() const { return number_; }

private:
    int number_;
};

[[noreturn]] void nobody_answers(const std::string &where, int why) {
    const std::string words = fmt::format("nobody tells numbers at {}: {}", where, std::strerror(why));
    if (why == ETIMEDOUT) {
        throw no_answer_yet(status::unreachable, words);
    }
    throw failure(status::unreachable, words);
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string file_text(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// ---- A file -------------------------------------------------------------------------------------

struct file_head {
    int process = 0;
    std::uint64_t start = 0;
    size_t offset = 0, size = 0;
};

/// Nothing where the text is no head, or one that is being written.
std::optional<file_head> head_of(const std::string &text) {
    const std::vector<std::string> words = split(text, " ");
    const auto process = words.size() > 6 ? number_of<int>(words[2]) : std::nullopt;
    const auto start = process ? number_of<std::uint64_t>(words[3]) : std::nullopt;
    const auto offset = start ? number_of<size_t>(words[5]) : std::nullopt;
    const auto size = offset ? number_of<size_t>(words[6]) : std::nullopt;
    constexpr size_t most = size_t{64} << 20;
    if (!size || words[0] != "zlink-metrics" || words[1] != "1" || *size > most) {
        return std::nullopt;
    }
    return file_head{*process, *start, *offset, *size};
}

std::string read_at(int file, size_t offset, size_t size) {
    std::string text(size, '\0');
    const ssize_t count = pread(file, text.data(), size, static_cast<off_t>(offset));
    text.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return text;
}

/// What is read while the head stays as it is, is whole.
std::string read_file(const std::string &path, const std::string &where, file_head &head) {
    constexpr size_t size_of_head = 128;
    const descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        nobody_answers(where, errno);
    }
    for (int torn_heads = 0; torn_heads < 10;) {
        const std::string before = read_at(file.get(), 0, size_of_head);
        const std::optional<file_head> found = head_of(before);
        if (!found) {
            ++torn_heads;
            continue;
        }
        head = *found;
        const std::string text = read_at(file.get(), head.offset, head.size);
        if (read_at(file.get(), 0, size_of_head) == before) {
            return text;
        }
    }
    throw failure(status::protocol, fmt::format("{} has no numbers of zlink", where));
}

/// Whether this very process runs, and not a later one of its number.
bool is_running(const file_head &which) {
    const std::string stat = file_text(fmt::format("/proc/{}/stat", which.process));
    const size_t name = stat.rfind(')');
    const std::vector<std::string> fields =
        name == std::string::npos ? std::vector<std::string>() : split(stat.substr(name), " ");
    return fields.size() > 20 && number_of<std::uint64_t>(fields[20]) == which.start && fields[1] != "Z";
}

// ---- HTTP ---------------------------------------------------------------------------------------

union any_address {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un path;
};

/// tcp://HOST:PORT and what may follow, or unix:PATH; throws where it is neither.
any_address parsed_address(const std::string &where) {
    any_address to{};
    const bool is_path = where.starts_with("unix:");
    if (is_path && where.size() - 5 < sizeof to.path.sun_path) {
        to.path.sun_family = AF_UNIX;
        std::memcpy(to.path.sun_path, where.c_str() + 5, where.size() - 5);
        return to;
    }
    const std::string rest = where.substr(std::min(where.size(), size_t{6}), where.find('?') - 6);
    const size_t colon = rest.rfind(':');
    const auto port = colon == std::string::npos
                          ? std::nullopt
                          : number_of<std::uint16_t>(std::string_view(rest).substr(colon + 1));
    std::string host = rest.substr(0, colon);
    host = host == "localhost" ? "127.0.0.1" : host;
    if (port && where.starts_with("tcp://")) {
        to.v4.sin_port = htons(*port);
        to.v4.sin_family = AF_INET;
        if (inet_pton(AF_INET, host.c_str(), &to.v4.sin_addr) == 1) {
            return to;
        }
        to.v6.sin6_family = AF_INET6;
        if (host.size() > 2 && host.front() == '[' &&
            inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &to.v6.sin6_addr) == 1) {
            return to;
        }
    }
    throw failure(status::usage, fmt::format("{} is no number of a process, and no address such as "
                                             "tcp://127.0.0.1:9464, unix:PATH or file:PATH",
                                             where));
}

/// Whether the response breaks off: whoever began it has ended.
bool is_torn(std::string_view response) {
    constexpr std::string_view beginning = "HTTP/1.1 ", length = "\r\nContent-Length: ";
    if (response.substr(0, beginning.size()) != beginning.substr(0, response.size())) {
        return false;  // it is another protocol
    }
    const size_t end = response.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        return true;
    }
    const size_t at = response.substr(0, end).find(length);
    if (at == std::string_view::npos) {
        return false;
    }
    const size_t digits = at + length.size();
    const auto size = number_of<size_t>(response.substr(digits, response.find('\r', digits) - digits));
    return size && response.size() - end - 4 < *size;
}

/// The whole response.
std::string exchanged(const std::string &where, const std::string &request) {
    const any_address to = parsed_address(where);
    const descriptor stream(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{5, 0};
    setsockopt(stream.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(stream.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const socklen_t size = to.any.sa_family == AF_UNIX   ? sizeof to.path
                           : to.any.sa_family == AF_INET ? sizeof to.v4
                                                         : sizeof to.v6;
    if (connect(stream.get(), &to.any, size) != 0 ||
        send(stream.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
        nobody_answers(where, errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno);
    }
    std::string response;
    std::array<char, 65536> piece;
    ssize_t count = 0;
    constexpr size_t most = size_t{64} << 20;
    while ((count = recv(stream.get(), piece.data(), piece.size(), 0)) > 0 && response.size() < most) {
        response.append(piece.data(), static_cast<size_t>(count));
    }
    if (count < 0) {
        nobody_answers(where, errno == EAGAIN ? ETIMEDOUT : errno);
    }
    if (is_torn(response)) {
        nobody_answers(where, ECONNRESET);
    }
    return response;
}

/// The body; nothing where there is no such path.
std::optional<std::string> ask_http(const std::string &where, const std::string &path,
                                    const std::string &type) {
    const std::string response =
        exchanged(where, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}Connection: close\r\n\r\n",
                                     path, type.empty() ? "" : "Accept: " + type + "\r\n"));
    const size_t body = response.find("\r\n\r\n");
    if (!response.starts_with("HTTP/1.1 ") || body == std::string::npos) {
        throw failure(status::protocol, fmt::format("{} does not answer as the metrics of zlink do", where));
    }
    if (response.starts_with("HTTP/1.1 404 ")) {
        return std::nullopt;
    }
    if (!response.starts_with("HTTP/1.1 200 ")) {
        throw failure(status::refused,
                      fmt::format("{} answers: {}", where,
                                  safe_for_terminal(response.substr(9, response.find('\r') - 9))));
    }
    return response.substr(body + 4);
}

// ---- A process ----------------------------------------------------------------------------------

std::string with_process(std::string text, int process) {
    for (size_t at = 0; (at = text.find("%p", at)) != std::string::npos;) {
        text.replace(at, 2, std::to_string(process));
    }
    return text;
}

/// The addresses that the process may tell its numbers at: more where it had a choice of ports.
std::vector<std::string> addresses_of(int process) {
    const std::string file = fmt::format("/proc/{}/environ", process);
    if (access(fmt::format("/proc/{}", process).c_str(), F_OK) != 0) {
        throw failure(status::unreachable, fmt::format("there is no process {}", process));
    }
    if (access(file.c_str(), R_OK) != 0) {
        throw failure(status::refused, fmt::format("the process {} is not yours to look at", process));
    }
    std::string address;
    for (const std::string &each : split(file_text(file), std::string_view("\0", 1))) {
        if (each.starts_with("ZLINK_METRICS=")) {
            address = with_process(each.substr(each.find('=') + 1), process);
        }
    }
    if (address.empty()) {
        throw failure(status::unreachable,
                      fmt::format("the process {} tells no numbers: {}", process, how_to_ask));
    }
    const size_t scheme = address.find(':') + 1;
    if (!address.starts_with("tcp:") && address[scheme] != '/') {
        return {address.insert(scheme, fmt::format("/proc/{}/cwd/", process))};
    }
    const size_t end = std::min(address.find('?'), address.size());
    const size_t dash = address.rfind('-', end);
    const size_t colon = address.rfind(':', end);
    const auto first =
        dash == std::string::npos
            ? std::nullopt
            : number_of<std::uint16_t>(std::string_view(address).substr(colon + 1, dash - colon - 1));
    const auto last =
        first ? number_of<std::uint16_t>(std::string_view(address).substr(dash + 1, end - dash - 1))
              : std::nullopt;
    if (!last || !address.starts_with("tcp:")) {
        return {address};
    }
    std::vector<std::string> all;
    for (unsigned port = *first; port <= *last; ++port) {
        all.push_back(fmt::format("{}:{}", address.substr(0, colon), port));
    }
    return all;
}

}  // namespace

numbers_source::numbers_source(const std::string &target) {
    if (const auto process = number_of<int>(target)) {
        find(*process);
        return;
    }
    address_ = target;
    if (target.find(':') == std::string::npos && target.find('/') != std::string::npos) {
        address_ = "file:" + target;
    }
    if (!is_file()) {
        (void)parsed_address(address_);
    }
}

/// Another process may have come first to an address that many inherit.
void numbers_source::find(int process) {
    std::string last_words;
    for (const std::string &each : addresses_of(process)) {
        address_ = each;
        try {
            const int found = look(false).process();
            if (found == process) {
                return;
            }
            last_words = fmt::format("{} tells the numbers of the process {}", each, found);
        } catch (const failure &error) {
            last_words = last_words.empty() ? error.what() : last_words;
        }
    }
    throw failure(status::unreachable, fmt::format("the process {} is not found: {}", process, last_words));
}

std::string numbers_source::get(const std::string &path, const std::string &type) const {
    if (is_file()) {
        if (path != "/metrics.json") {
            throw failure(status::usage, fmt::format("{} has numbers as JSON alone", address_));
        }
        file_head head;
        return read_file(address_.substr(5), address_, head);
    }
    const auto answer = ask_http(address_, path, type);
    if (!answer) {
        throw failure(status::refused, fmt::format("{} does not tell {}", address_, path));
    }
    return *answer;
}

numbers numbers_source::look(bool with_peers) const {
    numbers found;
    try {
        if (is_file()) {
            file_head head;
            found.sockets = object_of_json(read_file(address_.substr(5), address_, head));
            found.has_ended = !is_running(head);
            return found;
        }
        found.sockets = object_of_json(get("/metrics.json"));
        if (const auto told = with_peers ? ask_http(address_, "/peers", "") : std::nullopt) {
            found.peers = object_of_json(*told);
        }
    } catch (const failure &error) {
        if (error.code() == status::usage) {
            throw failure(status::protocol, fmt::format("what {} tells cannot be understood", address_));
        }
        throw;
    }
    return found;
}

}  // namespace command
