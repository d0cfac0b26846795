// The parts that all mechanisms share: choosing one, and the properties both sides announce.
//
// Map: failures; the choice; what a verdict means; the properties, written and read; what a peer's
// ERROR means.
#include "zmtp/mechanism.hpp"

#include <algorithm>
#include <array>

namespace zlink {

namespace {

constexpr std::size_t max_property_name = 255;

// The name of Identity in the interface.
constexpr std::string_view routing_id_name = "Routing-Id";

// Properties that zlink itself sets of a peer, in whose name a peer cannot speak, and those that
// are for this library alone.
constexpr std::array<std::string_view, 6> own_names = {property_name::user_id, "Peer-Address", "__fd",
                                                       routing_id_name,        batch_property, gap_property};

constexpr std::string_view gaps_heard = "1";

bool announces_routing_id(socket_type type) noexcept {
    return type == socket_type::req || type == socket_type::dealer || type == socket_type::router;
}

bool is_routing_id_of_use(const settings &options, std::string_view peer_type) noexcept {
    return options.type == socket_type::router &&
           (peer_type.empty() || peer_type == "REQ" || peer_type == "DEALER" || peer_type == "ROUTER");
}

mechanism::outcome fail(protocol_error detail) noexcept {
    return {mechanism::progress::failed, failure_kind::protocol, detail};
}

/// Whatever carries the handshake tells these words of it.
mechanism::outcome say(failure_kind failure, protocol_error detail) {
    return {mechanism::progress::failed, failure, detail, true, std::string(describe(failure, detail))};
}

std::string with_article(std::string_view type) {
    return std::string(type.starts_with('X') ? "an " : "a ").append(type);
}

}  // namespace

std::unique_ptr<mechanism> make_mechanism(const settings &options, bool is_server) {
    static_cast<void>(is_server);  // who bound and who is the server are two questions
    switch (options.mechanism) {
    case mechanism_kind::null:
        return make_mechanism_null(options);
    case mechanism_kind::plain:
        return make_mechanism_plain(options);
    case mechanism_kind::curve:
#ifdef ZLINK_WITH_CURVE
        return make_mechanism_curve(options);
#else
        break;
#endif
    case mechanism_kind::gssapi:
        break;
    }
    return nullptr;
}

mechanism::outcome outcome_of(const verdict &by, bool needs_handler) {
    switch (by.what) {
    case verdict::kind::no_handler:
        return needs_handler ? say(failure_kind::no_handler, 0) : mechanism::outcome{};
    case verdict::kind::unanswered:
        return say(failure_kind::no_handler, 0);
    case verdict::kind::unusable:
        return say(failure_kind::protocol, by.detail);
    case verdict::kind::refused:
        return {mechanism::progress::failed, failure_kind::authentication,
                static_cast<protocol_error>(by.status), true,
                "the authentication handler does not accept the peer: " + std::to_string(by.status)};
    case verdict::kind::accepted:
        break;
    }
    return {};
}

mechanism::outcome mechanism::judge(const verdict &by, peer_info &info, std::vector<std::uint8_t> &out) {
    outcome meaning = outcome_of(by, needs_handler());
    if (meaning.status == progress::failed) {
        // RFC 27 has the client try again behind 300: it is not told ERROR, which would be for
        // good.
        if (by.what == verdict::kind::refused && by.status != 300)
            append_error(out, std::to_string(by.status));
        return meaning;
    }
    if (!by.user_id.empty())
        info.add(property_name::user_id, by.user_id);
    for (const auto &[name, value] : by.metadata)
        info.add(name, value);
    return go_on(info, out);
}

void append_own_properties(std::vector<std::uint8_t> &out, const settings &options) {
    append_property(out, property_name::socket_type, as_bytes(socket_type_name(options.type)));
    if (announces_routing_id(options.type))
        append_property(out, property_name::identity, as_bytes(options.routing_id));
    if (options.asks_for_gaps())
        append_property(out, gap_property, as_bytes(gaps_heard));
    for (const auto &[name, value] : options.metadata)
        if (!name.empty() && name.size() <= max_property_name)
            append_property(out, name, as_bytes(value));
}

mechanism::outcome accept_properties(byte_span data, const settings &options, peer_info &info,
                                     std::vector<std::uint8_t> &out) {
    property_list properties;
    if (!parse_properties(data, properties))
        return fail(protocol_errors::invalid_metadata);

    // The routing id goes by two names.
    std::size_t second_name = 0;
    for (const auto &[name, value] : properties)
        if (is_same_name(name, property_name::identity))
            second_name = routing_id_name.size() + value.size();
    info.reserve(properties.size() + 1, data.size() + second_name);
    std::string_view type;
    const byte_span *identity = nullptr;
    for (const auto &[name, value] : properties) {
        if (is_same_name(name, property_name::socket_type)) {
            type = as_text(value);
            if (!is_compatible(options.type, type)) {
                append_error(out, "Incompatible-Socket-Type");
                return {mechanism::progress::failed, failure_kind::protocol,
                        protocol_errors::invalid_metadata, false, words_of_other_type(options.type, type)};
            }
            info.add(property_name::socket_type, type);
        } else if (is_same_name(name, property_name::identity)) {
            if (value.size() > max_routing_id)
                return fail(protocol_errors::invalid_metadata);
            identity = &value;
        } else if (is_same_name(name, gap_property)) {
            info.hears_gaps =
                options.has_subscribers() && !options.keeps_newest() && as_text(value) == gaps_heard;
        } else if (std::none_of(own_names.begin(), own_names.end(),
                                [&name = name](std::string_view own) { return is_same_name(own, name); })) {
            info.add(name, as_text(value));
        }
    }
    if (identity)
        accept_routing_id(as_text(*identity), type, options, info);
    return {mechanism::progress::complete};
}

void accept_routing_id(std::string_view id, std::string_view peer_type, const settings &options,
                       peer_info &info) {
    // Ids that begin with zero are the receiver's own to give: a peer that claims one gets a
    // generated one.
    if (!id.empty() && id.front() != 0 && is_routing_id_of_use(options, peer_type))
        info.routing_id = id;
    // Both names are in use for asking. The type may be one of the properties, which move when one
    // is added.
    info.add(property_name::identity, id);
    info.add(routing_id_name, id);
}

std::string words_of_other_type(socket_type own, std::string_view peer_type) {
    const std::string who = is_socket_type(peer_type) ? with_article(peer_type) : "of an unknown socket type";
    return "the peer is " + who + ", which does not talk to " + with_article(socket_type_name(own));
}

mechanism::outcome judge_error(byte_span data) {
    std::string_view reason;
    if (!parse_error(data, reason))
        return fail(protocol_errors::malformed_error);
    mechanism::outcome result{
        mechanism::progress::failed, failure_kind::peer_error, 0, false,
        reason.empty() ? std::string() : std::string("the peer refuses the connection: ").append(reason)};
    if (reason == "300" || reason == "400" || reason == "500") {
        result.failure = failure_kind::authentication;
        result.detail = static_cast<protocol_error>((reason[0] - '0') * 100);
    }
    return result;
}

}  // namespace zlink
