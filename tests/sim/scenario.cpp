#include "scenario.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ledger.hpp"
#include "network.hpp"
#include "sim_context.hpp"
#include "socket/options.hpp"
#include "socket/poll_set.hpp"
#include "zmq.h"

namespace zlink::sim {

namespace {

enum class conversation { push_pull, pair, dealer_router, req_rep, pub_sub };
enum class phase { chaos, probing, last_round, draining, over };
/// How the run ends.
enum class ending { at_once, lingering, in_vain, in_chaos };

struct plan {
    explicit plan(dice &d);

    conversation kind;
    std::size_t left_count = 1;   // PUSH, DEALER, REQ, PUB
    std::size_t right_count = 1;  // PULL, ROUTER, REP, SUB
    bool is_inproc;
    bool left_binds;
    bool is_calm;        // faults that break nothing
    bool keeps_sockets;  // nobody gives sockets or endpoints up
    message_profile looks;
    std::size_t messages;  // of each sender, while there is chaos
    milliseconds chaos;
    ending how;
    int linger_ms = 0;
    milliseconds interval{};
    int reconnect_ms;
    int reconnect_max_ms;
    int handshake_ms;
    int heartbeat_ms;
    int heartbeat_timeout_ms;
    bool has_slow_readers;  // which take their time while there is chaos
    bool is_immediate;      // ZMQ_IMMEDIATE: a queue lives as long as its connection
    bool has_names;         // DEALERs announce ids of their own, ROUTERs hand them over
    bool is_starving;       // the only fault is that connections stall and then break
    bool is_borrowing;      // quick answers between few, through narrow streams that fail to be written
    bool is_patient;        // who receives waits long, or for ever where nobody depends on what it does next
    bool polls;             // waits are those of zmq_poll; one actor serves all sockets of the right
    std::size_t topics;     // that SUBs subscribe to and that nobody publishes
    tuning knobs;
    std::size_t loops;

