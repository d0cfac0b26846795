// What is known about one peer once its handshake is over; messages from it share this record.
//
// Threads:  immutable after construction, so any thread may read it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/block.hpp"

namespace zlink {

struct peer_info : block {
    peer_info() noexcept : block(&destroy) {}

    /// Properties as zmq_msg_gets returns them: the peer's metadata, "Peer-Address", "User-Id", "__fd".
    std::vector<std::pair<std::string, std::string>> properties;
    std::string routing_id;  // as announced; empty when the peer announced none

    /// Value of a property, null when absent. Names compare without case (RFC 23, "metadata").
    const char *find(std::string_view name) const noexcept;

private:
    static void destroy(block *self) noexcept { delete static_cast<peer_info *>(self); }
};

}  // namespace zlink
