// The server's half of the CURVE handshake. See curve_server.hpp.
//
// Map: HELLO and WELCOME; INITIATE; the verdict and READY.
#include "zmtp/curve_server.hpp"

#include <algorithm>

namespace zlink::curve {

namespace {

constexpr std::uint8_t version[version_size] = {1, 0};
constexpr std::uint64_t nonce_of_ready = 1;

/// A cookie: what this side does not keep of a connection until the client comes back.
class cookie_text : public arena_octets<2 * key_size> {
public:
    byte_span octets() const noexcept { return {data(), size}; }
    byte_span their_key() const noexcept { return octets().first(key_size); }
    byte_span own_secret() const noexcept { return octets().subspan(key_size); }
};

}  // namespace

mechanism::outcome server::receive(const command &received, peer_info &, std::vector<std::uint8_t> &out) {
    if (received.name == command_name::hello && awaits_ == word::hello) {
        awaits_ = word::initiate;
        return on_hello(received.data, out);
    }
    if (received.name == command_name::initiate && awaits_ == word::initiate) {
        awaits_ = word::none;
        const outcome result = on_initiate(received.data);
        cookie_key_.wipe();
        return result;
    }
    return fail(protocol_errors::unexpected_command);
}

/// A command that is refused by its size, or out of turn, costs nothing.
mechanism::effort server::effort_for(const command &received) const noexcept {
    if (awaits_ == word::hello && received.name == command_name::hello && received.data.size() == hello_size)
        return effort::of_stranger;
    if (awaits_ == word::initiate && received.name == command_name::initiate &&
        received.data.size() >= least_initiate_size)
        return effort::of_guest;
    return effort::little;
}

// ---- HELLO and WELCOME ----

mechanism::outcome server::on_hello(byte_span data, std::vector<std::uint8_t> &out) {
    byte_cursor cursor(data);
    byte_span said_version, padding, their_key, number;
    if (data.size() != hello_size || !cursor.take(version_size, said_version) ||
        !cursor.take(padding_size, padding) || !cursor.take(key_size, their_key) ||
        !cursor.take(short_nonce_size, number))
        return fail(protocol_errors::malformed_hello);
    if (!std::ranges::equal(said_version, version) || !is_zero(padding))
        return fail(protocol_errors::malformed_hello);
    if (is_zero(as_bytes(options_.curve_secret_key)))
        return {progress::failed, failure_kind::protocol, protocol_errors::key_exchange, true,
                "this server has no ZMQ_CURVE_SECRETKEY"};
    curve_secret_key with_client;
    std::uint8_t signature[signature_size];
    last_received_ = get_u64(number.data());
    if (!agree(key_of(options_.curve_secret_key), their_key, with_client) ||
        !open(cursor.rest(), make_nonce(prefix::hello, last_received_), with_client, signature))
        return fail(protocol_errors::cryptographic);
    if (!is_zero(signature))
        return fail(protocol_errors::malformed_hello);
    return welcome(their_key, with_client, out);
}

mechanism::outcome server::welcome(byte_span their_key, const curve_secret_key &with_client,
                                   std::vector<std::uint8_t> &out) {
    curve_key own_key;
    curve_secret_key own_secret;
    std::uint8_t cookie_nonce[long_nonce_size];
    std::uint8_t welcome_nonce[long_nonce_size];
    if (!make_pair(random_, own_key, own_secret) || !random_.draw(cookie_nonce, sizeof cookie_nonce) ||
        !random_.draw(cookie_key_.data(), cookie_key_.size()) ||
        !random_.draw(welcome_nonce, sizeof welcome_nonce))
        return fail_without_random();

    cookie_text kept;
    std::ranges::copy(byte_span(own_secret), std::ranges::copy(their_key, kept.data()).out);
    std::uint8_t text[key_size + cookie_size];
    std::uint8_t *const cookie = std::ranges::copy(own_key, text).out;
    seal(kept.octets(), make_nonce(prefix::cookie, byte_span(cookie_nonce)), cookie_key_,
         std::ranges::copy(cookie_nonce, cookie).out);

    std::uint8_t data[welcome_size];
    seal(text, make_nonce(prefix::welcome, byte_span(welcome_nonce)), with_client,
         std::ranges::copy(welcome_nonce, data).out);
    append_command(out, command_name::welcome, data);
    welcomed_ = now();
    return {};
}

// ---- INITIATE ----

mechanism::outcome server::on_initiate(byte_span data) {
    byte_cursor cursor(data);
    byte_span cookie_nonce, cookie, number;
    if (data.size() < least_initiate_size || !cursor.take(long_nonce_size, cookie_nonce) ||
        !cursor.take(cookie_size - long_nonce_size, cookie) || !cursor.take(short_nonce_size, number))
        return fail(protocol_errors::malformed_initiate);
    const std::uint64_t before = std::exchange(last_received_, get_u64(number.data()));
    if (last_received_ <= before)
        return fail(protocol_errors::invalid_sequence);
    cookie_text kept;
    auto session = std::make_unique<curve_session>();
    shown_.resize(cursor.remaining() - box_overhead);
    if (now() - welcomed_ > cookie_life ||
        !open(cookie, make_nonce(prefix::cookie, cookie_nonce), cookie_key_, kept.data()) ||
        !agree(kept.own_secret(), kept.their_key(), session->shared) ||
        !open(cursor.rest(), make_nonce(prefix::initiate, last_received_), session->shared, shown_.data()))
        return fail(protocol_errors::cryptographic);
    const outcome vouched = take_vouch(kept.own_secret(), kept.their_key());
    if (vouched.status == progress::waiting)
        session_ = std::move(session);
    return vouched;
}

/// The client's long-term key says that the short-term key is its own, and that it is for this
/// server.
mechanism::outcome server::take_vouch(byte_span own_secret, byte_span their_key) const {
    byte_cursor cursor(shown_);
    byte_span long_term, vouch_nonce, vouch;
    std::uint8_t said[2 * key_size];
    curve_secret_key with_long_term;
    if (!cursor.take(key_size, long_term) || !cursor.take(long_nonce_size, vouch_nonce) ||
        !cursor.take(vouch_size - long_nonce_size, vouch) || !agree(own_secret, long_term, with_long_term) ||
        !open(vouch, make_nonce(prefix::vouch, vouch_nonce), with_long_term, said))
        return fail(protocol_errors::cryptographic);
    const bool is_of_this_client = are_same(byte_span(said).first(key_size), their_key);
    const curve_key &own_long_term = options_.curve_secret_key.public_half();
    const bool is_for_this_server =
        !is_zero(own_long_term) && are_same(byte_span(said).subspan(key_size), own_long_term);
    if (!is_of_this_client || !is_for_this_server)
        return fail(protocol_errors::key_exchange);
    return {progress::waiting};
}

// ---- The verdict and READY ----

credentials server::shown() const {
    return {std::string(name()), {secret(as_text(byte_span(shown_).first(key_size)))}};
}

mechanism::outcome server::go_on(peer_info &info, std::vector<std::uint8_t> &out) {
    const byte_span properties = byte_span(shown_).subspan(key_size + vouch_size);
    outcome result = accept_properties(properties, options_, info, out);
    if (result.status != progress::complete) {
        session_.reset();
        return result;
    }
    session_->is_server = true;
    session_->last_sent = nonce_of_ready;
    session_->last_received = last_received_;
    session_->batches = announces_batches(properties, false);

    std::vector<std::uint8_t> text;
    append_properties(text, options_, true);
    std::vector<std::uint8_t> data(least_ready_size + text.size());
    put_u64(data.data(), nonce_of_ready);
    seal(text, make_nonce(prefix::ready, nonce_of_ready), session_->shared, data.data() + short_nonce_size);
    append_command(out, command_name::ready, data);
    return result;
}

}  // namespace zlink::curve
