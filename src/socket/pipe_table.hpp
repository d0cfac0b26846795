// The pipes of a socket, and what other threads say of them.
//
// Flow:     each call of the application's enters here first, and takes in what the mailbox holds:
//           new pipes, input, room, ends. The pattern is told of all of it.
// Limits:   where memory is short a pipe that could not be attached stays for the next call, and
//           what the pattern could not take in is found again by a rescan of all pipes. Either
//           posts an empty command, so that nobody sleeps on it.
// Threads:  the socket's; request_stop() and add_to() from any.
// Owns:     the socket's ends of its pipes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/events.hpp"
#include "pipe/flow/pace.hpp"
#include "pipe/peer_view.hpp"
#include "socket/borrower.hpp"
#include "socket/direct_way.hpp"
#include "socket/mailbox.hpp"
#include "socket/pattern.hpp"
#include "socket/stats.hpp"

namespace zlink {

class pipe_table final : public pattern_host {
public:
    /// Parts of the socket around it; all of them outlive the pipes.
    struct environment {
        const settings &options;
        waiter &blocking;
        pace &sending;
        borrower &leases;
        mailbox &inbox;
        counters &counts;
        event_sink &events;
    };
    explicit pipe_table(const environment &around) noexcept : around_(around) {}

    /// Comes before anything else.
    void set_pattern(pattern &rules) noexcept { pattern_ = &rules; }
    pattern &rules() const noexcept { return *pattern_; }

    // ---- pipes ----

    std::size_t size() const noexcept { return live_; }
    std::span<const pipe_end_ptr> live() const noexcept { return {pipes_.data(), live_}; }
    /// Only when size() is not 0.
    pipe_end &first() const noexcept { return *pipes_[0]; }
    /// Takes a pipe into use. Throws bad_alloc, and has closed it then.
    void attach(const pipe_end_ptr &pipe, bool is_local);
    /// Closes a pipe that does not come into use, and says so to its other end.
    void turn_away(pipe_end &pipe) noexcept;
    /// The fate of messages that an ended pipe has brought and nobody has received.
    enum class unread_input { dropped, kept };
    /// Ends every pipe of an endpoint. Returns how many there were.
    std::size_t detach_endpoint(const std::string &endpoint, unread_input what) noexcept;
    /// Ends the pipe to a peer within the process, by the id that list_neighbours() tells. no_entry
    /// when there is none.
    error end_neighbour(std::uint64_t id) noexcept;
    /// Has slow peers told of again.
    void forget_slow() noexcept;
    /// Tells the pipes of the marks in the options. Throws bad_alloc.
    void apply_marks();
    /// Has the pattern look at a pipe for input, or for room.
    void look_for_input(pipe_end &pipe) noexcept;
    void look_for_room(pipe_end &pipe) noexcept;

    /// Adds what went through the pipes, and what is in them; and to `counted` what is counted, of
    /// the same time. Any thread.
    void add_to(stats &traffic, stats &counted) const noexcept;

    /// Adds the peers within the process. Any thread. Throws bad_alloc.
    void list_neighbours(std::vector<peer_view> &to) const;

    // ---- commands ----

    bool has_commands() const noexcept { return around_.inbox.has_commands(); }
    /// Before all that may change whose turn it is: leaves the direct ways, and takes in the
    /// commands. terminated after a stop.
    error enter() noexcept {
        bool has_news = false;
        return enter(has_news);
    }
    /// Does enter(). Says whether it has taken in any.
    error enter(bool &has_news) noexcept {
        leave_direct_input();
        leave_direct_output();
        has_news = has_commands() || phase_ != phase::open;
        return __builtin_expect(has_news, 0) ? process_commands() : error::none;
    }
    error take_commands() noexcept {
        if (__builtin_expect(has_commands() || phase_ != phase::open, 0))
            return process_commands();
        return error::none;
    }
    error process_commands() noexcept;
    /// Has the next call, or whoever waits, look again.
    void post_look_again() noexcept { (void)around_.inbox.post({mailbox::command_kind::readable, nullptr}); }

    // ---- the direct ways ----

    // as the pattern said after the last receive
    direct_input &input() noexcept { return input_; }
    direct_output &output() noexcept { return output_; }  // as it said after the last send
    const direct_input &input() const noexcept { return input_; }
    const direct_output &output() const noexcept { return output_; }
    /// Whether a message is there, where that is told by a look at one pipe.
    bool has_direct_input() noexcept { return !has_commands() && input_.has_message(); }
    void leave_direct_input() noexcept {
        if (input_.is_in_message())
            pattern_->resume_input();
        input_.set({});
    }
    void leave_direct_output() noexcept {
        if (output_.is_in_message())
            pattern_->resume_output();
        output_.set({});
    }

