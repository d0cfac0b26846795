// Which pipes subscribe to which topics: what a publisher matches each message against.
//
// A pipe is there once for a topic however often it subscribes. Matching walks the first octets of a message once.
// Threads:  the socket's application thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/prefix_tree.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// Pipes in the order they were attached to their socket. One takes no memory of its own.
class pipe_set {
public:
    pipe_set() noexcept : one_(nullptr) {}
    ~pipe_set() {
        if (capacity_ > 0)
            delete[] many_;
    }
    pipe_set(const pipe_set &) = delete;
    pipe_set &operator=(const pipe_set &) = delete;

    bool is_empty() const noexcept { return count_ == 0; }
    pipe_end *const *begin() const noexcept { return capacity_ > 0 ? many_ : &one_; }
    pipe_end *const *end() const noexcept { return begin() + count_; }

    /// False when it was there. Throws bad_alloc.
    bool add(pipe_end &pipe);
    /// False when it was not there.
    bool remove(pipe_end &pipe) noexcept;

private:
    union {
        pipe_end *one_;
        pipe_end **many_;  // when capacity_ is not 0
    };
    std::uint32_t count_ = 0;
    std::uint32_t capacity_ = 0;
};

class subscriptions {
public:
    enum class addition { first, another, repeated };
    enum class removal { unknown, others_remain, last };

    /// Whether the topic is new, or others subscribe to it, or this very pipe does. Throws bad_alloc.
    addition add(byte_span topic, pipe_end &pipe);
    removal remove(byte_span topic, pipe_end &pipe) noexcept;
    /// Removes a pipe from all its topics: calls `f(byte_span topic, bool was_last)` for each.
    template <class F>
    void remove_all(pipe_end &pipe, F &&f) {
        const auto known = counts_.find(&pipe);
        if (known == counts_.end())
            return;
        std::size_t left = known->second;
        counts_.erase(known);
        tree_.sweep([&](byte_span topic, pipe_set &pipes) {
            if (pipes.remove(pipe)) {
                --left;
                topics_ -= pipes.is_empty();
                f(topic, pipes.is_empty());
            }
            return left > 0;
        });
    }
    /// Calls `f(pipe_end &)` for each pipe with a topic that `text` begins with; more than once for several topics.
    template <class F>
    void match(byte_span text, F &&f) const {
        tree_.match(text, [&](const pipe_set &pipes) {
            for (pipe_end *pipe : pipes)
                f(*pipe);
            return true;
        });
    }
    /// The number of distinct topics.
    std::size_t topics() const noexcept { return topics_; }

private:
    prefix_tree<pipe_set> tree_;
    std::size_t topics_ = 0;
    std::unordered_map<pipe_end *, std::size_t> counts_;  // topics of each pipe
};

}  // namespace zlink
