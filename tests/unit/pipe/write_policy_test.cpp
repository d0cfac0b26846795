// Tests who writes, when and how much, told the facts.
#include "pipe/flow/write_policy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace zlink::write_policy {
namespace {

using written = connection_port::written;
using occasion = connection_port::occasion;

constexpr std::size_t one_piece = 64'000;

// ---- When the sender looks next ----

struct look_case {
    const char *what;
    stream_so_far now;
    std::uint64_t next;
};

const look_case look_cases[] = {
    {"a batch of octets", {100, 0, 0, 999, 64'000}, 100 + 64},
    {"no fraction of a message", {100, 0, 0, 1000, 64'000}, 100 + 63},
    {"one message where one is a batch", {100, 0, 0, 1'000'000, 64'000}, 101},
    {"nothing is known of the size", {0, 0, 0, 0, 1'000'000}, most_messages_to_write},
    {"many small messages", {5, 0, 0, 10, 1'000'000}, 5 + most_messages_to_write},
    {"the mark comes first", {100, 90, 30, 10, 64'000}, 120},
    {"the batch comes before the mark", {100, 90, 1000, 999, 64'000}, 164},
    {"it is at its mark already", {100, 90, 10, 10, 64'000}, 101},
    {"it is beyond its mark", {100, 50, 10, 10, 64'000}, 101},
};

TEST(next_look, is_when_a_batch_has_come_together_or_the_mark_is_reached) {
    for (const look_case &each : look_cases)
        EXPECT_EQ(next_look(each.now), each.next) << each.what;
}

// ---- Once a message is published ----

/// A batch has come together, of small messages over tcp.
struct publish_facts {
    bool is_due_ = true;
    std::size_t large_ = 0;
    std::size_t written_alone_from_ = one_piece;
    bool may_write_ = true;
    bool may_wait_ = false;
    std::size_t piece_ = one_piece;
    bool has_credit_ = true;
    bool is_reader_armed_ = false;
    mutable int waits_asked_for = 0;

    bool is_due() const { return is_due_; }
    std::size_t large() const { return large_; }
    std::size_t written_alone_from() const { return written_alone_from_; }
    bool may_write() const { return may_write_; }
    bool choose_to_wait() const {
        ++waits_asked_for;
        return may_wait_;
    }
    std::size_t piece() const { return piece_; }
    bool has_credit() const { return has_credit_; }
    bool is_reader_armed() const { return is_reader_armed_; }
};

using change = void (*)(publish_facts &);

struct publish_case {
    const char *what;
    senders_part part;
    std::vector<change> facts;
};

const change is_not_due = [](publish_facts &f) { f.is_due_ = false; };
const change may_not_write = [](publish_facts &f) { f.may_write_ = false; };
const change may_wait = [](publish_facts &f) { f.may_wait_ = true; };
const change has_no_pieces = [](publish_facts &f) { f.piece_ = 0; };
const change has_no_credit = [](publish_facts &f) { f.has_credit_ = false; };
const change sleeps = [](publish_facts &f) { f.is_reader_armed_ = true; };
template <std::size_t Octets>
const change brings = [](publish_facts &f) { f.large_ = Octets; };

const publish_case publish_cases[] = {
    {"a batch", senders_part::pieces, {}},
    {"a batch where there are no pieces", senders_part::all, {has_no_pieces}},
    {"a batch at the mark, behind which nothing comes", senders_part::all, {has_no_credit}},
    {"a batch that found the reader asleep", senders_part::all, {sleeps}},
    {"a batch that must not be written here", senders_part::left, {may_not_write}},
    {"less than a batch", senders_part::none_yet, {is_not_due}},
    {"less than a batch that must not be written here", senders_part::none_yet, {is_not_due, may_not_write}},
    {"a body that waits for the batch", senders_part::none_yet, {is_not_due, brings<one_piece - 1>}},
    {"a body that is written alone", senders_part::pieces, {is_not_due, brings<one_piece>}},
    {"a body of almost so many pieces", senders_part::pieces, {brings<most_pieces_to_fill * one_piece - 1>}},
    {"a body of so many pieces", senders_part::all, {brings<most_pieces_to_fill * one_piece>}},
    {"the largest body that is written here", senders_part::all, {brings<largest_to_write>}},
    {"a body that fits at once, and may wait",
     senders_part::pieces,
     {brings<most_pieces_without_waits * one_piece>, may_wait}},
    {"a body that does not fit at once, and may wait",
     senders_part::with_waits,
     {brings<most_pieces_without_waits * one_piece + 1>, may_wait}},
    {"a body that does not fit at once, and may not wait",
     senders_part::pieces,
     {brings<most_pieces_without_waits * one_piece + 1>}},
    {"the largest body that is written here, and may wait where there are no pieces",
     senders_part::all,
     {brings<largest_to_write>, may_wait, has_no_pieces}},
    {"a larger body", senders_part::left, {brings<largest_to_write + 1>}},
    {"a larger body that may wait", senders_part::with_waits, {brings<largest_to_write + 1>, may_wait}},
    {"a larger body that must not be written here",
     senders_part::left,
     {brings<largest_to_write + 1>, may_wait, may_not_write}},
};

TEST(after_publish, gives_the_sender_its_part) {
    for (const publish_case &each : publish_cases) {
        publish_facts facts;
        for (const change one : each.facts)
            one(facts);
        EXPECT_EQ(after_publish(facts), each.part) << each.what;
    }
}

TEST(after_publish, asks_for_patience_only_where_it_is_used) {
    for (const publish_case &each : publish_cases) {
        publish_facts facts;
        for (const change one : each.facts)
            one(facts);
        (void)after_publish(facts);
        const bool does_not_fit =
            facts.piece_ != 0 && facts.large_ > most_pieces_without_waits * facts.piece_;
        EXPECT_EQ(facts.waits_asked_for > 0,
                  facts.may_write_ && (facts.large_ > largest_to_write || does_not_fit))
            << each.what;
    }
}

struct body_facts {
    bool is_served_ = true;
    bool is_full_ = false;
    std::size_t size_ = 200'000;
    bool may_wait_ = false;

    bool is_served() const { return is_served_; }
    bool is_full() const {
        EXPECT_TRUE(is_served_) << "nobody can be asked";
        return is_full_;
    }
    std::size_t size() const { return size_; }
    bool choose_to_wait() const { return may_wait_; }
};

TEST(writes_in_place, where_the_stream_has_room_or_may_be_waited_for_with_one_body) {
    EXPECT_TRUE(writes_in_place(body_facts{}));
    EXPECT_FALSE(writes_in_place(body_facts{.is_served_ = false}));
    EXPECT_FALSE(writes_in_place(body_facts{.is_full_ = true, .may_wait_ = true}));
    EXPECT_FALSE(writes_in_place(body_facts{.is_full_ = true, .size_ = largest_to_write, .may_wait_ = true}));
    EXPECT_TRUE(
        writes_in_place(body_facts{.is_full_ = true, .size_ = largest_to_write + 1, .may_wait_ = true}));
    EXPECT_FALSE(writes_in_place(body_facts{.is_full_ = true, .size_ = largest_to_write + 1}));
}

struct answer_facts {
    bool has_taken_ = true;
    bool is_leased_ = true;
    bool shows_more_ = false;

    bool has_taken_since() const { return has_taken_; }
    bool is_leased() const { return is_leased_; }
    bool shows_more() const { return shows_more_; }
};

TEST(is_awaited, of_an_answer_to_the_last_that_came_to_the_thread_with_the_lease) {
    EXPECT_TRUE(is_awaited(answer_facts{}));
    EXPECT_FALSE(is_awaited(answer_facts{.has_taken_ = false}));
    EXPECT_FALSE(is_awaited(answer_facts{.is_leased_ = false}));
    EXPECT_FALSE(is_awaited(answer_facts{.shows_more_ = true}));
}

// ---- Once the sender has written ----

struct write_case {
    written result;
    bool leaves;
    bool wakes;  // the I/O thread
    bool wakes_if_leased;
    bool looks;  // for room, if it is alone and nothing is leased
};

const write_case write_cases[] = {
    {written::all, false, false, false, false},  {written::some, true, true, true, false},
    {written::full, true, true, false, true},    {written::refused, false, false, false, false},
    {written::held, false, false, false, false},
};

TEST(after_a_write, the_io_thread_is_woken_for_what_nobody_else_would_write) {
    const auto is_leased = [] { return true; };
    const auto is_not = [] { return false; };
    for (const write_case &each : write_cases) {
        const int result = static_cast<int>(each.result);
        EXPECT_EQ(leaves_some(each.result), each.leaves) << result;
        EXPECT_EQ(wakes_io_thread(each.result, false, is_not), each.wakes) << result;
        EXPECT_EQ(wakes_io_thread(each.result, false, is_leased), each.wakes_if_leased) << result;
        EXPECT_TRUE(wakes_io_thread(each.result, true, is_leased)) << result;
        EXPECT_EQ(looks_for_room(each.result, true, is_not), each.looks) << result;
        EXPECT_FALSE(looks_for_room(each.result, false, is_not)) << result;
        EXPECT_FALSE(looks_for_room(each.result, true, is_leased)) << result;
    }
}

struct step_case {
    written result;
    bool took_some;
    bool is_claimed;
    bool writes_again, waits;
};

const step_case step_cases[] = {
    {written::full, true, false, true, false},      {written::full, false, false, false, true},
    {written::full, true, true, false, false},      {written::full, false, true, false, false},
    {written::some, true, false, true, false},      {written::some, true, true, true, false},
    {written::some, false, false, false, false},    {written::all, true, false, false, false},
    {written::refused, false, false, false, false}, {written::held, true, false, false, false},
};

TEST(writes_again, as_long_as_the_stream_takes_something) {
    for (const step_case &each : step_cases) {
        const bool again = writes_again(each.result, each.took_some, each.is_claimed);
        EXPECT_EQ(again, each.writes_again)
            << static_cast<int>(each.result) << each.took_some << each.is_claimed;
        EXPECT_EQ(!again && waits_for_room(each.result, each.is_claimed), each.waits)
            << static_cast<int>(each.result) << each.took_some << each.is_claimed;
    }
}

// ---- How much goes out ----

struct amount_case {
    std::size_t listed;
    std::size_t at_once, in_stream, later_in_stream;
};

const amount_case amount_cases[] = {
    {1, 1, 1, 0},
    {one_piece - 1, one_piece - 1, one_piece - 1, 0},
    {one_piece, one_piece, one_piece, one_piece},
    {one_piece + 1, one_piece + 1, one_piece, one_piece},
    {3 * one_piece, 3 * one_piece, 3 * one_piece, 3 * one_piece},
    {4 * one_piece - 1, 4 * one_piece - 1, 3 * one_piece, 3 * one_piece},
};

TEST(octets_to_write, are_whole_pieces_in_a_stream) {
    for (const amount_case &each : amount_cases) {
        for (const bool is_first : {true, false}) {
            for (const occasion when : {occasion::any, occasion::ready})
                EXPECT_EQ(octets_to_write(each.listed, one_piece, when, is_first), each.at_once);
            for (const occasion when : {occasion::any, occasion::stream, occasion::ready})
                EXPECT_EQ(octets_to_write(each.listed, 0, when, is_first), each.listed)
                    << "there are no pieces";
        }
        EXPECT_EQ(octets_to_write(each.listed, one_piece, occasion::stream, true), each.in_stream);
        EXPECT_EQ(octets_to_write(each.listed, one_piece, occasion::stream, false), each.later_in_stream);
    }
}

// ---- What the I/O thread may leave for later ----

TEST(may_collect, where_the_mark_is_far_or_there_is_none) {
    EXPECT_TRUE(may_collect_below(0));
    EXPECT_FALSE(may_collect_below(1));
    EXPECT_FALSE(may_collect_below(least_mark_to_collect - 1));
    EXPECT_TRUE(may_collect_below(least_mark_to_collect));
}

}  // namespace
}  // namespace zlink::write_policy
