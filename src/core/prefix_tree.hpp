// A map from octet strings to values that finds all keys a text begins with: topics, on both sides of publish-subscribe.
//
// Layout:   a radix tree. A node stands for the octets that lead to it from its parent, however many up to a limit; but for
//           keys too long for one node, only branchings and keys have nodes. The octet that chooses a branch is in the
//           parent, the rest of the label in the child. A node is one block of memory:
//               value, sizes | label | first octets of the branches | a slot per branch | slot of each octet, if many
//           A slot is 8 octets: the address of a node, or a key of at most 3 octets and its value. The root is a slot, too.
//           Ten digits are a block of 104 octets.
// Limits:   nothing here recurses, so the length of a key costs memory and no stack. Labels are short, and so is what
//           splitting and joining them copies. Nodes do not know their parents.
// Threads:  const functions may run at the same time as each other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/bytes.hpp"

namespace zlink {

/// `Value` is made of 4 octets, default constructible, and `is_empty()` when there is nothing to keep its key for. What
/// insert() and find() return stays where it is until the tree changes.
template <class Value>
class prefix_tree {
    static_assert(sizeof(Value) == 4 && alignof(Value) <= 4 && std::is_trivially_copyable_v<Value>);

public:
    prefix_tree() = default;
    ~prefix_tree() { destroy(root_); }
    prefix_tree(const prefix_tree &) = delete;
    prefix_tree &operator=(const prefix_tree &) = delete;

    /// The value of a key, made empty when the key is new. Throws bad_alloc, and then the tree is as it was.
    Value &insert(byte_span key);
    /// Null when there is no such key; it may be there with an empty value.
    Value *find(byte_span key) noexcept {
        slot *at = &root_;
        for (;;) {
            const byte_span label = at->label();
            if (label.size() > key.size() || !are_equal(label.data(), key.data(), label.size()))
                return nullptr;
            if (label.size() == key.size())
                return &at->value();
            key = key.subspan(label.size());
            if (at->is_leaf() || !(at = at->get()->branch_of(key[0])))
                return nullptr;
            key = key.subspan(1);
        }
    }
    /// Call after the value of a key became empty.
    void prune(byte_span key) noexcept;

    /// Calls `visit(const Value &)` for each key that `text` begins with, until it returns false.
    template <class Visit>
    void match(byte_span text, Visit &&visit) const {
        const std::uint8_t *p = text.data();
        std::size_t left = text.size();
        for (const slot *at = &root_;;) {
            if (at->is_leaf()) {
                const byte_span label = at->leaf_label();
                if (label.size() <= left && are_equal(label.data(), p, label.size()) &&
                    !at->leaf_value().is_empty())
                    visit(at->leaf_value());
                return;
            }
            const node *n = at->get();
            __builtin_prefetch(n->octets() + cache_line);  // the slots
            const std::size_t size = n->label_size;
            if (size > left || !are_equal(n->label(), p, size))
                return;
            if (!n->value.is_empty() && !visit(std::as_const(n->value)))
                return;
            if (size == left || !(at = n->branch_of(p[size])))
                return;
            p += size + 1;
            left -= size + 1;
        }
    }
    bool has_prefix_of(byte_span text) const noexcept {
        bool found = false;
        match(text, [&](const Value &) {
            found = true;
            return false;
        });
        return found;
    }
    /// Calls `visit(byte_span key, Value &)` for each key, until it returns false. Keys whose value it empties go. Throws
    /// bad_alloc and what `visit` throws; then the rest was not visited.
    template <class Visit>
    void sweep(Visit &&visit) {
        walk<true>(root_, visit);
        tidy_root();
    }
    /// Calls `visit(byte_span key, const Value &)` for each key. Throws bad_alloc.
    template <class Visit>
    void for_each(Visit &&visit) const {
        walk<false>(const_cast<slot &>(root_), [&](byte_span key, const Value &value) {
            visit(key, value);
            return true;
        });
    }

private:
    struct node;

    static constexpr std::size_t longest_label = 255;
    static constexpr std::size_t longest_leaf_label = 3;
    static constexpr std::size_t most_searched = 32;  // more have a table of slots
    static constexpr std::size_t table_size = 256;
    static constexpr std::size_t table_step = 8;  // capacities with a table are multiples of it
    static constexpr std::uint8_t absent = 255;  // in a table; there is a slot 255 only if no octet is absent
    static constexpr std::size_t loaded_at_once = 16;  // first octets, or what is behind them
    static constexpr std::size_t cache_line = 64;

