// The things that a connection gets from its session, and its words when it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/counters.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/subscription_set.hpp"
#include "core/tuning.hpp"
#include "core/web_place.hpp"
#include "memory/chunk.hpp"
#include "reactor/loop.hpp"
#include "zmtp/conversation.hpp"
#include "zmtp/failure.hpp"

namespace zlink {

/// The things that the connections of one endpoint on one loop have in common. It outlives them.
struct connection_environment {
    loop *io = nullptr;
    settings options;
    batching sizes;
    std::shared_ptr<chunk_pool> pool;
    std::shared_ptr<subscription_set> subscriptions;  // of SUB and XSUB, else null
    std::optional<web_place> place;                   // of streams that begin as a web server's
    std::shared_ptr<counters> counts = {};            // null: nothing is counted

    void count(counter what, std::uint64_t more = 1) const noexcept {
        if (counts)
            counts->add(what, more);
    }
    void add_descriptors(int more) const noexcept {
        if (counts)
            counts->add_descriptors(more);
    }
    void count_round_trip(std::chrono::nanoseconds time) const noexcept {
        count(counter_of_round_trip(time));
        count(counter::nanoseconds_of_round_trips, static_cast<std::uint64_t>(time.count()));
    }
};

/// Why a connection ended. Its flags are facts of their own: a peer may have gone before or after
/// the handshake, in good order or not, and whether to come back depends on what it has said.
struct break_reason {
    bool was_established = false;
    error system = error::none;  // what the stream said, or none
    bool is_end = false;         // and that was its end, in good order
    failure_kind failure = failure_kind::none;
    protocol_error detail = 0;
    bool may_retry = true;
    bool has_answer_for_peer =
        false;  // in the output of the conversation: an ERROR command, a Close, a status of HTTP

    /// Whether this side's application has ended it.
    bool is_cut() const noexcept {
        return failure == failure_kind::cut_off || failure == failure_kind::too_slow;
    }
    /// By a conversation that closes. One that memory is short for has said nothing to its peer.
    static break_reason of(const conversation::action &close, bool was_established,
                           bool has_answer) noexcept {
        if (close.is_short_of_memory)
            return {.was_established = was_established, .system = error::no_memory};
        return {.was_established = was_established,
                .failure = close.failure,
                .detail = close.detail,
                .may_retry = close.may_retry,
                .has_answer_for_peer = has_answer};
    }
};

}  // namespace zlink
