// Both ends of a pipe in one thread: messages, wake-ups, roll-back, conflation, news and the end.
#include "pipe/pipe.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipe_pair.hpp"

namespace zlink {
namespace {

using test::pipe_pair;

TEST_F(pipe_pair, keeps_little_memory_while_its_reader_sleeps_after_each_message) {
    open(0);
    const std::string text(64, 'x');
    frame_view frame;
    const auto in_lock_step = [&](int messages) {
        for (int i = 0; i < messages; ++i) {
            ASSERT_FALSE(arm_and_look());
            ASSERT_TRUE(send(text));
            ASSERT_TRUE(reader->read(frame));
        }
    };
    in_lock_step(5000);
    EXPECT_LE(frame.owner_size, 2048u);
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(send(text));
    for (int i = 0; i < 10'000; ++i)
        ASSERT_TRUE(reader->read(frame));
    EXPECT_GE(frame.owner_size, 65536u) << "in a stream it takes more";
    in_lock_step(2000);
    EXPECT_LE(frame.owner_size, 2048u) << "and gives it back";
}

TEST_F(pipe_pair, carries_messages_both_ways) {
    open(0);
    ASSERT_TRUE(send("there"));
    ASSERT_EQ(reader->write(0, as_bytes("back")), error::none);
    reader->publish();
    EXPECT_EQ(receive(), "there");
    frame_view frame;
    ASSERT_TRUE(writer->read(frame));
    EXPECT_EQ(as_text(frame.body()), "back");
    EXPECT_EQ(receive(), "(nothing)");
}

TEST_F(pipe_pair, says_who_has_the_other_end) {
    open(0);
    EXPECT_EQ(writer->other_kind(), end_kind::connection);
    EXPECT_EQ(reader->other_kind(), end_kind::socket);
    open(0, false, end_kind::socket);
    EXPECT_EQ(writer->other_kind(), end_kind::socket);
    EXPECT_EQ(reader->other_kind(), end_kind::socket);
}

TEST_F(pipe_pair, gives_events_a_pointer_that_keeps_both_ends) {
    open(0);
    std::weak_ptr<pipe_end> watch = writer;
    pipe_end_ptr again = reader->shared_from_this();
    EXPECT_EQ(again, reader);
    writer.reset();
    reader.reset();
    EXPECT_FALSE(watch.expired());
    again.reset();
    EXPECT_TRUE(watch.expired());
}

TEST_F(pipe_pair, refuses_short_ways_for_all_that_is_not_one_small_frame) {
    open(0);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(send("x"));
        ASSERT_EQ(receive(), "x");
    }
    allow_short_writes();
    EXPECT_TRUE(writer->write_short({}));
    EXPECT_FALSE(writer->write_short(as_bytes(std::string(frame_queue::longest_short + 1, 'x'))));
    short_frame frame;
    EXPECT_TRUE(reader->read_short(frame));
    EXPECT_EQ(frame.size, 0u);
    EXPECT_FALSE(reader->read_short(frame));
    ASSERT_TRUE(send("a", frame_flag::more));
    ASSERT_TRUE(send("b"));
    EXPECT_FALSE(reader->read_short(frame));
    EXPECT_EQ(receive(), "a");
    ASSERT_TRUE(send(std::string(frame_queue::longest_short + 1, 'x')));
    EXPECT_EQ(receive(), "b");
    EXPECT_FALSE(reader->read_short(frame));
    open(0, true);
    ASSERT_TRUE(send("x"));
    allow_short_writes();
    EXPECT_FALSE(writer->write_short(as_bytes("x")));
}

TEST_F(pipe_pair, wakes_an_armed_reader_once) {
    open(0);
    ASSERT_TRUE(send("before"));
    EXPECT_EQ(reader_events->readable, 0);
    EXPECT_EQ(receive(), "before");
    EXPECT_FALSE(arm_and_look());
    ASSERT_TRUE(send("part", frame_flag::more));
    EXPECT_EQ(reader_events->readable, 0);
    ASSERT_TRUE(send("end"));
    ASSERT_TRUE(send("another"));
    EXPECT_EQ(reader_events->readable, 1);
    EXPECT_EQ(reader_events->last, reader.get());
    EXPECT_TRUE(arm_and_look());
}

TEST_F(pipe_pair, lets_what_was_published_be_read_after_the_close) {
    open(0);
    ASSERT_TRUE(send("published"));
    ASSERT_TRUE(send("hidden", frame_flag::more));
    writer->close(1234);
    writer->close(99);
    EXPECT_TRUE(writer->is_closed());
    EXPECT_EQ(reader_events->closed, 1);
    EXPECT_TRUE(reader->is_peer_closed());
    EXPECT_EQ(reader->peer_linger_ms(), 1234);
    EXPECT_FALSE(reader->is_finished());
    EXPECT_EQ(receive(), "published");
    EXPECT_TRUE(reader->is_finished());
    EXPECT_FALSE(reader->is_closed());
    EXPECT_FALSE(writer->is_peer_closed());
    reader->close();
    EXPECT_EQ(writer_events->closed, 1);
    EXPECT_TRUE(writer->is_finished());
}

TEST_F(pipe_pair, keeps_the_newest_message_only_when_conflating) {
    open(1, true);
    EXPECT_TRUE(writer->is_conflating());
    EXPECT_FALSE(reader->has_input());
    for (const char *text : {"one", "two", "three"})
        ASSERT_TRUE(send(text));
    EXPECT_TRUE(reader->has_input());
    EXPECT_EQ(receive(), "three");
    EXPECT_FALSE(reader->has_input());
    EXPECT_EQ(receive(), "(nothing)");
    ASSERT_TRUE(send(""));
    EXPECT_EQ(receive(), "");
}

TEST_F(pipe_pair, tells_of_what_was_written_behind_the_end_of_an_end_that_read_on) {
    for (const bool does_writer_close_first : {true, false}) {
        open(10, false, end_kind::socket);
        ASSERT_TRUE(send("one"));
        reader->read_on();
        reader->close();
        EXPECT_EQ(receive(), "one");
        ASSERT_TRUE(send("two"));
        if (does_writer_close_first) {
            writer->close();
            EXPECT_EQ(writer->take_lost().untaken, 0u) << "it may still be read";
        }
        EXPECT_EQ(reader->take_lost().unread, 1u);
        if (!does_writer_close_first) {
            ASSERT_TRUE(send("three"));
            writer->close();
        }
        EXPECT_EQ(writer->take_lost().untaken, does_writer_close_first ? 0u : 1u);
        EXPECT_EQ(reader->take_lost().unread, 0u);
    }
}

TEST_F(pipe_pair, tells_once_of_the_newest_message_that_nobody_reads) {
    for (const bool is_reader_first : {true, false}) {
        open(1, true, end_kind::socket);
        for (const char *text : {"one", "two"})
            ASSERT_TRUE(send(text));
        const auto total = [](const pipe_end::lost_messages &of) { return of.unread + of.untaken; };
        pipe_end &first = is_reader_first ? *reader : *writer, &second = is_reader_first ? *writer : *reader;
        first.close();
        EXPECT_EQ(total(first.take_lost()), is_reader_first ? 1u : 0u) << "the reader may still read";
        second.close();
        EXPECT_EQ(total(second.take_lost()), is_reader_first ? 0u : 1u);
        EXPECT_EQ(total(first.take_lost()) + total(second.take_lost()), 0u);
        const passage went = writer->outgoing();
        EXPECT_EQ(went.published.messages, 2u);
        EXPECT_EQ(went.replaced, 1u);
        EXPECT_EQ(went.taken.messages, 0u);
    }
}

TEST_F(pipe_pair, conflates_whatever_way_a_message_was_written) {
    open(0, true);
    const auto wire = std::string({0, 1, 'a', 0, 1, 'b'});
    ASSERT_EQ(writer->write_wire(as_bytes(wire), 2), error::none);
    EXPECT_TRUE(writer->has_unpublished());
    EXPECT_EQ(receive(), "(nothing)");
    writer->publish();
    EXPECT_FALSE(writer->has_unpublished());
    EXPECT_EQ(receive(), "b");
    ASSERT_EQ(writer->append(nullptr, as_bytes(wire), 2, true), error::none);
    writer->roll_back();
    EXPECT_FALSE(writer->has_unpublished());
    writer->publish();
    EXPECT_EQ(receive(), "(nothing)");
    ASSERT_EQ(writer->write_external(0, {}, as_bytes("external")), error::none);
    writer->publish();
    EXPECT_EQ(receive(), "external");
}

TEST_F(pipe_pair, carries_every_command_also_when_conflating) {
    open(0, true);
    ASSERT_EQ(writer->write(frame_flag::command, as_bytes("first")), error::none);
    ASSERT_EQ(writer->write(frame_flag::command, as_bytes("second")), error::none);
    ASSERT_TRUE(send("message"));
    EXPECT_EQ(receive(), "first");
    EXPECT_EQ(receive(), "second");
    EXPECT_EQ(receive(), "message");
    EXPECT_TRUE(writer->has_credit());
}

TEST_F(pipe_pair, wakes_an_armed_reader_when_conflating) {
    open(0, true);
    EXPECT_FALSE(arm_and_look());
    ASSERT_TRUE(send("one"));
    ASSERT_TRUE(send("two"));
    EXPECT_EQ(reader_events->readable, 1);
}

TEST_F(pipe_pair, leaves_little_news_of_a_peer_that_comes_and_goes_until_some_is_taken) {
    open(0);
    const auto come_and_go = [&](int times) {
        for (int i = 0; i < times; ++i) {
            EXPECT_EQ(writer->say_hello(as_bytes("me")), error::none);
            writer->publish();
            writer->say_gone();
        }
        EXPECT_EQ(writer->say_hello(as_bytes("me")), error::none);
        writer->publish();
    };
    int told = 0;
    const auto take_news = [&] {
        std::vector<std::string> news;
        for (frame_view frame; reader->read(frame);) {
            news.emplace_back(as_text(frame.body()));
            if (told++ > 0)  // the first hello
                reader->note_news_taken();
        }
        return news;
    };
    come_and_go(2);
    EXPECT_EQ(take_news(), (std::vector<std::string>{"\2me", "\3", "\2me", "\3", "\2me"}));
    come_and_go(1000);
    const std::vector<std::string> most = take_news();
    EXPECT_LT(most.size(), 20u);
    EXPECT_EQ(most.back(), "\2me");
    come_and_go(1);
    EXPECT_EQ(take_news(), (std::vector<std::string>{"\3", "\2me"}));
}

TEST_F(pipe_pair, tells_messages_of_different_peers_apart) {
    open(0);
    auto *info = new peer_info;
    info->routing_id = "peer";
    ASSERT_TRUE(send("unknown"));
    writer->set_info(info);
    ASSERT_TRUE(send("known"));
    info->release();
    frame_view frame;
    ASSERT_TRUE(reader->read(frame));
    EXPECT_EQ(frame.info, nullptr);
    ASSERT_TRUE(reader->read(frame));
    ASSERT_NE(frame.info, nullptr);
    EXPECT_EQ(frame.info->routing_id, "peer");
}

}  // namespace
}  // namespace zlink
