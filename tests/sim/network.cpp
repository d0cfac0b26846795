#include "network.hpp"

#include <algorithm>
#include <cstring>
#include <poll.h>

#include "core/frame.hpp"
#include "mutator.hpp"
#include "short_memory.hpp"

namespace zlink::sim {

namespace {
constexpr std::size_t pieces_per_write = 6;
constexpr milliseconds pause_after_accept_error{100};
constexpr milliseconds longest_unused{150};  // a lease, with timers that go off late
constexpr milliseconds longest_idle{60};     // of a writer that could go on, likewise
constexpr milliseconds longest_sleep{5};     // at a stream that has failed: no timer is waited for
}  // namespace

/// One direction of a connection.
struct network::wire {
    struct mark {
        time_point arrival;
        std::size_t octets;
    };
    std::vector<std::uint8_t> data;  // written and not read
    std::size_t head = 0;            // read of `data`
    std::size_t arrived = 0;         // readable, from `head`
    std::size_t taken_last = 0;  // read once the reader's own writing had failed: that may go beyond its mark
    std::deque<mark> marks;      // the rest
    time_point last_arrival{};
    std::size_t capacity = 0;
    bool is_ending = false;           // nothing more is written
    bool has_ended = false;           // and the reader knows
    std::unique_ptr<mutator> alters;  // planted

