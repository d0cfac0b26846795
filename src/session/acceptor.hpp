// Listens on one endpoint and makes a session of every stream that comes in.
//
// Threads:  make and close on the application's thread; the rest on the listener's loop.
// Owns:     the listener.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "session/session.hpp"

namespace zlink {

class acceptor final : public std::enable_shared_from_this<acceptor> {
public:
    /// Called on the loop's thread with a session that has not been started yet; it is dropped when this returns false.
    using accept_function = std::function<bool(const std::shared_ptr<session> &)>;

    /// `environment` is what each session is made from; its endpoint is the listener's, wild cards resolved.
    acceptor(session_environment_ptr environment, std::unique_ptr<listener> what, accept_function on_session);

    error start() noexcept;
    /// Stops listening and frees the address before it returns. Not from a loop thread.
    void close() noexcept;

    const std::string &endpoint() const noexcept { return environment_->endpoint; }

private:
    void on_accept(std::unique_ptr<stream> bytes, error failure) noexcept;
    void emit(event_kind kind, std::uint32_t value) noexcept;

    const session_environment_ptr environment_;
    std::unique_ptr<listener> listener_;
    accept_function on_session_;
};

}  // namespace zlink
