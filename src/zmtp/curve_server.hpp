// The server of a CURVE handshake.
//
// Judged:   behind INITIATE, by C. Without a handler every client that knows S is let in, unless
//           ZMQ_ZAP_ENFORCE_DOMAIN says otherwise.
// Limits:   until a client has come back with its cookie the server keeps the cookie's key for it,
//           and no key of either side. That key is used once, within a minute: an old conversation,
//           played again on another connection, meets another key.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "zmtp/curve_handshake.hpp"
#include "zmtp/mechanism.hpp"

namespace zlink::curve {

class server final : public mechanism {
public:
    static constexpr std::chrono::seconds cookie_life{60};

    /// Both must outlive it. Throws bad_alloc.
    server(const settings &options, const random_octets &random) : options_(options), random_(random) {}

    std::string_view name() const noexcept override { return "CURVE"; }
    bool as_server() const noexcept override { return true; }
    outcome start(std::vector<std::uint8_t> &) override { return {}; }
    outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) override;
    effort effort_for(const command &received) const noexcept override;
    credentials shown() const override;
    std::unique_ptr<curve_session> take_session() override { return std::move(session_); }

protected:
    outcome go_on(peer_info &info, std::vector<std::uint8_t> &out) override;
    bool needs_handler() const noexcept override {
        return options_.zap_enforce_domain && !options_.zap_domain.empty();
    }

private:
    outcome on_hello(byte_span data, std::vector<std::uint8_t> &out);
    outcome welcome(byte_span their_key, const curve_secret_key &with_client, std::vector<std::uint8_t> &out);
    outcome on_initiate(byte_span data);
    outcome take_vouch(byte_span own_secret, byte_span their_key) const;

    const settings &options_;
    const random_octets &random_;
    enum class word : std::uint8_t { hello, initiate, none } awaits_ = word::hello;
    curve_secret_key cookie_key_;
    time_point welcomed_{};
    std::uint64_t last_received_ = 0;
    std::vector<std::uint8_t> shown_;  // what the box of INITIATE held, until the verdict
    std::unique_ptr<curve_session> session_;
};

}  // namespace zlink::curve
