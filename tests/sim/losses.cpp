#include "losses.hpp"

#include <algorithm>

#include "c_calls.hpp"
#include "socket/options.hpp"
#include "zmq.h"

namespace zlink::sim {

namespace {

constexpr int marks[] = {1, 2, 10, 1000};
constexpr int retry_ms = 5;
constexpr std::size_t usual_octets = 100;  // at most, of a part
// routing ids that a ROUTER keeps, of peers that may have gone
constexpr std::size_t most_known = 6;
constexpr const char *topics[] = {"a", "a", "ab", "b", "c"};

octets octets_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

losses::losses(std::uint64_t seed, planted plant, const dice &chance, const tuning &knobs)
    : stage(seed, plant, chance, {}, 1, knobs) {
    using enum socket_type;
    constexpr cast casts[] = {cast::publishers, cast::publishers, cast::routers, cast::repliers,
                              cast::pushers};
    cast_ = chance_.pick(casts);
    is_inproc_ = chance_.chance(200'000);
    left_binds_ = chance_.coin();
    is_calm_ = is_inproc_ || chance_.chance(300'000);
    most_octets_ = !is_inproc_ && chance_.coin() ? chance_.between(60, 400) : 0;
    // not drawn, so that a seed has the run that it had
    is_sealed_ = !is_inproc_ && seed % 3 == 0;
    constexpr std::uint64_t shortages[] = {0, 0, 0, 10'000, 100'000};
    short_memory_ = chance_.pick(shortages);
    for (std::uint64_t left = chance_.between(1, 2); left > 0; --left)
        add(true, cast_ == cast::publishers ? (chance_.coin() ? pub : xpub)
                  : cast_ == cast::routers  ? router
                  : cast_ == cast::repliers ? rep
                                            : push);
    for (std::uint64_t left = chance_.between(1, 3); left > 0; --left)
        add(false, cast_ == cast::publishers ? (chance_.coin() ? sub : xsub)
                   : cast_ == cast::routers  ? dealer
                   : cast_ == cast::repliers ? (chance_.coin() ? req : dealer)
                                             : pull);
}

void losses::add(bool is_left, socket_type type) {
    player &made = players_.emplace_back();
    made.tag = static_cast<int>(players_.size());
    made.is_left = is_left;
    settings &options = made.options = default_settings(type);
    network::set_tag(options, made.tag);
    options.send_hwm = chance_.pick(marks);
    options.receive_hwm = chance_.pick(marks);
    constexpr int lingers[] = {0, 0, 50, 300};
    options.linger_ms = chance_.pick(lingers);
    options.reconnect_interval_ms = retry_ms;
    options.handshake_interval_ms = 300;
    options.send_timeout_ms = static_cast<int>(chance_.between(0, 20));
    options.receive_timeout_ms = static_cast<int>(chance_.between(0, 20));
    options.router_mandatory = chance_.chance(200'000);
    options.req_relaxed = true;
    options.req_correlate = chance_.coin();
    if (is_sealed_)
        set_keys(options, is_left == left_binds_);
    if (most_octets_ > 0 && chance_.coin())
        options.max_message_size = static_cast<std::int64_t>(most_octets_);
}

void losses::open(player &self) {
    self.handle = home_of(self).make_socket(self.options);
    if (!self.handle)
        return;
    const std::string scheme = is_inproc_ ? "inproc://" : "tcp://sim:";
    const bool binds = self.is_left == left_binds_;
    for (const player &other : players_) {
        if (binds ? &other != &self : other.is_left == self.is_left)
            continue;
        const std::string endpoint = scheme + std::to_string(other.tag);
        error e = error::none;
        do {
            e = error::no_memory;
            try {
                const scarce_memory here(next_failure());
                e = binds ? self.handle->bind(endpoint.c_str()) : self.handle->connect(endpoint.c_str());
            } catch (const std::bad_alloc &) {
            }
        } while (is_excused(e));
        if (failed(e) && e != error::terminated)
            world_.violate(promise::lives, "cannot bind or connect: " + std::string(describe(to_errno(e))));
    }
}

unsigned losses::next_failure() {
    return !is_over_ && chance_.chance(short_memory_) ? static_cast<unsigned>(chance_.between(1, 6)) : 0;
}

bool losses::is_excused(error e) const noexcept { return e == error::no_memory && short_memory_ > 0; }

// ---- messages ----

octets losses::body() {
    const bool is_large = most_octets_ > 0 && chance_.chance(30'000);
    const std::size_t size =
        is_large ? most_octets_ + chance_.between(1, 20'000) : chance_.next() % usual_octets;
    octets made(size);
    for (std::size_t i = 0; i < made.size(); i += 16)
        // 0 and 1 begin a subscription
        made[i] = static_cast<std::uint8_t>(chance_.between(2, 255));
    return made;
}

std::vector<octets> losses::message_behind(std::vector<octets> front) {
    for (std::uint64_t left = chance_.coin() ? 1 : chance_.between(1, 4); left > 0; --left)
        front.push_back(body());
    return front;
}

/// One whole message. Once begun it is finished, whatever it takes.
losses::outcome losses::send(player &self, const std::vector<octets> &parts) {
    for (std::size_t i = 0; i < parts.size();) {
        const int flags = (i + 1 < parts.size() ? ZMQ_SNDMORE : 0) | (chance_.coin() ? ZMQ_DONTWAIT : 0);
        error e = error::no_memory;
        try {
            const scarce_memory here(next_failure());
            e = test::send_as_in_c(*self.handle, byte_span(parts[i]), flags);
        } catch (const std::bad_alloc &) {
        }
        if (!failed(e)) {
            ++i;
            if (chance_.chance(50'000))
                world_.sleep_for(microseconds(chance_.between(1, 300)));
            continue;
        }
        const bool may_come = e == error::again || e == error::interrupted || is_excused(e);
        if (i == 0 && (may_come || e == error::host_unreachable || e == error::wrong_state))
            return outcome::not_now;
        if (!may_come || world_.is_over()) {
            if (e != error::terminated && !world_.is_over())
                world_.violate(promise::survives, "a send fails: " + std::string(describe(to_errno(e))));
            home_of(self).of_application().half_given += i > 0;
            return outcome::ended;
        }
        world_.sleep_for(microseconds(chance_.between(1, 200)));
    }
    ++home_of(self).of_application().given;
    return outcome::done;
}

losses::outcome losses::receive(player &self, std::vector<octets> &parts) {
    for (bool has_more = true; has_more;) {
        message part;
        part.init();
        error e = error::no_memory;
        try {
            const scarce_memory here(next_failure());
            e = self.handle->receive(part, chance_.coin() ? ZMQ_DONTWAIT : 0);
        } catch (const std::bad_alloc &) {
        }
        if (!failed(e)) {
            parts.emplace_back(part.body().begin(), part.body().end());
            has_more = part.has_more();
        }
        (void)part.close();
        if (!failed(e))
            continue;
        const bool may_come = e == error::interrupted || is_excused(e);
        if (!parts.empty() && may_come)
            continue;
        if (parts.empty() && (may_come || e == error::again || e == error::wrong_state))
            return outcome::not_now;
        if (e != error::terminated)
            world_.violate(promise::survives, "a receive fails: " + std::string(describe(to_errno(e))));
        return outcome::ended;
    }
    ++delivered_;
    home_of(self).of_application().note_taken(self.options.type, parts.size(), byte_span(parts.front()));
    return outcome::done;
}

// ---- what they do ----

void losses::change_topics(player &self) {
    const bool is_subscribe = chance_.chance(600'000);
    const std::string topic = chance_.chance(100'000) ? "" : chance_.pick(topics);
    try {
        const scarce_memory here(next_failure());
        if (self.options.type == socket_type::sub)
            (void)self.handle->set_option(is_subscribe ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, topic.data(),
                                          topic.size());
        else
            (void)self.handle->send(as_bytes(std::string(1, is_subscribe ? '\1' : '\0') + topic),
                                    ZMQ_DONTWAIT);
    } catch (const std::bad_alloc &) {
    }
}

/// REP: a request and its reply.
void losses::serve(player &self) {
    std::vector<octets> parts;
    if (receive(self, parts) != outcome::done)
        return;
    const std::vector<octets> reply = message_behind({});
    while (send(self, reply) == outcome::not_now && !world_.is_over())
        world_.sleep_for(microseconds(50));
}

/// REQ: asks, and does not wait long. DEALER: asks in its place, or forgets the envelope.
void losses::ask(player &self) {
    std::vector<octets> parts;
    const bool is_dealer = self.options.type == socket_type::dealer;
    const bool has_envelope = is_dealer && chance_.coin();
    const auto sent =
        send(self, is_dealer && !has_envelope
                       ? std::vector<octets>{octets(5, 9)}
                       : message_behind(has_envelope ? std::vector<octets>{{}} : std::vector<octets>{}));
    if (sent != outcome::ended && chance_.coin())
        (void)receive(self, parts);
}

/// ROUTER: to somebody it has heard of, who may be gone, or to nobody.
void losses::route(player &self) {
    std::vector<octets> parts;
    const auto got = receive(self, parts);
    if (got == outcome::ended)
        return;
    if (got == outcome::done && std::ranges::find(self.known, parts.front()) == self.known.end()) {
        if (self.known.size() == most_known)
            self.known.erase(self.known.begin());
        self.known.push_back(parts.front());
    }
    const bool is_known = !self.known.empty() && chance_.chance(800'000);
    const octets to = is_known ? self.known[chance_.next() % self.known.size()] : octets_of("nobody");
    for (std::uint64_t left = chance_.between(1, 4); left > 0; --left)
        if (send(self, message_behind({to})) == outcome::ended)
            return;
}

void losses::turn(player &self) {
    using enum socket_type;
    std::vector<octets> parts;
    switch (self.options.type) {
    case pub:
    case xpub:
        if (self.options.type == xpub && chance_.coin() && receive(self, parts) == outcome::ended)
            return;
        (void)send(self, message_behind({octets_of(chance_.pick(topics))}));
        return;
    case sub:
    case xsub:
        if (chance_.chance(150'000))
            change_topics(self);
        if (self.options.type == xsub && chance_.chance(100'000) &&
            send(self, message_behind({})) == outcome::ended)
            return;
        (void)receive(self, parts);
        return;
    case router:
        return route(self);
    case rep:
        return serve(self);
    case req:
        return ask(self);
    case dealer:
        if (cast_ == cast::repliers)
            return ask(self);
        if (send(self, message_behind({})) != outcome::ended && chance_.coin())
            (void)receive(self, parts);
        return;
    case push:
        (void)send(self, message_behind({}));
        return;
    default:
        (void)receive(self, parts);
    }
}

void losses::live(player &self) {
    sim_context &home = home_of(self);
    open(self);
    const std::uint64_t often = chance_.between(10, 2000);
    while (self.handle && !world_.is_over() && !home.is_terminating()) {
        turn(self);
        world_.sleep_for(microseconds(chance_.between(1, often)));
        if (!is_over_ && chance_.chance(2'000)) {
            home.close_socket(std::move(self.handle));
            world_.sleep_for(microseconds(chance_.between(1, 3000)));
            open(self);
        }
    }
    if (self.handle)
        home.close_socket(std::move(self.handle));
}

void losses::conduct() {
    set_faults(is_calm_);
    world_.short_reads = short_memory_;
    for (player &each : players_)
        world_.start("player " + std::to_string(each.tag), [this, &each] {
            world_.sleep_for(milliseconds(chance_.next() % 20));
            live(each);
        });
    const time_point end = world_.now() + milliseconds(chance_.between(50, 800));
    while (world_.now() < end && !world_.is_over()) {
        world_.sleep_for(milliseconds(chance_.between(1, 100)));
        if (!is_calm_)
            disturb(chance_.next() % disturbances);
    }
    is_over_ = true;
    if (chance_.coin()) {
        heal();
        world_.short_reads = 0;
        world_.sleep_for(milliseconds(chance_.between(1, 50)));
    }
    finish_both(seconds(2));
    if (!world_.is_over())
        check();
}

void losses::check() {
    if (is_publishing())
        check_wanted();
    tags left, right;
    for (const player &each : players_)
        (each.is_left ? left : right)[sim_context::group_of(each.options.type)].insert(each.tag);
    check_sides(left, right, {.is_inproc = is_inproc_, .is_publishing = is_publishing()});
}

verdict losses::run() {
    world_.start("conductor", [this] { conduct(); });
    constexpr const char *names[] = {"PUB/SUB", "ROUTER/DEALER", "REP/REQ", "PUSH/PULL"};
    std::size_t lefts = 0;
    for (const player &each : players_)
        lefts += each.is_left;
    return play(std::string("losses of ") + names[static_cast<int>(cast_)] + " " + std::to_string(lefts) +
                ":" + std::to_string(players_.size() - lefts) + (is_inproc_ ? " inproc" : " tcp") +
                (left_binds_ ? ", left binds" : ", right binds") + (is_calm_ ? ", calm" : "") +
                (is_sealed_ ? ", with CURVE" : "") + (short_memory_ ? ", short of memory" : "") +
                (most_octets_ ? ", at most " + std::to_string(most_octets_) + " octets" : ""));
}

}  // namespace zlink::sim
