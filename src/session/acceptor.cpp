// Map: listening and its end; a connection comes: the loop it goes to; its session; what monitors are told.
#include "session/acceptor.hpp"

#include <algorithm>

#include "core/chunk.hpp"
#include "core/reason.hpp"

namespace zlink {

namespace {
/// As many as the listener accepts in one turn. Where more wait for other loops, its own takes the next, and accepts no more meanwhile.
constexpr int most_under_way = 64;
}  // namespace

acceptor::acceptor(session_environment_ptr environment, std::unique_ptr<listener> what, loop_supply &loops,
                   accept_function on_session)
    : environment_(std::move(environment)), loops_(loops), on_session_(std::move(on_session)),
      listener_(std::move(what)) {}

error acceptor::start() noexcept {
    try {
        std::function<void()> listen = [self = shared_from_this()] {
            if (self->listener_)
                self->listener_->start([weak = std::weak_ptr(self)](stream_maker accepted, error failure) {
                    if (const auto alive = weak.lock())
                        alive->on_accept(std::move(accepted), failure);
                });
        };
        emit(event_kind::listening, static_cast<std::uint32_t>(listener_->descriptor()));
        return environment_->io->post(std::move(listen));
    } catch (...) {
        return error::no_memory;
    }
}

void acceptor::close() noexcept {
    std::vector<session_environment_ptr> others;
    (void)environment_->io->post_and_wait([&] {
        if (!listener_)
            return;
        const int descriptor = listener_->descriptor();
        listener_.reset();
        others.swap(elsewhere_);
        emit(event_kind::closed, static_cast<std::uint32_t>(descriptor));
    });
    for (const auto &each : others)
        (void)each->io->post_and_wait([] {});  // behind the connections that are on their way there
}

void acceptor::on_accept(stream_maker accepted, error failure) noexcept {
    if (failed(failure)) {
        make_way_elsewhere(failure);
        tell_failure(failure);
        return;
    }
    loop *const io = loops_.choose(environment_->options.affinity);
    if (!io || io == environment_->io || !hand_over(*io, accepted))
        admit(environment_, accepted);
}

/// False when it is not for another loop.
bool acceptor::hand_over(loop &to, const stream_maker &accepted) noexcept {
    if (under_way_.load(std::memory_order_relaxed) >= most_under_way)
        return false;
    // It counts from here on: the next one may come before the session of this one is there.
    loops_.add_load(to);
    under_way_.fetch_add(1, std::memory_order_relaxed);
    try {
        if (!failed(to.post([self = shared_from_this(), at = environment_on(to), accepted] {
                self->admit(at, accepted);
                self->has_arrived(*at->io);
            })))
            return true;
    } catch (const std::bad_alloc &) {
        // Here, then.
    }
    has_arrived(to);
    return false;
}

void acceptor::has_arrived(loop &at) noexcept {
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    loops_.remove_load(at);
}

/// Throws std::bad_alloc.
session_environment_ptr acceptor::environment_on(loop &io) {
    const auto known =
        std::find_if(elsewhere_.begin(), elsewhere_.end(), [&](const auto &each) { return each->io == &io; });
    if (known != elsewhere_.end())
        return *known;
    auto made = std::make_shared<session_environment>(*environment_);
    made->io = &io;
    return elsewhere_.emplace_back(std::move(made));
}

/// On the loop of `at`.
void acceptor::admit(const session_environment_ptr &at, const stream_maker &accepted) noexcept {
    try {
        std::unique_ptr<stream> bytes;
        if (const error e = accepted(*at->io, bytes); failed(e)) {
            tell_failure(e);
            return;
        }
        environment_->events->emit_reason(reason::take(), 0, environment_->endpoint);
        emit(event_kind::accepted, static_cast<std::uint32_t>(bytes->descriptor()));
        const auto made = session::accepted(at, std::move(bytes));
        if (on_session_(made))
            (void)made->start();
    } catch (...) {
        tell_failure(error::no_memory);
    }
}

void acceptor::tell_failure(error why) noexcept {
    if (why == error::no_memory)
        chunk_pool::give_up_idle();  // the next peer may find some
    environment_->events->emit_reason(reason::take(), to_errno(why), environment_->endpoint);
    emit(event_kind::accept_failed, static_cast<std::uint32_t>(to_errno(why)));
}

/// The listener has asked its own loop for descriptors, and tries again after a pause.
void acceptor::make_way_elsewhere(error failure) noexcept {
    for (const auto &each : elsewhere_)
        try {
            (void)each->io->post(
                [at = each, failure] { (void)at->io->sheddables.makes_way_after(to_errno(failure)); });
        } catch (const std::bad_alloc &) {
            // Next time.
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
