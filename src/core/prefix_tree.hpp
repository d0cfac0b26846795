// A map from octet strings to values that finds all keys a text begins with: topics, on both sides
// of publish-subscribe.
//
// Layout:   a radix tree. A node stands for the octets that lead to it from its parent, however
//           many up to a limit; but for keys too long for one node, only branchings and keys have
//           nodes. The octet that chooses a branch is in the parent, the rest of the label in the
//           child. The blocks of nodes are in prefix_node.hpp.
// Limits:   nothing here recurses, so the length of a key costs memory and no stack. Labels are
//           short, and so is what splitting and joining them copies. Nodes do not know their
//           parents.
// Threads:  const functions may run at the same time as each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "core/prefix_node.hpp"

namespace zlink {

/// `Value` is made of 4 octets, default constructible, and `is_empty()` when there is nothing to
/// keep its key for. The value that insert() and find() return stays where it is until the tree
/// changes.
template <class Value>
class prefix_tree {
    static_assert(sizeof(Value) == 4 && alignof(Value) <= 4 && std::is_trivially_copyable_v<Value>);

public:
    prefix_tree() = default;
    ~prefix_tree() { node::destroy(root_); }
    prefix_tree(const prefix_tree &) = delete;
    prefix_tree &operator=(const prefix_tree &) = delete;

    /// The value of a key, made empty when the key is new. Throws bad_alloc, and then the tree is
    /// as it was.
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
            __builtin_prefetch(n->octets() + node::cache_line);  // the slots
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
    /// Calls `visit(byte_span key, Value &)` for each key, until it returns false. Keys whose value
    /// it empties go. Throws bad_alloc and what `visit` throws; then the rest was not visited.
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
    using node = prefix_node<Value>;
    using slot = prefix_slot<Value>;
    static_assert(sizeof(node) == 8 && sizeof(slot) == 8);

    /// The rest that is not in the tree yet.
    struct draft {
        draft() = default;
        ~draft() { node::destroy(top); }
        draft(const draft &) = delete;
        draft &operator=(const draft &) = delete;
        slot release() noexcept { return std::exchange(top, slot()); }

        slot top;
    };

    static void make_or_throw(slot &out, byte_span label, Value value, const node *branches,
                              std::size_t capacity) {
        if (!node::make(out, label, value, branches, capacity))
            throw std::bad_alloc();
    }
    static void make_path(slot &out, byte_span key);
    static void add_path(slot &at, std::size_t common, byte_span rest);
    static void split(slot &at, std::size_t common, std::size_t capacity);
    static void drop(slot &parent, std::size_t at) noexcept;
    static void tidy(slot &at) noexcept;
    void tidy_root() noexcept;

    template <bool may_change, class Visit>
    static void walk(slot &root, Visit &&visit);

    slot root_;
};

/// Makes what stands for a new key: a leaf, below as many nodes with one branch as its length
/// needs.
template <class Value>
void prefix_tree<Value>::make_path(slot &out, byte_span key) {
    draft made;
    slot *at = &made.top;
    while (key.size() > node::longest_label) {
        make_or_throw(*at, key.first(node::longest_label), Value{}, nullptr, 1);
        node *n = at->get();
        n->add_first(key[node::longest_label], slot());
        at = n->slots();
        key = key.subspan(node::longest_label + 1);
    }
    make_or_throw(*at, key, Value{}, nullptr, 0);
    out = made.release();
}

// ---- changes ----

template <class Value>
Value &prefix_tree<Value>::insert(byte_span key) {
    if (root_.is_vacant()) {
        slot fresh;
        make_path(fresh, key);
        node::destroy(std::exchange(root_, fresh));
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

/// Adds what a new key needs where it leaves the tree: behind so many octets of a label, with so
/// many of its own.
template <class Value>
void prefix_tree<Value>::add_path(slot &at, std::size_t common, byte_span rest) {
    draft path;
    if (!rest.empty())
        make_path(path.top, rest.subspan(1));
    const node *n = at.get_if();
    if (common < at.label().size())
        split(at, common, rest.empty() ? 1 : 2);
    else if ((!n || n->count == n->capacity()) && !node::resize(at, node::wider(n, common)))
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
    if (!node::make(lower, label.subspan(common + 1), at.value(), at.get_if(), at.count())) {
        node::free_block(upper);
        throw std::bad_alloc();
    }
    upper.get()->add(label[common], lower);
    node::free_block(at);
    at = upper;
}

/// Removes a branch that is freed already.
template <class Value>
void prefix_tree<Value>::drop(slot &parent, std::size_t at) noexcept {
    node *n = parent.get();
    n->drop(at);
    if (n->count * std::size_t{2} <= n->capacity())
        (void)node::resize(parent, n->count);  // or else the old memory serves as well
}

/// Lets the only branch of a node without a value take the node's place, unless the label got too
/// long.
template <class Value>
void prefix_tree<Value>::tidy(slot &at) noexcept {
    if (at.count() != 1 || !at.value().is_empty())
        return;
    slot &lower = at.get()->slots()[0];
    const byte_span head = at.label(), tail = lower.label();
    const std::size_t size = head.size() + 1 + tail.size();
    if (size > node::longest_label)
        return;
    std::uint8_t label[node::longest_label];
    std::copy(head.begin(), head.end(), label);
    label[head.size()] = at.get()->firsts()[0];
    std::copy(tail.begin(), tail.end(), label + head.size() + 1);
    slot joined;
    if (!node::make(joined, byte_span(label, size), lower.value(), lower.get_if(), lower.count()))
        return;
    node::free_block(lower);
    node::free_block(at);
    at = joined;
}

template <class Value>
void prefix_tree<Value>::tidy_root() noexcept {
    if (root_.is_vacant())
        node::destroy(std::exchange(root_, slot()));
    else
        tidy(root_);
}

template <class Value>
void prefix_tree<Value>::prune(byte_span key) noexcept {
    slot *at = &root_;
    // The deepest above the key that stays without it, and the branch that leads to the key.
    slot *kept = nullptr;
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
        node::destroy(kept->get()->slots()[branch]);
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
                node::free_block(at);
                drop(*path.back().at, path.back().next);
                continue;
            }
            tidy(at);
        }
        ++path.back().next;
    }
}

}  // namespace zlink
