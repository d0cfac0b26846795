// Whose turn it is with the one state of OpenSSL that both directions of a stream share.
//
// Reading:  waits for its turn: for as long as somebody else writes a batch of records, and no
//           longer (decision 0020). A thread that waits gives its priority to who is waited for.
// Inside:   is a section of OpenSSL (tls_section.hpp).
// Writing:  does not wait: one who is refused says that the stream is busy, and comes back.
#pragma once

#include <pthread.h>

#include "transport/tls_section.hpp"

namespace zlink {

/// Does what std::mutex does.
class tls_turn {
public:
    tls_turn() noexcept {
        pthread_mutexattr_t how;
        if (::pthread_mutexattr_init(&how) != 0)
            return;
        // A system without it has plain ones.
        if (::pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT) == 0)
            (void)::pthread_mutex_init(&mutex_, &how);
        ::pthread_mutexattr_destroy(&how);
    }
    ~tls_turn() { ::pthread_mutex_destroy(&mutex_); }
    tls_turn(const tls_turn &) = delete;
    tls_turn &operator=(const tls_turn &) = delete;

    void lock() noexcept {
        ::pthread_mutex_lock(&mutex_);
        tls_section::enter();
    }
    bool try_lock() noexcept {
        if (::pthread_mutex_trylock(&mutex_) != 0)
            return false;
        tls_section::enter();
        return true;
    }
    void unlock() noexcept {
        tls_section::leave();
        ::pthread_mutex_unlock(&mutex_);
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace zlink
