// Whether a sender writes by itself or leaves it to the I/O thread.
//
// A message that finds the I/O thread asleep is written at once by its sender: that saves two
// hand-overs. Messages that follow each other faster than a write costs go out many at a time, from
// the I/O thread. The last moments decide: the time since the socket's last message that found a
// sleeper, how many were published since, and whether the sender had to wait in between, on this
// socket or, as one that has a PULL beside its PUSH, on another. A thread that has many sockets may
// be in a hurry though none of them is: it writes for a few in a row, and then only what a peer is
// likely to wait for. The first message of a burst is left to the I/O thread, too, which has to be
// woken for the others in any case: written at once it would cost a write, and the reader a wait,
// more.
// Threads:  the socket's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/patience.hpp"
#include "core/waiter.hpp"
#include "pipe/flow/spins.hpp"

namespace zlink {

class room_wait;

/// Whether the messages of one pipe come in bursts. It is a habit once sixteen messages in a row,
/// each written at once after a pause, were followed at once by another. The first message of the
/// next sixteen bursts is not written at once; then one is, to see again.
class burst_habit {
public:
    /// A message found a sleeper, at `now`; the last one of the socket that did, or its write, was
    /// `since` ago. `messages`: as in pace::allows(); `is_slow`: slower than a write. Whether it
    /// most likely begins a burst.
    bool begins_burst(std::uint32_t messages, time_point now, duration since, bool is_slow) noexcept {
        if (!is_slow) {
            was_followed_ = was_followed_ || now - written_ < longest_gap;
            return false;
        }
        if (since < shortest_pause)
            bursts_ /= 2;  // a sender that was interrupted, or one that has no pauses
        else if (is_habit() ? messages > 1 : was_followed_)
            ++bursts_;
        else
            bursts_ = 0;
        if (bursts_ == bursts_of_habit + bursts_left)
            bursts_ = bursts_of_habit - 1;
        was_followed_ = false;
        return is_habit();
    }
    /// A message of the pipe was written at once.
    void note_written(time_point when) noexcept { written_ = when; }

private:
    static constexpr std::uint8_t bursts_of_habit = 16;
    static constexpr std::uint8_t bursts_left = 16;
    static constexpr duration longest_gap = std::chrono::microseconds(2);      // in a burst
    static constexpr duration shortest_pause = std::chrono::microseconds(50);  // between two

    bool is_habit() const noexcept { return bursts_ >= bursts_of_habit; }

    time_point written_{};
    /// Seen without a message alone between them; from bursts_of_habit on those that were left,
    /// too.
    std::uint8_t bursts_ = 0;
    bool was_followed_ = false;
};

class pace {
public:
    pace(const clock_source &clock, waiter &how) noexcept : clock_(clock), how_(how) {}

