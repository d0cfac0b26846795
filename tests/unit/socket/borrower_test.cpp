// Which connections are leased to a socket, and for how long.
#include "socket/borrower.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "borrowing_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

class borrower_test : public test::borrowing_socket {};

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
    test::lender other{ends.second};
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
    const auto other = std::make_unique<test::lender>(attach());
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
    const auto other = std::make_unique<test::lender>(attach());
    peer.reset();
    auto third = std::make_unique<test::lender>(attach());
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

    // Whatever is there before the wait begins keeps nothing: the connection was neither read nor
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

}  // namespace
}  // namespace zlink
