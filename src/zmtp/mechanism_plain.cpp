// The PLAIN mechanism: the client shows a user name and a password in clear, and the server has
// somebody judge them.
//
// Wire:     RFC 24/ZMTP-PLAIN. Client: HELLO | server: WELCOME | client: INITIATE | server: READY,
//           or ERROR instead of either of the server's.
//           HELLO is   name-size:1 | name | password-size:1 | password. INITIATE and READY hold
//                      property lists.
// Judged:   behind HELLO. Without a handler nobody is let in.
#include "zmtp/mechanism.hpp"

#include <cstring>

namespace zlink {

namespace {

/// Takes a text behind its size of one octet; false when it is not all there.
bool take_text(byte_span &from, secret &out) {
    if (from.empty() || from.size() - 1 < from.front())
        return false;
    out = as_text(from.subspan(1, from.front()));
    from = from.subspan(std::size_t{1} + from.front());
    return true;
}

void append_text(std::vector<std::uint8_t> &out, std::string_view text) {
    out.push_back(static_cast<std::uint8_t>(text.size()));
    out.insert(out.end(), text.begin(), text.end());
}

class plain : public mechanism {
public:
    std::string_view name() const noexcept override { return "PLAIN"; }

protected:
    explicit plain(const settings &options) noexcept : options_(options) {}

    void say(std::string_view command, std::vector<std::uint8_t> &out) const {
        std::vector<std::uint8_t> properties;
        append_own_properties(properties, options_);
        append_command(out, command, properties);
    }

    const settings &options_;
};

class plain_client final : public plain {
public:
    explicit plain_client(const settings &options) noexcept : plain(options) {}

    bool as_server() const noexcept override { return false; }

    outcome start(std::vector<std::uint8_t> &out) override {
        constexpr std::size_t most_octets = 2 * 256;
        std::vector<std::uint8_t> shown;
        shown.reserve(most_octets);  // no part of it stays where a smaller one stood
        append_text(shown, options_.plain_username);
        append_text(shown, options_.plain_password);
        append_command(out, command_name::hello, shown);
        ::explicit_bzero(shown.data(), shown.size());
        return {};
    }

    outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) override {
        if (received.name == command_name::error)
            return judge_error(received.data);
        if (received.name == command_name::welcome && awaits_ == answer::welcome) {
            if (!received.data.empty())
                return fail(protocol_errors::malformed_welcome);
            awaits_ = answer::ready;
            say(command_name::initiate, out);
            return {};
        }
        if (received.name == command_name::ready && awaits_ == answer::ready)
            return accept_properties(received.data, options_, info, out);
        return fail(protocol_errors::unexpected_command);
    }

private:
    enum class answer { welcome, ready } awaits_ = answer::welcome;
};

class plain_server final : public plain {
public:
    explicit plain_server(const settings &options) noexcept : plain(options) {}

    bool as_server() const noexcept override { return true; }

    outcome start(std::vector<std::uint8_t> &) override { return {}; }

    outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) override {
        if (received.name == command_name::hello && awaits_ == word::hello) {
            byte_span rest = received.data;
            shown_.resize(2);
            if (!take_text(rest, shown_[0]) || !take_text(rest, shown_[1]) || !rest.empty())
                return fail(protocol_errors::malformed_hello);
            return {progress::waiting};
        }
        if (received.name == command_name::initiate && awaits_ == word::initiate) {
            const outcome accepted = accept_properties(received.data, options_, info, out);
            if (accepted.status == progress::complete)
                say(command_name::ready, out);
            return accepted;
        }
        return fail(protocol_errors::unexpected_command);
    }

    credentials shown() const override { return {std::string(name()), shown_}; }

protected:
    outcome go_on(peer_info &, std::vector<std::uint8_t> &out) override {
        shown_.clear();
        awaits_ = word::initiate;
        append_command(out, command_name::welcome, {});
        return {};
    }

private:
    enum class word { hello, initiate } awaits_ = word::hello;
    std::vector<secret> shown_;  // user name and password, until the verdict
};

}  // namespace

std::unique_ptr<mechanism> make_mechanism_plain(const settings &options) {
    if (options.plain_server)
        return std::make_unique<plain_server>(options);
    return std::make_unique<plain_client>(options);
}

}  // namespace zlink
