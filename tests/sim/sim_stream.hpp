// One end of a connection of the simulator's network, and the connection; see network.hpp.
#pragma once

#include <deque>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

#include "message_meter.hpp"
#include "mutator.hpp"
#include "network.hpp"
#include "nonce_watch.hpp"
#include "sim_ring.hpp"

namespace zlink::sim {

/// At a stream that has failed: no timer is waited for.
inline constexpr milliseconds longest_sleep{5};

/// One direction of a connection.
struct network::wire {
    struct mark {
        time_point arrival;
        std::size_t octets;
    };
    std::vector<std::uint8_t> data;  // written and not read
    std::size_t head = 0;            // read of `data`
    std::size_t arrived = 0;         // readable, from `head`
    // Read once the reader's own writing had failed: that may go beyond its mark.
    std::size_t taken_last = 0;
    std::deque<mark> marks;  // the rest
    time_point last_arrival{};
    std::size_t capacity = 0;
    bool is_ending = false;           // nothing more is written
    bool has_ended = false;           // and the reader knows
    std::unique_ptr<mutator> alters;  // planted
    std::unique_ptr<nonce_watch> numbers;
    message_meter at_writer;
    message_meter at_reader;
    std::uint64_t written = 0;  // to a local socket or its ring, and
    std::uint64_t taken = 0;    // read from there

    std::size_t unread() const noexcept {
        return data.size() - head + static_cast<std::size_t>(written - taken);
    }
    std::size_t room() const noexcept { return unread() < capacity ? capacity - unread() : 0; }
};

/// A connection. Direction 0 is from the dialer (side 0) to the listener (side 1); direction 1 the
/// other way.
struct network::link {
    int id = 0;
    int tags[2] = {0, 0};
    wire wires[2];
    class sim_stream *ends[2] = {nullptr, nullptr};
    bool is_closed[2] = {false, false};
    bool is_reset = false;
    bool has_ended = false;  // the observer knows
    std::string address;
    bool is_local = false;
    bool is_rogue = false;        // nobody of ours dials
    owned_descriptor sockets[2];  // of a local one

