// Plays what becomes of the sockets of members; see conversations.hpp.
#include "conversations.hpp"

#include <algorithm>
#include <cstring>

#include "monitor_watch.hpp"
#include "socket/options.hpp"
#include "zmq.h"

namespace zlink::sim {

bool conversations::has_ended(int tag) const {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const member &m) { return m.tag == tag && m.has_ended; });
}

/// Which of the types begin a conversation.
bool conversations::sends_by_itself(const member &self) const {
    return self.is_left || plan_.kind == conversation::pair;
}

reach conversations::reach_of(const member &self) const {
    if (plan_.is_publishing())
        return reach::all;
    if (plan_.kind == conversation::req_rep && !self.is_left)
        return reach::lossy;
    // To one name there may be several queues: that of a connection that is ending, and the next.
    if (plan_.has_names && !self.is_left)
        return reach::lossy;
    return self.is_left && plan_.right_count > 1 ? reach::any : reach::one;
}

channel &conversations::channel_to(member &self, int to, const octets &routing_id) {
    channel *&found = self.out[{to, routing_id}];
    if (found)
        return *found;
    found = &ledger_.add_channel(self.tag, self.epoch, to, reach_of(self));
    found->send_hwm = static_cast<std::uint64_t>(self.options.send_hwm);
    found->is_inproc = plan_.is_inproc;
    // The queue of a socket that dials outlives its connections.
    found->sender_dials = !self.binds && !plan_.is_inproc && !plan_.is_immediate;
    found->receiver_dials = self.binds && !plan_.is_inproc && !plan_.is_immediate;
    found->is_answer = plan_.kind == conversation::dealer_router && !self.is_left;
    found->may_be_refused = plan_.kind == conversation::pair || plan_.has_names;
    for (const member &other : members_)
        if (other.is_left != self.is_left)
            found->receive_hwm =
                std::max(found->receive_hwm, static_cast<std::uint64_t>(other.options.receive_hwm));
    if (plan_.kind == conversation::req_rep)
        found->send_hwm = 0;  // lock-step: nothing to bound
    return *found;
}

void conversations::open(member &self) {
    self.handle = self.home->make_socket(self.options);
    if (!self.handle)
        return;
    ++self.epoch;
    world_.tell("member ", self.tag, " opens its socket");
    self.out.clear();
    if (plan_.is_monitored)
        monitor(self);
    if (plan_.is_publishing())
        open_topics(self);
    const std::string scheme = plan_.is_inproc ? "inproc://" : plan_.is_local ? "ipc://sim:" : "tcp://sim:";
    self.endpoints.clear();
    for (const member &other : members_)
        if (self.binds ? &other == &self : other.is_left != self.is_left)
            self.endpoints.push_back(scheme + std::to_string(other.tag));
    attach(self);
}

