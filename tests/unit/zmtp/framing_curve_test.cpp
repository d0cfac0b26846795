// The framing of CURVE, both ways: what goes into boxes comes out of them, around whatever they
// stand in, and nothing else does.
#include "zmtp/framing_curve.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sodium.h>

#include "zmtp/command.hpp"
#include "zmtp/decoder_curve.hpp"
#include "zmtp/framing_zws.hpp"
#include "zws_octets.hpp"

namespace zlink {
namespace {

using namespace testing;

const octets key(32, 'k');

curve_session session_of(bool is_server, bool batches) {
    curve_session session;
    std::copy(key.begin(), key.end(), session.shared.data());
    session.is_server = is_server;
    session.batches = batches;
    session.last_sent = 2;
    session.last_received = 2;
    return session;
}

/// Both ends of a connection, of which the client sends.
struct ends {
    explicit ends(bool batches, bool is_web = false, const curve_limits &limits = {})
        : web_client({.is_client = true, .max_body = UINT64_MAX, .max_command = UINT64_MAX}),
          web_server({.max_body = UINT64_MAX, .max_command = UINT64_MAX}),
          client(session_of(false, batches), is_web ? web_client : framing_of_zmtp_3_1(), {}),
          server(session_of(true, batches), is_web ? web_server : framing_of_zmtp_3_1(), limits),
          decoder(server.make_decoder()) {}

    octets encode(std::uint8_t flags, const octets &body) const {
        std::vector<std::uint8_t> out;
        client.encode(flags, as_bytes(body), out);
        return octets(out.begin(), out.end());
    }
    octets encode_command(const octets &body) const {
        std::vector<std::uint8_t> out;
        client.encode_command(as_bytes(body), out);
        return octets(out.begin(), out.end());
    }
    octets encode_small(const octets &frames) {
        byte_span in = as_bytes(frames);
        octets out;
        while (!in.empty()) {
            std::vector<std::uint8_t> room(client.room_for_small(std::min<std::size_t>(in.size(), 65536)) +
                                           64);
            const std::size_t size = client.encode_small(in, 8191, room, in_message, messages);
            if (size == 0)
                break;
            out.append(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size));
        }
        left = in.size();
        return out;
    }
    octets decode(const octets &wire, std::size_t piece = SIZE_MAX) { return decoded(*decoder, wire, piece); }

    const framing_zws web_client, web_server;
    const framing_curve client, server;
    const std::unique_ptr<frame_decoder> decoder;
    bool in_message = false;
    std::uint64_t messages = 0;
    std::size_t left = 0;
};

/// A box as somebody with the key can make it, whatever he puts into it.
octets box_of(std::uint64_t number, const octets &text) {
    octets nonce = "CurveZMQMESSAGEC" + octets(8, '\0');
    put_u64(reinterpret_cast<std::uint8_t *>(nonce.data()) + 16, number);
    octets box(text.size() + 16, '\0');
    const auto *from = reinterpret_cast<const std::uint8_t *>(text.data());
    crypto_box_easy_afternm(reinterpret_cast<std::uint8_t *>(box.data()), from, text.size(),
                            reinterpret_cast<const std::uint8_t *>(nonce.data()),
                            reinterpret_cast<const std::uint8_t *>(key.data()));
    return frame("\7MESSAGE" + nonce.substr(16) + box);
}

const octets refused = {'\xf8', '\0'};

class each_framing : public ::testing::TestWithParam<std::tuple<bool, bool>> {
protected:
    bool batches() const { return std::get<0>(GetParam()); }
    bool is_web() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(framing_curve, each_framing,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()), [](const auto &info) {
                             return octets(std::get<0>(info.param) ? "batches" : "single") +
                                    (std::get<1>(info.param) ? "_over_websocket" : "");
                         });

TEST_P(each_framing, gives_the_frames_that_went_in_however_the_wire_is_cut) {
    octets wire, expected;
    ends both(batches(), is_web());
    for (const std::size_t size : {0, 1, 5, 31, 32, 221, 222, 223, 255, 256, 5000}) {
        wire += both.encode(size % 2, some_octets(size));
        expected += frame(some_octets(size), size % 2);
    }
    wire += both.encode_command("\4PINGxy");
    expected += frame("\4PINGxy", 4);
    EXPECT_EQ(both.decode(wire), expected);
    for (const std::size_t piece : {1, 2, 3, 7, 40, 1000}) {
        ends again(batches(), is_web());
        EXPECT_EQ(again.decode(wire, piece), expected) << piece;
    }
}

TEST_P(each_framing, gives_large_frames_with_what_stands_around_them) {
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, SIZE_MAX}) {
        ends both(batches(), is_web());
        octets wire, expected;
        for (const std::size_t size : {3u, 20'000u, 1u, 100'000u, 2u, 2u, 1'000'000u, 64'000u, 0u}) {
            wire += both.encode(1, some_octets(size));
            expected += frame(some_octets(size), 1);
        }
        EXPECT_EQ(both.decode(wire, piece), expected) << piece;
    }
}

