// Every message arrives whole, in order and in the same form, whatever the batching variables say.
#include "transports.hpp"

#include <cstdlib>
#include <map>
#include <thread>

namespace {

using namespace zlink_test;

/// Sets variables for the contexts that are made while it lives.
class environment {
public:
    explicit environment(const std::map<std::string, std::string> &values) : values_(values) {
        for (const auto &[name, value] : values_)
            ::setenv(name.c_str(), value.c_str(), 1);
    }
    ~environment() {
        for (const auto &[name, value] : values_)
            ::unsetenv(name.c_str());
    }

private:
    const std::map<std::string, std::string> values_;
};

class batch_sizes : public ::testing::TestWithParam<std::string> {};

void carry_all_sizes(const std::string &transport) {
    context zmq;
    test_socket from = zmq.socket(ZMQ_PUSH), to = zmq.socket(ZMQ_PULL);
    connected(zmq, to, from, transport);
    std::vector<frames> messages;
    for (const std::size_t size : {0, 1, 100, 255, 256, 511, 512, 513, 4096, 8192, 40000, 70000, 300000})
        for (const char fill : {'a', 'b', 'c'})
            messages.push_back({std::string(size, fill), "", std::string(size / 2, fill)});
    std::thread sender([&] {
        for (const frames &message : messages)
            for (std::size_t i = 0; i < message.size(); ++i) {
                zmq_msg_t part;
                zmq_msg_init_size(&part, message[i].size());
                std::copy(message[i].begin(), message[i].end(), static_cast<char *>(zmq_msg_data(&part)));
                EXPECT_NE(zmq_msg_send(&part, from.handle(), i + 1 < message.size() ? ZMQ_SNDMORE : 0), -1);
            }
    });
    for (const frames &message : messages)
        EXPECT_EQ(to.receive_all(), message);
    sender.join();
}

TEST_P(batch_sizes, may_be_as_small_as_allowed) {
    const environment small({{"ZMQ_ASIO_IN_BATCH_SIZE", "512"},
                             {"ZMQ_ASIO_OUT_BATCH_SIZE", "512"},
                             {"ZMQ_ASIO_OUT_BATCH_SIZE_SMALL", "512"},
                             {"ZMQ_ASIO_OUT_WRITEV_THRESHOLD", "64"},
                             {"ZMQ_ASIO_TCP_MAX_TRANSFER", "512"}});
    carry_all_sizes(GetParam());
}

TEST_P(batch_sizes, may_be_larger_than_all_messages) {
    const environment large({{"ZMQ_ASIO_IN_BATCH_SIZE", "4194304"},
                             {"ZMQ_ASIO_OUT_BATCH_SIZE", "16777216"},
                             {"ZMQ_ASIO_OUT_BATCH_SIZE_SMALL", "16777216"},
                             {"ZMQ_ASIO_OUT_WRITEV_THRESHOLD", "1073741824"}});
    carry_all_sizes(GetParam());
}

INSTANTIATE_TEST_SUITE_P(over, batch_sizes, ::testing::ValuesIn(built_transports()), transport_name);

}  // namespace
