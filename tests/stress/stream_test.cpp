// Streams, dialers and listeners of tcp and ipc over real sockets of this machine, with the loop on
// a thread of its own. What holds for every transport is in tests/contract/transport_contract.cpp
// and transport_streams.cpp.
#include "transport/transport.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reactor/io_threads.hpp"

// Counts what this program allocates on each thread, to see that waiting allocates nothing.
static thread_local std::size_t allocations = 0;
__attribute__((noinline)) void *operator new(std::size_t size) {
    ++allocations;
    if (void *p = std::malloc(size ? size : 1))
        return p;
    throw std::bad_alloc();
}
__attribute__((noinline)) void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    try {
        return operator new(size);
    } catch (...) {
        return nullptr;
    }
}
__attribute__((noinline)) void operator delete(void *p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void *p, std::size_t) noexcept { std::free(p); }

namespace zlink {
namespace {

int open_descriptors() {
    int count = 0;
    DIR *folder = ::opendir("/proc/self/fd");
    while (::readdir(folder))
        ++count;
    ::closedir(folder);
    return count;
}

bool exists(const std::string &path) {
    struct stat s;
    return ::stat(path.c_str(), &s) == 0;
}

iovec range_of(void *data, std::size_t size) { return {data, size}; }

struct attempt {
    std::unique_ptr<stream> made;
    error failure = error::none;
};

// Remembers that it was called, and lets the test wait for it.
struct watcher final : stream_events {
    void on_stream_readable() noexcept override { note(readable); }
    void on_stream_writable() noexcept override { note(writable); }
    void note(int &which) {
        std::lock_guard lock(mutex);
        ++which;
        changed.notify_all();
    }
    void wait_readable(int count) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return readable >= count; });
    }
    void wait_writable(int count) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return writable >= count; });
    }
    std::mutex mutex;
    std::condition_variable changed;
    int readable = 0, writable = 0;
};

struct kind_of_stream {
    const char *name;
    const char *transport;
    std::size_t shared_memory = 0;
};

class streams : public ::testing::TestWithParam<kind_of_stream> {
protected:
    void SetUp() override {
        knobs_.ipc.shared_memory = GetParam().shared_memory;
        ASSERT_EQ(io_threads::make(1, {}, threads_), error::none);
        char name[] = "/tmp/stream_testXXXXXX";
        ASSERT_TRUE(::mkdtemp(name));
        knobs_.temporary_directory = name;
    }
    void TearDown() override {
        on_loop([&] {
            listener_.reset();
            dialer_.reset();
            accepted_.clear();
        });
        threads_.reset();
        EXPECT_EQ(::rmdir(knobs_.temporary_directory.c_str()), 0) << "a socket file is left";
    }

    loop &io() { return threads_->at(0); }
    void on_loop(const std::function<void()> &work) { ASSERT_EQ(io().post_and_wait(work), error::none); }
    const transport &scheme() { return *find_transport(GetParam().transport); }
    bool is_tcp() { return std::string(GetParam().transport) == "tcp"; }
    static std::string address_of(const std::string &endpoint) { return endpoint.substr(6); }

    void listen() {
        ASSERT_EQ(scheme().make_listener(is_tcp() ? "127.0.0.1:*" : "*", options_, knobs_, io(), listener_),
                  error::none);
        endpoint_ = listener_->endpoint();
    }
    void start() {
        on_loop([&] {
            listener_->start([&](const stream_maker &make, error e) {
                std::unique_ptr<stream> s;
                if (make)
                    e = make(io(), s);
                std::lock_guard lock(mutex_);
                accepted_.push_back({std::move(s), e});
                changed_.notify_all();
            });
        });
    }
    attempt next_accepted() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !accepted_.empty(); });
        attempt a = std::move(accepted_.front());
        accepted_.erase(accepted_.begin());
        return a;
    }
    attempt dial(const std::string &address) {
        std::promise<attempt> result;
        on_loop([&] {
            ASSERT_EQ(scheme().make_dialer(address, options_, knobs_.ipc, io(), dialer_), error::none);
            auto is_inside = std::make_shared<bool>(true);
            dialer_->dial([&result, is_inside](std::unique_ptr<stream> s, error e) {
                EXPECT_FALSE(*is_inside);
                result.set_value({std::move(s), e});
            });
            *is_inside = false;
        });
        return result.get_future().get();
    }
    // Both ends of a connection, to be destroyed on the loop.
    void connect(std::unique_ptr<stream> &client, std::unique_ptr<stream> &server) {
        listen();
        start();
        attempt c = dial(address_of(endpoint_));
        ASSERT_EQ(c.failure, error::none);
        client = std::move(c.made);
        attempt s = next_accepted();
        ASSERT_EQ(s.failure, error::none);
        server = std::move(s.made);
    }
    void destroy(std::unique_ptr<stream> &s) {
        on_loop([&] { s.reset(); });
    }

    settings options_;
    tuning knobs_;
    std::unique_ptr<io_threads> threads_;
    std::unique_ptr<listener> listener_;
    std::unique_ptr<dialer> dialer_;
    std::string endpoint_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<attempt> accepted_;
};

