// The frame queue against a plain model: random calls on both ends, every octet, count and
// reference compared. What it does when memory is short, and with very many messages.
#include "pipe/frame_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "failing_allocation.hpp"  // of nodes, and of nothing else in these tests
#include "one_queue.hpp"

namespace zlink {
namespace {

using test::counted_block;
using test::encoded;
using test::model_frame;
using test::noise;
using test::one_queue;

constexpr std::size_t body_sizes[] = {0, 1, 63, 64, 254, 255, 256, 8191, 8192, 65536, 1 << 20};

/// A queue, what should be in it, and random steps on both.
class checked_queue {
public:
    checked_queue(unsigned seed, bool fails_allocations, frame_queue::bodies where)
        : random_(seed), fails_allocations_(fails_allocations), where_(where),
          queue_(std::make_unique<frame_queue>(pool_, 128, where)) {
        infos_[0] = nullptr;
        for (int i = 1; i < 3; ++i)
            infos_[i] = new peer_info;
    }
    ~checked_queue() {
        queue_.reset();
        if (source_)
            source_->release();
        EXPECT_EQ(live_external_, 0);
        EXPECT_EQ(live_sources_, 0);
        EXPECT_EQ(pool_.use_count(), 1);  // every chunk in use keeps its pool
        for (int i = 1; i < 3; ++i) {
            EXPECT_FALSE(infos_[i]->is_shared());
            infos_[i]->release();
        }
    }

    // ---- producer ----

    void produce() {
        failing_allocation = fails_allocations_ && chance(4) ? 1 + pick(3) : 0;
        const unsigned what = pick(20);
        if (what < 4 && !in_message_)
            write_short();
        else if (what < 8)
            write_copied();
        else if (what < 11)
            write_external();
        else if (what < 14)
            write_ranges(false);
        else if (what < 18)
            write_ranges(true);
        else if (what == 18)
            roll_back();
        else
            change_info();
        failing_allocation = 0;
        ASSERT_EQ(queue_->has_unpublished(), !pending_.empty());
        if (!in_message_ && chance(2))
            publish();
        check_octets();
    }
    void finish_producing() {
        if (in_message_)
            roll_back();
        publish();
    }

    // ---- consumer ----

    void read_some() {
        for (unsigned count = pick(6); count > 0 || is_reading_message_; count -= count > 0)
            if (!read_one())
                return;
        check_octets();
    }
    void gather_some() {
        std::array<iovec, 24> ranges;
        const std::size_t limit = 1 + pick(ranges.size());
        const std::size_t max_octets = chance(3) ? 1 + pick(100) : 1 + pick(200000);
        const auto found = queue_->gather(ranges.data(), limit, max_octets);
        ASSERT_LE(found.ranges, limit);
        check_ranges(found, {ranges.data(), found.ranges});
        std::size_t left = found.octets;
        while (left > 0 && !chance(5)) {
            const std::size_t part = chance(2) ? left : 1 + random_() % left;
            take_wire(part);
            told_messages_ += queue_->release(part);
            left -= part;
            ASSERT_LE(told_messages_, ended_messages_);
        }
        if (left == 0) {
            ASSERT_EQ(told_messages_, ended_messages_);
        }
        if (chance(2)) {
            ASSERT_EQ(queue_->octets_to_message_end(chance(2) ? unit_octets_ + front_octet_ : SIZE_MAX),
                      octets_to_end_of_unit());
        }
        check_octets();
        if (chance(4))
            drop_cut();
    }
    void drop_cut() {
        drop_rest_of_unit();
        told_messages_ += queue_->drop_cut_message().messages;
        ASSERT_EQ(told_messages_, ended_messages_);
        check_octets();
    }
    /// Takes all there is; the queue must then hold nothing but the memory of the frames it may
    /// still grow.
    void drain(bool by_reading) {
        if (by_reading) {
            while (read_one()) {
            }
        } else {
            iovec range;
            for (frame_queue::gathered found; (found = queue_->gather(&range, 1, 1)).octets > 0;) {
                check_ranges(found, {&range, 1});
                take_wire(found.octets);
                told_messages_ += queue_->release(found.octets);
            }
        }
        ASSERT_FALSE(queue_->has_input());
        ASSERT_TRUE(published_.empty());
        ASSERT_EQ(told_messages_, ended_messages_);
        ASSERT_EQ(live_external_, pending_external_);
        if (pending_.empty()) {
            // the one in hand and the one that the last segment lies in
            ASSERT_LE(live_sources_, 2);
            ASSERT_LE(pool_.use_count(), 4);  // the same for chunks, this test and the queue
        }
    }
    /// Says how many messages were written or read the short way.
    int shortcuts() const { return shortcuts_; }
    int read_at_once() const { return at_once_; }
    bool is_at_start_of_unit() const { return front_octet_ == 0 && !is_reading_message_; }

private:
    unsigned pick(std::size_t below) { return static_cast<unsigned>(random_() % below); }
    bool chance(unsigned in) { return pick(in) == 0; }
    model_frame random_frame() {
        const std::size_t size =
            chance(40) ? std::size(body_sizes) - 1 - pick(2) : pick(std::size(body_sizes) - 2);
        const std::size_t from = pick(4096);
        std::uint8_t flags = chance(3) ? frame_flag::more : 0;
        if (chance(12))
            flags = frame_flag::command;
        return {flags, byte_span(noise()).subspan(from, body_sizes[size]), info_};
    }
    void note(const model_frame &frame) {
        pending_.push_back(frame);
        octets_written_ += frame.wire_size();
        if (!frame.is_command())
            in_message_ = !frame.ends_message();
    }
    /// Whether the call was carried out; the model takes it over only then.
    bool was_done(error e) {
        EXPECT_TRUE(!failed(e) || fails_allocations_);
        EXPECT_TRUE(!failed(e) || e == error::no_memory);
        return !failed(e);
    }

