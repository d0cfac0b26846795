// What a socket does with connections that are leased to it. The test is the connection, the clock
// and the waiter.
#include "socket/borrower.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <poll.h>

#include "fake_peers.hpp"
#include "lone_socket.hpp"
#include "socket/poll_set.hpp"
#include "socket/socket.hpp"

namespace zlink {
namespace {

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
    reading_half &lent() noexcept override { return *this; }
    bool expects_large() const noexcept override { return is_large_next; }
    bool has_read() const noexcept override { return has_octets; }
    int descriptor() const noexcept override { return 12345; }
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
    void publish(const test::frames &message) { test::write_message(*end_, message); }

    /// Takes what the socket published, as a write does.
    written take_all() {
        for (frame_view frame; end_->read(frame);) {
        }
        turn_->return_due_credit();
        is_stream_full = is_stream_busy = false;
        return written::all;
    }

    std::function<written()> on_write = [] { return written::refused; };
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

class borrower_test : public test::lone_socket {
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
    void borrow(const test::frames &request = {"x"}, const char *question = nullptr) {
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
    /// The same, with several processors; the stream takes nothing more.
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
    /// Where `has_more` is set, the next read finds octets, and none is due after it.
    void let_one_read_find_octets() {
        peer->has_octets = true;
        peer->on_read = [this] {
            peer->has_more = false;
            return true;
        };
    }
    /// As borrows(), where part of it is there before the first sleep of each wait.
    bool borrows_what_begins_at_once(duration work, duration waiting) {
        let_one_read_find_octets();
        return borrows(work, waiting, [this] { peer->has_more = true; });
    }
    /// As borrows(), with two large bodies written during each 5 ms.
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

TEST_F(borrower_test, waits_for_what_is_lent_and_reads_it) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        EXPECT_EQ(items.back().descriptor, 12345);
        items.back().revents = ZMQ_POLLIN;
        return error::none;
    };
    peer->on_read = [this] {
        peer->publish({"read here"});
        return true;
    };
    EXPECT_EQ(receive(), "read here");
    EXPECT_EQ(peer->reads, 1);
    EXPECT_EQ(peer->calls, 0) << "nobody else is needed";
}

TEST_F(borrower_test, a_thread_that_works_long_between_its_waits_does_not_ask) {
    make(socket_type::dealer);
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        peer->publish({"x"});
        return error::none;
    };
    for (int i = 0; i < 20; ++i) {
        clock.at += std::chrono::milliseconds(2);
        EXPECT_EQ(receive(), "x");
    }
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(borrower_test, a_thread_that_writes_large_bodies_between_its_waits_asks) {
    make(socket_type::dealer);
    EXPECT_TRUE(borrows_where_it_writes(4500us, 3500us));
    EXPECT_TRUE(borrows_where_it_writes(4500us, 3500us)) << "and keeps what it has";
}

TEST_F(borrower_test, one_that_works_besides_does_not_ask) {
    make(socket_type::dealer);
    EXPECT_FALSE(borrows_where_it_writes(3500us, 5ms));
}

TEST_F(borrower_test, nor_does_one_for_which_messages_come_faster_than_it_writes) {
    make(socket_type::dealer);
    EXPECT_FALSE(borrows_where_it_writes(4500us, 2ms)) << "who reads ahead for it saves time";
}

TEST_F(borrower_test, what_was_written_before_the_wait_does_not_count) {
    make(socket_type::dealer);
    wait.thread.in_large_writes = 1500us;
    EXPECT_FALSE(borrows(2ms, 5ms));
}

TEST_F(borrower_test, a_thread_that_finds_it_there_after_its_work_gives_the_lease_back) {
    make(socket_type::dealer);
    borrow();
    EXPECT_TRUE(borrows_what_begins_at_once(5ms, 3ms)) << "what is small is read in no time";
    peer->is_large_next = true;
    EXPECT_TRUE(borrows_what_begins_at_once(5ms, 4ms)) << "nobody could have read ahead";
    EXPECT_FALSE(borrows_what_begins_at_once(5ms, 3ms));
    const int calls = peer->calls;
    EXPECT_FALSE(borrows_what_begins_at_once(5ms, 3ms));
    EXPECT_EQ(peer->calls, calls) << "it does not ask";
}

TEST_F(borrower_test, a_thread_that_waits_for_the_beginning_keeps_the_lease) {
    make(socket_type::dealer);
    borrow();
    peer->is_large_next = peer->has_octets = true;
    EXPECT_TRUE(borrows(5ms, 100us)) << "the answer to a request is not there before it";
}

TEST_F(borrower_test, a_thread_that_looks_for_the_beginning_keeps_the_lease) {
    make(socket_type::dealer);
    borrow();
    wait.has_time = peer->is_large_next = true;
    int reads = 0;
    peer->on_read = [&] {
        peer->has_octets = ++reads > 1;
        if (reads == 10)
            peer->publish({"x"});
        return true;
    };
    for (int i = 0; i < 20; ++i) {
        clock.at += 5ms;
        reads = 0;
        EXPECT_EQ(receive(), "x");
        EXPECT_EQ(reads, 10);
        ASSERT_FALSE(peer->owns_reading());
    }
}

TEST_F(borrower_test, who_finds_it_there_after_its_work_may_find_it_with_a_sleep_that_is_none) {
    make(socket_type::dealer);
    borrow();
    peer->is_large_next = peer->has_octets = true;
    for (const duration first : {duration(3us), duration(2us)}) {
        for (int i = 0; i < 20; ++i) {
            wait.on_wait = [&](std::span<wait_item> items) {
                clock.at += first;
                items.back().revents = POLLIN;
                wait.on_wait = [&](std::span<wait_item>) {
                    clock.at += 1ms;
                    peer->publish({"x"});
                    return error::none;
                };
                return error::none;
            };
            clock.at += 5ms;
            EXPECT_EQ(receive(), "x");
        }
        EXPECT_EQ(peer->owns_reading(), first == 2us);
    }
}

TEST_F(borrower_test, the_steps_of_a_wait_count_together) {
    make(socket_type::dealer);
    borrow();
    peer->grants = false;
    peer->is_large_next = true;
    let_one_read_find_octets();
    for (const auto step : {800us, 700us}) {
        wait.on_wait = [&](std::span<wait_item>) {
            clock.at += step;
            if (wait.waits % 5 == 0)
                peer->publish({"x"});
            return error::none;
        };
        for (int i = 0; i < 20; ++i) {
            peer->has_more = true;
            clock.at += 5ms;
            EXPECT_EQ(receive(), "x");
        }
        EXPECT_EQ(peer->owns_reading(), step == 700us);
    }
}

TEST_F(borrower_test, one_that_names_the_socket_twice_in_each_wait_has_waited_as_long) {
    make(socket_type::dealer);
    borrow();
    peer->is_large_next = true;
    let_one_read_find_octets();
    wait.on_wait = [&](std::span<wait_item>) {
        clock.at += 5ms;
        peer->publish({"x"});
        return error::none;
    };
    for (int i = 0; i < 20; ++i) {
        peer->has_more = true;
        clock.at += 5ms;
        watched twice[] = {{self.get(), -1, ZMQ_POLLIN, 0}, {self.get(), -1, ZMQ_POLLIN, 0}};
        std::size_t count = 0;
        EXPECT_EQ(wait_for_any(twice, -1, count), error::none);
        EXPECT_EQ(receive(), "x");
    }
    EXPECT_FALSE(peer->owns_reading());
}

/// Its waits and its work, without a socket.
class lone_borrower : public borrower_test {
protected:
    /// A wait with two reads before it sleeps.
    void begin_and_end(borrower::purpose why) {
        subject.begin({&ends.first, 1}, why);
        (void)subject.read_all();
        (void)subject.read_all();
        subject.note_wait_over(clock.at);
        subject.end([](pipe_end &) {});
    }
    void borrow() {
        for (int i = 0; i < 10; ++i)
            begin_and_end(borrower::purpose::wait);
        ASSERT_FALSE(other.owns_reading());
    }

