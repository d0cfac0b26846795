// The read lease (pipe/read_lease.hpp) in every order of its steps: the stream is read by one
// thread at a time, who sees what the other did, and a lease that ends is never overlooked by both.
#include <gtest/gtest.h>

#include "order/memory_model.hpp"
#include "pipe/read_lease.hpp"

namespace zlink::order {

namespace {

template <template <class> class Atomic = atomic>
struct reading_half {
    basic_read_lease<Atomic> lease;
    plain<int> stream;
    atomic<int> told{0};  // the socket's thread has told the I/O thread to look at the lease

    void read() { stream.set(stream.get() + 1); }
    void tell() { told.store(1, release); }
    void use(bool keep) {
        if (!lease.begin_use())
            return;
        read();
        if (lease.end_use(keep))
            tell();
    }
};

std::string failure_of_leases(const std::function<program()> &make) {
    const outcome all = explore(make);
    EXPECT_TRUE(all.runs > 10 || !all.failure.empty());
    EXPECT_EQ(all.left, 0u);
    return all.failure;
}

}  // namespace

namespace {

template <template <class> class Atomic>
program grant_and_use() {
    auto it = std::make_shared<reading_half<Atomic>>();
    const auto socket = [=] {
        (void)it->lease.ask();
        it->use(false);
    };
    const auto io = [=] {
        it->read();
        if (it->lease.is_wanted())
            it->lease.grant();
    };
    return {{socket, io}};
}

template <template <class> class Atomic>
program use_and_recall(bool keep) {
    auto it = std::make_shared<reading_half<Atomic>>();
    it->lease.grant();
    const auto socket = [=] {
        it->use(keep);
        it->use(keep);
    };
    const auto io = [=] {
        if (it->lease.recall() || (it->told.load(acquire) == 1 && it->lease.owns_reading()))
            it->read();
    };
    return {{socket, io}};
}

}  // namespace

TEST(lease, hands_the_stream_over_when_it_is_granted) {
    EXPECT_EQ(failure_of_leases(grant_and_use<atomic>), "");
    EXPECT_NE(failure_of_leases(grant_and_use<relaxed_atomic>), "");
}

TEST(lease, hands_the_stream_back_when_it_is_recalled) {
    for (const bool keep : {false, true}) {
        EXPECT_EQ(failure_of_leases([=] { return use_and_recall<atomic>(keep); }), "");
        EXPECT_NE(failure_of_leases([=] { return use_and_recall<relaxed_atomic>(keep); }), "");
    }
}

TEST(lease, has_the_io_thread_told_of_each_end_in_use) {
    EXPECT_EQ(failure_of_leases([] {
                  auto it = std::make_shared<reading_half<>>();
                  it->lease.grant();
                  auto waits = std::make_shared<bool>(false);
                  const auto socket = [=] { it->use(true); };
                  const auto io = [=] { *waits = !it->lease.recall(); };
                  return program{{socket, io}, [=] {
                                     expect(!*waits || it->told.load() == 1, "it waits for ever");
                                     expect(!*waits || it->lease.owns_reading(), "told, and not over");
                                 }};
              }),
              "");
}

TEST(lease, is_looked_after_by_one_of_both) {
    EXPECT_EQ(failure_of_leases([] {
                  auto it = std::make_shared<reading_half<>>();
                  it->lease.grant();
                  it->lease.watch();
                  auto relies = std::make_shared<bool>(false);
                  const auto socket = [=] { it->use(true); };
                  // The I/O thread has seen it in use, and stops its timer: the user is to tell
                  // when it leaves.
                  const auto io = [=] {
                      if (it->lease.is_used())
                          *relies = it->lease.stop_watching();
                  };
                  return program{{socket, io},
                                 [=] { expect(!*relies || it->told.load() == 1, "nobody looks after it"); }};
              }),
              "");
}

}  // namespace zlink::order