TEST_P(each_framing, gives_small_frames_that_went_in_together) {
    std::mt19937 random(5);
    octets frames;
    std::uint64_t messages = 0;
    for (int i = 0; i < 5000; ++i) {
        const std::uint8_t flags = random() % 4 == 0;
        messages += !flags;
        frames += frame(some_octets(random() % 400), flags);
    }
    ends both(batches(), is_web());
    const octets wire = both.encode_small(frames);
    EXPECT_EQ(both.left, 0u);
    EXPECT_EQ(both.messages, messages);
    EXPECT_TRUE(both.decode(wire, 65536) == frames);
    if (batches())
        EXPECT_LT(wire.size(), frames.size() * 101 / 100);
    else
        EXPECT_GT(wire.size(), frames.size() + 5000 * curve_growth);
}

TEST_P(each_framing, leaves_commands_and_large_frames_to_be_encoded_one_by_one) {
    ends both(batches(), is_web());
    EXPECT_EQ(both.encode_small(frame("\4PING", 4)), "");
    EXPECT_EQ(both.encode_small(frame(octets(8192, 'x'))), "");
    EXPECT_EQ(both.encode_small(frame("x").substr(0, 2)), "");
    EXPECT_EQ(both.decode(both.encode_small(frame("x") + frame(octets(8192, 'x')))), frame("x"));
}

TEST_P(each_framing, takes_no_box_twice_and_none_that_was_overtaken) {
    ends both(batches(), is_web());
    const octets first = both.encode(0, "first"), second = both.encode(0, "second");
    {
        ends again(batches(), is_web());
        EXPECT_EQ(again.decode(first + first), frame("first") + refused);
        EXPECT_EQ(again.decode(second), "") << "there is nothing behind what was refused";
        EXPECT_EQ(again.decoder->fault(), protocol_errors::invalid_sequence);
    }
    ends again(batches(), is_web());
    EXPECT_EQ(again.decode(second + first), frame("second") + refused);
}

TEST(framing_curve, refuses_a_frame_with_any_octet_changed) {
    const octets whole = ends(true).encode(0, "hello");
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            octets changed = whole;
            changed[at] ^= static_cast<char>(1 << bit);
            if (changed[0] == 1)
                continue;  // more: see below
            ends both(true);
            const octets came = both.decode(changed);
            EXPECT_EQ(came.find("hello"), octets::npos) << at;
            // A changed size may ask for more than there is.
            if (at != 1 && changed[0] != 2) {
                EXPECT_EQ(came, refused) << at << " bit " << bit;
            }
        }
}

// omq-tokio says so of all but the last frame of a message.
TEST(framing_curve, takes_no_notice_of_more_in_front_of_a_box) {
    octets box = ends(true).encode(0, "hello");
    box[0] = 1;
    EXPECT_EQ(ends(true).decode(box), frame("hello"));
    box = ends(true).encode(frame_flag::more, "hello");
    EXPECT_EQ(ends(true).decode(box), frame("hello", frame_flag::more));
}