    borrower subject{clock, wait};
    const pipe_ends ends = make_pipe(pool, {});
    lender other{ends.second};
};

TEST_F(lone_borrower, to_copy_a_large_body_out_is_no_work_but_what_is_done_besides_is) {
    for (const bool works : {true, false}) {
        for (int i = 0; i < 10; ++i) {
            clock.at += 5ms;
            subject.note_copying(works ? 3500us : 4500us);
            begin_and_end(borrower::purpose::wait);
        }
        EXPECT_EQ(other.owns_reading(), works);
    }
}

TEST_F(lone_borrower, a_thread_that_waits_for_room_after_its_work_keeps_the_lease) {
    borrow();
    other.is_large_next = other.has_octets = true;
    for (const auto why : {borrower::purpose::room, borrower::purpose::wait}) {
        for (int i = 0; i < 10; ++i) {
            clock.at += 5ms;
            begin_and_end(why);
        }
        EXPECT_EQ(other.owns_reading(), why == borrower::purpose::wait);
    }
}

TEST_F(lone_borrower, a_wait_for_room_does_not_hide_the_work_before_it) {
    borrow();
    other.is_large_next = true;
    other.on_read = [this] {
        other.has_octets = !other.has_octets;  // the first read gets all that is there
        return true;
    };
    for (int i = 0; i < 10; ++i) {
        clock.at += 5ms;
        begin_and_end(borrower::purpose::room);
        clock.at += 100us;
        begin_and_end(borrower::purpose::wait);
    }
    EXPECT_TRUE(other.owns_reading());
}

TEST_F(lone_borrower, what_came_between_two_waits_was_not_there_after_the_work) {
    borrow();
    other.is_large_next = other.has_octets = true;
    for (int i = 0; i < 10; ++i) {
        clock.at += 5ms;
        subject.begin({&ends.first, 1}, borrower::purpose::wait);
        subject.note_wait_over(clock.at);  // in vain
        subject.end([](pipe_end &) {});
        begin_and_end(borrower::purpose::wait);
        ASSERT_FALSE(other.owns_reading());
    }
}

TEST_F(lone_borrower, nor_does_it_make_long_work_of_what_is_short) {
    borrow();
    other.is_large_next = other.has_octets = true;
    for (int i = 0; i < 10; ++i) {
        for (int bodies = 0; bodies < 10; ++bodies) {
            clock.at += 500us;
            begin_and_end(borrower::purpose::room);
        }
        begin_and_end(borrower::purpose::wait);
        ASSERT_FALSE(other.owns_reading());
    }
}

TEST_F(borrower_test, gives_back_before_it_sleeps_what_was_called_back_while_it_armed) {
    make(socket_type::dealer);
    borrow();
    // The lease is in use, and the ring is heard when the socket arms its pipes.
    peer->on_next_look = [this] { peer->recall(); };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u) << "sleeps on what the I/O thread waits for";
        EXPECT_TRUE(peer->owns_reading());
        peer->publish({"after"});
        return error::none;
    };
    EXPECT_EQ(receive(), "after");
    EXPECT_EQ(peer->calls, 1);
}

