// Which pipes subscribe to which topics: what a publisher matches each message against.
//
// A pipe is there once for a topic however often it subscribes. Matching walks the first octets of
// a message once.
// Layout:   a topic has 4 octets in the tree: the number of its pipe, or of a set of pipes when it
//           has several. A pipe with a small part of all subscriptions has a list of its topics, so
//           that what it costs to remove it depends on these; for others, of which there are few,
//           the tree is swept.
// Failure:  a pipe that goes is never matched again. Topics it could not be removed from, because
//           memory was short, are left to the next removal.
// Threads:  the socket's application thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/prefix_tree.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// Things with a number each, which stays the same; those of things that went are given again.
template <class Thing>
class numbered {
public:
    Thing &operator[](std::uint32_t number) noexcept { return things_[number]; }
    const Thing &operator[](std::uint32_t number) const noexcept { return things_[number]; }

    /// Throws bad_alloc.
    std::uint32_t add(Thing thing) {
        if (free_.empty()) {
            if (things_.size() == things_.capacity()) {
                const std::size_t more = std::max<std::size_t>(4, things_.size() * 2);
                free_.reserve(more);
                things_.reserve(more);
            }
            things_.push_back(std::move(thing));
            return static_cast<std::uint32_t>(things_.size() - 1);
        }
        const std::uint32_t number = free_.back();
        things_[number] = std::move(thing);
        free_.pop_back();
        return number;
    }
    void remove(std::uint32_t number) noexcept {
        things_[number] = Thing();
        free_.push_back(number);
        if (free_.size() < things_.size())
            return;
        things_ = {};
        free_ = {};
    }

private:
    std::vector<Thing> things_;
    std::vector<std::uint32_t> free_;  // has room for all
};

class subscriptions {
public:
    /// `is_told`: the slot of each pipe says how many it has.
    explicit subscriptions(bool is_told = false) noexcept : is_told_(is_told) {}

    enum class addition { first, another, repeated };
    enum class removal { unknown, others_remain, last };

    /// Whether the topic is new, or others subscribe to it, or this very pipe does. Throws
    /// bad_alloc.
    addition add(byte_span topic, pipe_end &pipe);
    removal remove(byte_span topic, pipe_end &pipe) noexcept;
    /// Removes a pipe from all its topics: calls `f(byte_span topic, bool was_last)` for each.
    /// Throws bad_alloc and what `f` throws; call it again, then, with an `f` that does not.
    template <class F>
    void remove_all(pipe_end &pipe, F &&f) {
        const std::uint32_t number = leave(pipe);
        if (number != no_pipe) {
            const topic_list own = std::move(pipes_[number].own);
            own.for_each([&](byte_span topic) {
                receivers *those = tree_.find(topic);
                if (left_behind_ == 0 || !those || those->is_empty())
                    return;
                if (!remove_gone_one(*those, number))
                    return;
                const bool was_last = those->is_empty();
                topics_ -= was_last;
                if (was_last)
                    tree_.prune(topic);
                f(topic, was_last);
            });
        }
        if (left_behind_ == 0)
            return;
        tree_.sweep([&](byte_span topic, receivers &those) {
            const bool was_there = remove_gone(those, number);
            topics_ -= those.is_empty();
            if (was_there)
                f(topic, those.is_empty());
            return left_behind_ > 0;
        });
    }
    /// Calls `f(pipe_end &)` for each pipe with a topic that `text` begins with; more than once for
    /// several topics. Pipes of one topic always come in the same order.
    template <class F>
    void match(byte_span text, F &&f) const {
        const auto visit = [&](std::uint32_t number) {
            if (pipe_end *pipe = pipes_[number].pipe)
                f(*pipe);
        };
        tree_.match(text, [&](const receivers &those) {
            if (__builtin_expect(those.is_one(), 1))
                visit(those.number());
            else
                std::for_each(sets_[those.number()].begin(), sets_[those.number()].end(), visit);
            return true;
        });
    }
    /// Whether match() would call.
    bool has_match(byte_span text) const noexcept {
        bool found = false;
        tree_.match(text, [&](const receivers &those) {
            const auto is_there = [this](std::uint32_t number) { return pipes_[number].pipe != nullptr; };
            found = those.is_one()
                        ? is_there(those.number())
                        : std::any_of(sets_[those.number()].begin(), sets_[those.number()].end(), is_there);
            return !found;
        });
        return found;
    }
    /// The number of distinct topics.
    std::size_t topics() const noexcept { return topics_; }
    /// The number of pipes that have a topic, and a peer.
    std::size_t peers() const noexcept {
        return static_cast<std::size_t>(std::count_if(
            numbers_.begin(), numbers_.end(), [](const auto &each) { return each.first->has_peer(); }));
    }

private:
    using pipe_set = std::vector<std::uint32_t>;  // in ascending order
    static constexpr std::uint32_t no_pipe = 0xffffffff;

