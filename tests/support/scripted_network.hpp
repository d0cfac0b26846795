// Dialers, listeners and streams that a test plays itself, beside the loop of virtual_loop.hpp.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepped_session.hpp"

namespace zlink::test {

/// The far side of a stream, also when the stream is gone.
struct far_side {
    void receive(std::string_view octets) {
        input += octets;
        tell_readable();
    }
    /// The peer ends: what it has sent can still be read.
    void end() {
        has_ended = true;
        tell_readable();
    }
    void make_room(std::size_t octets) {
        room += octets;
        if (room > 0 && std::exchange(waits_writable, false))
            events->on_stream_writable();
    }
    void tell_readable() {
        if (is_open && std::exchange(waits_readable, false))
            events->on_stream_readable();
    }

    int descriptor = 0;
    std::string input;   // not read yet
    std::string output;  // all that was written
    std::size_t room = SIZE_MAX / 2;
    std::size_t unconfirmed = 0;
    bool has_ended = false;
    bool is_open = true;
    bool has_finished = false;    // the near side, writing
    bool finishes = false;        // whether it can
    bool waits_readable = false;  // the near side
    bool waits_writable = false;
    stream_events *events = nullptr;
};

class played_stream final : public stream {
public:
    explicit played_stream(std::shared_ptr<far_side> far) : far_(std::move(far)) {}
    ~played_stream() override { far_->is_open = far_->waits_readable = far_->waits_writable = false; }
    void set_events(stream_events *events) noexcept override { far_->events = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        if (far_->input.empty())
            return {0, far_->has_ended ? error::connection_reset : error::again};
        std::size_t octets = 0;
        for (const iovec &range : ranges)
            octets += far_->input.copy(static_cast<char *>(range.iov_base), range.iov_len, octets);
        far_->input.erase(0, octets);
        return {octets};
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        if (far_->has_ended)
            return {0, from_errno(EPIPE)};
        std::size_t octets = 0;
        for (const iovec &range : ranges) {
            const std::size_t part = std::min(range.iov_len, far_->room);
            far_->output.append(static_cast<const char *>(range.iov_base), part);
            far_->room -= part;
            octets += part;
        }
        return {octets, octets > 0 ? error::none : error::again};
    }
    std::size_t unconfirmed() noexcept override { return far_->unconfirmed; }
    bool finish_writing() noexcept override { return far_->has_finished = far_->finishes; }
    void wait_readable() noexcept override { far_->waits_readable = true; }
    void wait_writable() noexcept override { far_->waits_writable = true; }
    int descriptor() const noexcept override { return far_->descriptor; }
    std::string peer_address() const override { return "there"; }
    std::string local_endpoint() const override { return "here"; }
    std::string remote_endpoint() const override { return "there"; }

private:
    const std::shared_ptr<far_side> far_;
};

/// This is where sessions dial, and listeners are made. The test answers.
class played_transport final : public transport {
public:
    struct attempt {
        std::string address;
        dial_handler handler;
        std::function<void()> pending;
        bool is_given_up = false;
        int descriptor = -1;
    };

    const char *scheme() const noexcept override { return "played"; }
    error check_connect(const std::string &, const settings &) const noexcept override { return error::none; }
    error make_dialer(const std::string &address, const settings &, const batching &, loop &,
                      std::unique_ptr<dialer> &out) const noexcept override {
        if (const error e = std::exchange(next_failure, error::none); failed(e))
            return e;
        attempts.push_back(std::make_shared<attempt>());
        attempts.back()->address = address;
        out = std::make_unique<played_dialer>(attempts.back());
        return error::none;
    }
    error make_listener(const std::string &, const settings &, const tuning &, loop &,
                        std::unique_ptr<listener> &) const noexcept override {
        return error::invalid;
    }

    /// Whether somebody waits for the answer to the attempt made last.
    bool is_called() const { return !attempts.empty() && attempts.back()->handler; }
    std::shared_ptr<far_side> answer(int descriptor = 7) {
        auto far = std::make_shared<far_side>();
        far->descriptor = descriptor;
        take_handler()(std::make_unique<played_stream>(far), error::none);
        return far;
    }
    void refuse(error why = error::connection_refused, int descriptor = -1) {
        if (is_called())
            attempts.back()->descriptor = descriptor;
        take_handler()(nullptr, why);
    }

    mutable std::vector<std::shared_ptr<attempt>> attempts;
    mutable error next_failure = error::none;  // of making a dialer

private:
    struct played_dialer final : dialer {
        explicit played_dialer(std::shared_ptr<attempt> what) : mine(std::move(what)) {}
        ~played_dialer() override {
            mine->is_given_up = bool(mine->handler);
            mine->handler = nullptr;
        }
        void dial(dial_handler handler) noexcept override { mine->handler = std::move(handler); }
        void report_pending(std::function<void()> pending) noexcept override {
            mine->pending = std::move(pending);
        }
        int descriptor() const noexcept override { return mine->descriptor; }
        const std::shared_ptr<attempt> mine;
    };
    dial_handler take_handler() {
        if (is_called())
            return std::exchange(attempts.back()->handler, nullptr);
        ADD_FAILURE() << "nobody dials";
        return [](std::unique_ptr<stream>, error) {};
    }
};

/// Events as text: "connected 7".
struct event_log final : event_sink {
    void emit(const connection_event &event) noexcept override {
        log.push_back(name(event.kind) + " " + std::to_string(event.value));
        EXPECT_EQ(event.endpoint, "tcp://there");
    }
    bool wants_slow_peers() const noexcept override {
        ++times_asked;
        return is_heard;
    }
    std::vector<std::string> take() { return std::exchange(log, {}); }
    static std::string name(event_kind kind) {
        switch (kind) {
        case event_kind::connected:
            return "connected";
        case event_kind::connect_delayed:
            return "delayed";
        case event_kind::connect_retried:
            return "retried";
        case event_kind::listening:
            return "listening";
        case event_kind::accepted:
            return "accepted";
        case event_kind::accept_failed:
            return "accept_failed";
        case event_kind::closed:
            return "closed";
        case event_kind::disconnected:
            return "disconnected";
        case event_kind::handshake_failed_no_detail:
            return "handshake_failed";
        case event_kind::handshake_failed_protocol:
            return "handshake_failed_protocol";
        case event_kind::handshake_succeeded:
            return "handshake_succeeded";
        case event_kind::reason:
            return "reason";
        case event_kind::slow_peer:
            return "slow_peer";
        default:
            return "another";
        }
    }
    std::vector<std::string> log;
    bool is_heard = true;         // what it tells of slow peers
    mutable int times_asked = 0;  // whether it is
};
using events = std::vector<std::string>;

}  // namespace zlink::test