    /// The root of a tree: a node, or a leaf that is nowhere else. Copies are shallow.
    class slot {
    public:
        slot() noexcept : slot(byte_span(), Value{}) {}
        slot(byte_span label, Value value) noexcept : octets_{} {
            octets_[0] = static_cast<std::uint8_t>(label.size() << 1 | 1);
            std::copy(label.begin(), label.end(), octets_ + 1);
            new (octets_ + 4) Value(value);
        }
        explicit slot(node *n) noexcept {
            const std::uint64_t bits = in_order(reinterpret_cast<std::uintptr_t>(n));
            std::memcpy(octets_, &bits, sizeof bits);
        }

        bool is_leaf() const noexcept { return octets_[0] & 1; }
        byte_span leaf_label() const noexcept {
            return {octets_ + 1, static_cast<std::size_t>(octets_[0] >> 1)};
        }
        const Value &leaf_value() const noexcept {
            return *std::launder(reinterpret_cast<const Value *>(octets_ + 4));
        }
        node *get() const noexcept {
            std::uint64_t bits;
            std::memcpy(&bits, octets_, sizeof bits);
            return reinterpret_cast<node *>(static_cast<std::uintptr_t>(in_order(bits)));
        }

        // Of either kind.
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

    struct node {
        static std::size_t offset_of_slots(std::size_t label_size, std::size_t capacity) noexcept {
            return (sizeof(node) + label_size + capacity + 7) & ~std::size_t{7};
        }
        static std::size_t block_size(std::size_t label_size, std::size_t capacity) noexcept {
            if (capacity == 0)
                return sizeof(node) + label_size;
            const std::size_t table = capacity > most_searched ? table_size : 0;
            return std::max(offset_of_slots(label_size, capacity) + capacity * sizeof(slot) + table,
                            sizeof(node) + label_size + loaded_at_once);
        }
        node(Value its_value, std::size_t its_label_size, std::size_t its_capacity) noexcept;

        std::size_t capacity() const noexcept {
            return room <= most_searched ? room : most_searched + (room - most_searched) * table_step;
        }
        bool has_table() const noexcept { return room > most_searched; }
        std::uint8_t *octets() const noexcept {
            return reinterpret_cast<std::uint8_t *>(const_cast<node *>(this));
        }
        std::uint8_t *label() const noexcept { return octets() + sizeof(node); }
        std::uint8_t *firsts() const noexcept { return label() + label_size; }
        slot *slots() const noexcept {
            return reinterpret_cast<slot *>(octets() + slots_at * std::size_t{8});
        }
        std::uint8_t *table() const noexcept {
            return reinterpret_cast<std::uint8_t *>(slots() + capacity());
        }

        slot *branch_of(std::uint8_t octet) const noexcept;
        void add(std::uint8_t octet, slot branch) noexcept;
        void drop(std::size_t at) noexcept;

        Value value;
        std::uint16_t count : 9;
        std::uint16_t room : 7;  // the capacity, counted in steps beyond most_searched
        std::uint8_t label_size;
        std::uint8_t slots_at;  // in units of 8 octets
    };
    static_assert(sizeof(node) == 8);

    /// The rest that is not in the tree yet.
    struct draft {
        draft() = default;
        ~draft() { destroy(top); }
        draft(const draft &) = delete;
        draft &operator=(const draft &) = delete;
        slot release() noexcept { return std::exchange(top, slot()); }

        slot top;
    };

    static bool make(slot &out, byte_span label, Value value, const node *branches,
                     std::size_t capacity) noexcept;
    static void make_or_throw(slot &out, byte_span label, Value value, const node *branches,
                              std::size_t capacity) {
        if (!make(out, label, value, branches, capacity))
            throw std::bad_alloc();
    }
    static void make_path(slot &out, byte_span key);
    static void free_block(slot at) noexcept {
        if (node *n = at.get_if())
            ::operator delete(n);
    }
    static void destroy(slot top) noexcept;

    static std::size_t wider(const node *n, std::size_t label_size) noexcept;
    static bool resize(slot &at, std::size_t capacity) noexcept;
    static void add_path(slot &at, std::size_t common, byte_span rest);
    static void split(slot &at, std::size_t common, std::size_t capacity);
    static void drop(slot &parent, std::size_t at) noexcept;
    static void tidy(slot &at) noexcept;
    void tidy_root() noexcept;

    template <bool may_change, class Visit>
    static void walk(slot &root, Visit &&visit);

