// The rules that rows of the table of socket options are made of: for each kind of value what it
// accepts, and how it is set and read.
//
// Order:    the rules; values in and out; applying a rule.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"

namespace zlink::option_rules {

// ---- The rules ----------------------------------------------------------------------------------

enum class access { read_write, write_only };
constexpr int largest_int = std::numeric_limits<int>::max();

/// An int within limits.
struct number_rule {
    int settings::*field;
    int least;
    int most = largest_int;
};

/// An int that means yes or no.
enum class truth { zero_or_one, not_negative, any_int };
struct flag_rule {
    bool settings::*field;
    truth accepted;
    access direction = access::read_write;
};

/// The option of a part that is not built: off is accepted, and read where it can be.
struct off_rule {
    access direction = access::read_write;
};

/// 64 bits, any value.
template <typename Integer>
struct wide_rule {
    Integer settings::*field;
};

/// Text: read back with a NUL. The rules differ in the meaning of an empty value (a null pointer
///       and no size).
enum class when_empty { refuse, clear };
struct text_rule {
    std::string settings::*field;
    std::size_t longest;
    when_empty empty;
    bool empty_needs_null = true;  // size 0 clears only when the pointer is null
    bool may_have_nul = true;      // as libzmq has it, where nothing ends there
};

/// Octets as they are.
struct octets_rule {
    std::string settings::*field;
    std::size_t least;
    std::size_t most;
    access direction;
};

using option_value = byte_span;  // data() is null when the caller passed a null pointer

/// A reader who takes such text as C does would not see what is behind the NUL.
inline bool has_nul(option_value value) noexcept { return std::ranges::find(value, 0) != value.end(); }

struct special_rule {
    error (*set)(settings &, option_value);
    error (*get)(const settings &, void *, std::size_t *);
};

using rule = std::variant<number_rule, flag_rule, off_rule, wide_rule<std::uint64_t>, wide_rule<std::int64_t>,
                          text_rule, octets_rule, special_rule>;

// ---- Values in and out --------------------------------------------------------------------------

template <typename Integer>
std::optional<Integer> read_as(option_value value) noexcept {
    Integer result;
    if (!value.data() || value.size() != sizeof result)
        return std::nullopt;
    std::memcpy(&result, value.data(), sizeof result);
    return result;
}

template <typename Integer>
error write_as(Integer result, void *out, std::size_t *size) noexcept {
    if (*size != sizeof result)
        return error::invalid;
    std::memcpy(out, &result, sizeof result);
    return error::none;
}

/// The rest of the room becomes zero.
inline error write_octets(std::string_view octets, void *out, std::size_t *size) noexcept {
    if (*size < octets.size())
        return error::invalid;
    auto *to = static_cast<std::uint8_t *>(out);
    std::fill(std::copy(octets.begin(), octets.end(), to), to + *size, std::uint8_t{0});
    *size = octets.size();
    return error::none;
}

inline error write_text(const std::string &text, void *out, std::size_t *size) noexcept {
    return write_octets({text.c_str(), text.size() + 1}, out, size);
}

inline bool accepts(truth accepted, int value) noexcept {
    switch (accepted) {
    case truth::zero_or_one:
        return value == 0 || value == 1;
    case truth::not_negative:
        return value >= 0;
    case truth::any_int:
        return true;
    }
    return false;
}

// ---- Applying a rule ----------------------------------------------------------------------------

struct setter {
    settings &target;
    option_value value;

    error operator()(const number_rule &r) const {
        const auto number = read_as<int>(value);
        if (!number || *number < r.least || *number > r.most)
            return error::invalid;
        target.*r.field = *number;
        return error::none;
    }
    error operator()(const flag_rule &r) const {
        const auto number = read_as<int>(value);
        if (!number || !accepts(r.accepted, *number))
            return error::invalid;
        target.*r.field = *number != 0;
        return error::none;
    }
    error operator()(const off_rule &) const {
        return read_as<int>(value) == 0 ? error::none : error::invalid;
    }
    template <typename Integer>
    error operator()(const wide_rule<Integer> &r) const {
        const auto number = read_as<Integer>(value);
        if (!number)
            return error::invalid;
        target.*r.field = *number;
        return error::none;
    }
    error operator()(const text_rule &r) const {
        const bool may_clear = r.empty == when_empty::clear && (!value.data() || !r.empty_needs_null);
        if (value.empty() ? !may_clear : value.size() > r.longest)
            return error::invalid;
        if (!r.may_have_nul && has_nul(value))
            return error::invalid;
        target.*r.field = as_text(value);
        return error::none;
    }
    error operator()(const octets_rule &r) const {
        if (value.size() < r.least || value.size() > r.most)
            return error::invalid;
        target.*r.field = as_text(value);
        return error::none;
    }
    error operator()(const special_rule &r) const { return r.set ? r.set(target, value) : error::invalid; }
};

struct getter {
    const settings &source;
    void *out;
    std::size_t *size;

    error operator()(const number_rule &r) const { return write_as(source.*r.field, out, size); }
    error operator()(const flag_rule &r) const {
        return r.direction == access::write_only ? error::invalid : write_as(int{source.*r.field}, out, size);
    }
    error operator()(const off_rule &r) const {
        return r.direction == access::write_only ? error::invalid : write_as(0, out, size);
    }
    template <typename Integer>
    error operator()(const wide_rule<Integer> &r) const {
        return write_as(source.*r.field, out, size);
    }
    error operator()(const text_rule &r) const { return write_text(source.*r.field, out, size); }
    error operator()(const octets_rule &r) const {
        return r.direction == access::write_only ? error::invalid : write_octets(source.*r.field, out, size);
    }
    error operator()(const special_rule &r) const {
        return r.get ? r.get(source, out, size) : error::invalid;
    }
};

}  // namespace zlink::option_rules
