#include "bench_measure.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <exception>
#include <optional>
#include <thread>

namespace command {

namespace {

using bench_clock = std::chrono::steady_clock;

constexpr int patience_ms = 100;  // between two looks at whether it is to stop
constexpr int linger_ms = 2000;
constexpr int idle_limit_ms = 10000;
constexpr std::uint64_t between_looks = 1024;  // messages
constexpr size_t large = 4096;                 // octets, that such a look is nothing beside
constexpr std::uint64_t warm_up = 10;          // round trips that are not counted

double seconds_between(bench_clock::time_point from, bench_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

class bench_socket {
public:
    bench_socket(const bench_context &owner, int type, const bench_plan &plan, bool binds)
        : library_(owner.library()), handle_(library_.socket(owner.handle(), type)),
          idle_limit_ms_(idle_limit_ms + (plan.rate > 0 ? static_cast<int>(2000 / plan.rate) : 0)) {
        if (!handle_) {
            fail("no socket");
        }
        set(ZMQ_SNDTIMEO, patience_ms);
        set(ZMQ_RCVTIMEO, patience_ms);
        set(ZMQ_LINGER, linger_ms);
        if (plan.security) {
            plan.security->apply(library_, handle_, binds);
        }
        if (type == ZMQ_XPUB) {
            set(ZMQ_XPUB_NODROP, 1);
            set(ZMQ_XPUB_VERBOSE, 1);  // each subscriber is told
        } else if (type == ZMQ_SUB && library_.setsockopt(handle_, ZMQ_SUBSCRIBE, "", 0) != 0) {
            fail("no subscription");
        }
        for (zmq_msg_t &each : parts_) {
            library_.msg_init(&each);
        }
    }
    ~bench_socket() {
        for (zmq_msg_t &each : parts_) {
            library_.msg_close(&each);
        }
        library_.close(handle_);
    }
    bench_socket(const bench_socket &) = delete;
    bench_socket &operator=(const bench_socket &) = delete;

    void open(bool binds, const std::string &endpoint) {
        if ((binds ? library_.bind : library_.connect)(handle_, endpoint.c_str()) != 0) {
            const int error = library_.last_errno();
            const bool is_text = error == EINVAL || error == EPROTONOSUPPORT;
            throw failure(is_text ? status::usage : status::unreachable,
                          fmt::format("cannot {} {}: {}", binds ? "bind to" : "connect to", endpoint,
                                      library_.strerror(error)));
        }
    }

    std::string last_endpoint() const {
        std::array<char, 1024> text{};
        size_t size = text.size();
        return library_.getsockopt(handle_, ZMQ_LAST_ENDPOINT, text.data(), &size) == 0 ? text.data() : "";
    }

    /// False where it is stopped while it waits for room.
    bool send(const std::string &body, int flags, const bench_stopped &is_stopped) {
        for (int waited_ms = 0; library_.send(handle_, body.data(), body.size(), flags) < 0;) {
            if (!may_wait(waited_ms, is_stopped)) {
                return false;
            }
        }
        return true;
    }

    /// The last message of a client has two parts.
    void send_last() {
        const bench_stopped never = [] { return false; };
        send("last", ZMQ_SNDMORE, never);
        send("", 0, never);
    }

    /// A message; `returns` sends it back. False where it is stopped.
    bool receive(bool has_id, bool returns, bool &is_last, const bench_stopped &is_stopped) {
        size_t count = 0;
        int waited_ms = 0;
        for (int has_more = 1; has_more != 0;) {
            // A part too many replaces the one before it: no client sends that.
            zmq_msg_t &part = parts_[std::min(count, parts_.size() - 1)];
            if (library_.msg_recv(&part, handle_, 0) >= 0) {
                has_more = library_.msg_more(&part);
                ++count;
            } else if (!may_wait(waited_ms, is_stopped)) {
                return false;
            }
        }
        is_last = count > (has_id ? 2 : 1);
        count = returns ? std::min(count, parts_.size()) : 0;
        for (size_t i = 0; i < count;) {
            if (library_.msg_send(&parts_[i], handle_, i + 1 < count ? ZMQ_SNDMORE : 0) >= 0) {
                ++i;
            } else if (!may_wait(waited_ms, is_stopped)) {
                return false;
            }
        }
        return true;
    }

private:
    void set(int option, int value) {
        if (library_.setsockopt(handle_, option, &value, sizeof value) != 0) {
            fail(fmt::format("option {}", option));
        }
    }

    [[noreturn]] void fail(const std::string &what) const {
        throw failure(status::other, fmt::format("{}: {}", what, library_.strerror(library_.last_errno())));
    }

    /// After a call that has failed: false where it is stopped.
    bool may_wait(int &waited_ms, const bench_stopped &is_stopped) const {
        const int error = library_.last_errno();
        if (error != EAGAIN && error != EINTR) {
            fail("cannot send or receive");
        }
        waited_ms += patience_ms;
        if (waited_ms > idle_limit_ms_) {
            throw failure(status::timed_out, "the other end sends and takes nothing any more");
        }
        return !is_stopped();
    }

    const bench_library &library_;
    void *handle_;
    int idle_limit_ms_;
    std::array<zmq_msg_t, 3> parts_{};  // an id, and two
};

namespace {

/// Says when the next message is due, and when there is no other.
class schedule {
public:
    explicit schedule(const bench_plan &plan) : plan_(plan) {}

    /// The time when the next was to begin; false in `goes_on` where there is none.
    bench_clock::time_point next(bool &goes_on, const bench_stopped &is_stopped) {
        const bool looks =
            plan_.rate > 0 || plan_.is_round_trip || plan_.size >= large || count_ % between_looks == 0;
        auto due = looks ? bench_clock::now() : begin_;
        goes_on = plan_.messages > 0 ? count_ < plan_.messages : due - begin_ < plan_.duration;
        goes_on = goes_on && !(looks && is_stopped());
        if (goes_on && plan_.rate > 0) {
            due = begin_ + std::chrono::duration_cast<bench_clock::duration>(
                               std::chrono::duration<double>(static_cast<double>(count_) / plan_.rate));
            while (bench_clock::now() < due && !is_stopped()) {
                constexpr std::chrono::milliseconds look_again{patience_ms};
                std::this_thread::sleep_until(std::min(due, bench_clock::now() + look_again));
            }
        }
        ++count_;
        return due;
    }

private:
    const bench_plan &plan_;
    const bench_clock::time_point begin_ = bench_clock::now();
    std::uint64_t count_ = 0;
};

void send_all(bench_socket &through, const bench_plan &plan, const bench_stopped &is_stopped) {
    const std::string body(plan.size, 'x');
    schedule times(plan);
    for (bool goes_on = true; goes_on;) {
        times.next(goes_on, is_stopped);
        goes_on = goes_on && through.send(body, 0, is_stopped);
    }
    through.send_last();
}

/// Counts until as many clients have ended.
bench_outcome receive_all(bench_socket &through, int clients, bool has_id, bool returns,
                          const bench_stopped &is_stopped) {
    bench_outcome got;
    bench_clock::time_point first, last;
    bool is_last = false;
    while (clients > 0 && through.receive(has_id, returns, is_last, is_stopped)) {
        if (is_last) {
            --clients;
        } else if (++got.messages == 1) {
            first = bench_clock::now();
        }
        if (is_last || got.messages % between_looks == 0) {
            last = bench_clock::now();
        }
    }
    got.messages -= got.messages > 0 ? 1 : 0;  // the clock runs from the first
    got.seconds = seconds_between(first, std::max(first, last));
    return got;
}

bench_outcome go_there_and_back(bench_socket &through, const bench_plan &plan,
                                const bench_stopped &is_stopped) {
    const std::string body(plan.size, 'x');
    bench_outcome got;
    bool is_last = false;
    const auto trip = [&] {
        return through.send(body, 0, is_stopped) && through.receive(false, false, is_last, is_stopped);
    };
    for (std::uint64_t i = 0; i < warm_up && trip(); ++i) {
    }
    const auto begin = bench_clock::now();
    schedule times(plan);
    for (bool goes_on = true; goes_on;) {
        const auto due = times.next(goes_on, is_stopped);
        if (goes_on && (goes_on = trip())) {
            ++got.messages;
            got.times.add(static_cast<std::uint64_t>((bench_clock::now() - due).count()));
        }
    }
    got.seconds = seconds_between(begin, bench_clock::now());
    if (!is_stopped()) {
        through.send_last();
        through.receive(false, false, is_last, is_stopped);
    }
    return got;
}

bench_outcome run_client(bench_socket &through, const bench_plan &plan, const bench_stopped &is_stopped) {
    if (plan.is_round_trip) {
        return go_there_and_back(through, plan, is_stopped);
    }
    if (plan.pattern->near_type == ZMQ_SUB) {
        return receive_all(through, 1, false, false, [] { return false; });
    }
    send_all(through, plan, is_stopped);
    return {};
}

}  // namespace

const std::vector<bench_pattern> &bench_patterns() {
    static const std::vector<bench_pattern> all{
        {"push-pull", "PUSH to PULL", ZMQ_PUSH, ZMQ_PULL, true, false},
        {"pub-sub", "PUB to SUB", ZMQ_SUB, ZMQ_XPUB, true, false},
        {"pair", "PAIR to PAIR", ZMQ_PAIR, ZMQ_PAIR, true, true},
        {"dealer-router", "DEALER to ROUTER", ZMQ_DEALER, ZMQ_ROUTER, true, true},
        {"req-rep", "REQ to REP", ZMQ_REQ, ZMQ_REP, false, true}};
    return all;
}

const bench_pattern *bench_pattern_of(const std::string &name) {
    for (const bench_pattern &each : bench_patterns()) {
        if (each.name == name) {
            return &each;
        }
    }
    return nullptr;
}

void bench_times::add(std::uint64_t nanoseconds) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(nanoseconds)) - 7);
    ++counts_[static_cast<size_t>(shift) * 64 + (nanoseconds >> shift)];
    ++total_;
    longest_ = std::max(longest_, nanoseconds);
}

