// A stream over a local socket, which goes through shared memory where much is sent from one zlink
// to another.
#pragma once

#include "core/platform.hpp"
#include "reactor/deferred_call.hpp"
#include "transport/ring_io.hpp"
#include "transport/socket_stream.hpp"

namespace zlink {

/// Threads: as socket_stream; who reads after another one, or writes, has got the read lease or the
///          write turn from that one.
class ipc_stream final : public socket_stream {
public:
    /// Takes the descriptor over in any case. `ring_size`: octets of shared memory to offer to a
    /// peer of the same user; 0: none, and none is accepted.
    static error make(loop &io, owned_descriptor socket, std::size_t ring_size,
                      std::unique_ptr<stream> &out) noexcept;

    ~ipc_stream() override;

    io_result try_read(std::span<const iovec> ranges) noexcept override {
        return input_.read(descriptor(), ranges);
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        return output_.write(descriptor(), ranges);
    }
    bool holds_input() const noexcept override { return input_.may_hold_octets(); }
    void wait_readable() noexcept override;
    bool lease_out() noexcept override;

private:
    ipc_stream(loop &io, std::size_t ring_size, bool brings_descriptors)
        : socket_stream({}), output_(ring_size), input_(ring_size > 0, brings_descriptors),
          again_(io, [this] { report_readable(); }) {}

    ring_output output_;
    ring_input input_;
    deferred_call again_;  // for input that the socket does not show
    const unsigned generation_ = platform::fork_generation();
};

}  // namespace zlink
