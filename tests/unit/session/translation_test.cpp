// Frames in the form of a peer, from a queue to a stream that takes them in pieces: which octets
// are copied, and when.
#include "session/translation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "connection_parts.hpp"
#include "effort.hpp"
#include "short_heap.hpp"
#include "zmtp/decoder_zws.hpp"
#include "zmtp/framing_curve.hpp"
#include "zmtp/framing_zws.hpp"
#include "zws_octets.hpp"

namespace zlink {
namespace {

using namespace test;

std::string as_text_of(const translation::listed &what, const std::array<iovec, 256> &ranges) {
    std::string out;
    for (std::size_t i = 0; i < what.ranges; ++i)
        out.append(static_cast<const char *>(ranges[i].iov_base), ranges[i].iov_len);
    return out;
}

struct translated {
    explicit translated(bool is_client)
        : form({.is_client = is_client}), decoder({.is_client = !is_client}, nullptr, false) {}

    void write(const std::string &body) {
        ASSERT_EQ(queue.write_external(0, owner_of(body), last), error::none);
        queue.publish();
    }
    /// Memory that goes with its last reference.
    block_ref owner_of(const std::string &body) {
        chunk *const own = pool->allocate(body.size());
        std::memcpy(own->data(), body.data(), body.size());
        last = {own->data(), body.size()};
        return block_ref::adopt(own);
    }
    void put() {
        for (frame_view frame; !out.is_full() && queue.read(frame);)
            out.put(form, frame, queue.has_read_in_place());
    }
    /// Does the same, with small frames together.
    void put_small() {
        for (frame_view frame; !out.is_full();) {
            const byte_span run = queue.peek_run();
            byte_span rest = run;
            const std::uint64_t messages = out.put_small(form, rest);
            EXPECT_EQ(messages > 0, rest.size() < run.size());
            queue.read_run(run.size() - rest.size());
            if (rest.size() < run.size())
                continue;
            if (!queue.read(frame))
                break;
            out.put(form, frame, queue.has_read_in_place());
        }
    }
    translation::listed list() { return out.list(ranges); }
    /// All that goes out, in pieces of at most so many octets.
    std::string drain(std::size_t most) {
        std::string wire;
        for (put(); !out.is_empty(); put()) {
            const translation::listed what = list();
            largest_list = std::max(largest_list, what.octets);
            const std::size_t taken = std::min(most, what.octets);
            wire += as_text_of(what, ranges).substr(0, taken);
            out.release(taken);
        }
        return wire;
    }
    /// The bodies of what a peer reads.
    std::vector<std::string> read(const std::string &wire) {
        std::vector<std::string> bodies;
        std::vector<std::uint8_t> decoded(wire.size() + decoder.lead(wire.size()));
        const auto step = decoder.decode(as_bytes(wire), decoded.data());
        byte_span rest = byte_span(decoded).first(step.octets);
        for (frame_header header; get_frame_header(rest.data(), rest.size(), header);) {
            const byte_span body = rest.subspan(header.header_size, header.body_size);
            bodies.emplace_back(as_text(body));
            rest = rest.subspan(header.header_size + body.size());
        }
        EXPECT_TRUE(rest.empty());
        return bodies;
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    frame_queue queue{pool};
    const framing_zws form;
    decoder_zws decoder;
    translation out{*pool};
    std::array<iovec, 256> ranges;
    byte_span last;
    std::size_t largest_list = 0;
};

TEST(translation, says_the_same_in_pieces_of_every_size_masked_or_not) {
    const std::vector<std::string> said{body_of(20'000),
                                        "a",
                                        body_of(9'000, 1),
                                        body_of(zlink_test::effort(300'000, 30'000), 2),
                                        "b",
                                        body_of(8'191),
                                        body_of(8'192),
                                        "c"};
    for (const bool is_client : {false, true})
        for (const std::size_t most : {13u, 4'099u, 65'536u, 1'000'000u}) {
            SCOPED_TRACE(::testing::Message() << is_client << " " << most);
            translated it(is_client);
            for (const std::string &each : said)
                it.write(each);
            EXPECT_TRUE(it.read(it.drain(most)) == said);
        }
}

TEST(translation, lists_a_large_body_where_it_is) {
    translated it(false);
    it.write("small");
    it.write(body_of(100'000));
    const byte_span body = it.last;
    it.put();
    const translation::listed what = it.list();
    ASSERT_EQ(what.ranges, 2u);
    EXPECT_EQ(it.ranges[1].iov_base, body.data());
    EXPECT_EQ(it.ranges[1].iov_len, body.size());
    EXPECT_TRUE(what.is_all);
}

TEST(translation, lists_several_bodies_for_one_write) {
    translated it(false);
    for (unsigned i = 0; i < 4; ++i)
        it.write(body_of(10'000, i));
    it.put();
    EXPECT_EQ(it.list().ranges, 8u);
}

TEST(translation, masks_a_large_body_by_and_by) {
    translated it(true);
    it.write(body_of(10'000'000));
    const std::string wire = it.drain(SIZE_MAX);
    EXPECT_LE(it.largest_list, 128u * 1024 + 20);
    EXPECT_TRUE(it.read(wire) == std::vector<std::string>{body_of(10'000'000)});
}

// This is as where the set of subscriptions goes out, with all that stands in the pipe.
#ifdef ZLINK_WITH_CURVE
TEST(translation, seals_several_large_bodies_for_one_write) {
    curve_session ends[2];
    for (bool is_server : {false, true}) {
        ends[is_server].is_server = is_server;
        std::fill_n(ends[is_server].shared.data(), 32, std::uint8_t{'k'});
    }
    const framing_curve sender(ends[0], framing_of_zmtp_3_1(), {});
    const framing_curve receiver(ends[1], framing_of_zmtp_3_1(), {});
    translated it(true);
    std::vector<std::string> bodies;
    for (char c : {'a', 'b', 'c', 'd', 'e', 'f'})
        it.write(bodies.emplace_back(64 * 1024, c));
    std::string wire;
    std::vector<std::size_t> writes;
    for (frame_view frame;;) {
        while (!it.out.is_full() && it.queue.read(frame))
            it.out.put(sender, frame, false);
        if (it.out.is_empty())
            break;
        const translation::listed what = it.list();
        EXPECT_TRUE(what.is_all);
        wire += as_text_of(what, it.ranges);
        writes.push_back(what.octets / (64 * 1024));
        it.out.release(what.octets);
    }
    EXPECT_EQ(writes, (std::vector<std::size_t>{4, 2}));
    const auto decoder = receiver.make_decoder();
    EXPECT_TRUE(testing::decoded(*decoder, wire) == [&] {
        std::string frames;
        for (const std::string &body : bodies)
            frames += testing::frame(body);
        return frames;
    }());
    EXPECT_EQ(it.out.messages_gone(sender), bodies.size());
}
#endif

TEST(translation, puts_a_larger_masked_body_behind_one_that_is_under_way) {
    translated it(true);
    it.write(body_of(70 * 1024));
    it.write(body_of(300 * 1024));
    for (frame_view frame; it.queue.read(frame);)
        it.out.put(it.form, frame, it.queue.has_read_in_place());
    const auto bodies = it.read(it.drain(SIZE_MAX));
    EXPECT_TRUE(bodies == (std::vector<std::string>{body_of(70 * 1024), body_of(300 * 1024)}));
}

TEST(translation, keeps_the_memory_of_a_body_until_it_has_gone_out) {
    for (const bool is_client : {false, true}) {
        translated it(is_client);
        block_ref owner = it.owner_of(body_of(300'000));
        ASSERT_EQ(it.queue.write_external(0, owner, it.last), error::none);
        it.queue.publish();
        it.put();
        EXPECT_TRUE(owner.get()->is_shared());
        it.out.release(100'000);
        EXPECT_TRUE(owner.get()->is_shared());
        while (!it.out.is_empty())
            it.out.release(it.list().octets);
        EXPECT_FALSE(owner.get()->is_shared());
    }
}

TEST(translation, puts_small_frames_behind_a_rest_of_every_size) {
    constexpr unsigned rounds = 200;
    for (const bool is_client : {false, true})
        for (const std::size_t most : {100u, 3'333u, 65'160u}) {
            SCOPED_TRACE(::testing::Message() << is_client << " " << most);
            translated it(is_client);
            std::vector<std::string> said;
            std::string wire;
            for (unsigned i = 0; i < rounds || !it.out.is_empty() || it.queue.has_input(); ++i) {
                for (unsigned j = 0; i < rounds && j < 40; ++j) {
                    // Once in a while one that goes out where it is, or is masked by and by.
                    said.push_back(body_of(i % 50 == 49 && j == 7 ? 100'000 : (i * 37 + j * 11) % 300, i));
                    ASSERT_EQ(it.queue.write(0, as_bytes(said.back())), error::none);
                    it.queue.publish();
                }
                if (it.out.may_grow())
                    it.put_small();
                const translation::listed what = it.list();
                const std::size_t taken = i < rounds ? std::min(most, what.octets) : what.octets;
                wire += as_text_of(what, it.ranges).substr(0, taken);
                it.out.release(taken);
            }
            EXPECT_TRUE(it.read(wire) == said);
        }
}

TEST(translation, takes_no_small_frames_where_it_finds_no_memory_for_them) {
    unsigned failures = 0;
    for (unsigned nth = 1;; ++nth) {
        translated it(true);
        ASSERT_EQ(it.queue.write(0, as_bytes("end")), error::none);
        it.queue.publish();
        const byte_span run = it.queue.peek_run();
        byte_span rest = run;
        bool is_done = false;
        {
            const short_heap scarce(nth, false);
            try {
                is_done = short_heap::counted([&] { return it.out.put_small(it.form, rest); }) == 1;
            } catch (const std::bad_alloc &) {
            }
            if (!short_heap::has_struck())
                nth = 0;
        }
        EXPECT_EQ(rest.empty(), is_done) << nth;
        EXPECT_EQ(it.out.is_empty(), !is_done) << nth;
        if (nth == 0)
            break;
        failures += !is_done;
    }
    EXPECT_GE(failures, 2u) << "for octets, and for the mark";
}

TEST(translation, knows_how_many_messages_have_gone) {
    constexpr std::size_t sizes[] = {5, 0, 124, 125, 300, 9'000, 66'000, 1, 140'000, 2, 3};
    for (const bool is_client : {false, true})
        for (const bool together : {false, true})
            for (const std::size_t most : {7u, 100u, 5'000u, 1'000'000u}) {
                SCOPED_TRACE(::testing::Message() << is_client << " " << together << " " << most);
                translated it(is_client);
                std::vector<std::size_t> ends{0};
                for (const std::size_t size : sizes) {
                    ASSERT_EQ(it.queue.write(0, as_bytes(body_of(size))), error::none);
                    const std::size_t length = size < 125 ? 2 : size < 65'535 ? 4 : 10;
                    ends.push_back(ends.back() + length + (is_client ? 4 : 0) + 1 + size);
                }
                it.queue.publish();
                std::size_t out = 0;
                for (;;) {
                    if (together && it.out.may_grow())
                        it.put_small();
                    else
                        it.put();
                    if (it.out.is_empty())
                        break;
                    const std::size_t taken = std::min(most, it.list().octets);
                    it.out.release(taken);
                    out += taken;
                    const auto whole = static_cast<std::uint64_t>(
                        std::upper_bound(ends.begin(), ends.end(), out) - ends.begin() - 1);
                    EXPECT_EQ(it.out.messages_gone(it.form), whole);
                }
                EXPECT_EQ(out, ends.back());
                EXPECT_EQ(it.out.messages_gone(it.form), std::size(sizes));
            }
}

TEST(translation, copies_what_is_left_of_a_body_that_its_sender_takes_back) {
    for (const bool is_client : {false, true})
        for (const std::size_t gone : {0u, 5u, 70'000u, 150'000u}) {
            SCOPED_TRACE(::testing::Message() << is_client << " " << gone);
            translated it(is_client);
            it.write("before");
            std::string senders = body_of(200'000);
            chunk *const memory = it.pool->allocate(senders.size());
            ASSERT_EQ(it.queue.write_in_place(as_bytes(senders), memory), error::none);
            memory->release();
            it.queue.publish();
            std::string wire;
            while (wire.size() < gone) {
                it.put();
                const std::size_t more = std::min(gone - wire.size(), it.list().octets);
                wire += as_text_of(it.list(), it.ranges).substr(0, more);
                it.out.release(more);
            }
            it.put();
            it.queue.copy_rest();
            it.out.copy_rest();
            senders.assign(senders.size(), '!');
            wire += it.drain(SIZE_MAX);
            EXPECT_TRUE(it.read(wire) == (std::vector<std::string>{"before", body_of(200'000)}));
        }
}

}  // namespace
}  // namespace zlink
