// The HTTP that a WebSocket begins with: a request to upgrade the connection, and the answer. Pure.
//
// Flow:     `http_head` collects what comes up to the empty line; then judge_request() or
//           judge_answer() says what it is worth.
// Wire:     RFC 6455, section 4; RFC 9112. Forms that HTTP leaves to choice are refused: lines that
//           go on in the next one, a lone CR or LF, octets that are neither printable nor ASCII,
//           and a body.
// Limits:   8 KiB and 100 fields; a head that cannot become one is refused on the octet that shows
//           it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/web_place.hpp"

namespace zlink {

namespace http_status {
constexpr int switching_protocols = 101;
constexpr int bad_request = 400;
constexpr int forbidden = 403;
constexpr int not_found = 404;
constexpr int method_not_allowed = 405;
constexpr int upgrade_required = 426;
constexpr int too_large = 431;
}  // namespace http_status

class http_head {
public:
    static constexpr std::size_t most_octets = 8 * 1024;
    static constexpr std::size_t most_fields = 100;

    enum class state { unfinished, whole, refused };

    /// Returns how many of the octets belong to it. Throws bad_alloc.
    std::size_t take(byte_span in);
    state status() const noexcept { return state_; }
    /// The reason for refusing it.
    int refusal() const noexcept { return refusal_; }
    /// The octets of a whole one, with the empty line.
    std::string_view text() const noexcept { return text_; }

private:
    bool accepts(std::uint8_t octet) noexcept;
    void refuse(int why) noexcept {
        state_ = state::refused;
        refusal_ = why;
    }

    std::string text_;
    std::size_t lines_ = 0;        // that have ended
    std::size_t line_octets_ = 0;  // of the one under way
    bool expects_line_feed_ = false;
    state state_ = state::unfinished;
    int refusal_ = 0;
};

/// Sub-protocols, the one liked best first. None: the two sides talk without.
using web_protocols = std::span<const std::string>;

/// Whether both can stand in a request as they are.
bool is_sound(const web_place &place, std::string_view origin) noexcept;
/// `key`: of 16 random octets, in base64.
std::string make_request(const web_place &place, std::string_view origin, std::string_view key,
                         web_protocols offered);

struct request_judgement {
    int status = http_status::switching_protocols;
    std::string_view why{};  // it is refused, for people to read
    std::string key{};       // and
    std::string protocol{};  // the one chosen, of a good one
};
/// `path`: exactly that of the request, behind which a query does not matter. `origins`: those of
/// web pages that may connect, separated by commas; empty: all. A client that names none is no web
/// page. Of what the client offers, the first that is `supported` is chosen.
request_judgement judge_request(std::string_view head, std::string_view path, std::string_view origins,
                                web_protocols supported);

std::string make_answer(std::string_view key, std::string_view protocol);
std::string make_refusal(int status, std::string_view why);

struct answer_judgement {
    bool is_good = false;
    std::string protocol{};  // the one chosen
    int status = 0;          // that it has, where it is an answer of HTTP/1.1
};
/// `key` and `offered`: of the request.
answer_judgement judge_answer(std::string_view head, std::string_view key, web_protocols offered);

/// New for each connection.
std::string make_web_key();

}  // namespace zlink
