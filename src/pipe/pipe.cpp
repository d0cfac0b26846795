#include "pipe/pipe.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "core/platform.hpp"

namespace zlink {

class conflated_slot {
public:
    void keep(byte_span body) { pending_.assign(body.begin(), body.end()); }
    void forget() noexcept { has_pending_ = false; }
    void note_pending() noexcept { has_pending_ = true; }
    bool has_pending() const noexcept { return has_pending_; }

    void publish() noexcept {
        std::lock_guard guard(mutex_);
        newest_.swap(pending_);
        is_full_ = true;
        has_pending_ = false;
    }
    bool is_full() noexcept {
        std::lock_guard guard(mutex_);
        return is_full_;
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
    std::vector<std::uint8_t> taken_;    // reader only
    std::mutex mutex_;                   // guards the rest
    std::vector<std::uint8_t> newest_;
    bool is_full_ = false;
};

/// Nothing comes near 4 GiB.
static std::uint32_t short_size(std::size_t octets) noexcept {
    return static_cast<std::uint32_t>(std::min<std::size_t>(octets, UINT32_MAX));
}

static std::uint64_t joint_mark(std::uint64_t writers, std::uint64_t readers) noexcept {
    if (writers == 0 || readers == 0)
        return 0;
    if (writers == pipe_direction::no_share)
        return readers;
    return readers == pipe_direction::no_share ? writers : writers + readers;
}

pipe_direction::pipe_direction(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options,
                               std::uint64_t writers_mark, std::uint64_t readers_mark)
    : queue(pool, options.sizes.out_batch_size_small,
            options.second == end_kind::socket ? frame_queue::bodies::referred_to
                                               : frame_queue::bodies::apart,
            // What is to go by reference whoever owns it is not copied because the application lends it.
            static_cast<std::uint16_t>(std::min<std::size_t>(frame_queue::most_copied_external,
                                                             options.sizes.out_writev_threshold - 1))),
      hwm(options.conflate ? 0 : joint_mark(writers_mark, readers_mark)), writers_share(writers_mark),
      readers_share(readers_mark), reference_threshold(options.sizes.out_writev_threshold),
      senders_batch_size(short_size(options.sizes.senders_batch_size)),
      written_alone_from(short_size(options.sizes.written_alone_from)),
      piece(short_size(options.sizes.piece)),
      newest(options.conflate ? std::make_unique<conflated_slot>() : nullptr) {}

pipe_direction::~pipe_direction() = default;

// A connection has four of them: a cache line more each, and an idle one takes more than 8 KiB.
static_assert(sizeof(frame_queue) <= 4 * 64 && sizeof(pipe_direction) <= 6 * 64 &&
              sizeof(pipe_end) <= 6 * 64);

void pipe_direction::join_shares() noexcept {
    std::uint64_t writers, readers;
    // The other side may do the same: whoever stores last has seen both.
    do {
        writers = writers_share.load(std::memory_order_seq_cst);
        readers = readers_share.load(std::memory_order_seq_cst);
        hwm.store(joint_mark(writers, readers), std::memory_order_seq_cst);
    } while (writers != writers_share.load(std::memory_order_seq_cst) ||
             readers != readers_share.load(std::memory_order_seq_cst));
}

class pipe {
public:
    pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options)
        : forth_(pool, options, options.first_to_second_hwm, pipe_direction::no_share),
          back_(pool, options, pipe_direction::no_share, options.second_to_first_hwm) {
        first_.out_ = second_.in_ = &forth_;
        first_.in_ = second_.out_ = &back_;
        first_.other_ = &second_;
        second_.other_ = &first_;
        first_.other_kind_ = options.second;
        first_.conflated_out_ = second_.conflated_in_ = forth_.newest.get();
        first_.conflated_in_ = second_.conflated_out_ = back_.newest.get();
    }

