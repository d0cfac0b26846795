// An object that the library keeps for a thread, its own or the application's, until that thread
// ends.
//
// Why:      a thread_local object with a destructor is noted at its first use, and the C library
//           ends the process where it has no memory for that. So no thread_local of the library's
//           has one: the test abi_hardening looks for them.
// When:     behind the destructors of the application's thread_locals, which may still use the
//           library; what comes to be during that is ended in one more round. For the first thread
//           of a process, when it ends by pthread_exit only.
// Loading:  the library stays loaded from the first on.
#pragma once

#include <memory>
#include <new>
#include <type_traits>

namespace zlink {

class end_of_thread {
public:
    /// Does something once a thread: a constinit thread_local. Called again for one that has run it
    /// does so once more.
    struct duty {
        void (*const run)() noexcept;
        duty *next = nullptr;
        bool is_awaited = false;
    };
    /// False when the system refuses: then nothing may be kept that has to be given back.
    static bool awaits(duty &one) noexcept;
    /// Comes early for a thread of the library's own: before the C library calls what others have
    /// to do at the end of a thread.
    static void come() noexcept;
};

/// The one object of this type that a thread has, made when it is first asked for.
template <class T>
class of_thread {
public:
    /// Null when memory is short.
    static T *get() noexcept {
        static_assert(std::is_nothrow_default_constructible_v<T>);
        if (object_)
            return object_;
        std::unique_ptr<T> made(new (std::nothrow) T);
        if (made && end_of_thread::awaits(end_))
            object_ = made.release();
        return object_;
    }
    /// Null when there is none yet.
    static T *find() noexcept { return object_; }

private:
    static void end() noexcept {
        delete object_;
        object_ = nullptr;
    }

    static constinit inline thread_local T *object_ = nullptr;
    static constinit inline thread_local end_of_thread::duty end_{&end};
};

}  // namespace zlink
