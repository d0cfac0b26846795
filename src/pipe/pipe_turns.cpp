// The end of a pipe whose messages a connection writes: wakes it, or writes on this thread; and
// what the holder of a turn does.
//
// Judges:   who writes, when and how much is said by write_policy. Here it is told the facts, and
//           obeyed.
// Map:      waking; writing on this thread; bodies written from where they are; what the holder of
//           a turn does.
#include <algorithm>
#include <utility>

#include "core/platform.hpp"
#include "pipe/flow/write_policy.hpp"
#include "pipe/in_band.hpp"
#include "pipe/pipe.hpp"
#include "pipe/room_wait.hpp"

namespace zlink {

// ---- waking ----

/// The full fence of a writer that is not in a stream; ends it when a stream has begun.
void sender::fence_publish() noexcept {
    if (flow_.is_stream()) {
        // A reader that still saw the flag up has armed itself before the fence, and is seen by
        // every look behind it.
        flow_.end_fences();
        out_->writer_fences.store(false, std::memory_order_seq_cst);
    }
    full_fence();
}

void sender::wake_reader(bool may_write) noexcept {
    if (may_write && pace_ && wakes_by_writing())
        return;
    if (!out_->reader_armed.exchange(false, std::memory_order_seq_cst))
        return;
    note_sleeper();
    self().wake_other_end();
}

/// A message found the reader asleep.
void sender::note_sleeper() noexcept {
    if (!flow_.is_stream()) {
        out_->queue.expect_little();
        // A reader that sleeps after every few messages would pay a heavy fence each time: pay a
        // small one for each message.
        if (flow_.begin_fences())
            out_->writer_fences.store(true, std::memory_order_release);
    }
    flow_.note_sleeper();
}

struct sender::answer_facts {
    const pipe_end &self;

    bool has_taken_since() const noexcept { return self.flow_.has_taken_since(self.reads_.taken()); }
    bool is_leased() const noexcept { return self.out_->lease.is_out(); }
    bool shows_more() const noexcept { return self.in_->queue.shows_more(); }
};

/// Does the sleeper's work where that is cheaper than waking it, and leaves it asleep.
bool sender::wakes_by_writing() noexcept {
    if (!is_served())
        return false;
    const bool is_allowed = flow_.allows_write(*pace_, write_policy::is_awaited(answer_facts{self()}));
    flow_.note_taken(self().reads_.taken());
    if (!is_allowed)
        return false;
    const bool is_done = write_now();
    flow_.note_written(*pace_);
    if (is_done)
        note_sleeper();
    return is_done;
}

// ---- writing on this thread ----

writing sender::try_take_turn() noexcept { return writing(out_->turn.try_take() ? &other() : nullptr); }

/// Says when the sender looks next whether to write for itself.
void sender::plan_write() noexcept {
    const std::uint64_t written = writes_.written();
    flow_.measure(written, out_->queue.octets_written());
    std::uint64_t mark = write_mark();
    if (mark != 0)
        hear_of_returned();
    std::uint64_t batch = out_->senders_batch_size;
    if (const std::uint64_t most = mark == 1 ? out_->octet_mark() : 0; most != 0) {
        mark = out_->message_mark();
        batch = std::min(batch, most / 2);
    }
    const std::uint64_t on_wire = flow_.octets_each() + out_->wire_growth.load(std::memory_order_relaxed);
    flow_.plan_write({written, writes_.returned(), mark, on_wire, batch});
}

struct sender::publish_facts {
    sender &self;
    std::size_t large_;
    bool may_write_;

