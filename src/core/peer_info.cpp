// Looking a peer's properties up.
#include "core/peer_info.hpp"

namespace zlink {

namespace {

// Names are ASCII: the locale has no say.
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_names(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

}  // namespace

const char *peer_info::find(std::string_view name) const noexcept {
    for (const auto &[key, value] : properties)
        if (equal_names(key, name))
            return value.c_str();
    return nullptr;
}

}  // namespace zlink
