// The two ends of a pipe; what has to do with write turns is in pipe_turns.cpp. See pipe.hpp.
//
// Map: the two directions that make a pipe; writing, credit and the backlog; borrowing; reading and
//      returned credit; the end.
#include "pipe/pipe.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipe/conflated_slot.hpp"
#include "pipe/in_band.hpp"

namespace zlink {

// A connection has four of them: a cache line more each, and an idle one takes more than 8 KiB.
static_assert(sizeof(frame_queue) <= 4 * 64 && sizeof(pipe_direction) <= 6 * 64 &&
              sizeof(pipe_end) <= 6 * 64);

class pipe : public std::enable_shared_from_this<pipe> {
public:
    pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options)
        : forth_(pool, options, pipe_direction::shares::of_writer),
          back_(pool, options, pipe_direction::shares::of_reader) {
        first_.out_ = second_.in_ = &forth_;
        first_.in_ = second_.out_ = &back_;
        first_.other_ = &second_;
        second_.other_ = &first_;
        first_.other_kind_ = options.second;
        first_.conflated_out_ = forth_.newest.get();
        second_.conflated_out_ = back_.newest.get();
        first_.whole_ = second_.whole_ = this;
    }

    // In the line that the base begins: behind the ends they would take one more.
    highest_seen highest_forth_;
    highest_seen highest_back_;
    pipe_direction forth_;
    pipe_direction back_;
    pipe_end first_;  // an end may give a turn back when it goes
    pipe_end second_;
};
static_assert(sizeof(pipe) <= (1 + 4 * 6) * 64);

pipe_ends make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options) {
    auto both = std::make_shared<pipe>(pool, options);
    return {pipe_end_ptr(both, &both->first_), pipe_end_ptr(both, &both->second_)};
}

pipe_end::~pipe_end() = default;

pipe_end_ptr pipe_end::shared_from_this() noexcept { return {whole_->weak_from_this().lock(), this}; }

// ---- writing ----

error sender::write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept {
    if (conflated_out_) {
        debug_counters::add(debug_counters::count::copied_octets, body.size());
        return write(flags, body);
    }
    if (const error e = out_->queue.write_external(flags, std::move(owner), body); failed(e))
        return e;
    if (out_->queue.copies_external(body.size()))
        debug_counters::add(debug_counters::count::copied_octets, body.size());
    else if (other_kind_ == end_kind::socket)
        flow_.leave_out(body.size());
    if (body.size() >= receiver::counted_in_octets_from)
        flow_.note_large(body.size());
    if (!(flags & (frame_flag::more | frame_flag::command)))
        writes_.write(1);
    return error::none;
}

error sender::append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                     std::size_t owner_size) noexcept {
    if (conflated_out_)
        return write_frames(range);
    const error e = out_->queue.append(owner, range, messages, starts_message, owner_size);
    if (!failed(e))
        writes_.write(messages);
    return e;
}

error sender::write_wire(byte_span frames, std::uint32_t messages) noexcept {
    if (conflated_out_)
        return write_frames(frames);
    const error e = out_->queue.write_wire(frames, messages);
    if (!failed(e))
        writes_.write(messages);
    return e;
}

