#include "metrics/server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "eventually.hpp"

namespace zlink::metrics {
namespace {

/// Somebody listens there.
struct listener {
    explicit listener(const sockaddr_in &there) : where(there) {}
    listener() : descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        EXPECT_EQ(::bind(descriptor.get(), reinterpret_cast<const sockaddr *>(&where), size), 0);
        EXPECT_EQ(::listen(descriptor.get(), 8), 0);
        EXPECT_EQ(::getsockname(descriptor.get(), reinterpret_cast<sockaddr *>(&where), &size), 0);
    }
    /// Empty where nobody listens any more.
    owned_descriptor connect() const {
        owned_descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(made.get(), reinterpret_cast<const sockaddr *>(&where), sizeof where) != 0)
            return owned_descriptor();
        return made;
    }

    sockaddr_in where{};
    owned_descriptor descriptor;
};

TEST(a_server_of_numbers, lets_nobody_in_who_comes_to_a_listener_of_the_program_under_its_number) {
    listener ours, of_program;
    const int number = ours.descriptor.get();
    std::thread thread;
    {
        server numbers(std::move(ours.descriptor), std::nullopt,
                       [](const http_request &) { return response("200 OK", "text/plain", ""); });
        thread = std::thread([&] { numbers.run(); });
        // It waits for its own one until then, or looks at the other one already. Who is woken by
        // the first looks at the second, and sleeps again where nobody has come to that yet: so the
        // second has somebody before.
        ASSERT_EQ(::dup3(of_program.descriptor.get(), number, O_CLOEXEC), number);
        const owned_descriptor to_program = of_program.connect(), to_ours = ours.connect();
        thread.join();
    }
    const owned_descriptor accepted(::accept4(number, nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(accepted) << "it was closed, or has been served";
    ::close(number);
}

TEST(a_server_of_numbers, ends_when_something_can_be_read_where_it_was_told_to_look) {
    listener ours;
    const listener where{ours.where};
    server numbers(std::move(ours.descriptor), std::nullopt,
                   [](const http_request &) { return response("200 OK", "text/plain", ""); });
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const owned_descriptor reading(ends[0]), writing(ends[1]);
    std::thread thread([&] { numbers.run(reading.get()); });
    const owned_descriptor one = where.connect();
    constexpr std::string_view request = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_EQ(::send(one.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    char answer[12];
    EXPECT_EQ(::recv(one.get(), answer, sizeof answer, MSG_WAITALL), ssize_t{sizeof answer});
    EXPECT_EQ(::write(writing.get(), "x", 1), 1);
    thread.join();
}

TEST(a_server_of_numbers, answers_nobody_else_when_its_end_comes_during_an_answer) {
    listener ours;
    const listener where{ours.where};
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const owned_descriptor reading(ends[0]), writing(ends[1]);
    int answers = 0;
    server numbers(std::move(ours.descriptor), std::nullopt, [&](const http_request &) {
        ++answers;
        EXPECT_EQ(::write(writing.get(), "x", 1), 1);
        return response("200 OK", "text/plain", "");
    });
    constexpr std::string_view request = "GET / HTTP/1.1\r\n\r\n";
    const owned_descriptor all[] = {where.connect(), where.connect(), where.connect()};
    for (const owned_descriptor &each : all)
        EXPECT_EQ(::send(each.get(), request.data(), request.size(), 0),
                  static_cast<ssize_t>(request.size()));
    numbers.run(reading.get());
    EXPECT_EQ(answers, 1);
}

/// Whether the server has ended it, or has said something.
bool has_heard(const owned_descriptor &of, int milliseconds) {
    pollfd wish{of.get(), POLLIN, 0};
    return ::poll(&wish, 1, milliseconds) > 0;
}

TEST(a_server_of_numbers, lets_in_a_ninth_when_one_of_eight_has_gone) {
    listener ours;
    const listener where{ours.where};
    owned_descriptor descriptor = std::move(ours.descriptor);
    const owned_descriptor watched(::dup(descriptor.get()));
    const auto waiting = [&] {  // in the system's queue
        tcp_info info{};
        socklen_t size = sizeof info;
        EXPECT_EQ(::getsockopt(watched.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
        return info.tcpi_unacked;
    };
    const int number = descriptor.get();
    server numbers(std::move(descriptor), std::nullopt,
                   [](const http_request &) { return response("200 OK", "text/plain", ""); });
    std::thread thread([&] { numbers.run(); });
    std::vector<owned_descriptor> silent;
    for (int i = 0; i < 8; ++i)
        silent.push_back(where.connect());
    const owned_descriptor ninth = where.connect();
    constexpr std::string_view request = "GET / HTTP/1.1\r\n\r\n";
    EXPECT_EQ(::send(ninth.get(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    EXPECT_TRUE(zlink_test::eventually([&] { return waiting() <= 1; }));
    // Those who say nothing go after five seconds, which a busy machine may need for this.
    const bool was_heard = has_heard(ninth, 100);
    const auto has_gone = [](const owned_descriptor &each) { return has_heard(each, 0); };
    EXPECT_TRUE(!was_heard || std::any_of(silent.begin(), silent.end(), has_gone));
    silent.front() = owned_descriptor();
    EXPECT_TRUE(has_heard(ninth, 10'000));
    char answer[12];
    EXPECT_EQ(::recv(ninth.get(), answer, sizeof answer, MSG_WAITALL), ssize_t{sizeof answer});
    EXPECT_EQ(std::string_view(answer, sizeof answer), "HTTP/1.1 200");
    // The server ends when its number is another descriptor.
    listener another;
    ASSERT_EQ(::dup3(another.descriptor.get(), number, O_CLOEXEC), number);
    silent.clear();
    const owned_descriptor to_it = another.connect(), to_ours = where.connect();
    thread.join();
    ::close(number);
}

}  // namespace
}  // namespace zlink::metrics