    void introduce(const std::shared_ptr<pipe> &self) noexcept { first_.whole_ = second_.whole_ = self; }

    pipe_direction forth_;
    pipe_direction back_;
    pipe_end first_;  // an end may give a turn back when it goes
    pipe_end second_;
};

pipe_ends make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options) {
    auto both = std::make_shared<pipe>(pool, options);
    both->introduce(both);
    return {pipe_end_ptr(both, &both->first_), pipe_end_ptr(both, &both->second_)};
}

pipe_end::~pipe_end() = default;

pipe_end_ptr pipe_end::shared_from_this() noexcept { return {whole_.lock(), this}; }

// ---- writing ----

error pipe_end::write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (conflated_out_) {
        debug_counters::add(debug_counters::count::copied_octets, body.size());
        return write(flags, body);
    }
    if (const error e = out_->queue.write_external(flags, std::move(owner), body); failed(e))
        return e;
    octets_written_ += frame_header_size(body.size()) + body.size();
    if (out_->queue.copies_external(body.size()))
        debug_counters::add(debug_counters::count::copied_octets, body.size());
    else if (other_kind_ == end_kind::socket)
        octets_by_reference_ += body.size();
    if (body.size() >= counted_in_octets_from)
        large_unpublished_ += body.size();
    if (!(flags & (frame_flag::more | frame_flag::command)))
        ++written_;
    return error::none;
}

error pipe_end::write_last_large(byte_span body) noexcept {
    writing turn;
    if (!conflated_out_ && pace_ && other_kind_ == end_kind::connection)
        turn = try_take_turn();
    if (turn) {
        const io_turn *const io = turn.server();
        chunk *memory = nullptr;
        // A stream that is full is waited for by limiting the backlog, unless one body is more than that allows.
        if (io && (!io->is_full() || (body.size() > largest_to_write && pace_->may_wait_for_room())))
            memory = out_->queue.memory_for_copy(body.size());
        const error e = memory ? out_->queue.write_in_place(body, memory) : error::no_memory;
        if (memory)
            memory->release();
        if (!failed(e)) {
            in_place_ = std::move(turn);
            octets_written_ += frame_header_size(body.size()) + body.size();
            large_unpublished_ += body.size();
            ++written_;
            return error::none;
        }
        if (turn.give())
            wake_other_end();
    }
    debug_counters::add(debug_counters::count::copied_octets,
                        other_kind_ == end_kind::socket ? 0 : body.size());
    return write(0, body);
}

error pipe_end::append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                       std::size_t owner_size) noexcept {
    if (conflated_out_)
        return write_frames(range);
    const error e = out_->queue.append(owner, range, messages, starts_message, owner_size);
    if (!failed(e)) {
        written_ += messages;
        octets_written_ += range.size();
    }
    return e;
}

error pipe_end::write_wire(byte_span frames, std::uint32_t messages) noexcept {
    if (conflated_out_)
        return write_frames(frames);
    const error e = out_->queue.write_wire(frames, messages);
    if (!failed(e)) {
        written_ += messages;
        octets_written_ += frames.size();
    }
    return e;
}

/// Writes frames that are in wire form one by one.
error pipe_end::write_frames(byte_span frames) noexcept {
    while (!frames.empty()) {
        frame_header header;
        if (!get_frame_header(frames.data(), frames.size(), header))
            return error::invalid;
        const byte_span body = frames.subspan(header.header_size, header.body_size);
        if (const error e = write(header.flags & ~frame_flag::large, body); failed(e))
            return e;
        frames = frames.subspan(header.header_size + header.body_size);
    }
    return error::none;
}

error pipe_end::write_conflated(byte_span body) noexcept {
    try {
        conflated_out_->keep(body);
    } catch (...) {
        return error::no_memory;
    }
    conflated_out_->note_pending();
    return error::none;
}

void pipe_end::publish_conflated() noexcept {
    if (conflated_out_->has_pending())
        conflated_out_->publish();
}

