// Listens on one endpoint and makes a session of every connection that comes in, on the loop with
// the least to do.
//
// Threads:  make and close on the application's thread; the listener lives on its loop, and each
//           session on its own.
// Owns:     the listener.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reactor/loop_supply.hpp"
#include "session/session.hpp"

namespace zlink {

class acceptor final : public std::enable_shared_from_this<acceptor> {
public:
    /// Called on the thread of the session's loop before it is started; it is dropped when this
    /// returns false.
    using accept_function = std::function<bool(const std::shared_ptr<session> &)>;

    /// `environment` is what each session is made from; its endpoint is the listener's, wild cards
    /// resolved, and its loop too. `loops`, which outlives it, has the others.
    acceptor(session_environment_ptr environment, std::unique_ptr<listener> what, loop_supply &loops,
             accept_function on_session);
    acceptor(const acceptor &) = delete;
    acceptor &operator=(const acceptor &) = delete;
    ~acceptor();

    /// `doubts`: what may be wrong with the listener, and does not keep it from listening.
    error start(std::string doubts) noexcept;
    /// Stops listening and frees the address before it returns: no further session comes of it
    /// then. Not from a loop thread.
    void close() noexcept;

    const std::string &endpoint() const noexcept { return environment_->endpoint; }

private:
    void on_accept(stream_maker accepted, error failure) noexcept;
    bool hand_over(loop &to, const stream_maker &accepted) noexcept;
    void has_arrived(loop &at) noexcept;
    session_environment_ptr environment_on(loop &io);
    void admit(const session_environment_ptr &at, const stream_maker &accepted) noexcept;
    void tell_failure(error why) noexcept;
    void make_way_elsewhere(std::size_t from) noexcept;
    void answer(std::size_t from, bool has_made_way) noexcept;

    // Constant after construction
    const session_environment_ptr environment_;
    loop_supply &loops_;
    const accept_function on_session_;

    // Any thread
    std::atomic<int> under_way_{0};  // connections that other loops have not looked at yet

    // Listener's loop only
    std::unique_ptr<listener> listener_;
    std::vector<session_environment_ptr> elsewhere_;  // of the sessions on other loops, one each
};

}  // namespace zlink
