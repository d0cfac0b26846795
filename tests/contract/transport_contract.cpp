// The contract of transports (transport/transport.hpp), held against each: how streams come to be,
// by dialing and listening. What a stream does is in transport_streams.cpp.
#include "transport_kinds.hpp"

#include <optional>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>

#include "core/schemes.hpp"
#include "scarce_memory.hpp"
#include "transport/socket_options.hpp"
#include "transports.hpp"

namespace zlink::test {
namespace {

TEST(find_transport, has_each_scheme_that_is_built_and_no_other) {
    for (const known_scheme &each : known_schemes) {
        const transport *found = find_transport(each.name);
        ASSERT_EQ(found != nullptr, each.is_built) << each.name;
        if (found) {
            EXPECT_EQ(found->scheme(), each.name);
        }
        EXPECT_EQ(find_scheme(each.name), &each);
    }
    for (const char *none : {"udp", "inproc", "TCP", "tc", "tcpp", ""}) {
        EXPECT_FALSE(find_transport(none)) << none;
        EXPECT_FALSE(find_scheme(none)) << none;
    }
}

TEST(schemes, are_all_held_against_the_contract_and_run_over_by_the_tests_of_the_interface) {
    std::set<std::string_view> held, run_over;
    for (const transport_kind &each : transport_kinds)
        held.insert(each.scheme);
    const std::vector<std::string> built = zlink_test::built_transports();
    run_over.insert(built.begin(), built.end());
    for (const known_scheme &each : known_schemes) {
        EXPECT_EQ(held.contains(each.name), each.is_built) << each.name << ": transport_kinds.hpp";
        EXPECT_EQ(run_over.contains(each.name), each.is_built) << each.name << ": transports.hpp";
        if (each.is_built) {
            EXPECT_NO_THROW(zlink_test::scratch_endpoint(std::string(each.name)));
            EXPECT_NO_THROW(zlink_test::lasting_endpoint(std::string(each.name)));
        }
    }
}

using connecting = of_every_transport;

TEST_P(connecting, checks_addresses_without_the_network) {
    const auto before = open_descriptors();
    const std::string bad = GetParam().no_address;
    for (const std::string &address : {std::string(), bad}) {
        const error why = bench.kind.check_connect(address, bench.options);
        EXPECT_TRUE(failed(why)) << address;
        std::unique_ptr<dialer> none;
        EXPECT_EQ(bench.kind.make_dialer(address, bench.options, {}, drive(), none), why);
        EXPECT_FALSE(none);
        EXPECT_TRUE(failed(bench.bind(address))) << address;
        EXPECT_FALSE(bench.listening);
    }
    // One that is well formed, where nobody listens.
    listen();
    bench.listening.reset();
    EXPECT_EQ(bench.kind.check_connect(bench.there, bench.options), error::none);
    EXPECT_EQ(open_descriptors(), before);
}

TEST_P(connecting, joins_a_dialer_and_a_listener) {
    listen();
    auto [near, far] = bench.connect();
    ASSERT_TRUE(near.bytes && far.bytes);
    near.send("there");
    EXPECT_EQ(far.receive(5), "there");
    far.send("back");
    EXPECT_EQ(near.receive(4), "back");
    drive().round();
    EXPECT_TRUE(bench.dialed.empty()) << "called twice";
    EXPECT_TRUE(bench.accepted.empty()) << "accepted twice";
    EXPECT_LE(bench.pending_reports, 1);
}

TEST_P(connecting, gives_each_end_the_names_of_both) {
    listen();
    auto [near, far] = bench.connect();
    ASSERT_TRUE(near.bytes && far.bytes);
    std::string there = bench.listening->endpoint();
    const std::string scheme = GetParam().streams ? GetParam().streams : GetParam().scheme;
    if (GetParam().streams)  // which know nothing of a path
        there = scheme + there.substr(there.find("://"), there.rfind('/') - there.find("://"));
    EXPECT_EQ(near->remote_endpoint(), there);
    EXPECT_EQ(far->local_endpoint(), there);
    EXPECT_EQ(near->local_endpoint(), far->remote_endpoint());
    EXPECT_TRUE(near->local_endpoint().starts_with(scheme + "://")) << near->local_endpoint();
    EXPECT_EQ(near->peer_address(), GetParam().peer_address);
    EXPECT_EQ(far->peer_address(), GetParam().peer_address);
}

TEST_P(connecting, closes_all_its_descriptors_in_a_program_that_is_executed) {
    listen();
    auto [near, far] = bench.connect();
    ASSERT_TRUE(near.bytes && far.bytes);
    for (int i = 0; i < 16; ++i) {  // enough for memory to be shared
        near.send(std::string(128 * 1024, 'x'));
        (void)far.receive(128 * 1024);
    }
    bench.begin_to_dial(bench.there);
    for (const int each : open_descriptors())
        if (!bench.before.contains(each)) {
            EXPECT_EQ(::fcntl(each, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC) << each;
        }
    for (const int each : {near->descriptor(), far->descriptor(), bench.listening->descriptor()}) {
        EXPECT_TRUE(open_descriptors().contains(each));
        EXPECT_EQ(::fcntl(each, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    }
}

TEST_P(connecting, serves_many_who_come_at_once) {
    bench.options.backlog = 200;
    listen();
    constexpr std::size_t count = 150;
    std::vector<std::unique_ptr<dialer>> dialers;
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_NO_FATAL_FAILURE(bench.begin_to_dial(bench.there));
        dialers.push_back(std::move(bench.dialing));
    }
    drive().until([&] { return bench.dialed.size() == count && bench.accepted.size() == count; });
    for (const auto *all : {&bench.dialed, &bench.accepted})
        for (const outcome &each : *all)
            EXPECT_EQ(each.failure, error::none);
}

// ---- dialers ----

using dialing = of_every_transport;

TEST_P(dialing, fails_where_nobody_listens_and_goes_there_again_once_somebody_does) {
    listen();
    bench.listening.reset();
    const outcome refused = bench.dial(bench.there);
    EXPECT_TRUE(failed(refused.failure));
    EXPECT_FALSE(refused.bytes);
    EXPECT_GE(bench.dialing->descriptor(), 0) << "events tell which one was closed";
    EXPECT_FALSE(open_descriptors().contains(bench.dialing->descriptor())) << "it is left open";
    for (int round = 0; round < 2; ++round) {
        bench.dial_on();
        EXPECT_EQ(bench.next(bench.dialed).failure, refused.failure);
    }
    ASSERT_EQ(bench.bind(bench.there), error::none);
    bench.start();
    bench.dial_on();
    EXPECT_EQ(bench.next(bench.dialed).failure, error::none);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
}

TEST_P(dialing, is_given_up_at_any_time_without_a_call) {
    listen();
    const std::string nobody = [&] {
        auto listener = std::move(bench.listening);
        EXPECT_EQ(bench.bind(GetParam().any), error::none);
        const std::string address = bench.address_of(bench.listening->endpoint());
        bench.listening = std::move(listener);
        return address;
    }();
    for (const std::string &address : {bench.there, nobody})
        for (int turns = 0; turns < 3; ++turns) {
            ASSERT_NO_FATAL_FAILURE(bench.begin_to_dial(address));
            for (int i = 0; i < turns; ++i)
                drive().round();
            const std::size_t so_far = bench.dialed.size();
            bench.dialing.reset();
            drive().round();
            EXPECT_EQ(bench.dialed.size(), so_far) << "called after its end";
            bench.dialed.clear();
        }
}

TEST_P(dialing, may_end_in_its_own_handler_and_in_that_of_a_second_attempt) {
    listen();
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
    int calls = 0;
    bench.dialing->dial([&](std::unique_ptr<stream> bytes, error failure) {
        EXPECT_EQ(failure, error::none);
        EXPECT_TRUE(bytes);
        bench.dialing.reset();
        ++calls;
    });
    drive().until([&] { return calls > 0; });
    drive().round();
    EXPECT_EQ(calls, 1);
}

TEST_P(dialing, without_descriptors_fails_and_then_goes_on) {
    listen();
    ASSERT_EQ(bench.kind.make_dialer(bench.there, bench.options, bench.knobs.ipc, drive(), bench.dialing),
              error::none);
    {
        const scarce_descriptors none;
        bench.dial_on();
        EXPECT_EQ(bench.next(bench.dialed).failure, error::too_many_files);
        EXPECT_EQ(bench.dialing->descriptor(), -1) << "it did not come that far";
    }
    bench.dial_on();
    EXPECT_EQ(bench.next(bench.dialed).failure, error::none);
}

TEST_P(dialing, without_memory_fails_wherever_that_is_and_then_goes_on) {
    listen();
    int failures = 0;
    for (int n = 1; n < 200; ++n) {
        std::unique_ptr<dialer> made;
        outcome result;
        bool is_over = false;
        dial_handler handler = [&](std::unique_ptr<stream> bytes, error failure) {
            result = {std::move(bytes), failure};
            is_over = true;
        };
        bool was_reached;
        error why;
        // Only what the near side allocates: the far one does not run meanwhile.
        bench.listening.reset();
        ASSERT_EQ(bench.bind(bench.there), error::none);
        {
            const scarce_memory scarce(n);
            why = bench.kind.make_dialer(bench.there, bench.options, bench.knobs.ipc, drive(), made);
            if (!failed(why)) {
                made->dial(std::move(handler));
                drive().until([&] { return is_over; });
            }
            was_reached = scarce_memory::has_failed();
        }
        why = failed(why) ? why : result.failure;
        if (!was_reached) {
            EXPECT_EQ(why, error::none);
            EXPECT_GT(failures, 3);
            return;
        }
        EXPECT_TRUE(why == error::none || why == error::no_memory)
            << "allocation " << n << ": " << to_errno(why);
        EXPECT_EQ(bool(result.bytes), why == error::none);
        failures += failed(why);
    }
    FAIL() << "there is no end of allocations";
}

// ---- listeners ----

class listening : public of_every_transport {
protected:
    /// The near end has its descriptor; that of the far end is what lacks from here on.
    void dial_where_the_far_end_has_no_descriptor() {
        listen();
        bench.begin_to_dial(bench.there);
        if (bench.dialing->descriptor() < 0) {
            bench.listening.reset();
            ASSERT_EQ(bench.bind(bench.there), error::none);
            drive().until([&] { return !bench.dialed.empty(); });
            bench.start();
        }
    }
};

TEST_P(listening, resolves_wild_cards) {
    std::set<std::string> endpoints;
    std::vector<std::unique_ptr<listener>> all;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(bench.bind(GetParam().any), error::none);
        const std::string endpoint = bench.listening->endpoint();
        EXPECT_TRUE(endpoint.starts_with(std::string(GetParam().scheme) + "://")) << endpoint;
        EXPECT_EQ(endpoint.find('*'), std::string::npos) << endpoint;
        EXPECT_EQ(bench.kind.check_connect(bench.address_of(endpoint), bench.options), error::none);
        EXPECT_TRUE(endpoints.insert(endpoint).second) << "one address for two";
        all.push_back(std::move(bench.listening));
    }
    for (const std::string &endpoint : endpoints) {
        EXPECT_FALSE(bench.kind.may_be_bound_to(GetParam().any, endpoint + "0"));
        EXPECT_FALSE(bench.kind.may_be_bound_to(GetParam().no_address, endpoint));
        for (const std::string &other : endpoints)
            if (other != endpoint) {
                EXPECT_FALSE(bench.kind.may_be_bound_to(bench.address_of(other), endpoint));
            }
    }
}

TEST_P(listening, holds_its_address_until_it_ends) {
    listen();
    auto first = std::move(bench.listening);
    EXPECT_EQ(bench.bind(bench.there), GetParam().is_taken_over ? error::none : error::address_in_use);
    bench.listening.reset();
    first.reset();
    EXPECT_TRUE(failed(bench.dial(bench.there).failure)) << "somebody listens still";
    ASSERT_EQ(bench.bind(bench.there), error::none);
    bench.start();
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
}

TEST_P(listening, frees_its_address_while_its_connections_go_on) {
    listen();
    auto [near, far] = bench.connect();
    bench.listening.reset();
    ASSERT_EQ(bench.bind(bench.there), error::none);
    bench.start();
    auto [later, accepted_later] = bench.connect();
    near.send("of the first");
    EXPECT_EQ(far.receive(12), "of the first");
    later.send("of the second");
    EXPECT_EQ(accepted_later.receive(13), "of the second");
}

TEST_P(listening, takes_those_who_came_before_it_began) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    stream_end near(drive(), bench.dial(bench.address_of(bench.listening->endpoint())).bytes);
    ASSERT_TRUE(near.bytes);
    near.send("early");
    bench.start();
    stream_end far(drive(), bench.next(bench.accepted).bytes);
    ASSERT_TRUE(far.bytes);
    EXPECT_EQ(far.receive(5), "early");
}

TEST_P(listening, leaves_those_whom_it_has_not_taken_an_end) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    const std::string address = bench.address_of(bench.listening->endpoint());
    stream_end silent(drive(), bench.dial(address).bytes);
    stream_end talking(drive(), bench.dial(address).bytes);
    ASSERT_TRUE(silent.bytes && talking.bytes);
    talking.send("is anybody there?");
    bench.listening.reset();
    silent.expect_end();
    talking.expect_end();
}

TEST_P(listening, may_end_before_it_began_on_another_thread) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    std::thread([&] { bench.listening.reset(); }).join();
    EXPECT_FALSE(bench.listening);
}

