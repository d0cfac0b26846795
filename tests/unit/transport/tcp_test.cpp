// Tests what tcp has beside the contract of transports: sources, interfaces, both families, names
// with several addresses, SOCKS proxies.
//
// The test drives the loop, plays the proxy with the far end of a stream, and the name server with
// a getaddrinfo() of its own.
#include "transport/transport.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>

#include "core/frame.hpp"
#include "placed_memory.hpp"
#include "support/transport_bench.hpp"
#include "transport/kernel_copy.hpp"
#include "transport/local_tcp.hpp"
#include "transport/socket_options.hpp"

extern "C" int getaddrinfo(const char *host, const char *service, const addrinfo *hints, addrinfo **found) {
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (!host || std::strcmp(host, "two.played") != 0 || (hints && (hints->ai_flags & AI_NUMERICHOST)))
        return real(host, service, hints, found);
    // Two addresses: nobody listens at the first.
    const int status = real("127.0.0.2", service, hints, found);
    if (status == 0)
        (void)real("127.0.0.1", service, hints, &(*found)->ai_next);
    return status;
}

namespace zlink {
namespace {

using namespace test;

class tcp_test : public ::testing::Test {
protected:
    void listen(const std::string &address = "127.0.0.1:*") {
        ASSERT_NO_FATAL_FAILURE(bench.listen(address));
        port = bench.there.substr(bench.there.rfind(':') + 1);
    }
    /// The address that the far end sees, of one that dials so.
    std::string seen_from(const std::string &address) {
        near.emplace(*bench.drive, bench.dial(address).bytes);
        if (!near->bytes)
            return "nobody";
        far.emplace(*bench.drive, bench.next(bench.accepted).bytes);
        return far->bytes ? far->bytes->peer_address() : "nobody";
    }
    void TearDown() override {
        near.reset();
        far.reset();
    }
    static int option_of(const stream_end &end, int option) {
        int found = 0;
        socklen_t size = sizeof found;
        EXPECT_EQ(::getsockopt(end.bytes->descriptor(), SOL_SOCKET, option, &found, &size), 0);
        return found;
    }
    static int send_buffer_of(const stream_end &end) { return option_of(end, SO_SNDBUF); }
    /// Whether a socket could be bound to it that does not ask for an address which others linger
    /// on.
    static bool is_free(const std::string &port) {
        owned_descriptor socket;
        EXPECT_EQ(open_socket(AF_INET, socket), error::none);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return ::bind(socket.get(), reinterpret_cast<sockaddr *>(&at), sizeof at) == 0;
    }
    static bool has_ipv6() {
        const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
        sockaddr_in6 here{};
        here.sin6_family = AF_INET6;
        here.sin6_addr = in6addr_loopback;
        const bool has = socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr *>(&here), sizeof here) == 0;
        ::close(socket);
        return has;
    }

