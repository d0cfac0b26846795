// Adding a peer's properties and looking them up.
#include "core/peer_info.hpp"

#include <algorithm>
#include <cstdint>

#include "core/bytes.hpp"
#include "core/invariant.hpp"
#include "core/names.hpp"

namespace zlink {

namespace {

// Each property: the size of its name in one octet, that of its value in four, the name, the value,
//                and a zero.
constexpr std::size_t sizes_size = 5;
constexpr std::size_t longest_name = 255;

}  // namespace

void peer_info::reserve(std::size_t properties, std::size_t octets) {
    properties_.reserve(properties_.size() + properties * (sizes_size + 1) + octets);
}

void peer_info::add(std::string_view name, std::string_view value) {
    ZLINK_INVARIANT(name.size() <= longest_name && value.size() <= UINT32_MAX);
    const std::size_t begin = properties_.size();
    properties_.resize(begin + sizes_size + name.size() + value.size() + 1);
    std::uint8_t *const at = properties_.data() + begin;
    at[0] = static_cast<std::uint8_t>(name.size());
    put_u32(at + 1, static_cast<std::uint32_t>(value.size()));
    std::copy(name.begin(), name.end(), at + sizes_size);
    std::copy(value.begin(), value.end(), at + sizes_size + name.size());
}

void peer_info::add_in_front(const std::vector<std::pair<std::string, std::string>> &more) {
    peer_info all;
    std::size_t octets = properties_.size();
    for (const auto &[name, value] : more)
        octets += name.size() + value.size();
    all.reserve(more.size(), octets);
    for (const auto &[name, value] : more)
        all.add(name, value);
    all.properties_.insert(all.properties_.end(), properties_.begin(), properties_.end());
    properties_.swap(all.properties_);
}

const char *peer_info::find(std::string_view name) const noexcept {
    const byte_span all(properties_);
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t name_size = all[at];
        const std::size_t value_size = get_u32(all.data() + at + 1);
        at += sizes_size;
        if (is_same_name(as_text(all.subspan(at, name_size)), name))
            return reinterpret_cast<const char *>(all.data() + at + name_size);
        at += name_size + value_size + 1;
    }
    return nullptr;
}

}  // namespace zlink
