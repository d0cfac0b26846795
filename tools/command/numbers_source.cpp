#include "numbers_source.hpp"

#include "socket_address.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
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
    size_t second = 0;  // octets of the text of Prometheus behind them, where there is one
};

/// Nothing where the text is no head, or one that is being written.
std::optional<file_head> head_of(const std::string &text) {
    const std::vector<std::string> words = split(text, " ");
    const auto process = words.size() > 6 ? number_of<int>(words[2]) : std::nullopt;
    const auto start = process ? number_of<std::uint64_t>(words[3]) : std::nullopt;
    const auto offset = start ? number_of<size_t>(words[5]) : std::nullopt;
    const auto size = offset ? number_of<size_t>(words[6]) : std::nullopt;
    constexpr size_t most_octets = size_t{64} << 20;
    if (!size || words[0] != "zlink-metrics" || words[1] != "1" || *size > most_octets) {
        return std::nullopt;
    }
    const size_t second = words.size() > 7 ? number_of<size_t>(words[7]).value_or(0) : 0;
    return second > most_octets ? std::nullopt
                                : std::optional(file_head{*process, *start, *offset, *size, second});
}

std::string read_at(int file, size_t offset, size_t size) {
    std::string text(size, '\0');
    const ssize_t count = pread(file, text.data(), size, static_cast<off_t>(offset));
    text.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return text;
}

enum class text_of_file { json, prometheus };

/// The text that is read while the head stays as it is, is whole.
std::string read_file(const std::string &where, text_of_file which, file_head &head) {
    constexpr size_t size_of_head = 128;
    const descriptor file(open(where.c_str() + std::strlen("file:"), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
        const std::string text = which == text_of_file::json
                                     ? read_at(file.get(), head.offset, head.size)
                                     : read_at(file.get(), head.offset + head.size, head.second);
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

/// tcp://HOST:PORT and what may follow, or unix:PATH; throws where it is neither.
socket_address parsed_address(const std::string &where) {
    socket_address to;
    const bool is_path = where.starts_with("unix:");
    if (is_path && where.size() - 5 < sizeof to.path.sun_path) {
        to.path.sun_family = AF_UNIX;
        std::memcpy(to.path.sun_path, where.c_str() + 5, where.size() - 5);
        to.size = sizeof to.path;
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
        to.size = sizeof to.v4;
        if (inet_pton(AF_INET, host.c_str(), &to.v4.sin_addr) == 1) {
            return to;
        }
        to.v6.sin6_family = AF_INET6;
        to.size = sizeof to.v6;
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

constexpr std::chrono::seconds most_of_call{5};

/// Gives what is called next the time until then, at most so long as a call may take. False where
/// none is left.
bool limit_next_call(const descriptor &stream, numbers_source::clock::time_point until) {
    using std::chrono::microseconds;
    const auto left = std::chrono::duration_cast<microseconds>(
        std::min<numbers_source::clock::duration>(until - numbers_source::clock::now(), most_of_call));
    const timeval patience{left.count() / 1'000'000, left.count() % 1'000'000};
    setsockopt(stream.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(stream.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return left.count() > 0;
}

/// The whole response.
std::string exchanged(const std::string &where, const std::string &request,
                      numbers_source::clock::time_point until) {
    const socket_address to = parsed_address(where);
    const descriptor stream(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!limit_next_call(stream, until)) {
        nobody_answers(where, ETIMEDOUT);
    }
    if (connect(stream.get(), &to.any, to.size) != 0 ||
        send(stream.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
        nobody_answers(where, errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno);
    }
    std::string response;
    std::array<char, 65536> piece;
    ssize_t count = 0;
    constexpr size_t most_octets = size_t{64} << 20;
    do {
        if (!limit_next_call(stream, until)) {
            nobody_answers(where, ETIMEDOUT);
        }
        count = recv(stream.get(), piece.data(), piece.size(), 0);
        response.append(piece.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
    } while (count > 0 && response.size() < most_octets);
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
                                    const std::string &type, numbers_source::clock::time_point until) {
    const std::string response =
        exchanged(where,
                  fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}Connection: close\r\n\r\n", path,
                              type.empty() ? "" : "Accept: " + type + "\r\n"),
                  until);
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

numbers_source::numbers_source(const std::string &target, std::optional<std::chrono::milliseconds> patience)
    : patience_(patience), process_(number_of<int>(target)) {
    if (process_) {
        find(*process_);
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

std::string numbers_source::get_of_file(const std::string &path, const std::string &type) const {
    file_head head;
    if (path == "/metrics.json") {
        return read_file(address_, text_of_file::json, head);
    }
    std::string text;
    if (path == "/metrics" && type.empty()) {
        text = read_file(address_, text_of_file::prometheus, head);
    }
    if (text.empty()) {
        throw failure(status::usage, fmt::format("{} does not tell this: ask for JSON", address_));
    }
    if (!is_running(head)) {
        throw failure(status::unreachable, fmt::format("the process {} has ended", head.process));
    }
    return text;
}

numbers_source::clock::time_point numbers_source::deadline() const {
    return patience_ ? clock::now() + *patience_ : clock::time_point::max();
}

std::string numbers_source::get(const std::string &path, const std::string &type) const {
    return get(path, type, deadline());
}

std::string numbers_source::get(const std::string &path, const std::string &type,
                                clock::time_point until) const {
    if (is_file()) {
        return get_of_file(path, type);
    }
    const auto answer = ask_http(address_, path, type, until);
    if (!answer) {
        throw not_told(status::refused, fmt::format("{} does not tell {}", address_, path));
    }
    return *answer;
}

numbers numbers_source::look(bool with_peers) const { return look(with_peers, deadline()); }

numbers numbers_source::look(bool with_peers, clock::time_point until) const {
    numbers found;
    try {
        if (is_file()) {
            file_head head;
            found.sockets = object_of_json(read_file(address_, text_of_file::json, head));
            found.has_ended = !is_running(head);
            return found;
        }
        found.sockets = object_of_json(get("/metrics.json", "", until));
        if (const auto told = with_peers ? ask_http(address_, "/peers", "", until) : std::nullopt) {
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

/// The look comes last: where it finds the process that was meant, the text is of that, too.
std::string numbers_source::get_of_running(const std::string &path, const std::string &type) const {
    const clock::time_point until = deadline();
    std::string text = get(path, type, until);
    if (is_file() || process_) {
        (void)look_at_running(until);
    }
    return text;
}

numbers numbers_source::look_at_running() const { return look_at_running(deadline()); }

numbers numbers_source::look_at_running(clock::time_point until) const {
    numbers now = look(false, until);
    if (process_ && now.process() != *process_) {
        throw failure(status::unreachable,
                      fmt::format("{} tells the numbers of the process {}", address_, now.process()));
    }
    if (now.has_ended) {
        throw failure(status::unreachable, fmt::format("the process {} has ended", now.process()));
    }
    return now;
}

}  // namespace command
