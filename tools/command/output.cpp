#include "output.hpp"

#include "interrupts.hpp"
#include "socket_options.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

namespace command {

namespace {

constexpr size_t block = 65536;

double seconds_now() {
    using namespace std::chrono;
    return duration<double>(system_clock::now().time_since_epoch()).count();
}

std::string joined(const std::vector<std::string> &parts, size_t first, const std::string &separator) {
    std::string text;
    for (size_t i = first; i < parts.size(); ++i) {
        text += i == first ? "" : separator;
        text += parts[i];
    }
    return text;
}

/// Routing ids that a ROUTER has made up are no text.
std::string id_text(const std::string &id) {
    return !id.empty() && is_printable(id) && id.rfind("0x", 0) != 0 ? id : "0x" + to_hex(id);
}

std::string as_json(const message &got, const format_flags &flags) {
    const size_t first = flags.has_id ? 1 : 0;
    bool is_text = true;
    for (size_t i = first; i < got.parts.size(); ++i) {
        is_text = is_text && is_utf8(got.parts[i]);
    }
    std::string text = fmt::format("{{\"ts\":{:.6f}", seconds_now());
    if (!got.peer_address.empty()) {
        text += ",\"peer\":" + json_string(got.peer_address);
    }
    if (flags.has_id && !got.parts.empty()) {
        text += ",\"id\":" + json_string(id_text(got.parts[0]));
    }
    text += ",\"parts\":[";
    for (size_t i = first; i < got.parts.size(); ++i) {
        text += (i == first ? "" : ",") + json_string(is_text ? got.parts[i] : to_base64(got.parts[i]));
    }
    return text + fmt::format("],\"enc\":\"{}\"}}", is_text ? "utf8" : "base64");
}

std::string as_custom(const message &got, const format_flags &flags) {
    const size_t first = flags.has_id ? 1 : 0;
    const bool has_topic = got.parts.size() > first + 1;
    const std::string payload = joined(got.parts, first + (has_topic ? 1 : 0), flags.separator);
    const auto shown = [&flags](const std::string &octets) {
        return flags.is_for_terminal ? safe_for_terminal(octets) : octets;
    };
    const std::string form = unescaped(flags.custom);
    std::string text;
    for (size_t i = 0; i < form.size(); ++i) {
        if (form[i] != '%' || i + 1 == form.size()) {
            text += form[i];
            continue;
        }
        switch (form[++i]) {
        case 'T':
            text += fmt::format("{:.6f}", seconds_now());
            break;
        case 't':
            text += got.parts.size() > first ? shown(got.parts[first]) : "";
            break;
        case 'p':
            text += shown(payload);
            break;
        case 'x':
            text += to_hex(payload);
            break;
        case 'l':
            text += fmt::format("{}", payload.size());
            break;
        case 'n':
            text += fmt::format("{}", got.parts.size() - first);
            break;
        case 'i':
            text += flags.has_id && !got.parts.empty() ? id_text(got.parts[0]) : "";
            break;
        case 'a':
            text += got.peer_address;
            break;
        case '%':
            text += '%';
            break;
        default:
            throw failure(status::usage, fmt::format("-F knows no %{}", form[i]));
        }
    }
    return text;
}

std::string as_line(const message &got, const format_flags &flags) {
    std::string text;
    for (size_t i = 0; i < got.parts.size(); ++i) {
        const bool is_id = flags.has_id && i == 0;
        text += i == 0 ? "" : flags.separator;
        text += is_id                   ? id_text(got.parts[i])
                : flags.is_for_terminal ? safe_for_terminal(got.parts[i])
                                        : got.parts[i];
    }
    return text;
}

std::vector<std::string> parts_of_words(const std::string &piece, bool is_hex) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < piece.size();) {
        if (piece[i] == ' ' || piece[i] == '\t') {
            ++i;
            continue;
        }
        const bool is_quoted = !is_hex && piece[i] == '"';
        size_t end = i + 1;
        while (end < piece.size() &&
               (is_quoted ? piece[end] != '"' : piece[end] != ' ' && piece[end] != '\t')) {
            end += piece[end] == '\\' ? 2 : 1;
        }
        end = std::min(end, piece.size());
        const std::string word = piece.substr(is_quoted ? i + 1 : i, end - i - (is_quoted ? 1 : 0));
        // An empty part is "" in either form.
        parts.push_back(is_hex ? (word == "\"\"" ? "" : from_hex(word)) : unescaped(word));
        i = end + (is_quoted ? 1 : 0);
    }
    return parts.empty() ? std::vector<std::string>{""} : parts;
}

}  // namespace

