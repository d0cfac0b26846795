// One connection, stepped by a test that plays the stream, the loop, the host and the socket.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connection_parts.hpp"
#include "session/connection.hpp"

namespace zlink::test {

using testing::greeting;
using testing::message;
using testing::our_ping;
using testing::part;
using testing::ping;
using testing::pong;
using testing::ready;
using testing::socket_of;

class driven : public connection_parts, public connection_host, public pipe_events {
public:
    explicit driven(const settings &of, std::uint64_t mark = 0, const batching &with = {},
                    bool conflates = false)
        : connection_parts(of, mark, with, conflates) {
        near->set_events({std::shared_ptr<void>(), this});
        far->set_events({std::shared_ptr<void>(), this});
    }
    explicit driven(socket_type type, std::uint64_t mark = 0) : driven(socket_of(type), mark) {}
    ~driven() override {
        if (it) {
            EXPECT_TRUE(it->let_go(false));
        }
        it.reset();
        EXPECT_FALSE(state.is_open && was_made);
    }

    void make(bool is_server = false) {
        it = std::make_unique<connection>(environment, std::make_unique<scripted_stream>(state), is_server,
                                          *this);
        was_made = true;
    }
    void start(bool is_server = false) {
        make(is_server);
        it->start();
        run();
    }
    /// A connection in traffic, with nothing left to do.
    void establish(std::string_view type = "DEALER") {
        start();
        arrive(greeting() + ready(type));
        ASSERT_TRUE(it->is_established());
        ASSERT_EQ(broken, 0);
        state.output.clear();
        take();
        log.clear();
    }
    /// Does what the session does in turns of its loop.
    void run() {
        while (wants_round || wants_look) {
            if (std::exchange(wants_round, false) && it)
                short_heap::counted([&] { it->work(); });
            if (std::exchange(wants_look, false) && it)
                short_heap::counted([&] { it->look(); });
        }
    }
    void arrive(std::string_view octets) {
        state.input += octets;
        short_heap::counted([&] { state.let_read(); });
        run();
    }
    void make_room(std::size_t octets) {
        short_heap::counted([&] { state.make_room(octets); });
        run();
    }
    void pass(duration time) {
        io.pass(time);
        run();
    }
    /// The socket takes all there is, and the loop goes on, until nothing more comes.
    void settle() {
        for (std::size_t before = SIZE_MAX; std::exchange(before, log.size()) != log.size();) {
            run();
            arrive("");
            take();
        }
        run();
    }
    void expect(const std::vector<octets> &what) {
        settle();
        expect_taken(what);
    }

    // The socket's thread
    void borrow() {
        ASSERT_TRUE(near->ask_for_lease());
        run();
        ASSERT_TRUE(state.is_leased);
        borrowed = near->begin_use();
        ASSERT_TRUE(borrowed);
    }
    void leave(bool keep = false) {
        borrowed.end(keep);
        run();
    }

    connection_environment environment{&io, options, sizes, pool, nullptr, {}};
    std::unique_ptr<connection> it;
    bool was_made = false;
    reading borrowed;
    block_ref borrowers;

    // It says:
    bool gives_pipe = true;
    bool takes_when_told = false;
    int established = 0;
    bool had_peer_when_told = false;
    int broken = 0;
    int drained = 0;
    int to_judge = 0;
    break_reason reason;
    bool wants_look = false;
    bool wants_round = false;
    int socket_woken = 0;
    std::size_t taken_when_broken = 0;

private:
    pipe_end_ptr on_established(connection &) noexcept override {
        ++established;
        return gives_pipe ? far : nullptr;
    }
    void tell_handshake() noexcept override {
        had_peer_when_told = near->has_peer();
        if (takes_when_told)
            take();
    }
    void on_broken(connection &which, const break_reason &why) noexcept override {
        EXPECT_EQ(&which, it.get());
        ++broken;
        reason = why;
        taken_when_broken = state.taken;
    }
    void on_drained(connection &) noexcept override { ++drained; }
    void authenticate(connection &) noexcept override { ++to_judge; }
    void want_look() noexcept override { wants_look = true; }
    void want_round() noexcept override { wants_round = true; }
    void on_readable(pipe_end &end) noexcept override {
        wants_round = wants_round || &end == far.get();
        socket_woken += &end == near.get();
    }
    void on_writable(pipe_end &end) noexcept override { wants_round = wants_round || &end == far.get(); }
    void on_closed(pipe_end &) noexcept override {}
};

}  // namespace zlink::test
