// The contract of transports (transport/transport.hpp), held against each: what a stream does, from
// its first octet to its end.
#include "transport_kinds.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <thread>

#include "placed_memory.hpp"

namespace zlink::test {
namespace {

// Octets that tell where in the stream they stand, a mebioctet at a time.
class long_text {
public:
    std::string_view from(std::uint64_t at, std::size_t count) const {
        return std::string_view(text_).substr(static_cast<std::size_t>(at % period), count);
    }

private:
    static constexpr std::size_t period = 1024 * 1024 + 7;
    const std::string text_ = [] {
        std::string once(period, '\0');
        std::mt19937 dice{5};
        std::generate(once.begin(), once.end(), [&] { return static_cast<char>(dice()); });
        return once + once;
    }();
};

/// Ranges of odd sizes over a piece of memory.
std::vector<iovec> cut(const char *data, std::size_t size, std::mt19937 &dice) {
    std::vector<iovec> ranges;
    for (std::size_t at = 0; at < size;) {
        const std::size_t part = std::min<std::size_t>(size - at, 1 + dice() % (size / 3 + 1));
        ranges.push_back({const_cast<char *>(data) + at, part});
        at += part;
    }
    return ranges;
}

// Each holds for streams that have just begun, and for those that have carried much, each way:
// whatever a stream begins with one that sends much has begun then.
class streams : public ::testing::TestWithParam<std::tuple<transport_kind, bool>> {
protected:
    void SetUp() override {
        prepare(bench, kind());
        ASSERT_NO_FATAL_FAILURE(bench.listen(kind().any));
        connect();
    }
    void TearDown() override {
        near.reset();
        far.reset();
    }
    /// Both ends of a new connection.
    void connect() {
        auto [a, b] = bench.connect();
        ASSERT_TRUE(a.bytes && b.bytes);
        near.emplace(std::move(a));
        far.emplace(std::move(b));
        const std::string block(128 * 1024, 's');
        for (int i = 0; i < 12 && is_old(); ++i) {
            near->send(block);
            ASSERT_EQ(far->receive(block.size()).size(), block.size());
            far->send(block);
            ASSERT_EQ(near->receive(block.size()).size(), block.size());
        }
    }
    const transport_kind &kind() const { return std::get<0>(GetParam()); }
    bool is_old() const { return std::get<1>(GetParam()); }
    driven_loop &drive() { return *bench.drive; }
    void turn_a_while() {
        for (int i = 0; i < 5; ++i)
            drive().round();
    }
    void read_all(std::size_t count) {
        while (count > 0 && !HasFailure())
            count -= far->receive(std::min<std::size_t>(count, 100'000)).size();
    }

    transport_bench bench{kind().scheme};
    std::optional<stream_end> near, far;
};

// ---- reading, and waiting for that ----

TEST_P(streams, say_again_when_there_is_nothing_to_read) {
    EXPECT_EQ(far->read(10), "");
    EXPECT_EQ(far->last.status, error::again);
    const int before = far->heard->readable;
    far->bytes->wait_readable();
    turn_a_while();
    EXPECT_EQ(far->heard->readable, before) << "nothing has come";
    near->send("x");
    drive().until([&] { return far->heard->readable > before; });
    EXPECT_EQ(far->read(10), "x");
}

TEST_P(streams, call_once_for_a_wait_however_often_it_is_asked_for) {
    const int before = far->heard->readable;
    (void)far->read(1);
    for (int i = 0; i < 3; ++i)
        far->bytes->wait_readable();
    near->send("one");
    drive().until([&] { return far->heard->readable > before; });
    far->bytes->wait_writable();
    far->bytes->wait_writable();
    const int written = far->heard->writable;
    drive().until([&] { return far->heard->writable > written; });
    near->send("two");
    turn_a_while();
    EXPECT_EQ(far->heard->readable, before + 1) << "called without a wait";
    EXPECT_EQ(far->heard->writable, written + 1) << "called without a wait";
    EXPECT_EQ(far->receive(6), "onetwo");
}

TEST_P(streams, call_for_input_that_was_there_before_the_wait) {
    near->send("ready");
    EXPECT_EQ(far->receive(1), "r");
    for (int i = 0; i < 4; ++i) {  // each read leaves something
        far->wait_until_readable();
        EXPECT_EQ(far->read(1).size(), 1u);
    }
    EXPECT_EQ(far->read(1), "");
}

TEST_P(streams, tell_what_a_read_left_behind_that_filled_its_ranges) {
    near->send(std::string(1000, 'x'));
    EXPECT_EQ(far->receive(400).size(), 400u);
    pollfd shown{far->bytes->descriptor(), POLLIN, 0};
    EXPECT_TRUE(far->bytes->holds_input() || ::poll(&shown, 1, 0) == 1)
        << "whoever waits for the descriptor waits in vain";
    if (kind().shared_memory == 0 && !kind().is_secured) {
        EXPECT_FALSE(far->bytes->holds_input());
    }
    EXPECT_EQ(far->receive(600).size(), 600u);
    EXPECT_EQ(far->read(10), "");
    EXPECT_FALSE(far->bytes->holds_input());
}

TEST_P(streams, take_ranges_of_any_number_and_size) {
    for (const std::size_t count : {0, 1, 2, 3, 64, 1000}) {
        SCOPED_TRACE(count);
        std::string octets;
        std::vector<iovec> out;
        for (std::size_t i = 0; i < count; ++i)
            octets += static_cast<char>(i);
        for (std::size_t i = 0; i < count; ++i)
            out.push_back({octets.data() + i, 1});
        const io_result sent = near->bytes->try_write(out);
        ASSERT_EQ(sent.status, error::none);
        ASSERT_EQ(sent.octets, count);
        std::string in(count, '\xff');
        std::vector<iovec> to;
        for (std::size_t i = 0; i < count; i += 2)
            to.push_back({in.data() + i, std::min<std::size_t>(2, count - i)});
        for (std::size_t have = 0; have < count;) {
            const io_result got = far->bytes->try_read(std::span(to).subspan(have / 2));
            if (got.status == error::again) {
                far->wait_until_readable();
                continue;
            }
            ASSERT_EQ(got.status, error::none);
            have += got.octets;
            ASSERT_TRUE(have % 2 == 0 || have == count);
        }
        EXPECT_EQ(in, octets);
    }
    // Empty ranges are none.
    char two[] = "ab";
    const iovec some[] = {{two, 0}, {two, 1}, {two + 1, 0}, {two + 1, 1}, {nullptr, 0}};
    EXPECT_EQ(near->bytes->try_write(some).octets, 2u);
    EXPECT_EQ(far->receive(2), "ab");
}

// The way in which the system copies a body depends on where it stands.
TEST_P(streams, carry_a_large_body_from_wherever_it_stands) {
    constexpr std::size_t size = 300'000;
    constexpr std::size_t header_size = 9;
    static const long_text text;
    for (const std::size_t offset : {0u, 4u, 8u, 9u, 16u, 21u, 22u, 64u, 2048u, 4090u, 4095u}) {
        SCOPED_TRACE(offset);
        placed_memory body(size, offset);
        std::ranges::copy(text.from(offset, size), body.data());
        const std::string header(text.from(1, header_size));
        std::string received;
        for (std::size_t sent = 0; sent < header_size + size && !HasFailure();) {
            const std::size_t of_body = sent - std::min(sent, header_size);
            const iovec ranges[] = {{const_cast<char *>(header.data()), header_size},
                                    {body.data() + of_body, size - of_body}};
            const io_result done = near->bytes->try_write(std::span(ranges).subspan(sent == 0 ? 0 : 1));
            ASSERT_TRUE(done.status == error::none || done.status == error::again);
            sent += done.octets;
            ASSERT_GE(sent, header_size);
            while (received.size() < sent)
                received += far->receive(sent - received.size());
        }
        EXPECT_TRUE(received == header + std::string(body.text()));
    }
}

TEST_P(streams, say_again_without_octets_only_wherever_a_large_body_fills_them) {
    constexpr std::size_t size = 4'000'000;
    constexpr std::size_t header_size = 9;
    // One and two blocks are written alone of them.
    placed_memory pages(size, 0), of_heap(size, 16);
    std::string header(header_size, 'h');
    for (std::size_t before = 0; before < 64 * 1024 && !HasFailure(); before += 4'000) {
        SCOPED_TRACE(before);
        placed_memory &body = before % 8'000 == 0 ? pages : of_heap;
        std::size_t sent =
            before > 0 ? near->bytes->try_write(std::vector<iovec>{{body.data(), before}}).octets : 0;
        for (int full = 0; full < 2;) {
            const iovec ranges[] = {{header.data(), header_size}, {body.data(), size}};
            const io_result done = near->bytes->try_write(ranges);
            // busy: one call has taken as much as it may.
            ASSERT_TRUE(done.status == error::none || done.status == error::busy ||
                        (done.status == error::again && done.octets == 0));
            sent += done.octets;
            full += done.status == error::again;
        }
        read_all(sent);
    }
}

TEST_P(streams, carry_64_mebioctets_whole_and_in_order) {
    constexpr std::uint64_t all = 64 * 1024 * 1024;
    static const long_text text;
    std::mt19937 dice{7};
    std::uint64_t sent = 0, received = 0;
    std::string memory(300'000, '\0');
    bool is_whole = true;
    const auto write = [&] {
        while (sent < all) {
            const auto size =
                static_cast<std::size_t>(std::min<std::uint64_t>(all - sent, 1 + dice() % 300'000));
            const io_result done = near->bytes->try_write(cut(text.from(sent, size).data(), size, dice));
            sent += done.octets;
            if (done.status != error::none || done.octets < size) {
                ASSERT_TRUE(done.status == error::none || done.status == error::again);
                near->bytes->wait_writable();
                return;
            }
        }
    };
    const auto read = [&] {
        const std::size_t size = 1 + dice() % memory.size();
        const io_result got = far->bytes->try_read(cut(memory.data(), size, dice));
        ASSERT_TRUE(got.status == error::none || got.status == error::again);
        is_whole =
            is_whole && text.from(received, got.octets) == std::string_view(memory).substr(0, got.octets);
        received += got.octets;
        if (received < all)
            far->bytes->wait_readable();
    };
    near->heard->then_writable = write;
    far->heard->then_readable = read;
    far->bytes->wait_readable();
    write();
    drive().until([&] { return received == all || !is_whole || HasFailure(); });
    EXPECT_TRUE(is_whole);
    EXPECT_EQ(sent, all);
    EXPECT_EQ(far->read(1), "");
}

// ---- the end ----

TEST_P(streams, end_behind_what_was_written_before) {
    near->send("the last");
    // Inside TLS the other way ends, too.
    if (!kind().is_secured && near->bytes->finish_writing()) {
        EXPECT_EQ(far->receive(8), "the last");
        far->expect_end();
        far->expect_end();
        // The other way goes on.
        far->send("still heard");
        EXPECT_EQ(near->receive(11), "still heard");
    }
    far->send("and gone");
    far->bytes.reset();
    EXPECT_EQ(near->receive(8), "and gone");
    near->expect_end();
}

TEST_P(streams, can_be_read_to_their_end_by_another_owner_than_who_has_written) {
    struct : stream_events {
        void on_stream_readable() noexcept override { ++readable; }
        void on_stream_writable() noexcept override {}
        int readable = 0;
    } later;
    EXPECT_EQ(near->read(1), "");
    near->bytes->wait_readable();
    near->send("the last");
    ASSERT_TRUE(near->bytes->finish_writing());
    std::unique_ptr<stream> rest = near->bytes->release_inner();
    if (!rest)
        rest = std::move(near->bytes);
    near->bytes.reset();
    const int before = near->heard->readable;
    rest->set_events(&later);
    far->send("in vain");
    EXPECT_EQ(far->receive(8), "the last");
    far->expect_end();
    far->bytes.reset();
    for (error status = error::again; !failed(status) || status == error::again;) {
        char octets[64];
        const iovec range{octets, sizeof octets};
        status = rest->try_read({&range, 1}).status;
        const int heard = later.readable;
        rest->wait_readable();
        drive().until([&] { return later.readable > heard; });
        if (HasFailure())
            return;
    }
    EXPECT_EQ(near->heard->readable, before) << "it has nothing to do with it any more";
}

TEST_P(streams, wake_whoever_waits_when_they_end) {
    for (const bool finishes : {true, false}) {
        connect();
        const int before = far->heard->readable;
        EXPECT_EQ(far->read(1), "");
        far->bytes->wait_readable();
        drive().round();
        if (!finishes || !near->bytes->finish_writing())
            near->bytes.reset();
        drive().until([&] { return far->heard->readable > before; });
        EXPECT_EQ(far->read(1), "");
        EXPECT_EQ(far->last.status, error::connection_reset);
    }
}

TEST_P(streams, fail_to_write_without_a_signal_once_the_peer_is_gone) {
    for (const bool leaves_octets : {false, true}) {
        connect();
        if (leaves_octets)
            near->send("unread");
        far->bytes.reset();
        // Whatever goes out before the news has come is lost.
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (near->write(std::string(1000, 'x')).status == error::none)
            ASSERT_LT(std::chrono::steady_clock::now(), limit);
        const io_result sent = near->write("x");
        EXPECT_EQ(sent.octets, 0u);
        EXPECT_TRUE(failed(sent.status) && sent.status != error::again);
        near->expect_end();
    }
}

TEST_P(streams, call_nobody_once_they_are_destroyed) {
    near->send(std::string(100, 'x'));
    (void)far->receive(10);  // the rest is perhaps hidden
    const int before = far->heard->readable + far->heard->writable;
    const int before_near = near->heard->readable + near->heard->writable;
    far->bytes->wait_readable();
    far->bytes->wait_writable();
    far->bytes.reset();
    near->bytes->wait_writable();
    near->bytes.reset();
    turn_a_while();
    EXPECT_EQ(far->heard->readable + far->heard->writable, before);
    EXPECT_EQ(near->heard->readable + near->heard->writable, before_near);
}

TEST_P(streams, may_be_destroyed_in_their_own_callbacks) {
    near->send(std::string(100, 'x'));
    (void)far->receive(10);
    far->heard->then_readable = [&] { far->bytes.reset(); };
    near->heard->then_writable = [&] { near->bytes.reset(); };
    far->bytes->wait_readable();
    near->bytes->wait_writable();
    drive().until([&] { return !near->bytes && !far->bytes; });
}

TEST_P(streams, leave_nothing_to_a_loop_that_goes_before_it_has_called) {
    near->send("x");
    far->bytes->wait_readable();
    far->bytes->wait_writable();
    near->bytes->wait_writable();
    near.reset();
    far.reset();
    bench.listening.reset();
    bench.dialing.reset();
    bench.drive.reset();  // runs what there is, and destroys the rest
}

// ---- writing, and waiting for that ----

TEST_P(streams, say_again_when_full_and_call_once_there_is_room) {
    for (int round = 0; round < 3; ++round) {
        const std::size_t left = near->fill();
        EXPECT_GT(left, 0u);
        const int before = near->heard->writable;
        near->bytes->wait_writable();
        near->bytes->wait_writable();
        read_all(left);
        drive().until([&] { return near->heard->writable > before; });
        turn_a_while();
        EXPECT_EQ(near->heard->writable, before + 1) << "called without a wait";
        EXPECT_GT(near->write("f").octets, 0u);  // the next of what it was given before
        EXPECT_EQ(far->receive(1), "f");
    }
}

TEST_P(streams, carry_the_other_way_while_one_is_full) {
    const int readable = near->heard->readable, writable = near->heard->writable;
    const std::size_t left = near->fill();
    near->bytes->wait_writable();
    near->bytes->wait_readable();
    far->send("the other way");
    drive().until([&] { return near->heard->readable > readable; });
    EXPECT_EQ(near->receive(13), "the other way");
    read_all(left);
    drive().until([&] { return near->heard->writable > writable; });
}

TEST_P(streams, know_what_would_be_lost_if_they_were_closed_now) {
    EXPECT_EQ(near->bytes->unconfirmed(), 0u);
    const std::size_t left = near->fill();
    const std::size_t most = near->bytes->unconfirmed();
    if (!kind().is_secured) {  // which adds some
        EXPECT_LE(most, left);
    }
    EXPECT_EQ(most > 0, kind().is_confirmed_late);
    read_all(left);
    // The confirmation of the last octets is under way.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (; near->bytes->unconfirmed() > 0; drive().round())
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
}

// ---- who is called ----

TEST_P(streams, call_the_owner_that_was_set_last) {
    watcher second(drive());
    near->send("for the first");
    far->wait_until_readable();
    EXPECT_EQ(far->read(5), "for t");
    const int before = far->heard->readable;
    far->bytes->set_events(&second);
    far->bytes->wait_readable();
    drive().until([&] { return second.readable > 0; });
    EXPECT_EQ(far->heard->readable, before);
    far->bytes->set_events(far->heard.get());
    far->wait_until_readable();
    EXPECT_EQ(far->receive(8), "he first");
    EXPECT_EQ(second.readable, 1);
}

TEST_P(streams, do_not_call_from_inside_the_calls_of_their_callbacks) {
    // The watcher sees to that it is not called while it is.
    int left = 100;
    near->heard->then_readable = [&] {
        (void)near->read(1);
        near->bytes->wait_readable();
        near->bytes->wait_writable();
    };
    near->heard->then_writable = [&] {
        if (--left < 0)
            return;
        near->bytes->wait_writable();
        (void)far->write("xy");
        near->bytes->wait_readable();
    };
    near->bytes->wait_writable();
    drive().until([&] { return left <= 0; });
}

// ---- leasing ----

// A borrower on a thread of its own: polls the descriptor, reads so many octets.
std::string read_elsewhere(stream &from, std::size_t count) {
    std::string octets;
    std::thread([&] {
        while (octets.size() < count) {
            std::string more(count - octets.size(), '\0');
            const iovec range{more.data(), more.size()};
            const io_result got = from.try_read({&range, 1});
            octets.append(more, 0, got.octets);
            pollfd item{from.descriptor(), POLLIN, 0};
            if (got.status == error::again) {
                EXPECT_EQ(::poll(&item, 1, 20'000), 1);
            }
            if ((failed(got.status) && got.status != error::again) || ::testing::Test::HasFailure())
                return;
        }
    }).join();
    return octets;
}

TEST_P(streams, lose_nothing_when_they_change_hands_with_input_pending) {
    std::uint64_t sent = 0, received = 0;
    static const long_text text;
    const auto send = [&](std::size_t count) {
        near->send(text.from(sent, count));
        sent += count;
    };
    const auto note = [&](const std::string &octets, std::size_t wanted) {
        ASSERT_EQ(octets.size(), wanted);
        ASSERT_EQ(octets, text.from(received, wanted)) << "from octet " << received;
        received += wanted;
    };
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE(round);
        // With a wait under way, or input, or both, or neither.
        if (round & 1)
            far->bytes->wait_readable();
        if (round & 2)
            send(700);
        if (round & 4)
            far->bytes->wait_writable();
        ASSERT_TRUE(far->bytes->lease_out());
        const int readable = far->heard->readable, writable = far->heard->writable;
        send(1000);
        turn_a_while();
        EXPECT_EQ(far->heard->readable, readable) << "it is leased";
        EXPECT_EQ(far->heard->writable, writable) << "it is leased";
        ASSERT_NO_FATAL_FAILURE(note(read_elsewhere(*far->bytes, 600), 600));
        ASSERT_EQ(far->bytes->take_back(), error::none);
        // Whatever is there is told without more coming.
        if (round & 8)
            send(300);
        const std::size_t rest = static_cast<std::size_t>(sent - received);
        far->wait_until_readable();
        ASSERT_NO_FATAL_FAILURE(note(far->receive(rest), rest));
        far->bytes->wait_writable();
        drive().until([&] { return far->heard->writable > writable; });
        EXPECT_EQ(far->read(1), "");
    }
}

TEST_P(streams, end_for_a_borrower_and_for_the_loop_after_it) {
    for (const bool sees_end : {true, false}) {
        connect();
        near->send("last words");
        ASSERT_TRUE(far->bytes->lease_out());
        EXPECT_EQ(read_elsewhere(*far->bytes, 4), "last");
        near->bytes.reset();
        if (sees_end) {
            EXPECT_EQ(read_elsewhere(*far->bytes, 100), " words");
        }
        ASSERT_EQ(far->bytes->take_back(), error::none);
        far->wait_until_readable();
        if (!sees_end) {
            EXPECT_EQ(far->receive(6), " words");
        }
        far->expect_end();
    }
}

TEST_P(streams, may_be_destroyed_while_leased) {
    const int before = far->heard->readable;
    near->send("x");
    far->bytes->wait_readable();
    ASSERT_TRUE(far->bytes->lease_out());
    far->bytes.reset();
    drive().round();
    EXPECT_EQ(far->heard->readable, before);
    // It is closed, not kept: the peer hears of it. It has sent what nobody reads.
    near->expect_end();
}

TEST_P(streams, are_read_and_written_by_other_threads_while_leased) {
    // The loop's thread stands still; two others send and receive through one stream, both ways at
    // once.
    static const long_text text;
    constexpr std::uint64_t all = 8 * 1024 * 1024;
    ASSERT_TRUE(near->bytes->lease_out());
    ASSERT_TRUE(far->bytes->lease_out());
    std::atomic<int> faults{0};
    const auto send_all = [&](stream &to) {
        std::mt19937 dice{11};
        for (std::uint64_t sent = 0; sent < all && faults == 0;) {
            const auto size =
                static_cast<std::size_t>(std::min<std::uint64_t>(all - sent, 1 + dice() % 200'000));
            const io_result done = to.try_write(cut(text.from(sent, size).data(), size, dice));
            sent += done.octets;
            pollfd item{to.descriptor(), POLLOUT, 0};
            if (done.status == error::again)
                faults += ::poll(&item, 1, 20'000) != 1;
            else if (done.status == error::busy)
                std::this_thread::yield();  // the other one reads
            else
                faults += failed(done.status);
        }
    };
    const auto receive_all = [&](stream &from) {
        std::mt19937 dice{13};
        std::string memory(200'000, '\0');
        for (std::uint64_t received = 0; received < all && faults == 0;) {
            const io_result got = from.try_read(cut(memory.data(), 1 + dice() % memory.size(), dice));
            faults += text.from(received, got.octets) != std::string_view(memory).substr(0, got.octets);
            received += got.octets;
            pollfd item{from.descriptor(), POLLIN, 0};
            if (got.status == error::again)
                faults += ::poll(&item, 1, 20'000) != 1;
            else
                faults += failed(got.status);
        }
    };
    {
        std::jthread a([&] { send_all(*near->bytes); }), b([&] { receive_all(*far->bytes); });
        std::jthread c([&] { send_all(*far->bytes); }), d([&] { receive_all(*near->bytes); });
    }
    EXPECT_EQ(faults, 0);
    EXPECT_EQ(near->bytes->take_back(), error::none);
    EXPECT_EQ(far->bytes->take_back(), error::none);
    near->send("home");
    EXPECT_EQ(far->receive(4), "home");
}

INSTANTIATE_TEST_SUITE_P(each, streams,
                         ::testing::Combine(::testing::ValuesIn(transport_kinds), ::testing::Bool()),
                         [](const auto &which) {
                             return std::string(std::get<1>(which.param) ? "old_" : "new_") +
                                    std::get<0>(which.param).name;
                         });

}  // namespace
}  // namespace zlink::test
