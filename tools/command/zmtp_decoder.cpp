#include "zmtp_decoder.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace command {

namespace {

constexpr size_t most_octets_kept = 1024;  // octets of a command
constexpr size_t greeting3_rest = 53;

std::uint64_t number_of(std::string_view octets) {
    std::uint64_t value = 0;
    for (const char c : octets) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

std::string quoted(std::string_view octets) { return '"' + escaped(octets) + '"'; }

const char *name_of_old_type(unsigned char number) {
    constexpr std::array names{"PAIR",   "PUB",  "SUB",  "REQ",  "REP", "DEALER",
                               "ROUTER", "PULL", "PUSH", "XPUB", "XSUB"};
    return number < names.size() ? names[number] : "of no known type";
}

}  // namespace

void zmtp_decoder::await(step next, size_t need) {
    step_ = next;
    need_ = need;
    held_.clear();
}

void zmtp_decoder::feed(std::string_view octets) {
    while (!octets.empty()) {
        if (step_ == step::lost) {
            // A request for WebSocket, over which PLAIN is spoken.
            is_foreign_ = is_foreign_ && octets.find("ZWS2.0/PLAIN") == std::string_view::npos;
            const bool is_secret = may_be_secret(octets);
            tell_({"octets", is_secret ? "not shown, a password may be among them" : "", octets.size(), false,
                   !is_secret, std::string(octets.substr(0, shown_))});
            return;
        }
        if (step_ == step::body) {
            const size_t count = std::min<std::uint64_t>(left_, octets.size());
            const size_t room = std::max(most_octets_kept, shown_) -
                                std::min(held_.size(), std::max(most_octets_kept, shown_));
            held_.append(octets.substr(0, std::min(count, has_gap_ ? 0 : room)));
            octets.remove_prefix(count);
            left_ -= count;
            if (left_ == 0) {
                end_frame();
            }
            continue;
        }
        const size_t count = std::min(need_ - held_.size(), octets.size());
        held_.append(octets.substr(0, count));
        octets.remove_prefix(count);
        if (held_.size() == need_) {
            advance();
        }
    }
}

/// A password may be anywhere in what cannot be understood, unless this side has said that it has
/// none to show: by its mechanism, its version, or by beginning as no ZMTP does.
bool zmtp_decoder::may_be_secret(std::string_view octets) const {
    const bool has_other_mechanism = !mechanism_.empty() && mechanism_ != "PLAIN";
    const bool has_none = has_other_mechanism || major_ < 3 || is_foreign_;
    return !shows_secrets_ && (!has_none || octets.find("HELLO") != std::string_view::npos);
}

void zmtp_decoder::skip(std::uint64_t count) {
    if (count == 0 || step_ == step::lost) {
        return;
    }
    if (step_ == step::body && count <= left_) {
        has_gap_ = true;
        left_ -= count;
        if (left_ == 0) {
            end_frame();
        }
        return;
    }
    lose(fmt::format("{} octets are missing, and with them where the next frame begins", count));
}

void zmtp_decoder::lose(const std::string &why) {
    tell_({"octets", why, held_.size(), false, false, {}});
    const std::string held = step_ == step::body ? std::string() : held_;
    await(step::lost, 0);
    feed(held);
}

void zmtp_decoder::lose_foreign(const std::string &why) {
    is_foreign_ = true;
    lose("this is no ZMTP: " + why);
}

void zmtp_decoder::end() {
    const bool is_between =
        step_ == step::lost ||
        ((step_ == step::flags || step_ == step::length1 || step_ == step::first) && held_.empty());
    if (!is_between) {
        tell_({"octets",
               step_ == step::body
                   ? fmt::format("ends {} octets before the end of a frame of {}", left_, size_)
                   : "ends within a greeting, or the head of a frame",
               0,
               false,
               false,
               {}});
    }
}

void zmtp_decoder::advance() {
    const auto last = static_cast<unsigned char>(held_.back());
    switch (step_) {
    case step::first:
        // Other protocols seldom have a second octet of 0 or 1, which are the flags of ZMTP 1.0.
        if (static_cast<unsigned char>(held_[0]) != 0xff && held_.size() == 2) {
            const std::uint64_t left = number_of(held_.substr(0, 1)) - 1;
            return held_[0] == 0 || last > 1 ? lose_foreign("it does not begin with 0xff")
                                             : begin_version1(left);
        }
        need_ = last == 0xff ? 10 : 2;
        step_ = last == 0xff ? step::signature : step::first;
        return;
    case step::signature:
        return end_signature(last);
    case step::version:
        return end_version(last);
    case step::greeting2:
        awaits_id_ = true;
        [[fallthrough]];
    case step::greeting3:
        tell_of_greeting();
        return await(step::flags, 1);
    case step::length1:
        if (last == 0xff) {
            return await(step::long_length1, 8);
        }
        [[fallthrough]];
    case step::long_length1:
        size_ = number_of(held_);
        return size_ == 0 ? lose("a frame of ZMTP 1.0 has no room for its flags") : await(step::flags1, 1);
    case step::flags1:
        flags_ = last;
        return last > 1 ? lose(fmt::format("flags 0x{:02x} are of no frame", flags_)) : begin_body(size_ - 1);
    case step::flags:
        flags_ = last;
        if ((flags_ & (major_ == 2 ? ~3U : ~7U)) != 0 || (is_command() && has_more())) {
            return lose(fmt::format("flags 0x{:02x} are of no frame", flags_));
        }
        return await(step::length, (flags_ & 2) != 0 ? 8 : 1);
    case step::length:
        return begin_body(number_of(held_));
    case step::body:
    case step::lost:
        return;
    }
}

/// The octets of a signature are the head of a frame to a peer of ZMTP 1.0: that of a routing id.
void zmtp_decoder::end_signature(unsigned char last) {
    const std::uint64_t size = number_of(std::string_view(held_).substr(1, 8));
    const std::uint64_t left_of_id = size == 0 ? 0 : size - 1;
    if ((last & 1) == 0) {
        return last != 0 || size == 0 ? lose_foreign("it has no signature") : begin_version1(left_of_id);
    }
    size_ = size;
    return major_of_peer_ == 1 ? begin_version1(left_of_id) : await(step::version, 1);
}

void zmtp_decoder::end_version(unsigned char major) {
    const bool is_old = major < 3 || major_of_peer_ == 2;
    if (major < 3) {
        speak(2);
    }
    major_ = is_old ? 2 : major;
    return is_old ? await(step::greeting2, 1) : await(step::greeting3, greeting3_rest);
}

/// The other direction may have said so much already that it is known to be of another version.
void zmtp_decoder::speak(int major) {
    if (other_) {
        other_->follow(major);
    }
}

void zmtp_decoder::follow(int major) {
    major_of_peer_ = major;
    if (major == 1 && step_ == step::version) {
        begin_version1(size_ == 0 ? 0 : size_ - 1);
    } else if (major == 2 && step_ == step::greeting3) {
        const std::string held = held_;
        major_ = 2;
        await(step::greeting2, 1);
        feed(held);
    }
}

/// Behind the head of the first frame, which has so many octets of the routing id.
void zmtp_decoder::begin_version1(std::uint64_t left_of_id) {
    major_ = 1;
    awaits_id_ = true;
    flags_ = 0;
    if (major_of_peer_ != 1) {
        speak(1);
    }
    begin_body(left_of_id);
}

void zmtp_decoder::begin_body(std::uint64_t size) {
    if (size >> 63 != 0) {
        return lose("a frame has a length beyond 2^63");
    }
    size_ = left_ = size;
    has_gap_ = false;
    await(step::body, 0);
    if (size == 0) {
        end_frame();
    }
}

void zmtp_decoder::end_frame() {
    awaits_id_ ? tell_of_id() : is_command() ? tell_of_command() : tell_of_message();
    awaits_id_ = false;
    await(next_frame(), 1);
}

void zmtp_decoder::tell_of_id() {
    const std::string id =
        has_gap_ ? "of which octets are missing" : quoted(std::string_view(held_).substr(0, shown_));
    tell_({"greeting",
           fmt::format("{}routing id {}", major_ == 1 ? "ZMTP 1.0, " : "", id),
           size_,
           false,
           false,
           {}});
}

void zmtp_decoder::tell_of_greeting() {
    if (major_ < 3) {
        type_ = name_of_old_type(static_cast<unsigned char>(held_[0]));
        tell_({"greeting", fmt::format("ZMTP 2.0, Socket-Type {}", type_), 12, false, false, {}});
        return;
    }
    const std::string mechanism = held_.substr(1, 20);
    mechanism_ = mechanism.substr(0, mechanism.find('\0'));
    tell_({"greeting",
           fmt::format("ZMTP {}.{}, mechanism {}{}", major_, static_cast<unsigned char>(held_[0]),
                       escaped(mechanism_), held_[21] != 0 ? ", as server" : ""),
           64,
           false,
           false,
           {}});
}

std::string zmtp_decoder::words_of_plain_hello() const {
    const std::string_view body = std::string_view(held_).substr(6);
    const size_t name_size = body.empty() ? 0 : static_cast<unsigned char>(body[0]);
    if (body.size() < name_size + 2 ||
        body.size() != name_size + 2 + static_cast<unsigned char>(body[name_size + 1])) {
        return "malformed, and not shown";
    }
    const std::string_view password = body.substr(name_size + 2);
    return fmt::format("username {}, password {}", quoted(body.substr(1, name_size)),
                       shows_secrets_ ? quoted(password) : "not shown");
}

std::string zmtp_decoder::words_of_properties(std::string_view list) const {
    std::string words;
    while (!list.empty()) {
        const size_t name_size = static_cast<unsigned char>(list[0]);
        if (list.size() < name_size + 5) {
            return words + (words.empty() ? "" : ", ") + "malformed properties";
        }
        const std::string_view name = list.substr(1, name_size);
        const std::uint64_t value_size = number_of(list.substr(name_size + 1, 4));
        list.remove_prefix(name_size + 5);
        if (value_size > list.size()) {
            return words + (words.empty() ? "" : ", ") + "malformed properties";
        }
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", escaped(name),
                             quoted(list.substr(0, value_size).substr(0, shown_)));
        list.remove_prefix(value_size);
    }
    return words;
}

