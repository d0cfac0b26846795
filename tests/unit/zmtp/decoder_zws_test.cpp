// The framing of WebSocket: what comes in of whatever a peer sends.
#include "zmtp/decoder_zws.hpp"

#include <gtest/gtest.h>

#include "zws_octets.hpp"

namespace zlink {
namespace {

using namespace testing;

octets event(int what, std::string_view data) {
    return frame(octets{'\0', static_cast<char>(what)} + octets(data), 4);
}
octets fault(int status) { return event(web_event::fault, close_payload(status)); }

/// However it is cut, the same comes out. Returns it.
octets in_any_cut(const zws_form &how, const octets &wire) {
    const octets whole = decoded(how, wire);
    for (std::size_t piece = 1; piece <= std::min<std::size_t>(wire.size(), 40); ++piece)
        EXPECT_EQ(decoded(how, wire, piece), whole) << "in pieces of " << piece;
    for (std::size_t at = 1; at < std::min<std::size_t>(wire.size(), 300); ++at) {
        decoder_zws decoder(how, nullptr, false);
        const octets first = decoded(decoder, wire.substr(0, at));
        EXPECT_EQ(first + decoded(decoder, wire.substr(at)), whole) << "cut at " << at;
    }
    return whole;
}

TEST(decoder_zws, decodes_where_it_was_read_and_in_any_pieces) {
    for (const std::size_t size : {0, 1, 5, 124, 125, 254, 255, 256, 257, 5000}) {
        const octets body = some_octets(size);
        const octets expected = frame(body) + frame(body, 1) + frame("\5READY", 4);
        EXPECT_EQ(in_any_cut(of_client, zws(0, body) + zws(1, body) + zws(2, "\5READY")), expected) << size;
        EXPECT_EQ(in_any_cut(of_server, masked_zws(0, body) + masked_zws(1, body) + masked_zws(2, "\5READY")),
                  expected)
            << size;
    }
}

TEST(decoder_zws, asks_for_as_much_room_as_headers_can_grow) {
    octets wire, expected;
    for (int i = 0; i < 1000; ++i) {
        wire += zws(0, octets(256, 'x'));
        expected += frame(octets(256, 'x'));
    }
    EXPECT_EQ(decoded(of_client, wire), expected);
    wire = expected = {};
    for (int i = 0; i < 1000; ++i) {
        wire += web_frame(0x82, octets(256, 'x')) + web_frame(0x89, "");
        expected += frame(octets(256, 'x'));
    }
    EXPECT_EQ(decoded(of_raw_client, wire), expected + event(web_event::ping, ""));
}

TEST(decoder_zws, takes_any_octets_for_a_message_where_the_peer_does_not_speak_zmtp) {
    EXPECT_EQ(in_any_cut(of_raw_client, web_frame(0x82, "hello") + web_frame(0x82, octets(3, '\0'))),
              frame("hello") + frame(octets(3, '\0')));
    EXPECT_EQ(in_any_cut(of_raw_server, web_frame(0x82, "", a_mask) + web_frame(0x82, "x", a_mask)),
              frame("x"));
    EXPECT_EQ(in_any_cut(of_raw_client, web_frame(0x02, "") + web_frame(0x80, "") + web_frame(0x82, "x")),
              frame("x"));
}

TEST(decoder_zws, unmasks_what_of_a_body_is_read_past_it) {
    const octets body = some_octets(100'000);
    const octets wire = masked_zws(0, body) + masked_zws(0, "next");
    const std::size_t body_begin = wire.size() - 4 - 7 - body.size();
    for (const std::size_t before : {0, 1, 2, 3, 4, 9})
        for (const std::size_t piece : {99'000, 33'333, 1}) {
            decoder_zws decoder(of_server, nullptr, false);
            octets out = decoded(decoder, wire.substr(0, body_begin + before));
            std::size_t at = body_begin + before;
            for (std::size_t left = body.size() - before, rounds = 0; left > 0; ++rounds) {
                const std::size_t count = std::min(left, rounds > 20 ? left : piece);
                octets past = wire.substr(at, count);
                decoder.pass({reinterpret_cast<std::uint8_t *>(past.data()), past.size()});
                out += past;
                at += count;
                left -= count;
            }
            decoder.pass({});
            out += decoded(decoder, wire.substr(at));
            EXPECT_EQ(out, frame(body) + frame("next")) << before << ' ' << piece;
        }
}

// ---- faults ----

TEST(decoder_zws, knows_three_values_of_the_octet_in_front) {
    for (int flags = 0; flags < 256; ++flags) {
        const octets out = in_any_cut(of_server, masked_zws(0, "before") + masked_zws(flags, "abc") +
                                                     masked_zws(0, "behind"));
        const octets message = frame("abc", flags == 2 ? 4 : flags);
        EXPECT_EQ(out, frame("before") + (flags <= 2 ? message + frame("behind") : fault(1002))) << flags;
        const octets pieces = web_frame(0x02, with_flags(flags, "a"), a_mask) + web_frame(0x80, "bc", a_mask);
        EXPECT_EQ(in_any_cut(of_server, pieces), flags <= 2 ? message : fault(1002)) << flags;
    }
}

TEST(decoder_zws, refuses_messages_without_the_octet) {
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x82, "") + zws(0, "x")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x02, "") + web_frame(0x80, "") + zws(0, "x")), fault(1002));
}

