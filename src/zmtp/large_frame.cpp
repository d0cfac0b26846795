// The memory of a frame under way, as it grows; see large_frame.hpp. Map: the begin, in memory of
// its own or the borrower's; growing with what has arrived; handing over.
#include "zmtp/large_frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink {

void large_frame::start(std::size_t arrived, const frame_header &header, std::size_t unaligned) noexcept {
    header_ = header;
    lead_ = (3 * alignment - sizeof(chunk) - header.header_size - unaligned) % alignment;
    total_ = header.header_size + static_cast<std::size_t>(header.body_size);
    have_ = arrived;
}

bool large_frame::begin(chunk_pool &pool, byte_span arrived, const frame_header &header,
                        std::size_t unaligned) noexcept {
    start(arrived.size(), header, unaligned);
    if (have_ < least_octets_to_hold)
        aside_ = pool.allocate(have_);
    if (!aside_ && (have_ < least_octets_to_hold || !obtain(pool))) {
        total_ = 0;
        return false;
    }
    std::memcpy(aside_ ? aside_->data() : frame(), arrived.data(), have_);
    return true;
}

void large_frame::begin_elsewhere(std::uint8_t *place, byte_span arrived,
                                  const frame_header &header) noexcept {
    start(arrived.size(), header, 0);
    elsewhere_ = place;
    std::memcpy(place, arrived.data() + header.header_size, have_ - header.header_size);
}

bool large_frame::move_to_own_memory(chunk_pool &pool) noexcept {
    if (have_ < least_octets_to_hold)
        aside_ = pool.allocate(have_);
    if (!aside_ && !obtain(pool))
        return false;
    std::uint8_t *const to = aside_ ? aside_->data() : frame();
    put_frame_header(to, header_.body_size, header_.flags & ~frame_flag::large);
    std::memcpy(to + header_.header_size, std::exchange(elsewhere_, nullptr), have_ - header_.header_size);
    return true;
}

byte_span large_frame::take_body() noexcept {
    return {std::exchange(elsewhere_, nullptr), std::exchange(total_, 0) - header_.header_size};
}

/// The first memory, for more than has arrived.
bool large_frame::obtain(chunk_pool &pool) noexcept {
    const std::size_t all = lead_ + total_;
    const std::size_t small = std::max(small_frame, lead_ + 2 * have_);
    memory_ = all <= small ? pool.allocate(all) : pool.allocate_held(all);
    if (!memory_ && all > small)
        memory_ = pool.allocate(small);
    return memory_ != nullptr;
}

bool large_frame::grow(chunk_pool &pool) noexcept {
    const std::size_t all = lead_ + total_;
    const std::size_t have = lead_ + have_;
    chunk *larger = nullptr;
    if (have <= small_frame + alignment && (larger = pool.allocate_held(all))) {
        std::memcpy(larger->data(), memory_->data(), have);
        memory_->release();
    } else {
        larger = pool.grow(memory_, all / growth <= have ? all : growth * have, have);
        if (!larger)
            return false;
    }
    memory_ = larger;
    return true;
}

large_frame::place large_frame::place_for_next(chunk_pool &pool) noexcept {
    if (elsewhere_)
        return {elsewhere_ + have_ - header_.header_size, missing()};
    if (!memory_) {
        if (!obtain(pool))
            return {};
        std::memcpy(frame(), aside_->data(), have_);
        std::exchange(aside_, nullptr)->release();
    } else if (lead_ + have_ == memory_->capacity && !grow(pool)) {
        return {};
    }
    return {frame() + have_, std::min(missing(), memory_->capacity - lead_ - have_)};
}

void large_frame::note_read(std::size_t octets) noexcept {
    have_ += octets;
    if (!elsewhere_ && have_ < least_octets_to_hold && !is_whole())
        put_aside();
}

/// Lets go of what is too much for so few octets. When there is no memory for less, they stay where
/// they are.
void large_frame::put_aside() noexcept {
    aside_ = memory_->home->allocate(have_);
    if (!aside_)
        return;
    std::memcpy(aside_->data(), frame(), have_);
    std::exchange(memory_, nullptr)->release();
}

byte_span large_frame::take(block_ref &owner) noexcept {
    const byte_span all{frame(), std::exchange(total_, 0)};
    owner = block_ref::adopt(std::exchange(memory_, nullptr));
    return all;
}

void large_frame::forget() noexcept {
    total_ = 0;
    elsewhere_ = nullptr;
    if (chunk *const mine = std::exchange(memory_, nullptr))
        mine->release();
    if (chunk *const mine = std::exchange(aside_, nullptr))
        mine->release();
}

}  // namespace zlink