    /// The topics that a pipe has, among others perhaps that it had.
    class topic_list {
    public:
        std::size_t size() const noexcept { return size_; }
        /// Throws bad_alloc; then the list is of no use any more.
        void add(byte_span topic) {
            const std::size_t length = topic.size();
            octets_.push_back(static_cast<char>(std::min(length, long_topic)));
            if (length >= long_topic)
                octets_.append(reinterpret_cast<const char *>(&length), sizeof length);
            octets_.append(as_text(topic));
            ++size_;
        }
        template <class F>
        void for_each(F &&f) const {
            for (std::size_t at = 0, length = 0; at < octets_.size(); at += length) {
                length = static_cast<std::uint8_t>(octets_[at++]);
                if (length == long_topic) {
                    std::memcpy(&length, octets_.data() + at, sizeof length);
                    at += sizeof length;
                }
                f(as_bytes(std::string_view(octets_).substr(at, length)));
            }
        }

    private:
        static constexpr std::size_t long_topic = 255;

        // For each its length, in an octet or in that and eight more, and the topic.
        std::string octets_;
        std::size_t size_ = 0;
    };
    struct member {
        pipe_end *pipe = nullptr;  // null when it is gone
        std::size_t topics = 0;
        topic_list own;
        bool is_listed = true;
    };

    /// Nobody, or the number of a pipe or of a set of pipes.
    class receivers {
    public:
        static receivers one(std::uint32_t pipe) noexcept { return receivers(pipe << 1 | 1); }
        static receivers several(std::uint32_t set) noexcept { return receivers((set + 1) << 1); }
        receivers() noexcept = default;

        bool is_empty() const noexcept { return value_ == 0; }
        bool is_one() const noexcept { return value_ & 1; }
        std::uint32_t number() const noexcept { return is_one() ? value_ >> 1 : (value_ >> 1) - 1; }

    private:
        explicit receivers(std::uint32_t value) noexcept : value_(value) {}

        std::uint32_t value_ = 0;
    };

    std::uint32_t number_of(pipe_end &pipe);
    void list(std::uint32_t number, byte_span topic) noexcept;
    void shorten_list(std::uint32_t number);
    bool has(const receivers &those, std::uint32_t pipe) const noexcept;
    bool add(receivers &those, std::uint32_t pipe);
    bool remove(receivers &those, std::uint32_t pipe) noexcept;
    void shrink(receivers &those) noexcept;
    std::uint32_t leave(pipe_end &pipe) noexcept;
    bool remove_gone(receivers &those, std::uint32_t number) noexcept;
    bool remove_gone_one(receivers &those, std::uint32_t number) noexcept;

    void tell(pipe_end &pipe, std::size_t topics) const noexcept {
        if (is_told_)
            pipe.slot.subscriptions.store(static_cast<std::uint32_t>(topics), std::memory_order_relaxed);
    }

    const bool is_told_;
    prefix_tree<receivers> tree_;
    std::size_t topics_ = 0;
    std::size_t all_ = 0;  // subscriptions of pipes that are there
    std::unordered_map<pipe_end *, std::uint32_t> numbers_;
    numbered<member> pipes_;  // those that have topics
    numbered<pipe_set> sets_;
    std::size_t left_behind_ = 0;  // topics of pipes that are gone
};

}  // namespace zlink
