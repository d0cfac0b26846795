// A capture of tcpdump -w: the classic format, and the streams of TCP in it.
//
// Bounds: most_streams, and of each direction most_kept_segments that came before their time.

#include "arguments.hpp"
#include "dump_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

namespace command {

namespace {

constexpr size_t most_streams = 1000;
constexpr size_t most_kept_segments = 64;
constexpr std::uint32_t largest_packet = 1 << 20;

std::uint32_t number_at(std::string_view octets, size_t at, size_t size) {
    std::uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
        value = value << 8 | (at + i < octets.size() ? static_cast<unsigned char>(octets[at + i]) : 0);
    }
    return value;
}

struct tcp_segment {
    std::string from, to;  // address and port
    std::uint32_t sequence = 0;
    bool begins = false, acknowledges = false, ends = false;
    std::uint32_t size = 0;  // of what was sent
    std::string octets;      // what was captured of it
};

std::string shown_address(std::string_view octets, std::uint32_t port) {
    std::string text;
    for (size_t i = 0; i < octets.size(); i += octets.size() == 4 ? 1 : 2) {
        text += octets.size() == 4 ? fmt::format("{}{}", i == 0 ? "" : ".", number_at(octets, i, 1))
                                   : fmt::format("{}{:x}", i == 0 ? "" : ":", number_at(octets, i, 2));
    }
    return octets.size() == 4 ? fmt::format("{}:{}", text, port) : fmt::format("[{}]:{}", text, port);
}

/// The octet where the packet of IP begins; none where the kind of link is not known.
std::optional<size_t> ip_offset(std::uint32_t link, std::string_view packet) {
    switch (link) {
    case 0:    // BSD loopback
    case 108:  // OpenBSD loopback
        return 4;
    case 1: {  // Ethernet, with tags of VLANs
        size_t at = 12;
        while (number_at(packet, at, 2) == 0x8100 || number_at(packet, at, 2) == 0x88a8) {
            at += 4;
        }
        return at + 2;
    }
    case 12:
    case 101:  // raw IP
        return 0;
    case 113:  // Linux cooked
        return 16;
    case 276:  // and its second version
        return 20;
    default:
        return std::nullopt;
    }
}

/// Behind the headers of IPv6, where TCP begins; none where it does not. Of fragments the first one
/// has it.
std::optional<size_t> end_of_head6(std::string_view ip) {
    constexpr int most_headers = 8;
    size_t at = 40;
    std::uint32_t next = number_at(ip, 6, 1);
    for (int i = 0; i < most_headers && next != 6; ++i) {
        const bool is_fragment = next == 44;
        const bool is_known = is_fragment || next == 0 || next == 43 || next == 60;
        if (!is_known || ip.size() < at + 8 || (is_fragment && (number_at(ip, at + 2, 2) & 0xfff8) != 0)) {
            return std::nullopt;
        }
        next = number_at(ip, at, 1);
        at += is_fragment ? 8 : (number_at(ip, at + 1, 1) + 1) * 8;
    }
    return next == 6 ? std::optional(at) : std::nullopt;
}

/// None where it is no segment of TCP. What further fragments of it have is missing.
std::optional<tcp_segment> segment_of(std::string_view ip) {
    const std::uint32_t version = ip.empty() ? 0 : static_cast<unsigned char>(ip[0]) >> 4;
    const bool is_four = version == 4;
    const size_t head = is_four ? (number_at(ip, 0, 1) & 15) * 4 : end_of_head6(ip).value_or(0);
    const bool is_tcp =
        (is_four && number_at(ip, 9, 1) == 6 && (number_at(ip, 6, 2) & 0x1fff) == 0) || version == 6;
    if (!is_tcp || head < 20 || ip.size() < head + 20) {
        return std::nullopt;
    }
    const std::string_view tcp = ip.substr(head);
    const size_t tcp_head = (number_at(tcp, 12, 1) >> 4) * 4;
    // 0 is of a packet that the card was to cut.
    const size_t told =
        is_four ? number_at(ip, 2, 2) : number_at(ip, 4, 2) + (number_at(ip, 4, 2) == 0 ? 0 : 40);
    const size_t whole = told == 0 ? ip.size() : told;
    if (tcp_head < 20 || whole < head + tcp_head) {
        return std::nullopt;
    }
    const size_t address = is_four ? 12 : 8, length = is_four ? 4 : 16;
    const std::uint32_t bits = number_at(tcp, 13, 1);
    tcp_segment made;
    made.from = shown_address(ip.substr(address, length), number_at(tcp, 0, 2));
    made.to = shown_address(ip.substr(address + length, length), number_at(tcp, 2, 2));
    made.sequence = number_at(tcp, 4, 4);
    made.begins = (bits & 2) != 0;
    made.acknowledges = (bits & 16) != 0;
    made.ends = (bits & 5) != 0;
    made.size = static_cast<std::uint32_t>(whole - head - tcp_head);
    made.octets = tcp.size() > tcp_head ? tcp.substr(tcp_head, made.size) : std::string_view();
    return made;
}

/// Puts the segments of one direction in order.
class tcp_direction {
public:
    void take(const tcp_segment &segment, zmtp_decoder &into) {
        const std::uint32_t begin = segment.sequence + (segment.begins ? 1 : 0);
        if (segment.begins && !next_) {
            next_ = begin;
        }
        if (segment.size == 0) {
            return;
        }
        if (!next_) {
            next_ = begin;
            into.lose("the capture begins within the connection");
        }
        const piece known = segment_from(segment, begin);
        const std::uint32_t ahead = begin - *next_;
        if (known.size > 0) {
            early_.try_emplace(base_ + (ahead < (1U << 31) ? ahead : 0), known);
        }
        feed(into, early_.size() > most_kept_segments);
    }

