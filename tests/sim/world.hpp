// The world of one run: virtual time, loops and actors in one thread, and the order in which they
// get their turns.
//
// Flow:     each step picks, by the dice, one of those who can do something now: a loop takes one
//           turn, an actor goes on until it blocks. When nobody can, the loops run what they want
//           to run before they sleep; when there is still nobody, the clock jumps to the next
//           moment at which something happens.
// Switches: loops and actors are fibers, and stand for threads: by the dice they stop in the middle
//           of a call, wherever the library leaves its own code (streams, posts, signals, locks),
//           and others go on meanwhile. Who waits for another thread in a loop, or for a lock, lets
//           others go on: see switches.cpp.
// Trace:    every step is folded into a hash: two runs of one seed must agree on it.
// Owns:     loops and actors; not the network, which reports to them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "box_watch.hpp"
#include "core/waiter.hpp"
#include "dice.hpp"
#include "fan_watch.hpp"
#include "fiber.hpp"
#include "pipe_watch.hpp"
#include "planted.hpp"
#include "reactor/loop.hpp"
#include "reactor/task_list.hpp"
#include "scarce_memory.hpp"

namespace zlink::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::plenty_of_memory;
using test::scarce_memory;

/// Holds what was found broken; see the promises in ledger.hpp.
enum class promise {
    none = 0,
    atomic = 1,
    at_most_once = 2,
    ordered = 3,
    no_loss = 4,
    bounded_loss = 5,
    bounded_queues = 6,
    terminates = 7,
    lives = 8,
    survives = 9,
    leaves_nothing = 10,
    one_at_a_time = 11,
    comes_home = 12,
    goes_on = 13,
    legal_events = 14,
    knows_topics = 15,
    newest_value = 16,
    admits = 17,
    fresh_nonces = 18,
    counts_once = 19,
};
const char *name_of(promise which) noexcept;

class world;
class sim_loop;

/// Something a loop shall call: a stream that is ready, an accepted connection, the end of a dial.
class ready_call {
public:
    ready_call(sim_loop &where, std::function<void()> what);
    ~ready_call() { cancel(); }  // no call comes afterwards
    ready_call(const ready_call &) = delete;
    ready_call &operator=(const ready_call &) = delete;
    void queue() noexcept;
    void cancel() noexcept;

private:
    friend class sim_loop;
    sim_loop &where_;
    std::shared_ptr<std::function<void()>> what_;  // may destroy this object
    bool is_queued_ = false;
};

/// Holds what stands for a thread.
struct strand {
    std::unique_ptr<fiber> body;
    bool is_spinning = false;     // left the last time because it waits for somebody else
    std::uint64_t looked_at = 0;  // the progress of the others, then
};

class sim_loop final : public loop {
public:
    sim_loop(world &owner, unsigned number);
    ~sim_loop() override;

    void post(loop_task &task) noexcept override;
    error post(std::function<void()> work) noexcept override;
    error post_and_wait(const std::function<void()> &work) noexcept override;
    void run_before_sleep(loop_task &task) noexcept override { before_sleep_.push(task); }
    std::unique_ptr<timer> make_timer(std::function<void()> on_expiry) noexcept override;
    time_point now() const noexcept override;

    world &owner() noexcept { return world_; }
    unsigned number() const noexcept { return number_; }
    bool has_work() const noexcept;
    /// Stopped in the middle of its work.
    bool is_in_turn() const noexcept { return is_in_turn_; }
    bool is_before_sleep() const noexcept { return !before_sleep_.is_empty(); }
    /// One of: the posted tasks, a ready call, a due timer, what is costly; or what is to run
    /// before it sleeps. Goes on with it first when it was stopped in the middle.
    void go_on(bool before_sleep);
    time_point next_timer() const noexcept;
    const strand &thread() const noexcept { return thread_; }
    /// The next timer set is the one that ends a lease (planted faults).
    void note_lending() noexcept { has_lent_ = true; }

private:
    friend class ready_call;
    class sim_timer;
    void live();
    void take_turn();

