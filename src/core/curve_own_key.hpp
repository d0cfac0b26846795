// The long-term secret key of this side, as an option holds it, with the public key that belongs to
// it. That is computed when a server first asks for it, once for all copies of the option and not
// for each connection; a client never asks.
//
// Threads:  any may ask.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/built.hpp"
#include "core/curve_keys.hpp"
#include "core/secret.hpp"

namespace zlink {

/// 32 octets or empty.
class curve_own_key : public secret {
public:
    /// Throws bad_alloc, and nothing has changed.
    curve_own_key &operator=(std::string_view key) {
        auto fresh = std::make_shared<derived>();
        secret::operator=(key);
        derived_ = std::move(fresh);
        return *this;
    }
    /// Zeros where there is no secret key.
    const curve_key &public_half() const noexcept {
        static constexpr curve_key none{};
        if (!derived_)
            return none;
        if constexpr (curve_is_built)
            std::call_once(derived_->once, [this] {
                if (size() != curve_secret_key::octets ||
                    !derive_curve_public(as_bytes(*this), derived_->key))
                    derived_->key = none;
            });
        return derived_->key;
    }

private:
    struct derived {
        std::once_flag once;
        curve_key key{};
    };
    std::shared_ptr<derived> derived_;
};

}  // namespace zlink
