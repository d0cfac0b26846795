// OpenSSL is taken down: who is inside is waited for, and who comes later learns of it. In a child:
// it cannot be undone.
#include "transport/tls_section.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace zlink {
namespace {

template <class Body>
void expect_of_child(Body holds) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(20);
        ::_exit(OPENSSL_init_ssl(0, nullptr) == 1 && tls_section::watch_fork() && tls_section::watch_end() &&
                        holds()
                    ? 0
                    : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(tls_section, is_left_before_openssl_is_taken_down) {
    expect_of_child([] {
        std::atomic<bool> is_inside{false}, has_left{false}, is_down{false};
        std::thread busy([&] {
            const tls_section inside;
            is_inside = true;
            while (!tls_section::is_over() && !is_down)
                std::this_thread::yield();
            // Long enough for whoever does not wait. To yield would take as long as others like.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            has_left = true;
        });
        while (!is_inside)
            std::this_thread::yield();
        OPENSSL_cleanup();
        const bool was_waited_for = has_left;
        is_down = true;
        busy.join();
        return was_waited_for;
    });
}

TEST(tls_section, of_the_thread_that_takes_openssl_down_is_not_waited_for) {
    expect_of_child([] {
        const tls_section inside;
        OPENSSL_cleanup();
        return tls_section::is_over();
    });
}

TEST(tls_section, that_is_entered_later_is_over) {
    expect_of_child([] {
        if (tls_section::is_over())
            return false;
        OPENSSL_cleanup();
        const tls_section inside;
        return tls_section::is_over();
    });
}

}  // namespace
}  // namespace zlink
