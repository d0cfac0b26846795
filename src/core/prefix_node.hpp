// The blocks that a prefix_tree is made of.
//
// Layout:   a node is one block of memory:
//               value, sizes | label | first octets of the branches | a slot per branch | slot of
//               each octet, if many
//           A slot is 8 octets: the address of a node, or a key of at most 3 octets and its value.
//           Ten digits are a block of 104 octets.
// Order:    slots; the node; searched and changed; made, destroyed and resized.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/bytes.hpp"

namespace zlink {

template <class Value>
struct prefix_node;

/// The root of a tree: a node, or a leaf that is nowhere else. Copies are shallow.
template <class Value>
class prefix_slot {
public:
    using node = prefix_node<Value>;

    prefix_slot() noexcept : prefix_slot(byte_span(), Value{}) {}
    prefix_slot(byte_span label, Value value) noexcept : octets_{} {
        octets_[0] = static_cast<std::uint8_t>(label.size() << 1 | 1);
        std::copy(label.begin(), label.end(), octets_ + 1);
        new (octets_ + 4) Value(value);
    }
    explicit prefix_slot(node *n) noexcept {
        const std::uint64_t bits = in_order(reinterpret_cast<std::uintptr_t>(n));
        std::memcpy(octets_, &bits, sizeof bits);
    }

    bool is_leaf() const noexcept { return octets_[0] & 1; }
    byte_span leaf_label() const noexcept { return {octets_ + 1, static_cast<std::size_t>(octets_[0] >> 1)}; }
    const Value &leaf_value() const noexcept {
        return *std::launder(reinterpret_cast<const Value *>(octets_ + 4));
    }
    node *get() const noexcept {
        std::uint64_t bits;
        std::memcpy(&bits, octets_, sizeof bits);
        return reinterpret_cast<node *>(static_cast<std::uintptr_t>(in_order(bits)));
    }

    // The label of a node of either kind.
    byte_span label() const noexcept {
        return is_leaf() ? leaf_label() : byte_span(get()->label(), get()->label_size);
    }
    Value &value() noexcept { return const_cast<Value &>(is_leaf() ? leaf_value() : get()->value); }
    node *get_if() const noexcept { return is_leaf() ? nullptr : get(); }
    std::size_t count() const noexcept { return is_leaf() ? 0 : get()->count; }
    bool is_vacant() noexcept { return count() == 0 && value().is_empty(); }

private:
    /// The first octet has the lowest bit of an address, which is 0.
    static std::uint64_t in_order(std::uint64_t bits) noexcept {
        return std::endian::native == std::endian::little ? bits : __builtin_bswap64(bits);
    }

    alignas(8) std::uint8_t octets_[8];
};

template <class Value>
struct prefix_node {
    using slot = prefix_slot<Value>;

    static constexpr std::size_t longest_label = 255;
    static constexpr std::size_t longest_leaf_label = 3;
    static constexpr std::size_t most_branches_searched = 32;  // more have a table of slots
    static constexpr std::size_t table_size = 256;
    static constexpr std::size_t table_step = 8;  // capacities with a table are multiples of it
    // In a table; there is a slot 255 only if no octet is absent.
    static constexpr std::uint8_t absent = 255;
    static constexpr std::size_t loaded_at_once = 16;  // first octets, or what is behind them
    static constexpr std::size_t cache_line = 64;

    static std::size_t offset_of_slots(std::size_t label_size, std::size_t capacity) noexcept {
        return (sizeof(prefix_node) + label_size + capacity + 7) & ~std::size_t{7};
    }
    static std::size_t block_size(std::size_t label_size, std::size_t capacity) noexcept {
        if (capacity == 0)
            return sizeof(prefix_node) + label_size;
        const std::size_t table = capacity > most_branches_searched ? table_size : 0;
        return std::max(offset_of_slots(label_size, capacity) + capacity * sizeof(slot) + table,
                        sizeof(prefix_node) + label_size + loaded_at_once);
    }
    prefix_node(Value its_value, std::size_t its_label_size, std::size_t its_capacity) noexcept;

    std::size_t capacity() const noexcept {
        return room <= most_branches_searched
                   ? room
                   : most_branches_searched + (room - most_branches_searched) * table_step;
    }
    bool has_table() const noexcept { return room > most_branches_searched; }
    std::uint8_t *octets() const noexcept {
        return reinterpret_cast<std::uint8_t *>(const_cast<prefix_node *>(this));
    }
    std::uint8_t *label() const noexcept { return octets() + sizeof(prefix_node); }
    std::uint8_t *firsts() const noexcept { return label() + label_size; }
    slot *slots() const noexcept { return reinterpret_cast<slot *>(octets() + slots_at * std::size_t{8}); }
    std::uint8_t *table() const noexcept { return reinterpret_cast<std::uint8_t *>(slots() + capacity()); }

    slot *branch_of(std::uint8_t octet) const noexcept;
    void add(std::uint8_t octet, slot branch) noexcept;
    /// The first branch of a node that was made with room for one, and so without a table. (With
    /// add(), GCC 12 at -O3 takes the table for written, behind the node's end.)
    void add_first(std::uint8_t octet, slot branch) noexcept;
    void drop(std::size_t at) noexcept;

    /// Makes what stands for a label and a value, with the branches of another node or none, and
    /// room for some at least. False when memory is short.
    static bool make(slot &out, byte_span label, Value value, const prefix_node *branches,
                     std::size_t capacity) noexcept;
    static void free_block(slot at) noexcept {
        if (prefix_node *n = at.get_if())
            ::operator delete(n);
    }
    /// With all below it.
    static void destroy(slot top) noexcept;

