// A socket with connections that may be leased to it. The test is the connections, the clock and
// the waiter.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include "fake_peers.hpp"
#include "lone_socket.hpp"
#include "socket/poll_set.hpp"
#include "socket/socket.hpp"

namespace zlink::test {

using namespace std::chrono_literals;

/// A connection and its I/O thread, without either.
class lender final : public connection_port, public reading_half {
public:
    explicit lender(pipe_end_ptr end) : end_(std::move(end)), events_(std::make_shared<events>()) {
        events_->self = this;
        end_->set_events(events_);
        end_->take_turn().serve(*this);
    }

    written write_now(writing &turn, occasion) noexcept override {
        ++writes;
        turn_ = &turn;
        return on_write();
    }
    bool is_full() const noexcept override { return is_stream_full; }
    bool is_held_up() const noexcept override { return is_stream_full || is_stream_busy; }
    bool awaits_input() const noexcept override { return is_for_input; }
    reading_half &leased_half() noexcept override { return *this; }
    bool expects_large() const noexcept override { return is_large_next; }
    bool has_read() const noexcept override { return has_octets; }
    int descriptor() const noexcept override { return stream; }
    bool expects_more() const noexcept override {
        if (++looks == most_looks) {
            ADD_FAILURE() << "looks without end";
            std::abort();
        }
        if (const auto act = std::exchange(on_next_look, nullptr))
            act();
        return has_more;
    }
    bool read_now(block_ref &) noexcept override {
        ++reads;
        return on_read();
    }

    void grant() {
        end_->lease().watch();
        end_->lease().grant();
        end_->wake_other_end();
    }
    void recall() {
        if (!end_->lease().recall())
            end_->wake_other_end();
    }
    void close() { end_->close(); }
    /// The I/O thread writes, and stands still in it, until give_turn().
    void take_turn() { held_ = end_->take_turn(); }
    void give_turn() {
        if (held_.give())
            end_->wake_other_end();
    }
    std::uint32_t noted_uses() const { return end_->lease().uses(); }
    pipe_end_ptr end() const { return end_; }
    bool owns_reading() const { return end_->lease().owns_reading(); }
    void publish(const frames &message) { write_message(*end_, message); }

    /// Takes what the socket published, as a write does.
    written take_all() {
        for (frame_view frame; end_->read(frame);) {
        }
        turn_->return_due_credit();
        is_stream_full = is_stream_busy = false;
        return written::all;
    }

    std::function<written()> on_write = [] { return written::refused; };
    int stream = 12345;
    bool is_stream_full = false;
    bool is_stream_busy = false;
    bool is_for_input = false;
    bool is_large_next = false;
    bool has_octets = false;  // with each read
    int writes = 0;
    mutable std::function<void()> on_next_look;
    bool has_more = false;
    std::function<bool()> on_read = [] { return true; };
    mutable int looks = 0;
    int reads = 0;
    int calls = 0;  // of the socket's
    bool grants = true;

private:
    struct events final : pipe_events {
        void on_readable(pipe_end &) noexcept override { self->on_call(); }
        void on_writable(pipe_end &) noexcept override {}
        void on_closed(pipe_end &) noexcept override {}
        lender *self;
    };
    static constexpr int most_looks = 1000;

    void on_call() noexcept {
        ++calls;
        if (grants && end_->lease().is_wanted())
            grant();
    }

