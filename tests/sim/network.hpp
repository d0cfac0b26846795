// The network of the simulator: stands in for tcp behind the contract of transports.
//
// Rules:    those of TCP. A connection carries octets each way, in order, none twice, through
//           buffers of limited size; they arrive in pieces and late. It may stall, lose one
//           direction (half-close) or be reset at any octet; what has not been read then is lost.
//           Closing with unread octets resets, and so do octets that come to a closed end.
// Faults:   by chance at each call (`fault_rates`), or on demand of the conductor; none after
//           heal().
// Hiding:   every second stream holds what a read has left behind, and its descriptor does not show
//           that.
// Lending:  a stream that is leased is read by actors, who wait for its descriptor, and left alone
//           by its loop. Each half of a stream is used by one at a time, and lives until that one
//           has left (promise 11); a stream that nobody uses gets back to its loop (promise 12).
// Writers:  what a stream did not take is written once it has room again, and nobody sleeps at one
//           that has failed, whoever sleeps where (promise 13).
// Rings:    the scheme ipc. Its streams are those of life: a local socket, and a shared ring once
//           much was written (transport/ring_io.hpp), where threads may stop between two steps, and
//           a peer that comes from nowhere may write nonsense (sim_ring.cpp). Nothing stalls there.
// Threads:  one. Everything is called from loops, actors and events of one world.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "message_meter.hpp"
#include "transport/transport.hpp"
#include "world.hpp"

namespace zlink::sim {

/// Each of a million calls, unless it says otherwise.
struct fault_rates {
    std::uint64_t one_octet = 0;     // a read or write that moves a single octet
    std::uint64_t short_count = 0;   // one that moves less than it could
    std::uint64_t not_ready = 0;     // EAGAIN after a readiness report
    std::uint64_t reset = 0;         // the connection is reset, after some octets
    std::uint64_t write_fails = 0;   // a write fails, and nothing is wrong with the connection
    std::uint64_t stall = 0;         // nothing arrives for a while
    std::uint64_t refuse = 0;        // a dial is refused
    std::uint64_t accept_error = 0;  // an accept fails
    std::uint64_t handshake_stall = 0;
    std::uint64_t lend_refused = 0;
    std::uint64_t take_back_fails = 0;
    milliseconds longest_stall{500};
};

/// Hears what becomes of the octets. Ends are named by the tags of their sockets.
class network_observer {
public:
    virtual ~network_observer() = default;
    /// `octets` written by `from` will perhaps never be read by `to`, or were read beyond its mark,
    /// because their connection ends. `excusable` are those that the buffers of a system may hold.
    /// Called for each direction of a connection that ends, also with none.
    virtual void on_break(int from, int to, int link, std::uint64_t octets, std::uint64_t excusable) = 0;
};

class network final : public transport, private descriptor_table {
public:
    network(world &owner, network_observer &observer);
    ~network() override;

    fault_rates rates;
    duration least_latency = microseconds(20);
    duration most_latency = milliseconds(2);
    std::size_t smallest_buffer = 4096;  // of one direction, both kernels together
    std::size_t largest_buffer = 262144;
    std::size_t largest_piece = 65536;  // octets that arrive together

    // ---- on demand ----

    void reset_one();
    void reset_all();
    void half_close_one();
    void stall_one(duration how_long);
    /// Nothing arrives for a while, the buffers become narrow, and then it is reset.
    void starve_one(duration how_long);
    void refuse_dials(bool on) noexcept { is_refusing_ = on; }
    /// Connects to a listener with nobody behind it: writes `octets` and goes away.
    void connect_rogue(std::vector<std::uint8_t> octets);
    /// The last fault: what stalls goes on, what fails by chance stops failing.
    void heal();