TEST_P(streams, tell_that_there_is_room_again) {
    std::unique_ptr<stream> client, server;
    connect(client, server);
    watcher at_client, at_server;
    std::vector<char> block(1 << 20);
    iovec whole[1] = {range_of(block.data(), block.size())};
    int reads = 0;
    for (int round = 1; round <= 40; ++round) {
        std::size_t in_flight = 0;
        on_loop([&] {
            client->set_events(&at_client);
            server->set_events(&at_server);
            io_result sent;
            while ((sent = client->try_write(whole)).status == error::none)
                in_flight += sent.octets;
            EXPECT_EQ(sent.status, error::again);
            client->wait_writable();
            server->wait_readable();
        });
        EXPECT_GT(in_flight, 0u);
        // The last octets may still be on their way when the first are read.
        while (in_flight > 0) {
            at_server.wait_readable(++reads);
            on_loop([&] {
                io_result got = server->try_read(whole);
                in_flight -= got.octets;
                if (in_flight > 0)
                    server->wait_readable();
            });
        }
        at_client.wait_writable(round);
        // Reading afterwards, over and over, ends the interest in room.
        on_loop([&] {
            client->wait_readable();
            EXPECT_GT(server->try_write(std::span(whole, 1)).octets, 0u);
        });
        at_client.wait_readable(round);
        on_loop([&] {
            while (client->try_read(whole).status == error::none) {
            }
        });
    }
    destroy(client);
    destroy(server);
}

TEST_P(streams, are_heard_of_long_after_they_waited_for_room) {
    std::unique_ptr<stream> client, server;
    connect(client, server);
    watcher at_client, at_server;
    on_loop([&] {
        client->set_events(&at_client);
        server->set_events(&at_server);
        server->wait_writable();
    });
    at_server.wait_writable(1);
    char octet = 0;
    iovec one[1] = {range_of(&octet, 1)};
    for (int round = 1; round <= 100; ++round) {
        on_loop([&] {
            server->wait_readable();
            EXPECT_EQ(client->try_write(one).octets, 1u);
        });
        at_server.wait_readable(round);
        on_loop([&] {
            EXPECT_EQ(server->try_read(one).octets, 1u);
            EXPECT_EQ(server->try_read(one).status, error::again);
        });
    }
    on_loop([&] { server->wait_writable(); });
    at_server.wait_writable(2);
    destroy(client);
    destroy(server);
}

TEST_P(streams, do_not_lose_readiness_after_short_reads) {
    std::unique_ptr<stream> client, server;
    connect(client, server);
    struct reader final : stream_events {
        void on_stream_readable() noexcept override {
            // Less than there may be: the rest must be reported again.
            iovec part[1] = {range_of(buffer, sizeof buffer)};
            got += from->try_read(part).octets;
            if (got < wanted)
                from->wait_readable();
            else
                done.set_value();
        }
        void on_stream_writable() noexcept override {}
        stream *from = nullptr;
        char buffer[7];
        std::size_t got = 0, wanted = 0;
        std::promise<void> done;
    } reader;
    reader.from = server.get();
    reader.wanted = 200000;
    on_loop([&] {
        server->set_events(&reader);
        server->wait_readable();
    });
    // A stream may be written to from another thread than its loop's.
    std::vector<char> block(100);
    for (std::size_t sent = 0; sent < reader.wanted;) {
        iovec whole[1] = {range_of(block.data(), std::min(block.size(), reader.wanted - sent))};
        sent += client->try_write(whole).octets;
    }
    reader.done.get_future().wait();
    EXPECT_EQ(reader.got, reader.wanted);
    destroy(client);
    destroy(server);
}