TEST_F(borrower_test, the_same_in_a_wait_for_several) {
    make(socket_type::dealer);
    borrow();
    peer->on_next_look = [this] { peer->recall(); };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        EXPECT_TRUE(peer->owns_reading());
        return error::timed_out;
    };
    wait_in_vain();
}

TEST_F(borrower_test, a_wait_ends_in_time_though_there_is_more_of_what_is_not_wanted_now) {
    owe_a_reply();
    // The reply is owed: "another" must wait, and the connection holds back a third.
    peer->has_more = true;
    wait_in_vain();
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(self->send(as_bytes("reply"), 0), error::none);
    EXPECT_EQ(receive(), "another");
}

TEST_F(borrower_test, leaves_to_others_what_a_stream_may_hold_behind_what_is_not_wanted_now) {
    owe_a_reply();
    // Its descriptor does not show what there is more, perhaps a PING.
    peer->has_more = true;
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        EXPECT_TRUE(peer->owns_reading());
        return error::timed_out;
    };
    wait_in_vain();
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(peer->calls, 1);
}

TEST_F(borrower_test, does_not_sleep_while_a_stream_may_hold_more_of_a_message) {
    make(socket_type::dealer);
    borrow();
    peer->has_more = true;
    peer->on_read = [this] {
        if (peer->reads == 3) {
            peer->has_more = false;
            peer->publish({"y"});
        }
        return true;
    };
    EXPECT_EQ(receive(), "y");
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(borrower_test, does_not_sleep_when_a_look_has_left_something_in_a_stream) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [](std::span<wait_item> items) {
        items.back().revents = POLLIN;
        return error::none;
    };
    peer->on_read = [this] {
        peer->publish({"x"});
        return true;
    };
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(receive(), "x");
    // Who did not have to wait reads without asking.
    const int waits = wait.waits;
    peer->reads = 0;
    peer->on_read = [this] {
        peer->has_more = peer->reads == 1;
        if (peer->reads == 2)
            peer->publish({"y"});
        return true;
    };
    EXPECT_EQ(receive(), "y");
    EXPECT_EQ(wait.waits, waits);
}