    void end(zmtp_decoder &into) {
        while (!early_.empty()) {
            feed(into, true);
        }
        into.end();
    }

private:
    struct piece {
        std::uint32_t size = 0;
        std::string octets;
    };

    /// Without what is known already.
    piece segment_from(const tcp_segment &segment, std::uint32_t begin) const {
        const std::uint32_t behind = *next_ - begin;
        const std::uint32_t cut = behind < (1U << 31) ? std::min(behind, segment.size) : 0;
        return {segment.size - cut, segment.octets.substr(std::min<size_t>(cut, segment.octets.size()))};
    }

    void feed(zmtp_decoder &into, bool skips) {
        while (!early_.empty() && (early_.begin()->first <= base_ || skips)) {
            const auto first = early_.begin();
            if (first->first > base_) {
                into.skip(first->first - base_);
                advance(first->first - base_);
            }
            const std::uint64_t known = std::min<std::uint64_t>(base_ - first->first, first->second.size);
            const std::string_view octets = first->second.octets;
            const std::string_view rest = octets.substr(std::min<size_t>(known, octets.size()));
            const std::uint64_t left = first->second.size - known;
            into.feed(rest);
            into.skip(left - std::min<std::uint64_t>(left, rest.size()));
            advance(left);
            early_.erase(first);
            skips = false;
        }
    }

    void advance(std::uint64_t count) {
        base_ += count;
        *next_ += static_cast<std::uint32_t>(count);
    }

    std::optional<std::uint32_t> next_;     // the number in the sequence that is due
    std::uint64_t base_ = 0;                // octets before it
    std::map<std::uint64_t, piece> early_;  // by the octets before them
};

struct tcp_stream {
    tcp_stream(const dump_flags &flags, output &to, int number) : shown(flags, to, number) {}
    dumped_connection shown;
    std::string client;
    tcp_direction there, back;
};

/// errno of a stream is whatever came last.
void refuse_what_cannot_be_read(const std::string &path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about {};
    int error = file < 0 || fstat(file, &about) != 0 ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    if (error == 0 && S_ISDIR(about.st_mode)) {
        error = EISDIR;
    }
    if (error != 0) {
        throw failure(status::other, fmt::format("{}: {}", path, std::strerror(error)));
    }
}

class capture {
public:
    explicit capture(const dump_flags &flags) : flags_(flags) {
        refuse_what_cannot_be_read(flags.places[0]);
        file_.open(flags.places[0], std::ios::binary);
        const std::string head = read(24);
        const std::uint32_t magic = number_at(head, 0, 4);
        is_little_ = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
        is_fine_ = magic == 0xa1b23c4d || magic == 0x4d3cb2a1;
        if (head.size() != 24 || (!is_little_ && !is_fine_ && magic != 0xa1b2c3d4)) {
            throw failure(
                status::protocol,
                flags.places[0] + ": this is no capture of the classic format, as tcpdump -w writes it" +
                    (magic == 0x0a0d0d0a ? "; it is a pcapng, which editcap -F pcap turns into one" : ""));
        }
        link_ = number(head, 20) & 0xffff;
        if (!ip_offset(link_, {})) {
            throw failure(status::protocol,
                          fmt::format("{}: its kind of link, {}, is not known here", flags.places[0], link_));
        }
    }

