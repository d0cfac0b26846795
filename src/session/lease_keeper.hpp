// Whose the reading half of a connection is: the loop's thread, or by a lease the socket's
// (pipe/connection_port.hpp).
//
// Grants:   when the socket's thread asks and the connection may, it goes out until it is called
//           back, or has not been used for a while.
// Access:   reading() is the only way to the reading half on the loop's thread, and null while a
//           lease is out; the thread that uses the lease has a `reading` (pipe/reading.hpp).
// Returns:  each return ends with lease_events::on_reading_back(), before the call that brought it
//           about has come to its end.
// Threads:  the loop's.
#pragma once

#include <cstdint>
#include <memory>

#include "pipe/pipe.hpp"
#include "reactor/loop.hpp"
#include "session/inbound.hpp"
#include "session/outbound.hpp"
#include "transport/transport.hpp"

namespace zlink {

class lease_events {
public:
    virtual ~lease_events() = default;
    /// The reading half is the loop's again. `failure`: the stream is of no more use.
    virtual void on_reading_back(inbound &in, error failure) noexcept = 0;
    /// It came back by itself, outside of any call of the owner, and on_reading_back() has been
    /// called.
    virtual void on_lease_over() noexcept = 0;
};

class lease_keeper final {
public:
    /// All outlive it.
    lease_keeper(const connection_environment &environment, stream &bytes, outbound &out,
                 lease_events &events) noexcept
        : io_(*environment.io), stream_(bytes), in_(environment, bytes), out_(out), events_(events) {}

    /// The pipe is there whose socket may ask. It outlives the keeper.
    void open(pipe_end &pipe) noexcept;

    inbound *reading() noexcept { return is_out_ ? nullptr : &in_; }
    /// For a `reading` of the socket's thread.
    reading_half &leased_half() noexcept { return in_; }

    /// Takes note of what the socket's thread has done: that it ended its use, or has left. True
    /// when it asks for a lease: then grant() or refuse().
    bool tend() noexcept;
    void grant() noexcept;
    void refuse() noexcept { pipe_->lease().refuse(); }
    /// Does reading(); while a lease is out it is called back, and the socket's thread has tend()
    /// called when it has left.
    inbound *recall() noexcept;
    /// Does recall() at the end, without any event, and without waking anybody.
    bool recall_quietly() noexcept { return !is_out_ || pipe_->lease().recall(); }

private:
    struct facts;

    void take_back() noexcept;
    void watch() noexcept;
    void watch_anew() noexcept;
    void on_time() noexcept;

    loop &io_;
    stream &stream_;
    inbound in_;
    outbound &out_;
    lease_events &events_;
    pipe_end *pipe_ = nullptr;
    bool is_out_ = false;  // the loop keeps its hands off the stream
    std::unique_ptr<timer> timer_;
    std::uint32_t uses_seen_ = 0;
    std::uint32_t more_looks_ = 0;
};

}  // namespace zlink