TEST_F(borrower_test, ends_the_use_when_the_connection_wants_to_go_home) {
    make(socket_type::dealer);
    borrow();
    peer->grants = false;
    peer->has_more = true;
    peer->on_read = [this] {
        peer->publish({"last"});
        return false;
    };
    EXPECT_EQ(receive(), "last");
    EXPECT_TRUE(peer->owns_reading());
    EXPECT_EQ(peer->calls, 1) << "the I/O thread is told";
}

TEST_F(borrower_test, a_receive_that_does_not_wait_reads_what_is_lent) {
    make(socket_type::dealer);
    borrow();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    peer->on_read = [this] {
        peer->publish({"there"});
        return true;
    };
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "there");
    EXPECT_EQ(wait.waits, 0);
    EXPECT_FALSE(peer->owns_reading());
}

TEST_F(borrower_test, a_signal_ends_the_wait_and_keeps_the_lease) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [](std::span<wait_item>) { return error::interrupted; };
    EXPECT_EQ(receive(), describe(EINTR));
    EXPECT_FALSE(peer->owns_reading());
    peer->recall();
    EXPECT_TRUE(peer->owns_reading()) << "it is not in use";
}

TEST_F(borrower_test, the_end_of_the_context_ends_the_use) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [this](std::span<wait_item>) {
        self->stop();
        return error::none;
    };
    EXPECT_EQ(receive(), describe(ETERM));
    peer->recall();
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(borrower_test, writes_out_what_a_stream_left_before_it_waits_for_an_answer) {
    make(socket_type::dealer);
    constexpr int burst = 200;
    for (int i = 0; i < burst; ++i)
        ASSERT_EQ(self->send(as_bytes("x"), 0), error::none);
    peer->writes = 0;
    int writes_before_wait = 0;
    wait.on_wait = [&](std::span<wait_item>) {
        writes_before_wait = peer->writes;
        return error::timed_out;
    };
    peer->on_write = [this] { return peer->take_all(); };
    EXPECT_EQ(receive(), describe(EAGAIN));
    EXPECT_EQ(writes_before_wait, 1);
    EXPECT_EQ(self->send(as_bytes("next"), 0), error::none);
    EXPECT_EQ(peer->writes, 2) << "no stream any more: it goes out at once";
}

TEST_F(borrower_test, writes_out_what_is_left_behind_a_large_body_too) {
    make(socket_type::dealer);
    peer->on_write = [this] { return peer->take_all(); };
    const std::string large(20000, 'x');
    ASSERT_EQ(self->send(as_bytes(large.c_str()), 0), error::none);
    peer->on_write = [] { return connection_port::written::refused; };
    ASSERT_EQ(self->send(as_bytes("trailer"), 0), error::none);
    peer->writes = 0;
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    EXPECT_EQ(peer->writes, 1);
}

