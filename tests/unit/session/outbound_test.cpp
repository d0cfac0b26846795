// The writing half as a script: the same octets however the stream takes them, in each form, and
// control octets between messages.
#include "session/outbound.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "stepped_writer.hpp"

namespace zlink {
namespace {

using namespace test;

// ---- the same octets ----

TEST(outbound, writes_the_same_wherever_the_stream_is_full) {
    for (const form &how : forms()) {
        const octets wire = all_said(how);
        for (const std::size_t cut : places(wire)) {
            SCOPED_TRACE(::testing::Message() << how.name << " " << cut);
            writer it(socket_type::dealer, how.first_words);
            for (const frames &each : said())
                it.send(each);
            it.state.room = cut;
            const written first = it.write_all();
            EXPECT_EQ(it.state.output, wire.substr(0, cut));
            if (cut < wire.size()) {
                EXPECT_EQ(first, written::refused);
                EXPECT_TRUE(it.out->is_full());
                EXPECT_FALSE(it.out->is_drained());
                it.state.room = SIZE_MAX;
                EXPECT_EQ(it.write(), written::refused) << "nobody said that it takes more";
                EXPECT_EQ(it.write_on(), written::all);
            } else {
                EXPECT_EQ(it.write_all(), written::all);
            }
            EXPECT_TRUE(it.state.output == wire);
            EXPECT_TRUE(it.out->is_drained());
            EXPECT_FALSE(it.out->is_full());
        }
    }
}

TEST(outbound, writes_the_same_octet_by_octet_and_in_short_writes) {
    for (const form &how : forms())
        for (const std::size_t step : {1u, 3u, 250u}) {
            SCOPED_TRACE(::testing::Message() << how.name << " " << step);
            writer it(socket_type::dealer, how.first_words);
            for (const frames &each : said())
                it.send(each);
            it.state.room = step;
            for (written last = it.write_all(); last != written::all; last = it.write_on(step))
                ASSERT_EQ(last, written::refused);
            EXPECT_TRUE(it.state.output == all_said(how));
        }
}

TEST(outbound, writes_the_same_with_a_limit_for_each_transfer) {
    for (const form &how : forms())
        for (const std::size_t limit : {1u, 7u, 300u, 5000u}) {
            batching sizes;
            sizes.tcp_max_transfer = limit;
            writer it(socket_type::dealer, how.first_words, 0, sizes);
            for (const frames &each : said())
                it.send(each);
            it.peer->output().assign(20, 'P');
            EXPECT_EQ(it.write_all(), written::all);
            EXPECT_TRUE(it.state.output == octets(20, 'P') + all_said(how));
        }
}

TEST(outbound, leaves_the_turn_to_others_after_some_writes) {
    batching sizes;
    sizes.tcp_max_transfer = 100;
    writer it(socket_type::dealer, {}, 0, sizes);
    it.send({body_of(1000)});
    EXPECT_EQ(it.write(), written::some);
    EXPECT_EQ(it.state.output.size(), 400u);
    EXPECT_EQ(it.write_all(), written::all);
    EXPECT_TRUE(it.state.output == message(body_of(1000)));
}

// ---- control octets ----

/// Whether `output` is the wire with `control` once between two messages; where.
std::optional<std::size_t> place_of(const octets &control, const octets &output, const form &how) {
    octets before, wire = all_said(how);
    std::size_t at = 0;
    for (std::size_t i = 0;; ++i) {
        if (output == wire.substr(0, at) + control + wire.substr(at))
            return at;
        if (i == said().size())
            return std::nullopt;
        at += how.encode(said()[i]).size();
    }
}

TEST(outbound, writes_control_octets_between_messages_and_whole_wherever_the_stream_is_full) {
    const octets control = pong("context");
    for (const form &how : forms()) {
        const octets wire = all_said(how);
        for (const std::size_t cut : places(wire))
            for (const std::size_t more : {SIZE_MAX, std::size_t{1}, std::size_t{5}}) {
                SCOPED_TRACE(::testing::Message() << how.name << " " << cut << " " << more);
                writer it(socket_type::dealer, how.first_words);
                for (const frames &each : said())
                    it.send(each);
                it.state.room = cut;
                (void)it.write_all();
                it.peer->output().assign(control.begin(), control.end());
                EXPECT_FALSE(it.out->is_drained());
                if (cut == wire.size()) {
                    it.state.room = more;
                    (void)it.write_all();
                }
                for (int i = 0; i < 3 && it.state.is_room_awaited; ++i)
                    (void)it.write_on(more);
                if (it.state.is_room_awaited) {
                    EXPECT_EQ(it.write_on(), written::all);
                }
                const auto at = place_of(control, it.state.output, how);
                ASSERT_TRUE(at) << "lost, or in the middle of a message";
                EXPECT_GE(*at, cut);
                EXPECT_TRUE(it.peer->output().empty());
                EXPECT_TRUE(it.out->is_drained());
            }
    }
}

TEST(outbound, puts_control_octets_before_what_has_not_begun) {
    for (const form &how : forms())
        for (std::size_t cut = 0; cut <= 12; ++cut) {
            writer it(socket_type::dealer, how.first_words);
            EXPECT_EQ(it.write(), written::all);
            it.send({"abc"});
            it.peer->output().assign(9, 'P');
            it.state.room = cut;
            (void)it.write_all();
            if (cut < 9) {
                // More that comes to be said is said behind that, and a sender keeps out of it.
                it.peer->output().insert(it.peer->output().end(), 3, 'Q');
                (void)it.write_on(0);
                it.state.room = SIZE_MAX;
                if (cut > 0) {
                    EXPECT_FALSE(it.near->write_now(connection_port::occasion::ready)) << "half a command";
                }
                EXPECT_EQ(it.state.output, octets(cut, 'P'));
                EXPECT_EQ(it.write_on(), written::all);
                EXPECT_EQ(it.state.output, octets(9, 'P') + octets(3, 'Q') + how.encode({"abc"}));
            } else {
                EXPECT_EQ(it.write_on(), written::all);
                EXPECT_EQ(it.state.output, octets(9, 'P') + how.encode({"abc"}));
            }
        }
}

TEST(outbound, writes_control_octets_before_there_is_a_pipe) {
    connection_parts parts(socket_of(socket_type::dealer));
    const auto machine = parts.talk(greeting() + ready("DEALER"));
    scripted_stream bytes(parts.state);
    outbound out(bytes, *machine, nullptr, parts.sizes);
    EXPECT_TRUE(out.is_drained());
    EXPECT_FALSE(out.has_work());
    machine->output().assign(10, 'x');
    EXPECT_FALSE(out.is_drained());
    parts.state.room = 4;
    EXPECT_EQ(out.write(parts.io.now()), written::refused);
    machine->output().insert(machine->output().end(), 5, 'y');
    parts.state.room = SIZE_MAX;
    out.note_writable();
    EXPECT_EQ(out.write(parts.io.now()), written::all);
    EXPECT_EQ(parts.state.output, octets(10, 'x') + octets(5, 'y'));
    EXPECT_TRUE(out.is_drained());
    EXPECT_TRUE(out.close());
}

// ---- translation ----

octets subscribe(std::string_view topic) { return command_frame("SUBSCRIBE", topic); }
octets cancel(std::string_view topic) { return command_frame("CANCEL", topic); }

TEST(outbound, turns_subscriptions_into_what_the_peer_understands) {
    const struct {
        octets first_words;
        octets expected;
    } peers[] = {
        {greeting() + ready("PUB"), subscribe("a") + message("up") + cancel("a") + subscribe("")},
        {greeting("NULL", 3, 0) + ready("PUB"),
         message("\1a") + message("up") + message(octets("\0a", 2)) + message("\1")},
        {frame_1_0(""), frame_1_0("\1a") + frame_1_0("up") + frame_1_0(octets("\0a", 2)) + frame_1_0("\1")}};
    for (const auto &peer : peers)
        for (std::size_t cut = 0; cut < peer.expected.size(); ++cut) {
            writer it(socket_type::xsub, peer.first_words);
            it.send_command(in_band::subscribe, "a");
            it.send_command(in_band::hello, "nobody's business");
            it.send({"up"});
            it.send_command(in_band::cancel, "a");
            it.send_command(in_band::subscribe, "");
            it.state.room = cut;
            EXPECT_EQ(it.write_all(), written::refused);
            EXPECT_EQ(it.write_on(1), cut + 1 == peer.expected.size() ? written::all : written::refused);
            if (cut + 1 < peer.expected.size()) {
                EXPECT_EQ(it.write_on(), written::all);
            }
            EXPECT_EQ(it.state.output, peer.expected);
            EXPECT_TRUE(it.out->is_drained());
        }
}

/// Whatever is translated at once seldom ends with a message.
TEST(outbound, control_octets_go_out_soon_between_translated_messages_that_never_end) {
    writer it(socket_type::xsub);
    const octets control = pong("context");
    const frames parts{"topic", body_of(1000), "end"};
    const octets one = as_frames(parts);
    it.state.room = 1;
    std::size_t queued = 0;
    const auto fill = [&] {
        for (; queued < 1'000'000; queued += one.size())
            it.send(parts);
    };
    fill();
    (void)it.write_all();
    it.peer->output().assign(control.begin(), control.end());
    std::size_t turns = 0;
    for (; turns < 100 && it.state.output.find(control) == octets::npos; ++turns) {
        (void)it.write_on(99'999);
        queued -= 99'999;
        fill();
    }
    EXPECT_LT(turns, 10u);
    const std::size_t at = it.state.output.find(control);
    ASSERT_NE(at, octets::npos);
    EXPECT_EQ(at % one.size(), 0u);
}

TEST(outbound, replays_the_set_to_a_new_connection_before_the_messages_that_wait) {
    writer it(socket_type::xsub);
    it.subscribe("a");
    it.subscribe("b");
    it.send_command(in_band::subscribe, "a");
    it.send({"x", "y"});
    it.send_command(in_band::subscribe, "b");
    const octets wire = subscribe("a") + subscribe("b") + part("x") + message("y");
    for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
        it.far->follow(false);
        it.begin(true);
        it.state.room = cut;
        (void)it.write_all();
        EXPECT_TRUE(it.near->is_followed());
        if (cut < wire.size()) {
            EXPECT_EQ(it.write_on(), written::all);
        }
        it.state.room = SIZE_MAX;
        EXPECT_EQ(it.state.output, wire);
        it.send_command(in_band::cancel, "a");
        EXPECT_EQ(it.write_all(), written::all);
        EXPECT_EQ(it.state.output, wire + cancel("a"));
        ASSERT_TRUE(it.out->close());
        it.send_command(in_band::subscribe, "a");
        it.send({"x", "y"});
    }
}

TEST(outbound, writes_the_newest_of_a_pipe_that_keeps_no_other) {
    writer it(socket_type::dealer, {}, 0, {}, true);
    EXPECT_EQ(it.write(), written::all);
    it.send({"old"});
    it.send({"new"});
    EXPECT_EQ(it.write(), written::all);
    EXPECT_EQ(it.state.output, message("new"));
}

TEST(outbound, keeps_no_memory_of_a_large_frame_that_was_translated) {
    writer it(socket_type::dealer, frame_1_0("you"));
    EXPECT_EQ(it.write(), written::all);
    static const octets large = body_of(1'000'000);  // as long as the pipe
    const long before = short_heap::octets();
    EXPECT_EQ(it.near->write_external(0, {}, as_bytes(large)), error::none);
    it.near->publish();
    EXPECT_EQ(it.write_all(), written::all);
    (void)it.take_output();
    EXPECT_LT(short_heap::octets() - before, 100'000);
}

}  // namespace
}  // namespace zlink
