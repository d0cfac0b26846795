// A map from octet strings to values that finds all keys a text begins with: topics, on both sides of publish-subscribe.
//
// Layout:   a radix tree. A node stands for the octets that lead to it from its parent, however many; only branchings and
//           keys have nodes. A branch is found by its first octet.
// Limits:   nothing here recurses, so the length of a key costs memory and no stack. Splitting a label copies no more octets
//           than the new key has; labels are joined again only while they are short.
// Threads:  const functions may run at the same time as each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/bytes.hpp"

namespace zlink {

/// `Value` is default constructible, and `is_empty()` when there is nothing to keep its key for.
template <class Value>
class prefix_tree {
public:
    prefix_tree() = default;
    ~prefix_tree();
    prefix_tree(const prefix_tree &) = delete;
    prefix_tree &operator=(const prefix_tree &) = delete;

    /// The value of a key, made empty when the key is new. Throws bad_alloc.
    Value &insert(byte_span key);
    Value *find(byte_span key) noexcept {
        node *n = find_node(key);
        return n ? &n->value : nullptr;
    }
    /// Call after the value of a key became empty.
    void prune(byte_span key) noexcept;

    /// Calls `visit(const Value &)` for each key that `text` begins with, until it returns false.
    template <class Visit>
    void match(byte_span text, Visit &&visit) const {
        const node *n = &root_;
        const std::uint8_t *p = text.data();
        std::size_t left = text.size();
        for (;;) {
            if (!n->value.is_empty() && !visit(n->value))
                return;
            if (left == 0 || !(n = n->branch_of(*p)) || n->size > left ||
                std::memcmp(n->label(), p, n->size) != 0)
                return;
            p += n->size;
            left -= n->size;
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
    /// Calls `visit(byte_span key, Value &)` for each key, until it returns false. Keys whose value it empties go.
    template <class Visit>
    void sweep(Visit &&visit);
    /// Calls `visit(byte_span key, const Value &)` for each key.
    template <class Visit>
    void for_each(Visit &&visit) const {
        const_cast<prefix_tree *>(this)->sweep([&](byte_span key, const Value &value) {
            visit(key, value);
            return true;
        });
    }

private:
    static constexpr std::size_t longest_joined_label = 1024;

    struct node {
        ~node() { delete[] branches; }

        const std::uint8_t *label() const noexcept { return memory.get() + offset; }
        void set_label(const std::uint8_t *octets, std::size_t count) {
            memory.reset(new std::uint8_t[count]);
            std::memcpy(memory.get(), octets, count);
            size = count;
        }
        /// Drops the first octets of the label; copies what is left when that frees at least as much.
        void trim(std::size_t octets) noexcept {
            offset += octets;
            size -= octets;
            if (size > offset)
                return;
            if (std::uint8_t *fresh = new (std::nothrow) std::uint8_t[size]) {
                std::memcpy(fresh, label(), size);
                memory.reset(fresh);
                offset = 0;
            }
        }
        // The first octets of the branches stand behind the pointers, in the same order.
        std::uint8_t *keys() const noexcept { return reinterpret_cast<std::uint8_t *>(branches + capacity); }
        int index_of(std::uint8_t octet) const noexcept {
            if (count == 0)
                return -1;
            const void *at = std::memchr(keys(), octet, count);
            return at ? static_cast<int>(static_cast<const std::uint8_t *>(at) - keys()) : -1;
        }
        node *branch_of(std::uint8_t octet) const noexcept {
            const int at = index_of(octet);
            return at < 0 ? nullptr : branches[at];
        }
        void resize_branches(std::uint16_t new_capacity);
        void add(node *branch);
        void drop(std::size_t at) noexcept;

        node *parent = nullptr;
        std::unique_ptr<std::uint8_t[]> memory;
        std::size_t offset = 0;  // the label begins here in memory
        std::size_t size = 0;
        node **branches = nullptr;
        std::uint16_t count = 0;
        std::uint16_t capacity = 0;
        Value value{};
    };

    node *find_node(byte_span key) noexcept;
    node *split(node *parent, std::size_t at, std::size_t common);
    void join(node *n) noexcept;

    node root_;
};

template <class Value>
prefix_tree<Value>::~prefix_tree() {
    node *n = &root_;
    for (;;) {
        if (n->count > 0) {
            n = n->branches[--n->count];
            continue;
        }
        if (n == &root_)
            return;
        delete std::exchange(n, n->parent);
    }
}

template <class Value>
void prefix_tree<Value>::node::resize_branches(std::uint16_t new_capacity) {
    const std::size_t slots_for_keys = (new_capacity + sizeof(node *) - 1) / sizeof(node *);
    node **fresh = new_capacity ? new node *[new_capacity + slots_for_keys] : nullptr;
    if (count > 0) {
        std::memcpy(fresh, branches, count * sizeof(node *));
        std::memcpy(fresh + new_capacity, keys(), count);
    }
    delete[] branches;
    branches = fresh;
    capacity = new_capacity;
}

template <class Value>
void prefix_tree<Value>::node::add(node *branch) {
    if (count == capacity)
        resize_branches(static_cast<std::uint16_t>(capacity ? capacity * 2 : 1));
    branches[count] = branch;
    keys()[count] = branch->label()[0];
    ++count;
    branch->parent = this;
}

template <class Value>
void prefix_tree<Value>::node::drop(std::size_t at) noexcept {
    --count;
    branches[at] = branches[count];
    keys()[at] = keys()[count];
    if (count * 4 > capacity)
        return;
    try {
        resize_branches(count);
    } catch (const std::bad_alloc &) {
        // The old memory serves as well.
    }
}

template <class Value>
typename prefix_tree<Value>::node *prefix_tree<Value>::find_node(byte_span key) noexcept {
    node *n = &root_;
    while (!key.empty()) {
        n = n->branch_of(key[0]);
        if (!n || n->size > key.size() || std::memcmp(n->label(), key.data(), n->size) != 0)
            return nullptr;
        key = key.subspan(n->size);
    }
    return n;
}

template <class Value>
Value &prefix_tree<Value>::insert(byte_span key) {
    node *n = &root_;
    while (!key.empty()) {
        const int at = n->index_of(key[0]);
        if (at < 0) {
            auto leaf = std::make_unique<node>();
            leaf->set_label(key.data(), key.size());
            n->add(leaf.get());
            return leaf.release()->value;
        }
        node *branch = n->branches[at];
        const std::uint8_t *label = branch->label();
        const std::size_t most = std::min(branch->size, key.size());
        const auto common =
            static_cast<std::size_t>(std::mismatch(label, label + most, key.data()).first - label);
        if (common < branch->size)
            branch = split(n, static_cast<std::size_t>(at), common);
        key = key.subspan(common);
        n = branch;
    }
    return n->value;
}

/// Puts a node for the first `common` octets between a node and its branch.
template <class Value>
typename prefix_tree<Value>::node *prefix_tree<Value>::split(node *parent, std::size_t at,
                                                             std::size_t common) {
    node *lower = parent->branches[at];
    auto upper = std::make_unique<node>();
    upper->set_label(lower->label(), common);
    upper->resize_branches(2);
    lower->trim(common);
    upper->add(lower);
    upper->parent = parent;
    return parent->branches[at] = upper.release();
}

/// Lets the only branch of a node without a value take the node's place; the node is gone unless the label got too long.
template <class Value>
void prefix_tree<Value>::join(node *n) noexcept {
    node *lower = n->branches[0];
    const std::size_t whole = n->size + lower->size;
    if (whole > longest_joined_label)
        return;
    std::unique_ptr<std::uint8_t[]> label(new (std::nothrow) std::uint8_t[whole]);
    if (!label)
        return;
    std::memcpy(label.get(), n->label(), n->size);
    std::memcpy(label.get() + n->size, lower->label(), lower->size);
    lower->memory = std::move(label);
    lower->offset = 0;
    lower->size = whole;
    lower->parent = n->parent;
    n->parent->branches[n->parent->index_of(lower->label()[0])] = lower;
    n->count = 0;
    delete n;
}

template <class Value>
void prefix_tree<Value>::prune(byte_span key) noexcept {
    node *n = find_node(key);
    if (!n)
        return;
    while (n != &root_ && n->value.is_empty()) {
        if (n->count > 0) {
            if (n->count == 1)
                join(n);
            return;
        }
        node *parent = n->parent;
        parent->drop(static_cast<std::size_t>(parent->index_of(n->label()[0])));
        delete n;
        n = parent;
    }
}

template <class Value>
template <class Visit>
void prefix_tree<Value>::sweep(Visit &&visit) {
    std::vector<std::uint8_t> key;
    std::vector<std::uint16_t> next{0};  // for each node down to this one, the branch to visit next
    bool goes_on = true;
    for (node *n = &root_;;) {
        if (goes_on && next.back() < n->count) {
            n = n->branches[next.back()];
            key.insert(key.end(), n->label(), n->label() + n->size);
            next.push_back(0);
            continue;
        }
        if (goes_on && !n->value.is_empty())
            goes_on = visit(byte_span(key), n->value);
        if (n == &root_)
            return;
        node *parent = n->parent;
        next.pop_back();
        key.resize(key.size() - n->size);
        if (n->value.is_empty() && n->count == 0) {
            parent->drop(next.back());
            delete n;
        } else {
            if (n->value.is_empty() && n->count == 1)
                join(n);
            ++next.back();
        }
        n = parent;
    }
}

}  // namespace zlink
