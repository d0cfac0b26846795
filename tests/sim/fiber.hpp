// A function with a stack of its own, which stops in the middle and goes on later. One thread runs
// all of them.
//
// This is how a caller blocked inside the library becomes an actor: the waiter leaves the fiber,
// the world goes on, and the fiber returns from the wait when its time has come.
#pragma once

#include <cstddef>
#include <functional>
#include <ucontext.h>

namespace zlink::sim {

class fiber {
public:
    explicit fiber(std::function<void()> body);
    ~fiber();  // the body has returned, or never began
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /// Runs the body until it leaves or returns. Not from inside a fiber.
    void resume();
    /// Goes back to whoever resumed the fiber that runs now.
    static void leave();
    static bool is_inside() noexcept;
    bool has_returned() const noexcept { return has_returned_; }

private:
    static void enter();
    void *usable() const noexcept;  // the stack without its guard
    void switch_in() noexcept;
    void switch_out() noexcept;

    std::function<void()> body_;
    void *stack_;
    ucontext_t own_;
    ucontext_t caller_;
    bool has_returned_ = false;
    // Holds what the sanitizers want to know of stacks.
    void *own_fake_stack_ = nullptr;
    void *caller_fake_stack_ = nullptr;
    const void *caller_bottom_ = nullptr;
    std::size_t caller_size_ = 0;
    void *tsan_own_ = nullptr;
    void *tsan_caller_ = nullptr;
};

}  // namespace zlink::sim