TEST(decoder_zws, refuses_commands_that_look_like_its_own_events) {
    for (const octets &body : {octets(1, '\0'), octets("\0\x09ping", 6), octets("\0\0\3\xe8", 4)}) {
        EXPECT_EQ(in_any_cut(of_client, zws(2, body)), fault(1002));
        EXPECT_EQ(in_any_cut(of_client, web_frame(0x02, with_flags(2, body.substr(0, 1))) +
                                            web_frame(0x80, body.substr(1))),
                  fault(1002));
    }
    EXPECT_EQ(in_any_cut(of_client, zws(2, "")), octets("\4\0", 2));
    EXPECT_EQ(in_any_cut(of_client, zws(0, octets("\0\x09ping", 6))), frame(octets("\0\x09ping", 6)));
}

TEST(decoder_zws, refuses_text) {
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x81, "hello")), fault(1003));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x01, "hello")), fault(1003));
}

TEST(decoder_zws, refuses_what_is_masked_by_a_server_or_not_masked_by_a_client) {
    EXPECT_EQ(in_any_cut(of_server, zws(0, "hello")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, masked_zws(0, "hello")), fault(1002));
    EXPECT_EQ(in_any_cut(of_server, web_frame(0x89, "")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x88, "", a_mask)), fault(1002));
}

TEST(decoder_zws, refuses_reserved_bits) {
    for (int bits = 1; bits < 8; ++bits)
        for (const int first : {0x82, 0x02, 0x89, 0x88})
            EXPECT_EQ(in_any_cut(of_client, zws(0, "a") + web_frame(first | bits << 4, octets(1, '\0'))),
                      frame("a") + fault(1002));
}

TEST(decoder_zws, refuses_reserved_opcodes) {
    for (const int opcode : {3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf})
        EXPECT_EQ(in_any_cut(of_client, zws(0, "a") + web_frame(0x80 | opcode, octets(1, '\0'))),
                  frame("a") + fault(1002));
}

