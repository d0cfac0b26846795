// The commands of other threads to a socket: pipes that became readable, writable or closed, new
// pipes, the end of the context.
//
// Flow:     pipes and I/O threads post; the socket's thread takes everything at once at the start
//           of a call. The mailbox outlives its socket: what is posted to a closed one is dropped.
// Threads:  post() and withdraw() from any; the rest on the thread that holds the socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/waiter.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

/// In lines of its own: who waits for a message looks at it again and again, and what stands beside
/// it may be what the sender writes.
class alignas(64) mailbox final : public pipe_events, public std::enable_shared_from_this<mailbox> {
public:
    enum class command_kind { readable, writable, closed, attach, drain_awaited, cut, stop };
    struct command {
        command_kind kind;
        pipe_end_ptr pipe;
        bool is_local = false;  // attach: this socket connected it
    };

    void on_readable(pipe_end &end) noexcept override {
        post({command_kind::readable, end.shared_from_this()});
    }
    void on_writable(pipe_end &end) noexcept override {
        post({command_kind::writable, end.shared_from_this()});
    }
    void on_closed(pipe_end &end) noexcept override { post({command_kind::closed, end.shared_from_this()}); }
    void on_drain_awaited(pipe_end &end) noexcept override {
        post({command_kind::drain_awaited, end.shared_from_this()});
    }

    /// Queues a command and wakes the socket's thread if it waits. False when the socket is closed,
    /// or there is no memory for a pipe to be attached.
    bool post(command what) noexcept;

    /// Takes back all about a pipe that is still waiting to be attached. False once the attach was
    /// taken: nothing is done then. Does not go through what is here.
    bool withdraw(const pipe_end &pipe) noexcept;

    bool has_commands() const noexcept { return has_commands_.load(std::memory_order_acquire); }
    /// Moves all commands to `out` (which is empty) and lowers the wake-up level. False when there
    /// was no memory for some: any pipe may have become readable, writable or closed.
    bool take(std::vector<command> &out) noexcept;

    /// The descriptor that sleepers look at. Created on first use; errors of the system when it
    /// cannot be.
    error make_wakeup(waiter &how) noexcept;
    const wakeup *level() const noexcept { return wakeup_.get(); }
    /// ZMQ_FD was asked for: from now on every first command raises the level, sleeper or not.
    void keep_signalling(waiter &how) noexcept;

    /// Says that the thread is about to wait; false when there is a command already.
    bool begin_wait() noexcept;
    void end_wait() noexcept;

    /// Has `call` run whenever there may be room for a message that there was none for: a pipe was
    /// queued to be attached, or became writable. On the thread that queued the command, which may
    /// be inside a read of that very pipe's other end, and without a lock of the mailbox; at once
    /// if there is a command already. For sockets that no thread of the application looks after.
    void call_on_room(std::function<void()> call);

    /// The socket is gone: drops what is queued and all that comes, and gives the descriptor back,
    /// for sessions may keep the mailbox for long. Pipes that were to be attached are given back,
    /// to be closed.
    std::vector<command> close() noexcept;

private:
    enum class intake : std::uint8_t {
        whole,
        lossy,  // since the last take() there was no memory for some commands
        closed
    };

    void lower() noexcept;
    bool is_to_attach(const pipe_end &pipe) const noexcept;
    void drop_empty() noexcept;
    void note_index(std::size_t at) noexcept;

    std::atomic<bool> has_commands_{false};
    std::mutex mutex_;  // guards the rest
    std::shared_ptr<const std::function<void()>> on_room_;
    std::vector<command> commands_;
    std::size_t empty_ = 0;  // of these, that were withdrawn
    std::unique_ptr<wakeup> wakeup_;
    intake intake_ = intake::whole;
    // Independent: ZMQ_FD was asked for or was not, and the thread waits in either case.
    bool always_signals_ = false;
    bool is_waiting_ = false;
    bool is_signalled_ = false;  // the level is up, or is about to be
};

}  // namespace zlink