TEST_F(borrower_test, gives_all_back_when_the_descriptor_is_asked_for_and_never_asks_again) {
    make(socket_type::dealer);
    borrow();
    int descriptor = -1;
    std::size_t size = sizeof descriptor;
    ASSERT_EQ(self->get_option(ZMQ_FD, &descriptor, &size), error::none);
    EXPECT_TRUE(peer->owns_reading());
    uses = 0;
    expect_waits_without_borrowing();
}

TEST_F(borrower_test, gives_back_on_disconnect_and_on_close) {
    for (const bool closes : {false, true}) {
        make(socket_type::dealer);
        uses = 0;
        borrow();
        if (closes)
            self->close();
        else
            EXPECT_EQ(self->disconnect("tcp://peer"), error::none);
        EXPECT_TRUE(peer->owns_reading());
    }
}

TEST_F(borrower_test, does_not_touch_a_pipe_that_went_while_it_was_in_use) {
    make(socket_type::dealer);
    borrow();
    peer->on_next_look = [this] { peer->close(); };
    const auto other = std::make_unique<lender>(attach());
    wait.on_wait = [&](std::span<wait_item>) {
        other->publish({"from the other"});
        return error::none;
    };
    EXPECT_EQ(receive(), "from the other");
}

TEST_F(borrower_test, forgets_a_pipe_that_goes_while_it_is_lent) {
    make(socket_type::dealer);
    borrow();
    std::weak_ptr<pipe_end> gone = peer->end();
    peer->close();
    const auto other = std::make_unique<lender>(attach());
    peer.reset();
    auto third = std::make_unique<lender>(attach());
    EXPECT_EQ(self->send(as_bytes("takes the pipe out"), 0), error::none);
    third->close();
    EXPECT_EQ(self->send(as_bytes("ends its life"), 0), error::none);
    ASSERT_TRUE(gone.expired());
    gone.reset();  // and with it the memory
    wait.on_wait = [&](std::span<wait_item>) {
        other->publish({"from the other"});
        return error::none;
    };
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(receive(), "from the other");
}

TEST_F(borrower_test, a_lease_is_kept_by_who_waits_for_it_or_reads_it_in_a_wait) {
    make(socket_type::dealer);
    borrow();
    std::uint32_t before = peer->noted_uses();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "Resource temporarily unavailable");
    EXPECT_EQ(peer->reads, 1);
    EXPECT_EQ(peer->noted_uses(), before) << "who does not wait may not come back";
    wait_in_vain();
    EXPECT_GT(peer->noted_uses(), before);

    // What is there before the wait begins keeps nothing: the connection was neither read nor
    // waited for.
    before = peer->noted_uses();
    peer->on_next_look = [this] { peer->publish({"at the last moment"}); };
    EXPECT_EQ(receive(), "at the last moment");
    EXPECT_EQ(peer->noted_uses(), before);
}

TEST_F(borrower_test, of_many_pipes_only_those_are_asked_for_that_take_and_bring) {
    make(socket_type::dealer);
    attach_others(borrower::few_pipes);
    borrow({"x"}, "for each in turn");
    for (const auto &other : others)
        EXPECT_TRUE(other->owns_reading());
}

TEST_F(borrower_test, of_many_pipes_none_is_asked_for_that_only_brings) {
    make(socket_type::dealer);
    attach_others(borrower::few_pipes);
    expect_waits_without_borrowing();
}