    void write_copied() {
        model_frame frame = random_frame();
        frame.is_copied_alone = true;
        if (was_done(queue_->write(frame.flags, frame.body)))
            note(frame);
    }
    bool has_own_block(const model_frame &frame) const {
        return where_ == frame_queue::bodies::referred_to && frame.is_copied_alone &&
               frame.body.size() >= frame_queue::own_block_from;
    }
    void write_short() {
        model_frame frame = random_frame();
        frame.flags = 0;
        if (!queue_->write_short(frame.body))
            return;
        EXPECT_LE(frame.body.size(), frame_queue::longest_short);
        ++shortcuts_;
        note(frame);
        publish();  // the queue has done so already
    }
    void write_external() {
        model_frame frame = random_frame();
        block *owner = nullptr;
        byte_span body = frame.body;
        if (!chance(4)) {  // else: constant memory
            auto *made = new counted_block(frame.body.size(), live_external_);
            std::copy(frame.body.begin(), frame.body.end(), made->memory.begin());
            body = made->body();
            owner = made;
        }
        frame.has_owner = owner;
        frame.is_lone = frame.has_owner && !queue_->copies_external(body.size());
        if (was_done(queue_->write_external(frame.flags, block_ref::adopt(owner), body))) {
            note(frame);
            pending_external_ += frame.has_owner;
        }
    }
    /// Frames in wire form: up to the end of the last message among them, and the rest by itself.
    void write_ranges(bool shares) {
        std::vector<model_frame> frames;
        for (unsigned count = 1 + pick(5); count > 0; --count)
            frames.push_back(random_frame());
        auto last_end =
            std::find_if(frames.rbegin(), frames.rend(), [](auto &f) { return f.ends_message(); }).base();
        if (last_end != frames.begin() && chance(2))
            frames.erase(last_end, frames.end());
        last_end = std::min(last_end, frames.end());
        if (!put_range({frames.begin(), last_end}, shares))
            return;
        put_range({last_end, frames.end()}, shares);
    }
    bool put_range(const std::vector<model_frame> &frames, bool shares) {
        const std::vector<std::uint8_t> wire = encoded(frames);
        const auto messages = static_cast<std::uint32_t>(
            std::count_if(frames.begin(), frames.end(), [](auto &f) { return f.ends_message(); }));
        error e;
        if (shares) {
            if (!source_ || source_->memory.size() - source_used_ < wire.size() || chance(10)) {
                if (source_)
                    source_->release();
                source_ = new counted_block(std::max<std::size_t>(200000, wire.size()), live_sources_);
                source_used_ = 0;
            }
            if (!wire.empty())
                std::copy(wire.begin(), wire.end(), source_->memory.begin() + source_used_);
            e = queue_->append(source_, source_->body().subspan(source_used_, wire.size()), messages,
                               !in_message_, source_->memory.size());
            source_used_ += wire.size() + (chance(3) ? 1 : 0);  // a gap, now and then
            source_used_ = std::min(source_used_, source_->memory.size());
        } else {
            e = queue_->write_wire(wire, messages);
        }
        if (!was_done(e))
            return false;
        for (const auto &frame : frames)
            note(frame);
        return true;
    }
    void roll_back() {
        const int published = live_external_ - pending_external_;
        queue_->roll_back();
        EXPECT_EQ(live_external_, published);
        for (const model_frame &frame : pending_)
            octets_written_ -= frame.wire_size();
        pending_.clear();
        pending_external_ = 0;
        in_message_ = false;
    }
    void change_info() {
        info_ = infos_[pick(3)];
        queue_->set_info(info_);
    }
    void publish() {
        queue_->publish();
        published_.insert(published_.end(), pending_.begin(), pending_.end());
        pending_.clear();
        pending_external_ = 0;
    }