/// Writes frames that are in wire form one by one.
error sender::write_frames(byte_span frames) noexcept {
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

error sender::write_conflated(byte_span body) noexcept {
    try {
        conflated_out_->keep(body);
    } catch (...) {
        return error::no_memory;
    }
    conflated_out_->note_pending();
    return error::none;
}

void sender::publish_conflated() noexcept {
    if (conflated_out_->has_pending())
        conflated_out_->publish();
}

bool sender::has_conflated_unpublished() const noexcept { return conflated_out_->has_pending(); }

void sender::roll_back() noexcept {
    const std::uint64_t gone = out_->queue.roll_back();
    if (in_place_ && in_place_.give())
        self().wake_other_end();
    if (other_kind_ == end_kind::connection)
        flow_.roll_back_to(out_->queue.octets_written());
    else
        flow_.take_back(gone);
    writes_.roll_back();
    (void)flow_.take_large();
    if (conflated_out_)
        conflated_out_->forget();
}

error sender::gap_telling::write(std::uint64_t lost) noexcept {
    return of_.conflated_out_ ? error::none
                              : of_.out_->queue.write_gap(lost, pipe_end::gap_tag(of_.self().news_read()));
}

void sender::arm_writer() noexcept { out_->writer_armed.store(true, std::memory_order_seq_cst); }

void pipe_end::set_info(peer_info *info) noexcept { out_->queue.set_info(info); }

error pipe_end::say_hello(byte_span routing_id) noexcept {
    // About a peer without an id there is only one thing to say: constant memory, and none that the
    // pipe holds.
    static constexpr std::uint8_t nameless[] = {frame_flag::command, 1, in_band::hello};
    if (news_.is_hello())
        return error::none;
    error e;
    if (routing_id.empty()) {
        e = append(nullptr, nameless, 0, true);
    } else {
        try {
            std::vector<std::uint8_t> hello{in_band::hello};
            hello.insert(hello.end(), routing_id.begin(), routing_id.end());
            e = write(frame_flag::command, hello);
        } catch (...) {
            e = error::no_memory;
        }
    }
    if (!failed(e))
        news_.note_hello();
    return e;
}

void pipe_end::say_gone() noexcept {
    constexpr int most_news_untaken = 16;
    static constexpr std::uint8_t gone[] = {in_band::gone};
    const int untaken = news_.untaken(out_->news_taken.load(std::memory_order_relaxed));
    if (!news_.is_hello() || untaken >= most_news_untaken || failed(write(frame_flag::command, gone)))
        return;
    publish();
    news_.note_gone();
}

/// A connection does it, whose queue may hold what was said to the peer before.
void pipe_end::take_gaps(bool wanted) noexcept {
    want_gaps(wanted);
    in_->queue.take_gaps(wanted ? gap_tag(news_.count()) : frame_queue::no_gaps);
}

void pipe_end::await_drain() noexcept {
    const bool is_first = !out_->is_drain_awaited.exchange(true, std::memory_order_seq_cst);
    if (is_first && !conflated_out_)
        out_->join_shares();
    arm_writer();
    if (is_first && other_kind_ == end_kind::socket) {
        if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
            events->on_drain_awaited(*other_);
    }
    flush_remainder();
}

void pipe_end::end_drain() noexcept {
    out_->is_drain_awaited.store(false, std::memory_order_seq_cst);
    if (!conflated_out_)
        out_->join_shares();
}

bool pipe_end::is_all_out() const noexcept {
    // A connection that has nothing left to write arms itself. Before that it may have taken what
    // it has not written. The first look says that its count is fresh, or that it will tell; the
    // second one, that it has not gone on meanwhile.
    const auto may_hold_some = [this] {
        return other_kind_ == end_kind::connection && in_->has_peer.load() &&
               !out_->reader_armed.load(std::memory_order_seq_cst);
    };
    return !may_hold_some() && outgoing().under_way().messages == 0 && !may_hold_some();
}

void pipe_end::cut_peer(cut_reason why) noexcept {
    if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
        events->on_cut(*other_, why);
}

void pipe_end::tell_slow() noexcept {
    if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
        events->on_slow(*other_);
}

void pipe_end::note_peer(bool is_there) noexcept {
    if (is_there) {
        in_->forget(pipe_direction::is_slow);
        const std::uint64_t returned = in_->returned.load(std::memory_order_acquire);
        has_given_room_at_.store(other_->is_full(returned) ? returned + 1 : 0, std::memory_order_relaxed);
    }
    out_->has_peer.store(is_there, std::memory_order_seq_cst);
    if (out_->is_peer_awaited.exchange(false, std::memory_order_seq_cst))
        wake_other_end();
}

/// Whether what was published reaches a mark. Any thread.
bool pipe_end::is_full(std::uint64_t returned) const noexcept {
    const std::uint64_t messages = out_->message_mark(), octets = out_->octet_mark();
    const std::uint64_t published = writes_.look_at_published();
    return (messages != 0 && published - std::min(published, returned) >= messages) ||
           (octets != 0 && outgoing().under_way().octets >= octets);
}

bool pipe_end::is_peer_full() const noexcept {
    return has_peer() && is_full(out_->returned.load(std::memory_order_acquire));
}

bool pipe_end::end_slow() const noexcept {
    const std::uint64_t messages = out_->message_mark(), octets = out_->octet_mark();
    const amount waiting = outgoing().under_way();
    const bool is_over =
        (messages == 0 || waiting.messages * 2 < messages) && (octets == 0 || waiting.octets * 2 < octets);
    if (is_over)
        out_->forget(pipe_direction::is_slow);
    return is_over;
}

bool pipe_end::is_peer_slow() const noexcept {
    return has_peer() && out_->returned.load(std::memory_order_acquire) >=
                             other_->has_given_room_at_.load(std::memory_order_relaxed);
}

/// For a connection, which asks with each read, and seldom uses all of it up: it notes the depth
/// each time that it hears of more.
std::uint64_t sender::credit() noexcept {
    const std::uint64_t mark = write_mark();
    if (mark != 0) {
        const std::uint64_t before = writes_.returned();
        hear_of_returned();
        if (mark > 1 && writes_.returned() != before)
            self().note_depth();
    }
    const std::uint64_t credit = writes_.credit(mark);
    return credit > 0 ? credit : has_room_in_octets();
}

/// The octets that may still be written below a mark. The reader's place is looked at only when
/// what was known of it is used up.
std::uint64_t sender::room_below(std::uint64_t mark, octet_marks &marks) noexcept {
    const std::uint64_t written = out_->queue.octets_written();
    if (written - std::min(written, marks.seen_taken) >= mark) {
        marks.seen_taken = out_->queue.octets_taken();
        self().note_depth();
    }
    const std::uint64_t waiting = written - std::min(written, marks.seen_taken);
    return mark - std::min(mark, waiting);
}

/// For a writer that has used up the credit it knew of. It notes the depth then, since the reader
/// would wait longer for what the writer changes with each message. Below a mark of 1 nothing is
/// under way.
bool sender::has_new_credit(std::uint64_t mark) noexcept {
    hear_of_returned();
    if (!writes_.has_room(mark))
        return has_room_in_octets();
    if (mark > 1)
        self().note_depth();
    return true;
}

/// Whether both marks have room, where there is one in octets. The caller has heard what was
/// returned.
bool sender::has_room_in_octets() noexcept {
    octet_marks *const marks = out_->octets.load(std::memory_order_acquire);
    const std::uint64_t mark = marks ? marks->sum() : 0;
    if (mark != 0 && writes_.has_room(out_->message_mark()) && room_below(mark, *marks) > 0)
        return true;
    note_fullness();
    return false;
}

/// Once for as many messages: a writer that waits for room asks again and again, and the depth
/// looks at what the reader changes with each message. Such looks leave a third of the reader's
/// rate.
void sender::note_fullness() noexcept {
    if (!flow_.note_fullness(writes_.written()))
        return;
    debug_counters::add(debug_counters::count::depth_looks);
    self().note_depth();
}

/// The value of written() up to which short messages surely find room by both marks, each as large
/// as it may be. 0 where there is no mark in octets.
std::uint64_t sender::full_at_in_octets() noexcept {
    constexpr std::uint64_t largest = frame_queue::longest_short + long_header_size;
    octet_marks *const marks = out_->octets.load(std::memory_order_acquire);
    const std::uint64_t mark = marks ? marks->sum() : 0;
    if (mark == 0)
        return 0;
    const std::uint64_t surely = (room_below(mark, *marks) + largest - 1) / largest;
    return std::min(writes_.written() + surely, writes_.full_at(out_->message_mark()));
}

bool pipe_end::is_beyond_mark() const noexcept {
    const std::uint64_t octets = out_->octet_mark();
    return writes_.is_beyond(out_->message_mark(), out_->returned.load(std::memory_order_acquire)) ||
           (octets != 0 && outgoing().under_way().octets > octets);
}

void sender::backlog_ahead::begin_window() noexcept {
    of_.self().note_depth();
    of_.flow_.begin_backlog_window(of_.writes_.written());
}

/// Short writes may go on until credit runs out, or the sender is to write for itself, or to look
/// how far ahead it is.
void sender::allow_short_writes() noexcept {
    flow_.end_short_writes();
    if (flow_.forbids_short_writes() || conflated_out_ || writes_.has_unpublished() || owes_gap_)
        return;
    const std::uint64_t mark = write_mark();
    std::uint64_t full_at = writes_.full_at(mark);
    if (__builtin_expect(mark == 1, 0))
        full_at = std::max(full_at, full_at_in_octets());
    flow_.allow_short_writes(writes_.written(), full_at);
}

void pipe_end::wake_other_end() noexcept {
    if (pipe_events *events = other_->events_.load(std::memory_order_acquire))
        events->on_readable(*other_);
}

// ---- borrowing ----

bool receiver::ask_for_lease() noexcept {
    if (!back().server.load(std::memory_order_relaxed) || !back().lease.ask())
        return false;
    self().wake_other_end();
    return true;
}

void pipe_end::end_use(bool keep) noexcept {
    if (out_->lease.end_use(keep))
        wake_other_end();
}

// ---- reading ----

bool receiver::has_input() noexcept {
    return in_->queue.has_input() || (conflated_in() && conflated_in()->is_full());
}

bool receiver::read_conflated(frame_view &out) noexcept {
    byte_span body;
    if (!conflated_in()->take(body))
        return false;
    tell_drained();
    out = frame_view{};
    out.data = body.data();
    out.size = body.size();
    return true;
}

bool receiver::read_slow(frame_view &out) noexcept {
    if (conflated_in() && read_conflated(out))
        return true;
    return_due_credit();
    return false;
}

void receiver::return_due_credit() noexcept {
    const std::uint64_t mark = telling_mark();
    if (reads_.owes(mark, in_->large_taken.load(std::memory_order_relaxed)) &&
        (mark != 1 || owes_by_both_marks()))
        return_credit();
    else
        put_off_return();
}

/// Whether a step of either mark is full. A mark of one message, and a writer that wants to know of
/// each, make each message a step.
bool receiver::owes_by_both_marks() noexcept {
    octet_marks *const marks = in_->octets.load(std::memory_order_acquire);
    const std::uint64_t mark = marks ? marks->sum() : 0;
    if (mark == 0)
        return true;
    const std::uint64_t taken = in_->queue.octets_taken();
    if (!in_->is_drain_awaited.load(std::memory_order_relaxed) && taken - marks->told < (mark + 1) / 2 &&
        !reads_.owes(in_->message_mark(), in_->large_taken.load(std::memory_order_relaxed)))
        return false;
    marks->told = taken;
    return true;
}

std::uint64_t receiver::read_mark() const noexcept {
    constexpr std::uint64_t least_octets = 1024 * 1024;
    const std::uint64_t mark = telling_mark();
    return mark == 1 && in_->octet_mark() >= least_octets ? in_->message_mark() : mark;
}

/// Behind the fence of arm_reader(), or the lock of what keeps the newest message. The account
/// belongs to whoever has the turn to write, and is left alone.
void receiver::tell_drained() noexcept {
    if (__builtin_expect(in_->is_drain_awaited.load(std::memory_order_seq_cst), 0))
        wake_writer();
}

/// Until credit is due the writer may want to know how far the reader is.
void receiver::put_off_return() noexcept {
    in_->about_taken.store(reads_.taken(), std::memory_order_relaxed);
    reads_.put_off(telling_mark());
}

void receiver::return_credit() noexcept {
    if (telling_mark() == 0)  // the writer never asks
        other().note_depth();
    reads_.tell(in_->large_taken.load(std::memory_order_relaxed));
    put_off_return();
    in_->returned.store(reads_.taken(), std::memory_order_release);
    full_fence();
    wake_writer();
}

void receiver::wake_writer() noexcept {
    if (in_->writer_armed.load(std::memory_order_relaxed) &&
        in_->writer_armed.exchange(false, std::memory_order_seq_cst)) {
        if (pipe_events *events = other().events_.load(std::memory_order_acquire))
            events->on_writable(other());
    }
}

void receiver::arm_reader() noexcept {
    // A reader that has drained the queue owes the writer nothing, whatever the step was when it
    // began.
    if (reads_.is_ahead())
        return_credit();
    // This thread reads that connection itself: nobody has to wake it.
    if (back().lease.is_used())
        return;
    in_->reader_armed.store(true, std::memory_order_seq_cst);
    full_fence();
    if (!in_->writer_fences.load(std::memory_order_acquire))
        light_publisher_met();
}

// ---- counts ----

passage pipe_end::outgoing() const noexcept {
    passage what{{writes_.look_at_published(), out_->queue.octets_written()},
                 {other_->reads_.look_at_taken(), out_->queue.octets_taken()}};
    if (conflated_out_)
        conflated_out_->count(what);
    return what;
}

highest_seen &pipe_end::highest() const noexcept {
    return this == &whole_->first_ ? whole_->highest_forth_ : whole_->highest_back_;
}

void pipe_end::note_depth() noexcept { highest().note(outgoing().under_way()); }

amount pipe_end::highest_outgoing() const noexcept {
    amount highest = this->highest().look();
    highest.keep_most(outgoing().under_way());
    return highest;
}

/// The messages that came here, and are neither read nor told as lost. When both ends claim them
/// the first gets them; one that is published behind the reader's claim is found by the writer,
/// which sees the reader closed.
std::uint64_t pipe_end::claim(std::uint64_t published) noexcept {
    const std::uint64_t settled =
        std::max(settled_.exchange(published, std::memory_order_acq_rel), reads_.look_at_taken());
    return published - std::min(published, settled);
}

pipe_end::lost_messages pipe_end::take_lost() noexcept {
    in_->is_read_on.store(false, std::memory_order_relaxed);
    full_fence();  // behind the stores that say that this end is closed, and read no more
    const bool are_both_closed = is_peer_closed() && !out_->is_read_on.load(std::memory_order_relaxed);
    if (conflated_out_)
        return {.unread = conflated_in()->claim(), .untaken = are_both_closed ? conflated_out_->claim() : 0};
    lost_messages lost{.unread = claim(other_->writes_.look_at_published())};
    if (are_both_closed)
        lost.untaken = other_->claim(writes_.published());
    return lost;
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
    full_fence();  // the other end may be given its owner just now: see set_events()
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
    out_->writers_share.store(pipe_direction::share_of(messages), std::memory_order_seq_cst);
    out_->join_shares();
    // Messages that this thread has written for a sleeping connection count as taken, but a step of
    // the higher mark before may hold that credit back, and nobody else would return it.
    (void)write_now();
}

void pipe_end::set_read_hwm(std::uint64_t messages) noexcept {
    if (conflated_in())
        return;
    in_->readers_share.store(pipe_direction::share_of(messages), std::memory_order_seq_cst);
    in_->join_shares();
    return_credit();
}

void pipe_end::set_write_octets(std::uint64_t octets) {
    if (conflated_out_ || (octets == 0 && !out_->octets.load(std::memory_order_acquire)))
        return;
    out_->need_octets().writers.store(pipe_direction::octets_share_of(octets));
    out_->join_shares();
}

void pipe_end::set_read_octets(std::uint64_t octets) {
    if (conflated_in() || (octets == 0 && !in_->octets.load(std::memory_order_acquire)))
        return;
    in_->need_octets().readers.store(pipe_direction::octets_share_of(octets));
    in_->join_shares();
    return_credit();
}

void pipe_end::set_events(std::shared_ptr<pipe_events> events) noexcept {
    events_owner_ = std::move(events);
    events_.store(events_owner_.get(), std::memory_order_release);
    full_fence();  // whoever takes this end in looks whether the other one was closed before
}

}  // namespace zlink