    bool is_due() const noexcept { return self.flow_.is_write_due(self.writes_.written()); }
    std::size_t large() const noexcept { return large_; }
    std::size_t written_alone_from() const noexcept { return self.out_->written_alone_from; }
    bool may_write() const noexcept { return may_write_ && self.pace_; }
    bool choose_to_wait() const noexcept { return self.pace_->choose_to_wait_for_room(); }
    std::size_t piece() const noexcept { return self.out_->piece; }
    bool has_credit() const noexcept { return self.has_credit(); }
    bool is_reader_armed() const noexcept { return self.out_->reader_armed.load(std::memory_order_relaxed); }
};

/// Once in a while in a stream. False when the rest of publish() is for room_wait.
bool sender::publish_in_stream(bool may_write) noexcept {
    using write_policy::senders_part;
    const std::size_t large = flow_.take_large();
    if (in_place_)
        return publish_in_place(may_write, large);
    const bool is_alone = large > 0 && backlog().large_octets() == 0;
    flow_.note_published(other_kind_ == end_kind::connection ? out_->queue.octets_written()
                                                             : flow_.large_published() + large);
    switch (write_policy::after_publish(publish_facts{*this, large, may_write})) {
    case senders_part::none_yet:
        break;
    case senders_part::left:
        plan_write();
        break;
    case senders_part::all:
        (void)write_on_this_thread(connection_port::occasion::any, false, is_alone);
        break;
    case senders_part::pieces:
        (void)write_on_this_thread(connection_port::occasion::stream, false, is_alone);
        break;
    case senders_part::with_waits:
        if (writing turn = try_take_turn())
            return write_with_waits(std::move(turn), large, false);
        plan_write();
        break;
    }
    return true;
}

/// `arms`: for a sender that goes to wait, and tells the I/O thread that it wants everything out if
/// that is writing just now. So does a thread that has seen room: it would find that again and
/// again, and keep the writer from the processor. Not so one that only tries a full stream again.
/// `is_alone`: what is written is a large message, and nothing else is under way.
bool sender::write_on_this_thread(connection_port::occasion when, bool arms, bool is_alone) noexcept {
    const bool asks = arms || when == connection_port::occasion::ready;
    writing turn = asks ? other().take_turn() : try_take_turn();
    if (!turn) {
        plan_write();
        return false;
    }
    const platform::cancellation_shield shield;
    connection_port *const io = turn.server();
    // The I/O thread has left it to the borrower to wait for room, who may be busy with other
    // things.
    if (io && !asks && io->is_full() && out_->lease.is_out() && pace_ && flow_.looks_again(*pace_))
        when = connection_port::occasion::ready;
    connection_port::written result = io ? io->write_now(turn, when) : connection_port::written::refused;
    if (result == connection_port::written::full && pace_)
        flow_.note_full(*pace_);
    if (write_policy::looks_for_room(result, is_alone, [this] { return out_->lease.is_out(); })) {
        pace_->look_for_room([&] {
            result = io->write_now(turn, connection_port::occasion::ready);
            return result != connection_port::written::full;
        });
    }
    return end_write(turn, result, arms);
}

/// True when all went out. The rest is for the I/O thread, or for the holder of the lease.
bool sender::end_write(writing &turn, connection_port::written result, bool arms) noexcept {
    plan_write();
    // This thread publishes the next. Before the turn is given: who has it next may arm itself.
    if (arms && result == connection_port::written::all)
        out_->reader_armed.store(true, std::memory_order_relaxed);
    if (write_policy::leaves_some(result))
        out_->reader_armed.store(false, std::memory_order_relaxed);
    const bool was_refused = turn.give();
    if (write_policy::wakes_io_thread(result, was_refused, [this] { return out_->lease.is_out(); }))
        self().wake_other_end();
    return result == connection_port::written::all;
}

/// Writes all there is, the last of it a body of so many octets, as long as the stream takes it
/// about as fast as it could be copied into new memory. To hand it to the I/O thread instead would
/// make that a third one on what most often are two processors' caches. False when the stream is to
/// be waited for: the turn is the socket's room_wait's then.
bool sender::write_with_waits(writing turn, std::size_t octets, bool is_in_place) noexcept {
    connection_port *const io = turn.server();
    connection_port::written result = io ? connection_port::written::full : connection_port::written::refused;
    const bool is_full = io && io->is_full();
    const bool waits = is_full ? !io->awaits_input() : io && write_while_taken(turn, false, result);
    if (waits && pace_->may_wait_for_room() && pace_->room()->begin(self(), turn, octets, is_in_place))
        return false;
    end_large_write(turn, result, is_in_place ? octets : 0);
    return true;
}

/// Writes until all is out, or the stream takes no more. True when it is to be waited for.
bool sender::write_while_taken(writing &turn, bool was_full, connection_port::written &result) noexcept {
    connection_port *const io = turn.server();
    const platform::cancellation_shield shield;
    const pace::large_write under_way(*pace_);
    const auto taken = [this] { return out_->large_taken.load(std::memory_order_relaxed); };
    for (bool is_full = was_full;;) {
        const std::uint64_t before = taken();
        result =
            io->write_now(turn, is_full ? connection_port::occasion::ready : connection_port::occasion::any);
        is_full = result == connection_port::written::full;
        const bool is_claimed = turn.is_claimed();
        // Whom the I/O thread has begun to wait for is left to it: told of no room, it would not
        // hear that this thread has written.
        if (is_full && io->awaits_input())
            return false;
        if (!write_policy::writes_again(result, taken() != before, is_claimed))
            return write_policy::waits_for_room(result, is_claimed);
    }
}

/// `in_place`: octets of a body that stands where the application has it. What the stream has not
/// taken of it is copied.
void sender::end_large_write(writing &turn, connection_port::written result, std::size_t in_place) noexcept {
    if (in_place > 0 && result != connection_port::written::all) {
        turn.copy_rest();
        debug_counters::add(debug_counters::count::copied_octets, in_place);
    }
    (void)end_write(turn, result, false);
}

// ---- bodies written from where they are ----

struct sender::body_facts {
    sender &self;
    const connection_port *server;
    std::size_t size_;

