// The contexts of one endpoint, asked by several threads while the files that they are made of
// change.
#include "transport/tls_contexts.hpp"

#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "core/reason.hpp"

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

/// Files that are on no disk.
class kept_in_a_map final : public kept_files {
public:
    std::shared_ptr<const secret> find(const std::string &path) const noexcept override {
        const auto found = files.find(path);
        return found == files.end() ? nullptr : found->second;
    }
    void put(const std::string &path, const std::string &text) {
        files[path] = std::make_shared<secret>(text);
    }

private:
    std::map<std::string, std::shared_ptr<const secret>> files;
};

TEST(tls_contexts, take_files_that_are_kept_from_no_disk) {
    const auto kept = std::make_shared<kept_in_a_map>();
    kept->put("/nowhere/cert", good().server.certificate_pem());
    kept->put("/nowhere/key", good().server.key_pem());
    kept->put("/nowhere/ca", good().authority.certificate_pem());
    settings options;
    options.tls_cert = "/nowhere/cert";
    options.tls_key = "/nowhere/key";
    options.tls_ca = "/nowhere/ca";
    options.tls_kept = kept;
    for (const tls_context::role as : {tls_context::role::server, tls_context::role::client}) {
        std::shared_ptr<tls_contexts> contexts;
        ASSERT_EQ(tls_contexts::make(as, options, "localhost", contexts), error::none);
        time_point now{};
        const auto later = [&] { return now += std::chrono::minutes(1); };
        const auto first = contexts->current(later());
        EXPECT_EQ(contexts->current(later()), first);
        kept->put("/nowhere/key", "this is none");
        EXPECT_EQ(contexts->current(later()), first) << "what cannot be used leaves all as it was";
        EXPECT_NE(reason::take(), "");
        kept->put("/nowhere/key", good().server.key_pem());
        const auto second = contexts->current(later());
        EXPECT_NE(second, first);
        EXPECT_EQ(contexts->current(later()), second);
    }
    std::shared_ptr<tls_contexts> none;
    options.tls_ca = good().ca;  // it is there, on the disk
    EXPECT_EQ(tls_contexts::make(tls_context::role::client, options, "localhost", none), error::invalid);
    EXPECT_EQ(reason::take(), "nobody has read " + good().ca);
}

}  // namespace
}  // namespace zlink
