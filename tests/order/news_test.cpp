// Tests how one end of a pipe hears what has become of the other: a peer that comes, the last
// message that goes out, a close; and what both count as lost. In every order of the steps, which
// are those of pipe/pipe.cpp, written out: a change there is one here.
#include <gtest/gtest.h>

#include <algorithm>

#include "order/memory_model.hpp"

namespace zlink::order {

namespace {

outcome all_news(const std::function<program()> &make) {
    outcome all = explore(make);
    EXPECT_TRUE(all.runs > 2 || !all.failure.empty());
    EXPECT_EQ(all.left, 0u);
    return all;
}

// ---- a peer ----

struct orders_of_peer {
    std::memory_order await = seq_cst;   // await_peer()
    std::memory_order look = seq_cst;    // has_peer()
    std::memory_order say = seq_cst;     // note_peer(): has_peer
    std::memory_order listen = seq_cst;  // note_peer(): is_peer_awaited
};

/// pipe_end::note_peer() beside await_peer() and a look behind it.
std::string failure_of_peer(orders_of_peer by) {
    return all_news([by] {
               struct direction {
                   atomic<bool> has_peer{false}, is_peer_awaited{false};
                   bool is_woken = false;
                   bool sleeps = false;
               };
               auto it = std::make_shared<direction>();
               const auto connection = [=] {
                   it->has_peer.store(true, by.say);
                   if (it->is_peer_awaited.exchange(false, by.listen))
                       it->is_woken = true;
               };
               const auto socket = [=] {
                   it->is_peer_awaited.store(true, by.await);
                   it->sleeps = !it->has_peer.load(by.look);
               };
               return program{{connection, socket},
                              [=] { expect(!it->sleeps || it->is_woken, "nobody tells it of the peer"); }};
           })
        .failure;
}

/// pipe_end::note_peer() says first from which credit on the peer has had room; is_peer_slow()
/// judges by it.
std::string failure_of_blame(std::memory_order say, std::memory_order look) {
    return all_news([=] {
               struct end {
                   atomic<int> has_given_room_at{0};
                   atomic<bool> has_peer{false};
               };
               auto it = std::make_shared<end>();
               const auto connection = [=] {
                   it->has_given_room_at.store(1, relaxed);
                   it->has_peer.store(true, say);
               };
               const auto socket = [=] {
                   constexpr int returned = 0;
                   expect(!it->has_peer.load(look) || returned < it->has_given_room_at.load(relaxed),
                          "it is blamed for what it found full");
               };
               return program{{connection, socket}};
           })
        .failure;
}

}  // namespace

TEST(news, of_a_peer_reach_who_awaits_it) {
    EXPECT_EQ(failure_of_peer({}), "");
    EXPECT_NE(failure_of_peer({.await = release}), "");
    EXPECT_NE(failure_of_peer({.look = acquire}), "");
    EXPECT_NE(failure_of_peer({.say = release}), "");
    EXPECT_NE(failure_of_peer({.listen = acq_rel}), "");
}

TEST(news, of_a_peer_say_before_whether_it_found_room) {
    EXPECT_EQ(failure_of_blame(seq_cst, seq_cst), "");
    EXPECT_NE(failure_of_blame(relaxed, seq_cst), "");
    EXPECT_NE(failure_of_blame(seq_cst, relaxed), "");
}

// ---- a drain ----

namespace {

/// Faults that can be planted.
struct drain_faults {
    std::memory_order await = seq_cst;  // await_drain(): is_drain_awaited
    std::memory_order arm = seq_cst;    // arm_writer()
    std::memory_order look = seq_cst;   // is_all_out(): reader_armed
    std::memory_order count = acquire;  // is_all_out(): what was taken
    std::memory_order taken = release;  // single_writer
    std::memory_order sleep = seq_cst;  // arm_reader()
    bool no_fence_of_reader = false;    // of arm_reader()
    bool tells_first = false;           // tell_drained() in front of arm_reader()
    bool stays_armed = false;           // outbound::list_translated() without writing::note_awake()
    bool looks_once = false;            // is_all_out(): at reader_armed, before the count only
};

/// The direction from a socket to a connection that translates: what it has taken is not written
/// yet. The peer is there.
struct drained_direction {
    drain_faults faults;
    atomic<int> committed{0}, taken{0};
    atomic<bool> reader_armed{false}, writer_armed{false}, is_drain_awaited{false};
    plain<int> wire;
    bool is_reader_woken = false;
    bool is_writer_woken = false;
    bool sleeps = false;

    // ---- the socket ----

    void publish() {
        committed.store(1, release);
        full_fence();
        if (reader_armed.load(relaxed) && reader_armed.exchange(false, seq_cst))
            is_reader_woken = true;
    }
    void drain() {
        is_drain_awaited.exchange(true, faults.await);
        writer_armed.store(true, faults.arm);
        if (is_all_out())
            (void)wire.get();
        else
            sleeps = true;
    }
    bool is_all_out() {
        const bool was_armed = reader_armed.load(faults.look);
        const bool is_taken = taken.load(faults.count) == 1;
        return is_taken && was_armed && (faults.looks_once || reader_armed.load(faults.look));
    }

    // ---- the connection ----