    /// Octets written and not read, of all live connections from one socket to another.
    std::uint64_t under_way(int from, int to) const;
    std::uint64_t breaks() const noexcept { return breaks_; }
    std::size_t live_connections() const;
    /// Says how often streams were leased; reads by borrowers and writes by senders.
    std::uint64_t lendings() const noexcept { return lendings_; }
    std::uint64_t reads_by_borrowers() const noexcept { return reads_by_borrowers_; }
    std::uint64_t writes_by_senders() const noexcept { return writes_by_senders_; }
    /// Connections that broke while a borrower read, or slept at it.
    std::uint64_t breaks_in_use() const noexcept { return breaks_in_use_; }
    /// Whole messages that were written to streams, and read from there, where they speak ZMTP in
    /// the clear, by the tags of the sockets that did so.
    using metered = std::map<int, message_meter::found>;
    const metered &metered_written() const noexcept { return metered_written_; }
    const metered &metered_read() const noexcept { return metered_read_; }
    /// Streams that were read from shared memory.
    std::uint64_t rings() const noexcept { return rings_; }
    std::uint64_t hostile_rings() const noexcept { return hostile_rings_; }
    const transport &local() const noexcept { return local_; }
    /// The connection that a descriptor belongs to.
    static int link_of(int descriptor) noexcept { return descriptor / 2; }
    /// Each connection has an address of its own.
    static std::string address_of(int link);
    static int link_of_address(const std::string &address);

    // ---- transport ----

    const char *scheme() const noexcept override { return "tcp"; }
    batching sizes(const tuning &knobs, const settings &options) const noexcept override {
        return tcp().sizes(knobs, options);
    }
    error check_connect(const std::string &, const settings &) const noexcept override { return error::none; }
    error make_dialer(const std::string &address, const settings &options, const batching &, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override;
    error make_listener(const std::string &address, const settings &options, const tuning &knobs, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override;

    /// The scheme ipc on the same network.
    class local_transport final : public transport {
    public:
        explicit local_transport(network &owner) noexcept : network_(owner) {}
        const char *scheme() const noexcept override { return "ipc"; }
        batching sizes(const tuning &knobs, const settings &options) const noexcept override {
            return ipc().sizes(knobs, options);
        }
        error check_connect(const std::string &, const settings &) const noexcept override {
            return error::none;
        }
        error make_dialer(const std::string &address, const settings &options, const batching &, loop &io,
                          std::unique_ptr<dialer> &out) const noexcept override;
        error make_listener(const std::string &address, const settings &options, const tuning &knobs,
                            loop &io, std::unique_ptr<listener> &out) const noexcept override;

    private:
        network &network_;
    };

    /// A socket's tag travels in an option that has no meaning to any transport built here.
    static void set_tag(settings &options, int tag) { options.socks_username = std::to_string(tag); }
    static int tag_of(const settings &options) { return std::atoi(options.socks_username.c_str()); }

private:
    friend class sim_stream;
    friend class sim_dialer;
    friend class sim_listener;
    struct link;
    struct wire;
    using link_ptr = std::shared_ptr<link>;

    short ready(int descriptor, short events) const noexcept override;
    void begin_wait(int descriptor) noexcept override;
    void end_wait(int descriptor) noexcept override;
    bool has_failed(int descriptor) const noexcept override;
    bool has_refused(int descriptor) const noexcept override;
    void look_after_lease(int descriptor, std::uint64_t lending);
    void look_after_writer(int descriptor);

    link_ptr make_link(int dialer_tag, int listener_tag, bool is_local);
    void connect_hostile_ring(const link_ptr &which, byte_span octets);
    std::size_t put(const link_ptr &which, int direction, const std::uint8_t *data, std::size_t count);
    void schedule_arrival(const link_ptr &which, int direction, std::size_t count);
    void arrive(const link_ptr &which, int direction);
    void notify(link &which, int side);
    void reset(const link_ptr &which);
    void note_end(link &which);
    void close_side(const link_ptr &which, int side);
    stream_maker maker_of(const link_ptr &which);
    void end_direction(const link_ptr &which, int direction);
    duration latency();
    link_ptr any_live();

    world &world_;
    network_observer &observer_;
    std::map<std::string, class sim_listener *> listeners_;
    std::vector<std::weak_ptr<link>> links_;
    std::map<int, class sim_stream *> streams_;          // by descriptor
    std::vector<std::unique_ptr<stream>> kept_streams_;  // planted
    local_transport local_{*this};
    metered metered_written_;
    metered metered_read_;
    std::uint64_t rings_ = 0;
    std::uint64_t hostile_rings_ = 0;
    int last_id_ = 0;
    std::uint64_t breaks_ = 0;
    std::uint64_t breaks_in_use_ = 0;
    std::uint64_t lendings_ = 0;
    std::uint64_t reads_by_borrowers_ = 0;
    std::uint64_t writes_by_senders_ = 0;
    bool is_refusing_ = false;
    bool is_healed_ = false;
};

}  // namespace zlink::sim
