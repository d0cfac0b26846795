// Steady traffic of small messages allocates nothing, on any thread.
//
// Steady means: the queues were once filled to the high-water marks and emptied, and the same
// traffic has passed for a while. How deep the queues become varies, and memory for a depth that
// was not reached before may still be allocated: so traffic goes on in rounds until some in
// succession need nothing. What is allocated again and again is found in every round.
//
// The heap's functions are those of this file, for the library too: they pass everything on to the
// C library, and count. Where a call came from is printed when there are too many.
#include "ends.hpp"

#include <gtest/gtest.h>

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <tuple>

namespace {

// ---- the count ----

constexpr int deepest = 24;
constexpr std::size_t most_places = 16;
constexpr long most_noted = 1000;  // to look where one comes from takes long

struct place {
    std::array<void *, deepest> stack;
    int depth = 0;
    long times = 0;
};

std::atomic<bool> is_counting{false};
std::atomic<long> calls{0};
std::mutex places_mutex;
std::array<place, most_places> places;  // guarded by it
std::size_t place_count = 0;
thread_local bool is_noting = false;

void note_place() {
    place found;
    found.depth = backtrace(found.stack.data(), deepest);
    const std::lock_guard guard(places_mutex);
    for (std::size_t i = 0; i < place_count; ++i) {
        place &known = places[i];
        if (known.depth == found.depth &&
            std::equal(found.stack.begin(), found.stack.begin() + found.depth, known.stack.begin())) {
            ++known.times;
            return;
        }
    }
    if (place_count == most_places)
        return;
    found.times = 1;
    places[place_count++] = found;
}

void note_call() {
    if (!is_counting.load(std::memory_order_relaxed) || is_noting)
        return;
    is_noting = true;
    if (calls.fetch_add(1, std::memory_order_relaxed) < most_noted)
        note_place();
    is_noting = false;
}

/// Begins at 0 again.
void start_counting() {
    void *unused[1];
    (void)backtrace(unused, 1);  // the first call of all loads a library
    const std::lock_guard guard(places_mutex);
    place_count = 0;
    calls = 0;
    is_counting = true;
}

long stop_counting() {
    is_counting = false;
    return calls;
}

void print_places() {
    const std::lock_guard guard(places_mutex);
    for (std::size_t i = 0; i < place_count; ++i) {
        std::fprintf(stderr, "%ld times from\n", places[i].times);
        backtrace_symbols_fd(places[i].stack.data(), places[i].depth, STDERR_FILENO);
    }
}

}  // namespace

// ---- the heap ----

extern "C" {
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
void __libc_free(void *);

void *malloc(std::size_t size) noexcept {
    note_call();
    return __libc_malloc(size);
}
void *calloc(std::size_t count, std::size_t size) noexcept {
    note_call();
    return __libc_calloc(count, size);
}
void *realloc(void *memory, std::size_t size) noexcept {
    note_call();
    return __libc_realloc(memory, size);
}
void free(void *memory) noexcept {
    if (memory)
        note_call();
    __libc_free(memory);
}
void *memalign(std::size_t alignment, std::size_t size) noexcept {
    note_call();
    return __libc_memalign(alignment, size);
}
void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    note_call();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, std::size_t alignment, std::size_t size) noexcept {
    note_call();
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
}

namespace {

// ---- the traffic ----

using namespace guard;

struct rounds {
    int messages;  // in each
    int good;      // in succession: the traffic is steady
    int most;
};
constexpr rounds streaming{200000, 5, 60};
constexpr rounds lockstep{5000, 2, 30};

/// Runs rounds until enough of them in succession count nothing. What the last one counted. Ends at
/// once when it is much.
template <class Round>
long count_when_steady(const rounds &how, Round &&round) {
    long count = 0;
    int good = 0;
    for (int i = 0; i < how.most && good < how.good; ++i) {
        start_counting();
        round();
        count = stop_counting();
        good = count == 0 ? good + 1 : 0;
        if (count > how.messages / 10)
            break;
    }
    return good < how.good ? std::max(count, 1l) : count;
}

/// Fills the queues to the high-water marks and empties them.
void fill_once(two_ends &way) {
    int sent = 0;
    while (way.sender.send(ZMQ_DONTWAIT))
        ++sent;
    for (; sent > 0; --sent)
        way.receiver.receive();
}

long count_streaming(const pattern &kind, const std::string &transport, bool lends = false) {
    const context zmq;
    two_ends way(zmq, kind, transport);
    if (lends)
        way.sender.lend();
    fill_once(way);
    std::atomic<bool> is_over{false};
    std::atomic<bool> has_stopped{false};
    std::thread sender([&] {
        while (!is_over.load(std::memory_order_relaxed))
            way.sender.send();
        has_stopped = true;
    });
    const long count = count_when_steady(streaming, [&] {
        for (int i = 0; i < streaming.messages; ++i)
            way.receiver.receive();
    });
    is_over = true;
    while (!has_stopped)
        if (way.receiver.has_input(1))
            way.receiver.receive();
    sender.join();
    return count;
}

/// Messages that go one way only have a second pair for the way back.
long count_lockstep(const pattern &kind, const std::string &transport) {
    const context zmq;
    two_ends forth(zmq, kind, transport);
    two_ends back(zmq, kind, transport);
    fill_once(forth);
    if (!kind.answers)
        fill_once(back);
    std::atomic<bool> is_over{false};
    std::thread echo([&] {
        end &out = kind.answers ? forth.receiver : back.sender;
        for (bool is_last = false; !is_last;) {
            forth.receiver.receive();
            is_last = is_over;
            out.send();
        }
    });
    end &in = kind.answers ? forth.sender : back.receiver;
    const auto round_trip = [&] {
        forth.sender.send();
        in.receive();
    };
    const long count = count_when_steady(lockstep, [&] {
        for (int i = 0; i < lockstep.messages / 2; ++i)
            round_trip();
    });
    is_over = true;
    round_trip();
    echo.join();
    return count;
}

class allocation : public ::testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(allocation, is_not_needed_for_a_stream_of_small_messages) {
    const auto &[name, transport] = GetParam();
    const long count = count_streaming(find_pattern(name), transport);
    EXPECT_EQ(count, 0) << "calls of the heap's functions for " << streaming.messages << " messages";
    if (HasFailure())
        print_places();
}

TEST_P(allocation, is_not_needed_for_a_stream_of_small_bodies_that_are_lent) {
    const auto &[name, transport] = GetParam();
    const long count = count_streaming(find_pattern(name), transport, true);
    EXPECT_EQ(count, 0) << "calls of the heap's functions for " << streaming.messages << " messages";
    if (HasFailure())
        print_places();
}

TEST_P(allocation, is_not_needed_for_small_messages_that_wait_for_each_other) {
    const auto &[name, transport] = GetParam();
    const long count = count_lockstep(find_pattern(name), transport);
    EXPECT_EQ(count, 0) << "calls of the heap's functions for " << lockstep.messages << " messages";
    if (HasFailure())
        print_places();
}

INSTANTIATE_TEST_SUITE_P(
    small_messages, allocation,
    ::testing::Combine(::testing::Values("PUSH_PULL", "DEALER_ROUTER", "PUB_SUB", "PAIR"),
                       ::testing::Values("tcp", "ipc", "inproc")),
    [](const auto &which) { return std::string(std::get<0>(which.param)) + "_" + std::get<1>(which.param); });

TEST(count, finds_what_another_library_allocates) {
    start_counting();
    zmq_ctx_term(zmq_ctx_new());
    EXPECT_GT(stop_counting(), 0);
}

}  // namespace