void bench_times::merge(const bench_times &other) {
    for (size_t i = 0; i < counts_.size(); ++i) {
        counts_[i] += other.counts_[i];
    }
    total_ += other.total_;
    longest_ = std::max(longest_, other.longest_);
}

double bench_times::at(double share) const {
    auto left = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    for (size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] > left) {
            const size_t shift = i < 128 ? 0 : i / 64 - 1;
            return std::min(static_cast<double>((i - shift * 64) << shift) / 1000, longest());
        }
        left -= counts_[i];
    }
    return longest();
}

bench_context::bench_context(const bench_library &library) : library_(library), handle_(library.ctx_new()) {
    if (!handle_) {
        throw failure(status::other, "no context");
    }
}

bench_context::~bench_context() { library_.ctx_term(handle_); }

bench_far_end::bench_far_end(bench_context &owner, const bench_plan &plan, const std::string &endpoint)
    : judge_(plan.security ? plan.security->make_judge(owner.library(), owner.handle()) : nullptr),
      socket_(std::make_unique<bench_socket>(owner, plan.pattern->far_type, plan, true)), plan_(plan) {
    socket_->open(true, endpoint);
}

bench_far_end::~bench_far_end() = default;

std::string bench_far_end::endpoint() const { return socket_->last_endpoint(); }

