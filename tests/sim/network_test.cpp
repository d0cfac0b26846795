// The network of the simulator by itself: what it takes for a broken promise, and what not.
#include "network.hpp"

#include <gtest/gtest.h>

#include "pipe/pipe.hpp"

namespace zlink::sim {

namespace {

class no_observer final : public network_observer {
public:
    void on_break(int, int, int, std::uint64_t, std::uint64_t) override {}
};

/// Somebody has the lease of a stream for half a second, in which nothing is read from it. Returns
/// the promise that this breaks.
promise lease_a_stream(bool is_used) {
    world here(1, planted::nothing);
    no_observer nobody;
    network net(here, nobody);
    sim_loop &loop = here.add_loop();
    std::unique_ptr<listener> far;
    std::unique_ptr<dialer> near;
    std::unique_ptr<stream> bytes;
    pipe_ends ends;
    here.start("borrower", [&] {
        ends = make_pipe(std::make_shared<chunk_pool>(), {});
        bool is_connected = false;
        (void)loop.post([&] {
            (void)net.make_listener("here", {}, {}, loop, far);
            (void)net.make_dialer("here", {}, {}, loop, near);
            near->dial([&](std::unique_ptr<stream> made, error) {
                bytes = std::move(made);
                is_connected = true;
            });
        });
        here.wait_until(time_point::max(), is_connected);
        peer_info peer;
        peer.add("__fd", std::to_string(bytes->descriptor()));
        ends.second->set_info(&peer);
        (void)loop.post_and_wait([&] {
            ends.second->lease().grant();
            EXPECT_TRUE(bytes->lease_out());
        });
        for (int i = 0; i < 100 && !here.is_over(); ++i) {
            here.sleep_for(milliseconds(5));
            if (is_used)
                ends.first->note_use();
        }
        (void)loop.post_and_wait([&] { (void)bytes->take_back(); });
        ends.second->set_info(nullptr);
    });
    here.run();
    return here.found();
}

TEST(simulator, misses_the_use_of_a_lease_that_nobody_uses) {
    EXPECT_EQ(lease_a_stream(false), promise::comes_home);
}

TEST(simulator, takes_a_lease_for_used_while_what_was_kept_back_is_taken) {
    EXPECT_EQ(lease_a_stream(true), promise::none);
}

}  // namespace

}  // namespace zlink::sim
