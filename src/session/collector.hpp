// Lets small messages come together before the I/O thread writes them.
//
// A write costs some 5 µs whatever is in it. A stream whose messages come a microsecond or so apart goes out a few at a time, then: the
// I/O thread takes a processor for itself, and the reader is disturbed for every few messages. Once that is seen, the
// connection is left alone for a moment after each write, as long as enough comes together in it.
// Threads:  the I/O thread's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/patience.hpp"
#include "core/waiter.hpp"

namespace zlink {

class collector {
public:
    /// From one write to the next, while it collects.
    static constexpr std::chrono::microseconds interval{50};

    /// After a write that began at about `now`. True: to be written again after `interval`, and not before.
    bool note_write(time_point now, std::size_t octets, std::uint64_t messages) noexcept {
        if (is_collecting_) {
            is_collecting_ = messages >= fewest_messages && octets <= most_octets;
            patience_.note(messages >= fewest_messages);
            return is_collecting_;
        }
        if (octets > small_write || now - last_ >= in_a_row)
            small_writes_ = 0;
        last_ = now;
        small_writes_ += octets <= small_write;
        if (small_writes_ == small_writes_of_stream) {
            small_writes_ = 0;
            is_collecting_ = !patience_.is_left_out();
        }
        return is_collecting_;
    }
    /// There was nothing to write.
    void stop() noexcept {
        if (std::exchange(is_collecting_, false))
            patience_.note(false);
        small_writes_ = 0;
    }

private:
    static constexpr std::size_t small_write = 4 * 1024;
    static constexpr std::chrono::microseconds in_a_row{25};
    static constexpr unsigned small_writes_of_stream = 4;
    static constexpr std::uint64_t fewest_messages = 16;  // in an interval
    static constexpr std::size_t most_octets = 32 * 1024;

    time_point last_{};
    patience patience_;
    unsigned small_writes_ = 0;  // in a row
    bool is_collecting_ = false;
};

}  // namespace zlink
