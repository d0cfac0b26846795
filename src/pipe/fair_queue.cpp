// Pipes that come and go; reading is in the header, for its owner to be inlined; see
// fair_queue.hpp.
#include "pipe/fair_queue.hpp"

namespace zlink {

void fair_queue::attach_in_message(pipe_end &pipe) {
    turns_.add(pipe);
    turns_.make_current(pipe);
    reading_ = last_ = &pipe;
}

void fair_queue::detach(pipe_end &pipe) noexcept {
    if (!turns_.has(pipe))
        return;
    turns_.remove(pipe);
    forget(pipe);
}

bool fair_queue::end_if_drained(pipe_end &pipe) noexcept {
    pipe.slot.note_ending();
    if (!turns_.has(pipe))
        return true;
    if (is_reading(pipe) || pipe.has_input()) {
        turns_.activate(pipe);
        return false;
    }
    detach(pipe);
    return true;
}

void fair_queue::forget(pipe_end &pipe) noexcept {
    if (reading_ == &pipe)
        reading_ = nullptr;
    if (last_ == &pipe) {
        if (has_front_)
            pipe.slot.note_in_vain(front_);
        last_ = nullptr;
        has_front_ = false;
    }
}

}  // namespace zlink