TEST_F(borrower_test, one_of_many_that_brings_nothing_any_more_goes_home) {
    make(socket_type::dealer);
    attach_others(borrower::few_pipes);
    borrow({"x"}, "for each in turn");
    wait.on_wait = [this](std::span<wait_item>) {
        others[0]->publish({"from another"});
        return error::none;
    };
    others[0]->grants = false;
    for (int i = 0; i < 62; ++i)  // and the last wait of borrow()
        EXPECT_EQ(receive(), "from another");
    EXPECT_FALSE(peer->owns_reading());
    EXPECT_EQ(receive(), "from another");
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(borrower_test, a_receive_that_does_not_wait_asks_first_which_of_many_have_something) {
    make(socket_type::dealer);
    attach_others(borrower::few_pipes);
    // All take and bring something, so that all are leased.
    wait.on_wait = [this](std::span<wait_item> items) {
        uses = items.size() - 1;
        peer->publish({"x"});
        for (const auto &other : others)
            other->publish({"x"});
        return error::none;
    };
    for (std::size_t i = 0; i < 400 && uses <= borrower::few_pipes; ++i) {
        EXPECT_EQ(self->send(as_bytes("for each in turn"), 0), error::none);
        EXPECT_EQ(receive(), "x");
    }
    ASSERT_EQ(uses, borrower::few_pipes + 1);
    while (receive(ZMQ_DONTWAIT) == "x") {
    }
    peer->reads = wait.asks = 0;
    lender &ready = *others[2];
    ready.on_read = [&] { return ready.publish({"came"}), true; };
    for (const auto &other : others)
        other->reads = 0;
    wait.on_ask = [&](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), uses);
        for (wait_item &item : items)
            item.revents = 0;
        const auto at = std::find_if(items.begin(), items.end(),
                                     [&](const wait_item &item) { return item.opening == ready.opening(); });
        EXPECT_NE(at, items.end());
        at->revents = POLLIN;
        return error::none;
    };
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "came");
    EXPECT_EQ(wait.asks, 1);
    EXPECT_EQ(ready.reads, 1);
    EXPECT_EQ(peer->reads, 0);
}

TEST_F(borrower_test, a_sender_tries_a_full_stream_again_before_it_sleeps) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->on_write = [this] { return peer->writes < 10 ? connection_port::written::full : peer->take_all(); };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(peer->writes, 10);
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(borrower_test, a_sender_sleeps_on_a_stream_that_stays_full) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
        items.back().revents = POLLOUT;
        peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 1);
}

TEST_F(borrower_test, a_sender_does_not_wait_for_room_before_a_stream_has_the_input_that_it_waits_for) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->is_for_input = true;
    peer->on_read = [this] {
        peer->is_for_input = false;
        return true;
    };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        EXPECT_EQ(items.back().events, wait.waits == 1 ? POLLIN : POLLIN | POLLOUT);
        items.back().revents = wait.waits == 1 ? POLLIN : POLLOUT;
        if (wait.waits == 2)
            peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 2);
}

TEST_F(borrower_test, a_sender_does_not_look_for_room_again_and_again_while_the_io_thread_has_the_turn) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        switch (wait.waits) {
        case 1:
            EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
            items.back().revents = POLLOUT;
            peer->take_turn();
            break;
        case 2:
            EXPECT_EQ(items.back().events, POLLIN) << "there is room already";
            peer->give_turn();
            items.front().revents = POLLIN;
            break;
        default:
            EXPECT_EQ(wait.waits, 3);
            EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
            items.back().revents = POLLOUT;
            peer->on_write = [this] { return peer->take_all(); };
        }
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 3);
}

TEST_F(borrower_test, a_sender_does_not_wait_for_room_in_a_stream_that_is_busy_and_writes_when_it_has_read) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->is_stream_full = false;
    peer->is_stream_busy = true;
    peer->on_read = [this] {
        peer->has_more = !peer->has_more;
        return true;
    };
    wait.on_wait = [this](std::span<wait_item> items) {
        if (wait.waits > 9)
            return error::terminated;
        EXPECT_EQ(items.back().events, POLLIN);
        items.back().revents = POLLIN;
        peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 1);
}

TEST_F(borrower_test, a_sender_of_large_bodies_waits_a_moment_for_a_full_stream_and_no_longer) {
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none);
    EXPECT_EQ(wait.waits, 0) << "what is under way is little yet";
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none) << "there is no mark";
    EXPECT_GT(wait.waits, 0);
    EXPECT_LT(wait.waits, 10) << "each in vain makes the next less likely";
}

