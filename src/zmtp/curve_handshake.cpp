// The properties that both roles read and write alike; see curve_handshake.hpp.
#include "zmtp/curve_handshake.hpp"

#include <array>

#include "zmtp/mechanism.hpp"

namespace zlink::curve {

namespace {

constexpr std::string_view batches_of(bool is_server) noexcept { return is_server ? "1s" : "1c"; }

}  // namespace

byte_span key_of(std::string_view option) noexcept {
    static constexpr std::array<std::uint8_t, key_size> none{};
    return option.size() == key_size ? as_bytes(option) : byte_span(none);
}

void append_properties(std::vector<std::uint8_t> &out, const settings &options, bool is_server) {
    append_own_properties(out, options);
    append_property(out, batch_property, as_bytes(batches_of(is_server)));
}

bool announces_batches(byte_span properties, bool is_server) {
    property_list all;
    if (!parse_properties(properties, all))
        return false;
    for (const auto &[name, value] : all)
        if (is_same_name(name, batch_property))
            return as_text(value) == batches_of(is_server);
    return false;
}

}  // namespace zlink::curve
