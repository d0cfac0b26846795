// Lets small messages come together before the I/O thread writes them.
//
// A write costs some 5 µs whatever is in it. A stream whose messages come a microsecond or so apart
// goes out a few at a time, then: the I/O thread takes a processor for itself, and the reader is
// disturbed for every few messages. Once that is seen, the connection is left alone for a moment
// after each write, as long as enough comes together in it.
// Threads:  the I/O thread's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/patience.hpp"
#include "core/waiter.hpp"

namespace zlink {

class collector {
public:
    /// After a write, or several, that took all there was. True: to be left alone until due().
    /// `now`: when that began.
    bool note_written(time_point now, std::size_t octets, std::uint64_t messages) noexcept {
        octets_ += octets;
        messages_ += messages;
        if (is_collecting(now))
            return true;
        if (is_collecting_) {
            const bool is_enough = messages_ >= fewest_messages;
            patience_.note(is_enough);
            is_collecting_ = is_enough && octets_ <= most_octets;
        } else {
            small_writes_ = octets > small_write ? 0 : now - at_ < in_a_row ? small_writes_ + 1 : 1;
            if (small_writes_ == small_writes_of_stream) {
                small_writes_ = 0;
                is_collecting_ = !patience_.take_skip();
            }
        }
        at_ = is_collecting_ ? now + interval : now;
        octets_ = messages_ = 0;
        return is_collecting_;
    }
    /// There was nothing to write. True as for note_written().
    bool note_nothing(time_point now) noexcept {
        if (is_collecting(now))
            return true;
        if (is_collecting_)
            patience_.note(false);
        stop();
        return false;
    }
    void stop() noexcept {
        is_collecting_ = false;
        small_writes_ = 0;
        octets_ = messages_ = 0;
    }
    time_point due() const noexcept { return at_; }

private:
    static constexpr std::chrono::microseconds interval{50};
    static constexpr std::size_t small_write = 4 * 1024;
    static constexpr std::chrono::microseconds in_a_row{25};
    static constexpr unsigned small_writes_of_stream = 4;
    static constexpr std::uint64_t fewest_messages = 16;  // in an interval
    static constexpr std::size_t most_octets = 32 * 1024;

    bool is_collecting(time_point now) const noexcept { return is_collecting_ && now < at_; }

    time_point at_{};  // of the last write; while it collects, of the next
    patience patience_;
    std::size_t octets_ = 0;  // since then
    std::uint64_t messages_ = 0;
    std::uint8_t small_writes_ = 0;  // in a row
    bool is_collecting_ = false;
};

}  // namespace zlink
