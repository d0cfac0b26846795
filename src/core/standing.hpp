// Contract of whether what was allowed once is allowed still: a policy may have changed since somebody bound or connected.
//
// Threads:  any. It waits for no disk.
#pragma once

#include <string>
#include <string_view>

namespace zlink {

class standing {
public:
    virtual ~standing() = default;
    /// Asked before each new connection. Where it does not hold, `why` says so.
    virtual bool holds(std::string &why) noexcept = 0;
    /// Asked about a connection that is there. It does not end because nobody can tell: only where a policy says so.
    virtual bool is_revoked() noexcept = 0;
    /// Whether a peer that shows these, of PLAIN, is one of the policy's users. False where it names none.
    virtual bool knows(std::string_view user, std::string_view password) noexcept = 0;
};

}  // namespace zlink