bool pipe_end::has_conflated_unpublished() const noexcept { return conflated_out_->has_pending(); }

void pipe_end::roll_back() noexcept {
    const std::uint64_t gone = out_->queue.roll_back();
    if (in_place_ && in_place_.give())
        wake_other_end();
    if (other_kind_ == end_kind::connection) {
        octets_written_ -= gone;
        octets_at_window_ = std::min(octets_at_window_, octets_written_);
        octets_planned_ = std::min(octets_planned_, octets_written_);
    }
    written_ = published_;
    large_unpublished_ = 0;
    if (conflated_out_)
        conflated_out_->forget();
}

void pipe_end::arm_writer() noexcept { out_->writer_armed.store(true, std::memory_order_seq_cst); }

void pipe_end::set_info(peer_info *info) noexcept { out_->queue.set_info(info); }

std::uint64_t pipe_end::credit() noexcept {
    const std::uint64_t hwm = out_->hwm.load(std::memory_order_relaxed);
    if (hwm == 0)
        return std::numeric_limits<std::uint64_t>::max();
    seen_returned_ = out_->returned.load(std::memory_order_acquire);
    const std::uint64_t under_way = written_ - seen_returned_;
    return under_way < hwm ? hwm - under_way : 0;
}

bool pipe_end::is_beyond_mark() const noexcept {
    const std::uint64_t hwm = out_->hwm.load(std::memory_order_relaxed);
    return hwm != 0 && written_ - out_->returned.load(std::memory_order_acquire) > hwm;
}

void pipe_end::begin_backlog_window() noexcept {
    constexpr std::uint64_t octets_of_window = 512 * 1024;
    constexpr std::uint64_t messages_of_first_window = 64;
    const std::uint64_t messages = written_ - window_began_;
    const std::uint64_t copied = octets_written_ - octets_by_reference_;
    octets_per_message_ =
        messages > 0 ? (copied - octets_at_window_) / messages : octets_of_window / messages_of_first_window;
    octets_at_window_ = copied;
    window_began_ = written_;
    next_backlog_check_ = written_ + std::clamp<std::uint64_t>(octets_of_window / (octets_per_message_ + 1),
                                                               1, messages_of_window);
}

/// Short writes may go on until credit runs out, or the sender is to write for itself, or to look how far ahead it is.
void pipe_end::allow_short_writes() noexcept {
    short_until_ = 0;
    if (fences_ || large_unpublished_ > 0 || conflated_out_ || written_ != published_)
        return;
    short_until_ = std::min(std::max(written_, write_due_ - 1), next_backlog_check_);
    if (const std::uint64_t hwm = out_->hwm.load(std::memory_order_relaxed))
        short_until_ = std::min(short_until_, std::max(written_, seen_returned_ + hwm));
}

/// How many publishes without a wake-up make a burst.
constexpr std::uint32_t burst_length = 64;

/// The full fence of a writer that is not in a burst; ends it when a burst has begun.
void pipe_end::fence_publish() noexcept {
    if (publishes_since_wake_ >= burst_length) {
        // A reader that still saw the flag up has armed itself before the fence, and is seen by every look behind it.
        fences_ = false;
        out_->writer_fences.store(false, std::memory_order_seq_cst);
    }
    full_fence();
}

void pipe_end::wake_reader(bool may_write) noexcept {
    if (may_write && pace_ && wakes_by_writing())
        return;
    if (!out_->reader_armed.exchange(false, std::memory_order_seq_cst))
        return;
    note_sleeper();
    wake_other_end();
}

