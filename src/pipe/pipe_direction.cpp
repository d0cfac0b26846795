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

std::uint64_t joint_mark(std::uint64_t writers, std::uint64_t readers) noexcept {
    if (writers == 0 || readers == 0)
        return 0;
    if (writers == pipe_direction::no_share)
        return readers;
    return readers == pipe_direction::no_share ? writers : writers + readers;
}

}  // namespace

pipe_direction::pipe_direction(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options,
                               std::uint64_t writers_mark, std::uint64_t readers_mark)
    : queue(pool, options.sizes.out_batch_size_small,
            options.second == end_kind::socket ? frame_queue::bodies::referred_to
                                               : frame_queue::bodies::apart,
            // A body that goes by reference anyway is not copied because the application lends it.
            static_cast<std::uint16_t>(std::min<std::size_t>(frame_queue::most_copied_external,
                                                             options.sizes.out_writev_threshold - 1))),
      hwm(options.conflate ? 0 : joint_mark(writers_mark, readers_mark)), writers_share(writers_mark),
      readers_share(readers_mark), reference_threshold(options.sizes.out_writev_threshold),
      senders_batch_size(short_size(options.sizes.senders_batch_size)),
      written_alone_from(short_size(options.sizes.written_alone_from)),
      piece(short_size(options.sizes.piece)), kernel_reads_bodies(options.sizes.kernel_reads_bodies),
      newest(options.conflate ? std::make_unique<conflated_slot>() : nullptr) {}

pipe_direction::~pipe_direction() = default;

void pipe_direction::join_shares() noexcept {
    std::uint64_t writers, readers;
    // The other side may do the same: whoever stores last has seen both.
    do {
        writers = writers_share.load(std::memory_order_seq_cst);
        readers = readers_share.load(std::memory_order_seq_cst);
        hwm.store(joint_mark(writers, readers), std::memory_order_seq_cst);
    } while (writers != writers_share.load(std::memory_order_seq_cst) ||
             readers != readers_share.load(std::memory_order_seq_cst));
}

}  // namespace zlink
