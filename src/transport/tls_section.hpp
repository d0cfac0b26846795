// A stretch of calls of OpenSSL, which fork() does not fall into.
//
// Why:      OpenSSL has locks for the whole process, and does not give them back in a child: one that another thread of the parent had at
//           the moment of the fork is taken there for ever. So fork() waits until no thread of the library is inside.
// Inside:   every call of OpenSSL that may take a lock, and that is nearly all: also what frees, and what asks for the list of failures.
//           Nothing is waited for inside but locks that who holds them gives back without a section of his own.
// Nesting:  is free.
// Order:    fork() takes these before the other locks of the library, for they have registered first: inside, those may be taken.
// Threads:  do not meet here but by fork().
#pragma once

namespace zlink {

class [[nodiscard]] tls_section {
public:
    /// Comes before the first section of a process, and after the initialisation of the library's static objects.
    static bool watch_fork() noexcept;

    tls_section() noexcept { enter(); }
    ~tls_section() { leave(); }
    tls_section(const tls_section &) = delete;
    tls_section &operator=(const tls_section &) = delete;

    // For locks that are a section, too.
    static void enter() noexcept;
    static void leave() noexcept;
};

/// In the middle of sections, where something is waited for that has to do with OpenSSL no more than fork() with that: a disk.
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