TEST_F(borrower_test, looks_for_room_for_a_large_body_only_where_the_sender_may_wait) {
    const std::string body(100 * 1024, 'x');
    for (const auto &[flags, timeout_ms, looks] : {std::tuple{0, -1, true},
                                                   {ZMQ_DONTWAIT, -1, false},
                                                   {0, 0, false},
                                                   {0, 10, false},
                                                   {0, 1000, true}}) {
        SCOPED_TRACE(::testing::Message() << flags << ' ' << timeout_ms);
        make(socket_type::dealer);
        EXPECT_EQ(self->set_option(ZMQ_SNDTIMEO, &timeout_ms, sizeof timeout_ms), error::none);
        bool has_looked = false;
        wait.has_time = true;
        wait.on_look = [&] { has_looked = true; };
        peer->on_write = [this] {
            peer->is_stream_full = true;
            clock.at += std::chrono::milliseconds(1);  // the look ends
            return connection_port::written::full;
        };
        EXPECT_EQ(self->send(as_bytes(body), flags), error::none);
        EXPECT_GT(peer->writes, 0);
        EXPECT_EQ(has_looked, looks);
        wait.on_look = nullptr;
    }
}

TEST_F(borrower_test, a_receiver_looks_for_the_rest_of_a_large_frame_before_it_sleeps) {
    make(socket_type::dealer);
    borrow();
    wait.has_time = true;
    peer->is_large_next = true;
    peer->on_read = [this] {
        if (peer->reads == 10)
            peer->publish({"large"});
        return true;
    };
    EXPECT_EQ(receive(), "large");
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(borrower_test, a_receiver_that_is_wanted_back_does_not_look_again) {
    make(socket_type::dealer);
    borrow();
    wait.has_time = true;
    peer->is_large_next = true;
    peer->on_read = [this] {
        peer->recall();
        return true;
    };
    wait.on_wait = [this](std::span<wait_item>) {
        EXPECT_TRUE(peer->owns_reading());
        peer->publish({"from the I/O thread"});
        return error::none;
    };
    EXPECT_EQ(receive(), "from the I/O thread");
    EXPECT_EQ(peer->reads, 1);
}

TEST_F(borrower_test, who_did_not_have_to_wait_reads_next_time_without_asking) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [this](std::span<wait_item> items) {
        items.back().revents = POLLIN;
        return error::none;
    };
    peer->on_read = [this] {
        peer->publish({"was there"});
        return true;
    };
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(receive(), "was there");
    EXPECT_LE(wait.waits, 1);
    EXPECT_EQ(peer->reads, 5);
}

TEST_F(borrower_test, who_had_to_wait_waits_again) {
    make(socket_type::dealer);
    borrow();
    bool is_there = false;
    wait.on_wait = [&](std::span<wait_item> items) {
        clock.at += std::chrono::microseconds(20);
        is_there = true;
        items.back().revents = POLLIN;
        return error::none;
    };
    int in_vain = 0;
    peer->on_read = [&] {
        if (std::exchange(is_there, false))
            peer->publish({"came"});
        else
            ++in_vain;
        return true;
    };
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(receive(), "came");
    EXPECT_LE(in_vain, 1) << "after the waits of the test's own making, which took no time";
}

TEST_F(borrower_test, a_thread_that_is_woken_for_little_looks_before_it_sleeps) {
    make(socket_type::dealer);
    be_woken_for_little();
    wait.on_ask = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        if (wait.asks % 5 != 0)
            return error::timed_out;
        items.back().revents = POLLIN;
        peer->on_read = [this] {
            peer->publish({"seen"});
            return true;
        };
        return error::none;
    };
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(receive(), "seen");
    EXPECT_EQ(wait.asks, 100);
    EXPECT_EQ(peer->reads, 20) << "reads what is there, and no more";
    EXPECT_EQ(wait.waits, 0) << "slept";
}

TEST_F(borrower_test, a_look_in_vain_ends_in_sleep_and_makes_the_next_less_likely) {
    make(socket_type::dealer);
    be_woken_for_little();
    for (int i = 0; i < 64; ++i)
        EXPECT_EQ(receive(), "came");
    EXPECT_EQ(wait.waits, 64);
    EXPECT_EQ(wait.asks, 6 * 6) << "looks at the 1st, 3rd, 7th, 15th, 31st and 63rd";
    EXPECT_EQ(peer->reads, 64);
}