TEST_P(listening, calls_nobody_once_it_has_ended) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    bench.begin_to_dial(bench.address_of(bench.listening->endpoint()));
    bench.start();
    bench.listening.reset();
    drive().round();
    EXPECT_TRUE(bench.accepted.empty());
}

TEST_P(listening, may_end_in_its_own_handler) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    const std::string address = bench.address_of(bench.listening->endpoint());
    int calls = 0;
    bench.listening->start([&](const stream_maker &make, error) {
        bench.listening.reset();
        std::unique_ptr<stream> bytes;
        EXPECT_EQ(make(drive(), bytes), error::none);
        EXPECT_TRUE(bytes);
        ++calls;
    });
    std::vector<std::unique_ptr<dialer>> two;
    for (int i = 0; i < 2; ++i) {
        bench.begin_to_dial(address);
        two.push_back(std::move(bench.dialing));
    }
    drive().until([&] { return calls > 0 && bench.dialed.size() == 2; });
    EXPECT_EQ(calls, 1);
}

TEST_P(listening, closes_a_connection_that_nobody_makes_a_stream_of) {
    ASSERT_EQ(bench.bind(GetParam().any), error::none);
    stream_maker way;
    bench.listening->start([&](stream_maker make, error) { way = std::move(make); });
    const outcome near = bench.dial(bench.address_of(bench.listening->endpoint()));
    ASSERT_TRUE(near.bytes);
    ASSERT_TRUE(drive().until([&] { return bool(way); }));
    const std::size_t with_both = open_descriptors().size();
    way = nullptr;
    EXPECT_EQ(open_descriptors().size(), with_both - 1);
}