    slot root_;
};

// ---- one node ----

template <class Value>
inline typename prefix_tree<Value>::slot *
prefix_tree<Value>::node::branch_of(std::uint8_t octet) const noexcept {
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
prefix_tree<Value>::node::node(Value its_value, std::size_t its_label_size, std::size_t its_capacity) noexcept
    : value(its_value), count(0),
      room(static_cast<std::uint16_t>(its_capacity <= most_searched
                                          ? its_capacity
                                          : most_searched + (its_capacity - most_searched) / table_step)),
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
void prefix_tree<Value>::node::add(std::uint8_t octet, slot branch) noexcept {
    if (has_table())
        table()[octet] = static_cast<std::uint8_t>(count);
    firsts()[count] = octet;
    slots()[count] = branch;
    ++count;
}

/// The last branch takes its place.
template <class Value>
void prefix_tree<Value>::node::drop(std::size_t at) noexcept {
    --count;
    const std::uint8_t last = firsts()[count];
    if (has_table()) {
        table()[last] = static_cast<std::uint8_t>(at);
        table()[firsts()[at]] = absent;
    }
    firsts()[at] = last;
    slots()[at] = slots()[count];
}

/// Makes what stands for a label and a value, with the branches of another node or none, and room for some at least. False when
/// memory is short.
template <class Value>
bool prefix_tree<Value>::make(slot &out, byte_span label, Value value, const node *branches,
                              std::size_t capacity) noexcept {
    if (capacity == 0 && label.size() <= longest_leaf_label) {
        out = slot(label, value);
        return true;
    }
    if (capacity > most_searched)
        capacity = (capacity + table_step - 1) / table_step * table_step;
    void *block = ::operator new(node::block_size(label.size(), capacity), std::nothrow);
    if (!block)
        return false;
    node *n = new (block) node(value, label.size(), capacity);
    std::copy(label.begin(), label.end(), n->label());
    for (std::size_t i = 0; branches && i < branches->count; ++i)
        n->add(branches->firsts()[i], branches->slots()[i]);
    out = slot(n);
    return true;
}

/// Makes what stands for a new key: a leaf, below as many nodes with one branch as its length needs.
template <class Value>
void prefix_tree<Value>::make_path(slot &out, byte_span key) {
    draft made;
    slot *at = &made.top;
    while (key.size() > longest_label) {
        make_or_throw(*at, key.first(longest_label), Value{}, nullptr, 1);
        node *n = at->get();
        n->add(key[longest_label], slot());
        at = n->slots();
        key = key.subspan(longest_label + 1);
    }
    make_or_throw(*at, key, Value{}, nullptr, 0);
    out = made.release();
}

/// On the way down, the slot of the branch in hand keeps the way up.
template <class Value>
void prefix_tree<Value>::destroy(slot top) noexcept {
    node *above = nullptr;
    for (node *n = top.get_if(); n;) {
        if (n->count > 0) {
            slot &last = n->slots()[n->count - 1];
            if (last.is_leaf()) {
                --n->count;
            } else {
                node *below = last.get();
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

// ---- changes ----

/// The capacity to have when one more branch needs room: a quarter more, and what the allocator would round up to.
template <class Value>
std::size_t prefix_tree<Value>::wider(const node *n, std::size_t label_size) noexcept {
    constexpr std::size_t granule = 16, overhead = 8;
    const std::size_t count = n ? n->count : 0;
    std::size_t capacity = count + std::max<std::size_t>(1, count / 4);
    if (count >= most_searched)
        return std::min(capacity, table_size);
    capacity = std::min(capacity, most_searched);
    const std::size_t block =
        (node::block_size(label_size, capacity) + overhead + granule - 1) / granule * granule - overhead;
    while (capacity < most_searched && node::block_size(label_size, capacity + 1) <= block)
        ++capacity;
    return capacity;
}

template <class Value>
bool prefix_tree<Value>::resize(slot &at, std::size_t capacity) noexcept {
    slot fresh;
    if (!make(fresh, at.label(), at.value(), at.get_if(), capacity))
        return false;
    free_block(at);
    at = fresh;
    return true;
}

template <class Value>
Value &prefix_tree<Value>::insert(byte_span key) {
    if (root_.is_vacant()) {
        slot fresh;
        make_path(fresh, key);
        destroy(std::exchange(root_, fresh));
    }
    for (slot *at = &root_;;) {
        const byte_span label = at->label();
        const std::size_t most = std::min(label.size(), key.size());
        const auto common = static_cast<std::size_t>(
            std::mismatch(label.begin(), label.begin() + static_cast<std::ptrdiff_t>(most), key.begin())
                .first -
            label.begin());
        const byte_span rest = key.subspan(common);
        if (common == label.size()) {
            if (rest.empty())
                return at->value();
            const node *n = at->get_if();
            if (slot *branch = n ? n->branch_of(rest[0]) : nullptr) {
                at = branch;
                key = rest.subspan(1);
                continue;
            }
        }
        add_path(*at, common, rest);
    }
}

/// Adds what a new key needs where it leaves the tree: behind so many octets of a label, with so many of its own.
template <class Value>
void prefix_tree<Value>::add_path(slot &at, std::size_t common, byte_span rest) {
    draft path;
    if (!rest.empty())
        make_path(path.top, rest.subspan(1));
    const node *n = at.get_if();
    if (common < at.label().size())
        split(at, common, rest.empty() ? 1 : 2);
    else if ((!n || n->count == n->capacity()) && !resize(at, wider(n, common)))
        throw std::bad_alloc();
    if (!rest.empty())
        at.get()->add(rest[0], path.release());
}

/// Puts a node for the first `common` octets of a label above what has the label.
template <class Value>
void prefix_tree<Value>::split(slot &at, std::size_t common, std::size_t capacity) {
    const byte_span label = at.label();
    slot upper, lower;
    make_or_throw(upper, label.first(common), Value{}, nullptr, capacity);
    if (!make(lower, label.subspan(common + 1), at.value(), at.get_if(), at.count())) {
        free_block(upper);
        throw std::bad_alloc();
    }
    upper.get()->add(label[common], lower);
    free_block(at);
    at = upper;
}

/// Removes a branch that is freed already.
template <class Value>
void prefix_tree<Value>::drop(slot &parent, std::size_t at) noexcept {
    node *n = parent.get();
    n->drop(at);
    if (n->count * std::size_t{2} <= n->capacity())
        (void)resize(parent, n->count);  // or else the old memory serves as well
}

/// Lets the only branch of a node without a value take the node's place, unless the label got too long.
template <class Value>
void prefix_tree<Value>::tidy(slot &at) noexcept {
    if (at.count() != 1 || !at.value().is_empty())
        return;
    slot &lower = at.get()->slots()[0];
    const byte_span head = at.label(), tail = lower.label();
    const std::size_t size = head.size() + 1 + tail.size();
    if (size > longest_label)
        return;
    std::uint8_t label[longest_label];
    std::copy(head.begin(), head.end(), label);
    label[head.size()] = at.get()->firsts()[0];
    std::copy(tail.begin(), tail.end(), label + head.size() + 1);
    slot joined;
    if (!make(joined, byte_span(label, size), lower.value(), lower.get_if(), lower.count()))
        return;
    free_block(lower);
    free_block(at);
    at = joined;
}

template <class Value>
void prefix_tree<Value>::tidy_root() noexcept {
    if (root_.is_vacant())
        destroy(std::exchange(root_, slot()));
    else
        tidy(root_);
}

template <class Value>
void prefix_tree<Value>::prune(byte_span key) noexcept {
    slot *at = &root_;
    slot *kept =
        nullptr;  // the deepest above the key that stays without it, and the branch that leads to the key
    std::size_t branch = 0;
    for (;;) {
        const byte_span label = at->label();
        if (label.size() > key.size() || !are_equal(label.data(), key.data(), label.size()))
            return;
        key = key.subspan(label.size());
        if (key.empty())
            break;
        const node *n = at->get_if();
        slot *below = n ? n->branch_of(key[0]) : nullptr;
        if (!below)
            return;
        if (!kept || n->count > 1 || !n->value.is_empty()) {
            kept = at;
            branch = static_cast<std::size_t>(below - n->slots());
        }
        at = below;
        key = key.subspan(1);
    }
    if (kept && at->is_vacant()) {
        destroy(kept->get()->slots()[branch]);
        drop(*kept, branch);
        at = kept;
    }
    if (at == &root_)
        tidy_root();
    else
        tidy(*at);
}

template <class Value>
template <bool may_change, class Visit>
void prefix_tree<Value>::walk(slot &root, Visit &&visit) {
    struct step {
        slot *at;
        std::size_t key_size;  // above it
        std::size_t next = 0;  // the branch to visit next
    };
    std::vector<std::uint8_t> key;
    std::vector<step> path{{&root, 0}};
    bool goes_on = true;
    for (bool is_new = true;;) {
        slot &at = *path.back().at;
        if (is_new) {
            const byte_span label = at.label();
            key.insert(key.end(), label.begin(), label.end());
        }
        if (goes_on && path.back().next < at.count()) {
            const std::size_t next = path.back().next;
            path.push_back({at.get()->slots() + next, key.size()});
            key.push_back(at.get()->firsts()[next]);
            is_new = true;
            continue;
        }
        if (goes_on && !at.value().is_empty())
            goes_on = visit(byte_span(key), at.value());
        key.resize(path.back().key_size);
        path.pop_back();
        if (path.empty())
            return;
        is_new = false;
        if constexpr (may_change) {
            if (at.is_vacant()) {
                free_block(at);
                drop(*path.back().at, path.back().next);
                continue;
            }
            tidy(at);
        }
        ++path.back().next;
    }
}

}  // namespace zlink