    bool shows(int side, short events) const noexcept {
        return local_events(sockets[side].get(), events) != 0;
    }
};

class sim_stream final : public stream {
public:
    sim_stream(network &owner, network::link_ptr which, int side, sim_loop &io)
        : network_(owner), link_(std::move(which)), side_(side), loop_(io),
          hides_((link_->id + side) % 2 == 0), ring_(link_->is_local ? sim_ring_size : 0),
          readable_(io,
                    [this] {
                        const scarce_memory here(network_.world_.next_failure());
                        events_->on_stream_readable();
                    }),
          writable_(io, [this] { events_->on_stream_writable(); }) {
        link_->ends[side_] = this;
        network_.streams_[descriptor()] = this;
        ++network_.world_.live_streams;
    }
    ~sim_stream() override {
        const plenty_of_memory for_the_simulator;
        if (is_reading_ || is_writing_ || waiters_ > 0)
            complain("is closed under somebody who uses it");
        link_->ends[side_] = nullptr;
        network_.streams_.erase(descriptor());
        network_.close_side(link_, side_);
        --network_.world_.live_streams;
    }
    void set_events(stream_events *events) noexcept override { events_ = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override;
    io_result try_write(std::span<const iovec> ranges) noexcept override;
    void wait_readable() noexcept override {
        const plenty_of_memory for_the_simulator;
        check_loop();
        wants_read_ = true;
        report();
    }
    void wait_writable() noexcept override {
        const plenty_of_memory for_the_simulator;
        check_loop();
        wants_write_ = true;
        report();
    }
    std::size_t unconfirmed() noexcept override {
        return link_->is_local || has_gone() || link_->is_reset ? 0 : out().unread();
    }
    bool finish_writing() noexcept override;
    bool lease_out() noexcept override;
    error take_back() noexcept override;
    bool holds_input() const noexcept override { return is_hidden_; }
    int descriptor() const noexcept override { return 2 * link_->id + side_; }
    /// Its connection is over: nobody looks at what is read from here on.
    std::unique_ptr<stream> release_inner() noexcept override {
        is_over_ = true;
        return nullptr;
    }
    std::string peer_address() const override { return network::address_of(link_->id); }
    std::string local_endpoint() const override { return "tcp://192.0.2.2:1"; }
    std::string remote_endpoint() const override { return "tcp://192.0.2.1:1"; }

    /// Queues the calls that are due.
    void report() noexcept {
        if (is_deaf_)
            return;
        if (wants_read_ && (is_hidden_ || shows_input())) {
            wants_read_ = false;
            readable_.queue();
        }
        if (wants_write_ && shows_room()) {
            wants_write_ = false;
            writable_.queue();
        }
    }

    // ---- for borrowers ----

    short ready(short events) const noexcept;
    void begin_wait() noexcept {
        if (!is_leased_)
            complain("is waited for by somebody it is not leased to");
        if (waiters_++ == 0)
            wait_began_ = network_.world_.now();
    }
    void end_wait() noexcept {
        --waiters_;
        last_use_ = network_.world_.now();
    }
    bool is_lent(std::uint64_t lending) const noexcept { return is_leased_ && lending_ == lending; }
    bool is_lent_and_used() const noexcept { return is_leased_ && is_in_use(); }
    bool is_in_use() const noexcept { return waiters_ > 0 || is_reading_; }
    time_point last_use() const noexcept { return last_use_; }
    /// Whether somebody sleeps at it who should not: promise 13. False when there is nothing to
    /// look after.
    bool check_writer() noexcept;
    bool has_failed() const noexcept { return has_failed_; }
    bool has_refused() const noexcept { return is_refused_; }

private:
    void note_write(std::size_t wanted, const io_result &result) noexcept;
    bool is_metered() const noexcept;
    void meter_written(byte_span octets);
    void meter_read(byte_span octets);
    io_result read_now(std::span<const iovec> ranges) noexcept;
    io_result write_now(std::span<const iovec> ranges) noexcept;
    void complain(const char *what) {
        network_.world_.violate(promise::one_at_a_time,
                                "stream " + std::to_string(descriptor()) + " " + what);
    }
    void stall(const char *what) {
        network_.world_.violate(promise::goes_on, "stream " + std::to_string(descriptor()) + " " + what);
    }
    /// Only the loop may do this, and not while the stream is leased.
    void check_loop() {
        if (!network_.world_.runs_on(loop_))
            complain("is waited for outside of its loop");
        else if (is_leased_)
            complain("is waited for by its loop while it is leased");
    }
    bool shows_input() const noexcept {
        const network::wire &from = link_->wires[1 - side_];
        return from.arrived > 0 || from.has_ended || link_->is_reset ||
               (link_->is_local && link_->shows(side_, POLLIN));
    }
    bool has_room() const noexcept {
        return link_->is_local ? link_->shows(side_, POLLOUT) : link_->wires[side_].room() > 0;
    }
    bool shows_room() const noexcept { return has_room() || link_->is_reset || has_gone(); }
    io_result read_local(std::span<const iovec> ranges) noexcept;
    io_result write_local(std::span<const iovec> ranges) noexcept;
    network::wire &in() noexcept { return link_->wires[1 - side_]; }
    network::wire &out() noexcept { return link_->wires[side_]; }
    bool has_gone() const noexcept { return link_->is_closed[1 - side_]; }
    std::size_t limited(std::size_t count) noexcept;
    bool breaks_now() noexcept;

    network &network_;
    network::link_ptr link_;
    int side_;
    sim_loop &loop_;
    const bool hides_;  // what is left behind a read that filled its ranges
    local_halves ring_;
    bool has_ring_ = false;  // and has read from it
    bool is_hidden_ = false;
    stream_events *events_ = nullptr;
    bool wants_read_ = false;
    bool wants_write_ = false;
    bool is_deaf_ = false;  // planted
    bool is_leased_ = false;
    std::uint64_t lending_ = 0;
    int waiters_ = 0;
    bool is_reading_ = false;
    bool is_writing_ = false;
    time_point last_use_{};
    time_point wait_began_{};
    time_point last_write_{};
    time_point failed_at_{};
    bool is_refused_ = false;  // the last write moved less than it was given
    bool has_failed_ = false;
    bool is_over_ = false;
    bool is_looked_after_ = false;
    ready_call readable_;
    ready_call writable_;
};

}  // namespace zlink::sim