    bool read_one() {
        frame_view seen;
        if (short_frame seen_before{}; chance(2) || !queue_->peek_at_once(seen_before)) {
            EXPECT_EQ(queue_->has_input(), !published_.empty());
        }
        if (short_frame same{}, body{}; chance(3) && queue_->peek_at_once(same)) {
            ++at_once_;
            EXPECT_LE(same.size, max_short_body);
            EXPECT_FALSE(same.size > 0 && queue_->read_at_once(body, same.size - 1));
            EXPECT_TRUE(queue_->read_at_once(body, same.size + chance(2)));
            EXPECT_TRUE(same.data == body.data && same.size == body.size && same.info == body.info);
            seen.data = body.data;
            seen.size = body.size;
            seen.info = body.info;
        } else if (short_frame same{}, brief{};
                   chance(2) && queue_->peek_short(same) && queue_->read_short(brief)) {
            ++shortcuts_;
            EXPECT_TRUE(brief.size <= frame_queue::longest_short && same.data == brief.data);
            EXPECT_TRUE(same.size == brief.size && same.info == brief.info);
            seen.data = brief.data;
            seen.size = brief.size;
            seen.info = brief.info;
        } else if (!queue_->read(seen)) {
            EXPECT_TRUE(published_.empty());
            return false;
        }
        if (published_.empty()) {
            ADD_FAILURE() << "a frame that nobody published";
            return false;
        }
        const model_frame want = published_.front();
        EXPECT_EQ(seen.flags, want.flags);
        EXPECT_EQ(seen.size, want.body.size());
        EXPECT_TRUE(std::equal(want.body.begin(), want.body.end(), seen.data, seen.data + seen.size));
        EXPECT_EQ(seen.info, want.info);
        EXPECT_EQ(seen.lone_owner != nullptr, want.is_lone || has_own_block(want));
        if (seen.owner) {
            EXPECT_GE(seen.owner_size, seen.size);
        }
        if (seen.lone_owner && chance(2)) {
            const int before = live_external_;
            block_ref::adopt(std::exchange(*seen.lone_owner, nullptr));
            EXPECT_EQ(live_external_, before - want.is_lone);
        }
        if (!want.is_command())
            is_reading_message_ = !want.ends_message();
        if (want.ends_message())
            ++told_messages_;  // whoever reads counts for itself
        pop_front();
        return true;
    }
    void check_octets() const {
        ASSERT_EQ(queue_->octets_written(), octets_written_);
        ASSERT_EQ(queue_->octets_taken(), octets_taken_ + front_octet_);
    }
    void pop_front() {
        octets_taken_ += published_.front().wire_size();
        ended_messages_ += published_.front().ends_message();
        front_more_ = published_.front().is_command() ? front_more_ : !published_.front().ends_message();
        unit_octets_ = front_more_ ? unit_octets_ + published_.front().wire_size() : 0;
        published_.pop_front();
        front_octet_ = 0;
    }
    void check_ranges(const frame_queue::gathered &found, std::span<const iovec> ranges) {
        std::size_t total = 0;
        std::size_t frame = 0;
        std::size_t at = front_octet_;
        bool in_message = front_more_;
        std::vector<std::uint8_t> wire;
        for (const iovec &range : ranges) {
            ASSERT_GT(range.iov_len, 0u);
            total += range.iov_len;
            const auto *octets = static_cast<const std::uint8_t *>(range.iov_base);
            for (std::size_t left = range.iov_len; left > 0;) {
                ASSERT_LT(frame, published_.size());
                const model_frame &want = published_[frame];
                wire.resize(want.wire_size());
                want.encode(wire.data());
                const std::size_t part = std::min(left, wire.size() - at);
                ASSERT_TRUE(std::equal(octets, octets + part, wire.data() + at));
                octets += part;
                left -= part;
                at += part;
                if (at == wire.size()) {
                    in_message = want.is_command() ? in_message : !want.ends_message();
                    ++frame;
                    at = 0;
                }
            }
        }
        ASSERT_EQ(total, found.octets);
        if (total > 0) {
            ASSERT_EQ(found.ends_message, at == 0 && !in_message);
        } else {
            ASSERT_TRUE(published_.empty());
        }
    }
    void take_wire(std::size_t octets) {
        while (octets > 0) {
            const std::size_t left = published_.front().wire_size() - front_octet_;
            if (octets < left) {
                front_octet_ += octets;
                return;
            }
            octets -= left;
            pop_front();
        }
    }
    std::size_t octets_to_end_of_unit() const {
        std::size_t octets = 0;
        std::size_t at = front_octet_;
        bool has_more = front_more_;
        for (const model_frame &frame : published_) {
            if (at == 0 && !has_more)
                break;
            octets += frame.wire_size() - std::exchange(at, 0);
            has_more = frame.is_command() ? has_more : !frame.ends_message();
        }
        return octets;
    }
    void drop_rest_of_unit() {
        while (front_octet_ > 0 || front_more_)
            pop_front();
    }

