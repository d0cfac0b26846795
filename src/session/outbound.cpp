// The writing half of a connection. See outbound.hpp.
//
// Map: the turn, on the I/O thread and on the sender's; collecting and leaving alone; one write:
// what is listed, what the stream has taken; what the connection asks; translation, frame by frame.
#include "session/outbound.hpp"

#include <algorithm>
#include <new>

#include "core/frame.hpp"
#include "pipe/in_band.hpp"

namespace zlink {

namespace {
constexpr std::size_t max_ranges = 256;  // two for each body that is not copied

/// For the debug counters: the kernel took something of what was listed.
void count_write(std::size_t ranges, bool is_partial, debug_counters::tally uncopied) noexcept {
    using namespace debug_counters;
    if (ranges > 1)
        add(count::gathered_writes);
    if (is_partial)
        add(count::partial_writes);
    if (uncopied.is_zero())
        add(count::copying_writes);
}
}  // namespace

/// The form is chosen once for the life of a connection. Where memory for a translation is missing,
/// the connection fails with its first write.
void outbound::open(pipe_end_ptr pipe, bool replays, connection_port &server, chunk_pool &pool) noexcept {
    server_ = &server;
    pipe_ = std::move(pipe);
    pipe_->take_gaps(peer_.info().hears_gaps);
    const bool translates =
        subscriptions_ != nullptr || pipe_->is_conflating() || !peer_.framing().is_identity();
    if (translates && !(translated_ = std::unique_ptr<translation>(new (std::nothrow) translation(pool))))
        failure_.store(error::no_memory, std::memory_order_release);
    taken_before_ = messages_taken();
    if (!translates)
        return;
    if (subscriptions_ != nullptr)
        form_ = replays ? form::set_first : form::one_by_one;
    else
        form_ =
            !pipe_->is_conflating() && peer_.framing().has_encode_small() ? form::together : form::one_by_one;
}

/// The turn is claimed, not taken: whoever has it gives it back to this thread, and no sender gets
/// it any more.
bool outbound::close() noexcept {
    if (!pipe_)
        return true;
    writing turn = pipe_->claim_turn();
    if (!turn)
        return false;
    // Nobody is in write_now() any more.
    if (translates()) {
        drop_translated_message(turn);
        lost_ = messages_taken() - taken_before_ - translated_->messages_gone(peer_.framing());
    } else {
        lost_ = turn.drop_cut_message();
    }
    (void)turn.give();
    pipe_ = nullptr;
    return true;
}

/// That control octets wait is told before the turn is asked for: only a sender that has the turn
/// by then can have missed it, and it tells of the request that is left here.
outbound::written outbound::write(time_point now) noexcept {
    note_control();
    writing turn;
    if (pipe_ && !(turn = pipe_->take_turn()))
        return written::refused;
    const written result = write_in_turn(turn, now);
    // A sender that was refused meanwhile has gone to wait: what it has published is for this
    // thread to write, now.
    const bool was_refused = turn && give(turn);
    return was_refused && result == written::held ? written::some : result;
}

/// Does writing::give(). The borrower does not wait for room while it is refused the turn: it is
/// told to look again.
bool outbound::give(writing &turn) noexcept {
    const bool was_refused = turn.give();
    if (was_refused && room_.is_leased())
        pipe_->wake_other_end();
    return was_refused;
}

outbound::written outbound::write_last_words(time_point now) noexcept {
    // When they have to stand behind a whole message, that is not waited for: it may never end.
    const bool may_wait = peer_.framing().has_control_between_frames();
    note_control();
    writing turn;
    if (pipe_ && !(turn = pipe_->take_turn()))
        return may_wait ? written::refused : written::all;
    control_.note_last();
    const written result = write_in_turn(turn, now);
    if (turn)
        (void)give(turn);
    const bool is_over = peer_.output().empty() || is_finished_ || failed(failure());
    return is_over || !may_wait ? written::all : result;
}

/// Looks whether there is room, and whose it is to wait where there is none; whether a sender is at
/// it; and then writes as often as leaves the other connections their time. Without a pipe there
/// are only control octets, and no turn.
outbound::written outbound::write_in_turn(writing &turn, time_point now) noexcept {
    pause_.end();
    room_.look();
    const bool is_left_to_others = room_.is_left_to_others();
    if (!is_left_to_others && room_.take_wait())
        stream_.wait_writable();
    if (pause_.is_sender_at_it(now) && (is_left_to_others || has_little(turn))) {
        pause_.leave_to_sender(now);
        return written::held;
    }
    if (is_left_to_others)
        return written::refused;
    const bool collects = may_collect();
    if (!collects)
        pause_.stop_collecting();
    progress done;
    for (int i = 0; i < write_policy::writes_per_turn; ++i) {
        switch (write_once(turn, true, occasion::any, done)) {
        case written::some:
            if (collects && done.is_all) {
                const progress all = std::exchange(done, {});
                if (pause_.collects_after(now, all.octets, all.messages))
                    return leave_collecting(turn);
            }
            break;
        case written::all:
            if (turn) {
                if (collects && i == 0 && pause_.collects_without_any(now))
                    return leave_collecting(turn);
                turn.arm_reader();
                // All that came before the pipe is out. From here on its sender may write, too, and
                // nothing overtakes the handshake.
                if (server_) {
                    turn.expect_growth(peer_.framing().growth_of_small());
                    turn.serve(*std::exchange(server_, nullptr));
                }
            }
            pause_.note_drained(now);
            return written::all;
        case written::full:
            if (room_.is_leased()) {
                room_.owe_wait();
                return written::full;
            }
            stream_.wait_writable();
            return written::refused;
        case written::refused:
            if (!room_.is_busy())
                return written::refused;
            pause_.leave_to_others(now);
            return written::held;
        case written::held:  // not where nothing is to be left
            return written::refused;
        }
    }
    return written::some;
}

/// Runs on any thread, with the turn. It writes messages only: what stands between two of them is
/// the I/O thread's, and without a lease it is refused while something waits for such a gap.
outbound::written outbound::write_now(writing &turn, connection_port::occasion when) noexcept {
    const bool is_ready = when == connection_port::occasion::ready;
    const bool was_left_to_others = is_ready && room_.owes_wait();
    if (is_ready)
        room_.try_again();
    if (!may_write() || control_.is_waiting() || control_.is_last())
        return written::refused;
    progress done;
    // A body that goes out in slices is one write.
    for (int i = 0; i < write_policy::senders_writes_per_turn; i += !is_covering()) {
        switch (write_once(turn, false, when, done)) {
        case written::some:
            // Nobody but this thread publishes, so that there is no more than there was.
            if (done.is_all)
                return note_all_written(turn, was_left_to_others);
            break;
        case written::held:
            return written::held;
        case written::all:
            return note_all_written(turn, was_left_to_others);
        case written::full:
            room_.owe_wait();
            return written::full;
        // Broken, or the I/O thread is at it: that goes on with what is left.
        case written::refused:
            return written::some;
        }
    }
    return written::some;
}

outbound::written outbound::note_all_written(writing &turn, bool was_left_to_others) noexcept {
    turn.return_due_credit();
    if (was_left_to_others && !pause_.is_on())
        turn.arm_reader();  // the I/O thread does not know that it was full
    return written::all;
}

/// Whether messages may wait for others. Not at the end of a connection, or of its handshake, nor
/// where their sender would soon be at its mark, or commands are to go.
bool outbound::may_collect() noexcept {
    if (!pipe_ || server_ || !gathers() || pipe_->is_peer_closed() || peer_.has_words())
        return false;
    return write_policy::may_collect_below(pipe_->read_mark());
}

outbound::written outbound::leave_collecting(writing &turn) noexcept {
    turn.return_due_credit();
    return written::held;
}

/// Whether what is left can wait: the sender writes for itself, and this is about what it writes at
/// once, or less.
bool outbound::has_little(writing &turn) noexcept {
    if (peer_.has_words() || !gathers() || is_covering() || pipe_->is_peer_closed())
        return false;
    std::array<iovec, max_ranges> ranges;
    return (translates() ? translated_->octets() : 0) +
               turn.gather(ranges.data(), ranges.size(), write_policy::octets_worth_a_write).octets <
           write_policy::octets_worth_a_write;
}

/// Writes once what there is. `some`: all that was listed went out; `done` says whether that was
/// all there was. `all`: there was nothing.
outbound::written outbound::write_once(writing &turn, bool with_control, occasion when,
                                       progress &done) noexcept {
    if (!may_write())
        return written::refused;
    std::array<iovec, max_ranges> ranges;
    const std::uint64_t taken = turn ? turn.messages_taken() : 0;
    listed what = list(turn, ranges, with_control);
    // A translation may find no memory while it lists.
    if (failed(failure()))
        return written::refused;
    if (what.ranges == 0)
        return written::all;
    // A full list may be the beginning of more.
    if (when == occasion::stream && what.ranges < ranges.size()) {
        const std::size_t octets =
            write_policy::octets_to_write(what.octets, sizes_.piece, when, done.octets == 0);
        if (octets == 0)
            return written::held;
        what.cut(ranges, octets);
    }
    if (sizes_.tcp_max_transfer)
        what.cut(ranges, sizes_.tcp_max_transfer);
    const io_result result = stream_.try_write({ranges.data(), what.ranges});
    if (!with_control && result.octets >= part_of_a_stream)
        pause_.note_senders_write(result.octets);
    if (result.octets > 0) {
        // No more than a load and a store: who has the turn is alone.
        writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        control_.note_write(result.octets == what.octets && what.ends_message);
        count_write(what.ranges, result.octets < what.octets, what.uncopied);
        take_written(turn, result.octets, what);
        done.octets += result.octets;
        done.messages += turn ? turn.messages_taken() - taken : 0;
        done.is_all = what.is_all;
    }
    if (failed(result.status) && result.status != error::again)
        return end_early(result, done);
    if (result.octets == what.octets)
        return written::some;
    room_.note_full();
    return written::full;
}

/// The stream has failed, or makes way for another thread, at once or after some octets.
outbound::written outbound::end_early(const io_result &result, progress &done) noexcept {
    if (result.status != error::busy) {
        failure_.store(result.status, std::memory_order_release);
        return written::refused;
    }
    done.is_all = false;
    if (result.octets > 0)
        return written::some;
    room_.note_busy();
    return written::refused;
}

bool outbound::take_progress() noexcept {
    const std::uint64_t writes = writes_.load(std::memory_order_relaxed);
    return std::exchange(writes_seen_, writes) != writes;
}

/// Lists what to write: control octets where they may stand, then the queue's.
outbound::listed outbound::list(writing &turn, std::span<iovec> ranges, bool with_control) noexcept {
    listed what;
    auto &control = peer_.output();
    if (with_control && !control.empty()) {
        look_for_boundary(turn);
        if (control_.is_here()) {
            what.control = control.size() - control_.written();
            what.octets = what.control;
            ranges[what.ranges++] = {control.data() + control_.written(), what.control};
        }
    }
    // The rest of a message that has begun stands in front of the last words, and nothing behind
    // them.
    if (!turn || control_.is_end(what.control > 0))
        return what;
    if (translates()) {
        list_translated(turn, ranges, with_control, what);
        return what;
    }
    const auto found =
        turn.gather(ranges.data() + what.ranges, ranges.size() - what.ranges, sizes_.out_batch_size);
    what.ranges += found.ranges;
    what.octets += found.octets;
    what.ends_message = found.ends_message;
    what.is_all = found.ends_message && what.ranges < ranges.size() && found.octets < sizes_.out_batch_size;
    what.uncopied = found.uncopied;
    if (control_.goes_beyond_end(what.octets)) {
        what.cut(ranges, control_.octets_to_end());
        what.ends_message = true;
    }
    return what;
}

/// Control octets wait: where inside of a message, the list ends with it. Else one message would
/// follow the other, and in a stream that is never empty, and never takes all, no list would end
/// between two. The end is found once for each message, which may have very many frames.
/// translate() sees to that for what is translated.
void outbound::look_for_boundary(writing &turn) noexcept {
    if (control_.needs_message_end() && !translates() && turn)
        control_.note_message_end(turn.octets_to_message_end(control_.octets_since_end()));
}

/// The list is the beginning of something then, so that it ends no message.
void outbound::listed::cut(std::span<iovec> list, std::size_t limit) noexcept {
    if (limit >= octets)
        return;
    octets = limit;
    ends_message = is_all = false;
    for (ranges = 0; limit > 0; ++ranges) {
        list[ranges].iov_len = std::min(list[ranges].iov_len, limit);
        limit -= list[ranges].iov_len;
    }
}

/// Control octets stand in front of the list, and messages are counted behind them.
void outbound::take_written(writing &turn, std::size_t octets, const listed &what) noexcept {
    if (what.control > 0) {
        const std::size_t taken = std::min(octets, what.control);
        octets -= taken;
        if (taken < what.control) {
            control_.note_control(taken);
            return;
        }
        peer_.drop_output();  // control octets are rare: no memory is kept for them
        control_.note_all_control();
        note_control();
    }
    if (octets == 0)
        return;
    control_.note_messages(octets);
    if (translates())
        translated_->release(octets);
    else
        turn.release(octets);
}

bool outbound::has_work() noexcept {
    if (!pipe_)
        return false;
    writing turn = pipe_->take_turn();
    if (!turn)
        return false;  // who has it says when it is done
    const bool result = room_.owes_wait() || (may_write() && turn.has_input());
    return give(turn) || result;
}

/// Also false while another thread has the turn: when that has done, the I/O thread looks again.
bool outbound::is_drained() noexcept {
    if (peer_.has_words())
        return false;
    if (!pipe_)
        return true;
    writing turn = pipe_->take_turn();
    return turn && (!translates() || translated_->is_empty()) && control_.is_between_messages() &&
           !turn.has_input();
}

/// With the turn, since a sender that finds the stream full owes the wait, too: either it has
/// done so before, or it leaves the wait to who has the lease.
bool outbound::lease_out() noexcept {
    if (server_ || is_finished_ || failed(failure()) || peer_.has_words())
        return false;
    const writing turn = pipe_->take_turn();
    if (!turn)
        return false;
    room_.lease_out();
    return true;
}

// ---- translation ----

/// Encodes frames of the pipe one by one, for peers that want another form than the queue's. Small
/// ones go behind what is left of those before, and fill pieces together with them; but where
/// control octets wait for the end of what is left, that is written first.
void outbound::list_translated(writing &turn, std::span<iovec> ranges, bool with_control,
                               listed &what) noexcept {
    try {
        // No more than is written at once: a peer that takes nothing does not get more of them.
        if (with_control && !control_.is_last() && !translated_->is_in_message() && !translated_->is_full())
            translate_commands();
        if (with_control)
            turn.note_awake();
        const bool may_begin = !(control_.is_last() && peer_.framing().has_control_between_frames());
        const bool may_add = gathers() && translated_->may_grow() && !control_.is_last() &&
                             !(with_control && !peer_.output().empty());
        if (translated_->is_empty() ? may_begin : may_add)
            translate(turn);
        const translation::listed found = translated_->list(ranges.subspan(what.ranges));
        what.ranges += found.ranges;
        what.octets += found.octets;
        what.ends_message =
            found.is_all && (!translated_->is_in_message() || peer_.framing().has_control_between_frames());
        what.is_all = what.ends_message && !turn.has_input();
        what.uncopied = found.uncopied;
    } catch (...) {
        failure_.store(error::no_memory, std::memory_order_release);
    }
}

/// Commands that have numbers get them here, behind all that was encoded before.
void outbound::translate_commands() {
    byte_span rest = peer_.commands();
    if (rest.empty())
        return;
    for (frame_header header; get_frame_header(rest.data(), rest.size(), header);) {
        const byte_span body = rest.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        peer_.framing().encode_command(body, translated_->tail());
        rest = rest.subspan(header.header_size + body.size());
    }
    std::vector<std::uint8_t>().swap(peer_.commands());
    note_control();
}

void outbound::translate(writing &turn) {
    if (form_ == form::set_first) {
        form_ = form::one_by_one;
        send_subscription_set(turn);
    }
    frame_view frame;
    // Between two messages, in front of control octets that wait: with each message encoded behind
    // them they would wait longer.
    const auto may_stop = [this] {
        return control_.is_waiting() && !translated_->is_empty() && !translated_->is_in_message();
    };
    while (!translated_->is_full() && !may_stop()) {
        if (translate_small(turn))
            continue;
        if (!turn.read(frame))
            break;
        if (__builtin_expect(frame.is_command(), 0) && in_band::is_gap(frame.body()))
            translate_gap(turn.has_read_own_gap(), frame.body());
        else
            translate_frame(frame, turn.has_read_in_place());
    }
}

/// Encodes small frames that follow one another in the pipe together. False when none come next.
bool outbound::translate_small(writing &turn) {
    if (!gathers())
        return false;
    const byte_span run = turn.peek_run();
    byte_span rest = run;
    const std::uint64_t messages = translated_->put_small(peer_.framing(), rest);
    const std::size_t taken = run.size() - rest.size();
    if (taken > 0)
        turn.read_run(taken, messages);
    return taken > 0;
}

void outbound::translate_frame(const frame_view &frame, bool is_in_place) {
    if (frame.is_command()) {
        if (frame.size == 0)
            return;
        const bool is_subscribe = frame.data[0] == in_band::subscribe;
        if (is_subscribe || frame.data[0] == in_band::cancel)
            peer_.framing().encode_subscription(is_subscribe, frame.body().subspan(1), translated_->tail());
        return;
    }
    translated_->put(peer_.framing(), frame, is_in_place);
}

/// One that is not this peer's was said to a former one.
void outbound::translate_gap(bool is_own, byte_span gap) {
    if (peer_.info().hears_gaps)
        peer_.framing().encode_command(is_own ? gap : byte_span(in_band::gap(0)), translated_->tail());
}

/// The frames of a message went to a connection that is gone: the rest must not begin the next one.
void outbound::drop_translated_message(writing &turn) noexcept {
    frame_view frame;
    while (translated_->is_in_message() && turn.read(frame))
        translated_->leave_out(frame);
}

/// A new connection on a pipe that was there before: the whole set goes out, and subscriptions
/// still in the pipe are part of it. The socket changes set and pipe under the same lock; it has
/// written no changes while nobody followed them.
void outbound::send_subscription_set(writing &turn) {
    subscriptions_->with_lock([&](const subscription_set::topics &topics) {
        topics.for_each(
            [&](byte_span topic) { peer_.framing().encode_subscription(true, topic, translated_->tail()); });
        frame_view frame;
        while (turn.read(frame)) {
            if (!frame.is_command())
                translate_frame(frame, turn.has_read_in_place());
        }
        pipe_->follow(true);
    });
}

}  // namespace zlink