TEST_F(borrower_test, a_thread_that_gets_much_each_time_sleeps_at_once) {
    make(socket_type::dealer);
    be_woken_for_little();
    int parts = 0;
    wait.on_wait = [&](std::span<wait_item> items) {
        clock.at += std::chrono::microseconds(50);
        items.back().revents = POLLIN;
        parts = 0;
        peer->on_read = [&] {
            if (++parts <= 4)
                peer->publish({"part"});
            peer->has_more = parts < 4;
            return true;
        };
        return error::none;
    };
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(receive(), "part");
    wait.asks = 0;
    for (int i = 0; i < 40; ++i)
        EXPECT_EQ(receive(), "part");
    EXPECT_EQ(wait.asks, 0);
}

TEST_F(borrower_test, a_thread_that_waits_for_several_sockets_does_not_look) {
    make(socket_type::dealer);
    be_woken_for_little();
    const auto other = make_socket(socket_type::dealer);
    wait.on_wait = [](std::span<wait_item>) { return error::timed_out; };
    peer->reads = 0;
    watched items[] = {{self.get(), -1, ZMQ_POLLIN, 0}, {other.get(), -1, ZMQ_POLLIN, 0}};
    std::size_t count = 9;
    EXPECT_EQ(wait_for_any(items, 5, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait.asks, 0);
}

TEST_F(borrower_test, a_socket_may_be_listed_twice) {
    for (const short first : {0, ZMQ_POLLIN}) {
        make(socket_type::dealer);
        borrow();
        watched items[] = {{self.get(), -1, first, 0}, {self.get(), -1, ZMQ_POLLIN, 0}};
        wait.on_wait = [this](std::span<wait_item> listed) {
            EXPECT_EQ(listed.size(), 3u) << "two levels and the connection, once";
            listed.back().revents = POLLIN;
            peer->on_read = [this] { return peer->publish({"came"}), true; };
            return error::none;
        };
        std::size_t count = 0;
        EXPECT_EQ(wait_for_any(items, 5, count), error::none);
        EXPECT_EQ(items[1].ready, ZMQ_POLLIN);
        EXPECT_EQ(wait.waits, 1);
        self.reset();
        uses = 0;
    }
}

TEST_F(borrower_test, what_comes_to_a_socket_that_is_listed_twice_is_seen_by_the_first) {
    mark = 1;
    make(socket_type::dealer);
    borrow();
    const auto other = attach();
    EXPECT_EQ(self->send(as_bytes("fills it"), 0), error::none);
    EXPECT_EQ(self->send(as_bytes("fills it"), 0), error::none);
    // Once the first item is armed, and the second one is being prepared.
    peer->looks = 0;
    std::function<void()> on_look = [&] {
        if (peer->looks == 3)
            test::write_message(*other, {"came"});
        peer->on_next_look = on_look;
    };
    peer->on_next_look = on_look;
    watched items[] = {{self.get(), -1, ZMQ_POLLIN, 0}, {self.get(), -1, ZMQ_POLLOUT, 0}};
    std::size_t count = 0;
    EXPECT_EQ(wait_for_any(items, 5, count), error::none);
    EXPECT_EQ(items[0].ready, ZMQ_POLLIN);
    EXPECT_EQ(wait.waits, 0);
    peer->on_next_look = nullptr;
}

TEST_F(borrower_test, who_waits_for_room_that_is_there_sleeps_until_its_time) {
    make(socket_type::req);
    borrow({"", "answer"}, "question");
    wait.has_time = true;
    expect_polls_for_room_in_vain();
}

TEST_F(borrower_test, a_signal_during_the_moment_of_a_large_body_ends_a_send_that_has_no_room) {
    mark = 8;
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    wait.on_wait = [](std::span<wait_item>) { return error::interrupted; };
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none) << "there is room";
    EXPECT_GT(wait.waits, 0);
    EXPECT_EQ(self->send(as_bytes(body), 0), error::interrupted);
}

TEST_F(borrower_test, a_sender_that_keeps_a_connection_to_write_also_reads_it) {
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none);
    EXPECT_GE(peer->reads, 10);
}

}  // namespace
}  // namespace zlink
