// A connection whose stream began as one of a web server's.
#include <gtest/gtest.h>

#include "stepped_connection.hpp"
#include "web_script.hpp"

namespace zlink {
namespace {

using namespace test;
using testing::a_mask;
using testing::a_place;
using testing::masked_zws;
using testing::ready_body;
using testing::web_frame;
using testing::web_request;

struct web_server : driven {
    explicit web_server(std::uint64_t mark = 0) : driven(socket_type::dealer, mark) {
        environment.place = a_place;
        start(true);
        arrive(web_request() + masked_zws(2, ready_body("DEALER")));
        EXPECT_TRUE(it->is_established());
        state.output.clear();
    }
    void send(const octets &body) {
        EXPECT_EQ(near->write(0, as_bytes(body)), error::none);
        near->publish();
    }
};

const octets close_1000 = octets("\x88\x02\x03\xe8", 4);

TEST(connection_web, writes_no_message_behind_its_close) {
    web_server it;
    it.send("too late");
    it.send(body_of(20'000));
    it.arrive(web_frame(0x88, octets("\x03\xe8", 2), a_mask));
    EXPECT_EQ(it.state.output, close_1000);
    EXPECT_EQ(it.broken, 1);
}

TEST(connection_web, answers_a_close_behind_the_frame_under_way_however_it_is_written) {
    const octets frame = testing::zws(0, body_of(20'000));
    for (std::size_t first = 1; first < frame.size(); first += 501)
        for (const std::size_t then : {1u, 7'000u}) {
            web_server it;
            it.state.room = first;
            it.send(body_of(20'000));
            it.run();
            it.send("too late");
            it.run();
            it.arrive(web_frame(0x88, octets("\x03\xe8", 2), a_mask) + web_frame(0x89, "too late", a_mask));
            ASSERT_EQ(it.broken, 0);
            for (std::size_t at = first; it.broken == 0 && at <= frame.size(); at += then)
                it.make_room(then);
            it.make_room(100);
            ASSERT_TRUE(it.state.output == frame + close_1000) << first << ' ' << it.state.output.size();
            EXPECT_EQ(it.broken, 1);
            EXPECT_EQ(it.reason.failure, failure_kind::none);
        }
}

TEST(connection_web, leaves_what_the_sender_writes_alone_and_answers_a_close_behind_it) {
    web_server it;
    it.borrow();
    it.leave();
    it.state.room = 1'000;
    it.send(body_of(20'000));
    it.run();
    it.state.most_in_write = 4'096;  // more turns than one
    it.arrive(web_frame(0x88, octets("\x03\xe8", 2), a_mask));
    it.make_room(100'000);
    EXPECT_TRUE(it.state.output == testing::zws(0, body_of(20'000)) + close_1000);
    EXPECT_EQ(it.broken, 1);
}

TEST(connection_web, gives_credit_back_for_small_messages_among_large_ones) {
    web_server it(1000);
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 306; ++i)
            it.send(i % 51 == 50 ? body_of(9'000) : "abc");
        it.run();
        it.it->work();
        ASSERT_TRUE(it.near->has_credit()) << round;
    }
}

// ---- what is lost ----

TEST(connection_web, counts_each_small_message_that_is_not_written_whole_and_no_other) {
    constexpr std::size_t sizes[] = {3, 0, 124, 125, 300, 7, 1'000};
    std::size_t whole = 0;
    for (const std::size_t size : sizes)
        whole += testing::zws(0, body_of(size)).size();
    for (const bool is_in_two : {false, true})
        for (std::size_t cut = 0; cut <= whole; ++cut) {
            SCOPED_TRACE(::testing::Message() << cut << is_in_two);
            web_server it;
            it.environment.counts = std::make_shared<counters>();
            it.state.room = is_in_two ? cut / 2 : cut;
            for (const std::size_t size : sizes)
                it.send(body_of(size));
            it.run();
            if (is_in_two) {
                it.send("behind");  // put where the memory of what has gone was
                it.make_room(cut - cut / 2);
            }
            ASSERT_EQ(it.state.output.size(), cut);
            std::uint64_t written = 0;
            for (std::size_t end = 0; written < std::size(sizes); ++written)
                if ((end += testing::zws(0, body_of(sizes[written])).size()) > cut)
                    break;
            it.state.is_reset = true;
            it.state.let_read();
            ASSERT_EQ(it.broken, 1);
            EXPECT_EQ(written + it.environment.counts->get(counter::dropped_peer_gone) +
                          it.far->incoming().under_way().messages,
                      std::size(sizes) + is_in_two);
        }
}

}  // namespace
}  // namespace zlink
