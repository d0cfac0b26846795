// The contexts of one endpoint, asked by several threads while the files that they are made of change.
#include "transport/tls_contexts.hpp"

#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "certificates.hpp"

namespace zlink {
namespace {

using namespace zlink_test;

TEST(tls_contexts, are_there_for_all_threads_while_the_files_change) {
    const identity other{{.name = "another"}, &good().authority};
    const std::string cert = file_with("changing.pem", other.certificate_pem() + other.key_pem());
    settings options;
    options.tls_cert = options.tls_key = cert;
    std::shared_ptr<tls_contexts> contexts;
    ASSERT_EQ(tls_contexts::make(tls_context::role::server, options, {}, contexts), error::none);
    const auto first = contexts->current(time_point{});
    std::atomic<int> minute{1};  // each a time to look
    std::atomic<bool> is_over{false};
    const auto ask = [&] {
        while (!is_over) {
            EXPECT_TRUE(contexts->current(time_point{} + std::chrono::minutes(minute)));
            std::this_thread::yield();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back(ask);
    for (int i = 0; i < 50; ++i) {
        const identity next{{.name = "number " + std::to_string(i)}, &good().authority};
        std::filesystem::rename(file_with("fresh.pem", next.certificate_pem() + next.key_pem()), cert);
        ++minute;
    }
    is_over = true;
    for (std::thread &each : threads)
        each.join();
    EXPECT_NE(contexts->current(time_point{} + std::chrono::minutes(minute + 1)), first);
}

}  // namespace
}  // namespace zlink
