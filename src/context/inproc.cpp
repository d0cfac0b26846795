// The two orders of a rendezvous, and what waits for one; see inproc.hpp. Map: what both sides hear
// first; binding, which takes in those who wait; unbinding; connecting, to a name that is bound or
// not; what is forgotten with its owner, and when it is overdue.
#include "context/inproc.hpp"

#include <new>

namespace zlink {

namespace {

void say_hello(pipe_end &from, const std::string &routing_id) {
    if (failed(from.say_hello(as_bytes(routing_id))))
        throw std::bad_alloc();
    from.publish();
}

/// The first message to the other application.
void greet_application(pipe_end &from, const std::string &hello) {
    if (hello.empty())
        return;
    if (failed(from.write(0, as_bytes(hello))))
        throw std::bad_alloc();
    from.publish();
}

/// Asked of a pipe whose near end is closed, and whose far end nobody has taken: whether messages
/// wait in it.
bool holds_messages(const pipe_end &far) noexcept { return far.has_untaken() || far.is_conflating(); }

}  // namespace

error inproc_names::bind(const std::string &name, const inproc_side &self) {
    std::lock_guard guard(mutex_);
    const auto [place, is_new] = bound_.emplace(name, self);
    if (!is_new)
        return error::address_in_use;
    try {
        for (auto [at, end] = waiting_.equal_range(name); at != end; at = take_away(at))
            if (!join(self, at->second))
                throw std::bad_alloc();
    } catch (...) {
        bound_.erase(place);
        throw;
    }
    return error::none;
}

/// Hands the far end of a waiting pipe to the bound socket. False when there is no memory: who is
/// bound has not closed.
bool inproc_names::join(const inproc_side &bound, const waiting &who) {
    if (who.far->is_peer_closed() && !holds_messages(*who.far))
        return true;
    who.far->set_write_hwm(bound.send_hwm);
    who.far->set_read_hwm(bound.receive_hwm);
    who.far->set_write_octets(bound.send_octets);
    who.far->set_read_octets(bound.receive_octets);
    who.far->set_events(bound.inbox);
    say_hello(*who.far, bound.routing_id);
    greet_application(*who.far, bound.hello_message);
    who.far->note_peer(true);
    who.near->note_peer(true);
    return bound.inbox->post({mailbox::command_kind::attach, who.far, false});
}

error inproc_names::unbind(const std::string &name, const void *owner) noexcept {
    std::lock_guard guard(mutex_);
    const auto it = bound_.find(name);
    if (it == bound_.end() || it->second.owner != owner)
        return error::no_entry;
    bound_.erase(it);
    return error::none;
}

error inproc_names::connect(const std::string &name, const inproc_side &self, pipe_end_ptr &out) {
    std::lock_guard guard(mutex_);
    const auto it = bound_.find(name);
    pipe_options options;
    options.first_to_second_hwm = self.send_hwm;
    options.second_to_first_hwm = self.receive_hwm;
    options.first_to_second_octets = self.send_octets;
    options.second_to_first_octets = self.receive_octets;
    options.conflate = self.conflate;
    options.second = end_kind::socket;
    options.sizes = sizes_;
    const pipe_ends ends = make_pipe(pool_, options);
    ends.first->set_events(self.inbox);
    ends.first->slot.endpoint = std::make_shared<const std::string>("inproc://" + name);
    say_hello(*ends.first, self.routing_id);
    greet_application(*ends.first, self.hello_message);
    const waiting who{self, ends.first, ends.second};
    if (it == bound_.end())
        waiting_.emplace(name, who);
    else if (!join(it->second, who))
        return error::no_memory;
    out = ends.first;
    return error::none;
}

inproc_names::way inproc_names::connect_to_bound(const std::string &name, std::shared_ptr<pipe_events> events,
                                                 bool (*fits)(socket_type)) {
    std::lock_guard guard(mutex_);
    const auto it = bound_.find(name);
    if (it == bound_.end() || !fits(it->second.type))
        return {};
    pipe_options options;
    options.second = end_kind::socket;
    options.sizes = sizes_;
    const pipe_ends ends = make_pipe(pool_, options);
    ends.first->set_events(std::move(events));
    say_hello(*ends.first, {});
    if (!join(it->second, {{}, ends.first, ends.second}))
        throw std::bad_alloc();
    return {ends.first, it->second.inbox};
}

void inproc_names::forget_closed(const std::string &name) noexcept {
    std::lock_guard guard(mutex_);
    const auto [first, last] = waiting_.equal_range(name);
    for (auto it = first; it != last;)
        it = it->second.far->is_peer_closed() && !holds_messages(*it->second.far) ? take_away(it)
                                                                                  : std::next(it);
}

void inproc_names::forget(const void *owner, time_point now) noexcept {
    std::lock_guard guard(mutex_);
    std::erase_if(bound_, [&](const auto &entry) { return entry.second.owner == owner; });
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        waiting &what = it->second;
        if (what.side.owner != owner) {
            ++it;
        } else if (!holds_messages(*what.far)) {
            it = take_away(it);
        } else {
            what.side.owner = nullptr;  // another socket may get the address
            if (const int linger_ms = what.far->peer_linger_ms(); linger_ms >= 0)
                what.lingers_until = now + std::chrono::milliseconds(linger_ms);
            left_behind_.fetch_add(1, std::memory_order_relaxed);
            ++it;
        }
    }
}

void inproc_names::drop_overdue(time_point now) noexcept {
    waiting_list dropped;  // goes after the lock: the application hears of bodies that it lent
    std::lock_guard guard(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        const auto at = it++;
        if (at->second.side.owner || at->second.lingers_until > now)
            continue;
        left_behind_.fetch_sub(1, std::memory_order_relaxed);
        count_lost(at->second);
        dropped.insert(waiting_.extract(at));
    }
}

inproc_names::waiting_list::iterator inproc_names::take_away(waiting_list::iterator what) noexcept {
    if (!what->second.side.owner)
        left_behind_.fetch_sub(1, std::memory_order_relaxed);
    return waiting_.erase(what);
}

/// Nobody has bound the name.
void inproc_names::count_lost(const waiting &what) noexcept {
    if (what.side.counts)
        what.side.counts->add(counter::dropped_linger, what.far->take_lost().unread);
}

}  // namespace zlink
