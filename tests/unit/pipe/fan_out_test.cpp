// The fan-out: who gets a message, what is shared and what is copied, full and vanishing pipes.
#include <gtest/gtest.h>

#include <limits>
#include <sys/uio.h>

#include "fake_peers.hpp"
#include "pipe/fan_out.hpp"
#include "pipe/in_band.hpp"

namespace zlink::test {

namespace {

struct publisher {
    fake_peer attach(std::uint64_t hwm = 0) {
        fake_peer peer = network.connect(hwm);
        out.attach(*peer.near);
        return peer;
    }
    void match(std::initializer_list<const fake_peer *> peers) {
        out.clear_matches();
        for (const fake_peer *p : peers)
            out.match(*p->near);
    }
    error write(std::string_view body, bool more = false) {
        return out.write(as_bytes(body), more, nullptr, false);
    }
    error send_to_all(std::string_view body) {
        out.clear_matches();
        out.match_all();
        return write(body);
    }
    std::size_t ranges_of(const fake_peer &peer) {
        iovec ranges[256];
        return peer.far->take_turn().gather(ranges, 256, 1 << 20).ranges;
    }

    std::uint64_t counted(counter what) const { return counts.get(what); }

    fake_network network;
    counters counts;
    fan_out out{network.pool, &counts};
};

}  // namespace

TEST(fan_out, sends_to_the_pipes_that_match_and_to_no_other) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach(), c = p.attach();
    p.match({&a, &c, &a});
    EXPECT_EQ(p.write("1", true), error::none);
    EXPECT_FALSE(a.far->has_input());
    EXPECT_EQ(p.write("2"), error::none);
    p.match({&b});
    EXPECT_EQ(p.write("3"), error::none);
    p.match({});
    EXPECT_EQ(p.write("4"), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1", "2"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"3"}}));
    EXPECT_EQ(read_messages(*c.far), (std::vector<frames>{{"1", "2"}}));
}

TEST(fan_out, inverts_a_choice) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach(), c = p.attach();
    p.match({&b});
    p.out.invert_matches();
    EXPECT_EQ(p.write("1"), error::none);
    EXPECT_EQ(read_messages(*a.far).size(), 1u);
    EXPECT_EQ(read_messages(*b.far).size(), 0u);
    EXPECT_EQ(read_messages(*c.far).size(), 1u);
}

TEST(fan_out, passes_over_a_full_pipe_that_matched_after_all_had_room) {
    publisher p;
    fake_peer a = p.attach(), full = p.attach(1);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    const auto expect_only_a_gets = [&](const char *body) {
        EXPECT_EQ(p.write(body), error::none);
        EXPECT_EQ(read_messages(*a.far).back(), (frames{body}));
    };
    p.match({&a});
    EXPECT_TRUE(p.out.have_room());
    p.out.match(*full.near);
    expect_only_a_gets("2");
    p.match({&a});
    EXPECT_TRUE(p.out.have_room());
    p.out.match_all();
    expect_only_a_gets("3");
    p.match({});
    EXPECT_TRUE(p.out.have_room());
    p.out.invert_matches();
    expect_only_a_gets("4");
    EXPECT_EQ(read_messages(*full.far), (std::vector<frames>{{"1"}}));
}

TEST(fan_out, passes_over_a_full_pipe_for_a_whole_message) {
    publisher p;
    fake_peer a = p.attach(1), b = p.attach();
    EXPECT_EQ(p.send_to_all("1"), error::none);
    p.match({&a, &b});
    EXPECT_FALSE(p.out.have_room());
    EXPECT_EQ(p.write("2", true), error::none);
    read_messages(*a.far);  // room comes in the middle of the message
    EXPECT_EQ(p.write("3"), error::none);
    EXPECT_TRUE(read_messages(*a.far).empty());
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1"}, {"2", "3"}}));
}

TEST(fan_out, gives_a_new_pipe_no_half_message) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach();
    p.match({&a, &b});
    EXPECT_EQ(p.write("1", true), error::none);
    fake_peer late = p.attach();
    EXPECT_EQ(p.write("2"), error::none);
    EXPECT_TRUE(read_messages(*late.far).empty());
}

TEST(fan_out, goes_on_when_a_pipe_leaves_in_the_middle_of_a_message) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach(), c = p.attach();
    p.match({&a, &b, &c});
    EXPECT_EQ(p.write("1", true), error::none);
    p.out.detach(*b.near);
    EXPECT_EQ(p.write("2", true), error::none);
    p.out.detach(*a.near);
    EXPECT_EQ(p.write("3"), error::none);
    EXPECT_EQ(read_messages(*c.far), (std::vector<frames>{{"1", "2", "3"}}));
    EXPECT_TRUE(read_messages(*a.far).empty());
    EXPECT_TRUE(read_messages(*b.far).empty());
}

