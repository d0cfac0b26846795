// Z85: octets as printable text. RFC 32.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/bytes.hpp"

namespace zlink {

constexpr std::size_t z85_text_size(std::size_t octets) noexcept { return octets / 4 * 5; }
constexpr std::size_t z85_data_size(std::size_t characters) noexcept { return characters / 5 * 4; }

/// Writes z85_text_size(data.size()) characters, no NUL. False when the size is not a multiple of
/// four.
bool z85_encode(byte_span data, char *out) noexcept;

/// Writes z85_data_size(text.size()) octets. False when the length is not a multiple of five, or a
/// group of characters is outside the alphabet or stands for more than 32 bits; `out` then holds
/// what came before. With `out` null the text is looked through, and nothing is written.
bool z85_decode(std::string_view text, std::uint8_t *out) noexcept;

}  // namespace zlink
