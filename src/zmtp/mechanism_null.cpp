// The NULL mechanism: each side sends READY at once and waits for the other's. One that has a
// domain has its peer judged first.
//
// Wire:     RFC 23/ZMTP 3.1, "The NULL Security Mechanism". The order of the two READY commands
//           does not matter.
#include "zmtp/mechanism.hpp"

namespace zlink {

namespace {

class mechanism_null final : public mechanism {
public:
    explicit mechanism_null(const settings &options) noexcept : options_(options) {}

    std::string_view name() const noexcept override { return "NULL"; }
    bool as_server() const noexcept override { return false; }

    outcome start(std::vector<std::uint8_t> &out) override {
        return options_.zap_domain.empty() ? announce(out) : outcome{progress::waiting};
    }

    outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) override {
        if (received.name == command_name::ready)
            return accept_properties(received.data, options_, info, out);
        if (received.name == command_name::error)
            return judge_error(received.data);
        return fail(protocol_errors::unexpected_command);
    }

protected:
    outcome go_on(peer_info &, std::vector<std::uint8_t> &out) override { return announce(out); }
    bool needs_handler() const noexcept override { return options_.zap_enforce_domain; }

private:
    outcome announce(std::vector<std::uint8_t> &out) const {
        std::vector<std::uint8_t> properties;
        append_own_properties(properties, options_);
        append_command(out, command_name::ready, properties);
        return {};
    }

    const settings &options_;
};

}  // namespace

std::unique_ptr<mechanism> make_mechanism_null(const settings &options) {
    return std::make_unique<mechanism_null>(options);
}

}  // namespace zlink
