// Reference-counted memory: the common base of chunks, message bodies and memory lent by the
// application.
//
// Threads:  references may be held, copied and dropped from any thread; the octets are not
//           protected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zlink {

struct block {
    std::atomic<std::uint32_t> references{1};
    /// Called by whoever drops the last reference, on that thread.
    void (*dispose)(block *) noexcept;

    explicit block(void (*how)(block *) noexcept) noexcept : dispose(how) {}

    void retain(std::uint32_t count = 1) noexcept { references.fetch_add(count, std::memory_order_relaxed); }
    void release(std::uint32_t count = 1) noexcept {
        // A sole owner need not pay for a locked instruction: nobody else can add a reference.
        if (references.load(std::memory_order_acquire) == count ||
            references.fetch_sub(count, std::memory_order_acq_rel) == count)
            dispose(this);
    }
    bool is_shared() const noexcept { return references.load(std::memory_order_acquire) > 1; }
};

/// Owner of one reference to a block; may be empty.
class block_ref {
public:
    block_ref() noexcept = default;
    /// Takes over a reference that the caller holds.
    static block_ref adopt(block *b) noexcept { return block_ref(b); }
    /// Adds a reference of its own.
    static block_ref share(block *b) noexcept {
        if (b)
            b->retain();
        return block_ref(b);
    }
    block_ref(const block_ref &other) noexcept : block_(other.block_) {
        if (block_)
            block_->retain();
    }
    block_ref(block_ref &&other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    block_ref &operator=(block_ref other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~block_ref() { reset(); }

    void reset() noexcept {
        if (block *b = std::exchange(block_, nullptr))
            b->release();
    }
    block *get() const noexcept { return block_; }
    /// Gives the reference away.
    block *detach() noexcept { return std::exchange(block_, nullptr); }
    explicit operator bool() const noexcept { return block_ != nullptr; }

private:
    explicit block_ref(block *b) noexcept : block_(b) {}
    block *block_ = nullptr;
};

}  // namespace zlink
