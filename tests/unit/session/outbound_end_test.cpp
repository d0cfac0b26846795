// A writing half that ends or fails: what it leaves to the next connection of the same pipe.
#include "session/outbound.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepped_writer.hpp"

namespace zlink {
namespace {

using namespace test;

// ---- the end ----

TEST(outbound, writes_nothing_once_it_is_finished) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    it.out->finish();
    it.send({"a"});
    it.peer->output().push_back('P');
    EXPECT_EQ(it.write(), written::refused);
    EXPECT_FALSE(it.near->write_now());
    EXPECT_EQ(it.state.output, "");
    EXPECT_FALSE(it.out->has_work());
}

TEST(outbound, writes_no_message_behind_last_words_that_go_on_with_what_was_begun) {
    for (const socket_type type : {socket_type::dealer, socket_type::xsub}) {
        writer it(type);
        const octets words = pong("context");
        it.peer->output().assign(words.begin(), words.end());
        it.state.room = 3;
        (void)it.write_all();
        it.send({"x", "y"});
        it.state.room = SIZE_MAX;
        it.out->note_writable();
        EXPECT_EQ(it.out->write_last_words(it.io.now()), written::all);
        EXPECT_EQ(it.state.output, words);
    }
}

TEST(outbound, keeps_the_first_failure_and_writes_no_more) {
    for (const bool is_senders : {false, true}) {
        writer it;
        EXPECT_EQ(it.write(), written::all);
        it.send({"abcdef"});
        it.state.room = 3;
        it.state.write_failure = error::connection_reset;
        for (int i = 0; i < 3; ++i) {
            if (is_senders) {
                EXPECT_FALSE(it.near->write_now(connection_port::occasion::ready));
            } else {
                it.out->note_writable();
                EXPECT_EQ(it.write(), written::refused);
            }
        }
        EXPECT_EQ(it.out->failure(), error::connection_reset);
        it.state.room = SIZE_MAX;
        it.state.write_failure = error::timed_out;
        it.out->note_writable();
        it.peer->output().push_back('P');
        EXPECT_EQ(it.write(), written::refused);
        EXPECT_FALSE(it.near->write_now(connection_port::occasion::ready));
        EXPECT_EQ(it.state.output.size(), 3u);
        EXPECT_EQ(it.out->failure(), error::connection_reset);
        EXPECT_FALSE(it.out->lease_out());
    }
}

TEST(outbound, drops_the_message_that_was_cut_whole_and_leaves_the_rest_to_the_next_connection) {
    for (const form &how : forms()) {
        const octets wire = all_said(how);
        for (const std::size_t cut : places(wire))
            for (const bool is_senders : {false, true}) {
                SCOPED_TRACE(::testing::Message() << how.name << " " << cut << is_senders);
                writer it(socket_type::dealer, how.first_words);
                if (is_senders) {
                    EXPECT_EQ(it.write(), written::all);
                }
                // Whatever is translated is out of the pipe: one message at a time, then.
                std::size_t sent = 0, end = 0;
                it.state.room = cut;
                do {
                    end += how.encode(said()[sent]).size();
                    it.send(said()[sent]);
                    if (is_senders)
                        (void)it.near->write_now();
                    else
                        (void)it.write_all();
                } while (++sent < said().size() && !it.out->is_full());
                const bool is_cut = it.out->is_full();
                EXPECT_EQ(it.state.output, wire.substr(0, cut));
                for (std::size_t i = sent; i < said().size(); ++i)
                    it.send(said()[i]);
                ASSERT_TRUE(it.out->close());
                // One that is not begun is written by the next connection, unless it was
                // translated.
                const bool is_begun = cut + how.encode(said()[sent - 1]).size() > end;
                const bool is_lost = is_cut && cut < end && (is_begun || how.is_translated);
                EXPECT_EQ(it.out->take_lost(), is_lost);
                it.begin(false);
                EXPECT_EQ(it.write_all(), written::all);
                if (is_cut && !is_begun && !how.is_translated)
                    end -= how.encode(said()[sent - 1]).size();
                EXPECT_TRUE(it.state.output == wire.substr(end));
                it.send({"more"});
                EXPECT_EQ(it.write_all(), written::all);
                EXPECT_TRUE(it.state.output == wire.substr(end) + how.encode({"more"}));
            }
    }
}

TEST(outbound, drops_the_rest_of_a_translated_message_of_which_more_is_in_the_pipe) {
    for (const std::size_t cut : {0u, 5u, 70'000u, 130'000u}) {
        writer it(socket_type::dealer, frame_1_0("you"));
        it.send({body_of(70'000), body_of(70'000), body_of(70'000)});
        it.send({"next"});
        it.state.room = cut;
        EXPECT_EQ(it.write_all(), written::refused);
        ASSERT_TRUE(it.out->close());
        EXPECT_EQ(it.out->take_lost(), 1u);
        it.begin(false);
        EXPECT_EQ(it.write_all(), written::all);
        EXPECT_TRUE(it.state.output == frame_1_0("next")) << it.state.output.size();
    }
}

// It takes all that is in the pipe, so that it finds the subscriptions there.
TEST(outbound, says_how_many_messages_it_has_taken_behind_the_set_of_a_subscriber_and_not_written) {
    const octets set = command_frame("SUBSCRIBE", "topic");
    const octets each = part("a") + message("and b");
    constexpr std::size_t count = 20;
    for (std::size_t cut = 0; cut <= set.size() + count * each.size(); ++cut) {
        SCOPED_TRACE(cut);
        writer it(socket_type::xsub);
        it.far->follow(false);
        it.begin(true);
        it.subscribe("topic");
        for (std::size_t i = 0; i < count; ++i)
            it.send({"a", "and b"});
        it.state.room = cut;
        (void)it.write_all();
        ASSERT_TRUE(it.out->close());
        EXPECT_EQ(it.state.output.size(), cut);
        const std::size_t written = cut > set.size() ? (cut - set.size()) / each.size() : 0;
        EXPECT_EQ(it.out->take_lost(), count - written);
        EXPECT_EQ(it.out->take_lost(), 0u) << "again";
    }
}

TEST(outbound, closes_again_and_again_and_takes_nothing_afterwards) {
    writer it;
    EXPECT_EQ(it.write(), written::all);
    EXPECT_TRUE(it.out->close());
    EXPECT_TRUE(it.out->close());
    it.send({"a"});
    EXPECT_FALSE(it.near->write_now());
    EXPECT_FALSE(it.out->has_work());
    EXPECT_EQ(it.state.output, "");
    it.begin(false);
    EXPECT_EQ(it.write(), written::all);
    EXPECT_EQ(it.state.output, message("a"));
}

// ---- memory ----

TEST(outbound, fails_where_memory_is_short_in_translation_and_the_next_connection_goes_on_between_messages) {
    for (const bool from_there_on : {false, true})
        for (const bool replays : {false, true}) {
            unsigned n = 1;
            for (bool goes_on = true; goes_on; ++n) {
                SCOPED_TRACE(::testing::Message() << "allocation " << n << from_there_on << replays);
                const long before = short_heap::blocks();
                {
                    writer it(socket_type::xsub, frame_1_0(""));
                    it.far->follow(!replays);
                    it.begin(replays);
                    it.subscribe("topic");
                    it.send_command(in_band::subscribe, "topic");
                    it.send({"a", body_of(70'000), "b"});
                    it.send({body_of(300), "c"});
                    {
                        const short_heap heap(n, from_there_on);
                        const written last = it.write_all();
                        goes_on = short_heap::has_struck();
                        EXPECT_EQ(last, goes_on ? written::refused : written::all);
                    }
                    EXPECT_EQ(it.out->failure(), goes_on ? error::no_memory : error::none);
                    const octets written = it.state.output;
                    const octets all = frame_1_0("\1topic") + as_older_frames({"a", body_of(70'000), "b"}) +
                                       as_older_frames({body_of(300), "c"});
                    EXPECT_TRUE(written == all.substr(0, written.size()));
                    if (goes_on) {
                        EXPECT_EQ(it.write(), written::refused);
                    }
                    ASSERT_TRUE(it.out->close());
                    it.send({"next"});
                    it.begin(true);
                    EXPECT_EQ(it.write_all(), written::all);
                    const octets &rest = it.state.output;
                    EXPECT_TRUE(rest.starts_with(frame_1_0("\1topic")));
                    EXPECT_TRUE(rest.ends_with(frame_1_0("next")));
                    const octets between =
                        rest.substr(frame_1_0("\1topic").size(),
                                    rest.size() - frame_1_0("\1topic").size() - frame_1_0("next").size());
                    EXPECT_TRUE(between.empty() || between == as_older_frames({body_of(300), "c"}) ||
                                between == as_older_frames({"a", body_of(70'000), "b"}) +
                                               as_older_frames({body_of(300), "c"}))
                        << between.size();
                }
                ASSERT_FALSE(::testing::Test::HasFailure());
                EXPECT_EQ(short_heap::blocks(), before) << "a leak";
                ASSERT_LT(n, 100u);
            }
            EXPECT_GT(n, 2u);
        }
}

}  // namespace
}  // namespace zlink
