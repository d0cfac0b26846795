// The write turn (pipe/write_turn.hpp) in every order of its steps: one holder at a time, who sees
// what those before it did; no request and no claim is lost.
#include <gtest/gtest.h>

#include "order/memory_model.hpp"
#include "pipe/write_turn.hpp"

namespace zlink::order {

namespace {

template <template <class> class Atomic = atomic>
struct writing_half {
    basic_write_turn<Atomic> turn;
    plain<int> stream;         // what the turn guards
    atomic<int> published{0};  // by the sender, for whoever writes
    atomic<int> may_claim{0};  // the holder has told the end that it gave the turn back
    bool is_written = false;   // who has the turn has seen what was published
    bool is_planned = false;   // the I/O thread is woken to write it
    int writes = 0;

    void use() { stream.set(stream.get() + 1); }
};

std::string failure_of_turns(const std::function<program()> &make) {
    const outcome all = explore(make);
    EXPECT_TRUE(all.runs > 10 || !all.failure.empty());
    EXPECT_EQ(all.left, 0u);
    return all.failure;
}

}  // namespace

namespace {

template <template <class> class Atomic>
program write_in_turn() {
    auto it = std::make_shared<writing_half<Atomic>>();
    const auto write = [=] {
        if (it->turn.try_take()) {
            it->use();
            (void)it->turn.give();
        }
    };
    return {{write, write, write}};
}

}  // namespace

TEST(turn, has_one_holder_at_a_time_who_sees_what_others_did) {
    EXPECT_EQ(failure_of_turns(write_in_turn<atomic>), "");
    EXPECT_NE(failure_of_turns(write_in_turn<relaxed_atomic>), "");
}

namespace {

/// A sender publishes a message and is refused, while the I/O thread writes what there was.
template <class Give>
program publish_beside_a_writer(Give &&give, std::memory_order publishes) {
    auto it = std::make_shared<writing_half<>>();
    const auto holder = [=] {
        if (!it->turn.take_or_request())
            return;
        it->is_written = it->is_written || it->published.load(relaxed) == 1;
        if (give(it->turn)) {
            expect(it->published.load(relaxed) == 1, "told, and does not see it");
            it->is_planned = true;
        }
    };
    const auto sender = [=] {
        it->published.store(1, publishes);
        if (it->turn.take_or_request()) {
            it->is_written = true;
            if (it->turn.give())
                it->is_planned = true;
        }
    };
    return {{holder, sender}, [=] { expect(it->is_written || it->is_planned, "a message nobody writes"); }};
}

}  // namespace

TEST(turn, tells_its_holder_of_a_request_and_of_what_was_published_before_it) {
    const auto give = [](auto &turn) { return turn.give(); };
    EXPECT_EQ(failure_of_turns([&] { return publish_beside_a_writer(give, relaxed); }), "");
}

TEST(turn, has_a_message_lost_where_a_holder_forgets_requests) {
    const auto forget = [](auto &turn) { return turn.give() && false; };
    EXPECT_NE(failure_of_turns([&] { return publish_beside_a_writer(forget, relaxed); }), "");
}

TEST(turn, is_left_to_the_end_that_claims_it) {
    EXPECT_EQ(failure_of_turns([] {
                  auto it = std::make_shared<writing_half<>>();
                  const auto writer = [=] {
                      if (!it->turn.try_take())
                          return;
                      it->use();
                      if (it->turn.give())
                          it->may_claim.store(1, release);
                  };
                  const auto end = [=] {
                      if (!it->turn.claim()) {
                          if (it->may_claim.load(acquire) == 0)
                              return;  // the session hears of it later
                          expect(it->turn.claim(), "a claim is refused twice");
                      }
                      it->use();
                  };
                  return program{{writer, writer, end}};
              }),
              "");
}

TEST(turn, tells_of_each_claim_that_it_refuses) {
    EXPECT_EQ(failure_of_turns([] {
                  auto it = std::make_shared<writing_half<>>();
                  auto is_refused = std::make_shared<bool>(false);
                  auto is_told = std::make_shared<bool>(false);
                  const auto writer = [=] {
                      if (it->turn.try_take())
                          *is_told = it->turn.give();
                  };
                  const auto end = [=] { *is_refused = !it->turn.claim(); };
                  return program{{writer, end}, [=] { expect(!*is_refused || *is_told, "nobody is told"); }};
              }),
              "");
}

}  // namespace zlink::order