    status run() {
        for (;;) {
            const std::string head = read(16);
            if (head.empty()) {
                break;
            }
            const std::uint32_t size = head.size() == 16 ? number(head, 8) : largest_packet + 1;
            const std::string packet = size <= largest_packet ? read(size) : "";
            if (size > largest_packet || packet.size() != size) {
                end();
                throw failure(status::protocol,
                              flags_.places[0] + ": the capture ends within a packet, or is damaged");
            }
            const double time = number(head, 0) + number(head, 4) / (is_fine_ ? 1e9 : 1e6);
            began_ = began_.value_or(time);
            const size_t at = *ip_offset(link_, packet);
            const auto segment = segment_of(std::string_view(packet).substr(std::min(at, packet.size())));
            if (segment) {
                take(*segment, time - *began_);
            }
        }
        end();
        return status::done;
    }

private:
    std::string read(size_t size) {
        std::string octets(size, '\0');
        file_.read(octets.data(), static_cast<std::streamsize>(size));
        octets.resize(static_cast<size_t>(file_.gcount()));
        return octets;
    }

    std::uint32_t number(const std::string &head, size_t at) const {
        const std::uint32_t value = number_at(head, at, 4);
        return is_little_ ? __builtin_bswap32(value) : value;
    }

    void take(const tcp_segment &segment, double seconds) {
        const std::pair<std::string, std::string> key = std::minmax(segment.from, segment.to);
        auto found = streams_.find(key);
        if (found != streams_.end() && segment.begins && !segment.acknowledges && found->second.has_ended) {
            finish(found->second.stream);
            streams_.erase(found);
            found = streams_.end();
        }
        if (found == streams_.end()) {
            if ((segment.size == 0 && !segment.begins) || streams_.size() >= most_streams) {
                has_left_out_ |= streams_.size() >= most_streams;
                return;
            }
            found = streams_.try_emplace(key, flags_, to_, ++number_).first;
            tcp_stream &made = found->second.stream;
            made.client = segment.begins && segment.acknowledges ? segment.to : segment.from;
            made.shown.at(seconds);
            made.shown.say(fmt::format("{} to {}", made.client,
                                       made.client == segment.from ? segment.to : segment.from));
        }
        tcp_stream &stream = found->second.stream;
        const bool is_back = segment.from != stream.client;
        stream.shown.at(seconds);
        (is_back ? stream.back : stream.there).take(segment, stream.shown.decoder(is_back));
        found->second.has_ended |= segment.ends;
    }

    static void finish(tcp_stream &stream) {
        stream.there.end(stream.shown.decoder(false));
        stream.back.end(stream.shown.decoder(true));
    }

    void end() {
        for (auto &[key, each] : streams_) {
            finish(each.stream);
        }
        if (has_left_out_) {
            complain(fmt::format("more than {} connections: the others are left out", most_streams));
        }
        to_.flush();
    }

    struct known_stream {
        known_stream(const dump_flags &flags, output &to, int number) : stream(flags, to, number) {}
        tcp_stream stream;
        bool has_ended = false;
    };

    const dump_flags &flags_;
    std::ifstream file_;
    output to_;
    bool is_little_ = false, is_fine_ = false, has_left_out_ = false;
    std::uint32_t link_ = 0;
    std::optional<double> began_;
    int number_ = 0;
    std::map<std::pair<std::string, std::string>, known_stream> streams_;
};

}  // namespace

status dump_capture(const dump_flags &flags) { return capture(flags).run(); }

}  // namespace command