bench_outcome bench_far_end::run(const bench_stopped &is_stopped) {
    if (plan_.pattern->far_type == ZMQ_XPUB) {
        bool is_last = false;
        for (int i = 0; i < plan_.clients; ++i) {
            socket_->receive(false, false, is_last, is_stopped);  // a subscription
        }
        send_all(*socket_, plan_, is_stopped);
        return {};
    }
    const bool has_id = plan_.pattern->far_type == ZMQ_ROUTER;
    return receive_all(*socket_, plan_.clients, has_id, plan_.is_round_trip, is_stopped);
}

bench_outcome run_near_end(bench_context &owner, const bench_plan &plan, const std::string &endpoint,
                           const bench_stopped &is_stopped) {
    std::vector<bench_outcome> outcomes(static_cast<size_t>(plan.clients));
    std::vector<std::exception_ptr> faults(outcomes.size());
    std::atomic<bool> has_failed = false;
    const bench_stopped ends = [&] { return has_failed || is_stopped(); };
    std::vector<std::thread> threads;
    for (size_t i = 0; i < outcomes.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                bench_socket through(owner, plan.pattern->near_type, plan, false);
                through.open(false, endpoint);
                outcomes[i] = run_client(through, plan, ends);
            } catch (const std::exception &) {
                faults[i] = std::current_exception();
                has_failed = true;
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    bench_outcome all;
    for (size_t i = 0; i < outcomes.size(); ++i) {
        if (faults[i]) {
            std::rethrow_exception(faults[i]);
        }
        all.messages += outcomes[i].messages;
        all.seconds = std::max(all.seconds, outcomes[i].seconds);
        all.times.merge(outcomes[i].times);
    }
    return all;
}

bench_outcome run_both_ends(const bench_library &library, const bench_plan &plan, const std::string &endpoint,
                            const bench_stopped &is_stopped) {
    bench_context far_context(library);
    std::optional<bench_context> own_context;
    if (endpoint.rfind("inproc://", 0) != 0) {
        own_context.emplace(library);
    }
    bench_far_end far(far_context, plan, endpoint);
    std::atomic<bool> has_failed = false;
    std::exception_ptr fault;
    bench_outcome received;
    const bool is_sender = plan.pattern->far_type == ZMQ_XPUB;
    // A receiver goes on until the last message, unless there is to be none.
    const bench_stopped far_ends = [&] {
        return has_failed || ((is_sender || plan.is_round_trip) && is_stopped());
    };
    std::thread other([&] {
        try {
            received = far.run(far_ends);
        } catch (const std::exception &) {
            fault = std::current_exception();
            has_failed = true;
        }
    });
    bench_outcome near;
    std::exception_ptr near_fault;
    const bench_stopped near_ends = [&] { return has_failed || is_stopped(); };
    try {
        near = run_near_end(own_context ? *own_context : far_context, plan, far.endpoint(), near_ends);
    } catch (const std::exception &) {
        near_fault = std::current_exception();
        has_failed = true;
    }
    other.join();
    if (near_fault || fault) {
        std::rethrow_exception(fault ? fault : near_fault);
    }
    return plan.is_round_trip || is_sender ? near : received;
}

}  // namespace command
