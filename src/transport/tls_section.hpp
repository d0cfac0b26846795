// A stretch of calls of OpenSSL, which neither fork() nor the end of OpenSSL falls into.
//
// Why:      OpenSSL has locks for the whole process, and does not give them back in a child: one
//           that another thread of the parent had at the moment of the fork is taken there for
//           ever. So fork() waits until no thread of the library is inside.
// End:      OpenSSL is taken down at exit() where the program has initialised it first, or when the
//           program says so. That waits, too; for what is inside from then on OpenSSL is over: it
//           calls nothing of it, and frees nothing of it. Whoever has left for a while (tls_pause)
//           has to ask again.
// Inside:   every call of OpenSSL that may take a lock, and that is nearly all: also what frees,
//           and what asks for the list of failures. Nothing is waited for inside but locks that who
//           holds them gives back without a section of his own.
// Failures: that OpenSSL has noted of the application on this thread are not there inside, and are
//           there again outside; of what is noted inside nothing stays (tls_failures.hpp).
// Nesting:  is free.
// Order:    fork() takes these before the other locks of the library, for they have registered
//           first: inside, those may be taken.
// Threads:  do not meet here but by fork().
#pragma once

#include <atomic>

namespace zlink {

class [[nodiscard]] tls_section {
public:
    /// Comes before the first section of a process, and after the initialisation of the library's
    /// static objects.
    static bool watch_fork() noexcept;
    /// Comes behind the initialisation of OpenSSL. The library stays loaded from then on: OpenSSL
    /// will call it. False when memory is short.
    static bool watch_end() noexcept;

    /// Said of a thread that is inside. It stays so.
    static bool is_over() noexcept { return is_over_.load(std::memory_order_relaxed); }
    /// Keeps alive all that nobody may free any more.
    static void abandon(void *object) noexcept;

    tls_section() noexcept { enter(); }
    ~tls_section() { leave(); }
    tls_section(const tls_section &) = delete;
    tls_section &operator=(const tls_section &) = delete;

    // For locks that are a section, too.
    static void enter() noexcept;
    static void leave() noexcept;

private:
    static void end() noexcept;
    static std::atomic<bool> has_begun_;
    static std::atomic<bool> is_over_;
};

/// Frees an object of OpenSSL's while that can be done.
template <auto free_it>
struct openssl_delete {
    template <class T>
    void operator()(T *object) const noexcept {
        if (tls_section::is_over())
            tls_section::abandon(object);
        else
            free_it(object);
    }
};

/// In the middle of sections, where something is waited for that has to do with OpenSSL no more
/// than fork() with that: a disk.
class [[nodiscard]] tls_pause {
public:
    tls_pause() noexcept;
    ~tls_pause();
    tls_pause(const tls_pause &) = delete;
    tls_pause &operator=(const tls_pause &) = delete;

private:
    const unsigned depth_;
};

}  // namespace zlink