    // ---- ZMQ_FD, and ZLINK_EVENT_FD ----

    /// The level stands for what the mailbox holds, from now on, whoever waits for it. The leases
    /// go back.
    void export_level() noexcept;
    bool is_exported() const noexcept { return level_ != level::unseen; }
    /// By itself, behind export_level(), which says only that there is something to look at. By
    /// another descriptor it is up for what other threads say alone.
    void tell_changes() noexcept { level_ = level::told_changes; }
    bool tells_changes() const noexcept { return level_ == level::told_changes; }
    /// Does enter() in calls that say nothing of what is there: whoever waits on ZMQ_FD must still
    /// hear of what they take in.
    error enter_beside() noexcept;
    /// No pipe tells of what the application itself has just changed, and none is armed for what
    /// follows: it is to look at the events.
    void raise_exported() noexcept {
        if (tells_changes())
            post_look_again();
    }
    /// Whether commands were taken in since the last call: the level was up.
    bool take_news() noexcept { return std::exchange(has_news_, false); }

    // ---- the end ----

    /// From now on every call fails with terminated. Any thread.
    void request_stop() noexcept;
    bool is_stop_requested() const noexcept { return stop_requested_.load(std::memory_order_relaxed); }
    /// Ends all pipes; what was sent lingers.
    void close() noexcept;
    bool is_closed() const noexcept { return phase_ == phase::closed; }

    // ---- for the pattern ----

    void finished(pipe_end &pipe) noexcept override;
    void rescan_pipes_later() noexcept override;
    void go_on_later() noexcept override;
    void leave_way_out() noexcept override { leave_direct_output(); }
    void count_drop(counter why) noexcept override;
    void tell_slow(pipe_end &pipe) noexcept override;
    void look_at_slow(pipe_end &pipe) noexcept override;
    void tell_gap(const pipe_end &pipe, const peer_info *from, std::uint64_t lost) noexcept override;
    void cut(pipe_end &pipe, cut_reason why) noexcept override;

private:
    /// Peers within the process are told from sessions, which count from 1, by the first bit.
    static std::uint64_t id_of(const pipe_end &pipe) noexcept {
        return std::uint64_t{1} << 63 | pipe.slot.attach_number;
    }
    void emit_slow_neighbour(const pipe_end &pipe) noexcept;
    void end_pipe(pipe_end &pipe) noexcept;
    void perform(mailbox::command &what);
    void take_in(const pipe_end_ptr &pipe, bool is_local);
    bool try_take_in(const mailbox::command &what) noexcept;
    void keep_untaken() noexcept;
    void go_on() noexcept;
    void rescan_pipes() noexcept;
    enum class gone { for_good, to_come_again };
    enum class intake : std::uint8_t {
        none,
        going_on,
        short_of_memory  // and going on: pipes are left to be attached
    };
    enum class phase : std::uint8_t {
        open,
        stopped,  // every call fails
        closed    // there are no more
    };
    /// Those who look at the mailbox's level outside of a call.
    enum class level : std::uint8_t {
        unseen,
        exported,
        told_changes  // of the application's own, too
    };
    void drop(pipe_end &pipe, gone how = gone::for_good) noexcept;
    static void add_traffic_of(const pipe_end &pipe, stats &to) noexcept;
    void count_gone(const pipe_end &pipe) noexcept;  // under the lock
    void count_lost(pipe_end &pipe) noexcept;
    bool read_to_the_end(pipe_end &pipe) noexcept;

    const environment around_;
    pattern *pattern_ = nullptr;
    direct_input input_;
    direct_output output_;
    // held to change what is in use, and by other threads to look at it
    mutable std::mutex in_use_;
    std::vector<pipe_end_ptr>
        pipes_;  // in use below live_; behind that finished, kept for frames still looked at
    std::size_t live_ = 0;
    amount highest_of_gone_out_;  // under the lock
    amount highest_of_gone_in_;
    std::uint32_t attach_count_ = 0;
    std::vector<mailbox::command> taken_;    // scratch of process_commands()
    std::vector<mailbox::command> untaken_;  // pipes that memory was too short to attach
    intake intake_ = intake::none;           // of commands
    level level_ = level::unseen;
    phase phase_ = phase::open;
    // Independent: the pipes and the pattern are looked at with the next commands each for itself,
    // and news stands until it is asked for.
    bool must_rescan_pipes_ = false;
    bool goes_on_ = false;   // the pattern
    bool has_news_ = false;  // for take_news()
    std::atomic<bool> stop_requested_{false};
};

}  // namespace zlink
