#include "order/memory_model.hpp"

#include <algorithm>

namespace zlink::order {

namespace {

constexpr std::size_t most_steps = 60;
constexpr std::uint64_t most_runs = 20'000'000;
world *the_world = nullptr;

bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

bool is_sc(std::memory_order order) { return order == std::memory_order_seq_cst; }

}  // namespace

/// The choices of a run, and the next run's: the last one that has another answer gets it.
struct explorer {
    struct choice {
        std::size_t taken;
        std::size_t count;
    };
    std::vector<choice> choices;
    std::size_t next = 0;

    std::size_t choose(std::size_t count) {
        if (next == choices.size())
            choices.push_back({0, count});
        return choices[next++].taken;
    }
    bool go_to_next_run() {
        next = 0;
        while (!choices.empty() && choices.back().taken + 1 == choices.back().count)
            choices.pop_back();
        if (choices.empty())
            return false;
        ++choices.back().taken;
        return true;
    }

    /// False where the run took too many steps.
    bool run(world &here, const std::function<program()> &make) {
        here.chooses_ = this;
        here.threads_.resize(1);
        const program what = make();
        const view beginning = here.threads_[0].now;
        here.threads_.clear();
        for (const std::function<void()> &body : what.threads) {
            world::thread one;
            one.now = one.released = beginning;
            one.runs = std::make_unique<sim::fiber>([&body] {
                sim::fiber::leave();
                body();
            });
            here.threads_.push_back(std::move(one));
        }
        for (world::thread &each : here.threads_)
            each.runs->resume();
        here.has_begun_ = true;
        std::vector<std::size_t> able;
        for (;;) {
            able.clear();
            for (std::size_t i = 0; i < here.threads_.size(); ++i)
                if (!here.threads_[i].runs->has_returned())
                    able.push_back(i);
            if (able.empty())
                break;
            here.running_ = here.is_over() ? able[0] : able[choose(able.size())];
            here.self().runs->resume();
        }
        if (here.steps_ > most_steps)
            return false;
        // Whoever looks at the result has waited for all threads.
        world::thread last;
        for (const world::thread &each : here.threads_)
            world::join(last.now, each.now);
        here.has_begun_ = false;
        here.threads_.clear();
        here.threads_.push_back(std::move(last));
        here.running_ = 0;
        if (here.failure_.empty())
            what.at_end();
        return true;
    }
};

outcome explore(const std::function<program()> &make) {
    outcome result;
    explorer choices;
    do {
        world here;
        the_world = &here;
        ++result.runs;
        result.left += !choices.run(here, make);
        if (!here.failure().empty())
            result.failure = here.failure() + " (run " + std::to_string(result.runs) + ")";
        if (result.runs == most_runs)
            result.failure = "there are too many runs";
    } while (result.failure.empty() && choices.go_to_next_run());
    the_world = nullptr;
    return result;
}

world &world::current() { return *the_world; }

bool world::is_over() const noexcept { return steps_ > most_steps || !failure_.empty(); }

/// One of `count`, the newest last.
std::size_t world::choose(std::size_t count) {
    return is_over() ? count - 1 : count == 1 ? 0 : chooses_->choose(count);
}

/// The thread stops in front of each step, so that any other may come before it. Once the run has
/// failed, or takes too many steps, it goes on to its end with the newest values, and without
/// stops: the functions are noexcept, as those that they stand for.
void world::step() {
    if (!has_begun_ || is_over())
        return;
    ++steps_;
    sim::fiber::leave();
}

void world::join(view &into, const view &other) {
    if (into.size() < other.size())
        into.resize(other.size(), 0);
    for (std::size_t i = 0; i < other.size(); ++i)
        into[i] = std::max(into[i], other[i]);
}

namespace {

double time_in(const view &of, std::size_t at) { return at < of.size() ? of[at] : 0; }

void set_time(view &of, std::size_t at, double time) {
    if (of.size() <= at)
        of.resize(at + 1, 0);
    of[at] = std::max(of[at], time);
}

}  // namespace

std::size_t world::make_location(std::uint64_t value) {
    places_.push_back({{1, value, {}, false}});
    set_time(self().now, places_.size() - 1, 1);
    return places_.size() - 1;
}

std::size_t world::first_visible(std::size_t at, std::memory_order order) {
    double since = time_in(self().now, at);
    if (is_sc(order))
        since = std::max({since, time_in(last_sc_, at), time_in(all_fences_, at)});
    std::size_t i = 0;
    while (places_[at][i].time < since)
        ++i;
    return i;
}

void world::take(const stored &what, std::size_t at, std::memory_order order) {
    set_time(self().now, at, what.time);
    if (acquires(order))
        join(self().now, what.carried);
    else
        join(self().acquired, what.carried);
    if (is_sc(order))
        set_time(last_sc_, at, what.time);
}

/// `index`: of the store in front of it.
void world::put(std::size_t at, std::size_t index, std::uint64_t value, std::memory_order order,
                const stored *changed) {
    std::vector<stored> &stores = places_[at];
    const double before = stores[index].time;
    const double time = index + 1 < stores.size() ? (before + stores[index + 1].time) / 2 : before + 1;
    set_time(self().now, at, time);
    stored made{time, value, releases(order) ? self().now : self().released, changed != nullptr};
    set_time(made.carried, at, time);
    if (changed)
        join(made.carried, changed->carried);  // a release sequence goes on
    if (is_sc(order))
        set_time(last_sc_, at, time);
    stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(made));
}