TEST_P(listening, without_descriptors_says_so_pauses_and_goes_on) {
    ASSERT_NO_FATAL_FAILURE(dial_where_the_far_end_has_no_descriptor());
    {
        const scarce_descriptors none;
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(bench.next(bench.accepted).failure, error::too_many_files);
        for (int i = 0; i < 100; ++i)
            drive().round();
        EXPECT_LE(bench.accepted.size(), 1u) << "it does not pause";
        bench.accepted.clear();
    }
    EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
}

TEST_P(listening, ends_its_pause_when_there_are_descriptors) {
    ASSERT_NO_FATAL_FAILURE(dial_where_the_far_end_has_no_descriptor());
    {
        const scarce_descriptors none;
        EXPECT_EQ(bench.next(bench.accepted).failure, error::too_many_files);
    }
    ASSERT_TRUE(bench.accepted.empty());
    ASSERT_EQ(drive().io().post([&] { bench.listening->go_on(); }), error::none);
    for (int i = 0; i < 20 && bench.accepted.empty(); ++i)
        drive().round();
    ASSERT_EQ(bench.accepted.size(), 1u) << "it waits for its time";
    EXPECT_EQ(bench.accepted[0].failure, error::none);
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
}

TEST_P(listening, ends_its_pause_as_soon_as_the_library_closes_a_descriptor) {
    std::optional<owned_descriptor> spare(::eventfd(0, EFD_CLOEXEC));
    ASSERT_NO_FATAL_FAILURE(dial_where_the_far_end_has_no_descriptor());
    {
        const scarce_descriptors none;
        EXPECT_EQ(bench.next(bench.accepted).failure, error::too_many_files);
    }
    ASSERT_TRUE(bench.accepted.empty());
    std::thread([&] { spare.reset(); }).join();
    for (int i = 0; i < 20 && bench.accepted.empty(); ++i)
        drive().round();
    ASSERT_EQ(bench.accepted.size(), 1u) << "it waits for its time";
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
}