    bool is_served() const noexcept { return server != nullptr; }
    bool is_full() const noexcept { return server->is_full(); }
    std::size_t size() const noexcept { return size_; }
    bool choose_to_wait() const noexcept { return self.pace_->choose_to_wait_for_room(); }
};

error sender::write_last_large(byte_span body) noexcept {
    writing turn;
    if (!conflated_out_ && pace_ && other_kind_ == end_kind::connection)
        turn = try_take_turn();
    if (turn) {
        chunk *const memory = write_policy::writes_in_place(body_facts{*this, turn.server(), body.size()})
                                  ? out_->queue.memory_for_copy(body.size())
                                  : nullptr;
        const error e = memory ? out_->queue.write_in_place(body, memory) : error::no_memory;
        if (memory)
            memory->release();
        if (!failed(e)) {
            in_place_ = std::move(turn);
            flow_.note_large(body.size());
            writes_.write(1);
            return error::none;
        }
        if (turn.give())
            self().wake_other_end();
    }
    debug_counters::add(debug_counters::count::copied_octets,
                        other_kind_ == end_kind::socket ? 0 : body.size());
    return write(0, body);
}

bool sender::publish_in_place(bool may_write, std::size_t octets) noexcept {
    writing turn = std::move(in_place_);
    flow_.note_published(out_->queue.octets_written());
    if (may_write)
        return write_with_waits(std::move(turn), octets, true);
    end_large_write(turn, connection_port::written::some, octets);
    return true;
}

// ---- with the turn held ----

frame_queue::gathered writing::gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept {
    return end_->in_->queue.gather(ranges, limit, max_octets);
}

std::uint64_t writing::octets_to_message_end(std::uint64_t since_end) noexcept {
    return end_->in_->queue.octets_to_message_end(since_end);
}

void writing::release(std::size_t octets) noexcept {
    std::uint64_t of_gaps = 0;
    const std::uint32_t ended = end_->in_->queue.release(octets, &of_gaps);
    end_->note_large_taken(octets - of_gaps);
    end_->note_taken(ended);
}

bool writing::read(frame_view &out) noexcept {
    if (!end_->read(out))
        return false;
    if (__builtin_expect(out.is_command(), 0) && in_band::is_gap(out.body()))
        return true;
    end_->note_large_taken(frame_header_size(out.size) +
                           (out.size < receiver::counted_in_octets_from ? out.size : 0));
    return true;
}

byte_span writing::peek_run() noexcept { return end_->in_->queue.peek_run(); }

void writing::read_run(std::size_t octets, std::uint64_t messages) noexcept {
    end_->in_->queue.read_run(octets);
    end_->note_large_taken(octets);
    end_->note_taken(messages);
}

bool writing::drop_cut_message() noexcept {
    const frame_queue::dropped what = end_->in_->queue.drop_cut_message();
    end_->note_large_taken(what.octets);
    end_->note_taken(what.messages);
    return what.has_cut_one;
}

}  // namespace zlink
