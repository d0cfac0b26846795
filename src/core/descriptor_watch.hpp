// Waits for a descriptor where the process has none left, and is told as soon as the library closes
// one.
//
// Cost:     whoever closes one looks at a number, as long as nobody waits.
// Threads:  note_closed() any. Those who wait hear of it on the thread that closes.
// Fork:     a child knows of nobody who waits in its parent.
#pragma once

#include <atomic>

namespace zlink {

class descriptor_watch {
public:
    /// To be called by whoever has closed a descriptor of the library's: all who wait hear of it,
    /// and wait no more.
    static void note_closed() noexcept {
        if (waiting_.load(std::memory_order_relaxed) > 0)
            tell_all();
    }

    descriptor_watch() noexcept = default;
    descriptor_watch(const descriptor_watch &) = delete;
    descriptor_watch &operator=(const descriptor_watch &) = delete;

    /// False when it waits already. Otherwise one may have been closed just before.
    bool begin() noexcept;
    /// Nothing is heard of any more when it returns.
    void end() noexcept;

protected:
    /// A derived class calls end() before it ends.
    ~descriptor_watch() = default;

private:
    /// Under a lock that fork() takes, too: it neither asks for memory nor waits for anything.
    virtual void on_closed() noexcept = 0;

    static void tell_all() noexcept;
    static void look_at_generation() noexcept;
    static inline constinit std::atomic<unsigned> waiting_{0};

    // Guarded by the lock
    bool is_waiting_ = false;
    unsigned generation_ = 0;
    descriptor_watch *before_ = nullptr;
    descriptor_watch *after_ = nullptr;
};

}  // namespace zlink
