// The request of HTTP that asks for WebSocket, and its answer. See http_upgrade.hpp.
//
// Map: what comes in up to the empty line; lists in fields; requests; answers; keys. Boost.Beast
//      parses, and is known here alone.
#include "zmtp/http_upgrade.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>

#include "core/names.hpp"
#include "core/platform.hpp"
#include "zmtp/base64.hpp"
#include "zmtp/sha1.hpp"

namespace zlink {

namespace http = boost::beast::http;

namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t key_octets = 16;
constexpr std::string_view version = "13";
// RFC 6455, section 1.3.
constexpr std::string_view accept_guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

constexpr bool is_printable(std::uint8_t octet) noexcept { return octet >= 0x20 && octet < 0x7f; }

std::string accept_of(std::string_view key) {
    return to_base64(sha1(as_bytes(std::string(key).append(accept_guid))));
}

/// The first element of a list for which `wanted` says so.
template <class Predicate>
std::optional<std::string_view> find_in_list(std::string_view list, Predicate wanted) {
    for (;;) {
        const std::size_t comma = list.find(',');
        if (const std::string_view one = without_blanks(list.substr(0, comma)); !one.empty() && wanted(one))
            return one;
        if (comma == list.npos)
            return {};
        list.remove_prefix(comma + 1);
    }
}

/// A head with its fields. They may be repeated, and then are one list.
template <bool is_request>
class parsed_head {
public:
    explicit parsed_head(std::string_view text) {
        parser_.header_limit(http_head::most_octets);
        parser_.body_limit(boost::none);  // whether there may be one at all is judged elsewhere
        boost::system::error_code failure;
        parser_.put(boost::beast::net::const_buffer(text.data(), text.size()), failure);
        is_good_ = parser_.is_header_done() && (!failure || failure == http::error::need_more);
    }
    /// One of HTTP 1.1.
    bool is_good() const { return is_good_ && get().version() == 11; }
    bool has_body() const {
        return count("Transfer-Encoding") > 0 ||
               (count("Content-Length") > 0 && value("Content-Length") != "0");
    }
    const http::message<is_request, http::empty_body> &get() const { return parser_.get(); }
    std::size_t count(std::string_view name) const {
        return get().count(boost::beast::string_view(name.data(), name.size()));
    }
    /// The value of the first one, empty where there is none.
    std::string_view value(std::string_view name) const {
        const auto found = get()[boost::beast::string_view(name.data(), name.size())];
        return without_blanks({found.data(), found.size()});
    }
    template <class Predicate>
    std::optional<std::string_view> find(std::string_view name, Predicate wanted) const {
        const auto [begin, end] = get().equal_range(boost::beast::string_view(name.data(), name.size()));
        for (auto each = begin; each != end; ++each)
            if (const auto found = find_in_list({each->value().data(), each->value().size()}, wanted))
                return found;
        return {};
    }
    bool has_token(std::string_view name, std::string_view token) const {
        return find(name, [&](std::string_view one) { return is_same_name(one, token); }).has_value();
    }

private:
    http::parser<is_request, http::empty_body> parser_;
    bool is_good_ = false;
};

}  // namespace

// ---- what comes in ----

std::size_t http_head::take(byte_span in) {
    std::size_t taken = 0;
    while (taken < in.size() && state_ == state::unfinished) {
        const std::uint8_t octet = in[taken++];
        if (!accepts(octet)) {
            refuse(http_status::bad_request);
        } else if (text_.size() == most_octets || lines_ > most_fields + 2) {
            refuse(http_status::too_large);
        } else {
            text_.push_back(static_cast<char>(octet));
        }
    }
    return taken;
}

/// Method and version are words in capitals: what begins otherwise is no HTTP.
bool http_head::accepts(std::uint8_t octet) noexcept {
    if (expects_line_feed_) {
        if (octet != '\n')
            return false;
        expects_line_feed_ = false;
        if (line_octets_ == 0)
            state_ = state::whole;
        ++lines_;
        line_octets_ = 0;
        return true;
    }
    const bool is_at_begin = line_octets_ == 0;
    if (octet == '\r') {
        expects_line_feed_ = true;
        return lines_ > 0 || !is_at_begin;
    }
    ++line_octets_;
    if (is_at_begin && lines_ == 0)
        return octet >= 'A' && octet <= 'Z';
    if (octet == '\t')
        return lines_ > 0 && !is_at_begin;
    return is_printable(octet) && !(is_at_begin && octet == ' ');
}

// ---- requests ----

bool is_sound(const web_place &place, std::string_view origin) noexcept {
    const auto is_word = [](std::string_view text) {
        return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
            return is_printable(static_cast<std::uint8_t>(c)) && c != ' ';
        });
    };
    return is_word(place.host) && is_word(place.path) && place.path.front() == '/' &&
           place.path.find('#') == place.path.npos && (origin.empty() || is_word(origin));
}

// A request that a socket makes is never longer than those that one takes.
constexpr std::size_t most_octets_beside = 512;
static_assert(web_place::most_octets + most_octets_beside <= http_head::most_octets);

std::string make_request(const web_place &place, std::string_view origin, std::string_view key,
                         web_protocols offered) {
    std::string out = "GET ";
    out.append(place.path).append(" HTTP/1.1").append(line_end);
    const auto add = [&](std::string_view name, std::string_view value) {
        out.append(name).append(": ").append(value).append(line_end);
    };
    add("Host", place.host);
    add("Upgrade", "websocket");
    add("Connection", "Upgrade");
    add("Sec-WebSocket-Key", key);
    add("Sec-WebSocket-Version", version);
    std::string list;
    for (const std::string &each : offered)
        list.append(list.empty() ? "" : ",").append(each);
    if (!list.empty())
        add("Sec-WebSocket-Protocol", list);
    if (!origin.empty())
        add("Origin", origin);
    return out.append(line_end);
}