TEST(framing_curve, refuses_what_a_peer_may_not_put_into_a_box) {
    const auto outcome = [](const octets &text, bool batches = true) {
        ends both(batches);
        return both.decode(box_of(3, text));
    };
    const auto batch = [](const octets &frames) { return octets(1, '\4') + frames; };
    EXPECT_EQ(outcome(octets(1, '\0') + "x"), frame("x"));
    EXPECT_EQ(outcome(octets(1, '\3') + "x"), refused) << "a command with more";
    EXPECT_EQ(outcome(octets(1, '\x08') + "x"), refused) << "a reserved flag";
    EXPECT_EQ(outcome(octets(1, '\2')), refused) << "a command without a name";
    EXPECT_EQ(outcome(octets("\2\0\x09pinged", 9)), refused) << "what would pass for an event";
    EXPECT_EQ(outcome(batch(frame("a") + frame("b", 1))), frame("a") + frame("b", 1));
    EXPECT_EQ(outcome(batch(frame("a")), false), refused) << "nobody has agreed on batches";
    EXPECT_EQ(outcome(batch("")), refused);
    EXPECT_EQ(outcome(batch(frame("a") + octets(1, '\0'))), refused) << "a header that is cut";
    EXPECT_EQ(outcome(batch(frame("a") + frame("bc").substr(0, 3))), refused) << "a body that is cut";
    EXPECT_EQ(outcome(batch(frame("", 4))), refused);
    EXPECT_EQ(outcome(batch(frame(octets("\0\x09", 2), 4))), refused);
    EXPECT_EQ(outcome(batch(frame(octets(65535, 'x')))), refused) << "more than a batch holds";
}

TEST(framing_curve, knows_three_kinds_of_box_and_a_fourth_where_it_was_agreed_on) {
    for (int flags = 0; flags < 256; ++flags)
        for (const bool batches : {false, true}) {
            ends both(batches);
            const bool is_known = flags <= 2 || (flags == 4 && batches);
            const octets text = flags == 4 ? frame("x") : octets("x");
            EXPECT_EQ(both.decode(box_of(3, octets(1, static_cast<char>(flags)) + text)) == refused,
                      !is_known)
                << flags;
        }
}

TEST(framing_curve, takes_nothing_behind_the_last_number_there_is) {
    const octets text("\0x", 2);
    ends both(false);
    EXPECT_EQ(both.decode(box_of(UINT64_MAX - 1, text) + box_of(UINT64_MAX, text) + box_of(0, text)),
              frame("x") + frame("x") + refused);
    EXPECT_EQ(both.decoder->fault(), protocol_errors::invalid_sequence);
}