    world &world_;
    unsigned number_;
    strand thread_;
    bool is_in_turn_ = false;
    bool goes_to_sleep_ = false;
    bool is_ending_ = false;
    bool has_lent_ = false;
    task_list posted_;
    sleep_list before_sleep_;
    std::vector<ready_call *> ready_;
    std::vector<sim_timer *> timers_;  // pending ones
};

/// The level a caller blocks on.
class sim_wakeup final : public wakeup {
public:
    explicit sim_wakeup(world &owner) : world_(owner) {}
    void signal() noexcept override;
    bool clear() noexcept override {
        const bool was_lost = std::exchange(was_lost_, false);
        return std::exchange(is_up_, false) || was_lost;
    }
    int descriptor() const noexcept override { return -1; }
    const bool &is_up() const noexcept { return is_up_; }

private:
    world &world_;
    bool is_up_ = false;
    bool was_lost_ = false;  // planted
};

/// Holds what is behind the descriptors that a caller lists in its wait.
class descriptor_table {
public:
    virtual ~descriptor_table() = default;
    /// Which of the events, or POLLERR and the like, hold now.
    virtual short ready(int descriptor, short events) const noexcept = 0;
    virtual void begin_wait(int descriptor) noexcept = 0;
    virtual void end_wait(int descriptor) noexcept = 0;
    /// For planted faults: whether a write has failed; whether the last one did not go out whole.
    virtual bool has_failed(int descriptor) const noexcept = 0;
    virtual bool has_refused(int descriptor) const noexcept = 0;
};

struct actor : strand {
    std::string name;
    const bool *waits_for = nullptr;  // while blocked, or
    std::span<const wait_item> items;
    time_point deadline{};
    sending_thread sends;
    bool is_blocked = false;
    bool is_interrupted = false;
};

class world final : public clock_source, public waiter {
public:
    world(std::uint64_t seed, planted plant);
    ~world() override;

    // ---- for everybody ----

    time_point now() const noexcept override { return now_; }
    /// Calls `what` at a moment, outside of loops and actors.
    void at(time_point when, std::function<void()> what);
    /// The first violation is kept and ends the run.
    void violate(promise which, const std::string &what);
    bool is_over() const noexcept { return found_ != promise::none; }
    void trace(std::uint64_t a, std::uint64_t b = 0) noexcept { trace_ = mix(trace_ ^ mix(a) ^ (b << 7)); }
    /// Says what happens, when somebody listens: for the study of one seed.
    template <class... Parts>
    void tell(const Parts &...parts) {
        if (narrates)
            print((std::string() + ... + text_of(parts)));
    }
    static inline bool narrates = false;
    bool has_planted(planted what) const noexcept { return plant_ == what; }
    /// For planted faults that must not strike always.
    bool strikes(planted what, std::uint64_t of_million) noexcept {
        return plant_ == what && faults.chance(of_million);
    }

    dice schedule;                  // whose turn it is
    dice faults;                    // what goes wrong
    dice library;                   // what the library draws
    std::uint64_t late_timers = 0;  // of a million
    std::uint64_t signals = 0;      // interrupted waits, of a million
    std::uint64_t switches = 0;     // in the middle of a call, of a million
    std::uint64_t short_reads = 0;  // in which an allocation fails, of a million
    /// Which allocation of a reading fails; 0: none.
    unsigned next_failure() noexcept;
    /// Whether any was to.
    bool has_failed_reading() const noexcept { return has_failed_reading_; }
    descriptor_table *descriptors = nullptr;
    pipe_watch pipes{*this};
    fan_watch fans;
    box_watch boxes;

    std::uint64_t full_rings = 0;  // how often somebody found a ring full
    std::uint64_t live_timers = 0;
    std::uint64_t live_streams = 0;
    std::uint64_t live_dialers = 0;
    std::uint64_t live_listeners = 0;

