// A context: its options, its sockets, and its end. See context.hpp.
//
// Map: options; sockets and the threads that begin with the first; the end; endpoints, which go to
//      inproc or to sessions.
#include "context/context.hpp"

#include <atomic>
#include <limits>
#include <map>
#include <mutex>

#include "context/context_options.hpp"
#include "context/endpoints.hpp"
#include "context/inproc.hpp"
#include "context/peer_survey.hpp"
#include "context/zap_client.hpp"
#include "core/event_log.hpp"
#include "core/numbers.hpp"
#include "core/platform.hpp"
#include "core/tuning.hpp"
#include "policy/policy.hpp"
#include "reactor/io_threads.hpp"
#include "socket/options.hpp"
#include "transport/endpoint.hpp"
#include "transport/shared_ring.hpp"

namespace zlink {

namespace {

/// The log of a context, and in the first one's which library this is.
std::shared_ptr<event_log> open_log(log_level level) {
    auto log = std::make_shared<event_log>(level, platform::write_error_output);
    static std::atomic<bool> has_been_told = false;
    if (log->writes(log_level::info) && !has_been_told.exchange(true, std::memory_order_relaxed)) {
        log->tell(log_level::info,
                  std::string(event_log::name_of_library()) + ", " + platform::path_of_library());
    }
    return log;
}

class context_impl final : public context,
                           private endpoint_service,
                           private session_count,
                           private io_supply {
public:
    context_impl();
    ~context_impl() override;

    error set_log(log_listener::function what, void *arg, log_level level) noexcept override {
        return log_->tell_to(what, arg, level);
    }
    error set_option(int number, const void *value, std::size_t size) override;
    error get_option(int number, void *value, std::size_t *size) override;
    error make_socket(int type, std::unique_ptr<socket> &out) override;
    void close_socket(std::unique_ptr<socket> what) noexcept override;
    std::uint64_t number() const noexcept override { return number_; }
    stats get_stats() noexcept override;
    stats visit_sockets(const std::function<void(const socket &, const stats &)> &visitor) override;
    context_numbers numbers() noexcept override;
    io_thread_numbers numbers_of_thread(std::size_t index) noexcept override;
    error list_all_peers(std::vector<socket_and_peers> &to, duration patience) override;
    void shutdown() noexcept override;
    error terminate() override;
    waiter &blocking() noexcept override { return *waiter_; }
    const clock_source &clock() const noexcept override { return platform::steady_clock(); }

private:
    static error take_apart(socket &self, const std::string &endpoint, std::string &scheme,
                            std::string &address);
    error bind(socket &self, const std::string &endpoint, std::string &actual) override;
    error connect(socket &self, const std::string &endpoint, std::string &actual) override;
    error unbind(socket &self, const std::string &endpoint) override;
    error disconnect(socket &self, const std::string &endpoint) override;
    error remove(socket &self, const std::string &scheme, const std::string &address,
                 const std::string &endpoint);
    error list_peers(const socket &self, std::vector<peer_view> &to) override;
    error cut_peer(socket &self, std::uint64_t id) override;
    void stop_listening(socket &self) noexcept override;
    void close_all(socket &self) noexcept override;
    error make_monitor_socket(const std::string &endpoint, std::unique_ptr<socket> &out) override;
    void session_began() noexcept override;
    void session_ended() noexcept override;

    loop *choose(std::uint64_t affinity) noexcept override {
        return threads_ ? threads_->choose(affinity) : nullptr;
    }
    void add_load(loop &on) noexcept override { io_threads::add_load(on); }
    void remove_load(loop &on) noexcept override { io_threads::remove_load(on); }
    const transport *find(std::string_view scheme) noexcept override { return find_transport(scheme); }

    error start_threads();  // under the lock
    template <class Add>
    stats sum(Add &&add) const noexcept;
    void make_room() noexcept;
    error check_room() const noexcept;
    error prepare_socket(settings &defaults);
    inproc_side side_of(socket &self);
    endpoints &network_of(socket &self);
    std::shared_ptr<endpoints> known_network_of(const socket &self);
    bool is_over() const noexcept;
    bool begin_wait_for_end() noexcept;
    void look_at_permissions() noexcept;
    void look_at_permissions_of_closed() noexcept;

    const std::uint64_t number_ = new_number.contexts.next();
    tuning knobs_;
    const std::shared_ptr<event_log> log_ = open_log(knobs_.log);
    std::shared_ptr<chunk_pool> pool_ = chunk_pool::make();
    const std::shared_ptr<counters> counts_ = std::make_shared<counters>();
    std::unique_ptr<waiter> waiter_;
    std::unique_ptr<random_source> random_;
    inproc_names inproc_{pool_, knobs_.inproc};
    zap_client judges_{inproc_};

    std::mutex mutex_;  // guards the rest
    context_options options_;
    std::unique_ptr<io_threads> threads_;
    bool threads_started_ = false;
    struct own_network {
        std::shared_ptr<endpoints> held;  // by the socket, until it closes
        std::weak_ptr<endpoints> known;   // sessions that linger keep it
    };
    std::map<const socket *, own_network> sockets_;
    std::multimap<const socket *, own_network> closed_;  // under a policy: those that may linger
    static constexpr auto has_ended = [](const auto &each) { return each.second.known.expired(); };
    std::size_t sweep_closed_at_ = 16;
    std::size_t live_sessions_ = 0;
    bool is_terminating_ = false;
    std::unique_ptr<wakeup> end_level_;  // raised when the last socket or session goes

    // Taken before mutex_; held by the thread that stops the others, or needs them.
    std::mutex end_mutex_;

    std::unique_ptr<policy> rules_;  // ends first; null: nothing rules endpoints
};

context_impl::context_impl()
    : knobs_(read_tuning()), waiter_(platform::make_waiter(platform::steady_clock(), knobs_.spins)),
      random_(platform::make_random_source()) {
    if (!waiter_ || !random_)
        throw std::bad_alloc();
    if (knobs_.policy)
        rules_ = std::make_unique<policy>(*knobs_.policy, [this] { look_at_permissions(); });
}

context_impl::~context_impl() = default;

// ---- options ----

error context_impl::set_option(int number, const void *value, std::size_t size) {
    std::lock_guard guard(mutex_);
    return options_.set(number, value, size);
}

error context_impl::get_option(int number, void *value, std::size_t *size) {
    std::lock_guard guard(mutex_);
    return options_.get(number, value, size);
}

// ---- sockets ----

error context_impl::start_threads() {
    if (threads_started_)
        return error::none;
    if (!end_level_)
        if (const error e = waiter_->make_wakeup(end_level_); failed(e))
            return e;
    if (options_.io_threads > 0)
        if (const error e =
                io_threads::make(static_cast<std::size_t>(options_.io_threads), options_.threads, threads_);
            failed(e))
            return e;
    threads_started_ = true;
    return error::none;
}

error context_impl::make_socket(int type, std::unique_ptr<socket> &out) {
    make_room();
    settings defaults = default_settings(static_cast<socket_type>(type));
    if (const error e = prepare_socket(defaults); failed(e))
        return e;
    // A socket that cannot be kept closes itself, which takes the lock: it goes after the guard.
    auto made = socket::make(defaults, {*this, *waiter_, clock(), *random_, pool_, log_, counts_});
    if (!made)
        return error::invalid;
    // The things that a wait needs are made now: later, peers may hold all descriptors.
    const wakeup *level = nullptr;
    if (const error e = made->wait_level(level); failed(e))
        return e;
    auto network = std::make_shared<endpoints>(
        *made, endpoints::environment{*this, knobs_, pool_, *random_, *this, &judges_, rules_.get()});
    std::lock_guard guard(mutex_);
    if (const error e = check_room(); failed(e))
        return e;
    sockets_.emplace(made.get(), own_network{network, network});
    out = std::move(made);
    return error::none;
}

/// The endpoints of closed sockets give way to one more, if it need not wait any longer.
void context_impl::make_room() noexcept {
    bool is_full = false;
    {
        std::lock_guard guard(mutex_);
        is_full = check_room() == error::too_many_files;
    }
    if (is_full && inproc_.left_behind() > 0)
        inproc_.drop_overdue(clock().now());
}

/// Whether one more socket may be; under the lock. A closed one counts as long as messages of its
/// wait for somebody to bind a name.
error context_impl::check_room() const noexcept {
    if (is_terminating_)
        return error::terminated;
    const std::size_t count = sockets_.size() + inproc_.left_behind();
    return count < static_cast<std::size_t>(options_.max_sockets) ? error::none : error::too_many_files;
}

error context_impl::prepare_socket(settings &defaults) {
    std::lock_guard guard(mutex_);
    if (const error e = check_room(); failed(e))
        return e;
    defaults.ipv6 = options_.ipv6;
    // Else it is none, and costs nothing.
    if (options_.max_message_size < std::numeric_limits<int>::max())
        defaults.max_sent_size = static_cast<std::size_t>(options_.max_message_size);
    if (!options_.blocks_at_term)
        defaults.linger_ms = 0;
    return start_threads();
}

void context_impl::close_socket(std::unique_ptr<socket> what) noexcept {
    what->close();
    std::lock_guard guard(mutex_);
    auto node = sockets_.extract(what.get());
    if (rules_ && node) {
        node.mapped().held.reset();
        closed_.insert(std::move(node));  // takes no memory
        if (closed_.size() >= sweep_closed_at_) {
            std::erase_if(closed_, has_ended);
            sweep_closed_at_ = 2 * closed_.size() + 16;
        }
    }
    if (is_over())
        end_level_->signal();
}

stats context_impl::get_stats() noexcept {
    std::lock_guard guard(mutex_);
    return sum([](std::size_t, const socket &each, stats &all) {
        stats counted;  // the context's counters have it, too
        each.add_to(all, counted);
    });
}

stats context_impl::visit_sockets(const std::function<void(const socket &, const stats &)> &visitor) {
    std::lock_guard guard(mutex_);
    std::vector<stats> parts(sockets_.size());
    const stats all = sum([&](std::size_t which, const socket &each, stats &whole) {
        stats counted;
        parts[which] = {};
        each.add_to(parts[which], counted);
        whole.add(parts[which]);
        parts[which].add(counted);
    });
    for (auto part = parts.begin(); const auto &entry : sockets_)
        visitor(*entry.first, *part++);
    return all;
}

context_numbers context_impl::numbers() noexcept {
    context_numbers found;
    found.spare_octets = pool_->idle_octets();
    found.used_octets = pool_->used_octets();
    std::lock_guard guard(mutex_);
    // Each socket has a level to be woken by, and so has the end.
    found.threads = threads_ ? threads_->size() : 0;
    found.descriptors = counts_->descriptors() + sockets_.size() + (end_level_ ? 1 : 0) +
                        found.threads * io_threads::descriptors_of_thread;
    for (std::size_t i = 0; i < found.threads; ++i)
        found.all += threads_->numbers_of(i);
    return found;
}

io_thread_numbers context_impl::numbers_of_thread(std::size_t index) noexcept {
    std::lock_guard guard(mutex_);
    return threads_->numbers_of(index);
}

error context_impl::list_all_peers(std::vector<socket_and_peers> &to, duration patience) {
    // A socket that closes meanwhile leaves its network to this, which goes last.
    std::vector<std::pair<std::size_t, std::shared_ptr<endpoints>>> networks;
    peer_survey survey;
    // The loops run until this is over. The end waits for them with this lock, which no loop takes;
    // after it there are no sockets.
    std::lock_guard no_end(end_mutex_);
    {
        std::lock_guard guard(mutex_);
        for (const auto &[each, network] : sockets_) {
            networks.emplace_back(to.size(), network.held);
            to.push_back({each->number(), each->name(), each->type(), {}, each->gone()->all()});
            each->list_neighbours(to.back().peers);
        }
    }
    for (const auto &[at, network] : networks)
        if (network)
            survey.add(at, network->sessions());
    return survey.take(patience,
                       [&to](std::size_t at, peer_view &&peer) { to[at].peers.push_back(std::move(peer)); });
}

/// Under the lock. While pipes go, which moves their numbers, it looks again, a few times. `add`
/// adds the traffic of the sockets to the whole, in their order, each time.
template <class Add>
stats context_impl::sum(Add &&add) const noexcept {
    constexpr int most_looks = 8;
    for (int look = 1;; ++look) {
        const std::uint64_t ended = counts_->moves_ended();
        stats all;
        all.add(*counts_);
        std::size_t which = 0;
        for (const auto &[each, network] : sockets_)
            add(which++, *each, all);
        if (counts_->has_stood_still(ended) || look == most_looks)
            return all;
    }
}

error context_impl::make_monitor_socket(const std::string &endpoint, std::unique_ptr<socket> &out) {
    return socket::make_monitor({*this, *waiter_, clock(), *random_, pool_}, endpoint, out);
}

// ---- the end ----

void context_impl::shutdown() noexcept {
    std::lock_guard guard(mutex_);
    is_terminating_ = true;
    for (const auto &entry : sockets_)
        const_cast<socket *>(entry.first)->stop();
}

/// Under the lock.
bool context_impl::is_over() const noexcept {
    return is_terminating_ && sockets_.empty() && live_sessions_ == 0;
}

/// Once it is over the level stays up, so that every thread that waits for the end sees it.
bool context_impl::begin_wait_for_end() noexcept {
    std::lock_guard guard(mutex_);
    if (is_over())
        return false;
    end_level_->clear();
    return true;
}

error context_impl::terminate() {
    shutdown();
    while (begin_wait_for_end()) {
        constexpr short readable = 1;  // POLLIN
        wait_item item{end_level_->descriptor(), readable, 0, end_level_.get(), 0};
        const error e = waiter_->wait_as_caller({&item, 1}, time_point::max());
        if (failed(e) && e != error::timed_out)
            return e;
    }
    const platform::cancellation_shield shield;
    std::lock_guard guard(end_mutex_);
    if (threads_)
        threads_->stop();
    return error::none;
}

/// On a thread of the policy's, or of the application's that binds or connects. A socket that comes
/// meanwhile is under the new policy already.
void context_impl::look_at_permissions() noexcept {
    for (const socket *last = nullptr;;) {
        std::shared_ptr<endpoints> network;  // whose lock is never taken under the context's
        {
            std::lock_guard guard(mutex_);
            const auto next = sockets_.upper_bound(last);
            if (next == sockets_.end())
                break;
            last = next->first;
            network = next->second.held;
        }
        network->look_at_permissions();
    }
    look_at_permissions_of_closed();
}

/// Sockets that linger are told as well. One that has closed meanwhile has been told above, or
/// comes here.
void context_impl::look_at_permissions_of_closed() noexcept {
    decltype(closed_) all;
    {
        std::lock_guard guard(mutex_);
        all.swap(closed_);
    }
    for (const auto &each : all)
        if (const std::shared_ptr<endpoints> lingering = each.second.known.lock())
            lingering->look_at_permissions();
    std::erase_if(all, has_ended);
    std::lock_guard guard(mutex_);
    closed_.merge(all);
}

void context_impl::session_began() noexcept {
    std::lock_guard guard(mutex_);
    ++live_sessions_;
}

void context_impl::session_ended() noexcept {
    std::lock_guard guard(mutex_);
    --live_sessions_;
    if (is_over())
        end_level_->signal();
}

// ---- endpoints ----

inproc_side context_impl::side_of(socket &self) {
    const settings &options = self.options();
    return {self.inbox(),
            options.routing_id,
            options.hello_message,
            static_cast<std::uint64_t>(options.send_hwm),
            static_cast<std::uint64_t>(options.receive_hwm),
            options.keeps_newest(),
            options.type,
            &self,
            self.counts(),
            options.send_hwm_octets,
            options.receive_hwm_octets};
}

endpoints &context_impl::network_of(socket &self) {
    std::lock_guard guard(mutex_);
    return *sockets_.at(&self).held;
}

/// Null where the socket has never been on it. Its lock is never taken under the context's.
std::shared_ptr<endpoints> context_impl::known_network_of(const socket &self) {
    std::lock_guard guard(mutex_);
    const auto known = sockets_.find(&self);
    return known == sockets_.end() ? nullptr : known->second.held;
}

error context_impl::list_peers(const socket &self, std::vector<peer_view> &to) {
    const std::shared_ptr<endpoints> network = known_network_of(self);
    return network ? network->list_peers(to) : error::none;
}

error context_impl::cut_peer(socket &self, std::uint64_t id) {
    const std::shared_ptr<endpoints> network = known_network_of(self);
    return network ? network->cut_peer(id) : error::no_entry;
}

/// To bind or to connect there: the monitor hears what is missing.
error context_impl::take_apart(socket &self, const std::string &endpoint, std::string &scheme,
                               std::string &address) {
    std::string why;
    const error e = split_endpoint(endpoint, scheme, address, &why);
    if (failed(e))
        self.events_sink()->emit_refusal(why, to_errno(e), endpoint);
    return e;
}

error context_impl::bind(socket &self, const std::string &endpoint, std::string &actual) {
    std::string scheme;
    std::string address;
    if (const error e = take_apart(self, endpoint, scheme, address); failed(e))
        return e;
    if (scheme == "inproc") {
        actual = endpoint;
        const error e = inproc_.bind(address, side_of(self));
        if (e == error::address_in_use)
            self.events_sink()->emit_refusal("another socket of this context has the name " + address,
                                             to_errno(e), endpoint);
        return e;
    }
    return network_of(self).bind(self, scheme, address, actual);
}

error context_impl::connect(socket &self, const std::string &endpoint, std::string &actual) {
    std::string scheme;
    std::string address;
    if (const error e = take_apart(self, endpoint, scheme, address); failed(e))
        return e;
    if (scheme != "inproc")
        return network_of(self).connect(self, scheme, address, actual);
    pipe_end_ptr near;
    if (const error e = inproc_.connect(address, side_of(self), near); failed(e))
        return e;
    actual = endpoint;
    near->slot.routing_id = self.take_connect_routing_id();
    self.attach(near, true);
    return error::none;
}

error context_impl::unbind(socket &self, const std::string &endpoint) {
    std::string scheme;
    std::string address;
    if (const error e = split_endpoint(endpoint, scheme, address); failed(e))
        return e;
    return remove(self, scheme, address, endpoint);
}

error context_impl::disconnect(socket &self, const std::string &endpoint) {
    std::string scheme;
    std::string address;
    if (const error e = split_endpoint(endpoint, scheme, address); failed(e))
        return e;
    return remove(self, scheme, address, endpoint);
}

/// Unbinding and disconnecting are one thing: whatever the socket has under the endpoint ends. Of
/// an inproc name that is its own the name goes alone: who connected through it stays connected.
error context_impl::remove(socket &self, const std::string &scheme, const std::string &address,
                           const std::string &endpoint) {
    if (scheme == "inproc") {
        if (!failed(inproc_.unbind(address, &self)))
            return error::none;
        const bool was_connected = self.detach_endpoint(endpoint) > 0;
        inproc_.forget_closed(address);
        return was_connected ? error::none : error::no_entry;
    }
    if (!find(scheme))
        return error::protocol_not_supported;
    return network_of(self).remove(self, scheme, address);
}

void context_impl::stop_listening(socket &self) noexcept {
    if (const auto network = known_network_of(self))
        network->stop_listening();
}

void context_impl::close_all(socket &self) noexcept {
    inproc_.forget(&self, clock().now());
    if (const auto network = known_network_of(self))
        network->close(self.options().linger_ms);
}

}  // namespace

error context::has_policy(bool &is_there) {
    const tuning knobs = read_tuning();
    is_there = knobs.policy.has_value();
    std::string why;
    return !is_there || policy::is_usable(*knobs.policy, why) ? error::none : error::not_permitted;
}

std::size_t context::shared_octets() noexcept { return shared_ring::mapped_octets(); }

std::shared_ptr<context> context::make() {
    // Any call of any thread may be the last to use it: the end of that waits.
    return {new context_impl, [](context *last) noexcept {
                const platform::cancellation_shield shield;
                delete last;
            }};
}

}  // namespace zlink
