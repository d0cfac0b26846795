#include "session/connection.hpp"

#include <algorithm>

#include "core/invariant.hpp"
#include "pipe/in_band.hpp"

namespace zlink {

namespace {
constexpr std::size_t read_beside_large = 8 * 1024;
// A longer read holds the stream against the side that writes to it: on loopback 3.3 GB/s instead of 4.7.
constexpr std::size_t most_at_once = 64 * 1024;
constexpr std::size_t handshake_read = 4 * 1024;
constexpr int reads_per_turn = 4;
constexpr duration lease_look = std::chrono::milliseconds(4);

/// As many octets as whole messages could be, by the mark and by the size of one; some more where these are very small.
std::uint64_t most_octets_of_message(const settings &options) noexcept {
    constexpr std::uint64_t least_octets = 1024 * 1024;
    constexpr std::uint64_t least_messages = 64;
    constexpr std::uint64_t usual_messages = 1000;
    if (options.max_message_size < 0)
        return UINT64_MAX;
    const std::uint64_t messages = options.receive_hwm == 0
                                       ? usual_messages
                                       : std::max<std::uint64_t>(options.receive_hwm, least_messages);
    const auto size = static_cast<std::uint64_t>(options.max_message_size);
    return size > UINT64_MAX / messages - long_header_size
               ? UINT64_MAX
               : std::max(least_octets, messages * (size + long_header_size));
}

bool is_subscription(const peer::action &action) noexcept {
    return action.kind == peer::action_kind::subscribe || action.kind == peer::action_kind::cancel;
}
}  // namespace

connection::connection(const connection_environment &environment, std::unique_ptr<stream> bytes,
                       bool is_server, connection_host &host)
    : environment_(environment), host_(host), stream_(std::move(bytes)),
      peer_(environment.options, is_server),
      out_(*stream_, peer_, environment.subscriptions.get(), environment.sizes),
      receives_(environment.options.receives()) {
    if (environment.options.max_message_size >= 0)
        limits_.max_body = static_cast<std::uint64_t>(environment.options.max_message_size);
    most_unfinished_ = most_octets_of_message(environment.options);
    // A subscription may be as long as a message.
    if (environment.options.has_subscribers())
        limits_.max_command = std::max(limits_.max_command, limits_.max_body);
    stream_->set_events(this);
}

connection::~connection() {
    const bool is_free = (!is_leased_ || pipe_->lease().recall()) && out_.close();
    ZLINK_INVARIANT(is_free);
    stream_.reset();  // no callback comes from here on
}

bool connection::let_go(bool drops_unread) noexcept {
    if (!recall_reading())
        return false;
    if (drops_unread && state_ == state::live)
        drop_unread();
    state_ = state::over;
    timer_.reset();
    flush_timer_.reset();
    return out_.close();
}

void connection::start() noexcept {
    obey(peer_.resume({peer::event_kind::start, {}, environment_.io.now()}));
    if (state_ == state::live) {
        update_timer();
        write();
        stream_->wait_readable();
    }
    report();
}

void connection::work() noexcept {
    if (state_ != state::live) {
        report();
        return;
    }
    tend_lease();
    if (state_ == state::live && !is_leased_ && is_paused_)
        resume_reading();
    if (state_ == state::live)
        write();
    report();
}

void connection::look() noexcept {
    if (state_ != state::live || !pipe_)
        return;
    if ((!is_leased_ && is_paused_ && may_deliver()) || out_.has_work())
        host_.want_turn();
}

void connection::discard_input() noexcept {
    if (discards_ || !pipe_ || !recall_reading())
        return;
    discard_from_here();
    if (state_ == state::live && is_paused_)
        resume_reading();
    report();
}

void connection::discard_from_here() noexcept {
    discards_ = true;
    pipe_->roll_back();
    if (large_.is_under_way() && !large_.header().is_command()) {
        (void)skip_rest(large_.header(), large_.arrived());
        large_.forget();
    }
}

bool connection::is_drained() noexcept {
    const bool is_here = recall_reading();
    report();
    return is_here && state_ == state::live && out_.is_drained();
}

bool connection::finish_writing() noexcept {
    if (state_ != state::live || failed(out_.failure()) || unconfirmed() == 0 || !stream_->finish_writing())
        return false;
    out_.finish();
    return true;
}

void connection::drop_unread() noexcept {
    if (!pipe_)
        return;
    discard_from_here();
    read_to_the_end();
}

void connection::on_stream_readable() noexcept {
    if (state_ != state::live)
        return;
    read();
    if (state_ == state::live && (!peer_.output().empty()))
        write();
    report();
}

void connection::on_stream_writable() noexcept {
    out_.note_writable();
    write();
    report();
}

void connection::on_time() noexcept {
    if (state_ != state::live || is_leased_)
        return;  // nothing is due at a connection that may be leased
    if (failed(out_.failure())) {
        report();
        return;
    }
    if (is_paused_ || out_.is_finished())
        peer_.note_traffic(environment_.io.now());  // it is this side that does not listen, or asks no more
    if (obey(peer_.resume({peer::event_kind::time, {}, environment_.io.now()}))) {
        update_timer();
        write();
    }
    report();
}

void connection::write() noexcept {
    if (state_ != state::live)
        return;
    switch (out_.write(environment_.io.now(), octets_of_stream())) {
    case outbound::outcome::drained:
        flush_delay_ = first_flush_delay;
        deferred_at_ = environment_.io.now();
        if (pipe_) {
            host_.want_look();
            host_.on_drained(*this);
        }
        break;
    case outbound::outcome::more:
        host_.want_turn();
        break;
    case outbound::outcome::deferred:
        deferred_at_ = environment_.io.now();
        if (!flush_timer_ || !flush_timer_->is_pending()) {
            write_at(deferred_at_ + flush_delay_);
            flush_delay_ = std::min<duration>(2 * flush_delay_, longest_flush_delay);
        }
        break;
    case outbound::outcome::collecting:
        write_at(out_.collected_at());
        break;
    case outbound::outcome::leased_full:
        pipe_->wake_other_end();  // a borrower that sleeps already waits for other things
        break;
    case outbound::outcome::stopped:
        break;
    }
}

/// How much a sender has written itself since it was last left alone, if it still is in a stream: some, and after a longer time as
/// much in each of the shortest delays as shows that it does nothing else.
std::uint64_t connection::octets_of_stream() const noexcept {
    constexpr std::uint64_t octets_of_delay = 32 * 1024;
    const auto delays = (environment_.io.now() - deferred_at_) / first_flush_delay;
    return delays < 2 ? 1 : static_cast<std::uint64_t>(delays) * octets_of_delay;
}

void connection::write_at(time_point when) noexcept {
    if (!flush_timer_)
        flush_timer_ = environment_.io.make_timer([this] {
            write();
            report();
        });
    if (flush_timer_)
        flush_timer_->expires_at(when);
    else
        host_.want_turn();
}

// ---- lending ----

/// Grants, refuses and ends the lease.
void connection::tend_lease() noexcept {
    if (!pipe_)
        return;
    if (is_leased_) {
        if (pipe_->lease().owns_reading())
            take_reading_back();
        else if (!lease_timer_->is_pending())
            watch_lease();  // the borrower has left
    }
    // A lease that ended may have been asked for again before anybody here knew.
    if (!is_leased_ && pipe_->lease().is_wanted()) {
        if (may_lease_out())
            lease_out();
        else
            pipe_->lease().refuse();
    }
}

/// Heartbeats need the loop's thread all the time.
bool connection::may_lease_out() noexcept {
    if (state_ != state::live || discards_ || pipe_->is_peer_closed() || pipe_->is_conflating() ||
        peer_.deadline() != time_point::max() || (is_paused_ && !may_deliver()))
        return false;
    if (!lease_timer_)
        lease_timer_ = environment_.io.make_timer([this] { on_lease_time(); });
    if (!lease_timer_ || !out_.lease_out())
        return false;
    if (stream_->lease_out())
        return true;
    out_.end_lease();
    return false;
}

void connection::lease_out() noexcept {
    is_leased_ = true;
    has_filled_block_ = stream_->holds_input();
    watch_lease();
    pipe_->lease().grant();
    pipe_->wake_other_end();
}

/// All leases are looked at in the same moments, every lease_look, so that a thousand of them wake the thread once.
void connection::watch_lease() noexcept {
    uses_seen_ = pipe_->lease().uses();
    pipe_->lease().watch();
    const duration soonest = environment_.io.now().time_since_epoch() + lease_look / 2;
    lease_timer_->expires_at(time_point(soonest - soonest % lease_look + lease_look));
}

/// True when the reading half is here. Else it is called back, and work() follows.
bool connection::recall_reading() noexcept {
    if (!is_leased_)
        return true;
    if (!pipe_->lease().recall()) {
        pipe_->wake_other_end();
        return false;
    }
    take_reading_back();
    return true;
}

void connection::take_reading_back() noexcept {
    is_leased_ = false;
    out_.end_lease();
    lease_timer_->cancel();
    must_return_lease_ = false;
    if (const error e = stream_->take_back(); failed(e)) {
        fail(e);
        return;
    }
    if (failure_while_leased_) {
        fail(*failure_while_leased_);
        return;
    }
    if (pipe_->is_peer_closed() && !discards_)
        discard_from_here();
    if (is_paused_)
        resume_reading();
    else
        stream_->wait_readable();
    if (state_ == state::live)
        write();
}

/// Ends a lease that was not used for a while. A borrower that waits is left alone: it says so when it leaves.
void connection::on_lease_time() noexcept {
    read_lease &lease = pipe_->lease();
    if (lease.uses() != uses_seen_) {
        watch_lease();
    } else if (!lease.is_used()) {
        (void)recall_reading();
        report();
    } else if (!lease.stop_watching()) {
        watch_lease();
    }
}

bool connection::read_now(block_ref &scratch) noexcept {
    runs_on_socket_thread_ = true;
    if (!is_paused_)
        has_filled_block_ = read_once(scratch).has_filled_room || stream_->holds_input();
    else if (may_deliver())
        (void)deliver_held();
    else
        must_return_lease_ = true;  // the borrower leaves what it has got already: that may take long
    runs_on_socket_thread_ = false;
    return !must_return_lease_;
}

io_turn::offer_end connection::withdraw_offer() noexcept {
    offered_ = {};
    if (std::exchange(has_filled_offer_, false))
        return offer_end::filled;
    if (!large_.is_elsewhere() || large_.move_to_own_memory(*environment_.pool))
        return offer_end::unused;
    large_.forget();
    runs_on_socket_thread_ = true;
    fail(error::no_memory);
    runs_on_socket_thread_ = false;
    return offer_end::failed;
}

/// Whether a frame that has begun to arrive is all of the message that the borrower waits for.
bool connection::suits_offer(const frame_header &frame) const noexcept {
    return runs_on_socket_thread_ && !in_message_ && !frame.has_more() && !frame.is_command() &&
           frame.body_size <= offered_.size();
}

void connection::deliver_offered() noexcept {
    const error e = pipe_->write_external(0, {}, large_.take_body());
    if (failed(e)) {
        fail(e);
        return;
    }
    has_filled_offer_ = has_delivered_ = true;
    pipe_->publish();
    if (!may_deliver())
        pause();
}

// ---- in ----

void connection::read() noexcept {
    for (int turn = 0; turn < reads_per_turn; ++turn) {
        if (state_ != state::live || is_paused_)
            return;
        if (!read_once(environment_.io.scratch).has_filled_room)
            break;
    }
    if (state_ == state::live && !is_paused_)
        stream_->wait_readable();
}

/// All that has arrived, as far as there is room for it. Nobody waits for more: a short read is not the last one.
void connection::read_to_the_end() noexcept {
    std::size_t octets = 0;
    for (int i = 0; i < reads_at_the_end && octets < most_at_the_end && is_going_on() && !is_paused_; ++i) {
        const found last = read_once(environment_.io.scratch);
        if (last.octets == 0)
            break;
        octets += last.octets;
    }
}

chunk *connection::make_room(block_ref &scratch, std::size_t size) noexcept {
    if (!scratch || scratch.get()->is_shared() || static_cast<chunk *>(scratch.get())->capacity < size) {
        scratch.reset();
        scratch = block_ref::adopt(environment_.pool->allocate(size));
    }
    return static_cast<chunk *>(scratch.get());
}

/// One read. Nothing is found in a stream that is drained, or dead.
connection::found connection::read_once(block_ref &scratch) noexcept {
    const std::size_t size = environment_.sizes.in_batch_size;
    const std::size_t wanted = std::max(size, tail_.size() + read_beside_large);
    chunk *block = make_room(scratch, wanted);
    if (!block) {
        fail(error::no_memory);
        return {};
    }
    const std::size_t kept = tail_.size();
    if (kept)
        std::memcpy(block->data(), tail_.data(), kept);
    const std::size_t lead = kept + (decoder_ ? decoder_->held() : 0);
    std::size_t room =
        std::min(block->capacity, wanted) - lead;  // the block may be another socket's, with larger reads
    if (!peer_.is_established())
        room = std::min(room, handshake_read);
    else if (large_.is_under_way() || expects_large_)
        room = std::min(room, read_beside_large);

    std::array<iovec, 2> ranges;
    std::size_t count = 0;
    std::size_t large_room = 0;
    const bool has_large = large_.is_under_way();
    if (has_large) {
        const large_frame::place next = large_.room(*environment_.pool);
        if (next.octets == 0) {
            fail(error::no_memory);
            return {};
        }
        large_room = std::min(next.octets, most_at_once);
        ranges[count++] = {next.begin, large_room};
    }
    if (!has_large || large_room == large_.missing())
        ranges[count++] = {block->data() + lead, room};
    else
        room = 0;
    const io_result result = stream_->try_read({ranges.data(), count});
    const std::size_t taken = std::min(result.octets, large_room);
    if (has_large)
        large_.note_read(taken);
    if (result.octets == 0) {
        if (failed(result.status) && result.status != error::again)
            fail(result.status);
        return {};
    }
    if (!runs_on_socket_thread_)  // no heartbeats there
        peer_.note_traffic(environment_.io.now());
    const bool has_filled_room = result.octets == large_room + room;
    std::size_t rest = result.octets - taken;
    if (decoder_) {
        decoder_->pass(taken);
        rest = decoder_->decode({block->data() + lead, rest}, block->data() + kept);
    }
    expects_large_ = false;
    if (has_large && large_.is_whole() && large_.is_elsewhere()) {
        expects_large_ = true;
        deliver_offered();
    } else if (has_large && large_.is_whole()) {
        block_ref owner;
        const byte_span whole = large_.take(owner);
        expects_large_ = true;
        feed(owner.get(), true, whole.data(), whole.data() + whole.size());
    }
    if (rest > 0 && is_going_on()) {
        tail_.clear();
        const std::uint8_t *begin = block->data();
        const std::uint8_t *end = begin + kept + rest;
        const std::uint64_t skipped = std::min<std::uint64_t>(to_skip_, kept + rest);
        to_skip_ -= skipped;
        begin += skipped;
        if (!peer_.is_established())
            feed_handshake({begin, end});
        else
            feed(block, static_cast<std::size_t>(end - begin) >= block->capacity / 2, begin, end);
    }
    return {result.octets, has_filled_room};
}

/// Octets before traffic go to the peer machine; what stands behind the handshake is traffic already.
void connection::feed_handshake(byte_span in) noexcept {
    while (!in.empty() && state_ == state::live && !peer_.is_established()) {
        const auto action = peer_.resume({peer::event_kind::octets, in});
        in = in.subspan(action.consumed);
        if (!obey(action))
            return;
        if (action.kind == peer::action_kind::established) {
            enter_traffic(in, action.takes_all);
            return;
        }
        if (action.consumed == 0)
            break;
    }
    if (state_ == state::live) {
        update_timer();
        write();
    }
}

void connection::enter_traffic(byte_span rest, bool takes_all) noexcept {
    pipe_ = host_.on_established(*this);
    if (!pipe_) {
        fail(break_reason{.was_established = true});
        return;
    }
    discards_ = pipe_->is_peer_closed();
    if (exceeds_mark_)
        begin_to_exceed_mark();
    if (pipe_->lease().is_wanted())
        pipe_->lease().refuse();  // an earlier connection was meant
    out_.open(pipe_, replays_, *this);
    pipe_->set_info(&peer_.info());
    if (failed(say_hello())) {
        fail(error::no_memory);
        return;
    }
    pipe_->publish();
    try {
        greet_application();
        decoder_ = peer_.framing().make_decoder();
    } catch (...) {
        fail(error::no_memory);
        return;
    }
    if (takes_all && environment_.options.has_subscribers() && !obey({.kind = peer::action_kind::subscribe}))
        return;
    update_timer();
    if (!rest.empty()) {
        auto *const block = static_cast<chunk *>(environment_.io.scratch.get());
        std::uint8_t *const begin = block->data() + (rest.data() - block->data());
        const std::size_t octets = decoder_ ? decoder_->decode(rest, begin) : rest.size();
        feed(block, octets >= block->capacity / 2, begin, begin + octets);
    }
    if (state_ == state::live)
        write();
}

/// The first message to the other application, if ours has chosen one: in front of all that the pipe holds.
void connection::greet_application() {
    const byte_span hello = as_bytes(environment_.options.hello_message);
    if (hello.empty())
        return;
    peer_.framing().encode(0, hello, peer_.output());
}

error connection::say_hello() noexcept {
    // Of a peer without an id there is only one thing to say: constant memory, and none that the pipe holds.
    static constexpr std::uint8_t nameless[] = {frame_flag::command, 1, in_band::hello};
    const byte_span id = as_bytes(peer_.info().routing_id);
    if (id.empty())
        return pipe_->append(nullptr, nameless, 0, true);
    try {
        std::vector<std::uint8_t> hello{in_band::hello};
        hello.insert(hello.end(), id.begin(), id.end());
        return pipe_->write(frame_flag::command, hello);
    } catch (...) {
        return error::no_memory;
    }
}

void connection::feed(block *owner, bool may_share, const std::uint8_t *begin,
                      const std::uint8_t *end) noexcept {
    if (!held_.empty() || is_paused_) {
        hold(owner, may_share, begin, end);
        return;
    }
    const std::uint8_t *stopped = take_traffic(owner, may_share, begin, end);
    if (!is_going_on())
        return;
    if (stopped != end)
        hold(owner, may_share, stopped, end);
    if (stopped != end || !may_deliver())
        pause();
}

/// Walks and delivers frames. Returns where it stopped because the receiver's mark is reached, else `end`.
const std::uint8_t *connection::take_traffic(block *owner, bool may_share, const std::uint8_t *p,
                                             const std::uint8_t *end) noexcept {
    while (p != end) {
        limits_.max_messages = !has_receiver() || may_exceed_mark() ? UINT64_MAX : pipe_->credit();
        const bool continues = in_message_;
        const walk_result walked = walk_frames({p, end}, in_message_, limits_);
        if (walked.octets > 0) {
            if (!deliver(owner, may_share, p, walked, continues))
                return end;
            p += walked.octets;
        }
        const std::size_t whole = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        switch (walked.stop) {
        case walk_stop::need_more:
            if (p != end && !keep_tail(p, end, walked.next))
                fail(error::no_memory);
            return end;
        case walk_stop::message_limit:
            return p;
        case walk_stop::command:
            if (walked.next.header_size == 0 || whole > static_cast<std::size_t>(end - p)) {
                if (!keep_tail(p, end, walked.next))
                    fail(error::no_memory);
                return end;
            }
            if (runs_on_socket_thread_) {
                must_return_lease_ = true;
                return p;
            }
            if (const auto action =
                    peer_.resume({peer::event_kind::command, {p + walked.next.header_size, p + whole}});
                is_subscription(action) && !is_inside_message() && !may_deliver())
                return p;
            else if (!obey(action))
                return end;
            update_timer();  // a PING may name a time limit
            if (state_ != state::live)
                return end;
            p += whole;
            break;
        case walk_stop::bad_frame:
            fail({.was_established = true,
                  .failure = failure_kind::protocol,
                  .detail = protocol_errors::unspecified});
            return end;
        case walk_stop::too_big:
            fail({.was_established = true, .system = error::message_too_big});
            return end;
        }
    }
    return end;
}

/// Gives walked frames to the pipe: whole messages are published, the frames of an unfinished one follow behind, hidden.
/// `continues`: the first of them is not the first frame of its message.
bool connection::deliver(block *owner, bool may_share, const std::uint8_t *p, const walk_result &walked,
                         bool continues) noexcept {
    if (!has_receiver())
        return true;
    if (receives_ == reception::subscriptions)
        return sift({p, walked.octets});
    offered_ = {};  // something else is there
    note_beyond_mark(walked.octets);
    const auto put = [&](byte_span range, std::uint32_t messages) {
        return may_share
                   ? pipe_->append(owner, range, messages, !continues, static_cast<chunk *>(owner)->capacity)
                   : pipe_->write_wire(range, messages);
    };
    const std::size_t rest = walked.octets - walked.message_octets;
    error e = error::none;
    if (walked.message_octets > 0) {
        has_delivered_ = true;
        e = put({p, walked.message_octets}, walked.messages);
        if (!failed(e))
            pipe_->publish();
        continues = false;
    }
    if (!failed(e) && rest > 0)
        e = put({p + walked.message_octets, rest}, 0);
    if (failed(e))
        fail(e);
    if (walked.messages > 0)
        unfinished_ = 0;
    return !failed(e) && may_go_on(rest);
}

/// Gives the pipe what may be subscriptions.
bool connection::sift(byte_span frames) noexcept {
    for (frame_header header; get_frame_header(frames.data(), frames.size(), header);) {
        const byte_span body = frames.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        frames = frames.subspan(header.header_size + body.size());
        if (const error e = sieve_.take(*pipe_, header.has_more(), body); failed(e)) {
            fail(e);
            return false;
        }
        if (subscription_sieve::wants(body))
            note_beyond_mark(header.header_size + body.size());
        if (!sieve_.is_inside())
            unfinished_ = 0;
        else if (subscription_sieve::wants(body) && !may_go_on(header.header_size + body.size()))
            return false;
    }
    return true;
}

/// Counts what was kept of a message under way. It may be as much as whole messages could be: their number is limited by the mark, and
/// their size by ZMQ_MAXMSGSIZE.
bool connection::may_go_on(std::uint64_t octets) noexcept {
    unfinished_ += octets;
    if (unfinished_ <= most_unfinished_)
        return true;
    fail({.was_established = true, .system = error::message_too_big});
    return false;
}

/// Does what the peer machine says. False when the connection is over.
bool connection::obey(const peer::action &action) noexcept {
    switch (action.kind) {
    case peer::action_kind::wait:
    case peer::action_kind::established:
        return true;
    case peer::action_kind::subscribe:
    case peer::action_kind::cancel:
        if (discards_)
            return true;
        return pass_subscription(action.kind == peer::action_kind::subscribe, action.topic);
    case peer::action_kind::close:
        write();  // an ERROR command goes out if there is room for it
        fail({.was_established = pipe_ != nullptr,
              .failure = action.failure,
              .detail = action.detail,
              .may_retry = action.may_retry});
        return false;
    }
    return true;
}

/// Subscriptions count as messages, so that a peer which sends them without end is held back like any other. Between the
/// frames of a message they go in band.
bool connection::pass_subscription(bool is_subscribe, byte_span topic) noexcept {
    try {
        std::vector<std::uint8_t> body;
        body.reserve(topic.size() + 1);
        body.push_back(is_subscribe ? in_band::subscribe : in_band::cancel);
        body.insert(body.end(), topic.begin(), topic.end());
        const bool is_inside = is_inside_message();
        if (!failed(pipe_->write(is_inside ? frame_flag::command : 0, body))) {
            note_beyond_mark(short_header_size + body.size());
            if (is_inside)
                return may_go_on(body.size());
            pipe_->publish();
            return true;
        }
    } catch (...) {
    }
    fail(error::no_memory);
    return false;
}

/// Whether somebody takes, as far as is known, a message frame of which this has arrived.
bool connection::is_wanted(byte_span body) const noexcept {
    return has_receiver() && (receives_ == reception::all || body.empty() || subscription_sieve::wants(body));
}

/// Keeps a partial frame for the next read: in memory of its own when it is known to be large.
bool connection::keep_tail(const std::uint8_t *p, const std::uint8_t *end,
                           const frame_header &next) noexcept {
    const byte_span body(std::min(p + next.header_size, end), end);
    if (next.header_size > 0 && !next.is_command() && !is_wanted(body))
        return skip_rest(next, static_cast<std::size_t>(end - p));
    // Where only subscriptions are taken, the first octet of the body has something to say.
    const bool is_known = receives_ != reception::subscriptions || !body.empty();
    if (is_known && next.header_size > 0 &&
        next.header_size + next.body_size >= large_frame::own_memory_from) {
        if (!suits_offer(next))
            return large_.begin(*environment_.pool, {p, end}, next);
        large_.begin_elsewhere(std::exchange(offered_, {}).data(), {p, end}, next);
        return true;
    }
    try {
        tail_.assign(p, end);
    } catch (...) {
        return false;
    }
    return true;
}

/// The rest of a message frame that nobody takes is not kept.
bool connection::skip_rest(const frame_header &frame, std::size_t have) noexcept {
    to_skip_ = frame.header_size + frame.body_size - have;
    in_message_ = frame.has_more();
    return discards_ || receives_ != reception::subscriptions ||
           !failed(sieve_.take(*pipe_, frame.has_more(), {}));
}

/// Keeps traffic back that the receiver's mark does not let through yet.
void connection::hold(block *owner, bool may_share, const std::uint8_t *begin,
                      const std::uint8_t *end) noexcept {
    try {
        if (may_share) {
            held_.push_back({block_ref::share(owner), begin, end});
            return;
        }
        chunk *own = environment_.pool->allocate(static_cast<std::size_t>(end - begin));
        if (own) {
            std::memcpy(own->data(), begin, static_cast<std::size_t>(end - begin));
            held_.push_back({block_ref::adopt(own), own->data(), own->data() + (end - begin)});
            return;
        }
    } catch (...) {
    }
    fail(error::no_memory);
}

void connection::pause() noexcept {
    is_paused_ = true;
    if (runs_on_socket_thread_)
        return;  // the borrower makes room, and comes back
    pipe_->arm_writer();
    host_.want_look();
}

void connection::resume_reading() noexcept {
    if (deliver_held() && !failed(out_.failure()))
        stream_->wait_readable();
}

/// Delivers what was kept back, as far as there is room. True when that was all, and there is room for more.
bool connection::deliver_held() noexcept {
    is_paused_ = false;
    if (!may_deliver()) {
        pause();
        return false;
    }
    while (!held_.empty()) {
        held_range &front = held_.front();
        front.begin = take_traffic(front.owner.get(), true, front.begin, front.end);
        if (!is_going_on())
            return false;
        if (front.begin != front.end) {
            pause();
            return false;
        }
        held_.erase(held_.begin());
    }
    if (!may_deliver()) {
        pause();
        return false;
    }
    return true;
}

/// After a failed write: takes what has arrived, and then ends. A peer that goes on sending does not put that off, nor does
/// a receiver at its mark: it may be waiting for room here, which only the next connection makes. But where earlier connections
/// have brought much beyond the mark already, the receiver has to take something first: nothing is lost, nor is memory without end.
void connection::read_what_is_left() noexcept {
    if (!recall_reading() || state_ != state::live)
        return;
    exceeds_mark_ = true;
    if (pipe_)
        begin_to_exceed_mark();
    if (!is_paused_ || deliver_held())
        read_to_the_end();
    if (!is_paused_)
        fail(out_.failure());
}

void connection::begin_to_exceed_mark() noexcept {
    if (!pipe_->is_beyond_mark())
        pipe_->slot.beyond_mark = 0;
}

// ---- life ----

void connection::update_timer() noexcept {
    const time_point deadline = peer_.deadline();
    if (deadline == time_point::max()) {
        timer_.reset();
        return;
    }
    // A timer that goes off too early looks again and is put off.
    if (timer_ && timer_->is_pending() && timer_at_ <= deadline)
        return;
    if (!timer_)
        timer_ = environment_.io.make_timer([this] { on_time(); });
    if (!timer_) {
        fail(error::no_memory);
        return;
    }
    timer_at_ = deadline;
    timer_->expires_at(deadline);
}

void connection::fail(error system) noexcept {
    fail({.was_established = pipe_ != nullptr, .system = system});
}

void connection::fail(break_reason why) noexcept {
    if (runs_on_socket_thread_) {
        must_return_lease_ = true;
        if (!failure_while_leased_)
            failure_while_leased_ = why;
        return;
    }
    if (state_ != state::live)
        return;
    state_ = state::broken;
    reason_ = why;
    timer_.reset();
    flush_timer_.reset();
    if (pipe_)
        pipe_->roll_back();
}

void connection::report() noexcept {
    if (state_ == state::live && failed(out_.failure()))
        read_what_is_left();
    if (state_ != state::broken || !out_.close())
        return;
    state_ = state::over;
    host_.on_broken(*this, reason_);
}

}  // namespace zlink
