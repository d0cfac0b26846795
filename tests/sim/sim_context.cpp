#include "sim_context.hpp"

namespace zlink::sim {

namespace {

constexpr std::string_view inproc_prefix = "inproc://";
constexpr std::string_view separator = "://";

bool is_inproc(const std::string &endpoint) { return endpoint.starts_with(inproc_prefix); }
std::string name_in(const std::string &endpoint) { return endpoint.substr(inproc_prefix.size()); }
std::string scheme_in(const std::string &endpoint) { return endpoint.substr(0, endpoint.find(separator)); }
std::string address_in(const std::string &endpoint) {
    return endpoint.substr(endpoint.find(separator) + separator.size());
}

}  // namespace

sim_context::sim_context(world &owner, network &net, std::size_t loops, const tuning &knobs)
    : world_(owner), network_(net), knobs_(knobs), end_level_(owner) {
    for (std::size_t i = 0; i < loops; ++i)
        loops_.push_back(&owner.add_loop());
}

std::unique_ptr<socket> sim_context::make_socket(settings options, bool takes_part) {
    if (is_terminating_)
        return nullptr;
    if (world_.has_planted(planted::lost_high_water_mark))
        options.send_hwm = 0;
    const auto &counts =
        takes_part ? counts_of_[static_cast<std::size_t>(group_of(options.type))] : counts_of_judges_;
    auto made = socket::make(options, {*this, world_, clock_, world_.library, pool_, {}, counts});
    authenticator *const judges =
        world_.has_planted(planted::verdict_twice) || world_.has_planted(planted::late_verdict)
            ? static_cast<authenticator *>(&careless_judges_)
            : &judges_;
    sockets_.emplace(made.get(),
                     std::make_shared<endpoints>(
                         *made, endpoints::environment{*this, knobs_, pool_, world_.library, *this, judges}));
    return made;
}

void sim_context::close_socket(std::unique_ptr<socket> what) noexcept {
    what->close();
    sockets_.erase(what.get());
    end_level_.signal();
}

void sim_context::shutdown() noexcept {
    is_terminating_ = true;
    const world::stillness under_a_lock(world_);
    for (const auto &entry : sockets_)
        const_cast<socket *>(entry.first)->stop();
}

void sim_context::terminate() noexcept {
    shutdown();
    careless_judges_.forget();
    while (!sockets_.empty() || live_sessions_ > 0) {
        if (world_.is_over())
            return;
        end_level_.clear();
        world_.wait_until(time_point::max(), end_level_.is_up());
    }
    inproc_.drop_overdue(time_point::max());
}

std::string sim_context::unaccounted() const {
    const auto number = [&](counter what) { return counts_->get(what); };
    const std::uint64_t lost = number(counter::dropped_linger) + number(counter::dropped_peer_gone) +
                               number(counter::dropped_unread) + number(counter::dropped_conflate);
    if (number(counter::messages_sent) == number(counter::messages_received) + lost)
        return {};
    return std::to_string(number(counter::messages_sent)) + " messages were sent, " +
           std::to_string(number(counter::messages_received)) + " received, and " + std::to_string(lost) +
           " lost, by the counters";
}

void sim_context::session_ended() noexcept {
    if (world_.strikes(planted::forgotten_session_end, 100'000))
        return;
    if (--live_sessions_ == 0)
        end_level_.signal();
}

loop *sim_context::choose(std::uint64_t) noexcept { return loops_[world_.library.next() % loops_.size()]; }

inproc_side sim_context::side_of(socket &self) {
    const settings &options = self.options();
    return {self.inbox(),
            options.routing_id,
            options.hello_message,
            static_cast<std::uint64_t>(options.send_hwm),
            static_cast<std::uint64_t>(options.receive_hwm),
            options.keeps_newest(),
            options.type,
            &self,
            self.counts()};
}

error sim_context::bind(socket &self, const std::string &endpoint, std::string &actual) {
    actual = endpoint;
    if (is_inproc(endpoint))
        return inproc_.bind(name_in(endpoint), side_of(self));
    return sockets_.at(&self)->bind(self, scheme_in(endpoint), address_in(endpoint), actual);
}

error sim_context::connect(socket &self, const std::string &endpoint, std::string &actual) {
    actual = endpoint;
    if (!is_inproc(endpoint))
        return sockets_.at(&self)->connect(self, scheme_in(endpoint), address_in(endpoint), actual);
    pipe_end_ptr near;
    if (const error e = inproc_.connect(name_in(endpoint), side_of(self), near); failed(e))
        return e;
    self.attach(near, true);
    return error::none;
}

error sim_context::remove(socket &self, const std::string &endpoint) {
    if (!is_inproc(endpoint))
        return sockets_.at(&self)->remove(self, scheme_in(endpoint), address_in(endpoint));
    if (!failed(inproc_.unbind(name_in(endpoint), &self)))
        return error::none;
    const bool was_connected = self.detach_endpoint(endpoint) > 0;
    inproc_.forget_closed(name_in(endpoint));
    return was_connected ? error::none : error::no_entry;
}

error sim_context::make_monitor_socket(const std::string &endpoint, std::unique_ptr<socket> &out) {
    return socket::make_monitor({*this, world_, clock_, world_.library, pool_, {}, counts_of_judges_},
                                endpoint, out);
}

void sim_context::stop_listening(socket &self) noexcept {
    if (const auto at = sockets_.find(&self); at != sockets_.end()) {
        const auto network = at->second;  // the loop may run, and sockets come and go meanwhile
        network->stop_listening();
    }
}

void sim_context::close_all(socket &self) noexcept {
    inproc_.forget(&self, clock_.now());
    if (const auto at = sockets_.find(&self); at != sockets_.end()) {
        const auto network = at->second;  // the loop may run, and sockets come and go meanwhile
        network->close(self.options().linger_ms);
    }
}

}  // namespace zlink::sim