    std::mt19937 random_;
    const bool fails_allocations_;
    const frame_queue::bodies where_;
    std::shared_ptr<chunk_pool> pool_ = chunk_pool::make();
    std::unique_ptr<frame_queue> queue_;
    std::array<peer_info *, 3> infos_;
    peer_info *info_ = nullptr;
    int live_external_ = 0;
    int live_sources_ = 0;
    counted_block *source_ = nullptr;
    std::size_t source_used_ = 0;

    int shortcuts_ = 0;
    int at_once_ = 0;

    std::vector<model_frame> pending_;
    bool in_message_ = false;
    int pending_external_ = 0;

    std::deque<model_frame> published_;
    std::size_t front_octet_ = 0;  // of published_.front() already released
    // the frame before published_.front() said that its message goes on
    bool front_more_ = false;
    std::size_t unit_octets_ = 0;  // of the frames of that message before it
    bool is_reading_message_ = false;
    std::uint64_t octets_written_ = 0;
    std::uint64_t octets_taken_ = 0;    // before published_.front()
    std::uint64_t ended_messages_ = 0;  // before published_.front()
    std::uint64_t told_messages_ = 0;   // by release() and drop_cut_message()
};

enum class consumer { reads, only_reads, gathers, both };

void run_model(consumer how, bool fails_allocations) {
    int shortcuts = 0;
    int at_once = 0;
    for (unsigned seed = 1; seed <= 30 && !::testing::Test::HasFatalFailure(); ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const bool only_reads = how == consumer::only_reads;
        checked_queue both(seed, fails_allocations,
                           only_reads ? frame_queue::bodies::referred_to : frame_queue::bodies::apart);
        bool reads = how == consumer::reads || only_reads;
        for (int step = 0; step < 400 && !::testing::Test::HasFailure(); ++step) {
            if (random() % 5 < 3) {
                both.produce();
                continue;
            }
            if (how == consumer::both && random() % 4 == 0) {
                if (!reads)
                    both.drop_cut();
                reads = !reads;
            }
            if (reads)
                both.read_some();
            else
                both.gather_some();
            if (random() % 50 == 0) {
                if (!reads && random() % 2)
                    both.drop_cut();
                both.drain(reads);
            }
        }
        if (random() % 2) {
            both.finish_producing();
            both.drain(reads);
        }
        if (::testing::Test::HasFailure())
            return;
        shortcuts += both.shortcuts();
        at_once += both.read_at_once();
    }
    EXPECT_GT(shortcuts, 0);
    EXPECT_EQ(at_once > 0, how != consumer::gathers);
}

TEST(frame_queue, gives_a_reader_the_frames_that_were_published) { run_model(consumer::reads, false); }
TEST(frame_queue, gives_one_that_only_reads_the_frames_that_were_published) {
    run_model(consumer::only_reads, false);
}
TEST(frame_queue, gives_a_gatherer_the_octets_that_were_published) { run_model(consumer::gathers, false); }
TEST(frame_queue, lets_a_consumer_change_between_reading_and_gathering) { run_model(consumer::both, false); }
TEST(frame_queue, leaves_the_message_as_it_was_when_memory_is_short) { run_model(consumer::both, true); }
TEST(frame_queue, leaves_one_that_only_reads_what_it_was_given_when_memory_is_short) {
    run_model(consumer::only_reads, true);
}

/// Two octets of zero are an empty message: more of them than one segment counts, behind the rest
/// of a message, before a part of one.
class very_many_messages : public one_queue {
protected:
    static constexpr std::uint32_t count = (1u << 23) + 5;