TEST(fan_out, counts_a_message_whose_peer_goes_in_the_middle_once_it_is_whole) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach(), other = p.attach();
    p.match({&a, &b});
    EXPECT_EQ(p.write("1", true), error::none);
    p.out.detach(*b.near);
    p.out.detach(*a.near);
    p.out.detach(*other.near);
    EXPECT_EQ(p.counted(counter::dropped_peer_gone), 0u);
    EXPECT_EQ(p.write("2"), error::none);
    EXPECT_EQ(p.counted(counter::dropped_peer_gone), 2u);
    EXPECT_EQ(p.counted(counter::messages_sent), 2u);
    EXPECT_EQ(p.counted(counter::dropped_no_peer), 0u);  // it is counted already
    EXPECT_EQ(p.send_to_all("3"), error::none);
    EXPECT_EQ(p.counted(counter::dropped_peer_gone), 2u);
    EXPECT_EQ(p.counted(counter::dropped_no_peer), 1u);
}

TEST(fan_out, counts_a_message_without_room_once_though_its_peer_goes_before_the_end) {
    publisher p;
    fake_peer full = p.attach(1);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    p.match({&full});
    EXPECT_EQ(p.write("2", true), error::none);
    p.out.detach(*full.near);
    EXPECT_EQ(p.write("3"), error::none);
    EXPECT_EQ(full.near->dropped(), 1u);
    EXPECT_EQ(p.counted(counter::dropped_no_peer) + p.counted(counter::dropped_peer_gone), 0u);
}

TEST(fan_out, encodes_a_burst_once_and_its_ranges_merge) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach();
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(p.send_to_all("0123456789"), error::none);
    // 12 kB: some copies at the start, then one range a chunk.
    EXPECT_LE(p.ranges_of(a), 8u);
    EXPECT_LE(p.ranges_of(b), 8u);
}

TEST(fan_out, shares_memory_with_those_that_get_most_and_copies_for_the_others) {
    publisher p;
    fake_peer dense = p.attach(), other = p.attach(), sparse = p.attach();
    const std::string body(100, 'x');
    frame_view of_dense, of_other, of_sparse;
    for (int i = 0; i < 2000; ++i) {
        if (i % 50 == 49)
            p.match({&dense, &other, &sparse});
        else
            p.match({&dense, &other});
        ASSERT_EQ(p.write(body), error::none);
        ASSERT_TRUE(dense.far->read(of_dense));
        ASSERT_TRUE(other.far->read(of_other));
        if (i > 500) {
            ASSERT_EQ(of_dense.data, of_other.data);
        }
        if (i % 50 == 49) {
            ASSERT_TRUE(sparse.far->read(of_sparse));
            ASSERT_NE(of_sparse.owner, of_dense.owner);
            ASSERT_EQ(text_of(of_sparse), body);
        }
    }
}

TEST(fan_out, gives_a_large_body_memory_of_its_own_that_all_share) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach();
    const std::string body(100000, 'x');
    EXPECT_EQ(p.send_to_all(body), error::none);
    frame_view of_a, of_b;
    ASSERT_TRUE(a.far->read(of_a));
    ASSERT_TRUE(b.far->read(of_b));
    EXPECT_EQ(of_a.data, of_b.data);
    EXPECT_EQ(text_of(of_a), body);
}

TEST(fan_out, references_a_large_body_that_has_an_owner) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach();
    const std::string body(100000, 'x');
    p.out.clear_matches();
    p.out.match_all();
    EXPECT_EQ(p.out.write(as_bytes(body), false, nullptr, true), error::none);
    for (fake_peer *peer : {&a, &b}) {
        frame_view view;
        ASSERT_TRUE(peer->far->read(view));
        EXPECT_EQ(static_cast<const void *>(view.data), body.data());
    }
}

