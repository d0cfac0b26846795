// Plays what members send and receive; see conversations.hpp.
#include "conversations.hpp"

#include <algorithm>

#include "c_calls.hpp"
#include "zmq.h"

namespace zlink::sim {

/// Asks what zmq_poll says of the sockets. False when it says nothing of them.
bool conversations::poll(std::span<member *const> all, short wanted, int timeout_ms,
                         std::vector<watched> &items) {
    items.clear();
    for (const member *m : all) {
        if (!m->handle)
            return false;
        items.push_back({m->handle.get(), -1, wanted, 0});
    }
    std::size_t count = 0;
    error e = error::none;
    {
        const scarce_memory here(next_failure());
        e = wait_for_any(items, timeout_ms, count);
    }
    if (failed(e) && !is_excused(e) && e != error::interrupted && e != error::terminated)
        world_.violate(promise::survives, "a poll fails: " + std::string(describe(to_errno(e))));
    return !failed(e);
}

/// Polls all sockets of the right, and takes a message of each that has one.
void conversations::take_polled(const std::vector<member *> &all) {
    std::vector<watched> items;
    const bool only_listens =
        std::none_of(all.begin(), all.end(), [](member *m) { return sends_upstream(*m); });
    const int timeout_ms = only_listens && chance_.coin() ? -1 : static_cast<int>(chance_.between(0, 20));
    if (!poll(all, ZMQ_POLLIN, timeout_ms, items)) {
        world_.sleep_for(microseconds(chance_.next() % 20));
        return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!items[i].ready)
            continue;
        if (receive_turn(*all[i], ZMQ_DONTWAIT, true) == outcome::ended)
            return;
    }
    rest(*all.front());
}