/// Has the socket report its connections to an actor of its own, to one that takes its time, or to
/// nobody.
void conversations::monitor(member &self) {
    const std::string endpoint =
        "inproc://monitor " + std::to_string(self.tag) + " " + std::to_string(self.epoch);
    if (failed(self.handle->start_monitor(endpoint.c_str(), ZMQ_EVENT_ALL)) && !self.home->is_terminating())
        world_.violate(promise::survives, "a monitor cannot be started");
    if (chance_.chance(800'000))
        world_.start("monitor " + std::to_string(self.tag),
                     [this, &self, endpoint] { watch(*self.home, self.tag, endpoint); });
}

/// The life of an actor that reads a monitor.
void conversations::watch(sim_context &home, int tag, const std::string &endpoint) {
    auto reader = home.make_socket(default_settings(socket_type::pair), false);
    if (!reader)
        return;
    monitor_watch judge(world_, tag, plan_.keeps_sockets);
    const bool is_slow = chance_.coin();
    error e = reader->connect(endpoint.c_str());
    while (!failed(e) && !judge.has_stopped() && !world_.is_over()) {
        message parts[2];
        for (message &part : parts) {
            part.init();
            do
                e = failed(e) && e != error::interrupted ? e : reader->receive(part, 0);
            while (e == error::interrupted);
        }
        if (!failed(e)) {
            const byte_span body = parts[0].body();
            std::uint16_t event = 0;
            std::uint32_t value = 0;
            std::memcpy(&event, body.data(), sizeof event);
            std::memcpy(&value, body.data() + sizeof event, sizeof value);
            if (!world_.strikes(planted::lost_event, 100'000))
                judge.judge(event, value, std::string(as_text(parts[1].body())));
        }
        for (message &part : parts)
            (void)part.close();
        if (is_slow)
            world_.sleep_for(milliseconds(chance_.between(0, 5)));
    }
    home.close_socket(std::move(reader));
}

/// Calls again as long as memory is short.
error conversations::insist(const std::function<error()> &call) {
    for (;;) {
        error e = error::no_memory;
        try {
            const scarce_memory here(next_failure());
            e = call();
        } catch (const std::bad_alloc &) {
            // as the boundary of the C API says it
        }
        if (!is_excused(e))
            return e;
    }
}

void conversations::attach(member &self) {
    for (const std::string &endpoint : self.endpoints) {
        const error e = insist([&] {
            return self.binds ? self.handle->bind(endpoint.c_str()) : self.handle->connect(endpoint.c_str());
        });
        if (failed(e) && e != error::terminated)
            world_.violate(promise::lives, "cannot bind or connect: " + std::string(describe(to_errno(e))));
    }
}

/// Takes back what was bound or connected, and does it again: every queue ends and begins anew.
void conversations::renew(member &self) {
    note_end(self);
    world_.tell("member ", self.tag, " takes back its endpoints");
    for (const std::string &endpoint : self.endpoints)
        (void)insist([&] {
            return self.binds ? self.handle->unbind(endpoint.c_str())
                              : self.handle->disconnect(endpoint.c_str());
        });
    pause(self);
    attach(self);
    world_.tell("member ", self.tag, " has its endpoints again");
}

time_point conversations::end_of_linger(int linger_ms) const noexcept {
    constexpr milliseconds until_it_is_seen{100};  // timers may be late
    return linger_ms < 0 ? time_point::max() : world_.now() + milliseconds(linger_ms) + until_it_is_seen;
}

/// Messages in the queues of this socket may be lost from now on.
void conversations::note_end(member &self) {
    for (const auto &entry : self.out)
        entry.second->counts_as_ended = entry.second->is_given_up = true;
    for (channel &theirs : ledger_.channels())
        if (theirs.to == self.tag || theirs.to == 0)
            theirs.counts_as_ended = true;
    if (self.options.linger_ms != 0)
        ledger_.expect_second_connection(self.tag, end_of_linger(self.options.linger_ms));
    // Whatever is sent from here on is judged by itself.
    self.out.clear();
}

void conversations::close(member &self) {
    note_end(self);
    world_.tell("member ", self.tag, " closes its socket");
    self.home->close_socket(std::move(self.handle));
}

/// The life of an actor: it has one socket, or polls several.
void conversations::live(const std::vector<member *> &all) {
    for (member *m : all)
        open(*m);
    member &first = *all.front();
    while (first.handle && !world_.is_over() && !first.home->is_terminating()) {
        if (!first.is_left && serves_together())
            take_polled(all);
        else
            turn(first);
        for (member *m : all) {
            change_mind(*m);
            change(*m);
        }
    }
    for (member *m : all) {
        // Whatever comes from here on is thrown away, and its senders may send more.
        for (channel &theirs : ledger_.channels())
            theirs.counts_as_ended |= theirs.to == m->tag;
        m->has_ended = true;
        if (m->handle)
            m->home->close_socket(std::move(m->handle));
    }
}

/// Does what the conductor wants of a member.
void conversations::change(member &self) {
    if (std::exchange(self.wants_new_socket, false) && phase_ == phase::chaos) {
        close(self);
        pause(self);
        open(self);
    } else if (std::exchange(self.wants_new_endpoints, false) && phase_ == phase::chaos) {
        renew(self);
    }
}

}  // namespace zlink::sim