/// Says when the sender writes for itself the next time: not later than at its mark, where it could only wait, or drop.
void pipe_end::plan_write() noexcept {
    if (written_ > write_planned_)
        octets_each_ = (octets_written_ - octets_planned_) / (written_ - write_planned_);
    write_planned_ = written_;
    octets_planned_ = octets_written_;
    write_due_ = written_ + std::clamp<std::uint64_t>(out_->senders_batch_size / (octets_each_ + 1), 1,
                                                      most_messages_to_write);
    if (const std::uint64_t hwm = out_->hwm.load(std::memory_order_relaxed)) {
        seen_returned_ = out_->returned.load(std::memory_order_acquire);
        write_due_ = std::min(write_due_, std::max(written_ + 1, seen_returned_ + hwm));
    }
}

/// Once in a while in a stream. While the stream takes what it is given, a large message is cheapest to write while it is in
/// this processor's cache; very large ones fill it, and have to be left to the I/O thread anyway.
void pipe_end::publish_in_stream(bool may_write) noexcept {
    const std::size_t large = std::exchange(large_unpublished_, 0);
    if (in_place_) {
        publish_in_place(may_write, large);
        return;
    }
    const bool is_alone = large > 0 && large_under_way() == 0;
    large_published_ = other_kind_ == end_kind::connection ? octets_written_ : large_published_ + large;
    if (written_ < write_due_ && large < out_->written_alone_from)
        return;
    if (large > largest_to_write && pace_ && may_write && pace_->may_wait_for_room()) {
        if (writing turn = try_take_turn()) {
            const io_turn::written result =
                turn.server() ? write_with_waits(turn, large) : io_turn::written::refused;
            (void)end_write(turn, result, false);
            return;
        }
    }
    // What does not fill a piece has to be brought by an I/O thread that is awake, and is not worth that for bodies of many. At
    // the mark nothing comes after it.
    const bool fills_pieces = large < most_pieces_to_fill * out_->piece && has_credit() &&
                              !out_->reader_armed.load(std::memory_order_relaxed);
    if (pace_ && may_write && large <= largest_to_write)
        (void)write_on_this_thread(fills_pieces ? io_turn::occasion::stream : io_turn::occasion::any, false,
                                   is_alone);
    else
        plan_write();
}

/// A message found the reader asleep.
void pipe_end::note_sleeper() noexcept {
    if (publishes_since_wake_ < burst_length) {
        out_->queue.expect_little();
        // A reader that sleeps after every few messages would pay a heavy fence each time: pay a small one for each message.
        if (!fences_) {
            fences_ = true;
            out_->writer_fences.store(true, std::memory_order_release);
        }
    }
    publishes_since_wake_ = 0;
    short_until_ = 0;
}

/// Whether what was published is likely to be the answer that the peer waits for. Nobody but this thread would see its next
/// message, which the I/O thread might have under way elsewhere.
bool pipe_end::is_awaited() const noexcept {
    return taken_at_wake_ != static_cast<std::uint32_t>(taken_) && out_->lease.is_out() &&
           !in_->queue.shows_more();
}

/// Does the sleeper's work where that is cheaper than waking it, and leaves it asleep.
bool pipe_end::wakes_by_writing() noexcept {
    if (!is_served())
        return false;
    const bool is_allowed = pace_->allows(publishes_since_wake_, is_awaited());
    taken_at_wake_ = static_cast<std::uint32_t>(taken_);
    if (!is_allowed)
        return false;
    const bool is_done = write_now();
    pace_->note_written();
    if (is_done)
        note_sleeper();
    return is_done;
}

/// `arms`: for a sender that goes to wait, and tells the I/O thread that it wants everything out if that is writing just now.
/// `looks`: for a large message with nothing else under way, whose end should not wait for the I/O thread.
bool pipe_end::write_on_this_thread(io_turn::occasion when, bool arms, bool looks) noexcept {
    writing turn = arms ? other_->take_turn() : try_take_turn();
    if (!turn) {
        plan_write();
        return false;
    }
    const platform::cancellation_shield shield;
    io_turn *const io = turn.server();
    io_turn::written result = io ? io->write_now(turn, when) : io_turn::written::refused;
    if (looks && result == io_turn::written::full && !out_->lease.is_out()) {
        pace_->look_for_room([&] {
            result = io->write_now(turn, io_turn::occasion::ready);
            return result != io_turn::written::full;
        });
    }
    return end_write(turn, result, arms);
}

