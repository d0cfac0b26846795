// A pipe between two threads that sleep whenever there is nothing to do: no wake-up is lost,
// nothing is reordered.
//
// Method:   each side arms itself, runs heavy_fence(), looks again and only then waits for its
//           `pipe_events`. Both count messages; a lost wake-up shows as a wait that nothing ends.
#include "pipe/pipe.hpp"

#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace zlink {
namespace {

/// This is where one thread sleeps until its end of the pipe is worth a look.
class bell final : public pipe_events {
public:
    void on_readable(pipe_end &) noexcept override { ring(); }
    void on_writable(pipe_end &) noexcept override { ring(); }
    void on_closed(pipe_end &) noexcept override { ring(); }

    /// False when nobody rang for so long that nobody will.
    bool wait() {
        std::unique_lock lock(mutex_);
        ++waits_;
        const bool rang = rung_.wait_for(lock, std::chrono::seconds(60), [this] { return is_rung_; });
        is_rung_ = false;
        return rang;
    }
    std::uint64_t waits() const { return waits_; }

private:
    void ring() noexcept {
        std::lock_guard lock(mutex_);
        is_rung_ = true;
        rung_.notify_one();
    }
    std::mutex mutex_;
    std::condition_variable rung_;
    bool is_rung_ = false;
    std::uint64_t waits_ = 0;
};

struct counted_block : block {
    explicit counted_block(std::atomic<int> &live) : block(&destroy), live_(live) { ++live_; }
    std::vector<std::uint8_t> memory;

private:
    static void destroy(block *self) noexcept {
        auto *mine = static_cast<counted_block *>(self);
        --mine->live_;
        delete mine;
    }
    std::atomic<int> &live_;
};

// Message n has one to three parts; each part is its number, then octets that follow from it.
std::size_t parts_of(std::uint64_t n) { return n % 7 == 0 ? 3 : n % 5 == 0 ? 2 : 1; }
std::size_t part_size(std::uint64_t n, std::size_t part) {
    const std::uint64_t mixed = (n * 3 + part) * 0x9e3779b97f4a7c15u >> 40;
    return 8 + (mixed % 101 == 0 ? 20000 : mixed % 11 == 0 ? 300 : mixed % 60);
}
void fill_part(std::vector<std::uint8_t> &out, std::uint64_t n, std::size_t part) {
    out.assign(part_size(n, part), static_cast<std::uint8_t>(n + part));
    put_u64(out.data(), n);
}
bool is_part(byte_span body, std::uint64_t n, std::size_t part) {
    return body.size() == part_size(n, part) && get_u64(body.data()) == n &&
           (body.size() == 8 || (body[8] == static_cast<std::uint8_t>(n + part) && body.back() == body[8]));
}

enum class taking { gathers, reads, reads_only };

class two_threads : public ::testing::TestWithParam<std::tuple<std::uint64_t, taking>> {
protected:
    void open(std::uint64_t hwm, bool conflate = false, end_kind second = end_kind::connection) {
        auto ends = make_pipe(pool, {hwm, hwm, conflate, {}, second});
        writer = std::move(ends.first);
        reader = std::move(ends.second);
        writer->set_events(writer_bell);
        reader->set_events(reader_bell);
    }
    void TearDown() override {
        writer.reset();
        reader.reset();
        EXPECT_EQ(live, 0);
        EXPECT_EQ(pool.use_count(), 1);
    }

    /// Waits until a message may be written.
    static bool await_credit(pipe_end &end, bell &own) {
        while (!end.has_credit()) {
            end.arm_writer();
            heavy_fence();
            if (!end.has_credit() && !own.wait())
                return false;
        }
        return true;
    }
    /// Waits until there is something to read; false at the end of the pipe.
    static bool await_input(pipe_end &end, bell &own, bool &is_lost) {
        while (!end.has_input()) {
            end.arm_reader();
            heavy_fence();
            if (end.has_input())
                return true;
            if (end.is_finished())
                return false;
            if (!own.wait()) {
                is_lost = true;
                return false;
            }
        }
        return true;
    }

