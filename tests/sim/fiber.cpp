#include "fiber.hpp"

#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace zlink::sim {

namespace {

// Address space; memory follows use. AddressSanitizer looks at all of it with each switch.
constexpr std::size_t stack_size = 256 * 1024;
constexpr std::size_t guard_size = 4096;

fiber *running = nullptr;

/// Stacks are used again: a run has few actors, a test many runs.
struct stack_store {
    std::vector<void *> free;
    ~stack_store() {
        for (void *stack : free)
            munmap(stack, stack_size);
    }
    void *take() {
        if (!free.empty()) {
            void *stack = free.back();
            free.pop_back();
            return stack;
        }
        void *stack = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED || mprotect(stack, guard_size, PROT_NONE) != 0)
            throw std::bad_alloc();
        return stack;
    }
};
stack_store stacks;

}  // namespace

fiber::fiber(std::function<void()> body) : body_(std::move(body)), stack_(stacks.take()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = usable();
    own_.uc_stack.ss_size = stack_size - guard_size;
    own_.uc_link = nullptr;
    makecontext(&own_, &fiber::enter, 0);
#ifdef __SANITIZE_THREAD__
    tsan_own_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(tsan_own_);
#endif
    stacks.free.push_back(stack_);
}

void *fiber::usable() const noexcept { return static_cast<std::byte *>(stack_) + guard_size; }

bool fiber::is_inside() noexcept { return running != nullptr; }

void fiber::resume() {
    running = this;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&caller_fake_stack_, usable(), stack_size - guard_size);
#endif
#ifdef __SANITIZE_THREAD__
    tsan_caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_own_, 0);
#endif
    swapcontext(&caller_, &own_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
    running = nullptr;
}

void fiber::leave() {
    fiber *self = running;
    self->switch_out();
    self->switch_in();
}

/// Just after the stack has become this fiber's.
void fiber::switch_in() noexcept {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_bottom_, &caller_size_);
#endif
}

void fiber::switch_out() noexcept {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(has_returned_ ? nullptr : &own_fake_stack_, caller_bottom_, caller_size_);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
    swapcontext(&own_, &caller_);
}

void fiber::enter() {
    fiber *self = running;
    self->switch_in();
    self->body_();
    self->body_ = nullptr;
    self->has_returned_ = true;
    self->switch_out();
    std::abort();  // nobody resumes a fiber that has returned
}

}  // namespace zlink::sim
