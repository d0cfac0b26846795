// Measures how deep a text of TOML nests, before anybody takes it apart: what is made of it goes as
// deep, and so does its end. Pure.
#pragma once

#include <string_view>

namespace zlink {

/// The line in which it nests deeper than any file of a policy has to; 0 where none does.
int line_that_nests_too_deep(std::string_view text) noexcept;

}  // namespace zlink