    const pipe_end_ptr end_;
    writing held_;
    writing *turn_ = nullptr;
    const std::shared_ptr<events> events_;
};

class borrowing_socket : public lone_socket {
protected:
    void make(socket_type type) {
        self = make_socket(type);
        peer = std::make_unique<lender>(attach());
    }
    pipe_end_ptr attach() {
        const pipe_ends ends = make_pipe(pool, {.first_to_second_hwm = mark});
        ends.first->set_events(self->inbox());
        ends.first->slot.endpoint = std::make_shared<const std::string>("tcp://peer");
        self->attach(ends.first, false);
        return ends.second;
    }
    /// Waits so often that the connection is leased, and used in the last wait.
    void borrow(const frames &request = {"x"}, const char *question = nullptr) {
        wait.on_wait = [&](std::span<wait_item> items) {
            uses = items.size() - 1;
            peer->publish(request);
            return error::none;
        };
        for (int i = 0; i < 10 && uses == 0; ++i) {
            if (question) {
                EXPECT_EQ(self->send(as_bytes(question), 0), error::none);
            }
            EXPECT_EQ(receive(), request.back());
            if (request.size() > 1 && !question) {
                EXPECT_EQ(self->send(as_bytes("reply"), 0), error::none);
            }
        }
        ASSERT_EQ(uses, 1u) << "not leased";
        wait.on_wait = [](std::span<wait_item>) { return error::timed_out; };
        peer->looks = peer->reads = peer->calls = wait.waits = 0;
    }
    /// Does the same, with several processors; the stream takes nothing more.
    void borrow_full_stream() {
        borrow();
        wait.has_time = true;
        peer->is_stream_full = true;
        peer->on_write = [] { return connection_port::written::full; };
    }
    /// Has a message of a borrowed connection, and another one that waits for the reply.
    void owe_a_reply() {
        make(socket_type::rep);
        borrow({"", "request"});
        peer->publish({"", "request"});
        peer->publish({"", "another"});
        ASSERT_EQ(receive(), "request");
    }
    void wait_in_vain() {
        watched item{self.get(), -1, ZMQ_POLLIN, 0};
        std::size_t count = 9;
        EXPECT_EQ(wait_for_any({&item, 1}, 5, count), error::none);
        EXPECT_EQ(count, 0u);
    }
    /// Waits so long each time, and takes so long in between. Whether it has the lease then.
    bool borrows(
        duration work, duration waiting, const std::function<void()> &before_work = [] {}) {
        wait.on_wait = [&](std::span<wait_item>) {
            clock.at += waiting;
            peer->publish({"x"});
            return error::none;
        };
        for (int i = 0; i < 20; ++i) {
            before_work();
            clock.at += work;
            EXPECT_EQ(receive(), "x");
        }
        return !peer->owns_reading();
    }
    /// If `has_more` is set, the next read finds octets, and none is due after it.
    void let_one_read_find_octets() {
        peer->has_octets = true;
        peer->on_read = [this] {
            peer->has_more = false;
            return true;
        };
    }
    /// This is as borrows(), where part of it is there before the first sleep of each wait.
    bool borrows_what_begins_at_once(duration work, duration waiting) {
        let_one_read_find_octets();
        return borrows(work, waiting, [this] { peer->has_more = true; });
    }
    /// This is as borrows(), with two large bodies written during each 5 ms.
    bool borrows_where_it_writes(duration writing, duration waiting) {
        return borrows(5ms, waiting, [&] {
            for (int i = 0; i < 2; ++i)
                wait.thread.in_large_writes += writing / 2;
        });
    }
    /// Waits as often as one who borrows.
    void expect_waits_without_borrowing() {
        wait.on_wait = [this](std::span<wait_item> items) {
            EXPECT_EQ(items.size(), 1u);
            peer->publish({"x"});
            return error::none;
        };
        for (int i = 0; i < 40; ++i)
            EXPECT_EQ(receive(), "x");
        EXPECT_TRUE(peer->owns_reading());
    }

    /// Is woken so often for one read that it looks before it sleeps.
    void be_woken_for_little() {
        borrow();
        wait.on_wait = [this](std::span<wait_item> items) {
            clock.at += std::chrono::microseconds(50);
            items.back().revents = POLLIN;
            peer->on_read = [this] {
                peer->publish({"came"});
                peer->on_read = [] { return true; };
                return true;
            };
            return error::none;
        };
        for (int i = 0; i < 8; ++i)
            EXPECT_EQ(receive(), "came");
        EXPECT_EQ(wait.waits, 8);
        peer->reads = wait.waits = 0;
        wait.has_time = true;
    }

    void attach_others(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            others.push_back(std::make_unique<lender>(attach()));
    }

    std::uint64_t mark = 0;
    std::unique_ptr<lender> peer;
    std::vector<std::unique_ptr<lender>> others;
    std::size_t uses = 0;
};

}  // namespace zlink::test
