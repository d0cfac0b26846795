#include "metrics/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace zlink::metrics {
namespace {

struct listener {
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

}  // namespace
}  // namespace zlink::metrics
