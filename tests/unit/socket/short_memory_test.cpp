// Patterns whose allocations fail: what was taken from a pipe is not lost, and a pipe that cannot be kept is closed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "pattern_bench.hpp"

namespace {

int failing_allocation = 0;  // the n-th from now fails; 0: none

}  // namespace

// Of the whole program.
void *operator new(std::size_t size) {
    if (failing_allocation > 0 && --failing_allocation == 0)
        throw std::bad_alloc();
    if (void *made = std::malloc(size ? size : 1))
        return made;
    throw std::bad_alloc();
}
void operator delete(void *what) noexcept { std::free(what); }
void operator delete(void *what, std::size_t) noexcept { std::free(what); }

namespace zlink::test {
namespace {

constexpr int most_allocations = 20;  // of one call, and more

/// Calls with the n-th allocation failing. True when memory was short.
template <class Call>
bool fails_with_short_memory(int nth, Call call) {
    failing_allocation = nth;
    bool has_failed = false;
    try {
        call();
    } catch (const std::bad_alloc &) {
        has_failed = true;
    }
    const bool was_short = std::exchange(failing_allocation, 0) == 0;
    return has_failed || was_short;
}

TEST(short_memory, leaves_a_request_whole) {
    const frames envelope{std::string(30, 'a'), std::string(90, 'b'), std::string(300, 'c'), ""};
    frames request = envelope, reply = envelope;
    request.push_back("question");
    reply.push_back("answer");
    int failures = 0;
    for (int nth = 1; nth <= most_allocations; ++nth) {
        pattern_bench bench(socket_type::rep);
        fake_peer a = bench.attach();
        write_message(*a.far, request);
        failures += fails_with_short_memory(nth, [&] { (void)bench.subject->has_input(); });
        ASSERT_EQ(bench.receive(), frames{"question"}) << nth;
        ASSERT_EQ(bench.send({"answer"}), error::none);
        ASSERT_EQ(read_messages(*a.far), std::vector<frames>{reply}) << nth;
    }
    EXPECT_GE(failures, 3);
}

TEST(short_memory, forgets_half_an_envelope_with_its_peer) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"short", std::string(500, 'x'), "", "lost"});
    EXPECT_TRUE(fails_with_short_memory(2, [&] { (void)bench.subject->has_input(); }));
    bench.subject->detach(*a.near);
    write_message(*b.far, {"id", "", "question"});
    EXPECT_EQ(bench.receive(), frames{"question"});
    EXPECT_EQ(bench.send({"answer"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"id", "", "answer"}}));
}

}  // namespace
}  // namespace zlink::test
