// WORK: PUSH to PULL with so many nanoseconds of work for each message at both ends; messages a
// second. PACED: PAIR to PAIR, one message due in so many nanoseconds; microseconds from then to
// the return of zmq_recv, the median and what 99 of 100 keep.
//
// Flow:     the ends are two processes, and are connected when the clock starts. Work is a count of
//           multiplications, each of which waits for the one before, measured beforehand: time in
//           which another thread has the processor is not work done. The sender of PACED looks at
//           the clock all the time; where it is late, or waits for room, the message is.
// BURST: PAIR to PAIR, so many messages together, and the next as many 100 µs later; the same times
// as of PACED, and the processor time of both processes for each message. The sender sleeps between
// bursts.
// Order:    work; the sender in another process; clocks; the cells.
#include "peers/peers.hpp"

#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

namespace bench {

namespace {

class worker {
public:
    explicit worker(std::size_t nanoseconds) {
        constexpr std::uint64_t sample = 1'000'000;
        double best = 1;  // seconds
        for (int i = 0; i < 10; ++i) {
            const auto start = steady::now();
            multiply(sample);
            best = std::min(best, seconds_between(start, steady::now()));
        }
        steps_ = static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * 1e-9 / best * sample);
    }
    void work() { multiply(steps_); }

private:
    [[gnu::noinline]] void multiply(std::uint64_t steps) {
        for (; steps > 0; --steps) {
            value_ = value_ * 1664525 + 1013904223;
            asm volatile("" : "+r"(value_));
        }
    }

    std::uint64_t steps_ = 0;
    std::uint32_t value_ = 1;
};

// The sender is a process of its own. Once it is connected, and knows when to begin, it calls
// `before` for each message, with the message's number and that time.
class far_sender {
public:
    using step = std::function<void(std::uint64_t, steady::time_point)>;

    far_sender(const peer_settings &wanted, int type, const step &before)
        : process_([&](int channel) {
              context zmq(wanted);
              void *socket = zmq.open(type);
              require(zmq_connect(socket, read_text(channel).c_str()) == 0, "zmq_connect");
              require(zmq_send(socket, "", 0, 0) == 0, "the first message");
              const steady::time_point start(steady::duration(std::stoll(read_text(channel))));
              outgoing body(wanted.size);
              for (std::uint64_t i = 0; i < wanted.warmup + wanted.messages; ++i) {
                  before(i, start);
                  require(zmq_send(socket, body.make(i), wanted.size, 0) >= 0, "send");
              }
              read_text(channel);  // the last messages may still be on their way
          }) {}
    // When it begins to send to this socket.
    steady::time_point begin(void *to, const peer_settings &wanted) {
        write_text(process_.channel(), bind_and_name(to, wildcard(wanted.transport, 0)));
        require(zmq_recv(to, nullptr, 0, 0) == 0, "receive of the first message");
        const steady::time_point start = steady::now() + std::chrono::milliseconds(1);
        write_text(process_.channel(), std::to_string(start.time_since_epoch().count()));
        return start;
    }
    void end() {
        write_text(process_.channel(), "end");
        process_.wait_for_end();
    }

private:
    child_process process_;
};

/// The time of this process, and of the children that have ended.
double processor_seconds() {
    const auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    double sum = 0;
    for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used{};
        require(::getrusage(who, &used) == 0, "getrusage");
        sum += seconds(used.ru_utime) + seconds(used.ru_stime);
    }
    return sum;
}

void sleep_until(steady::time_point when) {
    const auto since_start = when.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_start);
    const timespec at{seconds.count(), static_cast<long>((since_start - seconds).count())};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
}

/// Receives all that the sender sends. Times one way of what is not warm-up, from when it was due.
findings measure_ways(peer_settings &wanted, far_sender &sender,
                      const std::function<steady::time_point(std::uint64_t, steady::time_point)> &due) {
    context zmq(wanted);
    void *pair = zmq.open(ZMQ_PAIR);
    copying_receiver all(pair, wanted.size);
    const steady::time_point start = sender.begin(pair, wanted);
    std::vector<double> ways(wanted.messages);
    for (std::uint64_t i = 0; i < wanted.warmup + wanted.messages; ++i) {
        all.receive(i);
        if (i >= wanted.warmup)
            ways[i - wanted.warmup] = seconds_between(due(i, start), steady::now()) * 1e6;
    }
    sender.end();
    std::sort(ways.begin(), ways.end());
    return {{"latency", ways[ways.size() / 2]}, {"latency_99", ways[ways.size() * 99 / 100]}};
}

}  // namespace

findings measure_work(peer_settings &wanted) {
    require(wanted.transport != "inproc", "a transport between processes");
    worker self(wanted.count);
    far_sender sender(wanted, ZMQ_PUSH, [&](std::uint64_t, steady::time_point) { self.work(); });
    context zmq(wanted);
    void *pull = zmq.open(ZMQ_PULL);
    copying_receiver all(pull, wanted.size);
    (void)sender.begin(pull, wanted);
    steady::time_point start;
    for (std::uint64_t i = 0; i < wanted.warmup + wanted.messages; ++i) {
        if (i == wanted.warmup)
            start = steady::now();
        all.receive(i);
        self.work();
    }
    const double elapsed = seconds_between(start, steady::now());
    sender.end();
    return {{"throughput", static_cast<double>(wanted.messages) / elapsed}};
}

findings measure_paced(peer_settings &wanted) {
    require(wanted.transport != "inproc", "a transport between processes");
    const auto interval = std::chrono::nanoseconds(wanted.count);
    const auto due = [&](std::uint64_t i, steady::time_point start) {
        return start + interval * static_cast<std::int64_t>(i);
    };
    far_sender sender(wanted, ZMQ_PAIR, [&](std::uint64_t i, steady::time_point start) {
        while (steady::now() < due(i, start)) {
        }
    });
    return measure_ways(wanted, sender, due);
}

findings measure_burst(peer_settings &wanted) {
    require(wanted.transport != "inproc", "a transport between processes");
    constexpr auto interval = std::chrono::microseconds(100);
    const std::uint64_t together = wanted.count;
    const auto due = [&](std::uint64_t i, steady::time_point start) {
        return start + interval * static_cast<std::int64_t>(i / together);
    };
    const double before = processor_seconds();
    far_sender sender(wanted, ZMQ_PAIR, [&](std::uint64_t i, steady::time_point start) {
        if (i == 0)
            ::prctl(PR_SET_TIMERSLACK, 1UL);
        if (i % together == 0)
            sleep_until(due(i, start));
    });
    findings found = measure_ways(wanted, sender, due);
    const auto messages = static_cast<double>(wanted.warmup + wanted.messages);
    found.push_back({"processor", (processor_seconds() - before) / messages * 1e6});
    return found;
}

}  // namespace bench