    /// `messages` were published since the last one that found a sleeper. True: write the newest at
    /// once. `is_awaited`: the peer sent something, and has sent nothing since. `habit`: of the
    /// pipe.
    bool allows(std::uint32_t messages, burst_habit &habit, bool is_awaited = false) noexcept {
        begun_ = clock_.now();
        sending_thread &self = how_.this_thread();
        if (begun_ - self.last >= cost_)
            self.writes_without_pause = 0;
        const duration since = begun_ - ended_;
        const bool is_slow = since >= cost_ * messages;
        // Messages that come a little too fast take something off what a write is believed to cost.
        // Else nobody would find out that writes cost less by now, as those do that wake nobody.
        if (!is_slow && since >= least_cost * messages)
            cost_ -= (cost_ - least_cost) / 16;
        self.last = ended_ = begun_;
        const bool begins_burst = habit.begins_burst(messages, begun_, since, is_slow);
        // One to a wait: of several the others would follow, whoever has waited.
        const bool is_answer = self.has_waited && messages == 1;
        const bool is_lone = !begins_burst && (is_slow || is_answer);
        return is_awaited ||
               ((is_lone || has_waited_) && self.writes_without_pause < most_writes_without_pause);
    }
    /// The write that allows() was asked for is over.
    void note_written(burst_habit &habit) noexcept {
        ended_ = clock_.now();
        habit.note_written(ended_);
        sending_thread &self = how_.this_thread();
        self.last = ended_;
        ++self.writes_without_pause;
        // One that was interrupted must not count for long.
        cost_ += (std::clamp<duration>(ended_ - begun_, least_cost, most_cost) - cost_) / 4;
        has_waited_ = self.has_waited = false;
    }
    /// The write filled the stream. Looks whether there is room again (spin::body_end): `look()`
    /// goes on writing, and says whether it is done.
    template <class Look>
    void look_for_room(Look &&look) noexcept {
        spin_rest &rest = how_.this_thread().rest;
        if (!may_wait_ || !how_.may_spin() || !rest.is_over(clock_) || room_patience_.take_skip())
            return;
        time_point now = clock_.now();
        const time_point until = now + longest_look_for_body_end;
        bool is_done = look();
        for (;;) {
            const time_point last = std::exchange(now, clock_.now());
            if (rest.note(now - last, now))
                return;
            if (is_done || now >= until)
                break;
            patience::pause(pauses_for_body_end);
            is_done = look();
        }
        room_patience_.note(is_done);
    }
    time_point now() const noexcept { return clock_.now(); }
    /// Whether a sender that goes on tries a stream again that was full at that time, after its
    /// last write, and for which nobody waits. Each try costs a write, and a stream that was full a
    /// moment ago takes but little.
    bool looks_again(time_point full_at) const noexcept { return now() - full_at >= full_for; }
    /// Whether the socket may wait for room in this send (see room_wait).
    bool may_wait_for_room() const noexcept { return room_ && how_.may_spin(); }
    /// Whether such a wait is likely to be worth it. After waits in vain it says no a number of
    /// times, and counts them.
    bool choose_to_wait_for_room() noexcept { return may_wait_for_room() && !large_patience_.take_skip(); }
    /// One is over, and has taken so long. It was part of writing a large body.
    void note_wait_for_room(bool has_room, duration taken) noexcept {
        large_patience_.note(has_room);
        how_.this_thread().in_large_writes += taken;
    }
    /// While it exists, the thread writes a large body. That is none of its own work, and who asks
    /// how much it worked is told.
    class large_write {
    public:
        explicit large_write(pace &whose) noexcept : pace_(whose), begun_(whose.clock_.now()) {}
        large_write(const large_write &) = delete;
        large_write &operator=(const large_write &) = delete;
        ~large_write() { pace_.how_.this_thread().in_large_writes += pace_.clock_.now() - begun_; }

    private:
        pace &pace_;
        const time_point begun_;
    };
    /// The sender had to wait for something, most likely an answer. Its next message, by whatever
    /// socket, is most likely one, too, if it sends one at a time.
    void note_wait() noexcept { has_waited_ = how_.this_thread().has_waited = true; }
    /// Whether the sender of a large body may be kept a moment for want of room.
    void set_may_wait(bool on) noexcept { may_wait_ = on; }
    /// The wait for room of the send that has begun; null: there is none.
    void set_room(room_wait *of_send) noexcept { room_ = of_send; }
    room_wait *room() const noexcept { return room_; }

private:
    static constexpr duration least_cost = std::chrono::microseconds(1);
    static constexpr duration most_cost = std::chrono::microseconds(20);

    static constexpr unsigned pauses_for_body_end = 4;  // between looks, each of which is a write

    static constexpr duration full_for = std::chrono::microseconds(100);
    static constexpr unsigned most_writes_without_pause = 4;

    const clock_source &clock_;
    waiter &how_;
    patience room_patience_;
    patience large_patience_;
    time_point begun_{};
    time_point ended_{};
    duration cost_ = std::chrono::microseconds(5);
    bool has_waited_ = false;
    bool may_wait_ = true;
    room_wait *room_ = nullptr;
};

}  // namespace zlink