/// What is left is for the I/O thread, or for who has the lease.
bool pipe_end::end_write(writing &turn, io_turn::written result, bool arms) noexcept {
    plan_write();
    if (arms && result == io_turn::written::all)
        out_->reader_armed.store(true, std::memory_order_relaxed);  // this thread publishes the next
    const bool was_refused = turn.give();
    if (result == io_turn::written::some || result == io_turn::written::full)
        out_->reader_armed.store(false, std::memory_order_relaxed);
    if (was_refused || result == io_turn::written::some ||
        (result == io_turn::written::full && !out_->lease.is_out()))
        wake_other_end();
    return result == io_turn::written::all;
}

/// Writes a body from where the application has it. What the stream does not take is copied.
void pipe_end::publish_in_place(bool may_write, std::size_t octets) noexcept {
    writing turn = std::move(in_place_);
    large_published_ = octets_written_;
    const io_turn::written result = may_write ? write_with_waits(turn, octets) : io_turn::written::some;
    if (result != io_turn::written::all) {
        turn.copy_rest();
        debug_counters::add(debug_counters::count::copied_octets, octets);
    }
    (void)end_write(turn, result, false);
}

/// Writes all there is, the last of it a body of so many octets, as long as the stream takes it about as fast as it could be copied into
/// new memory. To hand it to the I/O thread instead would make that a third one on what most often are two processors' caches.
io_turn::written pipe_end::write_with_waits(writing &turn, std::size_t octets) noexcept {
    io_turn &io = *turn.server();
    const platform::cancellation_shield shield;
    const auto taken = [this] { return out_->large_taken.load(std::memory_order_relaxed); };
    pace::wait_for_room patience(*pace_, octets);
    io_turn::occasion when = io_turn::occasion::any;
    if (io.is_full()) {
        if (!patience.wait(io.descriptor(), io.opening()))
            return io_turn::written::full;
        when = io_turn::occasion::ready;
    }
    for (;;) {
        const std::uint64_t before = taken();
        const io_turn::written result = io.write_now(turn, when);
        if (result == io_turn::written::full) {
            if (turn.is_claimed() || !patience.wait(io.descriptor(), io.opening()))
                return result;
            when = io_turn::occasion::ready;
        } else if (result != io_turn::written::some || taken() == before) {
            return result;
        } else {
            when = io_turn::occasion::any;
        }
    }
}

void pipe_end::wake_other_end() noexcept {
    if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
        events->on_readable(*other_);
}

// ---- borrowing ----

bool pipe_end::ask_for_lease() noexcept {
    if (!is_served() || !out_->lease.ask())
        return false;
    wake_other_end();
    return true;
}

void pipe_end::end_use(bool keep) noexcept {
    if (out_->lease.end_use(keep))
        wake_other_end();
}

// ---- reading ----

bool pipe_end::has_input() noexcept {
    return in_->queue.has_input() || (conflated_in_ && conflated_in_->is_full());
}

bool pipe_end::read_conflated(frame_view &out) noexcept {
    byte_span body;
    if (!conflated_in_->take(body))
        return false;
    out = frame_view{};
    out.data = body.data();
    out.size = body.size();
    return true;
}

/// Messages that a reader may take before it tells the writer.
static std::uint64_t credit_step(std::uint64_t hwm) noexcept {
    constexpr std::uint64_t step_without_mark = 1024;
    return hwm ? (hwm + 1) / 2 : step_without_mark;
}

bool pipe_end::read_slow(frame_view &out) noexcept {
    if (conflated_in_ && read_conflated(out))
        return true;
    return_due_credit();
    return false;
}

