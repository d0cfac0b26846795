#include "network.hpp"

#include <algorithm>
#include <poll.h>

#include "sim_stream.hpp"

namespace zlink::sim {

namespace {
constexpr std::size_t pieces_per_write = 6;
constexpr milliseconds pause_after_accept_error{100};
constexpr milliseconds longest_unused{150};  // a lease, with timers that go off late
}  // namespace

class sim_dialer final : public dialer {
public:
    sim_dialer(network &owner, std::string address, int tag, sim_loop &io, bool is_local)
        : network_(owner), address_(std::move(address)), tag_(tag), loop_(io), is_local_(is_local),
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
    const bool is_local_;
    dial_handler handler_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    ready_call outcome_;
};

class sim_listener final : public listener {
public:
    sim_listener(network &owner, const std::string &address, int tag, sim_loop &io, bool is_local)
        : network_(owner), address_(address), endpoint_((is_local ? "ipc://" : "tcp://") + address),
          tag_(tag), loop_(io), is_local_(is_local), accept_(io, [this] { accept(); }) {
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
    void go_on() noexcept override {}
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return 0; }

    int tag() const noexcept { return tag_; }
    bool is_local() const noexcept { return is_local_; }
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
    const bool is_local_;
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
    const auto made = net.make_link(tag_, far.tag(), is_local_);
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
    if (w.strikes(planted::kept_stream, 300'000)) {
        network_.kept_streams_.push_back(std::make_unique<sim_stream>(network_, which, 1, loop_));
        return;
    }
    const auto handler = handler_;
    handler(network_.maker_of(which), error::none);
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

/// Promise 12. A borrower that takes what was kept back uses the lease, and not the stream.
void network::look_after_lease(int descriptor, std::uint64_t lending) {
    const std::uint32_t uses = world_.pipes.uses_of(descriptor);
    world_.at(world_.now() + longest_unused, [this, descriptor, lending, uses] {
        const auto at = streams_.find(descriptor);
        if (world_.is_over() || at == streams_.end() || !at->second->is_lent(lending))
            return;
        if (!at->second->is_in_use() && world_.now() - at->second->last_use() >= longest_unused &&
            world_.pipes.uses_of(descriptor) == uses)
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
                                       static_cast<sim_loop &>(io), false);
    return error::none;
}

error network::local_transport::make_dialer(const std::string &address, const settings &options,
                                            const batching &, loop &io,
                                            std::unique_ptr<dialer> &out) const noexcept {
    const plenty_of_memory for_the_simulator;
    out = std::make_unique<sim_dialer>(network_, address, tag_of(options), static_cast<sim_loop &>(io), true);
    return error::none;
}

error network::local_transport::make_listener(const std::string &address, const settings &options,
                                              const tuning &, loop &io,
                                              std::unique_ptr<listener> &out) const noexcept {
    const plenty_of_memory for_the_simulator;
    if (network_.listeners_.contains(address))
        return error::address_in_use;
    out =
        std::make_unique<sim_listener>(network_, address, tag_of(options), static_cast<sim_loop &>(io), true);
    return error::none;
}

error network::make_listener(const std::string &address, const settings &options, const tuning &, loop &io,
                             std::unique_ptr<listener> &out) const noexcept {
    const plenty_of_memory for_the_simulator;
    if (listeners_.contains(address))
        return error::address_in_use;
    out = std::make_unique<sim_listener>(const_cast<network &>(*this), address, tag_of(options),
                                         static_cast<sim_loop &>(io), false);
    return error::none;
}

duration network::latency() {
    const auto least = static_cast<std::uint64_t>(least_latency.count());
    const auto most = static_cast<std::uint64_t>(most_latency.count());
    return duration(world_.faults.between(least, most));
}

std::string network::address_of(int link) {
    return "10." + std::to_string(link >> 16 & 255) + "." + std::to_string(link >> 8 & 255) + "." +
           std::to_string(link & 255);
}

int network::link_of_address(const std::string &address) {
    int link = 0;
    for (std::size_t at = address.find('.'); at != std::string::npos; at = address.find('.', at + 1))
        link = link << 8 | std::atoi(address.c_str() + at + 1);
    return link;
}

network::link_ptr network::make_link(int dialer_tag, int listener_tag, bool is_local) {
    auto made = std::make_shared<link>();
    made->is_local = is_local;
    if (is_local)
        make_local_pair(made->sockets);
    made->id = ++last_id_;
    made->tags[0] = dialer_tag;
    made->tags[1] = listener_tag;
    for (wire &w : made->wires) {
        w.capacity = world_.faults.between(smallest_buffer, largest_buffer);
        if (is_local)
            w.capacity = most_in_local;
        w.alters = mutator::make(world_);
        w.numbers = std::make_unique<nonce_watch>(world_, made->id);
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
    // Perhaps nothing more is read of a connection that ends; the writer does not know yet.
    if (which->has_ended)
        observer_.on_break(which->tags[direction], which->tags[1 - direction], which->id, count, count);
    if (which->is_local) {  // of somebody who comes from nowhere
        connect_hostile_ring(which, {data, count});
        return count;
    }
    // Whatever comes to a closed end resets the connection.
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
    if (which->tags[direction] != 0)
        w.numbers->feed(byte_span(w.data).subspan(before));
    schedule_arrival(which, direction, w.data.size() - before);
    return count;
}

/// A peer that offers a ring, and changes its mind about what it says there.
void network::connect_hostile_ring(const link_ptr &which, byte_span octets) {
    ++hostile_rings_;
    auto hostile = std::make_shared<hostile_ring>(which->sockets[0].get(), octets, world_.faults);
    for (int i = 0; i < 4; ++i)
        world_.at(world_.now() + microseconds(world_.faults.between(0, 5000)),
                  [this, hostile, weak = std::weak_ptr(which)] {
                      const auto alive = weak.lock();
                      if (!alive || alive->is_closed[0])
                          return;
                      hostile->scribble(alive->sockets[0].get(), world_.faults);
                      notify(*alive, 1);
                  });
    notify(*which, 1);
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
    if (which->is_local)
        break_local_pair(which->sockets);
    notify(*which, 0);
    notify(*which, 1);
}

/// One side closes its stream.
void network::close_side(const link_ptr &which, int side) {
    which->is_closed[side] = true;
    note_end(*which);
    if (which->is_local) {
        close_local(which->sockets[side]);
        notify(*which, 1 - side);
        return;
    }
    if (which->is_reset)
        return;
    if (which->wires[1 - side].unread() > 0) {
        reset(which);
        return;
    }
    end_direction(which, side);
}

/// The maker of the accepting side. Dropped without having made a stream, it closes that.
stream_maker network::maker_of(const link_ptr &which) {
    struct accepted_side {
        ~accepted_side() {
            const plenty_of_memory for_the_simulator;
            if (link)
                owner.close_side(link, 1);
        }
        network &owner;
        link_ptr link;
    };
    const plenty_of_memory for_the_simulator;
    return
        [this, side = std::make_shared<accepted_side>(*this, which)](loop &io, std::unique_ptr<stream> &out) {
            const plenty_of_memory for_the_simulator;
            out = std::make_unique<sim_stream>(*this, std::exchange(side->link, nullptr), 1,
                                               static_cast<sim_loop &>(io));
            return error::none;
        };
}

/// Nothing more is written; the reader hears of it behind what is on its way.
void network::end_direction(const link_ptr &which, int direction) {
    wire &w = which->wires[direction];
    if (which->is_local) {
        end_local(which->sockets[direction]);
        notify(*which, 1 - direction);
        return;
    }
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
    if (which->is_local) {
        reset(which);
        return;
    }
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
        w.capacity = std::max(w.unread(), which->is_local ? most_in_local : smallest_buffer);
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
    const auto made = make_link(0, at->second->tag(), at->second->is_local());
    made->is_rogue = true;
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
    // Whatever has been queued under narrow buffers shall not take minutes.
    smallest_buffer = std::max<std::size_t>(smallest_buffer, 65536);
    largest_buffer = std::max(largest_buffer, smallest_buffer);
    largest_piece = std::max<std::size_t>(largest_piece, 1460);
    for (const auto &weak : links_) {
        const auto which = weak.lock();
        if (!which || which->is_reset || which->is_local)
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