    void translate() {
        if (!faults.stays_armed && reader_armed.load(relaxed))
            reader_armed.store(false, relaxed);
        taken.store(1, faults.taken);
    }
    void write() { wire.set(1); }
    void arm() {
        reader_armed.store(true, faults.sleep);
        if (!faults.no_fence_of_reader)
            full_fence();
    }
    void tell_drained() {
        if (is_drain_awaited.load(seq_cst) && writer_armed.load(relaxed) &&
            writer_armed.exchange(false, seq_cst))
            is_writer_woken = true;
    }
};

/// A message is in the pipe. The connection writes it out while the socket drains.
std::string failure_of_last_message(drain_faults faults) {
    return all_news([=] {
               auto it = std::make_shared<drained_direction>();
               it->faults = faults;
               const auto connection = [=] {
                   it->translate();
                   it->write();
                   if (faults.tells_first)
                       it->tell_drained();
                   it->arm();
                   if (!faults.tells_first)
                       it->tell_drained();
               };
               const auto socket = [=] { it->drain(); };
               return program{
                   {connection, socket},
                   [=] { expect(!it->sleeps || it->is_writer_woken, "it waits for what has gone out"); }};
           })
        .failure;
}

/// A connection that has armed itself finds the message before it sleeps, and its stream is full
/// once that is translated.
std::string failure_of_full_stream(drain_faults faults) {
    return all_news([=] {
               auto it = std::make_shared<drained_direction>();
               it->faults = faults;
               const auto connection = [=] {
                   it->arm();
                   if (it->committed.load(acquire) == 1)
                       it->translate();
               };
               const auto socket = [=] {
                   it->publish();
                   it->drain();
               };
               return program{{connection, socket},
                              [=] { expect(it->sleeps, "it takes for written what was only translated"); }};
           })
        .failure;
}

}  // namespace

TEST(drain, is_told_when_the_last_message_has_gone_out) {
    EXPECT_EQ(failure_of_last_message({}), "");
    EXPECT_NE(failure_of_last_message({.await = acq_rel}), "");
    EXPECT_NE(failure_of_last_message({.arm = release}), "");
    EXPECT_NE(failure_of_last_message({.look = acquire}), "");
    EXPECT_NE(failure_of_last_message({.look = relaxed}), "");
    EXPECT_EQ(failure_of_last_message({.sleep = release}), "") << "the fence behind it is enough";
    EXPECT_NE(failure_of_last_message({.no_fence_of_reader = true}), "");
    EXPECT_NE(failure_of_last_message({.tells_first = true}), "");
}

TEST(drain, goes_on_while_something_is_translated_and_not_written) {
    EXPECT_EQ(failure_of_full_stream({}), "");
    EXPECT_NE(failure_of_full_stream({.stays_armed = true}), "");
    EXPECT_NE(failure_of_full_stream({.looks_once = true}), "");
    EXPECT_NE(failure_of_full_stream({.count = relaxed}), "");
    EXPECT_NE(failure_of_full_stream({.taken = relaxed}), "");
}

// ---- the end ----

namespace {

/// pipe_end::close() beside the owner that the other end gets meanwhile, as in
/// inproc_names::join(). The mailbox's lock stands between set_events() and the look of who takes
/// the pipe in.
std::string failure_of_close(bool fence_of_closer, bool fence_of_owner) {
    return all_news([=] {
               struct end {
                   atomic<bool> writer_closed{false};
                   atomic<int> events{0};
                   plain<int> owner;
                   bool is_told = false;
                   bool has_seen = false;
               };
               auto it = std::make_shared<end>();
               const auto closer = [=] {
                   it->writer_closed.store(true, release);
                   if (fence_of_closer)
                       full_fence();
                   if (it->events.load(acquire)) {
                       (void)it->owner.get();
                       it->is_told = true;
                   }
               };
               const auto owner = [=] {
                   it->owner.set(1);
                   it->events.store(1, release);
                   if (fence_of_owner)
                       full_fence();
                   it->has_seen = it->writer_closed.load(acquire);
               };
               return program{{closer, owner},
                              [=] { expect(it->is_told || it->has_seen, "nobody hears of the close"); }};
           })
        .failure;
}

/// pipe_end::take_lost() at both ends, for what the first has published to the second, which has
/// read some.
std::string failure_of_loss(bool has_fences, std::memory_order by, std::memory_order close) {
    return all_news([=] {
               static constexpr int published = 3, read = 1;
               struct both {
                   atomic<int> published{0}, taken{0}, settled{0};
                   atomic<bool> is_first_closed{false}, is_second_closed{false};
                   int told = 0;

                   void claim(int count, std::memory_order how) {
                       const int settled_before = settled.exchange(count, how);
                       const int known = std::max(settled_before, taken.load(acquire));
                       told += count - std::min(count, known);
                   }
               };
               auto it = std::make_shared<both>();
               const auto first = [=] {
                   it->published.store(published, release);
                   it->is_first_closed.store(true, close);
                   if (has_fences)
                       full_fence();
                   if (it->is_second_closed.load(acquire))
                       it->claim(published, by);
               };
               const auto second = [=] {
                   it->taken.store(read, release);
                   it->is_second_closed.store(true, close);
                   if (has_fences)
                       full_fence();
                   (void)it->is_first_closed.load(acquire);
                   it->claim(std::max(it->published.load(acquire), read), by);
               };
               return program{
                   {first, second},
                   [=] { expect(it->told == published - read, "some are lost and not told, or twice"); }};
           })
        .failure;
}

}  // namespace

TEST(close, is_heard_of_by_an_owner_that_comes_meanwhile) {
    EXPECT_EQ(failure_of_close(true, true), "");
    EXPECT_NE(failure_of_close(false, true), "");
    EXPECT_NE(failure_of_close(true, false), "");
}

TEST(close, tells_each_message_once_that_nobody_reads) {
    EXPECT_EQ(failure_of_loss(true, acq_rel, release), "");
    EXPECT_EQ(failure_of_loss(true, relaxed, release), "") << "that it is one step is enough";
    EXPECT_NE(failure_of_loss(false, acq_rel, release), "");
    EXPECT_NE(failure_of_loss(true, acq_rel, relaxed), "");
}

}  // namespace zlink::order
