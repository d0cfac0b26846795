// The facts about one peer that are known once its handshake is over; messages from it share this
// record.
//
// Layout:   the properties lie one behind the other: a peer may send thousands of short ones, each
//           of which would be an object.
// Threads:  immutable after construction, so any thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/events.hpp"
#include "memory/block.hpp"

namespace zlink {

struct peer_info : block {
    peer_info() noexcept : block(&destroy) {}

    /// Adds a property as zmq_msg_gets returns it: of the peer's metadata, "Peer-Address",
    /// "User-Id", "__fd". Throws bad_alloc.
    void add(std::string_view name, std::string_view value);
    /// Makes room for so many properties more, of so many octets in all: what is added then takes
    /// no more than it needs.
    void reserve(std::size_t properties, std::size_t octets);
    /// Adds such in front of those that are there: of two that have one name the first is found.
    void add_in_front(const std::vector<std::pair<std::string, std::string>> &more);
    /// Value of a property, null when absent. Names compare without case (RFC 23, "metadata").
    const char *find(std::string_view name) const noexcept;

    std::string routing_id;   // as announced; empty when the peer announced none
    bool hears_gaps = false;  // a subscriber: it asks how many messages were lost

    /// The place of the peer, for events that come with its messages.
    struct place {
        bool is_connecting = false;  // this side
        peer_names names;
    };
    std::unique_ptr<const place> found;  // null: nobody asks for such events

private:
    static void destroy(block *self) noexcept { delete static_cast<peer_info *>(self); }

    std::vector<std::uint8_t> properties_;
};

}  // namespace zlink