    /// Writes messages 0 to count - 1, each part in one of the ways there are, and closes.
    void write_all(std::uint64_t count) {
        std::mt19937 random(1);
        std::vector<std::uint8_t> body;
        for (std::uint64_t n = 0; n < count; ++n) {
            if (!await_credit(*writer, *writer_bell)) {
                ADD_FAILURE() << "nobody woke the writer at message " << n;
                break;
            }
            if (random() % 16 == 0) {
                if (random() % 2) {
                    EXPECT_EQ(writer->write(frame_flag::more, as_bytes("abandoned")), error::none);
                }
                if (random() % 2) {
                    EXPECT_EQ(write_to(*writer, frame_flag::more), error::none);
                }
                writer->roll_back();
            }
            for (std::size_t part = 0; part < parts_of(n); ++part) {
                const bool is_last = part + 1 == parts_of(n);
                fill_part(body, n, part);
                EXPECT_EQ(write_part(is_last ? 0 : frame_flag::more, body, part == 0, random()), error::none);
            }
            writer->publish();
        }
        writer->close();
    }
    error write_to(pipe_end &end, std::uint8_t flags = 0) {
        auto *owner = new counted_block(live);
        owner->memory.assign(100, 1);
        return end.write_external(flags, block_ref::adopt(owner), owner->memory);
    }
    error write_part(std::uint8_t flags, const std::vector<std::uint8_t> &body, bool starts_message,
                     unsigned way) {
        if (body.size() > 5000 || way % 16 == 0) {
            auto *owner = new counted_block(live);
            owner->memory = body;
            return writer->write_external(flags, block_ref::adopt(owner), owner->memory);
        }
        if (way % 16 == 1) {
            auto *owner = new counted_block(live);
            owner->memory.resize(frame_header_size(body.size()) + body.size());
            std::copy(body.begin(), body.end(), put_frame_header(owner->memory.data(), body.size(), flags));
            const error e = writer->append(owner, owner->memory, flags ? 0 : 1, starts_message);
            owner->release();
            return e;
        }
        return writer->write(flags, body);
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::shared_ptr<bell> writer_bell = std::make_shared<bell>();
    std::shared_ptr<bell> reader_bell = std::make_shared<bell>();
    std::atomic<int> live{0};
    pipe_end_ptr writer;
    pipe_end_ptr reader;
};

/// Parses what a gathering consumer would have written to a stream.
class stream_check {
public:
    void feed(const std::uint8_t *octets, std::size_t count) {
        held_.insert(held_.end(), octets, octets + count);
        std::size_t at = 0;
        for (frame_header header; get_frame_header(held_.data() + at, held_.size() - at, header);) {
            if (held_.size() - at < header.header_size + header.body_size)
                break;
            check(byte_span(held_).subspan(at + header.header_size, header.body_size), header.has_more());
            at += header.header_size + header.body_size;
        }
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    /// The stream broke; a message of which an octet was written is gone.
    void start_again() {
        if (!held_.empty() || part_ > 0) {
            ++next_;
            ++lost_;
        }
        held_.clear();
        part_ = 0;
    }
    std::uint64_t next() const { return next_; }
    std::uint64_t lost() const { return lost_; }
    std::uint64_t wrong() const { return wrong_; }

private:
    void check(byte_span body, bool has_more) {
        wrong_ += !is_part(body, next_, part_) || has_more != (part_ + 1 < parts_of(next_));
        ++part_;
        if (!has_more) {
            ++next_;
            part_ = 0;
        }
    }
    std::vector<std::uint8_t> held_;
    std::uint64_t next_ = 0;
    std::size_t part_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t wrong_ = 0;
};

TEST_P(two_threads, lose_no_message_and_no_wake_up) {
    const auto [hwm, how] = GetParam();
    const std::uint64_t count = hwm == 0 || hwm > 100 ? zlink_test::effort(200000, 60000) : 30000;
    open(hwm, false, how == taking::reads_only ? end_kind::socket : end_kind::connection);
    if (hwm > 10)
        reader->stand_off();
    std::thread thread([&, count = count] { write_all(count); });

    bool is_lost = false;
    std::uint64_t wrong = 0;
    std::uint64_t next = 0;
    if (how == taking::gathers) {
        std::mt19937 random(2);
        stream_check stream;
        std::array<iovec, 16> ranges;
        while (await_input(*reader, *reader_bell, is_lost)) {
            writing turn = reader->take_turn();
            const auto found =
                turn.gather(ranges.data(), 1 + random() % ranges.size(), 1 + random() % 100000);
            std::size_t written = random() % 3 ? found.octets : 1 + random() % found.octets;
            for (std::size_t i = 0, left = written; left > 0; ++i) {
                const std::size_t part = std::min<std::size_t>(left, ranges[i].iov_len);
                stream.feed(static_cast<const std::uint8_t *>(ranges[i].iov_base), part);
                left -= part;
            }
            turn.release(written);
            if (random() % 20 == 0) {
                turn.drop_cut_message();
                stream.start_again();
            }
        }
        next = stream.next();
        wrong = stream.wrong();
        EXPECT_LT(stream.lost(), count);
    } else {
        std::size_t part = 0;
        frame_view frame;
        while (await_input(*reader, *reader_bell, is_lost)) {
            while (reader->read(frame)) {
                wrong +=
                    !is_part(frame.body(), next, part) || frame.has_more() != (part + 1 < parts_of(next));
                part = frame.has_more() ? part + 1 : 0;
                next += !frame.has_more();
                if (frame.lone_owner && next % 2)
                    block_ref::adopt(std::exchange(*frame.lone_owner, nullptr));
            }
        }
    }
    thread.join();
    EXPECT_FALSE(is_lost) << "nobody woke the reader at message " << next;
    EXPECT_EQ(next, count);
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(reader->is_finished());
    if (hwm > 0) {
        EXPECT_EQ(writer->credit(), hwm);
    }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::uint64_t, taking>> &info) {
    const char *const names[] = {"gathering", "reading", "only_reading"};
    return "hwm_" + std::to_string(std::get<0>(info.param)) + "_" +
           names[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(marks, two_threads,
                         ::testing::Combine(::testing::Values<std::uint64_t>(1, 2, 10, 1000, 0),
                                            ::testing::Values(taking::gathers, taking::reads,
                                                              taking::reads_only)),
                         name_of);

class pipe_stress : public two_threads {};

TEST_P(pipe_stress, ping_pong_wakes_the_other_side_every_time) {
    constexpr int rounds = 30000;
    open(1);
    bool other_lost = false;
    std::thread thread([&] {
        frame_view frame;
        while (await_input(*reader, *reader_bell, other_lost)) {
            while (reader->read(frame)) {
                if (!await_credit(*reader, *reader_bell))
                    other_lost = true;
                EXPECT_EQ(reader->write(0, frame.body()), error::none);
                reader->publish();
            }
        }
    });
    bool is_lost = false;
    for (int i = 0; i < rounds && !is_lost; ++i) {
        ASSERT_TRUE(await_credit(*writer, *writer_bell));
        std::array<std::uint8_t, 4> body;
        put_u32(body.data(), static_cast<std::uint32_t>(i));
        ASSERT_EQ(writer->write(0, body), error::none);
        writer->publish();
        frame_view frame;
        ASSERT_TRUE(await_input(*writer, *writer_bell, is_lost));
        ASSERT_TRUE(writer->read(frame));
        ASSERT_EQ(get_u32(frame.data), static_cast<std::uint32_t>(i));
    }
    writer->close();
    thread.join();
    EXPECT_FALSE(is_lost);
    EXPECT_FALSE(other_lost);
}

TEST_P(pipe_stress, conflation_ends_with_the_newest_message) {
    constexpr std::uint32_t count = 200000;
    open(0, true);
    std::thread thread([&] {
        std::vector<std::uint8_t> body;
        for (std::uint32_t i = 1; i <= count; ++i) {
            body.assign(4 + i % 100, static_cast<std::uint8_t>(i));
            put_u32(body.data(), i);
            EXPECT_EQ(writer->write(0, body), error::none);
            writer->publish();
        }
        writer->close();
    });
    bool is_lost = false;
    std::uint32_t last = 0;
    frame_view frame;
    while (await_input(*reader, *reader_bell, is_lost)) {
        while (reader->read(frame)) {
            const std::uint32_t seen = get_u32(frame.data);
            ASSERT_GT(seen, last);
            ASSERT_EQ(frame.size, 4 + seen % 100);
            last = seen;
        }
    }
    thread.join();
    EXPECT_FALSE(is_lost);
    EXPECT_EQ(last, count);
}

TEST_P(pipe_stress, either_end_may_close_and_go_first) {
    for (int i = 0; i < 400; ++i) {
        open(4);
        std::thread thread([&, end = std::move(writer)] {
            for (int n = 0; n < i % 50 && await_credit(*end, *writer_bell) && !end->is_peer_closed(); ++n) {
                EXPECT_EQ(write_to(*end), error::none);
                end->publish();
            }
            end->close();
        });
        frame_view frame;
        bool is_lost = false;
        // A reader that closes early leaves credit for all the writer may still write.
        for (int n = 0;
             (i % 3 || n < 46) && await_input(*reader, *reader_bell, is_lost) && reader->read(frame); ++n) {
        }
        reader->close();
        reader.reset();
        thread.join();
        ASSERT_FALSE(is_lost);
        ASSERT_EQ(live, 0);
    }
}

TEST_P(pipe_stress, a_publication_is_seen_at_the_last_look_or_rings) {
    // Both sides start each round together, so that publishing meets arming over and over.
    constexpr int rounds = 50000;
    struct flag final : pipe_events {
        std::atomic<bool> is_rung{false};
        void on_readable(pipe_end &) noexcept override { is_rung.store(true); }
        void on_writable(pipe_end &) noexcept override {}
        void on_closed(pipe_end &) noexcept override {}
    };
    const auto events = std::make_shared<flag>();
    open(0);
    reader->set_events(events);
    std::atomic<int> started{0};
    std::atomic<int> published{0};
    const auto spin_until = [](const std::atomic<int> &counter, int value) {
        for (int spins = 0; counter.load() < value; ++spins) {
            if (spins > 1000)
                std::this_thread::yield();
        }
    };
    const auto idle = [](unsigned turns) {
        for (; turns > 0; --turns)
            std::atomic_signal_fence(std::memory_order_seq_cst);
    };
    std::thread thread([&] {
        std::mt19937 random(3);
        for (int round = 1; round <= rounds; ++round) {
            spin_until(started, round);
            idle(random() % 500);
            EXPECT_EQ(writer->write(0, as_bytes("x")), error::none);
            writer->publish();
            published.store(round);
        }
    });
    std::mt19937 random(4);
    int missed = 0;
    frame_view frame;
    for (int round = 1; round <= rounds; ++round) {
        events->is_rung.store(false);
        started.store(round);
        idle(200 + random() % 1000);
        reader->arm_reader();
        heavy_fence();
        const bool was_seen = reader->has_input();
        spin_until(published, round);
        missed += !was_seen && !events->is_rung.load();
        while (reader->read(frame)) {
        }
    }
    thread.join();
    EXPECT_EQ(missed, 0);
}

INSTANTIATE_TEST_SUITE_P(once, pipe_stress, ::testing::Values(std::tuple(std::uint64_t{0}, taking::reads)));

}  // namespace
}  // namespace zlink