void zmtp_decoder::tell_of_command() {
    const size_t name_size = held_.empty() ? 0 : static_cast<unsigned char>(held_[0]);
    if (has_gap_ || name_size == 0 || name_size >= held_.size()) {
        tell_({"command",
               has_gap_ ? "of which octets are missing" : "without a name",
               size_,
               false,
               false,
               {}});
        return;
    }
    const std::string name = held_.substr(1, name_size);
    const std::string_view rest = std::string_view(held_).substr(std::min(held_.size(), name_size + 1));
    const bool is_sealed = mechanism_ == "CURVE";
    zmtp_record told{"command", escaped(name), size_, false, false, std::string(rest.substr(0, shown_))};
    if (held_.size() < size_) {
        told.words += ", long";
    } else if (is_sealed && name != "ERROR") {
        told.words += fmt::format(", sealed: {} octets", rest.size());
    } else if (name == "HELLO") {
        told.words += ", " + words_of_plain_hello();
    } else if (name == "READY" || name == "INITIATE") {
        told.words += (rest.empty() ? "" : ": ") + words_of_properties(rest);
        const size_t at = rest.find("Socket-Type");
        if (at != std::string_view::npos && at + 16 <= rest.size()) {
            type_ = rest.substr(at + 15, number_of(rest.substr(at + 11, 4)));
        }
    } else if (name == "PING" && rest.size() >= 2) {
        told.words +=
            fmt::format(", time to live {:.1f} s", static_cast<double>(number_of(rest.substr(0, 2))) / 10);
    } else if (name == "ERROR" && !rest.empty()) {
        told.words += ": " + quoted(rest.substr(1));
    } else if (!rest.empty()) {
        told.has_octets = true;
    }
    tell_(told);
}

void zmtp_decoder::tell_of_message() {
    const bool is_sealed = mechanism_ == "CURVE" && held_.rfind("\7MESSAGE", 0) == 0;
    const bool subscribes = (type_ == "SUB" || type_ == "XSUB") && is_first_part_ && !held_.empty() &&
                            static_cast<unsigned char>(held_[0]) <= 1;
    is_first_part_ = !has_more();
    std::string words = is_sealed                        ? "sealed"
                        : has_gap_                       ? "of which octets are missing"
                        : subscribes && held_[0] == '\1' ? "subscribes"
                        : subscribes                     ? "unsubscribes"
                                                         : "";
    tell_({"message", words, size_, has_more(), !is_sealed && !has_gap_,
           held_.substr(subscribes ? 1 : 0, shown_)});
}

}  // namespace command
