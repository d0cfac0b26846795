// The long-term secret key of this side, as an option or a policy holds it, with the public key
// that belongs to it. Both stand once for all copies; the public one is computed when a server
// first asks for it, and a client never asks.
//
// Threads:  any may ask.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "core/built.hpp"
#include "core/bytes.hpp"
#include "core/curve_keys.hpp"
#include "core/guarded_key.hpp"

namespace zlink {

/// 32 octets or empty.
class curve_own_key {
public:
    curve_own_key() noexcept = default;
    explicit curve_own_key(std::string_view key) { *this = key; }

    /// `key`: 32 octets or empty. Throws bad_alloc, and nothing has changed.
    curve_own_key &operator=(std::string_view key) {
        kept_ = key.empty() ? nullptr : std::make_shared<const pair>(as_bytes(key));
        return *this;
    }

    bool empty() const noexcept { return !kept_; }
    std::size_t size() const noexcept { return kept_ ? guarded_key::size : 0; }
    /// Wherever it is copied to it is not guarded any more.
    operator std::string_view() const noexcept {
        return kept_ ? as_text({kept_->secret_half.data(), guarded_key::size}) : std::string_view();
    }

    /// Zeros where there is no secret key.
    const curve_key &public_half() const noexcept {
        static constexpr curve_key none{};
        if (!kept_)
            return none;
        if constexpr (curve_is_built)
            std::call_once(kept_->once, [this] {
                if (!derive_curve_public({kept_->secret_half.data(), guarded_key::size}, kept_->public_half))
                    kept_->public_half = none;
            });
        return kept_->public_half;
    }

    bool operator==(const curve_own_key &other) const noexcept {
        return kept_ == other.kept_ || std::string_view(*this) == std::string_view(other);
    }

private:
    struct pair {
        explicit pair(byte_span key) : secret_half(key) {}

        const guarded_key secret_half;
        mutable std::once_flag once;
        mutable curve_key public_half{};
    };
    std::shared_ptr<const pair> kept_;
};

}  // namespace zlink