std::uint64_t world::load(std::size_t at, std::memory_order order) {
    step();
    const std::size_t first = first_visible(at, order);
    const stored read = places_[at][first + choose(places_[at].size() - first)];
    take(read, at, order);
    return read.value;
}

void world::store(std::size_t at, std::uint64_t value, std::memory_order order) {
    step();
    std::vector<std::size_t> behind;
    for (std::size_t i = first_visible(at, order); i < places_[at].size(); ++i)
        if (i + 1 == places_[at].size() || !places_[at][i + 1].is_change)
            behind.push_back(i);
    put(at, behind[choose(behind.size())], value, order, nullptr);
}

std::uint64_t world::change(std::size_t at, const std::function<std::uint64_t(std::uint64_t)> &to,
                            std::memory_order order) {
    step();
    std::vector<std::size_t> reads;
    for (std::size_t i = first_visible(at, order); i < places_[at].size(); ++i)
        if (i + 1 == places_[at].size() || !places_[at][i + 1].is_change)
            reads.push_back(i);
    const std::size_t index = reads[choose(reads.size())];
    const stored read = places_[at][index];
    take(read, at, order);
    put(at, index, to(read.value), order, &read);
    return read.value;
}

bool world::compare_exchange(std::size_t at, std::uint64_t &expected, std::uint64_t wanted,
                             std::memory_order success, std::memory_order failure) {
    step();
    // It fails by any other value that a load could see, and succeeds where nothing has changed the
    // value yet.
    std::vector<std::size_t> reads;
    for (std::size_t i = first_visible(at, success); i < places_[at].size(); ++i) {
        const bool may_change = i + 1 == places_[at].size() || !places_[at][i + 1].is_change;
        if (places_[at][i].value != expected || may_change)
            reads.push_back(i);
    }
    const std::size_t index = reads[choose(reads.size())];
    const stored read = places_[at][index];
    const bool succeeds = read.value == expected;
    take(read, at, succeeds ? success : failure);
    if (succeeds)
        put(at, index, wanted, success, &read);
    expected = read.value;
    return succeeds;
}

void world::fence_of(thread &of) {
    join(of.now, of.acquired);
    join(of.now, all_fences_);
    join(of.now, last_sc_);
    all_fences_ = of.now;
    // Two fences alone do not make what is not atomic pass from one to the other: there has to be a
    // load that reads what the other has stored.
    for (const std::size_t at : of_plain_)
        if (at < all_fences_.size())
            all_fences_[at] = 0;
    of.released = of.now;
}

void world::full_fence() {
    step();
    fence_of(self());
}

void world::barrier_of_all() {
    step();
    fence_of(self());
    for (thread &each : threads_)
        fence_of(each);
    fence_of(self());
}

// A plain object has a location for its writes, and behind it one for the reads of each thread:
// views tell who has seen them.

std::size_t world::make_plain() {
    const std::size_t at = make_location(0);
    for (std::size_t i = 0; i < most_threads; ++i)
        (void)make_location(0);
    for (std::size_t i = at; i < places_.size(); ++i)
        of_plain_.push_back(i);
    return at;
}

bool world::has_seen_all(std::size_t at) { return time_in(self().now, at) == places_[at].back().time; }

void world::note_use(std::size_t at) {
    const double time = places_[at].back().time + 1;
    places_[at].push_back({time, 0, {}, false});
    set_time(self().now, at, time);
}

void world::read_plain(std::size_t at) {
    expect(has_seen_all(at), "a race: read beside a write");
    note_use(at + 1 + running_);
}

void world::write_plain(std::size_t at) {
    for (std::size_t i = 0; i <= most_threads; ++i)
        expect(has_seen_all(at + i),
               i == 0 ? "a race: written beside a write" : "a race: written beside a read");
    note_use(at);
}

void world::expect(bool holds, const char *what) {
    if (!holds && failure_.empty())
        failure_ = what;
}

}  // namespace zlink::order
