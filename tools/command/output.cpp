#include "output.hpp"

#include "interrupts.hpp"
#include "msgpack.hpp"
#include "socket_options.hpp"
#include "text.hpp"
#include "wall_clock.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <span>

namespace command {

namespace {

constexpr size_t block = 65536;

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

bool is_text(const message &got, size_t first) {
    return std::all_of(got.parts.begin() + static_cast<long>(std::min(first, got.parts.size())),
                       got.parts.end(), [](const std::string &part) { return is_utf8(part); });
}

/// Writes the pairs of an object of JSON. Parts that are no text are in base64.
class json_pairs {
public:
    explicit json_pairs(bool is_text) : is_text_(is_text) {}
    void begin(size_t) { text_ += '{'; }
    void number(const char *key, double value) {
        put_key(key);
        text_ += fmt::format("{:.6f}", value);
    }
    void text(const char *key, const std::string &value) {
        put_key(key);
        text_ += json_string(value);
    }
    void part(const char *key, const std::string &octets) {
        put_key(key);
        put(octets);
    }
    void parts(const char *key, std::span<const std::string> all) {
        put_key(key);
        text_ += '[';
        for (const std::string &each : all) {
            text_ += &each == all.data() ? "" : ",";
            put(each);
        }
        text_ += ']';
    }
    const char *encoding() const { return is_text_ ? "utf8" : "base64"; }
    std::string end() { return text_ + '}'; }

private:
    void put_key(const char *key) { text_ += fmt::format("{}\"{}\":", text_.size() > 1 ? "," : "", key); }
    void put(const std::string &part) { text_ += json_string(is_text_ ? part : to_base64(part)); }

    const bool is_text_;
    std::string text_;
};

/// Writes the pairs of a map of MessagePack. Parts that are no text are binary.
class msgpack_pairs {
public:
    explicit msgpack_pairs(bool is_text) : is_text_(is_text) {}
    void begin(size_t pairs) { to_.map(pairs); }
    void number(const char *key, double value) {
        to_.text(key);
        to_.number(value);
    }
    void text(const char *key, const std::string &value) {
        to_.text(key);
        to_.text(value);
    }
    void part(const char *key, const std::string &octets) {
        to_.text(key);
        put(octets);
    }
    void parts(const char *key, std::span<const std::string> all) {
        to_.text(key);
        to_.list(all.size());
        for (const std::string &each : all) {
            put(each);
        }
    }
    const char *encoding() const { return is_text_ ? "utf8" : "binary"; }
    std::string end() { return octets_; }

private:
    void put(const std::string &part) { is_text_ ? to_.text(part) : to_.binary(part); }

    const bool is_text_;
    std::string octets_;
    msgpack_writer to_{octets_};
};

/// The message as an object whose keys stand here, in their order.
template <class Pairs>
std::string as_object(const message &got, const format_flags &flags) {
    const size_t first = flags.has_id ? 1 : 0;
    const bool has_id = flags.has_id && !got.parts.empty();
    const bool has_topic = flags.has_topic && got.parts.size() > first;
    Pairs to(is_text(got, first));
    to.begin(size_t{3} + !got.endpoint.empty() + !got.peer_address.empty() + has_id + has_topic);
    to.number("ts", seconds_now());
    if (!got.endpoint.empty()) {
        to.text("ep", got.endpoint);
    }
    if (!got.peer_address.empty()) {
        to.text("peer", got.peer_address);
    }
    if (has_id) {
        to.text("id", id_text(got.parts[0]));
    }
    if (has_topic) {
        to.part("topic", got.parts[first]);
    }
    to.parts("parts", std::span(got.parts).subspan(std::min(first, got.parts.size())));
    to.text("enc", to.encoding());
    return to.end();
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

/// A ROUTER is told the routing id beside the parts, or as the first of them.
std::vector<std::string> parts_of_object(told_message told, const format_flags &flags) {
    if (flags.has_id && told.id) {
        told.parts.insert(told.parts.begin(), octets_of(*told.id));
    }
    return std::move(told.parts);
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

/// Flags that msgpack has no use for are no flags to be passed over.
void check_format_flags(const format_flags &flags) {
    const bool writes = flags.kind == format_kind::msgpack;
    if (writes && !flags.custom.empty()) {
        throw CLI::ValidationError("--template", "is another form of what is written than msgpack");
    }
    if (flags.is_nul_ended && writes && flags.input_kind.value_or(flags.kind) == format_kind::msgpack) {
        throw CLI::ValidationError("--null", "is not for msgpack, whose messages end by themselves");
    }
}

}  // namespace

void add_format_flags(CLI::App &app, format_flags &flags, bool has_output) {
    const std::map<std::string, format_kind> kinds{
        {"raw", format_kind::raw},        {"line", format_kind::line}, {"quoted", format_kind::quoted},
        {"hex", format_kind::hex},        {"json", format_kind::json}, {"jsonl", format_kind::json},
        {"msgpack", format_kind::msgpack}};
    const auto add = [&](const char *names, const char *help, std::function<void(format_kind)> set) {
        app.add_option_function<std::string>(
               names, [set, kinds](const std::string &name) { set(kinds.at(name)); }, help)
            ->check(CLI::IsMember({"raw", "line", "quoted", "hex", "json", "jsonl", "msgpack"}))
            ->type_name("NAME");
    };
    add("-f,--format",
        "How messages look: raw, line (the default), quoted, hex, json (or jsonl: a line each), msgpack",
        [&flags](format_kind kind) { flags.kind = kind; });
    add("--input", "How those look that are sent, of stdin and --message; as --format, unless it is set",
        [&flags](format_kind kind) { flags.input_kind = kind; });
    app.add_flag("-0,--null", flags.is_nul_ended, "Messages end with a NUL, not with a newline");
    app.parse_complete_callback([&flags] { check_format_flags(flags); });
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
        text = as_object<json_pairs>(got, flags);
    } else if (flags.kind == format_kind::msgpack) {
        return as_object<msgpack_pairs>(got, flags);
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
    switch (flags.input_kind.value_or(flags.kind)) {
    case format_kind::json:
        return parts_of_object(message_of_json(piece), flags);
    case format_kind::msgpack:
        return parts_of_object(message_of_msgpack(piece), flags);
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

std::vector<std::string> parts_of_argument(const std::string &text, const format_flags &given) {
    format_flags flags = given;
    const bool is_object = text.find_first_not_of(" \t") == text.find('{') && text.find('{') != text.npos;
    const bool is_plain =
        flags.kind == format_kind::msgpack || (flags.kind == format_kind::json && !is_object);
    if (is_plain && !flags.input_kind) {
        flags.input_kind = format_kind::line;
    }
    return parts_of_input(text, flags);
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
    if (kind() == format_kind::msgpack) {
        return begin_ < octets_.size() && (has_ended_ || size_of_msgpack(rest()));
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
    if (kind() == format_kind::msgpack) {
        std::string object(rest().substr(0, size_of_msgpack(rest()).value_or(octets_.size())));
        begin_ += object.size();
        return object;
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
