#include "newest.hpp"

#include <algorithm>

#include "socket/options.hpp"
#include "zmq.h"

namespace zlink::sim {

namespace {

constexpr int sender_tag = 1;
constexpr int reconnect_ms = 20;
constexpr duration in_time = seconds(2);

}  // namespace

newest::newest(std::uint64_t seed, planted plant, const dice &chance, const tuning &knobs)
    : stage(seed, plant, chance, {}, 1, knobs) {
    constexpr std::pair<socket_type, socket_type> types[] = {{socket_type::push, socket_type::pull},
                                                             {socket_type::pub, socket_type::sub},
                                                             {socket_type::pub, socket_type::sub},
                                                             {socket_type::dealer, socket_type::dealer},
                                                             {socket_type::dealer, socket_type::dealer}};
    std::tie(sends_, receives_) = chance_.pick(types);
    const std::uint64_t count = sends_ == socket_type::pub ? chance_.between(1, 3) : 1;
    for (std::uint64_t i = 0; i < count; ++i)
        receivers_.push_back({sender_tag + 1 + static_cast<int>(i)});
    sender_binds_ = count > 1 || chance_.coin();
    is_inproc_ = chance_.chance(200'000);
    is_calm_ = is_inproc_ || chance_.chance(300'000);
    constexpr std::size_t sizes[] = {40, 40, 2000, 20'000};
    largest_ = chance_.pick(sizes);
    constexpr std::uint64_t pauses[] = {200, 1000, 5000};
    often_us_ = chance_.pick(pauses);
}

std::unique_ptr<socket> newest::open(socket_type type, int tag, bool binds) {
    settings options = default_settings(type);
    options.conflate = true;
    options.linger_ms = 0;
    options.reconnect_interval_ms = reconnect_ms;
    options.receive_timeout_ms = chance_.coin() ? -1 : static_cast<int>(chance_.between(1, 50));
    options.send_timeout_ms = static_cast<int>(chance_.between(0, 20));
    network::set_tag(options, tag);
    auto made = (is_inproc_ || tag == sender_tag ? left_ : right_).make_socket(options);
    if (!made)
        return made;
    if (type == socket_type::sub)
        (void)made->set_option(ZMQ_SUBSCRIBE, "", 0);
    const int bound = sender_binds_ ? sender_tag : receivers_.front().tag;
    const std::string endpoint = (is_inproc_ ? "inproc://" : "tcp://sim:") + std::to_string(bound);
    const error e = binds ? made->bind(endpoint.c_str()) : made->connect(endpoint.c_str());
    if (failed(e) && e != error::terminated)
        world_.violate(promise::lives, "cannot bind or connect: " + std::string(describe(to_errno(e))));
    return made;
}

/// The value, and octets that follow from it.
octets newest::body_of(std::uint64_t value) const {
    const std::uint64_t h = mix(seed_ ^ value);
    octets body(16 + h % largest_);
    for (std::size_t i = 8; i < body.size(); ++i)
        body[i] = static_cast<std::uint8_t>(h >> (i % 56));
    put_u64(body.data(), value);
    return body;
}

void newest::send() {
    auto self = open(sends_, sender_tag, sender_binds_);
    while (self && !world_.is_over() && !left_.is_terminating()) {
        if (!has_stopped_) {
            const error e = self->send(byte_span(body_of(last_sent_ + 1)), chance_.coin() ? ZMQ_DONTWAIT : 0);
            if (!failed(e))
                world_.trace(0x800, ++last_sent_);
            else if (e != error::again && e != error::interrupted && e != error::terminated)
                world_.violate(promise::survives, "a send fails: " + std::string(describe(to_errno(e))));
        }
        world_.sleep_for(microseconds(chance_.between(1, has_stopped_ ? 1000 : often_us_)));
    }
    if (self)
        left_.close_socket(std::move(self));
}

void newest::receive(receiver &self) {
    sim_context &home = is_inproc_ ? left_ : right_;
    auto mine = open(receives_, self.tag, !sender_binds_);
    while (mine && !world_.is_over() && !home.is_terminating()) {
        message part;
        part.init();
        const error e = mine->receive(part, chance_.chance(300'000) ? ZMQ_DONTWAIT : 0);
        if (!failed(e))
            judge(self, part.body());
        (void)part.close();
        world_.sleep_for(microseconds(chance_.next() % (chance_.coin() ? 20 : 3000)));
    }
    if (mine)
        home.close_socket(std::move(mine));
}

void newest::judge(receiver &self, byte_span body) {
    const std::uint64_t value = body.size() >= 16 ? get_u64(body.data()) : 0;
    // The sender may be in the middle of the call.
    if (value == 0 || value > last_sent_ + 1 || !std::ranges::equal(body, body_of(value))) {
        world_.violate(promise::atomic, "a value arrives that was not sent");
        return;
    }
    ++delivered_;
    world_.trace(0x801 + static_cast<std::uint64_t>(self.tag), value);
    world_.tell("value ", value, " arrives at ", self.tag);
    // Whoever accepts has a value for each connection, also for one that is gone.
    const bool has_one = is_calm_ || sender_binds_ || is_settled_;
    if (has_one && value <= self.value)
        world_.violate(promise::newest_value, "value " + std::to_string(value) + " arrives at " +
                                                  std::to_string(self.tag) + " after " +
                                                  std::to_string(self.value));
    self.value = value;
    self.when = world_.now();
}

void newest::conduct() {
    set_faults(is_calm_);
    world_.start("sender", [this] { send(); });
    for (receiver &r : receivers_)
        world_.start("receiver " + std::to_string(r.tag), [this, &r] { receive(r); });
    const time_point end = world_.now() + milliseconds(chance_.between(50, 600));
    while (world_.now() < end && !world_.is_over()) {
        world_.sleep_for(milliseconds(chance_.between(1, 100)));
        if (!is_calm_)
            disturb(chance_.next() % disturbances);
    }
    heal();
    const std::uint64_t before = last_sent_;
    const auto all = [&](auto &&holds) { return std::ranges::all_of(receivers_, holds); };
    if (!world_.eventually(world_.now() + milliseconds(2 * reconnect_ms) + in_time,
                           [&] { return all([&](const receiver &r) { return r.value > before; }); }))
        world_.violate(promise::lives, "a receiver hears nothing after the last fault");
    world_.sleep_for(milliseconds(200));
    is_settled_ = true;
    world_.sleep_for(milliseconds(chance_.between(1, 50)));
    has_stopped_ = true;
    if (!world_.eventually(world_.now() + in_time,
                           [&] { return all([&](const receiver &r) { return r.value == last_sent_; }); }))
        world_.violate(promise::newest_value, "the value sent last does not arrive");
    world_.sleep_for(milliseconds(100));
    finish_both(seconds(1));
    if (is_inproc_ || world_.is_over())
        return;
    tags senders, receivers;
    senders[sim_context::group_of(sends_)].insert(sender_tag);
    for (const receiver &r : receivers_)
        receivers[sim_context::group::others].insert(r.tag);
    check_counters("sender", left_, senders);
    check_counters("receivers", right_, receivers);
}

verdict newest::run() {
    world_.start("conductor", [this] { conduct(); });
    constexpr const char *names[] = {"PAIR", "PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PULL", "PUSH"};
    return play(std::string("CONFLATE ") + names[static_cast<int>(sends_)] +
                " 1:" + std::to_string(receivers_.size()) + (is_inproc_ ? " inproc" : " tcp") +
                (sender_binds_ ? ", sender binds" : ", receiver binds") + (is_calm_ ? ", calm" : ""));
}

}  // namespace zlink::sim