    very_many_messages() {
        owner->memory[2 * count] = frame_flag::more;
        EXPECT_EQ(queue.write(frame_flag::more, {}), error::none);
    }
    ~very_many_messages() override { owner->release(); }
    byte_span messages() const { return owner->body().first(2 * count); }
    byte_span part() const { return owner->body().subspan(2 * count, 2); }
    void expect_all() {
        ASSERT_EQ(queue.write(0, {}), error::none);
        queue.publish();
        std::uint32_t ended = 0;
        std::size_t octets = 0;
        for (frame_queue::gathered found; (found = queue.gather(ranges.data(), 1, SIZE_MAX)).octets > 0 &&
                                          octets <= 2 * owner->memory.size();
             octets += found.octets)
            ended += queue.release(found.octets);
        EXPECT_EQ(ended, count + 1);
        EXPECT_EQ(octets, 2 + 2 * std::size_t{count} + 2 + 2);
    }

    counted_block *const owner = make(2 * std::size_t{count} + 2);
};

TEST_F(very_many_messages, are_appended_in_segments_that_can_count_them) {
    ASSERT_EQ(queue.append(owner, messages(), count, false), error::none);
    ASSERT_EQ(queue.append(owner, part(), 0, true), error::none);
    expect_all();
}

TEST_F(very_many_messages, are_copied_to_segments_that_can_count_them) {
    ASSERT_EQ(queue.write_wire(messages(), count), error::none);
    ASSERT_EQ(queue.write_wire(part(), 0), error::none);
    expect_all();
}

TEST_F(very_many_messages, are_read_one_by_one) {
    ASSERT_EQ(queue.append(owner, messages(), count, false), error::none);
    queue.publish();
    frame_view frame;
    std::uint32_t read = 0;
    while (read <= count + 1 && queue.read(frame))
        ++read;
    EXPECT_EQ(read, count + 1);
}

TEST_F(very_many_messages, are_not_taken_when_memory_is_short_for_the_second_segment) {
    failing_allocation = 2;
    EXPECT_EQ(queue.append(owner, messages(), count, false), error::no_memory);
    (void)queue.roll_back();
    EXPECT_FALSE(queue.has_unpublished());
    EXPECT_EQ(owner->references.load(), 1u);
}

TEST_F(one_queue, uses_again_the_places_of_bodies_that_were_taken_and_not_more_of_them_than_a_mark_takes) {
    const byte_span body = byte_span(noise()).first(uncopied);
    // Says how many bodies can be written and taken by turns of `in_flight`, without an allocation.
    const auto taken_without_memory = [&](int in_flight) {
        int count = 0;
        failing_allocation = 1;
        for (bool is_written = true; is_written && count < 3000;) {
            for (int i = 0; i < in_flight && is_written; ++i, count += is_written)
                is_written = queue.write_external(0, {}, body) == error::none;
            queue.publish();
            frame_view frame;
            while (queue.read(frame)) {
            }
        }
        failing_allocation = 0;
        return count;
    };
    const auto write_and_take = [&](int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(queue.write_external(0, {}, body), error::none);
        queue.publish();
        frame_view frame;
        while (queue.read(frame)) {
        }
    };
    write_and_take(1000);
    EXPECT_EQ(taken_without_memory(990), 3960);
    write_and_take(3000);
    const int kept = taken_without_memory(3000);
    EXPECT_GE(kept, 1000);
    EXPECT_LE(kept, 1100);
    for (int i = 0; i < 4; ++i) {  // fills some memory, so that the next would be large
        ASSERT_EQ(queue.write(0, byte_span(noise()).first(60000)), error::none);
        queue.publish();
        frame_view frame;
        ASSERT_TRUE(queue.read(frame));
    }
    queue.expect_little();
    EXPECT_LE(taken_without_memory(3000), 5);
}

}  // namespace
}  // namespace zlink