namespace {

/// The part of a request's target that is a path. Servers are also sent the whole address (RFC
/// 9112, section 3.2.2).
std::string_view path_of(std::string_view target) noexcept {
    for (const std::string_view scheme : {"http://", "https://", "ws://", "wss://"}) {
        if (target.size() > scheme.size() && is_same_name(target.substr(0, scheme.size()), scheme)) {
            target.remove_prefix(scheme.size());
            target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
            break;
        }
    }
    target = target.substr(0, target.find('?'));
    return target.empty() ? "/" : target;
}

bool may_come_from(const parsed_head<true> &request, std::string_view origins) {
    if (origins.empty() || request.count("Origin") == 0)
        return true;
    const std::string_view origin = request.value("Origin");
    return request.count("Origin") == 1 &&
           find_in_list(origins, [&](std::string_view one) { return is_same_name(one, origin); });
}

request_judgement refused(int status, std::string_view why) { return {status, why}; }

}  // namespace

request_judgement judge_request(std::string_view head, std::string_view path, std::string_view origins,
                                web_protocols supported) {
    const parsed_head<true> request(head);
    if (!request.is_good())
        return refused(http_status::bad_request, "This is not a request of HTTP/1.1.");
    if (request.get().method() != http::verb::get)
        return refused(http_status::method_not_allowed, "WebSocket connections are made with GET.");
    if (request.has_body())
        return refused(http_status::bad_request, "The request must not have a body.");
    if (request.count("Host") != 1)
        return refused(http_status::bad_request, "The request has to name one Host.");
    if (path_of({request.get().target().data(), request.get().target().size()}) != path_of(path))
        return refused(http_status::not_found, "There is nothing at this path.");
    if (!request.has_token("Upgrade", "websocket") || !request.has_token("Connection", "Upgrade"))
        return refused(http_status::upgrade_required, "Only WebSocket connections are served here.");
    if (request.count("Sec-WebSocket-Version") != 1 || request.value("Sec-WebSocket-Version") != version)
        return refused(http_status::upgrade_required, "WebSocket is spoken here in version 13.");
    const std::string_view key = request.value("Sec-WebSocket-Key");
    if (request.count("Sec-WebSocket-Key") != 1 || !is_base64_of(key, key_octets))
        return refused(http_status::bad_request, "The Sec-WebSocket-Key has to be one of 16 octets.");
    if (!may_come_from(request, origins))
        return refused(http_status::forbidden, "This Origin is not allowed.");
    request_judgement good;
    good.key = key;
    if (supported.empty())
        return good;
    const auto chosen = request.find("Sec-WebSocket-Protocol", [&](std::string_view one) {
        return std::find(supported.begin(), supported.end(), one) != supported.end();
    });
    if (!chosen)
        return refused(http_status::bad_request, "None of the sub-protocols offered is spoken here.");
    good.protocol = *chosen;
    return good;
}

// ---- answers ----

std::string make_answer(std::string_view key, std::string_view protocol) {
    std::string out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    out.append("Sec-WebSocket-Accept: ").append(accept_of(key)).append(line_end);
    if (!protocol.empty())
        out.append("Sec-WebSocket-Protocol: ").append(protocol).append(line_end);
    return out.append(line_end);
}

std::string make_refusal(int status, std::string_view why) {
    const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
    std::string out = "HTTP/1.1 ";
    out.append(std::to_string(status)).append(" ").append(reason.data(), reason.size()).append(line_end);
    const bool has_to_upgrade = status == http_status::upgrade_required;
    out.append("Content-Type: text/plain\r\nConnection: close");
    out.append(has_to_upgrade ? ", Upgrade\r\n" : "\r\n");
    out.append("Content-Length: ").append(std::to_string(why.size() + 1)).append(line_end);
    if (has_to_upgrade)
        out.append("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    if (status == http_status::method_not_allowed)
        out.append("Allow: GET\r\n");
    return out.append(line_end).append(why).append("\n");
}

answer_judgement judge_answer(std::string_view head, std::string_view key, web_protocols offered) {
    const parsed_head<false> answer(head);
    const int status = answer.is_good() ? static_cast<int>(answer.get().result_int()) : 0;
    const answer_judgement bad{.status = status};
    if (status != http_status::switching_protocols || answer.has_body() || answer.count("Upgrade") != 1 ||
        !is_same_name(answer.value("Upgrade"), "websocket") || !answer.has_token("Connection", "Upgrade") ||
        answer.count("Sec-WebSocket-Accept") != 1 || answer.value("Sec-WebSocket-Accept") != accept_of(key) ||
        answer.count("Sec-WebSocket-Extensions"))
        return bad;
    if (answer.count("Sec-WebSocket-Protocol") != (offered.empty() ? 0 : 1))
        return bad;
    const std::string_view protocol = answer.value("Sec-WebSocket-Protocol");
    if (!offered.empty() && std::find(offered.begin(), offered.end(), protocol) == offered.end())
        return bad;
    return {true, std::string(protocol), status};
}

// ---- keys ----

std::string make_web_key() {
    std::array<std::uint8_t, key_octets> octets{};
    // If the system gives none, a key that all know still tells an answer from another protocol's:
    // it keeps no secret.
    (void)platform::draw_secret_octets(octets.data(), octets.size());
    return to_base64(octets);
}

}  // namespace zlink