// The descriptor that is told of may be anybody's by then.
TEST_P(listening, may_end_when_it_has_just_heard_of_a_descriptor) {
    std::optional<owned_descriptor> spare(::eventfd(0, EFD_CLOEXEC));
    ASSERT_NO_FATAL_FAILURE(dial_where_the_far_end_has_no_descriptor());
    {
        const scarce_descriptors none;
        EXPECT_EQ(bench.next(bench.accepted).failure, error::too_many_files);
    }
    spare.reset();
    bench.listening.reset();
    drive().round();
    EXPECT_TRUE(bench.accepted.empty());
}

TEST_P(listening, without_descriptors_is_refused_to_whoever_binds) {
    listen();
    bench.listening.reset();
    {
        const scarce_descriptors none;
        EXPECT_EQ(bench.bind(bench.there), error::too_many_files);
        EXPECT_FALSE(bench.listening);
    }
    EXPECT_EQ(bench.bind(bench.there), error::none);
}

TEST_P(listening, without_memory_is_refused_to_whoever_binds_and_leaves_nothing) {
    for (int n = 1; n < 200; ++n) {
        const scarce_memory scarce(n);
        const error why = bench.bind(GetParam().any);
        if (!scarce_memory::has_failed()) {
            EXPECT_EQ(why, error::none);
            EXPECT_GT(n, 2);
            return;
        }
        EXPECT_TRUE(why == error::no_memory || why == error::none) << "allocation " << n;
        EXPECT_EQ(bool(bench.listening), why == error::none);
        bench.listening.reset();
    }
    FAIL() << "there is no end of allocations";
}