void add_format_flags(CLI::App &app, format_flags &flags, bool has_output) {
    const std::map<std::string, format_kind> kinds{
        {"raw", format_kind::raw}, {"line", format_kind::line}, {"quoted", format_kind::quoted},
        {"hex", format_kind::hex}, {"json", format_kind::json}, {"jsonl", format_kind::json}};
    app.add_option_function<std::string>(
           "-f,--format", [&flags, kinds](const std::string &name) { flags.kind = kinds.at(name); },
           "How messages look: raw, line (the default), quoted, hex, json (or jsonl: a line each)")
        ->check(CLI::IsMember({"raw", "line", "quoted", "hex", "json", "jsonl"}))
        ->type_name("NAME");
    app.add_flag("-0,--null", flags.is_nul_ended, "Messages end with a NUL, not with a newline");
    app.add_option("--separator", flags.separator, "Between the parts of a line; a tab, unless it is set")
        ->type_name("TEXT");
    if (has_output) {
        app.add_option("-F,--template", flags.custom,
                       "What is written for a message: %T time, %t first part, %p payload, %x payload in "
                       "hexadecimal, "
                       "%l its length, %n number of parts, %i routing id, %a address of the peer")
            ->type_name("TEXT");
    }
}

std::string formatted(const message &got, const format_flags &given) {
    format_flags flags = given;
    if (flags.separator.empty()) {
        flags.separator = "\t";
    }
    std::string text;
    if (!flags.custom.empty()) {
        text = as_custom(got, flags);
    } else if (flags.kind == format_kind::json) {
        text = as_json(got, flags);
    } else if (flags.kind == format_kind::raw) {
        text = joined(got.parts, flags.has_id ? 1 : 0, "");
        return flags.is_nul_ended ? text + '\0' : text;
    } else if (flags.kind == format_kind::line) {
        text = as_line(got, flags);
    } else {
        for (size_t i = 0; i < got.parts.size(); ++i) {
            const std::string &part = got.parts[i];
            text += i == 0 ? "" : " ";
            text += flags.kind == format_kind::quoted ? '"' + escaped(part) + '"'
                    : part.empty()                    ? "\"\""
                                                      : to_hex(part);
        }
    }
    return text + (flags.is_nul_ended ? '\0' : '\n');
}

std::vector<std::string> parts_of_input(const std::string &piece, const format_flags &flags) {
    std::vector<std::string> parts;
    switch (flags.kind) {
    case format_kind::json:
        return parts_of_json(piece);
    case format_kind::quoted:
        return parts_of_words(piece, false);
    case format_kind::hex:
        return parts_of_words(piece, true);
    case format_kind::line:
        if (flags.has_id || !flags.separator.empty()) {
            parts = split(piece, flags.separator.empty() ? "\t" : flags.separator);
            break;
        }
        [[fallthrough]];
    case format_kind::raw:
        parts = {piece};
        break;
    }
    if (flags.has_id) {
        parts[0] = octets_of(parts[0]);
    }
    return parts;
}

output::output(int descriptor) : descriptor_(descriptor), is_terminal_(isatty(descriptor) != 0) {}

void output::write(const std::string &octets) {
    waiting_ += octets;
    if (is_terminal_ || waiting_.size() >= block) {
        flush();
    }
}

void output::flush() {
    size_t written = 0;
    while (written < waiting_.size()) {
        const ssize_t count = ::write(descriptor_, waiting_.data() + written, waiting_.size() - written);
        if (count >= 0) {
            written += static_cast<size_t>(count);
        } else if (errno == EPIPE) {
            // Nobody reads on: the command ends as others do, and without a word.
            signal(SIGPIPE, SIG_DFL);
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, SIGPIPE);
            pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
            raise(SIGPIPE);
        } else if (errno == EIO && is_terminal_ && interrupts::hang_up()) {
            break;
        } else if (errno == EAGAIN) {
            pollfd room{descriptor_, POLLOUT, 0};
            poll(&room, 1, -1);
        } else if (errno != EINTR) {
            throw failure(status::other, fmt::format("cannot write: {}", std::strerror(errno)));
        }
    }
    waiting_.clear();
}

bool input::has_piece() const {
    if (is_whole()) {
        return has_ended_ && !whole_is_taken_;
    }
    const size_t found = octets_.find(delimiter(), std::max(begin_, searched_));
    searched_ = std::min(found, octets_.size());
    return found != std::string::npos || (has_ended_ && begin_ < octets_.size());
}

std::string input::take_piece() {
    if (is_whole()) {
        whole_is_taken_ = true;
        return std::move(octets_);
    }
    const size_t end = std::min(octets_.find(delimiter(), std::max(begin_, searched_)), octets_.size());
    std::string piece = octets_.substr(begin_, end - begin_);
    begin_ = std::min(end + 1, octets_.size());
    return piece;
}

void input::read_more() {
    octets_.erase(0, begin_);
    searched_ -= std::min(searched_, begin_);
    begin_ = 0;
    std::array<char, block> buffer;
    const ssize_t count = read(descriptor_, buffer.data(), buffer.size());
    if (count > 0) {
        octets_.append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        has_ended_ = true;
    }
}

}  // namespace command
