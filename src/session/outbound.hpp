// The writing half of a connection: control octets at message boundaries, then what the pipe holds,
// in gathered writes.
//
// Flow:     write() on the I/O thread; write_now() on the thread that sent. Either lists what is
//           there and hands it to the stream until nothing is left or the stream is full. Only a
//           full stream is waited for.
// Forms:    gathered as it stands in the queue, or translated frame by frame: subscribers' side,
//           conflating pipes, and peers to whom the wire is not the queue (zmtp/framing.hpp).
// Turns:    once there is a pipe, who holds its write turn may use everything here but control
//           octets, which are the I/O thread's. The thread that sends writes messages only: nothing
//           while control octets wait for the I/O thread to write them, and nothing to a stream
//           that is full or broken.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/debug_counters.hpp"
#include "core/subscription_set.hpp"
#include "core/tuning.hpp"
#include "pipe/flow/write_policy.hpp"
#include "pipe/pipe.hpp"
#include "session/control_place.hpp"
#include "session/io_pause.hpp"
#include "session/stream_room.hpp"
#include "session/translation.hpp"
#include "transport/transport.hpp"
#include "zmtp/conversation.hpp"

namespace zlink {

class outbound final {
public:
    /// All outlive it; `subscriptions` may be null.
    outbound(stream &bytes, conversation &machine, subscription_set *subscriptions,
             const batching &sizes) noexcept
        : stream_(bytes), peer_(machine), subscriptions_(subscriptions), sizes_(sizes) {}

    /// Messages come from this pipe from now on; once the handshake is written out, it is served
    /// through `server`. `replays`: it was there before the connection, so that subscriptions are
    /// sent from the set and not from the pipe. `pool` outlives it.
    void open(pipe_end_ptr pipe, bool replays, connection_port &server, chunk_pool &pool) noexcept;
    /// Nothing is taken from the pipe any more; a message of which some went out is dropped whole.
    /// False while the sender writes: it has the I/O thread come back. True before the end. I/O
    /// thread.
    [[nodiscard]] bool close() noexcept;
    /// The messages that were taken from the pipe and have not gone out whole, once it is closed.
    /// Says so once.
    std::uint64_t take_lost() noexcept { return std::exchange(lost_, 0); }

    using written = connection_port::written;
    /// Writes in turn. `all`: the pipe is armed. `some`: it is the turn of other connections.
    /// `full`: who has the lease is to wait. `refused`: the stream is waited for, or broken, or
    /// another thread is writing; somebody will say when to go on. `held`: come back when due()
    /// says: the sender writes for itself, small messages follow each other, or another thread is
    /// at the stream. I/O thread.
    written write(time_point now) noexcept;
    time_point due() const noexcept { return pause_.until(); }
    /// write() of the last words of the conversation, and of no message behind them. `all` once
    /// there is no more to write of them, or no way to: else it is to be called again, as write()
    /// would be. I/O thread.
    written write_last_words(time_point now) noexcept;
    /// The stream takes more again. I/O thread; call write() next.
    void note_writable() noexcept { room_.note_writable(); }
    /// Whether write() has something to do. I/O thread.
    bool has_work() noexcept;
    /// Nothing is left to write. I/O thread.
    bool is_drained() noexcept;
    /// Nothing is written any more. I/O thread, once the socket has closed its end.
    void finish() noexcept { is_finished_ = true; }
    bool is_finished() const noexcept { return is_finished_; }
    /// Whether the stream has taken anything since the last call. I/O thread.
    bool take_progress() noexcept;
    /// Why nothing more can be written, or none. Any thread.
    error failure() const noexcept { return failure_.load(std::memory_order_acquire); }

    /// Leaves it to others to wait for a full stream. False when that cannot be done now. I/O
    /// thread.
    bool lease_out() noexcept;
    void end_lease() noexcept { room_.end_lease(); }

    /// Does connection_port::write_now().
    written write_now(writing &turn, connection_port::occasion when) noexcept;
    /// Does connection_port::copy_rest().
    void copy_rest() noexcept {
        if (translates())
            translated_->copy_rest();
    }
    bool is_full() const noexcept { return room_.is_full(); }
    bool is_held_up() const noexcept { return room_.is_held_up(); }

private:
    struct listed {
        std::size_t ranges = 0;
        std::size_t octets = 0;
        std::size_t control = 0;  // of these, from the peer machine
        bool ends_message = true;
        bool is_all = true;                                    // that there is
        [[no_unique_address]] debug_counters::tally uncopied;  // ranges in a message's own memory

        /// Leaves out all beyond the first `limit` octets.
        void cut(std::span<iovec> list, std::size_t limit) noexcept;
    };
    /// The way in which messages become what is listed.
    enum class form : std::uint8_t {
        as_queued,   // gathered as it stands
        together,    // translated, what is small as many as there are
        one_by_one,  // translated frame by frame
        set_first,   // so, too, behind the whole set of subscriptions
    };
    struct progress {
        std::size_t octets = 0;
        std::uint64_t messages = 0;
        bool is_all = true;  // that there was, with the last write
    };
    using occasion = connection_port::occasion;

    // The turn is empty before there is a pipe.
    written write_in_turn(writing &turn, time_point now) noexcept;
    bool has_little(writing &turn) noexcept;
    written note_all_written(writing &turn, bool was_left_to_others) noexcept;
    bool may_collect() noexcept;
    written leave_collecting(writing &turn) noexcept;
    /// Whether what is not large goes out many messages at a time.
    bool gathers() const noexcept { return form_ <= form::together; }
    bool translates() const noexcept { return translated_ != nullptr; }
    bool is_covering() const noexcept { return translates() && translated_->is_covering(); }
    bool give(writing &turn) noexcept;
    written write_once(writing &turn, bool with_control, occasion when, progress &done) noexcept;
    written end_early(const io_result &result, progress &done) noexcept;
    std::uint64_t messages_taken() const noexcept { return pipe_->incoming().taken.messages; }
    void note_control() noexcept { control_.note_waiting(!room_.is_leased() && peer_.has_words()); }
    bool may_write() const noexcept { return !is_full() && !is_finished_ && !failed(failure()); }
    listed list(writing &turn, std::span<iovec> ranges, bool with_control) noexcept;
    void look_for_boundary(writing &turn) noexcept;
    void take_written(writing &turn, std::size_t octets, const listed &what) noexcept;
    void list_translated(writing &turn, std::span<iovec> ranges, bool with_control, listed &what) noexcept;
    void translate(writing &turn);
    void translate_commands();
    bool translate_small(writing &turn);
    void translate_frame(const frame_view &frame, bool is_in_place);
    void translate_gap(bool is_own, byte_span gap);
    void drop_translated_message(writing &turn) noexcept;
    void send_subscription_set(writing &turn);

    stream &stream_;
    conversation &peer_;
    subscription_set *subscriptions_;
    const batching &sizes_;
    pipe_end_ptr pipe_;

    std::atomic<error> failure_{error::none};
    stream_room room_;
    control_place control_;
    io_pause pause_;
    // The I/O thread's: no sender looks at it once the socket has closed its end.
    bool is_finished_ = false;
    form form_ = form::as_queued;
    std::atomic<std::uint64_t> writes_{0};     // that moved octets; counted in turn
    std::unique_ptr<translation> translated_;  // where it translates, once there is a pipe

    // I/O thread only.
    connection_port *server_ = nullptr;  // until the pipe is served
    std::uint64_t writes_seen_ = 0;      // by take_progress()
    std::uint64_t taken_before_ = 0;     // messages, by connections before this one
    std::uint64_t lost_ = 0;             // messages
};

}  // namespace zlink
