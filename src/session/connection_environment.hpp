// The things that a connection gets from its session, and its words when it ends.
#pragma once

#include <memory>

#include "core/chunk.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/subscription_set.hpp"
#include "core/tuning.hpp"
#include "core/web_place.hpp"
#include "reactor/loop.hpp"
#include "zmtp/failure.hpp"

namespace zlink {

/// All outlives the connection.
struct connection_environment {
    loop &io;
    const settings &options;
    const batching &sizes;
    const std::shared_ptr<chunk_pool> &pool;
    subscription_set *subscriptions;   // of SUB and XSUB, else null
    const web_place *place = nullptr;  // of streams that begin as a web server's
    web_memory *memory = nullptr;      // of such, where others follow
    bool probes = false;  // the pipe has probed an earlier peer, and this one is to be probed, too
};

/// Why a connection ended.
struct break_reason {
    bool was_established = false;
    error system = error::none;  // what the stream said, or none
    failure_kind failure = failure_kind::none;
    protocol_error detail = 0;
    bool may_retry = true;
    bool has_answer_for_peer =
        false;  // in the output of the conversation: an ERROR command, a Close, a status of HTTP
};

}  // namespace zlink