    // ---- for those who stand for threads ----

    /// The world whose loop or actor runs now, or null.
    static world *running() noexcept { return running_; }
    bool runs_on(const sim_loop &which) const noexcept { return current_ == &which.thread(); }
    /// A place where a thread may stop: by the dice, others go on.
    void may_switch() noexcept;
    /// The caller waits for something that another thread is about to do: others go on.
    void spin() noexcept;
    /// No switch while this lives: what is done must seem to be done at once.
    class stillness {
    public:
        explicit stillness(world &owner) noexcept : world_(owner) { ++world_.still_; }
        ~stillness() { --world_.still_; }
        stillness(const stillness &) = delete;
        stillness &operator=(const stillness &) = delete;

    private:
        world &world_;
    };

    // ---- for the conductor of the run ----

    sim_loop &add_loop();
    actor &start(std::string name, std::function<void()> body);
    /// Runs until all actors have returned. After a violation everybody who blocks is turned away.
    void run();
    /// Runs loops and events until nothing is left to do at this moment or later, timers included.
    void run_out();
    void interrupt(actor &who) noexcept { who.is_interrupted = true; }

    promise found() const noexcept { return found_; }
    const std::string &what() const noexcept { return what_; }
    std::uint64_t trace_hash() const noexcept { return trace_; }
    std::uint64_t steps() const noexcept { return steps_; }
    duration elapsed() const noexcept { return now_ - time_point(std::chrono::hours(1)); }

    // ---- for actors ----

    void sleep_for(duration how_long);
    /// Blocks until a flag is raised (true) or the deadline has passed or somebody interrupts
    /// (false).
    bool wait_until(time_point deadline, const bool &flag, bool *was_interrupted = nullptr);
    /// Polls a condition every millisecond of virtual time.
    bool eventually(time_point deadline, const std::function<bool()> &holds);

    error make_wakeup(std::unique_ptr<wakeup> &out) noexcept override;
    error wait(std::span<wait_item> items, time_point deadline) noexcept override;
    sending_thread &this_thread() noexcept override {
        return current_actor_ ? current_actor_->sends : sends_;
    }

private:
    static std::string text_of(const char *text) { return text; }
    static std::string text_of(const std::string &text) { return text; }
    template <class Number>
    static std::string text_of(Number number) {
        return std::to_string(number);
    }
    void print(const std::string &text) const;
    friend class sim_loop;
    friend class sim_wakeup;
    bool has_failed_reading_ = false;
    bool loses_ring(const sim_wakeup &level) const noexcept;
    bool step();
    void go_on(strand &who);
    bool is_runnable(const actor &who) const noexcept;
    short ready(const wait_item &item) const noexcept;
    bool is_any_ready(std::span<const wait_item> items) const noexcept;
    bool is_idle_spin(const strand &who) const noexcept {
        return who.is_spinning && who.looked_at == progress_;
    }
    const strand &candidate(unsigned index) const noexcept;
    void block(time_point deadline, bool *was_interrupted);
    bool jump();
    void run_due_events();

    time_point now_;
    std::multimap<time_point, std::function<void()>> events_;
    std::vector<std::unique_ptr<sim_loop>> loops_;
    std::vector<std::unique_ptr<actor>> actors_;
    static inline world *running_ = nullptr;
    strand *current_ = nullptr;
    actor *current_actor_ = nullptr;
    sending_thread sends_;        // of who is no actor
    std::uint64_t progress_ = 0;  // counts what was done, apart from spinning
    std::uint64_t idle_spins_ = 0;
    int still_ = 0;
    planted plant_;
    promise found_ = promise::none;
    std::string what_;
    std::uint64_t trace_ = 0;
    std::uint64_t steps_ = 0;
    std::vector<unsigned> candidates_;
};

}  // namespace zlink::sim