void pipe_end::return_due_credit() noexcept {
    const std::uint64_t due = told_ + credit_step(in_->hwm.load(std::memory_order_relaxed));
    if (taken_ >= due || (octets_taken_ >= most_octets_untold && taken_ != told_))
        return_credit();
    else
        expect_return_at(due);
}

/// Credit is due when taken_ gets to `due`. Until then the writer may want to know how far the reader is.
void pipe_end::expect_return_at(std::uint64_t due) noexcept {
    in_->about_taken.store(taken_, std::memory_order_relaxed);
    return_at_ = std::min(due, taken_ + messages_of_window);
}

void pipe_end::return_credit() noexcept {
    told_ = taken_;
    octets_taken_ = 0;
    expect_return_at(taken_ + credit_step(in_->hwm.load(std::memory_order_relaxed)));
    in_->returned.store(taken_, std::memory_order_release);
    full_fence();
    if (in_->writer_armed.load(std::memory_order_relaxed) &&
        in_->writer_armed.exchange(false, std::memory_order_seq_cst)) {
        if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
            events->on_writable(*other_);
    }
}

void pipe_end::arm_reader() noexcept {
    // A reader that has drained the queue owes the writer nothing, whatever the step was when it began.
    if (taken_ != told_)
        return_credit();
    // What this thread reads from the connection itself it need not be told of.
    if (out_->lease.is_used())
        return;
    in_->reader_armed.store(true, std::memory_order_seq_cst);
    full_fence();
    if (!in_->writer_fences.load(std::memory_order_acquire))
        light_publisher_met();
}

frame_queue::gathered writing::gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept {
    return end_->in_->queue.gather(ranges, limit, max_octets);
}

void writing::release(std::size_t octets) noexcept {
    end_->note_large_taken(octets);
    end_->note_taken(end_->in_->queue.release(octets));
}

bool writing::read(frame_view &out) noexcept {
    if (!end_->read(out))
        return false;
    end_->note_large_taken(frame_header_size(out.size) +
                           (out.size < pipe_end::counted_in_octets_from ? out.size : 0));
    return true;
}

void writing::drop_cut_message() noexcept {
    const frame_queue::dropped what = end_->in_->queue.drop_cut_message();
    end_->note_large_taken(what.octets);
    end_->note_taken(what.messages);
}

// ---- life ----

void pipe_end::close(int linger_ms) noexcept {
    if (is_closed_)
        return;
    is_closed_ = true;
    roll_back();
    if (out_->lease.begin_use())
        (void)out_->lease.end_use(false);
    out_->linger_ms.store(linger_ms, std::memory_order_relaxed);
    out_->writer_closed.store(true, std::memory_order_release);
    if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
        events->on_closed(*other_);
}

int pipe_end::peer_linger_ms() const noexcept { return in_->linger_ms.load(std::memory_order_acquire); }

bool pipe_end::is_closed() const noexcept { return is_closed_; }

bool pipe_end::is_peer_closed() const noexcept { return in_->writer_closed.load(std::memory_order_acquire); }

bool pipe_end::is_finished() noexcept { return is_peer_closed() && !has_input(); }

void pipe_end::set_write_hwm(std::uint64_t messages) noexcept {
    if (conflated_out_)
        return;
    out_->writers_share.store(messages, std::memory_order_seq_cst);
    out_->join_shares();
    // What this thread wrote for a connection that sleeps may be credit kept back by the step of a higher mark.
    (void)write_now();
}

void pipe_end::set_read_hwm(std::uint64_t messages) noexcept {
    if (conflated_in_)
        return;
    in_->readers_share.store(messages, std::memory_order_seq_cst);
    in_->join_shares();
    return_credit();
}

void pipe_end::set_events(std::shared_ptr<pipe_events> events) noexcept {
    events_owner_ = std::move(events);
    events_.store(events_owner_.get(), std::memory_order_release);
}

}  // namespace zlink
