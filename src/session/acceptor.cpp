// A bound endpoint, and the sessions of those who come. See acceptor.hpp.
//
// Map: listening and its end; a connection comes: the loop it goes to; its session; where
//      descriptors have run out.
#include "session/acceptor.hpp"

#include <algorithm>

#include "core/reason.hpp"
#include "memory/chunk.hpp"

namespace zlink {

acceptor::acceptor(session_environment_ptr environment, std::unique_ptr<listener> what, loop_supply &loops,
                   accept_function on_session)
    : environment_(std::move(environment)), loops_(loops), on_session_(std::move(on_session)),
      listener_(std::move(what)) {
    environment_->add_descriptors(1);
}

acceptor::~acceptor() {
    if (listener_)
        environment_->add_descriptors(-1);
}

error acceptor::start(std::string doubts) noexcept {
    try {
        // Made here, where somebody hears of it when memory is short.
        const auto handler =
            std::make_shared<accept_handler>([weak = weak_from_this()](stream_maker accepted, error failure) {
                if (const auto alive = weak.lock())
                    alive->on_accept(std::move(accepted), failure);
            });
        std::function<void()> listen = [self = shared_from_this(), handler] {
            if (self->listener_)
                self->listener_->start(std::move(*handler));
        };
        environment_->emit(event_kind::listening, static_cast<std::uint32_t>(listener_->descriptor()),
                           std::move(doubts));
        return environment_->io->post(std::move(listen));
    } catch (...) {
        return error::no_memory;
    }
}

void acceptor::close() noexcept {
    struct {
        int descriptor = -1;
        std::vector<session_environment_ptr> elsewhere;
    } left;
    // Two pointers, which need no memory.
    (void)environment_->io->post_and_wait([this, &left] {
        if (!listener_)
            return;
        left.descriptor = listener_->descriptor();
        listener_.reset();
        environment_->add_descriptors(-1);
        left.elsewhere.swap(elsewhere_);
    });
    for (const auto &each : left.elsewhere)
        (void)each->io->post_and_wait([] {});  // behind the connections that are on their way there
    if (left.descriptor >= 0)
        environment_->emit(event_kind::closed, static_cast<std::uint32_t>(left.descriptor));
}

void acceptor::on_accept(stream_maker accepted, error failure) noexcept {
    if (failed(failure)) {
        if (is_want_of_descriptors(to_errno(failure)))
            make_way_elsewhere(0);
        tell_failure(failure);
        return;
    }
    loop *const io = loops_.choose(environment_->options.affinity);
    if (!io || io == environment_->io || !hand_over(*io, accepted))
        admit(environment_, accepted);
}

/// False when it has to be admitted here.
bool acceptor::hand_over(loop &to, const stream_maker &accepted) noexcept {
    if (under_way_.load(std::memory_order_relaxed) >= listener::most_connections_per_round)
        return false;  // they come faster than the other loops take them
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
        if (std::string why; environment_->permission && !environment_->permission->holds(why)) {
            reason::leave(std::move(why));
            tell_failure(error::not_permitted);
            return;
        }
        std::unique_ptr<stream> bytes;
        if (const error e = accepted(*at->io, bytes); failed(e)) {
            tell_failure(e);
            return;
        }
        environment_->emit(event_kind::accepted, static_cast<std::uint32_t>(bytes->descriptor()),
                           reason::take(), error::none, environment_->names_of(*bytes));
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
    std::string words = reason::take();
    try {
        if (words.empty())
            words = std::string("cannot accept a connection: ") + describe(to_errno(why));
    } catch (const std::bad_alloc &) {
        // The event has to do.
    }
    environment_->emit(event_kind::accept_failed, static_cast<std::uint32_t>(to_errno(why)), std::move(words),
                       why);
}

/// The listener has asked its own loop for a descriptor, and makes a pause. Asks the others, one
/// after the other, until one has given one up.
void acceptor::make_way_elsewhere(std::size_t from) noexcept {
    if (!listener_ || from >= elsewhere_.size())
        return;
    try {
        (void)elsewhere_[from]->io->post([self = shared_from_this(), at = elsewhere_[from], from] {
            self->answer(from, at->io->sheddables.makes_way());
        });
    } catch (const std::bad_alloc &) {
        // After the next pause, then.
    }
}

/// On another loop, which was asked.
void acceptor::answer(std::size_t from, bool has_made_way) noexcept {
    try {
        (void)environment_->io->post([self = shared_from_this(), has_made_way, from] {
            if (!has_made_way)
                self->make_way_elsewhere(from + 1);
            else if (self->listener_)
                self->listener_->go_on();
        });
    } catch (const std::bad_alloc &) {
        // Short of memory it goes on without, as above.
    }
}

}  // namespace zlink
