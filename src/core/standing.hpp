// Contract of whether what was allowed once is allowed still: a policy may have changed since
// somebody bound or connected.
//
// Threads:  any. It waits for no disk.
#pragma once

#include <cstdint>
#include <string>

#include "core/authenticator.hpp"

namespace zlink {

/// A policy's word on a peer; nothing where peers of that kind are not its to judge.
/// `cannot_tell`: the file is of no use just now; the peer may come again.
enum class opinion : std::uint8_t { none, accepts, refuses, cannot_tell };

class standing {
public:
    virtual ~standing() = default;
    /// Asked before each new connection. Where it does not hold, `why` says so.
    virtual bool holds(std::string &why) noexcept = 0;
    /// Asked about a connection that is there. It does not end because nobody can tell: only where
    /// a policy says so.
    virtual bool is_revoked() noexcept = 0;
    /// Whether a peer that shows these is one of the policy's users. Where it is, `out` has its
    /// user id, and how long it may stay.
    virtual opinion opinion_of(const credentials &shown, verdict &out) noexcept = 0;
};

}  // namespace zlink
