// Octets in network order, and a cursor that never reads past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace zlink {

using byte_span = std::span<const std::uint8_t>;

inline byte_span as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}
inline std::string_view as_text(byte_span bytes) noexcept {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

inline std::uint16_t get_u16(const std::uint8_t *p) noexcept {
    return static_cast<std::uint16_t>(p[0] << 8 | p[1]);
}
inline std::uint32_t get_u32(const std::uint8_t *p) noexcept {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
inline std::uint64_t get_u64(const std::uint8_t *p) noexcept {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}
inline void put_u16(std::uint8_t *p, std::uint16_t v) noexcept {
    p[0] = static_cast<std::uint8_t>(v >> 8);
    p[1] = static_cast<std::uint8_t>(v);
}
inline void put_u32(std::uint8_t *p, std::uint32_t v) noexcept {
    v = __builtin_bswap32(v);
    std::memcpy(p, &v, sizeof v);
}
inline void put_u64(std::uint8_t *p, std::uint64_t v) noexcept {
    v = __builtin_bswap64(v);
    std::memcpy(p, &v, sizeof v);
}

// When the room is known to be small, GCC warns of the branches for larger sizes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

/// Copies some ten or hundred octets that do not overlap. For these sizes a call of memcpy costs as
/// much as the copy, and what compilers put in its place (a string instruction) several times that.
[[gnu::always_inline]] inline void copy_few(std::uint8_t *to, const std::uint8_t *from,
                                            std::size_t size) noexcept {
    constexpr std::size_t step = 32;
    const auto copy = [&](std::size_t at, auto width) { std::memcpy(to + at, from + at, width); };
    if (size >= step) {
        std::size_t at = 0;
        for (; at + 2 * step < size; at += step) {
            copy(at, std::integral_constant<std::size_t, step>{});
            asm volatile("" : "+r"(at)::"memory");  // or else it is taken for a memcpy again
        }
        copy(at, std::integral_constant<std::size_t, step>{});
        copy(size - step, std::integral_constant<std::size_t, step>{});
    } else if (size >= 16) {
        copy(0, std::integral_constant<std::size_t, 16>{});
        copy(size - 16, std::integral_constant<std::size_t, 16>{});
    } else if (size >= 8) {
        copy(0, std::integral_constant<std::size_t, 8>{});
        copy(size - 8, std::integral_constant<std::size_t, 8>{});
    } else if (size >= 4) {
        copy(0, std::integral_constant<std::size_t, 4>{});
        copy(size - 4, std::integral_constant<std::size_t, 4>{});
    } else {
        for (std::size_t at = 0; at < size; ++at)
            to[at] = from[at];
    }
}

#pragma GCC diagnostic pop

/// Whether some few octets, of a topic or an address, are the same. A call of memcmp costs more.
[[gnu::always_inline]] inline bool are_equal(const std::uint8_t *a, const std::uint8_t *b,
                                             std::size_t size) noexcept {
    const auto differ = [&](std::size_t at, auto width) {
        decltype(width) x, y;
        std::memcpy(&x, a + at, sizeof x);
        std::memcpy(&y, b + at, sizeof y);
        return x != y;
    };
    if (size >= 8) {
        for (std::size_t at = 0; at + 8 < size; at += 8) {
            if (differ(at, std::uint64_t{}))
                return false;
        }
        return !differ(size - 8, std::uint64_t{});
    }
    if (size >= 4)
        return !differ(0, std::uint32_t{}) && !differ(size - 4, std::uint32_t{});
    for (std::size_t at = 0; at < size; ++at) {
        if (a[at] != b[at])
            return false;
    }
    return true;
}

/// Copies the body of a small frame.
[[gnu::always_inline]] inline void copy_body(std::uint8_t *to, const std::uint8_t *from,
                                             std::size_t size) noexcept {
    if (__builtin_expect(size <= 256, 1))
        copy_few(to, from, size);
    else
        std::memcpy(to, from, size);
}

/// Copies the body of a small frame out of memory that another processor wrote. From some KiB on
/// memcpy may use a string instruction, which fetches such lines one after the other; in copies of
/// 1 KiB it uses vectors, and has many on their way.
inline void copy_foreign_body(std::uint8_t *to, const std::uint8_t *from, std::size_t size) noexcept {
    constexpr std::size_t longest_copy = 1024;
    std::size_t at_once = longest_copy;
    // A size known here would be copied by a string instruction again.
    asm volatile("" : "+r"(at_once));
    for (; size > longest_copy; to += at_once, from += at_once, size -= at_once)
        std::memcpy(to, from, at_once);
    copy_body(to, from, size);
}

/// Takes octets off the front of a span; every take says whether there were enough.
class byte_cursor {
public:
    explicit byte_cursor(byte_span bytes) noexcept : rest_(bytes) {}

    std::size_t remaining() const noexcept { return rest_.size(); }
    byte_span rest() const noexcept { return rest_; }

    bool take(std::size_t count, byte_span &out) noexcept {
        if (count > rest_.size())
            return false;
        out = rest_.first(count);
        rest_ = rest_.subspan(count);
        return true;
    }
    bool take_u8(std::uint8_t &out) noexcept {
        byte_span b;
        if (!take(1, b))
            return false;
        out = b[0];
        return true;
    }
    bool take_u16(std::uint16_t &out) noexcept {
        byte_span b;
        if (!take(2, b))
            return false;
        out = get_u16(b.data());
        return true;
    }
    bool take_u32(std::uint32_t &out) noexcept {
        byte_span b;
        if (!take(4, b))
            return false;
        out = get_u32(b.data());
        return true;
    }

private:
    byte_span rest_;
};

}  // namespace zlink
