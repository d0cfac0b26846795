#include "session/acceptor.hpp"

#include "core/chunk.hpp"
#include "core/reason.hpp"

namespace zlink {

acceptor::acceptor(session_environment_ptr environment, std::unique_ptr<listener> what,
                   accept_function on_session)
    : environment_(std::move(environment)), listener_(std::move(what)), on_session_(std::move(on_session)) {}

error acceptor::start() noexcept {
    try {
        std::function<void()> listen = [self = shared_from_this()] {
            if (self->listener_)
                self->listener_->start(
                    [weak = std::weak_ptr(self)](std::unique_ptr<stream> bytes, error failure) {
                        if (const auto alive = weak.lock())
                            alive->on_accept(std::move(bytes), failure);
                    });
        };
        emit(event_kind::listening, static_cast<std::uint32_t>(listener_->descriptor()));
        return environment_->io->post(std::move(listen));
    } catch (...) {
        return error::no_memory;
    }
}

void acceptor::close() noexcept {
    (void)environment_->io->post_and_wait([this] {
        if (!listener_)
            return;
        const int descriptor = listener_->descriptor();
        listener_.reset();
        emit(event_kind::closed, static_cast<std::uint32_t>(descriptor));
    });
}

void acceptor::on_accept(std::unique_ptr<stream> bytes, error failure) noexcept {
    environment_->events->emit_reason(reason::take(), to_errno(failure), environment_->endpoint);
    if (failed(failure)) {
        if (failure == error::no_memory)
            chunk_pool::give_up_idle();  // the next peer may find some
        emit(event_kind::accept_failed, static_cast<std::uint32_t>(to_errno(failure)));
        return;
    }
    emit(event_kind::accepted, static_cast<std::uint32_t>(bytes->descriptor()));
    try {
        const auto made = session::accepted(environment_, std::move(bytes));
        if (on_session_(made))
            (void)made->start();
    } catch (...) {
        chunk_pool::give_up_idle();
        emit(event_kind::accept_failed, static_cast<std::uint32_t>(to_errno(error::no_memory)));
    }
}

/// Of a failure; or of what is not as it should be, but does not keep a peer out.
void acceptor::emit(event_kind kind, std::uint32_t value) noexcept {
    try {
        environment_->events->emit({kind, value, environment_->endpoint});
    } catch (...) {
    }
}

}  // namespace zlink
