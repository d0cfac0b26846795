// Marks, sizes and the queue of one direction; see pipe_direction.hpp.
#include "pipe/pipe_direction.hpp"

#include <algorithm>

#include "pipe/conflated_slot.hpp"

namespace zlink {

namespace {

/// Nothing comes near 4 GiB.
std::uint32_t short_size(std::size_t octets) noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(octets, UINT32_MAX));
}

std::uint64_t joint_mark(std::uint32_t writers, std::uint32_t readers) noexcept {
    if (writers == 0 || readers == 0)
        return 0;
    if (writers == pipe_direction::no_share)
        return readers;
    return readers == pipe_direction::no_share ? writers : std::uint64_t{writers} + readers;
}

}  // namespace

std::uint32_t pipe_direction::share_of(std::uint64_t messages) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(messages, no_share - 1));
}

/// So that sums of them, and what is reckoned with these, do not overflow.
std::uint64_t pipe_direction::octets_share_of(std::uint64_t octets) noexcept {
    return std::min(octets, std::uint64_t{1} << 62);
}

pipe_direction::pipe_direction(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options,
                               shares whose)
    : queue(pool, options.sizes.out_batch_size_small,
            options.second == end_kind::socket ? frame_queue::bodies::referred_to
                                               : frame_queue::bodies::apart,
            // A body that goes by reference anyway is not copied because the application lends it.
            static_cast<std::uint16_t>(std::min<std::size_t>(frame_queue::most_octets_copied_external,
                                                             options.sizes.out_writev_threshold - 1))),
      hwm(0), writers_share(whose == shares::of_writer ? share_of(options.first_to_second_hwm) : no_share),
      readers_share(whose == shares::of_reader ? share_of(options.second_to_first_hwm) : no_share),
      reference_threshold(options.sizes.out_writev_threshold),
      senders_batch_size(short_size(options.sizes.senders_batch_size)),
      written_alone_from(short_size(options.sizes.written_alone_from)),
      piece(short_size(options.sizes.piece)),
      newest(options.conflate ? std::make_unique<conflated_slot>() : nullptr) {
    if (options.conflate)
        return;
    const bool is_writers = whose == shares::of_writer;
    if (const std::uint64_t mark =
            is_writers ? options.first_to_second_octets : options.second_to_first_octets)
        (is_writers ? need_octets().writers : need_octets().readers).store(octets_share_of(mark));
    join_shares();
}

pipe_direction::~pipe_direction() { delete octets.load(std::memory_order_acquire); }

octet_marks &pipe_direction::need_octets() {
    octet_marks *known = octets.load(std::memory_order_acquire);
    if (known)
        return *known;
    auto made = std::make_unique<octet_marks>();
    if (octets.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
        known = made.release();
    return *known;
}

std::uint64_t pipe_direction::message_mark() const noexcept {
    return joint_mark(writers_share.load(std::memory_order_relaxed),
                      readers_share.load(std::memory_order_relaxed));
}

void pipe_direction::join_shares() noexcept {
    struct state {
        std::uint32_t writers, readers;
        std::uint64_t octets;
        bool each_is_told;
        bool operator==(const state &) const = default;
    };
    const auto look = [this] {
        return state{writers_share.load(std::memory_order_seq_cst),
                     readers_share.load(std::memory_order_seq_cst), octet_mark(),
                     is_drain_awaited.load(std::memory_order_seq_cst)};
    };
    // The other side may do the same: whoever stores last has seen both.
    for (state seen = look();;) {
        const bool is_slow = seen.octets != 0 || seen.each_is_told;
        hwm.store(is_slow ? 1 : joint_mark(seen.writers, seen.readers), std::memory_order_seq_cst);
        const state now = look();
        if (now == seen)
            return;
        seen = now;
    }
}

}  // namespace zlink