    /// The capacity to have when one more branch needs room: a quarter more, and what the allocator
    /// would round up to.
    static std::size_t wider(const prefix_node *n, std::size_t label_size) noexcept;
    /// False when memory is short.
    static bool resize(slot &at, std::size_t capacity) noexcept;

    Value value;
    std::uint16_t count : 9;
    std::uint16_t room : 7;  // the capacity, counted in steps beyond most_branches_searched
    std::uint8_t label_size;
    std::uint8_t slots_at;  // in units of 8 octets
};

template <class Value>
inline prefix_slot<Value> *prefix_node<Value>::branch_of(std::uint8_t octet) const noexcept {
    if (__builtin_expect(has_table(), 0)) {
        const std::size_t at = table()[octet];
        return at == absent && count < table_size ? nullptr : slots() + at;
    }
    const std::uint8_t *octets = firsts();
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(octet));
    for (std::size_t from = 0; from < count; from += loaded_at_once) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i *>(octets + from));
        const auto found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted)));
        if (found != 0) {  // what stands behind the first octets may be equal, too
            const std::size_t at = from + static_cast<std::size_t>(std::countr_zero(found));
            return at < count ? slots() + at : nullptr;
        }
    }
    return nullptr;
#else
    const std::uint8_t *at = std::find(octets, octets + count, octet);
    return at < octets + count ? slots() + (at - octets) : nullptr;
#endif
}

template <class Value>
prefix_node<Value>::prefix_node(Value its_value, std::size_t its_label_size,
                                std::size_t its_capacity) noexcept
    : value(its_value), count(0),
      room(static_cast<std::uint16_t>(its_capacity <= most_branches_searched
                                          ? its_capacity
                                          : most_branches_searched +
                                                (its_capacity - most_branches_searched) / table_step)),
      label_size(static_cast<std::uint8_t>(its_label_size)),
      slots_at(static_cast<std::uint8_t>(offset_of_slots(its_label_size, its_capacity) / 8)) {
    if (its_capacity > 0) {  // searching loads octets that are not in use
        const auto till_slots =
            static_cast<std::size_t>(reinterpret_cast<std::uint8_t *>(slots()) - firsts());
        std::memset(firsts(), 0, std::max(till_slots, loaded_at_once));
    }
    if (has_table())
        std::memset(table(), absent, table_size);
}

/// There is room.
template <class Value>
void prefix_node<Value>::add(std::uint8_t octet, slot branch) noexcept {
    if (has_table())
        table()[octet] = static_cast<std::uint8_t>(count);
    firsts()[count] = octet;
    slots()[count] = branch;
    ++count;
}

template <class Value>
void prefix_node<Value>::add_first(std::uint8_t octet, slot branch) noexcept {
    firsts()[0] = octet;
    slots()[0] = branch;
    count = 1;
}

/// The last branch takes its place.
template <class Value>
void prefix_node<Value>::drop(std::size_t at) noexcept {
    --count;
    const std::uint8_t last = firsts()[count];
    if (has_table()) {
        table()[last] = static_cast<std::uint8_t>(at);
        table()[firsts()[at]] = absent;
    }
    firsts()[at] = last;
    slots()[at] = slots()[count];
}

template <class Value>
bool prefix_node<Value>::make(slot &out, byte_span label, Value value, const prefix_node *branches,
                              std::size_t capacity) noexcept {
    if (capacity == 0 && label.size() <= longest_leaf_label) {
        out = slot(label, value);
        return true;
    }
    if (capacity > most_branches_searched)
        capacity = (capacity + table_step - 1) / table_step * table_step;
    void *block = ::operator new(block_size(label.size(), capacity), std::nothrow);
    if (!block)
        return false;
    prefix_node *n = new (block) prefix_node(value, label.size(), capacity);
    std::copy(label.begin(), label.end(), n->label());
    for (std::size_t i = 0; branches && i < branches->count; ++i)
        n->add(branches->firsts()[i], branches->slots()[i]);
    out = slot(n);
    return true;
}

/// On the way down, the slot of the branch in hand keeps the way up.
template <class Value>
void prefix_node<Value>::destroy(slot top) noexcept {
    prefix_node *above = nullptr;
    for (prefix_node *n = top.get_if(); n;) {
        if (n->count > 0) {
            slot &last = n->slots()[n->count - 1];
            if (last.is_leaf()) {
                --n->count;
            } else {
                prefix_node *below = last.get();
                last = slot(above);
                above = std::exchange(n, below);
            }
            continue;
        }
        ::operator delete(n);
        n = above;
        if (n)
            above = n->slots()[--n->count].get();
    }
}

template <class Value>
std::size_t prefix_node<Value>::wider(const prefix_node *n, std::size_t label_size) noexcept {
    constexpr std::size_t granule = 16, overhead = 8;
    const std::size_t count = n ? n->count : 0;
    std::size_t capacity = count + std::max<std::size_t>(1, count / 4);
    if (count >= most_branches_searched)
        return std::min(capacity, table_size);
    capacity = std::min(capacity, most_branches_searched);
    const std::size_t block =
        (block_size(label_size, capacity) + overhead + granule - 1) / granule * granule - overhead;
    while (capacity < most_branches_searched && block_size(label_size, capacity + 1) <= block)
        ++capacity;
    return capacity;
}

template <class Value>
bool prefix_node<Value>::resize(slot &at, std::size_t capacity) noexcept {
    slot fresh;
    if (!make(fresh, at.label(), at.value(), at.get_if(), capacity))
        return false;
    free_block(at);
    at = fresh;
    return true;
}

}  // namespace zlink
