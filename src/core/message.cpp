// One frame in the application's hands; see message.hpp.
//
// Order:    the blocks that a body can lie in; the ways to make a message; closing, moving and
//           copying; what it tells of itself.
#include "core/message.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/platform.hpp"
#include "memory/large_blocks.hpp"
#include "memory/lent_records.hpp"

namespace zlink {

static_assert(std::is_standard_layout_v<message> && std::is_trivially_copyable_v<message>,
              "a message lives in memory that C code owns");

namespace {

/// A body in one block of memory with its reference count.
struct alignas(std::max_align_t) heap_block : block {
    heap_block() noexcept : block(&destroy) {}
    std::uint8_t *data() noexcept { return reinterpret_cast<std::uint8_t *>(this + 1); }

    static void destroy(block *self) noexcept { std::free(static_cast<heap_block *>(self)); }
};

/// A block for a large body.
struct alignas(std::max_align_t) large_block : block {
    explicit large_block(std::size_t octets) noexcept : block(&destroy), size(octets) {}
    std::uint8_t *data() noexcept { return reinterpret_cast<std::uint8_t *>(this + 1); }

    const std::size_t size;  // of all its memory
    /// The processor that the body was made on, and mostly is filled on.
    const unsigned filled_by = large_blocks::this_processor();

    static void destroy(block *self) noexcept {
        auto *const mine = static_cast<large_block *>(self);
        large_blocks::release(mine, mine->size, mine->filled_by);
    }
};
constexpr std::size_t kept_block_from = 64 * 1024;

/// A body that the application lends, with what it wants called in the end.
struct external_block : block {
    external_block(void *data, zmq_free_fn *free, void *hint) noexcept
        : block(&destroy), data_(data), free_(free), hint_(hint) {}

private:
    static void destroy(block *self) noexcept {
        auto *mine = static_cast<external_block *>(self);
        const external_block last = *mine;
        mine->~external_block();
        lent_records::release(mine);
        const platform::cancellation_shield shield;  // it may call the system
        last.free_(last.data_, last.hint_);
    }
    external_block(const external_block &other) noexcept
        : external_block(other.data_, other.free_, other.hint_) {}

    void *data_;
    zmq_free_fn *free_;
    void *hint_;
};
static_assert(sizeof(external_block) <= lent_records::record_size);

}  // namespace

void message::reset_record(kind k) noexcept {
    info_ = nullptr;
    reserved_ = 0;
    kind_ = k;
    near_size_ = 0;
    flags_ = 0;
    magic_ = live_magic;
    padding_ = 0;
}

template <class Owner>
void message::refer_to(Owner *owner, std::size_t size) noexcept {
    reset_record(kind::referenced);
    body_.far = {owner, owner->data(), size};
}

void message::init() noexcept { reset_record(kind::inlined); }

error message::init_size(std::size_t size) noexcept {
    if (size <= max_inline) {
        reset_record(kind::inlined);
        near_size_ = static_cast<std::uint8_t>(size);
        return error::none;
    }
    if (size > static_cast<std::size_t>(PTRDIFF_MAX) - sizeof(large_block))
        return error::no_memory;
    if (size >= kept_block_from) {
        const std::size_t octets = sizeof(large_block) + size;
        void *memory = large_blocks::allocate(octets);
        if (!memory)
            return error::no_memory;
        refer_to(new (memory) large_block(octets), size);
    } else {
        void *memory = std::malloc(sizeof(heap_block) + size);
        if (!memory)
            return error::no_memory;
        refer_to(new (memory) heap_block, size);
    }
    return error::none;
}

error message::init_copy(byte_span body) noexcept {
    if (error e = init_size(body.size()); failed(e))
        return e;
    if (!body.empty())
        std::memcpy(data(), body.data(), body.size());
    return error::none;
}

error message::init_external(void *data, std::size_t size, zmq_free_fn *free, void *hint) noexcept {
    if (!free) {
        init_constant(data, size);
        return error::none;
    }
    void *record = lent_records::allocate();
    if (!record)
        return error::no_memory;
    auto *owner = new (record) external_block(data, free, hint);
    reset_record(kind::referenced);
    flags_ |= lent_flag;
    body_.far = {owner, static_cast<std::uint8_t *>(data), size};
    return error::none;
}

void message::init_constant(const void *data, std::size_t size) noexcept {
    reset_record(kind::constant);
    body_.far = {nullptr, static_cast<std::uint8_t *>(const_cast<void *>(data)), size};
}

void message::init_shared(block_ref owner, byte_span body) noexcept {
    reset_record(kind::referenced);
    body_.far = {owner.detach(), const_cast<std::uint8_t *>(body.data()), body.size()};
}

error message::close() noexcept {
    if (!is_valid())
        return error::fault;
    magic_ = dead_magic;
    if (kind_ == kind::referenced)
        body_.far.owner->release();
    if (info_)
        info_->release();
    info_ = nullptr;
    return error::none;
}

error message::move_from(message &source) noexcept {
    if (!is_valid() || !source.is_valid())
        return error::fault;
    if (this == &source)
        return error::none;
    (void)close();
    *this = source;
    source.init();
    return error::none;
}

error message::copy_from(message &source) noexcept {
    if (!is_valid() || !source.is_valid())
        return error::fault;
    if (this == &source)
        return error::none;
    (void)close();
    if (source.kind_ == kind::referenced) {
        source.body_.far.owner->retain();
        source.flags_ |= shared_flag;
    }
    if (source.info_)
        source.info_->retain();
    *this = source;
    return error::none;
}

std::uint8_t *message::data() noexcept { return kind_ == kind::inlined ? body_.near : body_.far.data; }

std::size_t message::size() const noexcept { return kind_ == kind::inlined ? near_size_ : body_.far.size; }

bool message::is_shared() const noexcept {
    return kind_ == kind::constant || (flags_ & shared_flag) ||
           (kind_ == kind::referenced && body_.far.owner->is_shared());
}

void message::set_info(peer_info *info) noexcept {
    if (info)
        info->retain();
    if (info_)
        info_->release();
    info_ = info;
}

}  // namespace zlink
