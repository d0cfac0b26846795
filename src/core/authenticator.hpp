// Contract of who judges a peer that wants in, and what it is told and answers (RFC 27/ZAP).
//
// Flow:     ask() puts a question and returns at once. `on_answer` is called when there may be
//           something to take; then the asker calls take(). Whoever drops the question withdraws
//           it: an answer that comes later goes nowhere.
// Threads:  ask(), take() and the end of a question belong to the asker. `on_answer` comes on any
//           thread, from the middle of what that does: it must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/secret.hpp"

namespace zlink {

/// The proof that a peer gives of itself, by the mechanism that it speaks.
struct credentials {
    std::string mechanism;  // as the greeting names it
    // PLAIN: user name and password; CURVE: the client's key; NULL: none.
    std::vector<secret> items;
};

struct authentication_request {
    std::string domain;      // ZMQ_ZAP_DOMAIN
    std::string address;     // of the peer, without a port
    std::string routing_id;  // of the socket that asks
    credentials shown;
};

/// For how long a peer that was let in may stay.
//
// Threads:  any.
class permit {
public:
    virtual ~permit() = default;
    /// Whether the same peer would be kept out now, or be called otherwise. Not so where the rules
    /// cannot be read; where memory is short it is, and the peer may come again.
    virtual bool is_revoked() noexcept = 0;
};

struct verdict {
    enum class kind {
        accepted,
        refused,     // with a status
        no_handler,  // nobody was there to be asked
        unanswered,  // somebody was, but went, or memory was short for the question or the answer
        unusable     // the answer broke the rules of RFC 27; the detail says how
    };
    kind what = kind::no_handler;
    int status = 0;            // refused: 300 (for now), 400, or 500 (the handler failed)
    std::uint32_t detail = 0;  // unusable: a ZMQ_PROTOCOL_ERROR_ZAP_ number
    std::string user_id;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::shared_ptr<permit> lasts;  // of one that is accepted; null: as long as it likes
};

class authentication {
public:
    virtual ~authentication() = default;
    /// True once there is a verdict. Throws bad_alloc.
    virtual bool take(verdict &out) = 0;
};

class authenticator {
public:
    virtual ~authenticator() = default;
    /// Null when there is nobody to be asked. Throws bad_alloc, also where somebody cannot be
    /// reached for want of memory.
    virtual std::unique_ptr<authentication> ask(const authentication_request &what,
                                                std::function<void()> on_answer) = 0;
};

}  // namespace zlink
