// The sockets and contexts that have lines of their own in what the process tells: those that were
// seen first. The others are summed, so that a text stays short whatever there is.
//
// Promise:  who was summed once stays so, or the sum would fall. Who has lines keeps them until it
//           goes, or they are taken back because a text is too long.
// Threads:  any; one lock inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace zlink::metrics {

/// The process has so many lines at most.
constexpr std::size_t most_sockets = 64;
constexpr std::size_t most_contexts = 16;

class line_allotment {
public:
    /// Whether a context has lines; one that is new gets some while there are any. Throws
    /// bad_alloc.
    bool admits(std::uint64_t context);
    /// Whether it is known to have none.
    bool is_summed(std::uint64_t context) const;

    /// The open sockets of a context, by their numbers in rising order: says of each whether it has
    /// lines. Those that are not among them any more have none to keep. Throws bad_alloc.
    std::vector<bool> settle(std::uint64_t context, const std::vector<std::uint64_t> &sockets);

    /// Takes the lines of that many sockets back, of the youngest first. False where there were
    /// none.
    bool take_back(std::size_t count) noexcept;

    /// The context has gone, and its sockets with it.
    void forget(std::uint64_t context) noexcept;

private:
    struct member {
        bool has_lines = false;
        std::map<std::uint64_t, bool> sockets;  // whether they have some
    };
    member &member_of(std::uint64_t context);

    mutable std::mutex mutex_;  // guards the rest
    std::map<std::uint64_t, member> contexts_;
    std::size_t contexts_left_ = most_contexts;
    std::size_t sockets_left_ = most_sockets;
};

}  // namespace zlink::metrics
