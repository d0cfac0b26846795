// Fuzz target: the command parser and the parsers of what commands hold. What parses as a property
// list is written back to the same octets.
#include <cstddef>
#include <cstdint>

#include <algorithm>

#include "core/invariant.hpp"
#include "zmtp/command.hpp"

using namespace zlink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const byte_span input(data, size);
    command parsed;
    if (parse_command(input, parsed)) {
        ZLINK_INVARIANT(1 + parsed.name.size() + parsed.data.size() == size);
        ping_body ping;
        if (parse_ping(parsed.data, ping))
            ZLINK_INVARIANT(2 + ping.context.size() == parsed.data.size());
        std::string_view reason;
        if (parse_error(parsed.data, reason))
            ZLINK_INVARIANT(1 + reason.size() == parsed.data.size());
    }
    property_list properties;
    if (parse_properties(input, properties)) {
        std::vector<std::uint8_t> written;
        for (const auto &[name, value] : properties)
            append_property(written, name, value);
        ZLINK_INVARIANT(std::equal(written.begin(), written.end(), input.begin(), input.end()));
    }
    return 0;
}
