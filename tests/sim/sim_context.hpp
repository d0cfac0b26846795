// The composition root of the simulator: what `context` is in life, with the world's loops,
// network, clock and waiter.
//
// One object stands for one process. Terminating it ends every blocked call, as zmq_ctx_term does.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "careless_judge.hpp"
#include "context/endpoints.hpp"
#include "context/inproc.hpp"
#include "context/zap_client.hpp"
#include "core/tuning.hpp"
#include "network.hpp"
#include "socket/socket.hpp"
#include "world.hpp"

namespace zlink::sim {

/// The time as the library reads it: while a thread asks, others go on.
class switching_clock final : public clock_source {
public:
    explicit switching_clock(world &owner) noexcept : world_(owner) {}
    time_point now() const noexcept override {
        world_.may_switch();
        return world_.now();
    }

private:
    world &world_;
};

class sim_context final : private endpoint_service, private session_count, private io_supply {
public:
    sim_context(world &owner, network &net, std::size_t loops, const tuning &knobs);

    /// `takes_part`: else it serves the run, and is not among counts().
    std::unique_ptr<socket> make_socket(settings options, bool takes_part = true);
    void close_socket(std::unique_ptr<socket> what) noexcept;
    void shutdown() noexcept;
    /// Blocks the calling actor until all is over.
    void terminate() noexcept;

    /// The sums of its counters, after terminate(), where they do not agree: over inproc each
    /// message that was sent was received, or is counted as lost, once.
    std::string unaccounted() const;
    const counters &counts() const noexcept { return *counts_; }
    /// Parts of these: those of PUBs, of XPUBs, and of all others.
    enum class group { pub, xpub, others };
    static group group_of(socket_type type) noexcept {
        return type == socket_type::pub    ? group::pub
               : type == socket_type::xpub ? group::xpub
                                           : group::others;
    }
    const counters &counts_of(group which) const noexcept {
        return *counts_of_[static_cast<std::size_t>(which)];
    }

    /// Whole messages that its application has given to sockets, and taken from them.
    struct traffic {
        std::uint64_t given = 0;
        std::uint64_t taken = 0;           // but from XPUBs
        std::uint64_t taken_upstream = 0;  // from XPUBs, and no notices
        std::uint64_t half_given = 0;      // that the end of the context has cut

        void note_taken(socket_type from, std::size_t parts, byte_span first) noexcept {
            const bool is_notice = parts == 1 && !first.empty() && first[0] <= 1;
            if (from != socket_type::xpub)
                ++taken;
            else if (!is_notice)
                ++taken_upstream;
        }
    };
    traffic &of_application() noexcept { return of_application_; }
    const traffic &of_application() const noexcept { return of_application_; }

    bool is_terminating() const noexcept { return is_terminating_; }
    std::size_t live_sessions() const noexcept { return live_sessions_; }
    /// Chunks and queues that still exist, when the loops have run for the last time.
    long pool_users() noexcept {
        for (sim_loop *io : loops_)
            io->scratch.reset();
        return pool_.use_count() - 2;  // this object and its inproc names
    }

private:
    error bind(socket &self, const std::string &endpoint, std::string &actual) override;
    error connect(socket &self, const std::string &endpoint, std::string &actual) override;
    error unbind(socket &self, const std::string &endpoint) override { return remove(self, endpoint); }
    error disconnect(socket &self, const std::string &endpoint) override { return remove(self, endpoint); }
    error remove(socket &self, const std::string &endpoint);
    error list_peers(const socket &, std::vector<peer_view> &) override { return error::none; }
    error cut_peer(socket &, std::uint64_t) override { return error::no_entry; }
    void stop_listening(socket &self) noexcept override;
    void close_all(socket &self) noexcept override;
    error make_monitor_socket(const std::string &endpoint, std::unique_ptr<socket> &out) override;
    void session_began() noexcept override { ++live_sessions_; }
    void session_ended() noexcept override;
    loop *choose(std::uint64_t) noexcept override;
    void add_load(loop &) noexcept override { ++load_; }
    void remove_load(loop &) noexcept override { --load_; }
    const transport *find(std::string_view scheme) noexcept override {
        return scheme == "ipc" ? &network_.local() : scheme == "tcp" ? &network_ : nullptr;
    }
    inproc_side side_of(socket &self);

    world &world_;
    network &network_;
    tuning knobs_;
    switching_clock clock_{world_};
    std::vector<sim_loop *> loops_;
    std::shared_ptr<chunk_pool> pool_ = chunk_pool::make();
    inproc_names inproc_{pool_, batching{}};
    const std::shared_ptr<counters> counts_ = std::make_shared<counters>();
    const std::array<std::shared_ptr<counters>, 3> counts_of_{std::make_shared<counters>(counts_),
                                                              std::make_shared<counters>(counts_),
                                                              std::make_shared<counters>(counts_)};
    const std::shared_ptr<counters> counts_of_judges_ = std::make_shared<counters>();
    zap_client judges_{inproc_};
    careless_judge careless_judges_{world_, judges_};  // planted
    std::map<const socket *, std::shared_ptr<endpoints>> sockets_;
    std::size_t live_sessions_ = 0;
    std::size_t load_ = 0;
    bool is_terminating_ = false;
    traffic of_application_;
    sim_wakeup end_level_;
};

}  // namespace zlink::sim