TEST_P(listening, without_memory_loses_one_peer_and_goes_on) {
    listen();
    int failures = 0;
    for (int n = 1; n < 200; ++n) {
        // The near end is there; nothing of the far one has run.
        bench.listening.reset();
        ASSERT_EQ(bench.bind(bench.there), error::none);
        stream_end near(drive(), bench.dial(bench.there).bytes);
        ASSERT_TRUE(near.bytes);
        bench.accepted.reserve(4);
        bool was_reached;
        error why;
        {
            const scarce_memory scarce(n);
            bench.start();
            why = bench.next(bench.accepted).failure;
            was_reached = scarce_memory::has_failed();
        }
        if (failed(why)) {
            ++failures;
            EXPECT_EQ(why, error::no_memory) << "allocation " << n;
            near.expect_end();
            EXPECT_EQ(bench.dial(bench.there).failure, error::none);
            EXPECT_EQ(bench.next(bench.accepted).failure, error::none) << "it does not go on";
        }
        if (!was_reached) {
            EXPECT_EQ(why, error::none);
            EXPECT_GT(failures, 1);
            return;
        }
    }
    FAIL() << "there is no end of allocations";
}

TEST_P(listening, may_be_at_a_socket_that_the_application_made) {
    listen();
    auto first = std::move(bench.listening);
    bench.options.use_fd = ::fcntl(first->descriptor(), F_DUPFD_CLOEXEC, 0);
    ASSERT_EQ(bench.bind(bench.there), error::none);
    EXPECT_EQ(bench.listening->endpoint(), first->endpoint());
    bench.start();
    EXPECT_EQ(bench.dial(bench.there).failure, error::none);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
    bench.listening.reset();
    EXPECT_FALSE(open_descriptors().contains(bench.options.use_fd)) << "it is the listener's";
}

const auto name_of = [](const auto &which) { return std::string(which.param.name); };
INSTANTIATE_TEST_SUITE_P(each, connecting, ::testing::ValuesIn(transport_kinds), name_of);
INSTANTIATE_TEST_SUITE_P(each, dialing, ::testing::ValuesIn(transport_kinds), name_of);
/// Peers of the others say something before anybody listens; a handshake has to be answered first.
const std::vector<transport_kind> without_handshake = [] {
    std::vector<transport_kind> those(std::begin(transport_kinds), std::end(transport_kinds));
    std::erase_if(those, [](const transport_kind &each) { return each.is_secured; });
    return those;
}();
INSTANTIATE_TEST_SUITE_P(each, listening, ::testing::ValuesIn(without_handshake), name_of);

}  // namespace
}  // namespace zlink::test
