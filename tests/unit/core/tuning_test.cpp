// The environment knobs: defaults, overrides by transport, and bad values.
#include "core/tuning.hpp"

#include <climits>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace zlink {
namespace {

std::map<std::string, std::string> environment;
const char *look_up(const char *name) {
    const auto it = environment.find(name);
    return it == environment.end() ? nullptr : it->second.c_str();
}

tuning read_with(std::map<std::string, std::string> values) {
    environment = std::move(values);
    return read_tuning(look_up);
}

TEST(tuning, has_the_documented_defaults) {
    const tuning t = read_with({});
    for (const batching &sizes : {t.tcp, t.ipc, t.inproc}) {
        EXPECT_EQ(sizes.in_batch_size, 65536u);
        EXPECT_EQ(sizes.out_batch_size, 262144u);
        EXPECT_EQ(sizes.out_batch_size_small, 128u);
        EXPECT_EQ(sizes.out_writev_threshold, default_writev_threshold);
    }
    EXPECT_EQ(t.tcp.tcp_max_transfer, 0u);
    EXPECT_EQ(t.tcp.senders_batch_size, 65160u);
    EXPECT_EQ(t.tcp.piece, 65160u);
    EXPECT_EQ(t.ipc.senders_batch_size, 1048576u);
    EXPECT_EQ(t.ipc.piece, 0u);
    EXPECT_EQ(t.ipc.shared_memory, 1048576u);
    EXPECT_EQ(t.tcp.shared_memory, 0u);
    EXPECT_EQ(t.inproc.shared_memory, 0u);
    EXPECT_EQ(t.temporary_directory, "/tmp");
    EXPECT_TRUE(t.spins);
}

TEST(tuning, turns_spinning_off_and_on_and_ignores_anything_else_with_a_warning) {
    EXPECT_FALSE(read_with({{"ZMQ_ASIO_SPIN", "0"}}).spins);
    EXPECT_TRUE(read_with({{"ZMQ_ASIO_SPIN", "1"}}).spins);
    for (const char *value : {"", "2", "-1", "no", "0 "}) {
        ::testing::internal::CaptureStderr();
        EXPECT_TRUE(read_with({{"ZMQ_ASIO_SPIN", value}}).spins) << value;
        EXPECT_NE(::testing::internal::GetCapturedStderr().find("ZMQ_ASIO_SPIN"), std::string::npos) << value;
    }
}

TEST(tuning, takes_a_plain_variable_for_every_transport) {
    const tuning t = read_with({{"ZMQ_ASIO_IN_BATCH_SIZE", "1024"},
                                {"ZMQ_ASIO_OUT_BATCH_SIZE", "2048"},
                                {"ZMQ_ASIO_OUT_BATCH_SIZE_SMALL", "512"},
                                {"ZMQ_ASIO_OUT_WRITEV_THRESHOLD", "100"},
                                {"ZMQ_ASIO_TCP_MAX_TRANSFER", "4096"}});
    for (const batching &sizes : {t.tcp, t.ipc, t.inproc}) {
        EXPECT_EQ(sizes.in_batch_size, 1024u);
        EXPECT_EQ(sizes.out_batch_size, 2048u);
        EXPECT_EQ(sizes.out_batch_size_small, 512u);
        EXPECT_EQ(sizes.out_writev_threshold, 100u);
    }
    EXPECT_EQ(t.tcp.tcp_max_transfer, 4096u);
}

TEST(tuning, prefers_the_variable_of_the_transport) {
    const tuning t = read_with({{"ZMQ_ASIO_OUT_BATCH_SIZE", "2048"},
                                {"ZMQ_ASIO_OUT_BATCH_SIZE_TCP", "1000"},
                                {"ZMQ_ASIO_OUT_BATCH_SIZE_SMALL_IPC", "600"},
                                {"ZMQ_ASIO_OUT_WRITEV_THRESHOLD_INPROC", "700"}});
    EXPECT_EQ(t.tcp.out_batch_size, 1000u);
    EXPECT_EQ(t.ipc.out_batch_size, 2048u);
    EXPECT_EQ(t.ipc.out_batch_size_small, 600u);
    EXPECT_EQ(t.tcp.out_batch_size_small, 128u);
    EXPECT_EQ(t.inproc.out_writev_threshold, 700u);
    EXPECT_EQ(t.tcp.out_writev_threshold, default_writev_threshold);
}

TEST(tuning, makes_shared_memory_a_power_of_two_or_none) {
    const auto shared_memory = [](const char *value) {
        return read_with({{"ZMQ_ASIO_IPC_SHARED_MEMORY", value}}).ipc.shared_memory;
    };
    EXPECT_EQ(shared_memory("0"), 0u);
    EXPECT_EQ(shared_memory("65535"), 0u);
    EXPECT_EQ(shared_memory("65536"), 65536u);
    EXPECT_EQ(shared_memory("1000000"), 524288u);
    EXPECT_EQ(shared_memory("4194304"), 4194304u);
}

TEST(tuning, warns_about_a_bad_value_and_ignores_it) {
    for (const char *bad :
         {"", "x", "8k", "-1", "0", "511", " 4096", "16777217", "99999999999999999999999"}) {
        testing::internal::CaptureStderr();
        const tuning t = read_with({{"ZMQ_ASIO_OUT_BATCH_SIZE_TCP", bad}});
        const std::string warning = testing::internal::GetCapturedStderr();
        EXPECT_EQ(t.tcp.out_batch_size, batching{}.out_batch_size) << bad;
        EXPECT_NE(warning.find("ZMQ_ASIO_OUT_BATCH_SIZE_TCP"), std::string::npos) << bad;
    }
}

TEST(tuning, says_nothing_about_good_values) {
    testing::internal::CaptureStderr();
    (void)read_with({{"ZMQ_ASIO_OUT_BATCH_SIZE", "512"}, {"ZMQ_ASIO_IN_BATCH_SIZE", "16777216"}});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(tuning, takes_the_first_variable_that_names_a_directory) {
    EXPECT_EQ(read_with({{"TMPDIR", "/usr"}, {"TMP", "/var"}}).temporary_directory, "/usr");
    EXPECT_EQ(read_with({{"TMPDIR", "/no such place"}, {"TEMPDIR", "/var"}}).temporary_directory, "/var");
    EXPECT_EQ(read_with({{"TMP", "/dev/null"}}).temporary_directory, "/tmp");
}

TEST(tuning, takes_the_path_of_a_policy_as_it_is) {
    EXPECT_EQ(read_tuning([](const char *) -> const char * { return nullptr; }).policy, std::nullopt);
    const auto with_policy = [](const char *name) -> const char * {
        return std::string_view(name) == "ZLINK_POLICY" ? "" : nullptr;
    };
    EXPECT_EQ(read_tuning(with_policy).policy, "") << "an empty one is set, too";
}

TEST(batch_sizes_of_a_socket, go_before_the_environments_within_limits) {
    batching sizes;
    const batching before = sizes;
    override_batch_sizes(sizes, 0, 0);
    EXPECT_EQ(sizes.in_batch_size, before.in_batch_size);
    EXPECT_EQ(sizes.out_batch_size, before.out_batch_size);
    EXPECT_EQ(sizes.tcp_max_transfer, 0u);
    override_batch_sizes(sizes, 1, INT_MAX);
    EXPECT_EQ(sizes.in_batch_size, 512u);
    EXPECT_EQ(sizes.out_batch_size, 16u << 20);
    override_batch_sizes(sizes, 0, 5000);
    EXPECT_EQ(sizes.in_batch_size, 512u);
    EXPECT_EQ(sizes.out_batch_size, 5000u);
    EXPECT_EQ(sizes.tcp_max_transfer, 5000u);
    override_batch_sizes(sizes, 0, 6000);
    EXPECT_EQ(sizes.tcp_max_transfer, 5000u) << "the stricter of both";
}

}  // namespace
}  // namespace zlink