TEST(framing_curve, has_a_large_box_read_straight_into_its_memory) {
    ends both(false);
    const octets text = some_octets(3'000'000), wire = both.encode(0, text);
    std::size_t at = 100'000;
    EXPECT_TRUE(both.decoder->place_for_next().octets.empty()) << "there is no box yet";
    EXPECT_EQ(both.decode(wire.substr(0, at)), "");
    for (auto next = both.decoder->place_for_next(); !next.octets.empty();
         next = both.decoder->place_for_next()) {
        EXPECT_EQ(next.ends_frame, next.octets.size() == wire.size() - at);
        const std::size_t size = std::min<std::size_t>(next.octets.size(), 70'001);
        std::copy_n(wire.begin() + static_cast<std::ptrdiff_t>(at), size, next.octets.begin());
        both.decoder->fill(size);
        at += size;
    }
    EXPECT_EQ(at, wire.size());
    block_ref owner;
    EXPECT_TRUE(as_text(both.decoder->take_frame(owner)) == frame(text));
    EXPECT_EQ(both.decode(both.encode(0, "behind")), frame("behind"));
}

TEST(framing_curve, holds_memory_for_a_large_box_of_which_little_has_come_only_while_it_is_read) {
    ends both(false);
    const auto pool = chunk_pool::make();
    const auto decoder = both.server.make_decoder(pool.get());
    const octets text = some_octets(200'000), wire = both.encode(0, text);
    std::size_t at = 4000;
    EXPECT_EQ(decoded(*decoder, wire.substr(0, at), SIZE_MAX), "");
    EXPECT_LE(pool->used_octets(), 2 * at);
    const frame_decoder::place first = decoder->place_for_next();
    EXPECT_EQ(first.octets.size(), wire.size() - at);
    EXPECT_GE(pool->used_octets(), wire.size());
    decoder->fill(0);  // nothing was there
    EXPECT_LE(pool->used_octets(), 2 * at);
    const frame_decoder::place next = decoder->place_for_next();
    ASSERT_EQ(next.octets.size(), wire.size() - at);
    std::copy(wire.begin() + static_cast<std::ptrdiff_t>(at), wire.end(), next.octets.begin());
    decoder->fill(next.octets.size());
    block_ref owner;
    EXPECT_TRUE(as_text(decoder->take_frame(owner)) == frame(text));
}

TEST(framing_curve, encodes_nothing_behind_the_last_number_there_is) {
    for (const bool batches : {false, true}) {
        curve_session session = session_of(false, batches);
        session.last_sent = UINT64_MAX - 2;
        const framing_curve sender(session, framing_of_zmtp_3_1(), {});
        ends both(batches);
        std::vector<std::uint8_t> out, room(sender.room_for_small(1000));
        sender.encode(0, as_bytes("x"), out);
        EXPECT_EQ(both.decode(testing::text(out)), frame("x"));
        const octets more = frame("y") + frame("z", 1);
        byte_span in = as_bytes(more);
        bool in_message = false;
        std::uint64_t messages = 0;
        const std::size_t size = sender.encode_small(in, 8191, room, in_message, messages);
        const octets last(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(both.decode(last), batches ? more : frame("y"));
        EXPECT_EQ(in.size(), batches ? 0u : 3u);
        EXPECT_EQ(sender.encode_small(in, 8191, room, in_message, messages), 0u);
        out.clear();
        EXPECT_THROW(sender.encode(0, as_bytes("x"), out), std::bad_alloc);
        EXPECT_THROW(sender.encode_command(as_bytes("\4PING"), out), std::bad_alloc);
        EXPECT_TRUE(out.empty());
    }
}

TEST(framing_curve, takes_nothing_but_boxes) {
    for (const octets &wire :
         {frame("\4PINGxx", 4), frame("\7MESSAGE" + octets(25, 'x'), 1), frame("\7MESSAGE" + octets(24, 'x')),
          frame("\7MESSAGF" + octets(30, 'x')), frame("hello"), frame("")}) {
        ends both(true);
        EXPECT_EQ(both.decode(wire), refused);
    }
}

TEST(framing_curve, refuses_sizes_that_no_frame_has_on_the_header) {
    for (const std::uint64_t size : {std::uint64_t{1} << 63, UINT64_MAX - 9, UINT64_MAX - 8, UINT64_MAX}) {
        octets header(9, '\2');
        put_u64(reinterpret_cast<std::uint8_t *>(header.data()) + 1, size);
        ends both(true);
        EXPECT_EQ(both.decode(header), refused) << size;
    }
}

TEST(framing_curve, judges_the_size_of_a_frame_on_its_header) {
    ends both(false, false, {.max_body = 100'000});
    const octets large = both.encode(0, octets(200'000, 'x'));
    const octets came = both.decode(large.substr(0, 9));
    EXPECT_EQ(came, frame(octets(200'000, 'x')).substr(0, 9)) << "what the walk finds too big";
}

}  // namespace
}  // namespace zlink