    transport_bench bench{"tcp"};
    std::string port;
    std::optional<stream_end> near, far;
};

TEST_F(tcp_test, connects_from_the_address_the_interface_and_the_port_that_it_is_given) {
    listen();
    EXPECT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    EXPECT_EQ(seen_from("127.0.0.3;127.0.0.1:" + port), "127.0.0.3");
    EXPECT_EQ(seen_from("127.0.0.4:*;127.0.0.1:" + port), "127.0.0.4");
    EXPECT_EQ(seen_from("lo;127.0.0.1:" + port), "127.0.0.1");
    // A port that was free just now.
    const auto from = std::move(bench.listening);
    ASSERT_EQ(bench.bind("127.0.0.5:*"), error::none);
    const std::string source = bench.address_of(bench.listening->endpoint());
    bench.listening.reset();
    EXPECT_EQ(seen_from(source + ";127.0.0.1:" + port), "127.0.0.5");
    ASSERT_TRUE(near->bytes && far->bytes);
    EXPECT_EQ(far->bytes->remote_endpoint(), "tcp://" + source);
    EXPECT_EQ(near->bytes->local_endpoint(), "tcp://" + source);
}

TEST_F(tcp_test, says_which_source_there_is_not_when_it_dials) {
    listen();
    EXPECT_EQ(bench.dial("no_such_if;127.0.0.1:" + port).failure, error::no_device);
    EXPECT_EQ(bench.dial("192.0.2.1;127.0.0.1:" + port).failure, error::address_not_available);
    EXPECT_EQ(bench.dialing->descriptor(), -1) << "it was closed before anybody heard of it";
}

TEST_F(tcp_test, leaves_a_port_at_once_where_it_has_connected_to_itself) {
    listen();
    bench.listening.reset();
    const std::string here = "127.0.0.1:" + port;
    EXPECT_EQ(bench.dial(here + ";" + here).failure, error::connection_refused);
    EXPECT_TRUE(is_free(port)) << "a server that has no SO_REUSEADDR would have to wait a minute";
    // A proxy that is not there.
    bench.options.socks_proxy = here;
    EXPECT_EQ(bench.dial(here + ";127.0.0.1:1").failure, error::connection_refused);
    EXPECT_TRUE(is_free(port));
}

TEST_F(tcp_test, tells_that_an_attempt_takes_time_once_for_each_address) {
    listen();
    bench.begin_to_dial("two.played:" + port);
    EXPECT_EQ(bench.next(bench.dialed).failure, error::none);
    EXPECT_EQ(bench.pending_reports, 2);
}

TEST_F(tcp_test, goes_on_to_the_next_address_where_one_is_refused_and_gives_the_last_error) {
    listen();
    ASSERT_EQ(seen_from("two.played:" + port), "127.0.0.1");
    EXPECT_EQ(near->bytes->remote_endpoint(), "tcp://127.0.0.1:" + port);
    bench.listening.reset();
    EXPECT_EQ(bench.dial("two.played:" + port).failure, error::connection_refused);
    // Nothing is left of an attempt that is given up between the two.
    bench.begin_to_dial("two.played:" + port);
    bench.drive->until([&] { return bench.pending_reports >= 5; });
    const std::size_t so_far = bench.dialed.size();
    bench.dialing.reset();
    bench.drive->round();
    EXPECT_EQ(bench.dialed.size(), so_far) << "called after its end";
}

TEST_F(tcp_test, listens_at_interfaces_and_knows_its_addresses_however_they_are_written) {
    listen("lo:*");
    EXPECT_EQ(bench.listening->endpoint(), "tcp://127.0.0.1:" + port);
    const std::string endpoint = bench.listening->endpoint();
    for (const std::string host : {"lo", "127.0.0.1", "[127.0.0.1]"})
        EXPECT_TRUE(bench.kind.may_be_bound_to(host + ":" + port, endpoint)) << host;
    for (const std::string host : {"*", "127.0.0.2", "no_such_if", "localhost", ""})
        EXPECT_FALSE(bench.kind.may_be_bound_to(host + ":" + port, endpoint)) << host;
    EXPECT_TRUE(bench.kind.may_be_bound_to("*:" + port, "tcp://0.0.0.0:" + port));
}

TEST_F(tcp_test, keeps_little_under_way_within_one_machine) {
    constexpr int doubled = 2 * local_tcp::send_buffer;  // as the system does
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    EXPECT_EQ(send_buffer_of(*near), doubled);
    EXPECT_EQ(send_buffer_of(*far), doubled);
    ASSERT_EQ(seen_from("127.0.0.3;127.0.0.1:" + port), "127.0.0.3");
    EXPECT_NE(send_buffer_of(*near), doubled) << "as between machines: the addresses differ";
    bench.options.send_buffer = 32 * 1024;
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    EXPECT_EQ(send_buffer_of(*near), 64 * 1024) << "the application has chosen";
    EXPECT_EQ(send_buffer_of(*far), 64 * 1024);
    if (!has_ipv6())
        return;
    bench.options.ipv6 = true;
    bench.options.send_buffer = -1;
    listen("*:*");
    ASSERT_EQ(seen_from("[::1]:" + port), "::1");
    EXPECT_EQ(send_buffer_of(*near), doubled);
}

TEST_F(tcp_test, does_without_bbr_within_one_machine) {
    const auto control_of = [](int descriptor) {
        char name[16] = {};
        socklen_t size = sizeof name;
        EXPECT_EQ(::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
        return std::string(name);
    };
    listen();
    ASSERT_EQ(seen_from("127.0.0.3;127.0.0.1:" + port), "127.0.0.3");
    const int fresh = ::socket(AF_INET, SOCK_STREAM, 0);
    const std::string usual = control_of(fresh);
    ::close(fresh);
    EXPECT_EQ(control_of(near->bytes->descriptor()), usual) << "as between machines";
    bench.options.send_buffer = 32 * 1024;  // has nothing to do with it
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    const std::string expected = usual.starts_with("bbr") ? "reno" : usual;
    EXPECT_EQ(control_of(near->bytes->descriptor()), expected);
    EXPECT_EQ(control_of(far->bytes->descriptor()), expected);
}

TEST_F(tcp_test, keeps_more_under_way_while_large_bodies_are_written) {
    constexpr int doubled = 2 * local_tcp::send_buffer;
    bench.options.receive_buffer = 512 * 1024;  // stays as it is
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    const std::string large(local_tcp::large_body, 'l');
    const auto write = [&](std::string_view header, std::string_view body) {
        const auto range = [](std::string_view of) {
            return iovec{const_cast<char *>(of.data()), of.size()};
        };
        const iovec ranges[] = {range(header), range(body)};
        EXPECT_GT(near->bytes->try_write(ranges).octets, 0u);
        (void)far->read(2 * large.size());
    };
    write("header", std::string_view(large).substr(1));
    EXPECT_EQ(send_buffer_of(*near), doubled) << "one octet less";
    write(large, large);
    EXPECT_EQ(send_buffer_of(*near), doubled) << "small messages together";
    const auto fixed = [&] { return option_of(*near, SO_BUF_LOCK); };
    constexpr int of_sending = 1, of_receiving = 2;
    write("header", large);
    EXPECT_GT(send_buffer_of(*near), doubled);
    EXPECT_EQ(fixed(), of_receiving) << "the system may have given less, and may let it grow";
    for (int i = 1; i < local_tcp::writes_until_small; ++i) {
        write("s", "mall");
        EXPECT_GT(send_buffer_of(*near), doubled) << i;
    }
    write("header", large);
    for (int i = 1; i < local_tcp::writes_until_small; ++i)
        write("s", "mall");
    EXPECT_GT(send_buffer_of(*near), doubled) << "counted from the last large one";
    write("s", "mall");
    EXPECT_EQ(send_buffer_of(*near), doubled);
    EXPECT_EQ(fixed(), of_sending | of_receiving);
    bench.options.send_buffer = 32 * 1024;
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    write("header", large);
    EXPECT_EQ(send_buffer_of(*near), 64 * 1024) << "the application has chosen";
}

TEST_F(tcp_test, keeps_more_under_way_while_bodies_are_written_that_are_sealed) {
    constexpr int doubled = 2 * local_tcp::send_buffer;
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    std::string header = "header", body(local_tcp::large_sealed_body, 's');
    const iovec ranges[] = {{header.data(), header.size()}, {body.data(), body.size()}};
    (void)near->bytes->try_write(ranges);
    EXPECT_EQ(send_buffer_of(*near), doubled);
    near->bytes->expect_sealed_bodies();
    (void)near->bytes->try_write(ranges);
    EXPECT_GT(send_buffer_of(*near), doubled);
}

TEST_F(tcp_test, keeps_more_under_way_until_a_large_body_is_written_and_the_peer_has_read_most) {
    constexpr int doubled = 2 * local_tcp::send_buffer;
    bench.options.receive_buffer = 64 * 1024;
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    std::string body(16u << 20, 'l'), header = "header";
    const iovec first[] = {{header.data(), header.size()}, {body.data(), body.size()}};
    std::size_t written = near->bytes->try_write(first).octets - header.size();
    for (std::size_t taken = 1; taken > 0; written += taken) {  // until the stream is full
        const iovec rest[] = {{body.data() + written, body.size() - written}};
        taken = near->bytes->try_write(rest).octets;
    }
    EXPECT_GT(send_buffer_of(*near), doubled);
    ASSERT_LT(written, body.size());
    std::size_t read = 0;
    while (written < body.size()) {
        const iovec rest[] = {{body.data() + written, std::min(body.size() - written, std::size_t{1000})}};
        const std::size_t taken = near->bytes->try_write(rest).octets;
        written += taken;
        read += taken > 0 ? 0 : far->read(1000).size();
    }
    EXPECT_GT(send_buffer_of(*near), doubled) << "however many writes it took";
    std::string small = "small";
    const iovec next[] = {{small.data(), small.size()}};
    for (std::size_t count = 0; count < 3 * local_tcp::writes_until_small;) {
        const bool is_taken = near->bytes->try_write(next).octets == small.size();
        count += is_taken;
        read += is_taken ? 0 : far->read(1000).size();
    }
    EXPECT_GT(send_buffer_of(*near), doubled) << "it would take no more";
    while (read < header.size() + body.size())
        read += far->read(1u << 20).size();
    for (int i = 0; i < 2 * local_tcp::writes_until_small; ++i) {
        EXPECT_EQ(near->bytes->try_write(next).octets, small.size());
        (void)far->read(1000);
    }
    EXPECT_EQ(send_buffer_of(*near), doubled);
}

TEST_F(tcp_test, says_where_the_system_reads_bodies_slowly) {
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    placed_memory pages(1, 0), of_heap(1, 16), other(1, 64);
    EXPECT_TRUE((*far)->way_round(of_heap.data(), of_heap.data() + 1, other.data()));
    EXPECT_FALSE((*far)->way_round(pages.data(), pages.data() + 1, other.data()));
}

TEST_F(tcp_test, writes_the_beginning_alone_of_a_frame_that_would_be_copied_slowly) {
    // With its header three of the largest segments of a loopback of 64 KiB, or four where the
    // beginning is one by itself.
    constexpr std::size_t size = 196'000;
    constexpr std::uint32_t least_segment = 65'337;
    listen();
    ASSERT_EQ(seen_from("127.0.0.1:" + port), "127.0.0.1");
    struct {  // as of Linux 4.6; C libraries have more or less of tcp_info
        std::uint32_t states_and_timeouts[4], segment_size, counts_and_times[21];
        std::uint64_t rates_and_octets[4];
        std::uint32_t segments_and_times[5], data_segments_out;
    } info{};
    static_assert(sizeof info == 160);
    const auto segments = [&] {
        socklen_t length = sizeof info;
        EXPECT_EQ(::getsockopt(near->bytes->descriptor(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
        EXPECT_EQ(length, sizeof info);
        return info.data_segments_out;
    };
    /// 0: the stream did not take all at once.
    const auto segments_of_body_at = [&](std::size_t offset_in_page) {
        placed_memory body(size, offset_in_page);
        char header[long_header_size] = {};
        const iovec ranges[] = {{header, sizeof header}, {body.data(), size}};
        const auto before = segments();
        const std::size_t written = near->bytes->try_write(ranges).octets;
        const auto taken = segments() - before;
        EXPECT_EQ(far->receive(written).size(), written);
        return written == size + sizeof header ? taken : 0;
    };
    // The stream opens with each of the first.
    std::uint32_t taken = 0;
    for (int i = 0; i < 100 && taken != 3; ++i)
        taken = segments_of_body_at(64);
    if (info.segment_size < least_segment)
        GTEST_SKIP() << "segments of " << info.segment_size << " octets: the MTU is smaller here";
    if (taken == 0)
        GTEST_SKIP() << "the system does not let the stream take " << size << " octets at once";
    EXPECT_EQ(taken, 3u);
    EXPECT_EQ(segments_of_body_at(0), 4u);
    EXPECT_EQ(segments_of_body_at(16), 4u);
    EXPECT_EQ(segments_of_body_at(2048), 3u);
}

TEST_F(tcp_test, hears_both_families_where_ipv6_is_allowed) {
    if (!has_ipv6())
        GTEST_SKIP() << "no IPv6 here";
    bench.options.ipv6 = true;
    listen("*:*");
    EXPECT_EQ(bench.listening->endpoint(), "tcp://[::]:" + port);
    ASSERT_EQ(seen_from("[::1]:" + port), "::1");
    EXPECT_EQ(near->bytes->remote_endpoint(), "tcp://[::1]:" + port);
    EXPECT_EQ(near->bytes->peer_address(), "::1");
    EXPECT_EQ(seen_from("127.0.0.1:" + port), "::ffff:127.0.0.1");
    EXPECT_EQ(seen_from("::1;[::1]:" + port), "::1");
    EXPECT_TRUE(bench.kind.may_be_bound_to("*:" + port, bench.listening->endpoint()));
    EXPECT_TRUE(bench.kind.may_be_bound_to("127.0.0.1:" + port, "tcp://[::ffff:127.0.0.1]:" + port));
    bench.options.ipv6 = false;
    EXPECT_TRUE(failed(bench.dial("[::1]:" + port).failure)) << "it is not allowed";
}

TEST_F(tcp_test, filters_by_addresses_of_both_families) {
    ipv4_or_6_filter only;
    only.address[0] = 127;
    only.address[3] = 6;
    only.prefix_bits = 32;
    bench.options.tcp_accept_filters = {only};
    listen();
    stream_end refused(*bench.drive, bench.dial("127.0.0.1:" + port).bytes);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::connection_refused);
    refused.expect_end();
    EXPECT_EQ(seen_from("127.0.0.6;127.0.0.1:" + port), "127.0.0.6") << "it goes on";
    if (!has_ipv6())
        return;
    // An IPv4 address on a socket of IPv6 is filtered as what it is.
    bench.options.ipv6 = true;
    listen("*:*");
    EXPECT_EQ(seen_from("127.0.0.6;127.0.0.1:" + port), "::ffff:127.0.0.6");
    stream_end other(*bench.drive, bench.dial("[::1]:" + port).bytes);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::connection_refused);
}

// ---- through a proxy ----

class through_a_proxy : public tcp_test {
protected:
    void SetUp() override {
        listen();
        bench.options.socks_proxy = bench.there;
    }
    /// The proxy has been called.
    void call() {
        bench.begin_to_dial("far.example:555");
        far.emplace(*bench.drive, bench.next(bench.accepted).bytes);
        ASSERT_TRUE(far->bytes);
    }
    const std::string hello{"\5\1\0", 3};
    const std::string request = std::string("\5\1\0\3\13", 5) + "far.example" + std::string("\x02\x2b", 2);
    static std::string reply(char code) {
        return std::string("\5", 1) + code + std::string("\0\1\0\0\0\0\0\0", 8);
    }
};

TEST_F(through_a_proxy,
       reaches_a_name_that_nobody_here_looks_up_and_loses_nothing_that_comes_behind_the_reply) {
    call();
    EXPECT_EQ(far->receive(3), hello);
    far->send(std::string("\5\0", 2));
    EXPECT_EQ(far->receive(request.size()), request);
    EXPECT_TRUE(bench.dialed.empty());
    far->send(reply(0) + "and more");
    stream_end connected(*bench.drive, bench.next(bench.dialed).bytes);
    ASSERT_TRUE(connected.bytes);
    EXPECT_EQ(connected.receive(8), "and more");
    connected.send("through");
    EXPECT_EQ(far->receive(7), "through");
}

TEST_F(through_a_proxy, is_refused_by_it_as_by_the_far_side) {
    for (const auto &[code, why] :
         {std::pair('\5', error::connection_refused), {'\4', error::host_unreachable}}) {
        call();
        (void)far->receive(3);
        far->send(std::string("\5\0", 2));
        (void)far->receive(request.size());
        far->send(reply(code));
        const outcome end = bench.next(bench.dialed);
        EXPECT_EQ(end.failure, why);
        far->expect_end();
    }
}

TEST_F(through_a_proxy, fails_wherever_the_proxy_goes) {
    const std::string all = std::string("\5\0", 2) + reply(0);
    for (std::size_t cut = 0; cut < all.size(); ++cut) {
        SCOPED_TRACE(cut);
        call();
        (void)far->receive(3);
        far->send(all.substr(0, cut));
        if (cut >= 2)
            (void)far->receive(request.size());
        far->bytes.reset();
        EXPECT_TRUE(failed(bench.next(bench.dialed).failure));
        EXPECT_TRUE(bench.dialed.empty()) << "called twice";
    }
}

TEST_F(through_a_proxy, takes_a_reply_octet_by_octet) {
    call();
    (void)far->receive(3);
    for (const char octet : std::string("\5\0", 2) + reply(0)) {
        EXPECT_TRUE(bench.dialed.empty());
        far->send({&octet, 1});
        for (int i = 0; i < 3; ++i)
            bench.drive->round();
    }
    EXPECT_EQ(bench.next(bench.dialed).failure, error::none);
}

TEST_F(through_a_proxy, is_given_up_anywhere_without_a_call) {
    for (int step = 0; step < 4; ++step) {
        call();
        if (step > 0)
            (void)far->receive(3);
        if (step > 1)
            far->send(std::string("\5\0", 2));
        if (step > 2)
            (void)far->receive(request.size());
        bench.dialing.reset();
        bench.drive->round();
        EXPECT_TRUE(bench.dialed.empty());
        while (step == 0 && far->receive(3).empty() && far->last.status == error::none) {
        }
        far->expect_end();
    }
}

TEST_F(through_a_proxy, does_not_wait_longer_for_words_than_for_a_handshake) {
    bench.options.handshake_interval_ms = 20;
    call();
    EXPECT_EQ(bench.next(bench.dialed).failure, error::timed_out);
    (void)far->receive(3);
    far->expect_end();
}

TEST_F(through_a_proxy, is_not_tried_with_an_address_that_is_none) {
    std::unique_ptr<dialer> none;
    for (const char *proxy : {"127.0.0.1", ":80", "127.0.0.1:0", "*:80"}) {
        bench.options.socks_proxy = proxy;
        EXPECT_EQ(bench.kind.check_connect("far.example:555", bench.options), error::invalid) << proxy;
        EXPECT_EQ(bench.kind.make_dialer("far.example:555", bench.options, {}, *bench.drive, none),
                  error::invalid);
    }
}

}  // namespace
}  // namespace zlink
