// One frame in the application's hands: what a zmq_msg_t holds.
//
// Small bodies live inside the record, larger ones in reference-counted memory (`block`): allocated
// here, lent by the application, or part of the chunk the frame arrived in.
//
// Threads:  one thread at a time per message; copies that share a body may live on different
//           threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/peer_info.hpp"
#include "memory/block.hpp"

namespace zlink {

class message {
public:
    static constexpr std::size_t max_inline = 40;

    // A message is placed into memory that C code owns and moves about by zmq_msg_* only; init
    // functions may be called on any octets, all others need an initialised message (`is_valid`).
    void init() noexcept;
    // These three may fail with no_memory.
    error init_size(std::size_t size) noexcept;
    error init_copy(byte_span body) noexcept;
    error init_external(void *data, std::size_t size, zmq_free_fn *free, void *hint) noexcept;
    void init_constant(const void *data, std::size_t size) noexcept;
    /// Refers to `body` inside `owner`, taking over one reference.
    void init_shared(block_ref owner, byte_span body) noexcept;

    bool is_valid() const noexcept { return magic_ == live_magic; }
    /// fault when the message is not initialised. Leaves it unusable.
    error close() noexcept;
    /// Moves `source` here, closing what was here; `source` becomes empty.
    error move_from(message &source) noexcept;
    error copy_from(message &source) noexcept;

    std::uint8_t *data() noexcept;
    const std::uint8_t *data() const noexcept { return const_cast<message *>(this)->data(); }
    std::size_t size() const noexcept;
    byte_span body() const noexcept { return {data(), size()}; }

    bool has_more() const noexcept { return flags_ & more_flag; }
    void set_more(bool on) noexcept {
        flags_ = static_cast<std::uint8_t>(on ? flags_ | more_flag : flags_ & ~more_flag);
    }
    bool is_shared() const noexcept;

    /// The block that keeps the body alive, null for inline and constant bodies.
    block *owner() const noexcept { return kind_ == kind::referenced ? body_.far.owner : nullptr; }
    bool is_constant() const noexcept { return kind_ == kind::constant; }
    /// The body is the application's memory, which wants to be told when it is done with.
    bool is_lent() const noexcept { return flags_ & lent_flag; }

    const peer_info *info() const noexcept { return info_; }
    /// Replaces the peer record; adds its own reference.
    void set_info(peer_info *info) noexcept;

private:
    enum class kind : std::uint8_t { inlined, referenced, constant };
    static constexpr std::uint8_t live_magic = 0x5a;
    static constexpr std::uint8_t dead_magic = 0xde;
    static constexpr std::uint8_t more_flag = 1;
    static constexpr std::uint8_t shared_flag = 2;
    static constexpr std::uint8_t lent_flag = 4;

    struct far_body {
        block *owner;
        std::uint8_t *data;
        std::size_t size;
    };
    union body_union {
        std::uint8_t near[max_inline];
        far_body far;
    } body_;
    peer_info *info_;
    std::uint32_t reserved_;  // routing id of the thread-safe socket types
    kind kind_;
    std::uint8_t near_size_;
    std::uint8_t flags_;
    std::uint8_t magic_;
    std::uint64_t padding_;

    void reset_record(kind k) noexcept;
    template <class Owner>
    void refer_to(Owner *owner, std::size_t size) noexcept;
};

static_assert(sizeof(message) == 64 && alignof(message) <= alignof(void *));

}  // namespace zlink