TEST_P(streams, wait_without_allocating) {
    std::unique_ptr<stream> client, server;
    connect(client, server);
    struct echo final : stream_events {
        void on_stream_readable() noexcept override {
            iovec all[1] = {range_of(buffer, sizeof buffer)};
            self->try_read(all);
            self->wait_writable();
        }
        void on_stream_writable() noexcept override {
            iovec one[1] = {range_of(buffer, 1)};
            if (left-- == 0) {
                done->set_value();
                return;
            }
            self->wait_readable();
            self->try_write(one);
        }
        stream *self = nullptr;
        char buffer[8] = {};
        int left = 0;
        std::promise<void> *done = nullptr;
    } left, right;
    std::size_t before = 0, after = 0;
    for (int round = 0; round < 2; ++round) {  // the first warms up
        std::promise<void> done;
        on_loop([&] {
            before = allocations;
            left.self = client.get();
            right.self = server.get();
            left.left = 1000;
            right.left = 1000000;
            left.done = &done;
            client->set_events(&left);
            server->set_events(&right);
            server->wait_readable();
            client->wait_writable();
        });
        done.get_future().wait();
        on_loop([&] { after = allocations; });
    }
    EXPECT_LE(after - before, 4u);  // the functions and promises of the test itself
    destroy(client);
    destroy(server);
}