TEST(decoder_zws, refuses_lengths_that_are_longer_than_need_be) {
    const auto with_length = [](octets length) { return "\x82" + length + octets(10, '\0'); };
    for (const int length : {0, 1, 2, 10, 100, 124, 125})
        EXPECT_EQ(in_any_cut(of_client, with_length({'\x7e', '\0', static_cast<char>(length)})), fault(1002));
    for (const octets &length :
         {octets("\x7f\0\0\0\0\0\0\0\0", 9), octets("\x7f\0\0\0\0\0\0\0\x7d", 9),
          octets("\x7f\0\0\0\0\0\0\0\x7e", 9), octets("\x7f\0\0\0\0\0\0\1\0", 9),
          octets("\x7f\0\0\0\0\0\0\xff\xff", 9), octets("\x7f\x80\0\0\0\0\0\0\0", 9),
          octets("\x7f\x80\0\0\0\0\1\0\0", 9), octets("\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 9)})
        EXPECT_EQ(in_any_cut(of_client, with_length(length)), fault(1002));
    // The largest that may be: its body may come.
    EXPECT_EQ(decoded(of_client, octets("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff\0", 11)),
              octets("\2\x7f\xff\xff\xff\xff\xff\xff\xfe", 9));
    EXPECT_EQ(decoded(of_client, octets("\x82\x7f\0\0\0\0\0\1\0\0\0", 11)),
              octets("\2\0\0\0\0\0\0\xff\xff", 9));
    EXPECT_EQ(decoded(of_client, octets("\x82\x7e\0\x7e\0", 5)), octets("\0\x7d", 2));
}

// ---- fragments ----

octets in_fragments(std::string_view payload, std::size_t count, std::string_view between = {}) {
    octets wire;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t begin = payload.size() * i / count, end = payload.size() * (i + 1) / count;
        wire += web_frame((i == 0 ? 2 : 0) | (i + 1 == count ? 0x80 : 0), payload.substr(begin, end - begin),
                          a_mask);
        if (i + 1 < count)
            wire += between;
    }
    return wire;
}

TEST(decoder_zws, puts_messages_in_fragments_together) {
    for (const std::size_t size : {0, 1, 254, 255, 256, 1000, 70000}) {
        const octets body = some_octets(size);
        for (const std::size_t count : {2, 3, 10, 1000})
            for (const int flags : {0, 1}) {
                const octets wire = in_fragments(with_flags(flags, body), count) + masked_zws(0, "next");
                const octets expected = frame(body, flags) + frame("next");
                EXPECT_EQ(decoded(of_server, wire), expected);
                EXPECT_EQ(decoded(of_server, wire, 1), expected);
                EXPECT_EQ(decoded(of_server, wire, 1000), expected);
            }
    }
    EXPECT_EQ(in_any_cut(of_server,
                         in_fragments(with_flags(2, "\5READY"), 5) + in_fragments(with_flags(0, "ab"), 7)),
              frame("\5READY", 4) + frame("ab"));
    EXPECT_EQ(in_any_cut(of_raw_server, in_fragments("hello", 3)), frame("hello"));
}

TEST(decoder_zws, lets_control_frames_stand_between_fragments) {
    const octets ping = web_frame(0x89, "are you there", a_mask), pong = web_frame(0x8a, "unasked", a_mask);
    const octets wire = in_fragments(with_flags(1, "hello"), 2, ping + pong);
    EXPECT_EQ(decoded(of_server, wire.substr(0, wire.size() - 1)), event(web_event::ping, "are you there"));
    EXPECT_EQ(in_any_cut(of_server, wire), event(web_event::ping, "are you there") + frame("hello", 1));
    EXPECT_EQ(in_any_cut(of_server, in_fragments(with_flags(0, "x"), 2, web_frame(0x88, "", a_mask))),
              event(web_event::close, ""));
}

TEST(decoder_zws, refuses_fragments_out_of_place) {
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x80, "x")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x00, "x")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x02, octets("\0a", 2)) + zws(0, "b")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x02, octets("\0a", 2)) + web_frame(0x02, "b")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client, web_frame(0x02, octets("\0a", 2)) + web_frame(0x81, "b")), fault(1002));
    EXPECT_EQ(in_any_cut(of_client,
                         web_frame(0x02, octets("\0a", 2)) + web_frame(0x80, "b") + web_frame(0x80, "c")),
              frame("ab") + fault(1002));
}

TEST(decoder_zws, keeps_the_bodies_of_messages_in_fragments_where_programs_expect_them) {
    decoder_zws decoder(of_server, nullptr, false);
    const octets wire = in_fragments(with_flags(0, some_octets(1000)), 2);
    octets memory(decoder.lead(wire.size()) + wire.size(), '\0');
    (void)decoder.decode(as_bytes(wire), reinterpret_cast<std::uint8_t *>(memory.data()));
    block_ref owner;
    const byte_span whole = decoder.take_frame(owner);
    ASSERT_EQ(whole.size(), 1009u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(whole.data() + 9) % 16, 0u);
    auto *const memory_of = static_cast<chunk *>(owner.get());
    EXPECT_GE(whole.data(), memory_of->data());
    EXPECT_LE(whole.data() + whole.size(), memory_of->data() + memory_of->capacity);
    EXPECT_TRUE(decoder.take_frame(owner).empty());
}

