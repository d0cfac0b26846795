// Measures what a small message costs in the queue.
//
// Method:   64-byte bodies through a pipe without a mark: writing and publishing each; reading what
//           was written; both in turn in one thread; and a writer and a reader thread. Time is per
//           message. Writing and reading alone run in batches that are drained, or filled, with the
//           clock stopped.
// Lies:     when the two threads share a core, and when other programs run. Bodies are always in
//           the cache.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <thread>

#include "pipe/pipe.hpp"

namespace zlink {
namespace {

constexpr std::int64_t batch = 10000;
// Room for all that the compiler thinks a short body may have.
std::array<std::uint8_t, 256> octets;
volatile std::size_t body_size = 64;  // not a constant to the compiler

byte_span body() { return {octets.data(), body_size}; }

struct pair {
    explicit pair(std::uint64_t hwm) : ends(make_pipe(chunk_pool::make(), {hwm, hwm})) {}
    pipe_ends ends;
    pipe_end &writer = *ends.first;
    pipe_end &reader = *ends.second;
};

bool write_one(pipe_end &end) {
    if (!end.has_credit())
        return false;
    benchmark::DoNotOptimize(end.write(0, body()));
    end.publish();
    return true;
}
bool read_one(pipe_end &end) {
    frame_view frame;
    if (!end.read(frame))
        return false;
    benchmark::DoNotOptimize(frame.data);
    benchmark::DoNotOptimize(frame.size);
    return true;
}
void per_message(benchmark::State &state, std::int64_t messages) {
    state.SetItemsProcessed(messages);
    state.counters["per_message"] = benchmark::Counter(
        static_cast<double>(messages), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void write_and_publish(benchmark::State &state) {
    pair pipe(0);
    for (auto _ : state) {
        for (std::int64_t i = 0; i < batch; ++i)
            write_one(pipe.writer);
        state.PauseTiming();
        while (read_one(pipe.reader)) {
        }
        state.ResumeTiming();
    }
    per_message(state, state.iterations() * batch);
}
BENCHMARK(write_and_publish);

void write_many_and_publish_once(benchmark::State &state) {
    pair pipe(0);
    for (auto _ : state) {
        for (std::int64_t i = 0; i < batch; ++i)
            benchmark::DoNotOptimize(pipe.writer.write(0, body()));
        pipe.writer.publish();
        state.PauseTiming();
        while (read_one(pipe.reader)) {
        }
        state.ResumeTiming();
    }
    per_message(state, state.iterations() * batch);
}
BENCHMARK(write_many_and_publish_once);

void read(benchmark::State &state) {
    pair pipe(0);
    for (auto _ : state) {
        state.PauseTiming();
        for (std::int64_t i = 0; i < batch; ++i)
            write_one(pipe.writer);
        state.ResumeTiming();
        while (read_one(pipe.reader)) {
        }
    }
    per_message(state, state.iterations() * batch);
}
BENCHMARK(read);

void write_and_read_in_turn(benchmark::State &state) {
    pair pipe(0);
    for (auto _ : state) {
        write_one(pipe.writer);
        read_one(pipe.reader);
    }
    per_message(state, state.iterations());
}
BENCHMARK(write_and_read_in_turn);

void write_gather_and_release(benchmark::State &state) {
    pair pipe(0);
    std::array<iovec, 64> ranges;
    for (auto _ : state) {
        for (std::int64_t i = 0; i < batch; ++i)
            write_one(pipe.writer);
        writing turn = pipe.reader.take_turn();
        const auto found = turn.gather(ranges.data(), ranges.size(), std::size_t{1} << 20);
        turn.release(found.octets);
        benchmark::DoNotOptimize(turn.give());
    }
    per_message(state, state.iterations() * batch);
}
BENCHMARK(write_gather_and_release);

void write_external_and_read(benchmark::State &state) {
    pair pipe(0);
    for (auto _ : state) {
        benchmark::DoNotOptimize(pipe.writer.write_external(0, {}, body()));
        pipe.writer.publish();
        read_one(pipe.reader);
    }
    per_message(state, state.iterations());
}
BENCHMARK(write_external_and_read);

/// Both threads spin: what the queue itself can carry. The argument is the mark.
void two_threads(benchmark::State &state) {
    constexpr std::int64_t messages = 2'000'000;
    pair pipe(static_cast<std::uint64_t>(state.range(0)));
    for (auto _ : state) {
        std::thread writer([&] {
            for (std::int64_t i = 0; i < messages;) {
                if (write_one(pipe.writer))
                    ++i;
            }
        });
        for (std::int64_t i = 0; i < messages;)
            i += read_one(pipe.reader);
        writer.join();
    }
    per_message(state, state.iterations() * messages);
}
BENCHMARK(two_threads)->Arg(0)->Arg(1000)->Arg(100000)->UseRealTime();

}  // namespace
}  // namespace zlink