    std::size_t unread() const noexcept { return data.size() - head; }
    std::size_t room() const noexcept { return unread() < capacity ? capacity - unread() : 0; }
};

/// A connection. Direction 0 is from the dialer (side 0) to the listener (side 1); direction 1 the other way.
struct network::link {
    int id = 0;
    int tags[2] = {0, 0};
    wire wires[2];
    class sim_stream *ends[2] = {nullptr, nullptr};
    bool is_closed[2] = {false, false};
    bool is_reset = false;
    bool has_ended = false;  // the observer knows
    std::string address;
};

std::size_t octets_of(std::span<const iovec> ranges) noexcept {
    std::size_t result = 0;
    for (const iovec &range : ranges)
        result += range.iov_len;
    return result;
}

class sim_stream final : public stream {
public:
    sim_stream(network &owner, network::link_ptr which, int side, sim_loop &io)
        : network_(owner), link_(std::move(which)), side_(side), loop_(io),
          hides_((link_->id + side) % 2 == 0),
          readable_(io,
                    [this] {
                        const short_memory here(network_.world_.next_failure());
                        events_->on_stream_readable();
                    }),
          writable_(io, [this] { events_->on_stream_writable(); }) {
        link_->ends[side_] = this;
        network_.streams_[descriptor()] = this;
        ++network_.world_.live_streams;
    }
    ~sim_stream() override {
        const plenty_of_memory for_the_simulator;
        if (is_reading_ || is_writing_ || waiters_ > 0)
            complain("is closed under somebody who uses it");
        link_->ends[side_] = nullptr;
        network_.streams_.erase(descriptor());
        network_.close_side(link_, side_);
        --network_.world_.live_streams;
    }
    void set_events(stream_events *events) noexcept override { events_ = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override;
    io_result try_write(std::span<const iovec> ranges) noexcept override;
    void wait_readable() noexcept override {
        const plenty_of_memory for_the_simulator;
        check_loop();
        wants_read_ = true;
        report();
    }
    void wait_writable() noexcept override {
        const plenty_of_memory for_the_simulator;
        check_loop();
        wants_write_ = true;
        report();
    }
    std::size_t unconfirmed() noexcept override { return has_gone() || link_->is_reset ? 0 : out().unread(); }
    bool finish_writing() noexcept override;
    bool lease_out() noexcept override;
    error take_back() noexcept override;
    bool holds_input() const noexcept override { return is_hidden_; }
    int descriptor() const noexcept override { return 2 * link_->id + side_; }
    std::string peer_address() const override { return "192.0.2.1"; }
    std::string local_endpoint() const override { return "tcp://192.0.2.2:1"; }
    std::string remote_endpoint() const override { return "tcp://192.0.2.1:1"; }

    /// Queues the calls that are due.
    void report() noexcept {
        if (is_deaf_)
            return;
        if (wants_read_ && (is_hidden_ || in().arrived > 0 || in().has_ended || link_->is_reset)) {
            wants_read_ = false;
            readable_.queue();
        }
        if (wants_write_ && (out().room() > 0 || link_->is_reset || has_gone())) {
            wants_write_ = false;
            writable_.queue();
        }
    }

    // ---- for borrowers ----

    short ready(short events) const noexcept;
    void begin_wait() noexcept {
        if (!is_leased_)
            complain("is waited for by somebody it is not leased to");
        if (waiters_++ == 0)
            wait_began_ = network_.world_.now();
    }
    void end_wait() noexcept {
        --waiters_;
        last_use_ = network_.world_.now();
    }
    bool is_lent(std::uint64_t lending) const noexcept { return is_leased_ && lending_ == lending; }
    bool is_lent_and_used() const noexcept { return is_leased_ && is_in_use(); }
    bool is_in_use() const noexcept { return waiters_ > 0 || is_reading_; }
    time_point last_use() const noexcept { return last_use_; }
    /// Whether somebody sleeps at it who should not: promise 13. False when there is nothing to look after.
    bool check_writer() noexcept;
    bool has_failed() const noexcept { return has_failed_; }
    bool has_refused() const noexcept { return is_refused_; }

private:
    void note_write(std::size_t wanted, const io_result &result) noexcept;
    io_result read_now(std::span<const iovec> ranges) noexcept;
    io_result write_now(std::span<const iovec> ranges) noexcept;
    void complain(const char *what) {
        network_.world_.violate(promise::one_at_a_time,
                                "stream " + std::to_string(descriptor()) + " " + what);
    }
    void stall(const char *what) {
        network_.world_.violate(promise::goes_on, "stream " + std::to_string(descriptor()) + " " + what);
    }
    /// Only the loop may do this, and not while the stream is leased.
    void check_loop() {
        if (!network_.world_.runs_on(loop_))
            complain("is waited for outside of its loop");
        else if (is_leased_)
            complain("is waited for by its loop while it is leased");
    }
    network::wire &in() noexcept { return link_->wires[1 - side_]; }
    network::wire &out() noexcept { return link_->wires[side_]; }
    bool has_gone() const noexcept { return link_->is_closed[1 - side_]; }
    std::size_t limited(std::size_t count) noexcept;
    bool breaks_now() noexcept;

    network &network_;
    network::link_ptr link_;
    int side_;
    sim_loop &loop_;
    const bool hides_;  // what is left behind a read that filled its ranges
    bool is_hidden_ = false;
    stream_events *events_ = nullptr;
    bool wants_read_ = false;
    bool wants_write_ = false;
    bool is_deaf_ = false;  // planted
    bool is_leased_ = false;
    std::uint64_t lending_ = 0;
    int waiters_ = 0;
    bool is_reading_ = false;
    bool is_writing_ = false;
    time_point last_use_{};
    time_point wait_began_{};
    time_point last_write_{};
    time_point failed_at_{};
    bool is_refused_ = false;  // the last write moved less than it was given
    bool has_failed_ = false;
    bool is_looked_after_ = false;
    ready_call readable_;
    ready_call writable_;
};

std::size_t sim_stream::limited(std::size_t count) noexcept {
    dice &faults = network_.world_.faults;
    if (count > 1 && faults.chance(network_.rates.one_octet))
        return 1;
    if (count > 1 && faults.chance(network_.rates.short_count))
        return faults.between(1, count);
    return count;
}

bool sim_stream::breaks_now() noexcept {
    if (!network_.world_.faults.chance(network_.rates.reset))
        return false;
    network_.reset(link_);
    return true;
}

bool sim_stream::lease_out() noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    check_loop();
    w.may_switch();
    if (w.faults.chance(network_.rates.lend_refused))
        return false;
    is_leased_ = true;
    lending_ = ++network_.lendings_;
    last_use_ = w.now();
    if (!w.has_planted(planted::wait_outlives_lending)) {
        wants_read_ = wants_write_ = false;
        readable_.cancel();
        writable_.cancel();
    }
    loop_.note_lending();
    network_.look_after_lease(descriptor(), lending_);
    w.trace(0x700 + static_cast<std::uint64_t>(link_->id));
    w.tell("stream ", descriptor(), " is leased");
    return true;
}

error sim_stream::take_back() noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (!w.runs_on(loop_) || !is_leased_ || is_in_use())
        complain("is taken back while somebody uses it, or nobody has it");
    while (w.pipes.is_read_on())
        w.spin();  // before the connection goes under the borrower
    w.may_switch();
    is_leased_ = false;
    is_deaf_ = w.strikes(planted::deaf_after_lending, 300'000);
    w.tell("stream ", descriptor(), " is back");
    return w.faults.chance(network_.rates.take_back_fails) ? error::no_memory : error::none;
}

short sim_stream::ready(short events) const noexcept {
    const network::wire &from = link_->wires[1 - side_];
    const bool is_readable = (from.arrived > 0 && !is_hidden_) || from.has_ended || link_->is_reset;
    const bool is_writable = link_->wires[side_].room() > 0 || link_->is_reset || has_gone();
    short found = link_->is_reset ? POLLERR | POLLHUP : 0;
    if (is_readable)
        found |= events & POLLIN;
    if (is_writable)
        found |= events & POLLOUT;
    return found;
}

io_result sim_stream::try_read(std::span<const iovec> ranges) noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (is_reading_)
        complain("is read by two at once");
    if (w.runs_on(loop_) == is_leased_)
        complain(is_leased_ ? "is read by its loop while it is leased"
                            : "is read by somebody it is not leased to");
    if (w.is_over())
        return {0, error::connection_reset};  // before two do harm to each other
    is_reading_ = true;
    last_use_ = w.now();
    network_.reads_by_borrowers_ += is_leased_;
    w.may_switch();
    const io_result result = read_now(ranges);
    is_hidden_ = hides_ && result.octets == octets_of(ranges);
    w.may_switch();
    is_reading_ = false;
    return result;
}