TEST(decoder_zws, takes_memory_for_what_has_arrived_of_a_message_in_fragments_alone) {
    const auto pool = chunk_pool::make();
    decoder_zws decoder(of_server, pool.get(), false);
    // Fragments without octets, without end.
    octets empty;
    for (int i = 0; i < 10'000; ++i)
        empty += web_frame(i == 0 ? 0x02 : 0x00, "", a_mask);
    EXPECT_EQ(decoded(decoder, empty), "");
    EXPECT_EQ(pool->idle_octets(), 0u);
    // One that is announced to be large, of which little comes.
    EXPECT_EQ(decoded(decoder, octets("\0\xff\0\0\0\1\0\0\0\0", 10) + "mask" + octets(1, '\0' ^ 'm') + "abc"),
              "");
    EXPECT_LE(pool->idle_octets(), 1024u);
    // And octets one by one: each costs little, and no more memory than twice what came.
    decoder_zws slow(of_server, pool.get(), false);
    octets drops = web_frame(0x02, octets(1, '\0'), a_mask);
    for (int i = 0; i < 100'000; ++i)
        drops += web_frame(0x00, "x", a_mask);
    EXPECT_EQ(decoded(slow, drops), "");
    octets memory(slow.lead(100), '\0');
    const octets last = web_frame(0x80, "", a_mask);
    (void)slow.decode(as_bytes(last), reinterpret_cast<std::uint8_t *>(memory.data()));
    block_ref owner;
    EXPECT_EQ(octets(as_text(slow.take_frame(owner))), frame(octets(100'000, 'x')));
    EXPECT_LE(static_cast<chunk *>(owner.get())->capacity, 210'000u);
}

TEST(decoder_zws, keeps_no_octet_of_messages_in_fragments_that_nobody_takes) {
    const octets wire = in_fragments(with_flags(1, some_octets(1000)), 5) + masked_zws(0, "whole") +
                        in_fragments(with_flags(2, "\5READY"), 3) + in_fragments(with_flags(0, ""), 2) +
                        in_fragments(with_flags(0, "x"), 2, web_frame(0x89, "", a_mask));
    const octets expected = frame("", 1) + frame("whole") + frame("\5READY", 4) + frame("") + frame("");
    for (std::size_t piece = 1; piece < 1200; piece += piece < 40 ? 1 : 97) {
        decoder_zws decoder(of_server, nullptr, false);
        decoder.take_only(reception::none);
        const octets out = decoded(decoder, wire, piece);
        EXPECT_EQ(replaced(out, event(web_event::ping, ""), ""), expected) << piece;
    }
    const auto pool = chunk_pool::make();
    {
        decoder_zws decoder(of_server, pool.get(), false);
        decoder.take_only(reception::none);
        EXPECT_EQ(decoded(decoder, web_frame(0x02, with_flags(0, some_octets(100'000)), a_mask) +
                                       web_frame(0x00, some_octets(100'000), a_mask)),
                  "");
    }
    EXPECT_EQ(pool->idle_octets(), 0u) << "was asked for memory";
}

TEST(decoder_zws, gives_memory_back_when_nobody_takes_messages_any_more) {
    const auto pool = chunk_pool::make();
    for (const octets &payload : {with_flags(0, some_octets(10'000)), octets(1, '\0'), octets()}) {
        pool->give_up_idle();
        decoder_zws decoder(of_server, pool.get(), false);
        EXPECT_EQ(decoded(decoder, web_frame(0x02, payload, a_mask)), "");
        const std::size_t before = pool->idle_octets();
        decoder.take_only(reception::none);
        EXPECT_EQ(pool->idle_octets() > before, payload.size() > 1);
        const octets rest = payload.empty() ? with_flags(0, "rest") : "rest";
        EXPECT_EQ(decoded(decoder, web_frame(0x80, rest, a_mask) + masked_zws(1, "next")),
                  frame("") + frame("next", 1));
    }
    // A command goes on.
    decoder_zws decoder(of_server, pool.get(), false);
    octets out = decoded(decoder, web_frame(0x02, with_flags(2, "\5REA"), a_mask));
    decoder.take_only(reception::none);
    out += decoded(decoder, web_frame(0x80, "DY", a_mask));
    EXPECT_EQ(out, frame("\5READY", 4));
}

TEST(decoder_zws, keeps_fragments_of_what_may_be_a_subscription_where_nothing_else_is_taken) {
    const octets wire = in_fragments(with_flags(0, "\1topic"), 9) +
                        in_fragments(with_flags(1, octets("\0topic", 6)), 3) +
                        in_fragments(with_flags(1, "\2topic"), 9) + in_fragments(with_flags(0, "topic"), 2) +
                        in_fragments(with_flags(0, ""), 3);
    for (std::size_t piece = 1; piece < wire.size(); ++piece) {
        decoder_zws decoder(of_server, nullptr, false);
        decoder.take_only(reception::subscriptions);
        EXPECT_EQ(decoded(decoder, wire, piece),
                  frame("\1topic") + frame(octets("\0topic", 6), 1) + frame("", 1) + frame("") + frame(""));
    }
}

TEST(decoder_zws, judges_messages_that_nobody_takes_like_others) {
    zws_form limited = of_server;
    limited.max_body = 100'000;
    decoder_zws decoder(limited, nullptr, false);
    decoder.take_only(reception::none);
    const octets most = in_fragments(with_flags(0, octets(100'000, 'x')), 3);
    EXPECT_EQ(decoded(decoder, most + most), frame("") + frame(""));
    EXPECT_EQ(decoded(decoder, in_fragments(with_flags(0, octets(100'001, 'x')), 3)), fault(1009));
    decoder_zws other(limited, nullptr, false);
    other.take_only(reception::none);
    EXPECT_EQ(decoded(other, in_fragments(with_flags(7, "x"), 2)), fault(1002));
}

// ---- limits ----

TEST(decoder_zws, judges_sizes_by_the_body_before_any_of_it_is_there) {
    constexpr std::size_t limit = 100'000;
    zws_form limited = of_client;
    limited.max_body = limit;
    for (const std::size_t size : {limit - 1, limit})
        EXPECT_EQ(decoded(limited, zws(0, some_octets(size))), frame(some_octets(size)));
    const octets above = zws(0, octets(limit + 1, 'x'));
    EXPECT_EQ(in_any_cut(limited, above.substr(0, 10)), fault(1009));
    EXPECT_EQ(in_any_cut(limited, zws(1, "a") + above.substr(0, 10)), frame("a", 1) + fault(1009));
    // A command has a limit of its own.
    limited.max_body = 10;
    EXPECT_EQ(in_any_cut(limited, zws(0, octets(10, 'x'))), frame(octets(10, 'x')));
    EXPECT_EQ(in_any_cut(limited, zws(0, octets(11, 'x')).substr(0, 3)), fault(1009));
    EXPECT_EQ(in_any_cut(limited, zws(2, octets(11, 'x'))), frame(octets(11, 'x'), 4));
    EXPECT_EQ(decoded(limited, zws(2, octets(65536, 'x'))), frame(octets(65536, 'x'), 4));
    EXPECT_EQ(decoded(limited, zws(2, octets(65537, 'x')).substr(0, 10)), fault(1009));
    limited.is_raw = true;
    EXPECT_EQ(in_any_cut(limited, web_frame(0x82, octets(10, 'x'))), frame(octets(10, 'x')));
    EXPECT_EQ(in_any_cut(limited, web_frame(0x82, octets(11, 'x')).substr(0, 2)), fault(1009));
}

TEST(decoder_zws, judges_messages_in_fragments_when_each_begins) {
    zws_form limited = of_server;
    limited.max_body = 10;
    const auto two = [](std::size_t first, std::size_t second, int flags = 0) {
        return web_frame(0x02, with_flags(flags, octets(first, 'x')), a_mask) +
               web_frame(0x80, octets(second, 'x'), a_mask);
    };
    EXPECT_EQ(in_any_cut(limited, two(4, 6)), frame(octets(10, 'x')));
    EXPECT_EQ(in_any_cut(limited, two(4, 7).substr(0, 11 + 6)), fault(1009));
    EXPECT_EQ(in_any_cut(limited, two(0, 11)), fault(1009));
    EXPECT_EQ(in_any_cut(limited, two(11, 0)), fault(1009));
    EXPECT_EQ(in_any_cut(limited, two(6, 7, 2)), frame(octets(13, 'x'), 4));
    EXPECT_EQ(decoded(limited,
                      web_frame(0x02, "", a_mask) + web_frame(0x80, with_flags(0, octets(11, 'x')), a_mask)),
              fault(1009));
    // A sum that would overflow.
    EXPECT_EQ(decoded(of_server, two(4, 0).substr(0, 11) +
                                     octets("\0\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10) + "mask"),
              "");
}

// ---- control frames ----

TEST(decoder_zws, takes_pings_of_every_size_and_pongs_of_that_of_ours) {
    for (std::size_t size = 0; size <= 125; ++size) {
        const octets data = some_octets(size);
        const octets wire =
            web_frame(0x89, data, a_mask) + web_frame(0x8a, data, a_mask) + masked_zws(0, "x");
        const octets out = decoded(of_server, wire);
        const octets ping = event(web_event::ping, data),
                     pong = size == 4 ? event(web_event::pong, data) : "";
        EXPECT_TRUE(out == frame("x") + pong + ping) << size;
        EXPECT_EQ(decoded(of_server, wire, 1), ping + pong + frame("x")) << size;
    }
}

TEST(decoder_zws, makes_one_of_the_pongs_that_come_together) {
    const octets wire = web_frame(0x8a, "1111", a_mask) + web_frame(0x8a, "2222", a_mask) +
                        web_frame(0x8a, "333", a_mask) + web_frame(0x88, close_payload(1000), a_mask);
    EXPECT_EQ(decoded(of_server, wire),
              event(web_event::pong, "2222") + event(web_event::close, close_payload(1000)));
}

TEST(decoder_zws, refuses_control_frames_that_are_long_or_in_fragments) {
    for (const int opcode : {8, 9, 10}) {
        EXPECT_EQ(in_any_cut(of_client, web_frame(0x80 | opcode, octets(126, 'x'))), fault(1002));
        EXPECT_EQ(in_any_cut(of_client, web_frame(opcode, "x")), fault(1002));
    }
}

TEST(decoder_zws, makes_one_of_the_pings_that_come_together) {
    octets flood;
    for (int i = 0; i < 100'000; ++i)
        flood += web_frame(0x89, std::to_string(i), a_mask);
    EXPECT_EQ(decoded(of_server, flood), event(web_event::ping, "99999"));
    // Whoever waits for the answer need not wait for the end of a frame that comes slowly.
    EXPECT_EQ(decoded(of_client,
                      web_frame(0x89, "1") + zws(0, "x") + web_frame(0x89, "2") + zws(0, "xyz").substr(0, 4)),
              frame("x") + event(web_event::ping, "2") + frame("xyz").substr(0, 3));
}

TEST(decoder_zws, takes_nothing_behind_a_close) {
    EXPECT_EQ(in_any_cut(of_client, zws(0, "a") + web_frame(0x88, close_payload(1000, "bye")) + zws(0, "b")),
              frame("a") + event(web_event::close, close_payload(1000, "bye")));
    EXPECT_EQ(decoded(of_client, web_frame(0x89, "1") + web_frame(0x88, "") + web_frame(0x89, "2")),
              event(web_event::ping, "1") + event(web_event::close, ""));
}

TEST(decoder_zws, decodes_one_by_one_where_it_is_asked_to) {
    decoder_zws decoder(of_client, nullptr, true);
    const octets wire = zws(0, "a") + web_frame(0x8a, "") + web_frame(0x89, "p") +
                        web_frame(0x02, octets("\1b", 2)) + web_frame(0x89, "q") + web_frame(0x80, "c") +
                        zws(0, "") + web_frame(0x88, "");
    const std::pair<octets, bool> expected[] = {{frame("a"), false},   {event(9, "p"), true},
                                                {event(9, "q"), true}, {frame("bc", 1), false},
                                                {frame(""), false},    {event(8, ""), true}};
    byte_span in = as_bytes(wire);
    for (const auto &[what, is_event] : expected) {
        octets memory(1000, '\0');
        const auto step = decoder.decode(in, reinterpret_cast<std::uint8_t *>(memory.data()));
        in = in.subspan(step.taken);
        block_ref owner;
        EXPECT_EQ(memory.substr(0, step.octets) + octets(as_text(decoder.take_frame(owner))), what);
        EXPECT_EQ(decoder.has_given_event(), is_event);
    }
    EXPECT_TRUE(in.empty());
}

}  // namespace
}  // namespace zlink
