// Sixteen locks that threads share, and who has to wait for them; see tls_section.hpp. Map: the
// gates, and where a thread stands; the end of a thread; fork(); the end of OpenSSL; entering,
// leaving, and leaving for a while.
#include "transport/tls_section.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <new>
#include <openssl/crypto.h>
#include <pthread.h>
#include <utility>

#include "core/platform.hpp"
#include "memory/of_thread.hpp"
#include "transport/tls_failures.hpp"

namespace zlink {

namespace {

/// Threads share them, as readers, so that they do not wait for each other; there are several so
/// that they do not share memory either. fork() is the writer, and goes first: else those who come
/// and go could keep it out.
struct alignas(64) gate {
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
    pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#endif
};
constinit std::array<gate, 16> gates;
constinit std::atomic<unsigned> next_gate{0};

struct visit {
    gate *at = nullptr;
    unsigned depth = 0;
    bool is_forking = false;     // has all gates
    bool is_waited_for = false;  // OpenSSL is not taken down before it has left
    tls_failures of_application;
};
constinit thread_local visit here;

/// OpenSSL forgets a thread when it ends, under a lock, and would do so outside.
void say_farewell() noexcept {
    {
        const tls_section inside;
        if (tls_section::is_over())
            return;
        here.of_application.put_back();
        OPENSSL_thread_stop();
    }
    // Whoever comes once more, from another's end of the thread, is to be asked here again.
    here.at = nullptr;
}
constinit thread_local end_of_thread::duty farewell{&say_farewell};

void choose_gate() noexcept {
    here.at = &gates[next_gate.fetch_add(1, std::memory_order_relaxed) % gates.size()];
    (void)end_of_thread::awaits(farewell);
}

/// A fork() in a handler of a signal, on a thread that is inside, would wait for that thread, which
/// is itself.
void before_fork() noexcept {
    if (here.is_forking || here.depth > 0)
        return;
    for (gate &each : gates)
        ::pthread_rwlock_wrlock(&each.lock);
    here.is_forking = true;
}

void after_fork_in_parent() noexcept {
    if (here.depth > 0 || !std::exchange(here.is_forking, false))
        return;
    for (gate &each : gates)
        ::pthread_rwlock_unlock(&each.lock);
}

/// A thread that stood before a gate does not exist here, and must not be waited for.
void after_fork_in_child() noexcept {
    const bool has_all = std::exchange(here.is_forking, false);
    for (gate &each : gates) {
        if (has_all)
            ::pthread_rwlock_unlock(&each.lock);
        each = gate{};
    }
    if (here.depth > 0)
        ::pthread_rwlock_rdlock(&here.at->lock);
}

/// So that tools do not take for lost what nobody frees.
struct abandoned {
    void *object;
    abandoned *next;
};
constinit std::atomic<abandoned *> last_abandoned{nullptr};

constexpr std::chrono::seconds longest_wait{10};
constexpr std::timespec between_tries{0, 1'000'000};

/// Waits until nobody is behind the gate, or it is `until`. Looks once in a millisecond: a wait
/// with an end goes by a clock that may be set.
void wait_at(gate &one, time_point until) noexcept {
    const platform::cancellation_shield shield;
    while (::pthread_rwlock_trywrlock(&one.lock) != 0) {
        if (platform::steady_clock().now() >= until)
            return;
        (void)::nanosleep(&between_tries, nullptr);
    }
    ::pthread_rwlock_unlock(&one.lock);
}

}  // namespace

constinit std::atomic<bool> tls_section::has_begun_{false};
constinit std::atomic<bool> tls_section::is_over_{false};

bool tls_section::watch_fork() noexcept {
    // A child that is made meanwhile does it again, and may have it twice: the handlers do not
    // mind.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static constinit std::atomic<bool> is_watched{false};
    ::pthread_once(&once, [] {
        is_watched = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
    });
    return is_watched;
}

bool tls_section::watch_end() noexcept {
    platform::stay_loaded();
    has_begun_ = OPENSSL_atexit(&tls_section::end) == 1;
    return has_begun_;
}

/// Threads leave soon. Those of which only a child that was made without its handlers has the
/// traces never do.
void tls_section::end() noexcept {
    is_over_.store(true, std::memory_order_relaxed);
    here.is_waited_for = false;
    const time_point until = platform::steady_clock().now() + longest_wait;
    for (gate &each : gates) {
        // From a handler of a signal.
        const bool is_inside_itself = here.depth > 0 && here.at == &each;
        if (!is_inside_itself)
            wait_at(each, until);
    }
}

void tls_section::abandon(void *object) noexcept {
    if (!object)
        return;
    auto *const fresh = new (std::nothrow) abandoned{object, last_abandoned.load()};
    while (fresh && !last_abandoned.compare_exchange_weak(fresh->next, fresh)) {
    }
}

void tls_section::enter() noexcept {
    if (here.depth++ > 0)
        return;
    if (__builtin_expect(!here.at, 0))
        choose_gate();
    ::pthread_rwlock_rdlock(&here.at->lock);
    here.is_waited_for = has_begun_.load(std::memory_order_relaxed) && !is_over();
    if (here.is_waited_for)
        here.of_application.take();
}

/// Whom the end of OpenSSL waits for has this thread forgotten there: done when the thread ends,
/// that would fall into the end.
void tls_section::leave() noexcept {
    if (here.depth == 1) {
        if (!is_over()) {
            here.of_application.put_back();
        } else {
            here.of_application.give_up();
            if (here.is_waited_for)
                OPENSSL_thread_stop();
        }
    }
    if (--here.depth == 0)
        ::pthread_rwlock_unlock(&here.at->lock);
}

tls_pause::tls_pause() noexcept : depth_(here.depth) {
    if (std::exchange(here.depth, 0) > 0)
        ::pthread_rwlock_unlock(&here.at->lock);
}

tls_pause::~tls_pause() {
    if (depth_ > 0) {
        ::pthread_rwlock_rdlock(&here.at->lock);
        here.is_waited_for = here.is_waited_for && !tls_section::is_over();
    }
    here.depth = depth_;
}

}  // namespace zlink
