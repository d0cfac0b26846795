// Contract: names to addresses, without blocking the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "reactor/name_lookup.hpp"

namespace zlink {

/// A numeric address and port to a socket address, without asking anybody. False when `host` is a
/// name, or an IPv6 address where that is not allowed.
bool parse_numeric_address(const std::string &host, const std::string &service, bool allow_ipv6,
                           resolved_address &out) noexcept;

class resolver {
public:
    virtual ~resolver() = default;  // cancels; the handler is not called afterwards
    using handler = std::function<void(std::vector<resolved_address> found, error failure)>;
    /// Resolves anew on each call; at most one call at a time. Numeric addresses ask nobody. Calls
    /// `done` once, never from inside this call, with at least one address or a failure, which
    /// leaves its reason where a name is to blame. Loop thread.
    virtual void resolve(const std::string &host, const std::string &service, bool allow_ipv6,
                         handler done) noexcept = 0;
};

class loop;
/// A resolver that asks the system on a thread apart. Any thread. Null when memory is short.
std::unique_ptr<resolver> make_resolver(loop &io) noexcept;

}  // namespace zlink