io_result sim_stream::try_write(std::span<const iovec> ranges) noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (is_writing_)
        complain("is written by two at once");
    is_writing_ = true;
    network_.writes_by_senders_ += !w.runs_on(loop_);
    w.may_switch();
    const io_result result = write_now(ranges);
    note_write(octets_of(ranges), result);
    w.may_switch();
    if (!w.runs_on(loop_))
        w.pipes.note_write();
    is_writing_ = false;
    return result;
}

io_result sim_stream::read_now(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    network::wire &from = in();
    if (!link_->is_reset && breaks_now())
        return {0, error::connection_reset};
    if (from.arrived == 0) {
        if (link_->is_reset || from.has_ended)
            return {0, error::connection_reset};
        return {0, error::again};
    }
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    const std::size_t count = limited(std::min(octets_of(ranges), from.arrived));
    std::size_t done = 0;
    for (const iovec &range : ranges) {
        const std::size_t part = std::min(range.iov_len, count - done);
        if (part > 0)
            std::memcpy(range.iov_base, from.data.data() + from.head + done, part);
        done += part;
    }
    from.head += count;
    from.arrived -= count;
    if (has_failed_)
        from.taken_last += count;
    if (from.head == from.data.size() || from.head > 65536) {
        from.data.erase(from.data.begin(), from.data.begin() + static_cast<std::ptrdiff_t>(from.head));
        from.head = 0;
    }
    w.trace(0x100 + static_cast<std::uint64_t>(link_->id), count);
    network_.notify(*link_, 1 - side_);
    return {count, error::none};
}

io_result sim_stream::write_now(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    network::wire &to = out();
    if (link_->is_reset)
        return {0, error::connection_reset};
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    if (w.faults.chance(network_.rates.write_fails))
        return {0, error::no_memory};
    const std::size_t wanted = octets_of(ranges);
    const bool is_bottomless = w.has_planted(planted::bottomless_stream);
    const std::size_t room = is_bottomless ? wanted : to.room();
    const std::size_t count = limited(std::min(wanted, room));
    if (count == 0)
        return {0, error::again};
    // At once: how many ranges there are depends on addresses, and may not decide what happens.
    std::vector<std::uint8_t> all;
    all.reserve(count);
    for (const iovec &range : ranges) {
        const auto *begin = static_cast<const std::uint8_t *>(range.iov_base);
        all.insert(all.end(), begin, begin + std::min(range.iov_len, count - all.size()));
    }
    (void)network_.put(link_, side_, all.data(), all.size());
    w.trace(0x200 + static_cast<std::uint64_t>(link_->id), count);
    (void)breaks_now();  // after these octets; the next call finds out
    return {count, error::none};
}

