// One direction of a pipe that keeps the newest message only (ZMQ_CONFLATE).
//
// Threads:  keep(), forget(), note_pending(), has_pending() and publish() on the writer's; take()
//           on the reader's; is_full(), count() and claim() on any.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/bytes.hpp"
#include "pipe/account.hpp"

namespace zlink {

class conflated_slot {
public:
    void keep(byte_span body) { pending_.assign(body.begin(), body.end()); }
    void forget() noexcept { has_pending_ = false; }
    void note_pending() noexcept {
        passed_over_ += has_pending_;
        has_pending_ = true;
    }
    bool has_pending() const noexcept { return has_pending_; }

    void publish() noexcept {
        std::lock_guard guard(mutex_);
        newest_.swap(pending_);
        published_ += 1 + passed_over_;
        replaced_ += passed_over_ + is_full_;
        passed_over_ = 0;
        is_full_ = true;
        has_pending_ = false;
    }
    bool is_full() noexcept {
        std::lock_guard guard(mutex_);
        return is_full_;
    }
    void count(passage &to) noexcept {
        std::lock_guard guard(mutex_);
        to.published.messages = published_;
        to.replaced = replaced_;
        to.taken.messages = published_ - replaced_ - claimed_ - (is_full_ ? 1 : 0);
    }
    /// Takes away what nobody reads any more: how many messages that was.
    std::uint64_t claim() noexcept {
        std::lock_guard guard(mutex_);
        const std::uint64_t lost = is_full_ ? 1 : 0;
        is_full_ = false;
        claimed_ += lost;
        return lost;
    }
    bool take(byte_span &out) noexcept {
        std::lock_guard guard(mutex_);
        if (!is_full_)
            return false;
        taken_.swap(newest_);
        is_full_ = false;
        out = taken_;
        return true;
    }

private:
    std::vector<std::uint8_t> pending_;  // writer only
    bool has_pending_ = false;           // writer only
    std::uint64_t passed_over_ = 0;      // writer only: kept, and not published before the next one
    std::vector<std::uint8_t> taken_;    // reader only
    std::mutex mutex_;                   // guards the rest
    std::vector<std::uint8_t> newest_;
    bool is_full_ = false;
    std::uint64_t published_ = 0;
    std::uint64_t replaced_ = 0;
    std::uint64_t claimed_ = 0;
};

}  // namespace zlink
