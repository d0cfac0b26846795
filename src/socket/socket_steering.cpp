// The calls that steer a socket: they wait for peers, or until all that was sent has gone out, and
// end the connection to a peer.
#include <algorithm>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "socket/one_wait.hpp"
#include "socket/socket.hpp"

namespace zlink {

/// Calls `attempt()` whenever commands were taken in, until it has something else to say than
/// `again`, or the time is up. It has to arm what it waits for before it looks. While
/// `may_miss_news` it is called by itself, too, more and more seldom.
template <class Attempt>
error socket::wait_for_news(long timeout_ms, Attempt &&attempt, const bool &may_miss_news) {
    constexpr std::chrono::milliseconds longest_pause{128};
    platform::end_if_cancelled();
    const auto look = [&](bool) {
        const error e = pipes_.enter();
        return failed(e) ? e : attempt();
    };
    error result = look(true);
    if (result == error::again && timeout_ms != 0) {
        borrower::return_all(pipes_.live());  // nobody else reads what is leased to this thread
        watched self{this, -1, 0, 0};
        one_wait wait(self);
        const time_point deadline = deadline_in(timeout_ms);
        std::chrono::milliseconds pause{1};
        time_point until;
        do {
            until = may_miss_news ? std::min(deadline, environment_.clock.now() + pause) : deadline;
            pause = std::min(pause * 2, longest_pause);
            result = wait.go_on(until, look);
        } while (result == error::again && until < deadline);
    }
    pipes_.raise_exported();
    return result;
}

std::size_t socket::count_ready(readiness what) const noexcept {
    if (what == readiness::subscribers)
        return static_cast<std::size_t>(std::max(pattern_->subscribers_count(), 0));
    const auto live = pipes_.live();
    return static_cast<std::size_t>(
        std::count_if(live.begin(), live.end(), [](const pipe_end_ptr &pipe) { return pipe->has_peer(); }));
}

error socket::wait_ready(readiness what, std::size_t wanted, long timeout_ms) {
    if (what == readiness::subscribers && pattern_->subscribers_count() < 0)
        return error::invalid;
    const auto attempt = [&] {
        for (const pipe_end_ptr &pipe : pipes_.live())
            pipe->await_peer();
        return count_ready(what) >= wanted ? error::none : error::again;
    };
    return wait_for_news(timeout_ms, attempt, false);
}

namespace {

/// The messages in a pipe when a drain begins.
class draining_pipe {
public:
    explicit draining_pipe(pipe_end_ptr pipe) noexcept
        : pipe_(std::move(pipe)), before_(pipe_->outgoing()), waiting_(before_.under_way().messages) {}

    pipe_end &pipe() const noexcept { return *pipe_; }
    bool is_gone() const noexcept { return !pipe_->slot.is_attached() || pipe_->is_peer_closed(); }
    void add_to(socket::drained &sum) const noexcept {
        const bool gone = is_gone();  // before what it has taken is looked at: it takes no more
        const passage now = pipe_->outgoing();
        const std::uint64_t sent = std::min(now.taken.messages - before_.taken.messages, waiting_);
        const std::uint64_t replaced = std::min(now.replaced - before_.replaced, waiting_ - sent);
        const std::uint64_t rest = waiting_ - sent - replaced;
        sum.sent += sent;
        sum.lost += replaced + (gone ? rest : 0);
        sum.left += gone ? 0 : rest;
    }

private:
    pipe_end_ptr pipe_;
    passage before_;
    std::uint64_t waiting_;
};

}  // namespace

error socket::drain(long timeout_ms, drained &out) {
    if (const error e = pipes_.enter(); failed(e))
        return e;
    std::vector<draining_pipe> pipes;
    pipes.reserve(pipes_.size());
    for (const pipe_end_ptr &pipe : pipes_.live())
        pipes.emplace_back(pipe);
    const finally over([&] {
        for (const draining_pipe &each : pipes)
            each.pipe().end_drain();
    });
    // A reader of the process that goes the short way may have found no command just before it was
    // asked to tell of each message, and never look again.
    bool may_miss_news = false;
    const auto attempt = [&] {
        bool is_all_out = true;
        may_miss_news = false;
        for (const draining_pipe &each : pipes) {
            if (each.is_gone())
                continue;
            each.pipe().await_drain();
            if (each.pipe().is_all_out())
                continue;
            is_all_out = false;
            may_miss_news = may_miss_news || each.pipe().other_kind() == end_kind::socket;
        }
        return is_all_out ? error::none : error::again;
    };
    const error result = wait_for_news(timeout_ms, attempt, may_miss_news);
    out = {};
    for (const draining_pipe &each : pipes)
        each.add_to(out);
    return result;
}

error socket::cut_peer(std::uint64_t id) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    const error e = pipes_.end_neighbour(id);
    return e == error::no_entry ? environment_.endpoints.cut_peer(*this, id) : e;
}

}  // namespace zlink
