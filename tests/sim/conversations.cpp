#include "conversations.hpp"

#include <algorithm>

#include "socket/options.hpp"
#include "zmq.h"
#include "zmtp/curve_frame.hpp"

namespace zlink::sim {

namespace {

constexpr int hwms[] = {1, 1, 2, 10, 10, 1000};
// For dials, handshakes and queues to drain, beside a reconnect.
constexpr duration patience = seconds(2);
constexpr duration last_patience = seconds(20);  // for the last round to arrive

constexpr milliseconds longest_way{60};  // of last words

// A box that is under way at either end, or was read in part.
constexpr std::size_t held_by_boxes = 3 * most_octets_in_curve_batch;

constexpr std::size_t messages_of_a_burst = 300;  // of each sender, more than small buffers hold

}  // namespace

conversations::conversations(std::uint64_t seed, planted plant, const plan &what, const dice &chance)
    : stage(seed, plant, chance, what.looks, what.loops, what.knobs), plan_(what) {
    if (plan_.is_inproc)
        plan_.is_calm = true;
    if (plan_.mechanism == mechanism_kind::curve)
        ledger_.watch(network_, held_octets(plan_.knobs) + held_by_boxes);
}

std::vector<member *> conversations::side(bool is_left) {
    std::vector<member *> found;
    for (member &m : members_)
        if (m.is_left == is_left)
            found.push_back(&m);
    return found;
}

settings conversations::options_for(bool is_left) {
    constexpr socket_type lefts[] = {socket_type::push, socket_type::pair, socket_type::dealer,
                                     socket_type::req,  socket_type::pub,  socket_type::xpub};
    constexpr socket_type rights[] = {socket_type::pull, socket_type::pair, socket_type::router,
                                      socket_type::rep,  socket_type::sub,  socket_type::xsub};
    const auto index = static_cast<std::size_t>(plan_.kind);
    settings made = default_settings((is_left ? lefts : rights)[index]);
    made.send_hwm = chance_.pick(hwms);
    made.receive_hwm = chance_.pick(hwms);
    made.linger_ms = plan_.linger_ms;
    if (plan_.how == ending::lingering && is_left && plan_.is_one_way())
        made.linger_ms = -1;
    made.reconnect_interval_ms = plan_.reconnect_ms;
    made.reconnect_interval_max_ms = plan_.reconnect_max_ms;
    made.handshake_interval_ms = plan_.handshake_ms;
    made.heartbeat_interval_ms = plan_.heartbeat_ms;
    made.heartbeat_timeout_ms = plan_.heartbeat_timeout_ms;
    made.immediate = plan_.is_immediate;
    made.router_handover = plan_.has_names;
    made.xpub_nodrop = plan_.is_publishing() && is_left;
    made.router_mandatory = true;
    if (made.type == socket_type::req)
        made.req_relaxed = made.req_correlate = chance_.coin();
    made.send_timeout_ms =
        plan_.is_one_way() && chance_.coin() ? -1 : static_cast<int>(chance_.between(1, 20));
    made.receive_timeout_ms =
        plan_.is_one_way() && chance_.coin() ? -1 : static_cast<int>(chance_.between(1, 20));
    if (plan_.is_patient && made.receive_timeout_ms > 0) {
        const bool only_answers = made.type == socket_type::router || made.type == socket_type::rep;
        made.receive_timeout_ms =
            only_answers && chance_.coin() ? -1 : static_cast<int>(chance_.between(100, 400));
    }
    if (plan_.kind == conversation::xpub_xsub)
        choose_types(made, is_left);
    if (plan_.is_judged)
        secure(made, is_left == plan_.left_binds);
    return made;
}

void conversations::secure(settings &options, bool is_server) const {
    options.mechanism = plan_.mechanism;
    if (is_server) {
        options.zap_domain = "simulated";
        options.zap_enforce_domain = true;
    }
    if (plan_.mechanism == mechanism_kind::plain) {
        options.plain_server = is_server;
        options.plain_username = "user";
        options.plain_password = std::string_view("password");
    }
    if (plan_.mechanism == mechanism_kind::curve)
        set_keys(options, is_server);
}

void conversations::add_members() {
    for (const bool is_left : {true, false}) {
        for (std::size_t i = 0; i < (is_left ? plan_.left_count : plan_.right_count); ++i) {
            members_.emplace_back();
            member &m = members_.back();
            m.tag = static_cast<int>(members_.size());
            m.is_left = is_left;
            m.binds = is_left == plan_.left_binds;
            // Names of inproc are those of one process.
            m.home = is_left || plan_.is_inproc ? &left_ : &right_;
            m.options = options_for(is_left);
            network::set_tag(m.options, m.tag);
            if (plan_.has_names)
                m.options.routing_id = "name " + std::to_string(m.tag);
            living_.insert(m.tag);
        }
    }
    if (plan_.is_judged) {
        // CURVE says that it refuses for good, and a client does not believe it.
        handler_ = std::make_unique<handler>(world_, plan_.left_binds ? left_ : right_, chance_,
                                             plan_.mechanism == mechanism_kind::curve);
        world_.start("handler", [this] { handler_->live(); });
    }
    std::vector<std::vector<member *>> actors;
    if (serves_together())
        actors.push_back(side(false));
    for (member &m : members_)
        if (m.is_left || !serves_together())
            actors.push_back({&m});
    for (const auto &all : actors) {
        actor &made = world_.start("member " + std::to_string(all.front()->tag), [this, all] { live(all); });
        for (member *m : all)
            m->who = &made;
    }
}

void conversations::set_faults() {
    stage::set_faults(plan_.is_calm || plan_.is_borrowing);
    world_.short_reads = plan_.short_memory;
    fault_rates &r = network_.rates;
    if (plan_.is_patient && chance_.coin())
        network_.largest_buffer =
            std::max<std::size_t>(network_.smallest_buffer = chance_.coin() ? 64 : 1024, 4096);
    if (plan_.is_borrowing) {
        constexpr std::uint64_t failing[] = {0, 30'000, 100'000};
        constexpr std::uint64_t switching[] = {20'000, 300'000, 700'000};
        r.stall = world_.late_timers = 0;
        // A socket asks for what is not lent whenever it is about to wait: others go on meanwhile.
        r.lend_refused = plan_.right_count > 1 && chance_.coin() ? 200'000 : 0;
        r.short_count = 300'000;
        r.write_fails = chance_.pick(failing);
        world_.switches = chance_.pick(switching);
        network_.smallest_buffer = 64;
        network_.largest_buffer = 2048;
    }
}

/// One thing that goes wrong.
void conversations::act() {
    const auto what =
        plan_.is_starving ? starving : chance_.next() % (disturbances + (plan_.keeps_sockets ? 0 : 2));
    world_.trace(0x700, what);
    member &anyone = members_[chance_.next() % members_.size()];
    if (what < disturbances) {
        disturb(what);
        if (what >= starving)
            plan_.messages += messages_of_a_burst;
        return;
    }
    const bool is_socket = what == disturbances;
    world_.tell("act: ", is_socket ? "renews its socket" : "renews its endpoints");
    (is_socket ? anyone.wants_new_socket : anyone.wants_new_endpoints) = true;
    world_.interrupt(*anyone.who);
}

void conversations::make_chaos() {
    const time_point end = world_.now() + plan_.chaos;
    const auto often = chance_.between(5, 300);
    while (world_.now() < end && !world_.is_over()) {
        world_.sleep_for(milliseconds(chance_.between(1, often)));
        if (!plan_.is_calm && !plan_.is_borrowing)
            act();
        else if (chance_.coin())
            world_.interrupt(*members_[chance_.next() % members_.size()].who);
    }
}

/// Whether something sent after the last fault has arrived.
bool conversations::is_heard(int from, int to) const {
    for (const channel &c : const_cast<ledger &>(ledger_).channels()) {
        if (c.from != from)
            continue;
        const auto at = c.receivers.find(to);
        if (at != c.receivers.end() && at->second.newest_sent > healed_)
            return true;
    }
    return false;
}

/// Whether one of the left hears the other, too.
bool conversations::hears(const member &left, const member &right) const {
    if (plan_.kind == conversation::xpub_xsub)
        return left.options.type == socket_type::xpub && sends_upstream(right);
    return !plan_.is_one_way();
}

/// Promise 8.
void conversations::prove_life() {
    heal();
    if (handler_)
        handler_->calm();
    world_.short_reads = 0;
    healed_ = world_.now();
    phase_ = phase::probing;
    std::string deaf;
    const bool is_alive = world_.eventually(healed_ + plan_.longest_reconnect() + patience, [&] {
        deaf.clear();
        for (const member *l : side(true)) {
            for (const member *r : side(false)) {
                if (!is_heard(l->tag, r->tag))
                    deaf += " " + std::to_string(r->tag) + " does not hear " + std::to_string(l->tag);
                if (hears(*l, *r) && !is_heard(r->tag, l->tag))
                    deaf += " " + std::to_string(l->tag) + " does not hear " + std::to_string(r->tag);
            }
        }
        return deaf.empty();
    });
    if (!is_alive)
        world_.violate(promise::lives, "after the last fault" + deaf);
    // Whatever was in the queue of a publisher that dials comes first, whoever has subscribed by
    // then; and subscriptions count against its mark for receiving, so that a long list of them
    // takes several calls of the publisher's. And everybody needs a moment to hear of the
    // connections that are gone.
    if (!world_.is_over())
        world_.sleep_for(milliseconds(plan_.is_publishing() ? 300 : 50));
}

std::uint64_t conversations::missing() const {
    std::uint64_t sum = 0;
    for (const channel &c : const_cast<ledger &>(ledger_).channels()) {
        if (c.sent.empty() || c.sent.back().when < last_round_began_)
            continue;
        std::set<int> receivers;
        for (const member &m : members_)
            if (is_meant(m, c))
                receivers.insert(m.tag);
        sum += ledger_.missing_since(c, last_round_began_, receivers);
    }
    return sum;
}

/// Whatever is sent while nothing is wrong arrives, all of it.
void conversations::last_round() {
    phase_ = phase::last_round;
    last_round_began_ = world_.now();
    world_.tell("last round");
    const bool has_arrived = world_.eventually(world_.now() + last_patience, [&] {
        for (const member &m : members_)
            if ((sends_by_itself(m) || sends_upstream(m)) && m.sent_last < last_round_messages)
                return false;
        return missing() == 0;
    });
    phase_ = phase::draining;
    if (!has_arrived)
        world_.violate(promise::no_loss,
                       std::to_string(missing()) + " messages of the last round are missing");
    // Whatever was queued before has had its chance by now: it stood in front.
    world_.sleep_for(seconds(1));
    if (!world_.is_over())
        ledger_.settle(living_);
    if (!world_.is_over())
        settle_topics();
}

void conversations::end_all() {
    const duration in_time = milliseconds(std::max(plan_.linger_ms, 0)) + seconds(1);
    const bool lingers = plan_.how == ending::lingering && plan_.is_one_way();
    if (lingers && !plan_.is_inproc && !world_.is_over()) {
        // Last words, and then the senders are gone: all of it still arrives, whatever subscribers
        // and heartbeats say meanwhile. Much of it is on its way when they close, and of the
        // answers too.
        if (chance_.coin())
            network_.most_latency = longest_way;
        phase_ = phase::last_round;
        last_round_began_ = world_.now();
        for (member *m : side(true))
            m->sent_last = 0;
        world_.eventually(world_.now() + last_patience, [&] {
            return std::all_of(members_.begin(), members_.end(), [&](const member &m) {
                return !m.is_left || m.sent_last == last_round_messages;
            });
        });
        finish(left_, "left", last_patience);
        if (!world_.eventually(world_.now() + last_patience, [&] { return missing() == 0; }))
            world_.violate(promise::no_loss, std::to_string(missing()) + " last words are missing");
        finish(right_, "right", in_time);
        return;
    }
    if (plan_.how == ending::in_vain && !world_.is_over()) {
        // The network stops for good: whatever lingers does so in vain.
        for (int i = 0; i < 20; ++i)
            network_.stall_one(seconds(3600));
        if (chance_.coin())
            network_.refuse_dials(true);
        phase_ = phase::probing;
        world_.sleep_for(milliseconds(20));
    }
    phase_ = phase::over;
    finish_both(in_time);
}

void conversations::conduct() {
    set_faults();
    add_members();
    make_chaos();
    if (plan_.how != ending::in_chaos && !world_.is_over()) {
        prove_life();
        if (!world_.is_over())
            last_round();
    }
    end_all();
    if (!world_.is_over())
        check_counters();
}

void conversations::check_counters() {
    tags left, right;
    for (const member &each : members_)
        (each.is_left ? left : right)[sim_context::group_of(each.options.type)].insert(each.tag);
    check_sides(left, right,
                {.is_inproc = plan_.is_inproc,
                 .is_publishing = plan_.is_publishing(),
                 .is_mistakable = plan_.looks.most_parts > 1});
}

verdict conversations::run() {
    world_.start("conductor", [this] { conduct(); });
    verdict found = play(plan_.text());
    if (handler_) {
        found.judged = handler_->asked();
        found.kept_out = found.judged - handler_->admitted();
    }
    for (message &m : kept_)
        (void)m.close();
    return found;
}

}  // namespace zlink::sim
