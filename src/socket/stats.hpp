// The deeds of a socket, or of a context, since it was made, and what it holds now.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>

#include "core/counters.hpp"
#include "core/schemes.hpp"
#include "pipe/account.hpp"

namespace zlink {

/// The transports of pipes are numbered as their schemes are, with inproc behind them.
constexpr std::size_t transport_inproc = std::size(known_schemes);
constexpr std::size_t number_of_transports = transport_inproc + 1;
constexpr std::size_t transport_of(std::string_view endpoint) noexcept {
    const std::size_t end = endpoint.find("://");
    const known_scheme *const found =
        end == std::string_view::npos ? nullptr : find_scheme(endpoint.substr(0, end));
    return found ? static_cast<std::size_t>(found - known_schemes) : transport_inproc;
}

struct stats {
    std::uint64_t &operator[](counter what) noexcept { return counts[static_cast<std::size_t>(what)]; }
    std::uint64_t operator[](counter what) const noexcept { return counts[static_cast<std::size_t>(what)]; }
    void add(const counters &more) noexcept {
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] += more.get(static_cast<counter>(i));
    }

    /// Adds another one; what is the most of one queue is that of both.
    void add(const stats &more) noexcept {
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] += more.counts[i];
        queued_out += more.queued_out;
        queued_in += more.queued_in;
        keep_highest(more);
        subscriptions += more.subscriptions;
        peers += more.peers;
        for (std::size_t i = 0; i < number_of_transports; ++i)
            peers_over[i] += more.peers_over[i];
        slow_peers += more.slow_peers;
        sockets += more.sockets;
    }
    void keep_highest(const stats &more) noexcept {
        highest_out.keep_most(more.highest_out);
        highest_in.keep_most(more.highest_in);
    }
    std::uint64_t sum(counter first, std::size_t count) const noexcept {
        const auto from = counts.begin() + static_cast<std::ptrdiff_t>(first);
        return std::accumulate(from, from + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
    }
    std::uint64_t failed_handshakes(handshake_failure why) const noexcept {
        return sum(counter_of(why, 0), number_of_mechanisms);
    }
    std::uint64_t round_trips() const noexcept {
        return sum(counter::round_trips_first, number_of_round_trip_classes);
    }

    void add_to(counters &sum) const noexcept {
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] != 0)
                sum.add(static_cast<counter>(i), counts[i]);
    }
    /// Takes away what a part of it has done; the part may have grown since. What is the most of
    /// one queue stays.
    void subtract(const stats &part) noexcept {
        const auto take = [](std::uint64_t &from, std::uint64_t what) { from -= std::min(from, what); };
        for (std::size_t i = 0; i < counts.size(); ++i)
            take(counts[i], part.counts[i]);
        take(queued_out.messages, part.queued_out.messages);
        take(queued_out.octets, part.queued_out.octets);
        take(queued_in.messages, part.queued_in.messages);
        take(queued_in.octets, part.queued_in.octets);
        take(subscriptions, part.subscriptions);
        take(peers, part.peers);
        for (std::size_t i = 0; i < number_of_transports; ++i)
            take(peers_over[i], part.peers_over[i]);
        take(slow_peers, part.slow_peers);
        take(sockets, part.sockets);
    }

    /// Lets no counter be less than it was; what is held now may.
    void keep_most(const stats &before) noexcept {
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] = std::max(counts[i], before.counts[i]);
    }

    std::array<std::uint64_t, number_of_counters> counts{};
    amount queued_out;   // sent, and taken by nobody yet
    amount queued_in;    // came, and not taken by the application yet
    amount highest_out;  // the most that was seen to wait in one queue
    amount highest_in;
    // A publisher has those of its peers, together; a SUB has its own.
    std::uint64_t subscriptions = 0;
    std::uint64_t peers = 0;  // pipes: peers, and endpoints that are still to be connected
    // These are told by transport, too.
    std::array<std::uint64_t, number_of_transports> peers_over{};
    std::uint64_t slow_peers = 0;  // those that a mark leaves no room for
    std::uint64_t sockets = 0;
};

}  // namespace zlink