    duration longest_reconnect() const { return milliseconds(std::max(2 * reconnect_ms, reconnect_max_ms)); }
    std::string text() const;

private:
    void starve();
    void borrow(dice &d);
};

constexpr int hwms[] = {1, 1, 2, 10, 10, 1000};
constexpr duration patience = seconds(2);  // for dials, handshakes and queues to drain, beside a reconnect
constexpr duration last_patience = seconds(20);  // for the last round to arrive
constexpr std::size_t last_round_messages = 5;
constexpr std::size_t messages_of_a_burst = 300;  // of each sender, more than small buffers hold

plan::plan(dice &d) {
    constexpr conversation kinds[] = {conversation::push_pull, conversation::push_pull,
                                      conversation::pair,      conversation::dealer_router,
                                      conversation::req_rep,   conversation::pub_sub};
    kind = d.pick(kinds);
    if (kind != conversation::pair) {
        left_count = d.between(1, 3);
        right_count =
            d.coin() ? 1
                     : d.between(1, kind == conversation::push_pull || kind == conversation::pub_sub ? 3 : 2);
    }
    is_inproc = d.chance(200'000);
    left_binds = d.coin();
    is_calm = d.chance(300'000);
    keeps_sockets = d.coin();
    constexpr message_profile profiles[] = {
        {1, 40, 40}, {8, 100, 100}, {8, 2000, 2000}, {8, 2000, 20'000}, {3, 300, 100'000}};
    looks = d.pick(profiles);
    messages = d.between(10, looks.largest_rarely > 50'000 ? 100 : 500);
    chaos = milliseconds(d.between(50, 3000));
    constexpr ending endings[] = {ending::at_once, ending::lingering, ending::in_vain, ending::in_chaos};
    how = d.pick(endings);
    constexpr int lingers[] = {0, 50, 300};
    linger_ms = how == ending::in_vain || how == ending::in_chaos ? d.pick(lingers) : 0;
    constexpr int intervals[] = {1, 10, 50, 100};
    reconnect_ms = d.pick(intervals);
    reconnect_max_ms = d.coin() ? 0 : 4 * reconnect_ms;
    constexpr int handshakes[] = {300, 1000, 30'000};
    handshake_ms = d.pick(handshakes);
    heartbeat_ms = how != ending::lingering && d.chance(300'000) ? 50 : 0;
    heartbeat_timeout_ms = d.coin() ? 300 : 5000;
    has_slow_readers = d.chance(250'000);
    is_immediate = d.chance(150'000);
    has_names = kind == conversation::dealer_router && d.chance(300'000);
    topics = d.coin() ? 0 : d.between(1, 40);
    constexpr std::size_t batches[] = {512, 4096, 65536};
    knobs.tcp.in_batch_size = d.pick(batches);
    loops = d.between(1, 2);
    polls = d.chance(300'000);
    is_patient = d.coin();
    is_starving = d.chance(130'000);
    if (is_starving)
        starve();
    is_borrowing = !is_starving && d.chance(200'000);
    if (is_borrowing)
        borrow(d);
}

/// One queue, and connections that break when much is under way: what may be lost is known closely.
void plan::starve() {
    kind = conversation::push_pull;
    left_count = right_count = 1;
    is_inproc = left_binds = is_calm = is_immediate = has_names = has_slow_readers = false;
    keeps_sockets = true;
    looks = {8, 2000, 2000};
    chaos = std::max(chaos, milliseconds(1500));
    if (how == ending::in_chaos)
        how = ending::at_once;
}

/// Connections are lent all the time, and things happen to them while somebody sleeps who uses them.
void plan::borrow(dice &d) {
    constexpr conversation kinds[] = {conversation::pair, conversation::dealer_router, conversation::req_rep};
    kind = d.pick(kinds);
    left_count = right_count = 1;
    if (kind != conversation::pair && d.coin()) {
        left_count = d.between(1, 2);
        right_count = d.between(2, 3);
    }
    is_inproc = is_calm = is_immediate = has_names = has_slow_readers = false;
    is_patient = keeps_sockets = true;
    looks = d.coin() ? message_profile{8, 100, 100} : message_profile{8, 2000, 2000};
    polls = right_count > 1;
    chaos = std::max(chaos, milliseconds(1000));
    heartbeat_ms = 0;
    if (how == ending::in_chaos)
        how = ending::at_once;
}

std::string plan::text() const {
    constexpr const char *names[] = {"PUSH/PULL", "PAIR", "DEALER/ROUTER", "REQ/REP", "PUB/SUB"};
    constexpr const char *ends[] = {"at once", "lingering", "in vain", "in chaos"};
    return std::string(names[static_cast<int>(kind)]) + " " + std::to_string(left_count) + ":" +
           std::to_string(right_count) + (is_inproc ? " inproc" : " tcp") +
           (left_binds ? ", left binds" : ", right binds") + (is_calm ? ", calm" : "") +
           (is_starving ? ", starving" : "") + (is_borrowing ? ", borrowing" : "") + (polls ? ", polls" : "") + (is_patient ? ", patient" : "") +
           (is_immediate ? ", immediate" : "") + (has_names ? ", named" : "") + ", parts of " +
           std::to_string(looks.largest_part) + ", ends " + ends[static_cast<int>(how)] + ", linger " +
           std::to_string(linger_ms) + ", heartbeat " + std::to_string(heartbeat_ms);
}

class scenario;

/// One socket and the actor that uses it.
struct member {
    int tag = 0;
    bool is_left = false;
    bool binds = false;
    sim_context *home = nullptr;
    settings options;
    std::unique_ptr<socket> handle;
    actor *who = nullptr;
    int epoch = 0;
    std::map<std::pair<int, octets>, channel *>
        out;  // by receiver (0: any or all) and the routing id it goes by
    std::size_t sent_in_chaos = 0;
    std::size_t sent_last = 0;
    std::vector<std::string> endpoints;  // bound or connected
    bool wants_new_socket = false;
    bool wants_new_endpoints = false;
    bool has_ended = false;
};

class scenario final {
public:
    scenario(std::uint64_t seed, planted plant);
    verdict run();

private:
    // ---- what members do ----
    enum class outcome { done, not_now, ended };

    void live(const std::vector<member *> &all);
    void rest(member &self);
    bool serves_together() const noexcept { return plan_.polls && plan_.kind != conversation::pair; }
    bool poll(std::span<member *const> all, short wanted, int timeout_ms, std::vector<watched> &items);
    void take_polled(const std::vector<member *> &all);
    void change(member &self);
    void open(member &self);
    void subscribe(member &self);
    void renew(member &self);
    void close(member &self);
    void attach(member &self);
    void note_end(member &self);
    void turn(member &self);
    void burst(member &self);
    outcome send_turn(member &self);
    outcome send(member &self, channel &to, const std::deque<octets> &front = {});
    outcome send_part(member &self, const octets &body, bool more);
    outcome receive(member &self, std::deque<octets> &parts, int &link, int flags);
    outcome receive_turn(member &self, int flags, bool must_find = false);
    outcome answer(member &self, channel &from, const std::deque<octets> &front);
    void ask(member &self);
    void pause(member &self);
    bool may_send(member &self) const;
    channel &channel_to(member &self, int to, const octets &routing_id = {});
    reach reach_of(const member &self) const;
    bool sends_by_itself(const member &self) const;

    // ---- what the conductor does ----
    void conduct();
    void add_members();
    settings options_for(bool is_left);
    void set_faults();
    void make_chaos();
    void act();
    void prove_life();
    void last_round();
    void end_all();
    void finish(sim_context &which, const std::string &name, duration at_most);
    void check_leftovers();
    std::vector<member *> side(bool is_left);
    bool is_heard(int from, int to) const;
    std::uint64_t missing() const;

    std::uint64_t seed_;
    dice chance_;  // members and conductor
    world world_;
    plan plan_;
    ledger ledger_;
    network network_;
    sim_context left_;
    sim_context right_;
    std::deque<member> members_;
    phase phase_ = phase::chaos;
    time_point healed_{};
    time_point last_round_began_{};
    std::set<int> living_;
    std::vector<message> kept_;  // planted
    std::uint64_t delivered_ = 0;
    bool sends_last_words_ = false;
};

tuning knobs_of(const plan &p) { return p.knobs; }

scenario::scenario(std::uint64_t seed, planted plant)
    : seed_(seed), chance_(mix(seed) ^ 4), world_(seed, plant), plan_(chance_),
      ledger_(world_, seed, plan_.looks), network_(world_, ledger_),
      left_(world_, network_, plan_.loops, knobs_of(plan_)),
      right_(world_, network_, plan_.loops, knobs_of(plan_)) {
    if (plan_.is_inproc)
        plan_.is_calm = true;
    // What the receiving connection may hold back: what one read brings.
    ledger_.watch(network_, std::max<std::size_t>(plan_.knobs.tcp.in_batch_size, 512) + 3 * 8192);
}

// ---- members -----------------------------------------------------------------------------------------------

/// Which of the types begin a conversation.
bool scenario::sends_by_itself(const member &self) const {
    return self.is_left || plan_.kind == conversation::pair;
}

reach scenario::reach_of(const member &self) const {
    if (plan_.kind == conversation::pub_sub)
        return reach::all;
    if (plan_.kind == conversation::req_rep && !self.is_left)
        return reach::lossy;
    // To one name there may be several queues: that of a connection that is ending, and the next.
    if (plan_.has_names && !self.is_left)
        return reach::lossy;
    return self.is_left && plan_.right_count > 1 ? reach::any : reach::one;
}

channel &scenario::channel_to(member &self, int to, const octets &routing_id) {
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

void scenario::open(member &self) {
    self.handle = self.home->make_socket(self.options);
    if (!self.handle)
        return;
    ++self.epoch;
    world_.tell("member ", self.tag, " opens its socket");
    self.out.clear();
    if (plan_.kind == conversation::pub_sub && !self.is_left)
        subscribe(self);
    const std::string scheme = plan_.is_inproc ? "inproc://" : "tcp://sim:";
    self.endpoints.clear();
    for (const member &other : members_)
        if (self.binds ? &other == &self : other.is_left != self.is_left)
            self.endpoints.push_back(scheme + std::to_string(other.tag));
    attach(self);
}

void scenario::attach(member &self) {
    for (const std::string &endpoint : self.endpoints) {
        const error e =
            self.binds ? self.handle->bind(endpoint.c_str()) : self.handle->connect(endpoint.c_str());
        if (failed(e) && e != error::terminated)
            world_.violate(promise::lives, "cannot bind or connect: " + std::string(describe(to_errno(e))));
    }
}

/// To everything, or to what all messages begin with and to other things besides.
void scenario::subscribe(member &self) {
    if (plan_.topics == 0) {
        (void)self.handle->set_option(ZMQ_SUBSCRIBE, "", 0);
        return;
    }
    for (std::size_t i = 0; i < plan_.topics; ++i) {
        const std::string topic = "topic " + std::to_string(i);
        (void)self.handle->set_option(ZMQ_SUBSCRIBE, topic.data(), topic.size());
        if (i == plan_.topics / 2)
            (void)self.handle->set_option(ZMQ_SUBSCRIBE, "ZS", 2);
        if (chance_.chance(200'000))
            (void)self.handle->set_option(ZMQ_UNSUBSCRIBE, topic.data(), topic.size());
    }
}

/// Takes back what was bound or connected, and does it again: every queue ends and begins anew.
void scenario::renew(member &self) {
    note_end(self);
    world_.tell("member ", self.tag, " takes back its endpoints");
    for (const std::string &endpoint : self.endpoints)
        (void)(self.binds ? self.handle->unbind(endpoint.c_str())
                          : self.handle->disconnect(endpoint.c_str()));
    pause(self);
    attach(self);
    world_.tell("member ", self.tag, " has its endpoints again");
}

/// Messages in the queues of this socket may be lost from now on.
void scenario::note_end(member &self) {
    for (const auto &entry : self.out)
        entry.second->counts_as_ended = true;
    for (channel &theirs : ledger_.channels())
        if (theirs.to == self.tag || theirs.to == 0)
            theirs.counts_as_ended = true;
    if (self.options.linger_ms != 0)
        ledger_.expect_second_connections();
    // What is sent from here on is judged by itself.
    self.out.clear();
}

void scenario::close(member &self) {
    note_end(self);
    world_.tell("member ", self.tag, " closes its socket");
    self.home->close_socket(std::move(self.handle));
}

/// The life of an actor: it has one socket, or polls several.
void scenario::live(const std::vector<member *> &all) {
    for (member *m : all)
        open(*m);
    member &first = *all.front();
    while (first.handle && !world_.is_over() && !first.home->is_terminating()) {
        if (!first.is_left && serves_together())
            take_polled(all);
        else
            turn(first);
        for (member *m : all)
            change(*m);
    }
    for (member *m : all) {
        // What comes from here on is thrown away, and its senders may send more.
        for (channel &theirs : ledger_.channels())
            theirs.counts_as_ended |= theirs.to == m->tag;
        if (m->handle)
            m->home->close_socket(std::move(m->handle));
        m->has_ended = true;
    }
}

/// Does what the conductor wants of a member.
void scenario::change(member &self) {
    if (std::exchange(self.wants_new_socket, false) && phase_ == phase::chaos) {
        close(self);
        pause(self);
        open(self);
    } else if (std::exchange(self.wants_new_endpoints, false) && phase_ == phase::chaos) {
        renew(self);
    }
}

/// What zmq_poll says of the sockets. False when it says nothing of them.
bool scenario::poll(std::span<member *const> all, short wanted, int timeout_ms, std::vector<watched> &items) {
    items.clear();
    for (const member *m : all) {
        if (!m->handle)
            return false;
        items.push_back({m->handle.get(), -1, wanted, 0});
    }
    std::size_t count = 0;
    const error e = wait_for_any(items, timeout_ms, count);
    if (failed(e) && e != error::interrupted && e != error::terminated)
        world_.violate(promise::survives, "a poll fails: " + std::string(describe(to_errno(e))));
    return !failed(e);
}

/// Polls all sockets of the right, and takes a message of each that has one.
void scenario::take_polled(const std::vector<member *> &all) {
    std::vector<watched> items;
    if (!poll(all, ZMQ_POLLIN, chance_.coin() ? -1 : static_cast<int>(chance_.between(0, 20)), items)) {
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
void scenario::rest(member &self) {
    if (phase_ == phase::chaos && plan_.has_slow_readers)
        world_.sleep_for(milliseconds(chance_.between(1, 40)));
    else if (phase_ == phase::chaos || chance_.chance(100'000))
        pause(self);
    else
        world_.sleep_for(microseconds(chance_.next() % 20));
}

void scenario::pause(member &) {
    constexpr int pauses[] = {0, 1, 20, 200, 2000};
    world_.sleep_for(microseconds(chance_.pick(pauses)));
}

bool scenario::may_send(member &self) const {
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

void scenario::turn(member &self) {
    const bool also_receives = plan_.kind == conversation::pair || plan_.kind == conversation::dealer_router;
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
    // While nothing is wrong what waits is taken first: a connection that is held back by a full queue is looked after
    // only when there is room again.
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
        if (items[0].ready & ZMQ_POLLIN)
            receive_turn(self, ZMQ_DONTWAIT, true);
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
void scenario::burst(member &self) {
    for (std::uint64_t count = chance_.between(1, 6); count > 0 && may_send(self); --count)
        if (send_turn(self) != outcome::done)
            break;
    while (receive_turn(self, 0) == outcome::done && chance_.chance(800'000)) {
    }
}

scenario::outcome scenario::send_turn(member &self) {
    const phase began = phase_;
    const bool knows_receiver = reach_of(self) == reach::one;
    int to = 0;
    if (knows_receiver)
        to = side(!self.is_left).front()->tag;
    const outcome result = send(self, channel_to(self, to));
    if (result == outcome::done) {
        if (began == phase::chaos)
            ++self.sent_in_chaos;
        else if (began == phase::last_round)
            ++self.sent_last;
    }
    return result;
}

/// One whole message. Once begun it is finished, whatever it takes.
scenario::outcome scenario::send(member &self, channel &to, const std::deque<octets> &front) {
    const std::uint64_t number = to.sent.size();
    const std::size_t count = ledger_.part_count(to, number);
    for (std::size_t i = 0; i < front.size() + count; ++i) {
        const octets body = i < front.size() ? front[i] : ledger_.part(to, number, i - front.size());
        for (;;) {
            const outcome result = send_part(self, body, i + 1 < front.size() + count);
            if (result == outcome::done)
                break;
            if (result == outcome::ended || i == 0)
                return result;
            world_.sleep_for(microseconds(chance_.between(1, 200)));
        }
        if (chance_.chance(20'000))
            pause(self);
        if (world_.is_over())
            return outcome::ended;
    }
    ledger_.note_sent(to);
    return outcome::done;
}

void free_octets(void *, void *hint) { delete static_cast<octets *>(hint); }

scenario::outcome scenario::send_part(member &self, const octets &body, bool more) {
    // Two that both wait for room hold each other up: once nothing is wrong they look what there is to read instead.
    const bool is_patient = phase_ == phase::chaos || plan_.kind == conversation::push_pull ||
                            plan_.kind == conversation::pub_sub || plan_.kind == conversation::req_rep;
    const int flags = (more ? ZMQ_SNDMORE : 0) | (!is_patient || chance_.chance(200'000) ? ZMQ_DONTWAIT : 0);
    error e = error::none;
    switch (chance_.next() % 3) {
    case 0:
        e = self.handle->send(byte_span(body), flags);
        break;
    case 1: {
        message copy;
        (void)copy.init_copy(body);
        e = self.handle->send(copy, flags);
        (void)copy.close();
        break;
    }
    default: {
        auto *own = new octets(body);
        message lent;
        (void)lent.init_external(own->data(), own->size(), &free_octets, own);
        e = self.handle->send(lent, flags);
        (void)lent.close();
        break;
    }
    }
    if (e == error::none)
        return outcome::done;
    if (e == error::again || e == error::interrupted || e == error::host_unreachable)
        return outcome::not_now;
    if (e != error::terminated)
        world_.violate(promise::survives, "a send fails: " + std::string(describe(to_errno(e))));
    return outcome::ended;
}

/// One whole message. The first part may be late, the others may not.
scenario::outcome scenario::receive(member &self, std::deque<octets> &parts, int &link, int flags) {
    for (bool has_more = true; has_more;) {
        message part;
        part.init();
        const error e = self.handle->receive(part, flags);
        if (e == error::interrupted && !parts.empty())
            continue;
        if (e == error::again && !parts.empty()) {
            (void)part.close();
            world_.violate(promise::atomic,
                           "a message stops after " + std::to_string(parts.size()) + " parts");
            return outcome::ended;
        }
        if (failed(e)) {
            (void)part.close();
            if (e == error::again || e == error::interrupted)
                return outcome::not_now;
            if (e != error::terminated)
                world_.violate(promise::survives, "a receive fails: " + std::string(describe(to_errno(e))));
            return outcome::ended;
        }
        parts.emplace_back(part.body().begin(), part.body().end());
        if (part.info()) {
            if (const char *fd = part.info()->find("__fd"))
                link = network::link_of(std::atoi(fd));
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
    return outcome::done;
}

scenario::outcome scenario::receive_turn(member &self, int flags, bool must_find) {
    std::deque<octets> parts;
    int link = 0;
    const outcome result = receive(self, parts, link, flags);
    if (result == outcome::not_now && must_find)
        world_.violate(promise::lives,
                       "a poll says that there is something to receive, and there is nothing");
    if (result != outcome::done)
        return result;
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
    if (is_router || plan_.kind == conversation::req_rep)
        return answer(self, *from, front);
    return outcome::done;
}

/// ROUTER and REP: back to whoever it came from.
scenario::outcome scenario::answer(member &self, channel &from, const std::deque<octets> &front) {
    channel &back = channel_to(self, from.from, front.empty() ? octets{} : front.front());
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
void scenario::ask(member &self) {
    const phase began = phase_;
    channel &to = channel_to(self, reach_of(self) == reach::one ? side(false).front()->tag : 0);
    const std::uint64_t number = to.sent.size();
    if (send(self, to) != outcome::done) {
        world_.sleep_for(microseconds(chance_.between(1, 300)));
        return;
    }
    if (began == phase::chaos)
        ++self.sent_in_chaos;
    // Nothing is lost on the way through memory, and nobody connects again to a name that was bound anew.
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
        // A REP that connected keeps its replies for whoever binds next: only REQ_CORRELATE tells those apart.
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
    // The reply is lost, as it may be when a connection breaks: REQ_RELAXED lets us go on, else only a new socket does.
    if (!self.options.req_relaxed && !self.home->is_terminating() && !world_.is_over()) {
        close(self);
        open(self);
    }
}

// ---- the conductor -----------------------------------------------------------------------------------------

std::vector<member *> scenario::side(bool is_left) {
    std::vector<member *> found;
    for (member &m : members_)
        if (m.is_left == is_left)
            found.push_back(&m);
    return found;
}

settings scenario::options_for(bool is_left) {
    constexpr socket_type lefts[] = {socket_type::push, socket_type::pair, socket_type::dealer,
                                     socket_type::req, socket_type::pub};
    constexpr socket_type rights[] = {socket_type::pull, socket_type::pair, socket_type::router,
                                      socket_type::rep, socket_type::sub};
    const auto index = static_cast<std::size_t>(plan_.kind);
    settings made = default_settings((is_left ? lefts : rights)[index]);
    made.send_hwm = chance_.pick(hwms);
    made.receive_hwm = chance_.pick(hwms);
    made.linger_ms = plan_.linger_ms;
    if (plan_.how == ending::lingering && is_left &&
        (plan_.kind == conversation::push_pull || plan_.kind == conversation::pub_sub))
        made.linger_ms = -1;
    made.reconnect_interval_ms = plan_.reconnect_ms;
    made.reconnect_interval_max_ms = plan_.reconnect_max_ms;
    made.handshake_interval_ms = plan_.handshake_ms;
    made.heartbeat_interval_ms = plan_.heartbeat_ms;
    made.heartbeat_timeout_ms = plan_.heartbeat_timeout_ms;
    made.immediate = plan_.is_immediate;
    made.router_handover = plan_.has_names;
    made.xpub_nodrop = plan_.kind == conversation::pub_sub && is_left;
    made.router_mandatory = true;
    if (made.type == socket_type::req)
        made.req_relaxed = made.req_correlate = chance_.coin();
    const bool is_one_way = plan_.kind == conversation::push_pull || plan_.kind == conversation::pub_sub;
    made.send_timeout_ms = is_one_way && chance_.coin() ? -1 : static_cast<int>(chance_.between(1, 20));
    made.receive_timeout_ms = is_one_way && chance_.coin() ? -1 : static_cast<int>(chance_.between(1, 20));
    if (plan_.is_patient && made.receive_timeout_ms > 0) {
        const bool only_answers = made.type == socket_type::router || made.type == socket_type::rep;
        made.receive_timeout_ms =
            only_answers && chance_.coin() ? -1 : static_cast<int>(chance_.between(100, 400));
    }
    return made;
}

void scenario::add_members() {
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

void scenario::set_faults() {
    fault_rates &r = network_.rates;
    constexpr std::uint64_t often[] = {0, 1'000, 20'000, 300'000};
    r.one_octet = chance_.pick(often);
    r.short_count = chance_.pick(often);
    r.not_ready = chance_.pick(often);
    r.lend_refused = chance_.pick(often);
    world_.switches = chance_.pick(often);
    constexpr std::uint64_t rarely[] = {0, 0, 300, 3'000};
    world_.signals = chance_.pick(often) / 4;
    network_.smallest_buffer = chance_.coin() ? 64 : 16384;
    network_.largest_buffer = chance_.coin() ? 16384 : 262144;
    if (plan_.is_patient && chance_.coin())
        network_.largest_buffer =
            std::max<std::size_t>(network_.smallest_buffer = chance_.coin() ? 64 : 1024, 4096);
    constexpr std::size_t pieces[] = {3, 100, 1460, 65536};
    network_.largest_piece = chance_.pick(pieces);
    network_.most_latency = microseconds(chance_.between(50, 3000));
    r.stall = chance_.pick(rarely);
    r.longest_stall = milliseconds(chance_.between(1, 400));
    world_.late_timers = chance_.pick(often);
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
        return;
    }
    if (plan_.is_calm)
        return;
    r.reset = chance_.pick(rarely);
    constexpr std::uint64_t failing_writes[] = {0, 300, 3'000, 30'000};
    r.write_fails = chance_.pick(failing_writes);
    r.take_back_fails = chance_.pick(rarely);
    r.refuse = 10 * chance_.pick(often) / 10;
    r.accept_error = chance_.pick(often) / 2;
    r.handshake_stall = chance_.pick(often) / 2;
}

octets garbage(dice &d) {
    octets made;
    if (d.coin()) {
        // A greeting that promises ZMTP 3.0 with NULL, and something else behind it.
        made.assign(64, 0);
        made[0] = 0xff;
        made[9] = 0x7f;
        made[10] = 3;
        const char name[] = "NULL";
        std::copy_n(name, 4, made.begin() + 12);
    }
    for (std::uint64_t count = d.next() % 200; count > 0; --count)
        made.push_back(static_cast<std::uint8_t>(d.next()));
    made.resize(d.between(0, made.size()));
    return made;
}

/// One thing that goes wrong.
void scenario::act() {
    constexpr std::uint64_t starve = 11;
    const auto what = plan_.is_starving ? starve : chance_.next() % (plan_.keeps_sockets ? 13 : 15);
    world_.trace(0x700, what);
    constexpr const char *names[] = {
        "reset one",   "reset one",   "reset one",    "reset all",         "half-close one",
        "stall one",   "stall one",   "refuse dials", "accept dials",      "accept dials",
        "rogue comes", "starves one", "starves one",  "renews its socket", "renews its endpoints"};
    world_.tell("act: ", names[what]);
    member &anyone = members_[chance_.next() % members_.size()];
    switch (what) {
    case 0:
    case 1:
    case 2:
        network_.reset_one();
        break;
    case 3:
        network_.reset_all();
        break;
    case 4:
        network_.half_close_one();
        break;
    case 5:
    case 6:
        network_.stall_one(milliseconds(chance_.between(1, 1000)));
        break;
    case 7:
        network_.refuse_dials(true);
        network_.reset_all();
        break;
    case 8:
    case 9:
        network_.refuse_dials(false);
        break;
    case 10:
        network_.connect_rogue(garbage(chance_));
        break;
    case starve:
    case 12:
        network_.starve_one(milliseconds(chance_.between(20, 500)));
        plan_.messages += messages_of_a_burst;
        break;
    case 13:
        anyone.wants_new_socket = true;
        world_.interrupt(*anyone.who);
        break;
    case 14:
        anyone.wants_new_endpoints = true;
        world_.interrupt(*anyone.who);
        break;
    }
}

void scenario::make_chaos() {
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
bool scenario::is_heard(int from, int to) const {
    for (const channel &c : const_cast<ledger &>(ledger_).channels()) {
        if (c.from != from)
            continue;
        const auto at = c.receivers.find(to);
        if (at != c.receivers.end() && at->second.newest_sent > healed_)
            return true;
    }
    return false;
}

/// Promise 8.
void scenario::prove_life() {
    network_.heal();
    world_.late_timers = 0;
    world_.signals = 0;
    healed_ = world_.now();
    phase_ = phase::probing;
    world_.tell("healed");
    const bool both_ways = plan_.kind != conversation::push_pull && plan_.kind != conversation::pub_sub;
    std::string deaf;
    const bool is_alive = world_.eventually(healed_ + plan_.longest_reconnect() + patience, [&] {
        deaf.clear();
        for (const member *l : side(true)) {
            for (const member *r : side(false)) {
                if (!is_heard(l->tag, r->tag))
                    deaf += " " + std::to_string(r->tag) + " does not hear " + std::to_string(l->tag);
                if (both_ways && !is_heard(r->tag, l->tag))
                    deaf += " " + std::to_string(l->tag) + " does not hear " + std::to_string(r->tag);
            }
        }
        return deaf.empty();
    });
    if (!is_alive)
        world_.violate(promise::lives, "after the last fault" + deaf);
    // What was in the queue of a publisher that dials comes first, whoever has subscribed by then; and subscriptions count
    // against its mark for receiving, so that a long list of them takes several calls of the publisher's.
    // And everybody needs a moment to hear of the connections that are gone.
    if (!world_.is_over())
        world_.sleep_for(milliseconds(plan_.kind == conversation::pub_sub ? 300 : 50));
}

std::uint64_t scenario::missing() const {
    std::set<int> rights;
    for (const member &m : members_)
        if (!m.is_left)
            rights.insert(m.tag);
    std::uint64_t sum = 0;
    for (const channel &c : const_cast<ledger &>(ledger_).channels())
        sum += ledger_.missing_since(c, last_round_began_, rights);
    return sum;
}

/// What is sent while nothing is wrong arrives, all of it.
void scenario::last_round() {
    phase_ = phase::last_round;
    last_round_began_ = world_.now();
    world_.tell("last round");
    const bool has_arrived = world_.eventually(world_.now() + last_patience, [&] {
        for (const member &m : members_)
            if (sends_by_itself(m) && m.sent_last < last_round_messages)
                return false;
        return missing() == 0;
    });
    phase_ = phase::draining;
    if (!has_arrived)
        world_.violate(promise::no_loss,
                       std::to_string(missing()) + " messages of the last round are missing");
    // What was queued before has had its chance by now: it stood in front.
    world_.sleep_for(seconds(1));
    if (!world_.is_over())
        ledger_.settle(living_);
}

/// Promise 7.
void scenario::finish(sim_context &which, const std::string &name, duration at_most) {
    auto is_done = std::make_shared<bool>(false);
    world_.at(world_.now() + at_most, [this, is_done, name] {
        if (!*is_done)
            world_.violate(promise::terminates, "the " + name + " context does not end in time");
    });
    world_.tell("the ", name, " context ends");
    which.terminate();
    world_.tell("the ", name, " context has ended");
    *is_done = true;
}

void scenario::end_all() {
    const duration in_time = milliseconds(std::max(plan_.linger_ms, 0)) + seconds(1);
    const bool lingers = plan_.how == ending::lingering &&
                         (plan_.kind == conversation::push_pull || plan_.kind == conversation::pub_sub);
    // A PING that nobody has read when the stream closes makes the system reset it, with all that is under way: that is
    // loss at a break (promise 5), so last words are counted without heartbeats only.
    if (lingers && !plan_.is_inproc && plan_.heartbeat_ms == 0 && !world_.is_over()) {
        // Last words, and then the senders are gone: all of it still arrives.
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
    sim_context *order[] = {&left_, &right_};
    if (chance_.coin())
        std::swap(order[0], order[1]);
    for (sim_context *c : order)
        finish(*c, c == &left_ ? "left" : "right", in_time);
}

void scenario::conduct() {
    set_faults();
    add_members();
    make_chaos();
    if (plan_.how != ending::in_chaos && !world_.is_over()) {
        prove_life();
        if (!world_.is_over())
            last_round();
    }
    end_all();
}

void scenario::check_leftovers() {
    const auto left = [&](std::uint64_t count, const char *what) {
        if (count)
            world_.violate(promise::leaves_nothing, std::to_string(count) + " " + what + " left");
    };
    left(world_.live_timers, "timers");
    left(world_.live_streams, "streams");
    left(world_.live_dialers, "dialers");
    left(world_.live_listeners, "listeners");
    left(left_.live_sessions() + right_.live_sessions(), "sessions");
    left(static_cast<std::uint64_t>(left_.pool_users()), "chunks of the left");
    left(static_cast<std::uint64_t>(right_.pool_users()), "chunks of the right");
}

verdict scenario::run() {
    world_.start("conductor", [this] { conduct(); });
    world_.run();
    if (!world_.is_over()) {
        world_.run_out();
        check_leftovers();
    }
    for (message &m : kept_)
        (void)m.close();
    return {world_.found(),
            world_.what(),
            plan_.text(),
            world_.trace_hash(),
            world_.steps(),
            world_.elapsed(),
            delivered_,
            network_.breaks(),
            network_.lendings(),
            network_.reads_abroad(),
            network_.writes_abroad()};
}

}  // namespace

verdict run_seed(std::uint64_t seed, planted plant) { return scenario(seed, plant).run(); }

}  // namespace zlink::sim
