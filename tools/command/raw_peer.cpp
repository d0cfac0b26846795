#include "raw_peer.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace command {

namespace {

constexpr size_t largest_command = 65536;
constexpr size_t largest_message = size_t{64} << 20;
constexpr unsigned char flag_more = 1, flag_long = 2, flag_command = 4;

std::string guess_of(const std::string &octets) {
    if (octets.rfind("HTTP", 0) == 0) {
        return "the peer speaks HTTP, not ZMTP";
    }
    if (octets.rfind("SSH-", 0) == 0) {
        return "the peer speaks SSH, not ZMTP";
    }
    if (octets[0] == 0x15 || octets[0] == 0x16) {
        return "the peer speaks TLS, not ZMTP";
    }
    return fmt::format("the peer does not speak ZMTP: it begins with \"{}\"", escaped(octets));
}

std::uint64_t big_endian(const std::string &octets) {
    std::uint64_t value = 0;
    for (const char c : octets) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

std::string frame_of(unsigned char flags, const std::string &body) {
    return std::string{static_cast<char>(flags), static_cast<char>(body.size())} + body;
}

}  // namespace

std::string raw_peer::read(size_t count) {
    std::string octets;
    while (octets.size() < count) {
        const std::string more = stream_.read_some(count - octets.size(), deadline_);
        if (more.empty()) {
            throw failure(status::peer_gone, "the peer has closed the connection");
        }
        octets += more;
    }
    return octets;
}

greeting raw_peer::greet() {
    using namespace std::string_literals;
    write("\xff\0\0\0\0\0\0\0\0\x7f\3"s);
    const std::string first = read(1);
    if (first[0] != '\xff') {
        throw failure(status::protocol,
                      guess_of(first + (first[0] == 'H' || first[0] == 'S' ? read(3) : "")));
    }
    const std::string signature = read(9), version = read(1);
    if ((signature.back() & 1) == 0) {
        throw failure(status::protocol, "the peer does not speak ZMTP: its greeting has no signature");
    }
    greeting said;
    said.major = static_cast<unsigned char>(version[0]);
    if (said.major < 3) {
        return said;
    }
    said.minor = static_cast<unsigned char>(read(1)[0]);
    answers_pings_ = said.major > 3 || said.minor > 0;
    const std::string mechanism = read(20);
    said.mechanism = mechanism.substr(0, mechanism.find('\0'));
    said.is_server = read(1)[0] != 0;
    read(31);
    if (said.mechanism == "NULL") {
        write("\1NULL"s + std::string(16 + 1 + 31, '\0'));
    }
    return said;
}

raw_peer::frame raw_peer::read_frame() {
    const auto flags = static_cast<unsigned char>(read(1)[0]);
    if ((flags & ~(flag_more | flag_long | flag_command)) != 0) {
        throw failure(status::protocol, "the peer has sent no frame of ZMTP");
    }
    const std::uint64_t size = big_endian(read((flags & flag_long) != 0 ? 8 : 1));
    const bool is_command = (flags & flag_command) != 0;
    if (size > (is_command ? largest_command : largest_message)) {
        throw failure(status::protocol, fmt::format("the peer has announced a frame of {} octets", size));
    }
    return {is_command, (flags & flag_more) != 0, read(size)};
}

std::map<std::string, std::string> raw_peer::read_ready() {
    const frame got = read_frame();
    const std::string &body = got.body;
    if (got.is_command && body.rfind("\5ERROR", 0) == 0 && body.size() > 7) {
        throw failure(status::refused, "the peer refuses: " + escaped(body.substr(7)));
    }
    if (!got.is_command || body.rfind("\5READY", 0) != 0) {
        throw failure(status::protocol, "the peer has sent something else than READY");
    }
    std::map<std::string, std::string> properties;
    for (size_t at = 6; at < body.size();) {
        const size_t name_size = static_cast<unsigned char>(body[at]);
        const size_t value_at = at + 1 + name_size + 4;
        if (value_at > body.size()) {
            throw failure(status::protocol, "the peer has sent a malformed READY");
        }
        const std::uint64_t value_size = big_endian(body.substr(value_at - 4, 4));
        if (value_size > body.size() - value_at) {
            throw failure(status::protocol, "the peer has sent a malformed READY");
        }
        properties[body.substr(at + 1, name_size)] = body.substr(value_at, value_size);
        at = value_at + value_size;
    }
    return properties;
}

void raw_peer::send_ready(const std::string &type) {
    using namespace std::string_literals;
    write(frame_of(flag_command, "\5READY\x0bSocket-Type\0\0\0"s + static_cast<char>(type.size()) + type));
}

void raw_peer::finish(const std::string &type) {
    constexpr std::chrono::seconds patience(1);
    deadline_ = std::min(deadline_, clock::now() + patience);
    try {
        send_ready(type);
        stream_.end_writing() ? wait_until_closed() : wait_for_pong();
    } catch (const failure &) {
        // It has told all that was asked for, and may go as it likes.
    }
}

/// Closing while octets of the peer are unread would reset the connection, and take READY along.
void raw_peer::wait_until_closed() {
    for (;;) {
        read(1);
    }
}

/// A peer that answers has read READY before.
void raw_peer::wait_for_pong() {
    using namespace std::string_literals;
    if (!answers_pings_) {
        return;
    }
    write(frame_of(flag_command, "\4PING\0\0"s));
    for (frame got; !got.is_command || got.body.rfind("\4PONG", 0) != 0;) {
        got = read_frame();
    }
}

void raw_peer::subscribe_to_all() { write(frame_of(0, "\1")); }

std::string raw_peer::read_message(size_t &size, size_t &parts) {
    std::string first;
    for (bool more = true; more;) {
        frame got = read_frame();
        if (got.is_command) {
            continue;
        }
        size += got.body.size();
        more = got.has_more;
        if (parts++ == 0) {
            first = std::move(got.body);
        }
    }
    return first;
}

}  // namespace command