/// Between two messages that were received.
void conversations::rest(member &self) {
    if (phase_ == phase::chaos && plan_.has_slow_readers)
        world_.sleep_for(milliseconds(chance_.between(1, 40)));
    else if (phase_ == phase::chaos || chance_.chance(100'000))
        pause(self);
    else
        world_.sleep_for(microseconds(chance_.next() % 20));
}

void conversations::pause(member &) {
    constexpr int pauses[] = {0, 1, 20, 200, 2000};
    world_.sleep_for(microseconds(chance_.pick(pauses)));
}

bool conversations::may_send(member &self) const {
    switch (phase_) {
    case phase::chaos:
        return self.sent_in_chaos < plan_.messages;
    case phase::probing:
        return true;
    case phase::last_round:
        return self.sent_last < last_round_messages;
    default:
        return false;
    }
}

void conversations::turn(member &self) {
    const bool also_receives =
        plan_.kind == conversation::pair || plan_.kind == conversation::dealer_router || listens(self);
    if (plan_.kind == conversation::req_rep && self.is_left) {
        if (may_send(self))
            ask(self);
        else
            world_.sleep_for(milliseconds(1));
        return;
    }
    if (!sends_by_itself(self)) {
        receive_turn(self, chance_.chance(300'000) ? ZMQ_DONTWAIT : 0);
        rest(self);
        return;
    }
    // While nothing is wrong what waits is taken first: a connection that is held back by a full
    // queue is looked after only when there is room again.
    if (also_receives && phase_ != phase::chaos && receive_turn(self, ZMQ_DONTWAIT) == outcome::done) {
        world_.sleep_for(microseconds(chance_.next() % 20));
        return;
    }
    if (plan_.is_borrowing && phase_ == phase::chaos) {
        burst(self);
        return;
    }
    if (plan_.polls) {
        std::vector<watched> items;
        member *const self_alone[] = {&self};
        const short wanted = may_send(self) ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN;
        if (!poll(self_alone, also_receives ? wanted : wanted & ZMQ_POLLOUT,
                  static_cast<int>(chance_.between(0, plan_.is_patient ? 300 : 20)), items))
            return;
        // Whatever an XPUB was to be told of may be taken back.
        if (items[0].ready & ZMQ_POLLIN)
            receive_turn(self, ZMQ_DONTWAIT, self.options.type != socket_type::xpub);
    } else if (also_receives && (chance_.coin() || !may_send(self))) {
        const bool waits =
            phase_ == phase::chaos ? plan_.is_patient || chance_.coin() : !plan_.is_patient && chance_.coin();
        if (receive_turn(self, waits ? 0 : ZMQ_DONTWAIT) == outcome::not_now)
            world_.sleep_for(microseconds(chance_.between(1, 500)));
        return;
    }
    if (!may_send(self)) {
        world_.sleep_for(milliseconds(1));
        return;
    }
    send_turn(self);
    if (chance_.chance(300'000))
        pause(self);
    else
        world_.sleep_for(microseconds(chance_.next() % 50));
}

/// Some messages without a pause, and then whatever comes back.
void conversations::burst(member &self) {
    for (std::uint64_t count = chance_.between(1, 6); count > 0 && may_send(self); --count)
        if (send_turn(self) != outcome::done)
            break;
    while (receive_turn(self, 0) == outcome::done && chance_.chance(800'000)) {
    }
}

conversations::outcome conversations::send_turn(member &self) {
    const phase began = phase_;
    const bool knows_receiver = reach_of(self) == reach::one;
    int to = 0;
    if (knows_receiver)
        to = side(!self.is_left).front()->tag;
    std::deque<octets> front;
    channel &which = plan_.is_publishing() ? choose_topic(self, front) : channel_to(self, to);
    const outcome result = send(self, which, front);
    if (result == outcome::done) {
        if (began == phase::chaos)
            ++self.sent_in_chaos;
        else if (began == phase::last_round)
            ++self.sent_last;
    }
    return result;
}

/// Which allocation of the next call fails; 0: none.
unsigned conversations::next_failure() {
    if (phase_ != phase::chaos || !chance_.chance(plan_.short_memory))
        return 0;
    return static_cast<unsigned>(chance_.between(1, 6));
}

/// One whole message. Once begun it is finished, whatever it takes.
conversations::outcome conversations::send(member &self, channel &to, const std::deque<octets> &front) {
    const std::uint64_t number = to.sent.size();
    const std::size_t count = ledger_.part_count(to, number);
    ledger_.note_begun(to);
    for (std::size_t i = 0; i < front.size() + count; ++i) {
        const octets body = i < front.size() ? front[i] : ledger_.part(to, number, i - front.size());
        for (;;) {
            const outcome result = send_part(self, body, i + 1 < front.size() + count);
            if (result == outcome::done)
                break;
            if (result == outcome::ended || i == 0) {
                self.home->of_application().half_given += i > 0;
                return result;
            }
            world_.sleep_for(microseconds(chance_.between(1, 200)));
        }
        if (chance_.chance(20'000))
            pause(self);
        if (world_.is_over())
            return outcome::ended;
    }
    ledger_.note_sent(to);
    ++self.home->of_application().given;
    return outcome::done;
}

void free_octets(void *, void *hint) { delete static_cast<octets *>(hint); }

conversations::outcome conversations::send_part(member &self, const octets &body, bool more) {
    // Two that both wait for room hold each other up: once nothing is wrong they look what there is
    // to read instead.
    const bool is_patient =
        phase_ == phase::chaos || plan_.is_one_way() || plan_.kind == conversation::req_rep;
    const int flags = (more ? ZMQ_SNDMORE : 0) | (!is_patient || chance_.chance(200'000) ? ZMQ_DONTWAIT : 0);
    error e = error::none;
    switch (chance_.next() % 3) {
    case 0: {
        const scarce_memory here(next_failure());
        e = test::send_as_in_c(*self.handle, byte_span(body), flags);
        break;
    }
    case 1: {
        message copy;
        (void)copy.init_copy(body);
        {
            const scarce_memory here(next_failure());
            e = self.handle->send(copy, flags);
        }
        (void)copy.close();
        break;
    }
    default: {
        auto *own = new octets(body);
        message lent;
        (void)lent.init_external(own->data(), own->size(), &free_octets, own);
        {
            const scarce_memory here(next_failure());
            e = self.handle->send(lent, flags);
        }
        (void)lent.close();
        break;
    }
    }
    if (e == error::none)
        return outcome::done;
    if (e == error::again || e == error::interrupted || e == error::host_unreachable || is_excused(e))
        return outcome::not_now;
    if (e != error::terminated)
        world_.violate(promise::survives, "a send fails: " + std::string(describe(to_errno(e))));
    return outcome::ended;
}

/// Every other time what zmq_recv gives at once.
bool conversations::receive_at_once(member &self, message &out) {
    constexpr std::size_t capacity = 200;
    short_frame frame;
    if (++receives_ % 2 == 0 || !test::receive_at_once(*self.handle, frame, capacity))
        return false;
    (void)out.init_copy({frame.data, frame.size});
    out.set_info(frame.info);
    int has_more = 0;
    std::size_t size_of_more = sizeof has_more;
    (void)self.handle->get_option(ZMQ_RCVMORE, &has_more, &size_of_more);
    out.set_more(has_more != 0);
    return true;
}

/// One whole message. The first part may be late, the others may not.
conversations::outcome conversations::receive(member &self, std::deque<octets> &parts, int &link, int flags) {
    for (bool has_more = true; has_more;) {
        message part;
        part.init();
        error e = error::none;
        if (!receive_at_once(self, part)) {
            const scarce_memory here(next_failure());
            e = self.handle->receive(part, flags);
        }
        if ((e == error::interrupted || is_excused(e)) && !parts.empty()) {
            (void)part.close();
            continue;
        }
        if (e == error::again && !parts.empty()) {
            (void)part.close();
            world_.violate(promise::atomic,
                           "a message stops after " + std::to_string(parts.size()) + " parts");
            return outcome::ended;
        }
        if (failed(e)) {
            (void)part.close();
            if (e == error::again || e == error::interrupted || is_excused(e))
                return outcome::not_now;
            if (e != error::terminated)
                world_.violate(promise::survives, "a receive fails: " + std::string(describe(to_errno(e))));
            return outcome::ended;
        }
        parts.emplace_back(part.body().begin(), part.body().end());
        if (part.info()) {
            if (const char *fd = part.info()->find("__fd"))
                link = network::link_of(std::atoi(fd));
            if (handler_ && self.binds && !handler_->has_admitted(link))
                world_.violate(promise::admits, "connection " + std::to_string(link) + " is heard");
        }
        has_more = part.has_more();
        if (world_.strikes(planted::kept_message, 10'000) && part.size() > 40) {
            kept_.emplace_back();
            kept_.back().init();
            (void)kept_.back().move_from(part);
        }
        (void)part.close();
        if (has_more && chance_.chance(10'000))
            pause(self);
    }
    self.home->of_application().note_taken(self.options.type, parts.size(), byte_span(parts.front()));
    return outcome::done;
}

conversations::outcome conversations::receive_turn(member &self, int flags, bool must_find) {
    std::deque<octets> parts;
    int link = 0;
    const outcome result = receive(self, parts, link, flags);
    if (result == outcome::not_now && must_find)
        world_.violate(promise::lives,
                       "a poll says that there is something to receive, and there is nothing");
    if (result != outcome::done)
        return result;
    octets topic;
    if (plan_.is_publishing() && take_topic(self, parts, topic, link))
        return outcome::done;
    std::deque<octets> front;
    const bool is_router = plan_.kind == conversation::dealer_router && !self.is_left;
    if (is_router) {
        front.push_back(parts.front());
        parts.pop_front();
    }
    if (parts.empty()) {
        world_.violate(promise::atomic, "a routing id and no message");
        return outcome::ended;
    }
    channel *from = ledger_.judge(self.tag, parts, link);
    if (!from)
        return outcome::ended;
    ++delivered_;
    if (topic != front_of(*from))
        world_.violate(promise::atomic, "a message has another topic in front than it was sent with");
    if (is_router || plan_.kind == conversation::req_rep)
        return answer(self, *from, front);
    return outcome::done;
}

/// ROUTER and REP: back to whoever it came from.
conversations::outcome conversations::answer(member &self, channel &from, const std::deque<octets> &front) {
    channel &back = channel_to(self, from.from, front.empty() ? octets{} : front.front());
    // A queue that its owner has given up throws away what comes, by whatever connection that is.
    back.counts_as_ended |= from.is_given_up || has_ended(from.from);
    if (plan_.kind == conversation::dealer_router) {
        if (phase_ == phase::chaos && chance_.coin())
            return outcome::done;
        return send(self, back, front);
    }
    // The reply says which request it answers.
    octets echo(12);
    put_u32(echo.data(), static_cast<std::uint32_t>(from.id));
    put_u64(echo.data() + 4, static_cast<std::uint64_t>(from.receivers[self.tag].last));
    for (;;) {
        const outcome result = send(self, back, {echo});
        if (result != outcome::not_now || world_.is_over())
            return result;
        world_.sleep_for(microseconds(50));
    }
}

/// REQ: one request and its reply.
void conversations::ask(member &self) {
    const phase began = phase_;
    channel &to = channel_to(self, reach_of(self) == reach::one ? side(false).front()->tag : 0);
    const std::uint64_t number = to.sent.size();
    if (send(self, to) != outcome::done) {
        world_.sleep_for(microseconds(chance_.between(1, 300)));
        return;
    }
    if (began == phase::chaos)
        ++self.sent_in_chaos;
    // Nothing is lost on the way through memory, and nobody connects again to a name that was bound
    // anew.
    const time_point give_up =
        plan_.is_inproc ? time_point::max()
                        : world_.now() + (phase_ == phase::chaos ? milliseconds(200) : milliseconds(1000));
    while (world_.now() < give_up && !self.wants_new_socket) {
        std::deque<octets> parts;
        int link = 0;
        const outcome result = receive(self, parts, link, 0);
        if (result == outcome::ended)
            return;
        if (result == outcome::not_now) {
            world_.sleep_for(microseconds(chance_.between(1, 300)));
            continue;
        }
        if (parts.size() < 2 || parts.front().size() != 12) {
            world_.violate(promise::atomic, "a reply without its parts");
            return;
        }
        // A REP that connected keeps its replies for whoever binds next: only REQ_CORRELATE tells
        // those apart.
        const bool may_be_stale = self.binds && !self.options.req_correlate;
        if (!may_be_stale && (get_u32(parts.front().data()) != static_cast<std::uint32_t>(to.id) ||
                              get_u64(parts.front().data() + 4) != number)) {
            world_.violate(promise::ordered, "the reply to request " + std::to_string(number) + " answers " +
                                                 std::to_string(get_u64(parts.front().data() + 4)));
            return;
        }
        parts.pop_front();
        ledger_.judge(self.tag, parts, link);
        ++delivered_;
        if (began == phase::last_round)
            ++self.sent_last;
        return;
    }
    // The reply is lost, as it may be when a connection breaks: REQ_RELAXED lets us go on, else
    // only a new socket does.
    if (!self.options.req_relaxed && !self.home->is_terminating() && !world_.is_over()) {
        close(self);
        open(self);
    }
}

}  // namespace zlink::sim
