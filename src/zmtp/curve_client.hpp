// The client of a CURVE handshake.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "zmtp/curve_handshake.hpp"
#include "zmtp/mechanism.hpp"

namespace zlink::curve {

class client final : public mechanism {
public:
    /// Both must outlive it. Throws bad_alloc.
    client(const settings &options, const random_octets &random) : options_(options), random_(random) {}

    std::string_view name() const noexcept override { return "CURVE"; }
    bool as_server() const noexcept override { return false; }
    outcome start(std::vector<std::uint8_t> &out) override;
    outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) override;
    std::unique_ptr<curve_session> take_session() override { return std::move(session_); }

private:
    outcome take(const command &received, peer_info &info, std::vector<std::uint8_t> &out);
    outcome on_welcome(byte_span data, std::vector<std::uint8_t> &out);
    outcome initiate(byte_span cookie, byte_span their_key, std::vector<std::uint8_t> &out);
    outcome on_ready(byte_span data, peer_info &info);

    const settings &options_;
    const random_octets &random_;
    enum class answer : std::uint8_t { welcome, ready, none } awaits_ = answer::welcome;
    curve_key own_key_{};                     // of this connection
    curve_secret_key own_secret_;             // the same, until INITIATE
    curve_secret_key with_server_;            // what it and the server's long-term key agree on
    std::unique_ptr<curve_session> session_;  // from INITIATE on
};

}  // namespace zlink::curve
