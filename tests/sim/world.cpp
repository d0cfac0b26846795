#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <poll.h>

namespace zlink::sim {

namespace {

constexpr std::uint64_t most_steps = 4'000'000;  // of one run: beyond, somebody turns in circles
// While nobody else can do anything, now or later.
constexpr std::uint64_t most_idle_spins = 10'000;

struct function_task final : loop_task {
    explicit function_task(std::function<void()> what) : work(std::move(what)) {}
    void run() noexcept override {
        work();
        delete this;
    }
    std::function<void()> work;
};

}  // namespace

const char *name_of(promise which) noexcept {
    switch (which) {
    case promise::none:
        return "nothing";
    case promise::atomic:
        return "atomic";
    case promise::at_most_once:
        return "at most once";
    case promise::ordered:
        return "ordered per pipe";
    case promise::no_loss:
        return "no loss";
    case promise::bounded_loss:
        return "bounded loss per break";
    case promise::bounded_queues:
        return "bounded queues";
    case promise::terminates:
        return "terminates";
    case promise::lives:
        return "lives";
    case promise::survives:
        return "survives";
    case promise::leaves_nothing:
        return "leaves nothing behind";
    case promise::counts_once:
        return "counts each message once";
    case promise::one_at_a_time:
        return "one at a time";
    case promise::comes_home:
        return "gets its reading half back";
    case promise::goes_on:
        return "goes on";
    case promise::legal_events:
        return "legal events";
    case promise::knows_topics:
        return "knows topics";
    case promise::newest_value:
        return "newest value";
    case promise::admits:
        return "hears only whom the handler has let in";
    case promise::fresh_nonces:
        return "fresh nonces";
    }
    return "?";
}

// ---- ready_call ----

ready_call::ready_call(sim_loop &where, std::function<void()> what)
    : where_(where), what_(std::make_shared<std::function<void()>>(std::move(what))) {}

void ready_call::cancel() noexcept {
    if (std::exchange(is_queued_, false))
        std::erase(where_.ready_, this);
}

void ready_call::queue() noexcept {
    const plenty_of_memory for_the_simulator;
    if (is_queued_)
        return;
    is_queued_ = true;
    where_.ready_.push_back(this);
}

// ---- sim_loop ----

class sim_loop::sim_timer final : public timer {
public:
    sim_timer(sim_loop &owner, std::function<void()> on_expiry)
        : loop_(owner), what_(std::make_shared<std::function<void()>>(std::move(on_expiry))) {
        ++loop_.world_.live_timers;
    }
    ~sim_timer() override {
        cancel();
        --loop_.world_.live_timers;
    }
    void expires_at(time_point at) noexcept override {
        const plenty_of_memory for_the_simulator;
        cancel();
        world &w = loop_.world_;
        if (std::exchange(loop_.has_lent_, false) && w.has_planted(planted::lost_lease_timer))
            return;
        if (w.strikes(planted::lost_timer, 500'000))
            return;
        when = at;
        if (w.faults.chance(w.late_timers))
            when += microseconds(w.faults.between(1, 20'000));
        is_pending_ = true;
        loop_.timers_.push_back(this);
    }
    void cancel() noexcept override {
        if (is_pending_)
            std::erase(loop_.timers_, this);
        is_pending_ = false;
    }
    bool is_pending() const noexcept override { return is_pending_; }
    void expire() {
        cancel();
        const auto what = what_;  // may destroy this timer
        (*what)();
    }

    time_point when{};

private:
    sim_loop &loop_;
    std::shared_ptr<std::function<void()>> what_;
    bool is_pending_ = false;
};

sim_loop::sim_loop(world &owner, unsigned number) : world_(owner), number_(number) {
    thread_.body = std::make_unique<fiber>([this] { live(); });
}

sim_loop::~sim_loop() {
    is_ending_ = true;
    if (!is_in_turn_)
        thread_.body->resume();
}

void sim_loop::live() {
    while (!is_ending_) {
        if (goes_to_sleep_)
            before_sleep_.run_all();
        else
            take_turn();
        is_in_turn_ = false;
        fiber::leave();
    }
}

void sim_loop::go_on(bool before_sleep) {
    if (!std::exchange(is_in_turn_, true))
        goes_to_sleep_ = before_sleep;
    world_.go_on(thread_);
}

void sim_loop::post(loop_task &task) noexcept {
    const plenty_of_memory for_the_simulator;
    world_.may_switch();
    if (world_.strikes(planted::lost_task, 5'000))
        return;
    posted_.push(task);
}

error sim_loop::post(std::function<void()> work) noexcept {
    const plenty_of_memory for_the_simulator;
    posted_.push(*new function_task(std::move(work)));
    return error::none;
}

error sim_loop::post_and_wait(const std::function<void()> &work) noexcept {
    const plenty_of_memory for_the_simulator;
    bool is_done = false;
    (void)post([&] {
        work();
        is_done = true;
    });
    while (!is_done) {
        if (world_.is_over())
            world_.spin();
        else
            world_.wait_until(time_point::max(), is_done);
    }
    return error::none;
}

std::unique_ptr<timer> sim_loop::make_timer(std::function<void()> on_expiry) noexcept {
    const plenty_of_memory for_the_simulator;
    return std::make_unique<sim_timer>(*this, std::move(on_expiry));
}

time_point sim_loop::now() const noexcept { return world_.now(); }

time_point sim_loop::next_timer() const noexcept {
    time_point first = time_point::max();
    for (const sim_timer *t : timers_)
        first = std::min(first, t->when);
    return first;
}

bool sim_loop::has_work() const noexcept {
    return !posted_.is_empty() || !ready_.empty() || next_timer() <= world_.now() || !costly.is_empty();
}

void sim_loop::take_turn() {
    // The kinds of work come in any order; whoever has none passes it on.
    const std::uint64_t kinds = costly.is_empty() ? 3 : 4;
    const auto first = world_.schedule.next() % kinds;
    for (std::uint64_t i = 0; i < kinds; ++i) {
        switch ((first + i) % kinds) {
        case 0:
            if (posted_.run_all())
                return;
            break;
        case 1:
            if (!ready_.empty()) {
                ready_call *chosen = ready_[world_.schedule.next() % ready_.size()];
                std::erase(ready_, chosen);
                chosen->is_queued_ = false;
                const auto what = chosen->what_;  // may destroy the call
                (*what)();
                return;
            }
            break;
        case 2:
            for (sim_timer *t : timers_) {
                if (t->when <= world_.now()) {
                    t->expire();
                    return;
                }
            }
            break;
        case 3:
            costly.run_one();
            return;
        }
    }
}

// ---- sim_wakeup ----

void sim_wakeup::signal() noexcept {
    const plenty_of_memory for_the_simulator;
    world_.may_switch();
    world_.pipes.note_signal();
    if (world_.strikes(planted::lost_signal, 50'000))
        return;
    if (world_.loses_ring(*this))
        was_lost_ = true;
    else
        is_up_ = true;
}

// ---- world ----

world::world(std::uint64_t seed, planted plant)
    : schedule(mix(seed) ^ 1), faults(mix(seed) ^ 2), library(mix(seed) ^ 3), now_(std::chrono::hours(1)),
      plant_(plant) {}

world::~world() = default;

void world::at(time_point when, std::function<void()> what) { events_.emplace(when, std::move(what)); }

void world::violate(promise which, const std::string &what) {
    const plenty_of_memory for_the_simulator;
    if (is_over())
        return;
    found_ = which;
    what_ = what;
    tell("broken: ", what);
}

void world::print(const std::string &text) const {
    std::printf("%12.3f ms  %s\n", std::chrono::duration<double, std::milli>(elapsed()).count(),
                text.c_str());
}

sim_loop &world::add_loop() {
    loops_.push_back(std::make_unique<sim_loop>(*this, static_cast<unsigned>(loops_.size())));
    return *loops_.back();
}

actor &world::start(std::string name, std::function<void()> body) {
    actors_.push_back(std::make_unique<actor>());
    actors_.back()->name = std::move(name);
    actors_.back()->body = std::make_unique<fiber>(std::move(body));
    return *actors_.back();
}

/// Planted: whether somebody who sleeps at a lent stream is not to hear this.
bool world::loses_ring(const sim_wakeup &level) const noexcept {
    const bool at_failed = has_planted(planted::unheard_recall);
    if (!at_failed && !has_planted(planted::unheard_full_stream))
        return false;
    for (const auto &sleeper : actors_) {
        if (!sleeper->is_blocked || sleeper->waits_for || sleeper->body->has_returned())
            continue;
        const auto is_level = [&](const wait_item &item) { return item.level == &level; };
        const auto is_struck = [&](const wait_item &item) {
            return !item.level &&
                   (at_failed ? descriptors->has_failed(item.descriptor)
                              : !(item.events & POLLOUT) && descriptors->has_refused(item.descriptor));
        };
        if (std::any_of(sleeper->items.begin(), sleeper->items.end(), is_level))
            return std::any_of(sleeper->items.begin(), sleeper->items.end(), is_struck);
    }
    return false;
}

void world::run_due_events() {
    while (!events_.empty() && events_.begin()->first <= now_) {
        const auto what = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        what();
    }
}

short world::ready(const wait_item &item) const noexcept {
    return has_planted(planted::deaf_waiter) ? 0 : descriptors->ready(item.descriptor, item.events);
}

bool world::is_any_ready(std::span<const wait_item> items) const noexcept {
    return std::any_of(items.begin(), items.end(), [&](const wait_item &item) {
        if (item.level)
            return static_cast<const sim_wakeup &>(*item.level).is_up();
        return ready(item) != 0;
    });
}

bool world::is_runnable(const actor &who) const noexcept {
    if (who.body->has_returned())
        return false;
    return !who.is_blocked || is_over() || who.is_interrupted || who.deadline <= now_ ||
           (who.waits_for ? *who.waits_for : is_any_ready(who.items));
}

const strand &world::candidate(unsigned index) const noexcept {
    if (index < loops_.size())
        return loops_[index]->thread();
    return *actors_[index - loops_.size()];
}

/// One turn of somebody. False when nothing can happen any more.
bool world::step() {
    if (++steps_ > most_steps) {
        violate(promise::terminates, "the run does not come to an end");
        if (steps_ > 2 * most_steps)
            std::abort();  // not even when everybody is turned away
    }
    now_ += microseconds(schedule.next() % 8);
    run_due_events();
    candidates_.clear();
    for (unsigned i = 0; i < loops_.size(); ++i)
        if (loops_[i]->is_in_turn() || loops_[i]->has_work())
            candidates_.push_back(i);
    const auto first_actor = static_cast<unsigned>(loops_.size());
    for (unsigned i = 0; i < actors_.size(); ++i)
        if (is_runnable(*actors_[i]))
            candidates_.push_back(first_actor + i);
    // A loop that is about to sleep does so whatever the others do.
    for (unsigned i = 0; i < loops_.size(); ++i) {
        if (loops_[i]->is_before_sleep() && !loops_[i]->is_in_turn() && !loops_[i]->has_work() &&
            (candidates_.empty() || schedule.coin())) {
            trace(3, i);
            loops_[i]->go_on(true);
            return true;
        }
    }
    if (candidates_.empty())
        return jump();
    // Time passes while everybody waits for somebody who does nothing now.
    const bool is_idle = std::all_of(candidates_.begin(), candidates_.end(),
                                     [&](unsigned i) { return is_idle_spin(candidate(i)); });
    idle_spins_ = is_idle ? idle_spins_ + 1 : 0;
    if (is_idle && !jump() && idle_spins_ > most_idle_spins)
        violate(promise::terminates, "somebody waits for ever for another thread");
    const unsigned chosen = candidates_[schedule.next() % candidates_.size()];
    trace(chosen, static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    if (chosen < first_actor) {
        loops_[chosen]->go_on(false);
        return true;
    }
    current_actor_ = actors_[chosen - first_actor].get();
    current_actor_->is_blocked = false;
    go_on(*current_actor_);
    current_actor_ = nullptr;
    return true;
}

void world::go_on(strand &who) {
    who.is_spinning = false;
    current_ = &who;
    running_ = this;
    who.body->resume();
    running_ = nullptr;
    current_ = nullptr;
    if (who.is_spinning)
        who.looked_at = progress_;
    else
        ++progress_;
}

unsigned world::next_failure() noexcept {
    if (short_reads == 0 || !faults.chance(short_reads))
        return 0;
    has_failed_reading_ = true;
    return static_cast<unsigned>(faults.between(1, 6));
}

void world::may_switch() noexcept {
    if (current_ && still_ == 0 && !is_over() && schedule.chance(switches)) {
        scarce_memory::end();
        fiber::leave();
    }
}

void world::spin() noexcept {
    if (still_ > 0)
        std::abort();  // nobody else may go on
    current_->is_spinning = true;
    scarce_memory::end();
    fiber::leave();
}

/// Nobody can do anything now: lets time pass up to the next moment when somebody can.
bool world::jump() {
    time_point next = time_point::max();
    if (!events_.empty())
        next = events_.begin()->first;
    for (const auto &l : loops_)
        next = std::min(next, l->next_timer());
    for (const auto &a : actors_)
        if (!a->body->has_returned())
            next = std::min(next, a->deadline);
    if (next == time_point::max())
        return false;
    now_ = std::max(now_, next);
    return true;
}

void world::run() {
    const auto all_returned = [&] {
        return std::all_of(actors_.begin(), actors_.end(),
                           [](const auto &a) { return a->body->has_returned(); }) &&
               std::none_of(loops_.begin(), loops_.end(), [](const auto &l) { return l->is_in_turn(); });
    };
    while (!all_returned()) {
        if (!step()) {
            std::string who;
            for (const auto &a : actors_)
                if (!a->body->has_returned())
                    who += " " + a->name;
            violate(promise::terminates, "blocked for ever:" + who);
        }
    }
}

void world::run_out() {
    while (step()) {
    }
}

void world::sleep_for(duration how_long) {
    const bool never = false;
    wait_until(now_ + how_long, never);
}

bool world::wait_until(time_point deadline, const bool &flag, bool *was_interrupted) {
    if (flag || is_over())
        return flag;
    current_actor_->waits_for = &flag;
    block(deadline, was_interrupted);
    return flag;
}

/// Leaves until what the actor waits for is there, or the deadline has passed, or somebody
/// interrupts.
void world::block(time_point deadline, bool *was_interrupted) {
    actor *self = current_actor_;
    self->deadline = deadline;
    self->is_blocked = true;
    fiber::leave();
    const bool interrupted = std::exchange(self->is_interrupted, false);
    if (was_interrupted)
        *was_interrupted = interrupted;
}

bool world::eventually(time_point deadline, const std::function<bool()> &holds) {
    while (!holds()) {
        if (is_over() || now_ >= deadline)
            return false;
        sleep_for(milliseconds(1));
    }
    return true;
}

error world::make_wakeup(std::unique_ptr<wakeup> &out) noexcept {
    const plenty_of_memory for_the_simulator;
    out = std::make_unique<sim_wakeup>(*this);
    return error::none;
}

error world::wait(std::span<wait_item> items, time_point deadline) noexcept {
    scarce_memory::end();
    may_switch();
    if (faults.chance(signals) && !is_over())
        return error::interrupted;
    pipes.note_sleep();
    for (const wait_item &item : items)
        if (!item.level)
            descriptors->begin_wait(item.descriptor);
    bool was_interrupted = false;
    if (!is_any_ready(items) && !is_over()) {
        current_actor_->waits_for = nullptr;
        current_actor_->items = items;
        block(deadline, &was_interrupted);
    }
    const bool is_ready = is_any_ready(items);
    for (wait_item &item : items) {
        if (item.level)
            continue;
        item.revents = ready(item);
        descriptors->end_wait(item.descriptor);
    }
    if (is_ready)
        return error::none;
    if (is_over())
        return error::terminated;
    return was_interrupted ? error::interrupted : error::timed_out;
}

}  // namespace zlink::sim