TEST_P(streams, may_be_destroyed_while_they_wait) {
    std::unique_ptr<stream> client, server;
    listen();
    start();
    const int before = open_descriptors();
    for (int i = 0; i < 200; ++i) {
        attempt c = dial(address_of(endpoint_));
        ASSERT_EQ(c.failure, error::none);
        attempt s = next_accepted();
        watcher w;
        on_loop([&] {
            c.made->set_events(&w);
            s.made->set_events(&w);
            c.made->wait_readable();
            c.made->wait_writable();
            s.made->wait_readable();
            s.made->wait_writable();
            char octet = 1;
            iovec one[1] = {range_of(&octet, 1)};
            if (i % 2)
                c.made->try_write(one);  // readiness that nobody will hear of
            s.made.reset();
            c.made.reset();
        });
        on_loop([] {});
        EXPECT_EQ(w.readable + w.writable, 0);
    }
    EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(each, streams,
                         ::testing::Values(kind_of_stream{"tcp", "tcp"}, kind_of_stream{"ipc", "ipc"},
                                           kind_of_stream{"ipc_in_shared_memory", "ipc",
                                                          default_shared_memory}),
                         [](const auto &info) { return std::string(info.param.name); });

using tcp_addresses = streams;

TEST_P(tcp_addresses, are_checked_when_binding) {
    const auto bind = [&](const char *address) {
        std::unique_ptr<listener> l;
        const error e = scheme().make_listener(address, options_, knobs_, io(), l);
        endpoint_ = l ? l->endpoint().substr(0, l->endpoint().rfind(':')) : "";
        return to_errno(e);
    };
    EXPECT_EQ(bind("nosuch:5555"), ENODEV);
    EXPECT_EQ(bind("localhost:*"), ENODEV);
    EXPECT_EQ(bind(":5555"), ENODEV);
    EXPECT_EQ(bind("[::1]:*"), ENODEV);
    EXPECT_EQ(bind("192.0.2.1:*"), EADDRNOTAVAIL);
    EXPECT_EQ(bind("127.0.0.1"), EINVAL);
    EXPECT_EQ(bind("*:*"), 0);
    EXPECT_EQ(endpoint_, "tcp://0.0.0.0");
    EXPECT_EQ(bind("lo:0"), 0);
    EXPECT_EQ(endpoint_, "tcp://127.0.0.1");
    options_.ipv6 = true;
    EXPECT_EQ(bind("127.0.0.1:*"), 0);
    if (::socket(AF_INET6, SOCK_STREAM, 0) >= 0) {
        EXPECT_EQ(endpoint_, "tcp://[::ffff:127.0.0.1]");
        EXPECT_EQ(bind("*:*"), 0);
        EXPECT_EQ(endpoint_, "tcp://[::]");
        EXPECT_EQ(bind("[::1]:*"), 0);
        EXPECT_EQ(endpoint_, "tcp://[::1]");
    }
}

TEST_P(tcp_addresses, are_in_use_once) {
    listen();
    std::unique_ptr<listener> second;
    EXPECT_EQ(scheme().make_listener(address_of(endpoint_), options_, knobs_, io(), second),
              error::address_in_use);
    listener_.reset();
    EXPECT_EQ(scheme().make_listener(address_of(endpoint_), options_, knobs_, io(), second), error::none);
}

TEST_P(tcp_addresses, may_be_names_and_have_a_source) {
    listen();
    start();
    const std::string port = endpoint_.substr(endpoint_.rfind(':') + 1);
    for (const std::string &address :
         {"localhost:" + port, "127.0.0.1:0;127.0.0.1:" + port, "lo;localhost:" + port}) {
        attempt a = dial(address);
        EXPECT_EQ(a.failure, error::none) << address;
        EXPECT_TRUE(next_accepted().made) << address;
        destroy(a.made);
    }
    EXPECT_EQ(dial("nosuch;127.0.0.1:" + port).failure, error::no_device);
    EXPECT_EQ(dial("192.0.2.1;127.0.0.1:" + port).failure, error::address_not_available);
    EXPECT_EQ(dial(":" + port).failure, error::invalid);
}

TEST_P(tcp_addresses, take_both_families_when_ipv6_is_allowed) {
    options_.ipv6 = true;
    ASSERT_EQ(scheme().make_listener("*:*", options_, knobs_, io(), listener_), error::none);
    endpoint_ = listener_->endpoint();
    if (endpoint_.find('[') == std::string::npos)
        GTEST_SKIP() << "no IPv6 here";
    start();
    const std::string port = endpoint_.substr(endpoint_.rfind(':') + 1);
    for (const std::string host : {"127.0.0.1", "[::1]", "localhost"}) {
        attempt a = dial(host + ":" + port);
        EXPECT_EQ(a.failure, error::none) << host;
        EXPECT_TRUE(next_accepted().made) << host;
        destroy(a.made);
    }
}

TEST_P(tcp_addresses, are_filtered) {
    const auto filter = [](std::uint8_t a, std::uint8_t b, int bits) {
        ipv4_or_6_filter f;
        f.address[0] = a;
        f.address[1] = b;
        f.prefix_bits = bits;
        return f;
    };
    options_.tcp_accept_filters = {filter(10, 0, 8), filter(128, 0, 1)};
    listen();
    start();
    attempt a = dial(address_of(endpoint_));
    attempt refused = next_accepted();
    EXPECT_EQ(refused.failure, error::connection_refused);
    EXPECT_FALSE(refused.made);
    destroy(a.made);
    on_loop([&] { listener_.reset(); });
    options_.tcp_accept_filters.push_back(filter(126, 0, 7));
    listen();
    start();
    a = dial(address_of(endpoint_));
    EXPECT_TRUE(next_accepted().made);
    destroy(a.made);
}

TEST_P(tcp_addresses, set_the_options_of_their_sockets) {
    options_.tcp_keepalive = 1;
    options_.tcp_keepalive_count = 7;
    options_.tcp_keepalive_idle = 33;
    options_.tcp_keepalive_interval = 11;
    options_.tcp_max_retransmit_ms = 4000;
    options_.type_of_service = 0x28;
    options_.send_buffer = 20000;
    std::unique_ptr<stream> client, server;
    connect(client, server);
    const auto value = [](stream &s, int level, int option) {
        int v = -1;
        socklen_t size = sizeof v;
        ::getsockopt(s.descriptor(), level, option, &v, &size);
        return v;
    };
    for (stream *s : {client.get(), server.get()}) {
        EXPECT_NE(value(*s, IPPROTO_TCP, TCP_NODELAY), 0);
        EXPECT_NE(value(*s, SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_EQ(value(*s, IPPROTO_TCP, TCP_KEEPCNT), 7);
        EXPECT_EQ(value(*s, IPPROTO_TCP, TCP_KEEPIDLE), 33);
        EXPECT_EQ(value(*s, IPPROTO_TCP, TCP_KEEPINTVL), 11);
        EXPECT_EQ(value(*s, IPPROTO_TCP, TCP_USER_TIMEOUT), 4000);
        EXPECT_EQ(value(*s, IPPROTO_IP, IP_TOS), 0x28);
        EXPECT_EQ(value(*s, SOL_SOCKET, SO_SNDBUF), 40000);  // the kernel doubles it
    }
    destroy(client);
    destroy(server);
}

TEST_P(tcp_addresses, do_not_connect_to_themselves) {
    // A port that is free, so that a socket bound to it connects to itself.
    listen();
    const std::string port = endpoint_.substr(endpoint_.rfind(':') + 1);
    listener_.reset();
    attempt a = dial("127.0.0.1:" + port + ";127.0.0.1:" + port);
    EXPECT_EQ(a.failure, error::connection_refused);
    EXPECT_FALSE(a.made);
}

TEST_P(tcp_addresses, give_up_connecting_in_time) {
    // A listener whose queue is full answers no further connection.
    options_.backlog = 0;
    options_.connect_timeout_ms = 30;
    listen();
    std::vector<attempt> queued;
    do
        queued.push_back(dial(address_of(endpoint_)));
    while (!failed(queued.back().failure) && queued.size() < 10);
    EXPECT_EQ(queued.back().failure, error::timed_out);
    on_loop([&] { queued.clear(); });
}

INSTANTIATE_TEST_SUITE_P(tcp, tcp_addresses, ::testing::Values(kind_of_stream{"tcp", "tcp"}));

using ipc_addresses = streams;

TEST_P(ipc_addresses, are_checked) {
    std::unique_ptr<listener> l;
    const std::string folder = knobs_.temporary_directory + "/";
    const auto bind = [&](const std::string &address) {
        return to_errno(scheme().make_listener(address, options_, knobs_, io(), l));
    };
    EXPECT_EQ(bind(""), EINVAL);
    EXPECT_EQ(bind("@"), EINVAL);
    EXPECT_EQ(bind(folder + "no/such"), ENOENT);
    EXPECT_EQ(bind(knobs_.temporary_directory), EADDRINUSE);
    EXPECT_EQ(bind(folder + std::string(108 - folder.size(), 'x')), ENAMETOOLONG);
    EXPECT_EQ(bind(folder + std::string(107 - folder.size(), 'x')), 0);
    EXPECT_EQ(to_errno(scheme().check_connect("", options_)), EINVAL);
    EXPECT_EQ(to_errno(scheme().check_connect(std::string(108, 'x'), options_)), ENAMETOOLONG);
    EXPECT_EQ(to_errno(scheme().check_connect("/a", options_)), 0);
    l.reset();
}

TEST_P(ipc_addresses, with_a_wild_card_are_removed_with_their_folder) {
    listen();
    const std::string path = address_of(endpoint_);
    EXPECT_TRUE(exists(path));
    EXPECT_EQ(path.rfind(knobs_.temporary_directory + "/", 0), 0u);
    listener_.reset();
    EXPECT_FALSE(exists(path));
    EXPECT_FALSE(exists(path.substr(0, path.rfind('/'))));
}

TEST_P(ipc_addresses, go_to_the_last_who_binds) {
    const std::string path = knobs_.temporary_directory + "/a";
    std::unique_ptr<listener> first;
    ASSERT_EQ(scheme().make_listener(path, options_, knobs_, io(), first), error::none);
    ASSERT_EQ(scheme().make_listener(path, options_, knobs_, io(), listener_), error::none);
    start();
    first.reset();  // leaves the file to the second
    attempt a = dial(path);
    EXPECT_EQ(a.failure, error::none);
    EXPECT_TRUE(next_accepted().made);
    destroy(a.made);
    on_loop([&] { listener_.reset(); });
    EXPECT_FALSE(exists(path));
}

TEST_P(ipc_addresses, are_filtered_by_user_group_and_process) {
    options_.ipc_uid_filters = {::getuid() + 1};
    listen();
    start();
    attempt a = dial(address_of(endpoint_));
    EXPECT_EQ(next_accepted().failure, error::connection_refused);
    destroy(a.made);
    for (int kind = 0; kind < 3; ++kind) {
        on_loop([&] { listener_.reset(); });
        options_.ipc_uid_filters = {::getuid() + (kind != 0)};
        options_.ipc_gid_filters = {::getgid() + (kind != 1)};
        options_.ipc_pid_filters = {::getpid() + (kind != 2)};
        listen();
        start();
        a = dial(address_of(endpoint_));
        EXPECT_EQ(next_accepted().failure, error::none) << kind;
        destroy(a.made);
    }
}

INSTANTIATE_TEST_SUITE_P(ipc, ipc_addresses, ::testing::Values(kind_of_stream{"ipc", "ipc"}));

}  // namespace
}  // namespace zlink
