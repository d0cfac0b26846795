// Contract: names to addresses, without blocking the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "core/error.hpp"

namespace zlink {

struct resolved_address {
    sockaddr_storage address{};
    socklen_t length = 0;
};

class resolver {
  public:
    virtual ~resolver() = default; // cancels; the handler is not called afterwards
    using handler = std::function<void(std::vector<resolved_address> found, error failure)>;
    /// Resolves anew on each call; at most one call at a time. Loop thread.
    virtual void resolve(const std::string &host, const std::string &service, bool allow_ipv6, handler done) noexcept = 0;
};

} // namespace zlink
