// A pattern with a recording host around it, and the mail of its pipes delivered on demand.
#pragma once

#include <optional>

#include "core/counters.hpp"
#include "fake_peers.hpp"
#include "socket/pattern.hpp"

namespace zlink::test {

/// A subscription begins so, and its end.
inline const std::string on = "\1", off = std::string(1, '\0');

class counting_random : public random_source {
public:
    std::uint64_t next() noexcept override { return ++value_; }

private:
    std::uint64_t value_ = 0x01020303;
};

class pattern_bench : public pattern_host {
public:
    explicit pattern_bench(socket_type type) {
        options.type = type;
        subject = make_pattern({options, *this, network.pool, random, subscriptions});
    }

    void finished(pipe_end &pipe) noexcept override {
        done.push_back(&pipe);
        pipe.close();
    }
    void rescan_pipes_later() noexcept override { must_rescan = true; }
    void count_drop(counter why) noexcept override { drops.push_back(why); }
    void go_on_later() noexcept override { goes_on = true; }

    /// Attaches a new peer. `prepare` acts on the pipe before: what the peer wrote already.
    template <class Prepare>
    fake_peer attach_prepared(Prepare prepare, std::uint64_t outgoing_hwm = 0,
                              end_kind far = end_kind::connection) {
        fake_peer peer = network.connect(outgoing_hwm, 0, far);
        prepare(peer);
        subject->attach(peer.near, false);
        go_on();
        return peer;
    }
    fake_peer attach(std::uint64_t outgoing_hwm = 0) {
        return attach_prepared([](fake_peer &) {}, outgoing_hwm);
    }
    /// Attaches a peer that announces a routing id.
    fake_peer attach_named(std::string_view routing_id, std::uint64_t outgoing_hwm = 0) {
        return attach_prepared([&](fake_peer &p) { write_command(*p.far, in_band::hello, routing_id); },
                               outgoing_hwm);
    }

    /// Does as the socket does at the end of what it takes in, and with its next call when that was
    /// not all. Throws what the pattern does.
    void go_on() {
        if (!std::exchange(goes_on, false))
            return;
        try {
            subject->go_on();
        } catch (...) {
            goes_on = true;
            throw;
        }
    }
    /// Hands the pattern what its pipes called out since the last time, and lets it go on once.
    void deliver() {
        recorded_events now;
        std::swap(now.readable, network.events->readable);
        std::swap(now.writable, network.events->writable);
        std::swap(now.closed, network.events->closed);
        const auto is_live = [this](pipe_end *p) {
            return std::find(done.begin(), done.end(), p) == done.end();
        };
        for (pipe_end *p : now.readable) {
            if (is_live(p))
                subject->on_readable(*p);
        }
        for (pipe_end *p : now.writable) {
            if (is_live(p))
                subject->on_writable(*p);
        }
        for (pipe_end *p : now.closed) {
            if (is_live(p))
                subject->on_closed(*p);
        }
        go_on();
    }
    void close_far(fake_peer &peer) {
        peer.far->close();
        deliver();
    }

    error send_frame(std::string_view body, bool more = false) {
        outgoing frame;
        frame.body = as_bytes(body);
        frame.more = more;
        return subject->send(frame);
    }
    /// Sends a message; the first failure ends it.
    error send(const frames &message) {
        for (std::size_t i = 0; i < message.size(); ++i) {
            if (const error e = send_frame(message[i], i + 1 < message.size()); failed(e))
                return e;
        }
        return error::none;
    }
    /// The next whole message; nothing when the pattern would wait.
    std::optional<frames> receive() {
        frames message;
        frame_view view;
        go_on();
        do {
            last_error = subject->receive(view);
            if (failed(last_error))
                return std::nullopt;
            message.push_back(text_of(view));
        } while (view.has_more());
        return message;
    }
    bool is_done(const fake_peer &peer) const {
        return std::find(done.begin(), done.end(), peer.near.get()) != done.end();
    }

    fake_network network;
    settings options;
    counting_random random;
    std::shared_ptr<subscription_set> subscriptions = std::make_shared<subscription_set>();
    std::vector<pipe_end *> done;
    std::vector<counter> drops;  // messages that ended unread, but for those without room
    bool must_rescan = false;
    bool goes_on = false;
    error last_error = error::none;
    std::unique_ptr<pattern> subject;
};

}  // namespace zlink::test
