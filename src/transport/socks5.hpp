// The conversation of a client with a SOCKS proxy before a connection goes through it, as a state
// machine. Pure.
//
// Flow:     write output() out; read at most wanted() octets (what follows is the far side's) and
//           hand them to receive(); until that says opened or failed.
// Wire:     RFC 1928, version 5, CONNECT; RFC 1929 for user name and password.
// Limits:   262 octets are the most that is wanted at once. Only construction allocates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/error.hpp"

namespace zlink {

class socks5_conversation {
public:
    static constexpr std::size_t longest_text = 255;  // a name, a user, a password
    static constexpr std::size_t most_octets_wanted = 1 + longest_text + 2 + 4;

    /// Asks for a connection to `host`, a numeric address or a name for the proxy to resolve.
    /// Without a user none is offered. No text may be longer than longest_text. Throws bad_alloc.
    socks5_conversation(std::string_view host, std::uint16_t port, std::string_view user,
                        std::string_view password);
    socks5_conversation(const socks5_conversation &) = delete;
    socks5_conversation &operator=(const socks5_conversation &) = delete;

    /// The octets to be written now.
    byte_span output() const noexcept { return output_; }
    void note_written(std::size_t octets) noexcept { output_ = output_.subspan(octets); }
    std::size_t wanted() const noexcept { return wanted_ - have_; }

    enum class progress { unfinished, opened, failed };
    /// Takes octets, at most wanted().
    progress receive(byte_span octets) noexcept;
    /// Why the proxy opens no connection.
    error failure() const noexcept { return failure_; }

private:
    enum class stage { choice, verdict, reply_head, reply_rest, over };

    progress next() noexcept;
    progress on_choice() noexcept;
    progress on_reply_head() noexcept;
    progress ask(stage then, const std::string &text, std::size_t wanted) noexcept;
    progress fail(error why) noexcept;

    const std::string methods_;
    const std::string credentials_;  // empty: none were offered
    const std::string request_;
    byte_span output_;
    stage stage_ = stage::choice;
    std::array<std::uint8_t, most_octets_wanted> in_;
    std::size_t have_ = 0;
    std::size_t wanted_ = 2;
    error failure_ = error::none;
};

}  // namespace zlink
