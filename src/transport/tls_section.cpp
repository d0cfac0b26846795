#include "transport/tls_section.hpp"

#include <array>
#include <atomic>
#include <openssl/crypto.h>
#include <pthread.h>
#include <utility>

namespace zlink {

namespace {

/// Threads share them, as readers, so that they do not wait for each other; there are several so that they do not share memory either.
/// fork() is the writer, and goes first: else those who come and go could keep it out.
struct alignas(64) gate {
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
    pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#endif
};
constinit std::array<gate, 16> gates;
constinit std::atomic<unsigned> next_gate{0};

struct place {
    gate *at = nullptr;
    unsigned depth = 0;
    bool is_forking = false;  // has all gates
};
constinit thread_local place here;

/// OpenSSL forgets a thread when it ends, under a lock, and would do so outside.
struct farewell {
    ~farewell() {
        const tls_section inside;
        OPENSSL_thread_stop();
    }
};

void choose_gate() noexcept {
    here.at = &gates[next_gate.fetch_add(1, std::memory_order_relaxed) % gates.size()];
    thread_local const farewell at_the_end;
    (void)at_the_end;
}

/// Of a thread that is inside itself, from a handler of a signal, it would wait for ever.
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

}  // namespace

bool tls_section::watch_fork() noexcept {
    // A child that is made meanwhile does it again, and may have it twice: the handlers do not mind.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static constinit std::atomic<bool> is_watched{false};
    ::pthread_once(&once, [] {
        is_watched = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
    });
    return is_watched;
}

void tls_section::enter() noexcept {
    if (here.depth++ > 0)
        return;
    if (__builtin_expect(!here.at, 0))
        choose_gate();
    ::pthread_rwlock_rdlock(&here.at->lock);
}

void tls_section::leave() noexcept {
    if (--here.depth == 0)
        ::pthread_rwlock_unlock(&here.at->lock);
}

tls_pause::tls_pause() noexcept : depth_(here.depth) {
    if (std::exchange(here.depth, 0) > 0)
        ::pthread_rwlock_unlock(&here.at->lock);
}

tls_pause::~tls_pause() {
    if (depth_ > 0)
        ::pthread_rwlock_rdlock(&here.at->lock);
    here.depth = depth_;
}

}  // namespace zlink