void sim_stream::note_write(std::size_t wanted, const io_result &result) noexcept {
    last_write_ = network_.world_.now();
    is_refused_ = result.octets < wanted;
    if (failed(result.status) && result.status != error::again && !std::exchange(has_failed_, true))
        failed_at_ = last_write_;
    if ((is_refused_ || has_failed_) && !std::exchange(is_looked_after_, true))
        network_.look_after_writer(descriptor());
}

bool sim_stream::check_writer() noexcept {
    const time_point now = network_.world_.now();
    is_looked_after_ = !link_->is_reset && !has_gone() && (has_failed_ || is_refused_);
    if (!is_looked_after_)
        return false;
    if (has_failed_) {
        if (waiters_ > 0 && now - std::max(wait_began_, failed_at_) >= longest_sleep)
            stall("has failed, and the one it is leased to still waits for it");
    } else if (out().room() == 0) {
        last_write_ = now;
    } else if (now - last_write_ >= longest_idle) {
        stall("has room again, and nobody writes what it did not take");
    }
    return true;
}

bool sim_stream::finish_writing() noexcept {
    const plenty_of_memory for_the_simulator;
    check_loop();
    if (link_->is_reset)
        return false;
    network_.end_direction(link_, side_);
    return true;
}

class sim_dialer final : public dialer {
public:
    sim_dialer(network &owner, std::string address, int tag, sim_loop &io)
        : network_(owner), address_(std::move(address)), tag_(tag), loop_(io),
          outcome_(io, [this] { end(); }) {
        ++network_.world_.live_dialers;
    }
    ~sim_dialer() override {
        const plenty_of_memory for_the_simulator;
        *alive_ = false;
        --network_.world_.live_dialers;
    }
    void dial(dial_handler handler) noexcept override {
        const plenty_of_memory for_the_simulator;
        handler_ = std::move(handler);
        if (network_.world_.strikes(planted::silent_dialer, 300'000))
            return;
        network_.world_.at(network_.world_.now() + network_.latency(), [this, alive = alive_] {
            if (*alive)
                outcome_.queue();
        });
    }

private:
    void end();

    network &network_;
    std::string address_;
    int tag_;
    sim_loop &loop_;
    dial_handler handler_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    ready_call outcome_;
};

class sim_listener final : public listener {
public:
    sim_listener(network &owner, const std::string &address, int tag, sim_loop &io)
        : network_(owner), address_(address), endpoint_("tcp://" + address), tag_(tag), loop_(io),
          accept_(io, [this] { accept(); }) {
        network_.listeners_[address_] = this;
        ++network_.world_.live_listeners;
    }
    ~sim_listener() override {
        const plenty_of_memory for_the_simulator;
        *alive_ = false;
        network_.listeners_.erase(address_);
        for (const auto &which : backlog_)
            network_.close_side(which, 1);
        --network_.world_.live_listeners;
    }
    void start(accept_handler handler) noexcept override {
        const plenty_of_memory for_the_simulator;
        handler_ = std::move(handler);
        if (!backlog_.empty())
            accept_.queue();
    }
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return 0; }

    int tag() const noexcept { return tag_; }
    void come(const network::link_ptr &which) {
        backlog_.push_back(which);
        if (handler_ && !is_pausing_)
            accept_.queue();
    }

private:
    void accept();

    network &network_;
    std::string address_;
    std::string endpoint_;
    int tag_;
    sim_loop &loop_;
    accept_handler handler_;
    std::deque<network::link_ptr> backlog_;
    bool is_pausing_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    ready_call accept_;
};

void sim_dialer::end() {
    const auto handler = std::move(handler_);  // may destroy this object
    network &net = network_;
    world &w = net.world_;
    const auto at = net.listeners_.find(address_);
    if (at == net.listeners_.end() || net.is_refusing_ || w.faults.chance(net.rates.refuse)) {
        w.trace(0x300);
        handler(nullptr, w.faults.coin() ? error::connection_refused : error::timed_out);
        return;
    }
    sim_listener &far = *at->second;
    const auto made = net.make_link(tag_, far.tag());
    auto near = std::make_unique<sim_stream>(net, made, 0, loop_);
    far.come(made);
    w.trace(0x301, static_cast<std::uint64_t>(made->id));
    handler(std::move(near), error::none);
}

void sim_listener::accept() {
    world &w = network_.world_;
    if (backlog_.empty())
        return;
    if (w.has_planted(planted::abort_on_accept))
        std::abort();
    if (w.faults.chance(network_.rates.accept_error)) {
        is_pausing_ = true;
        w.at(w.now() + pause_after_accept_error, [this, alive = alive_] {
            if (!*alive)
                return;
            is_pausing_ = false;
            if (!backlog_.empty())
                accept_.queue();
        });
        handler_(nullptr, error::too_many_files);
        return;
    }
    const auto which = backlog_.front();
    backlog_.pop_front();
    if (!backlog_.empty())
        accept_.queue();
    auto made = std::make_unique<sim_stream>(network_, which, 1, loop_);
    if (w.strikes(planted::kept_stream, 300'000)) {
        network_.kept_streams_.push_back(std::move(made));
        return;
    }
    const auto handler = handler_;
    handler(std::move(made), error::none);
}

// ---- network ----

network::network(world &owner, network_observer &observer) : world_(owner), observer_(observer) {
    world_.descriptors = this;
}

network::~network() = default;

// ---- for borrowers ----

short network::ready(int descriptor, short events) const noexcept {
    const auto at = streams_.find(descriptor);
    return at == streams_.end() ? static_cast<short>(POLLNVAL) : at->second->ready(events);
}

void network::begin_wait(int descriptor) noexcept {
    if (const auto at = streams_.find(descriptor); at != streams_.end())
        at->second->begin_wait();
    else
        world_.violate(promise::one_at_a_time, "somebody waits for a stream that was closed");
}

void network::end_wait(int descriptor) noexcept {
    if (const auto at = streams_.find(descriptor); at != streams_.end())
        at->second->end_wait();
}

bool network::has_failed(int descriptor) const noexcept {
    const auto at = streams_.find(descriptor);
    return at != streams_.end() && at->second->has_failed();
}

bool network::has_refused(int descriptor) const noexcept {
    const auto at = streams_.find(descriptor);
    return at != streams_.end() && at->second->has_refused();
}

/// Promise 12.
void network::look_after_lease(int descriptor, std::uint64_t lending) {
    world_.at(world_.now() + longest_unused, [this, descriptor, lending] {
        const auto at = streams_.find(descriptor);
        if (world_.is_over() || at == streams_.end() || !at->second->is_lent(lending))
            return;
        if (!at->second->is_in_use() && world_.now() - at->second->last_use() >= longest_unused)
            world_.violate(promise::comes_home,
                           "stream " + std::to_string(descriptor) + " is leased, and nobody uses it");
        else
            look_after_lease(descriptor, lending);
    });
}

/// Promise 13.
void network::look_after_writer(int descriptor) {
    world_.at(world_.now() + longest_sleep, [this, descriptor] {
        const auto at = streams_.find(descriptor);
        if (!world_.is_over() && at != streams_.end() && at->second->check_writer())
            look_after_writer(descriptor);
    });
}

// ---- connections ----

error network::make_dialer(const std::string &address, const settings &options, const batching &, loop &io,
                           std::unique_ptr<dialer> &out) const noexcept {
    const plenty_of_memory for_the_simulator;
    out = std::make_unique<sim_dialer>(const_cast<network &>(*this), address, tag_of(options),
                                       static_cast<sim_loop &>(io));
    return error::none;
}

error network::make_listener(const std::string &address, const settings &options, const tuning &, loop &io,
                             std::unique_ptr<listener> &out) const noexcept {
    const plenty_of_memory for_the_simulator;
    if (listeners_.contains(address))
        return error::address_in_use;
    out = std::make_unique<sim_listener>(const_cast<network &>(*this), address, tag_of(options),
                                         static_cast<sim_loop &>(io));
    return error::none;
}

duration network::latency() {
    const auto least = static_cast<std::uint64_t>(least_latency.count());
    const auto most = static_cast<std::uint64_t>(most_latency.count());
    return duration(world_.faults.between(least, most));
}

network::link_ptr network::make_link(int dialer_tag, int listener_tag) {
    auto made = std::make_shared<link>();
    made->id = ++last_id_;
    made->tags[0] = dialer_tag;
    made->tags[1] = listener_tag;
    for (wire &w : made->wires) {
        w.capacity = world_.faults.between(smallest_buffer, largest_buffer);
        w.alters = mutator::make(world_);
        if (world_.faults.chance(rates.handshake_stall)) {
            w.last_arrival = world_.now() + 4 * rates.longest_stall;
        }
    }
    std::erase_if(links_, [](const auto &l) { return l.expired(); });
    links_.push_back(made);
    world_.tell("connection ", made->id, " from ", dialer_tag, " to ", listener_tag);
    return made;
}

/// Takes octets into one direction.
std::size_t network::put(const link_ptr &which, int direction, const std::uint8_t *data, std::size_t count) {
    wire &w = which->wires[direction];
    // Of a connection that ends, perhaps nothing more is read; the writer does not know yet.
    if (which->has_ended)
        observer_.on_break(which->tags[direction], which->tags[1 - direction], which->id, count, count);
    // What comes to a closed end resets the connection.
    if (which->is_closed[1 - direction] && !which->is_reset)
        world_.at(world_.now() + latency(), [this, weak = std::weak_ptr(which)] {
            if (const auto alive = weak.lock())
                reset(alive);
        });
    if (which->is_closed[1 - direction] || w.is_ending)
        return count;
    const std::size_t before = w.data.size();
    if (w.alters)
        w.alters->feed({data, count}, w.data);
    else
        w.data.insert(w.data.end(), data, data + count);
    schedule_arrival(which, direction, w.data.size() - before);
    return count;
}

void network::schedule_arrival(const link_ptr &which, int direction, std::size_t count) {
    wire &w = which->wires[direction];
    if (world_.faults.chance(rates.stall))
        w.last_arrival =
            std::max(w.last_arrival, world_.now()) +
            milliseconds(world_.faults.between(1, static_cast<std::uint64_t>(rates.longest_stall.count())));
    for (std::size_t piece = 0; count > 0; ++piece) {
        const std::size_t part = piece + 1 == pieces_per_write
                                     ? count
                                     : std::min<std::size_t>(count, world_.faults.between(1, largest_piece));
        count -= part;
        w.last_arrival = std::max(w.last_arrival, world_.now() + latency());
        w.marks.push_back({w.last_arrival, part});
        world_.at(w.last_arrival, [this, weak = std::weak_ptr(which), direction] {
            if (const auto alive = weak.lock())
                arrive(alive, direction);
        });
    }
}

/// Makes readable what has arrived by now.
void network::arrive(const link_ptr &which, int direction) {
    wire &w = which->wires[direction];
    if (which->is_reset)
        return;
    while (!w.marks.empty() && w.marks.front().arrival <= world_.now()) {
        w.arrived += w.marks.front().octets;
        w.marks.pop_front();
    }
    if (w.marks.empty() && w.is_ending && world_.now() >= w.last_arrival)
        w.has_ended = true;
    notify(*which, 1 - direction);
}

void network::notify(link &which, int side) {
    if (sim_stream *end = which.ends[side])
        end->report();
}

void network::note_end(link &which) {
    if (which.has_ended)
        return;
    which.has_ended = true;
    ++breaks_;
    world_.tell("connection ", which.id, " ends with ", which.wires[0].unread(), " and ",
                which.wires[1].unread(), " octets unread");
    world_.trace(0x400 + static_cast<std::uint64_t>(which.id), which.wires[0].unread());
    for (int direction = 0; direction < 2; ++direction) {
        wire &w = which.wires[direction];
        observer_.on_break(which.tags[direction], which.tags[1 - direction], which.id,
                           w.unread() + w.taken_last, std::min(w.unread(), w.capacity));
    }
}

void network::reset(const link_ptr &which) {
    if (which->is_reset)
        return;
    note_end(*which);
    for (const sim_stream *end : which->ends)
        breaks_in_use_ += end && end->is_lent_and_used();
    which->is_reset = true;
    for (wire &w : which->wires) {
        w.marks.clear();
        // Some systems let the reader have what had arrived.
        if (world_.faults.coin())
            w.arrived = 0;
        w.data.resize(w.head + w.arrived);
    }
    notify(*which, 0);
    notify(*which, 1);
}

/// One side closes its stream.
void network::close_side(const link_ptr &which, int side) {
    which->is_closed[side] = true;
    note_end(*which);
    if (which->is_reset)
        return;
    if (which->wires[1 - side].unread() > 0) {
        reset(which);
        return;
    }
    end_direction(which, side);
}

/// Nothing more is written; the reader hears of it behind what is on its way.
void network::end_direction(const link_ptr &which, int direction) {
    wire &w = which->wires[direction];
    w.is_ending = true;
    w.last_arrival = std::max(w.last_arrival, world_.now() + latency());
    world_.at(w.last_arrival, [this, weak = std::weak_ptr(which), direction] {
        if (const auto alive = weak.lock())
            arrive(alive, direction);
    });
}

network::link_ptr network::any_live() {
    std::vector<link_ptr> live;
    for (const auto &weak : links_)
        if (auto which = weak.lock(); which && !which->has_ended)
            live.push_back(std::move(which));
    return live.empty() ? nullptr : live[world_.faults.next() % live.size()];
}

void network::reset_one() {
    if (const auto which = any_live())
        reset(which);
}

void network::reset_all() {
    for (const auto &weak : std::vector(links_))
        if (const auto which = weak.lock(); which && !which->has_ended)
            reset(which);
}

void network::half_close_one() {
    const auto which = any_live();
    if (!which)
        return;
    const int direction = world_.faults.coin();
    note_end(*which);
    wire &w = which->wires[direction];
    w.is_ending = true;
    w.last_arrival = std::max(w.last_arrival, world_.now());
    world_.at(w.last_arrival, [this, weak = std::weak_ptr(which), direction] {
        if (const auto alive = weak.lock())
            arrive(alive, direction);
    });
}

void network::stall_one(duration how_long) {
    if (const auto which = any_live())
        for (wire &w : which->wires)
            w.last_arrival = std::max(w.last_arrival, world_.now() + how_long);
}

void network::starve_one(duration how_long) {
    const auto which = any_live();
    if (!which)
        return;
    const time_point end = world_.now() + how_long;
    for (wire &w : which->wires) {
        w.last_arrival = std::max(w.last_arrival, end);
        w.capacity = std::max(w.unread(), smallest_buffer);
    }
    world_.at(end, [this, weak = std::weak_ptr(which)] {
        if (const auto alive = weak.lock(); alive && !is_healed_)
            reset(alive);
    });
}

void network::connect_rogue(std::vector<std::uint8_t> octets) {
    if (listeners_.empty())
        return;
    auto at = listeners_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(world_.faults.next() % listeners_.size()));
    const auto made = make_link(0, at->second->tag());
    at->second->come(made);
    put(made, 0, octets.data(), octets.size());
    // Held until it leaves, which it does without having read what came.
    world_.at(world_.now() + 4 * most_latency + milliseconds(world_.faults.between(0, 50)),
              [this, made] { close_side(made, 0); });
}

void network::heal() {
    rates = {};
    is_refusing_ = false;
    is_healed_ = true;
    // What has been queued under narrow buffers shall not take minutes.
    smallest_buffer = std::max<std::size_t>(smallest_buffer, 65536);
    largest_buffer = std::max(largest_buffer, smallest_buffer);
    largest_piece = std::max<std::size_t>(largest_piece, 1460);
    for (const auto &weak : links_) {
        const auto which = weak.lock();
        if (!which || which->is_reset)
            continue;
        for (int direction = 0; direction < 2; ++direction) {
            wire &w = which->wires[direction];
            w.capacity = std::max(w.capacity, smallest_buffer);
            const time_point soon = world_.now() + latency();
            w.last_arrival = std::min(w.last_arrival, soon);
            for (auto &mark : w.marks)
                mark.arrival = std::min(mark.arrival, soon);
            world_.at(soon, [this, weak, direction] {
                if (const auto alive = weak.lock())
                    arrive(alive, direction);
            });
        }
    }
}

std::uint64_t network::under_way(int from, int to) const {
    std::uint64_t sum = 0;
    for (const auto &weak : links_) {
        const auto which = weak.lock();
        if (!which || which->has_ended)
            continue;
        for (int direction = 0; direction < 2; ++direction)
            if (which->tags[direction] == from && which->tags[1 - direction] == to)
                sum += which->wires[direction].unread() + which->wires[direction].taken_last;
    }
    return sum;
}

std::size_t network::live_connections() const {
    return static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto &weak) {
        const auto which = weak.lock();
        return which && !which->has_ended;
    }));
}

}  // namespace zlink::sim
