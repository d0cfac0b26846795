// The client's half of the CURVE handshake. See curve_client.hpp.
//
// Map: HELLO; WELCOME and INITIATE; READY.
#include "zmtp/curve_client.hpp"

#include <algorithm>

namespace zlink::curve {

namespace {

constexpr std::uint64_t nonce_of_hello = 1;
constexpr std::uint64_t nonce_of_initiate = 2;

}  // namespace

mechanism::outcome client::receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) {
    outcome result = take(received, info, out);
    if (result.status == progress::failed) {
        own_secret_.wipe();
        with_server_.wipe();
        session_.reset();
    }
    return result;
}

mechanism::outcome client::take(const command &received, peer_info &info, std::vector<std::uint8_t> &out) {
    if (received.name == command_name::error) {
        // It is in no box: anybody on the way may have said it, who must not be able to keep this
        // side away for good.
        outcome said = judge_error(received.data);
        said.may_retry = true;
        return said;
    }
    if (received.name == command_name::welcome && awaits_ == answer::welcome) {
        awaits_ = answer::ready;
        return on_welcome(received.data, out);
    }
    if (received.name == command_name::ready && awaits_ == answer::ready) {
        awaits_ = answer::none;
        return on_ready(received.data, info);
    }
    return fail(protocol_errors::unexpected_command);
}

// ---- HELLO ----

mechanism::outcome client::start(std::vector<std::uint8_t> &out) {
    if (!make_pair(random_, own_key_, own_secret_))
        return fail_without_random();
    if (!agree(own_secret_, key_of(options_.curve_server_key), with_server_))
        return {progress::failed, failure_kind::protocol, protocol_errors::key_exchange, false,
                "what stands in ZMQ_CURVE_SERVERKEY is no server's key"};
    constexpr std::uint8_t signature[signature_size] = {};
    std::uint8_t data[hello_size] = {1, 0};
    std::uint8_t *const number = std::ranges::copy(own_key_, data + version_size + padding_size).out;
    put_u64(number, nonce_of_hello);
    seal(signature, make_nonce(prefix::hello, nonce_of_hello), with_server_, number + short_nonce_size);
    append_command(out, command_name::hello, data);
    return {};
}

// ---- WELCOME and INITIATE ----

mechanism::outcome client::on_welcome(byte_span data, std::vector<std::uint8_t> &out) {
    if (data.size() != welcome_size)
        return fail(protocol_errors::malformed_welcome);
    std::uint8_t text[key_size + cookie_size];
    if (!open(data.subspan(long_nonce_size), make_nonce(prefix::welcome, data.first(long_nonce_size)),
              with_server_, text))
        return fail(protocol_errors::cryptographic);
    const outcome result = initiate(byte_span(text).subspan(key_size), byte_span(text).first(key_size), out);
    own_secret_.wipe();
    with_server_.wipe();
    return result;
}

mechanism::outcome client::initiate(byte_span cookie, byte_span their_key, std::vector<std::uint8_t> &out) {
    auto session = std::make_unique<curve_session>();
    curve_secret_key vouching;
    std::uint8_t vouch_nonce[long_nonce_size];
    if (!agree(own_secret_, their_key, session->shared) ||
        !agree(key_of(options_.curve_secret_key), their_key, vouching))
        return fail(protocol_errors::cryptographic);
    if (!random_.draw(vouch_nonce, sizeof vouch_nonce))
        return fail_without_random();

    std::uint8_t vouched[2 * key_size];
    std::ranges::copy(key_of(options_.curve_server_key), std::ranges::copy(own_key_, vouched).out);
    std::vector<std::uint8_t> text(key_size + vouch_size);
    std::uint8_t *const vouch = std::ranges::copy(key_of(options_.curve_public_key), text.data()).out;
    seal(vouched, make_nonce(prefix::vouch, byte_span(vouch_nonce)), vouching,
         std::ranges::copy(vouch_nonce, vouch).out);
    append_properties(text, options_, false);

    std::vector<std::uint8_t> data(cookie_size + short_nonce_size + box_overhead + text.size());
    std::uint8_t *const number = std::ranges::copy(cookie, data.data()).out;
    put_u64(number, nonce_of_initiate);
    seal(text, make_nonce(prefix::initiate, nonce_of_initiate), session->shared, number + short_nonce_size);
    append_command(out, command_name::initiate, data);
    session->last_sent = nonce_of_initiate;
    session_ = std::move(session);
    return {};
}

// ---- READY ----

mechanism::outcome client::on_ready(byte_span data, peer_info &info) {
    if (data.size() < least_ready_size)
        return fail(protocol_errors::malformed_ready);
    const std::uint64_t number = get_u64(data.data());
    std::vector<std::uint8_t> properties(data.size() - least_ready_size);
    if (!open(data.subspan(short_nonce_size), make_nonce(prefix::ready, number), session_->shared,
              properties.data()))
        return fail(protocol_errors::cryptographic);
    session_->last_received = number;
    session_->batches = announces_batches(properties, true);
    std::vector<std::uint8_t> unsaid;  // RFC 26: a client SHALL NOT send ERROR
    return accept_properties(properties, options_, info, unsaid);
}

}  // namespace zlink::curve