TEST(fan_out, delivers_the_same_to_each_whatever_the_sizes) {
    publisher p;
    fake_peer a = p.attach(), b = p.attach(), c = p.attach();
    std::vector<frames> expected_a, expected_b;
    std::uint32_t seed = 1;
    const auto pick = [&](std::size_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
    for (int i = 0; i < 3000; ++i) {
        frames message(1 + pick(3));
        for (std::string &f : message)
            f.assign(pick(10) == 0 ? pick(20000) : pick(300), static_cast<char>('a' + pick(26)));
        const bool to_b = pick(3) == 0;
        if (to_b)
            p.match({&a, &b, &c});
        else
            p.match({&c, &a});
        for (std::size_t f = 0; f < message.size(); ++f)
            ASSERT_EQ(p.write(message[f], f + 1 < message.size()), error::none);
        expected_a.push_back(message);
        if (to_b)
            expected_b.push_back(message);
    }
    EXPECT_EQ(read_messages(*a.far), expected_a);
    EXPECT_EQ(read_messages(*b.far), expected_b);
    EXPECT_EQ(read_messages(*c.far), expected_a);
}

/// Returns what the far end reads, with the numbers of lost messages in brackets.
static std::string read_with_gaps(fake_peer &peer) {
    std::string out;
    for (frame_view frame; peer.far->read(frame);) {
        if (!frame.is_command())
            out += std::string(as_text(frame.body())) + (frame.has_more() ? "+" : " ");
        else if (in_band::is_gap(frame.body()))
            out += "[" + std::to_string(in_band::lost_in(frame.body())) + "] ";
    }
    return out;
}

TEST(fan_out, tells_who_wants_to_know_how_many_messages_there_was_no_room_for) {
    publisher p;
    fake_peer told = p.attach(2), untold = p.attach(2), quick = p.attach();
    told.far->want_gaps(true);
    for (const char *each : {"1", "2", "3", "4"})
        EXPECT_EQ(p.send_to_all(each), error::none);
    EXPECT_EQ(read_with_gaps(told), "1 2 ");
    EXPECT_EQ(read_with_gaps(untold), "1 2 ");
    p.match({&untold});  // what goes to others is not the place for it
    EXPECT_EQ(p.write("5"), error::none);
    p.match({&told, &untold, &quick});
    EXPECT_EQ(p.write("6", true), error::none);
    EXPECT_EQ(p.write("7"), error::none);
    EXPECT_EQ(p.send_to_all("8"), error::none);
    EXPECT_EQ(read_with_gaps(told), "[2] 6+7 8 ");
    EXPECT_EQ(read_with_gaps(untold), "5 6+7 ");
    EXPECT_EQ(read_with_gaps(quick), "1 2 3 4 6+7 8 ");
    EXPECT_EQ(p.send_to_all("9"), error::none);
    EXPECT_EQ(read_with_gaps(told), "9 ");
}

TEST(fan_out, counts_a_message_without_room_once_though_memory_is_short_for_others) {
    publisher p;
    fake_peer full = p.attach(1), a = p.attach();
    full.far->want_gaps(true);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    p.match({&full, &a});
    const byte_span absurd(as_bytes("").data(), std::numeric_limits<std::size_t>::max() - 64);
    EXPECT_EQ(p.out.write(absurd, false, nullptr, false), error::no_memory);
    EXPECT_EQ(full.near->dropped(), 0u);
    EXPECT_EQ(p.send_to_all("2"), error::none);
    EXPECT_EQ(full.near->dropped(), 1u);
    EXPECT_EQ(read_with_gaps(full), "1 ");
    EXPECT_EQ(p.send_to_all("3"), error::none);
    EXPECT_EQ(read_with_gaps(full), "[1] 3 ");
    EXPECT_EQ(read_with_gaps(a), "1 2 3 ");
}

TEST(fan_out, tells_nothing_to_who_does_not_want_to_know_any_more_or_has_gone) {
    publisher p;
    fake_peer a = p.attach(1), b = p.attach(1);
    a.far->want_gaps(true);
    b.far->want_gaps(true);
    for (const char *each : {"1", "2", "3"})
        EXPECT_EQ(p.send_to_all(each), error::none);
    EXPECT_EQ(read_with_gaps(a), "1 ");
    EXPECT_EQ(read_with_gaps(b), "1 ");
    a.far->want_gaps(false);
    p.out.detach(*b.near);
    EXPECT_EQ(p.send_to_all("4"), error::none);
    EXPECT_EQ(read_with_gaps(a), "4 ");
    a.far->want_gaps(true);
    EXPECT_EQ(p.send_to_all("5"), error::none);
    EXPECT_EQ(read_with_gaps(a), "5 ");
    p.out.attach(*b.near);
    EXPECT_EQ(p.send_to_all("6"), error::none);
    EXPECT_EQ(read_with_gaps(b), "6 ");
}

TEST(fan_out, says_to_the_next_peer_that_it_does_not_know_what_that_one_has_not_got) {
    publisher p;
    fake_peer a = p.attach(1), b = p.attach(1);
    a.far->want_gaps(true);
    for (const char *each : {"1", "2", "3"})
        EXPECT_EQ(p.send_to_all(each), error::none);
    p.out.begin_peer(*a.near);
    p.out.begin_peer(*b.near);
    EXPECT_EQ(p.send_to_all("4"), error::none);
    EXPECT_EQ(read_with_gaps(a), "1 ");
    EXPECT_EQ(read_with_gaps(b), "1 ");
    EXPECT_EQ(p.send_to_all("5"), error::none);
    EXPECT_EQ(read_with_gaps(a), "[0] [1] 5 ");
    EXPECT_EQ(read_with_gaps(b), "5 ");
    EXPECT_EQ(p.send_to_all("6"), error::none);
    EXPECT_EQ(read_with_gaps(a), "6 ");
    EXPECT_EQ(read_with_gaps(b), "6 ");
}

TEST(fan_out, owes_a_peer_that_came_between_two_parts_what_it_owes_to_any_next_peer) {
    publisher p;
    fake_peer a = p.attach(1), b = p.attach(1);
    for (fake_peer *each : {&a, &b})
        each->far->want_gaps(true);
    for (const char *each : {"1", "2"})
        EXPECT_EQ(p.send_to_all(each), error::none);
    EXPECT_EQ(read_with_gaps(a) + read_with_gaps(b), "1 1 ");
    p.match({&a, &b});
    EXPECT_EQ(p.write("3", true), error::none);
    p.out.begin_peer(*a.near);
    EXPECT_EQ(p.write("4"), error::none);
    EXPECT_EQ(read_with_gaps(a), "[1] 3+4 ");
    EXPECT_EQ(read_with_gaps(b), "[1] 3+4 ");
    EXPECT_EQ(p.send_to_all("5"), error::none);
    EXPECT_EQ(read_with_gaps(a), "[0] 5 ");
    EXPECT_EQ(read_with_gaps(b), "5 ");
    EXPECT_EQ(p.send_to_all("6"), error::none);
    EXPECT_EQ(read_with_gaps(a), "6 ");
}

TEST(fan_out, encodes_once_what_stands_behind_lost_messages_too) {
    publisher p;
    fake_peer told = p.attach(1), quick = p.attach();
    told.far->want_gaps(true);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    EXPECT_EQ(p.send_to_all("2"), error::none);
    EXPECT_EQ(read_with_gaps(told), "1 ");
    EXPECT_EQ(read_with_gaps(quick), "1 2 ");
    EXPECT_EQ(p.send_to_all(std::string(10000, 'x')), error::none);
    frame_view of_told, of_quick;
    ASSERT_TRUE(told.far->read(of_told));
    EXPECT_TRUE(of_told.is_command());
    ASSERT_TRUE(told.far->read(of_told));
    ASSERT_TRUE(quick.far->read(of_quick));
    EXPECT_EQ(of_told.data, of_quick.data);
    EXPECT_EQ(of_told.size, 10000u);
}

TEST(fan_out, tells_in_front_of_a_message_of_parts_that_was_begun_again) {
    publisher p;
    fake_peer a = p.attach(1), quick = p.attach();
    a.far->want_gaps(true);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    p.match({&a, &quick});
    EXPECT_EQ(p.write("2", true), error::none);
    EXPECT_EQ(read_with_gaps(a), "1 ");
    EXPECT_EQ(p.write("3"), error::none);  // of a message that has passed it over
    EXPECT_EQ(read_with_gaps(a), "");
    EXPECT_EQ(p.send_to_all("4"), error::none);
    EXPECT_EQ(read_with_gaps(a), "[1] 4 ");
    EXPECT_EQ(read_with_gaps(quick), "1 2+3 4 ");
}

TEST(fan_out, arms_the_full_ones_that_match) {
    publisher p;
    fake_peer a = p.attach(1), b = p.attach(1);
    EXPECT_EQ(p.send_to_all("1"), error::none);
    p.match({&a});
    p.out.arm_full();
    heavy_fence();
    EXPECT_FALSE(p.out.have_room());
    read_messages(*b.far);
    EXPECT_TRUE(p.network.events->writable.empty());
    read_messages(*a.far);
    EXPECT_EQ(p.network.events->writable, std::vector<pipe_end *>{a.near.get()});
    EXPECT_TRUE(p.out.have_room());
}

}  // namespace zlink::test
