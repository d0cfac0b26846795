// zmq_sendiov and zmq_recviov: several bodies in one call.
#include "sockets.hpp"

#include <array>
#include <cstdlib>
#include <sys/uio.h>

namespace {

using namespace zlink_test;

int send_iov(test_socket &to, frames bodies, int flags) {
    std::vector<iovec> list;
    for (std::string &body : bodies)
        list.push_back({body.data(), body.size()});
    return zmq_sendiov(to.handle(), list.data(), list.size(), flags);
}

frames receive_iov(test_socket &from, std::size_t room, int flags = 0) {
    std::array<iovec, 8> list{};
    std::size_t count = room;
    const int result = zmq_recviov(from.handle(), list.data(), &count, flags);
    EXPECT_EQ(result, count ? static_cast<int>(count) : -1);
    frames bodies;
    for (std::size_t i = 0; i < count; ++i) {
        bodies.emplace_back(static_cast<const char *>(list[i].iov_base), list[i].iov_len);
        std::free(list[i].iov_base);
    }
    return bodies;
}

class iov : public testing::TestWithParam<int> {
protected:
    void SetUp() override { connected(zmq, pull, push, "inproc"); }

    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
};

TEST_P(iov, sends_messages_of_their_own_without_sndmore) {
    EXPECT_EQ(send_iov(push, {"one", "", "three"}, GetParam()), 5);
    EXPECT_EQ(pull.receive_all(), frames{"one"});
    EXPECT_EQ(pull.receive_all(), frames{""});
    EXPECT_EQ(pull.receive_all(), frames{"three"});
}

TEST_P(iov, sends_one_message_with_sndmore_which_ends_with_the_last_part) {
    EXPECT_EQ(send_iov(push, {"one", "", "three"}, GetParam() | ZMQ_SNDMORE), 5);
    EXPECT_EQ(send_iov(push, {"alone"}, GetParam() | ZMQ_SNDMORE), 5);
    EXPECT_EQ(pull.receive_all(), (frames{"one", "", "three"}));
    EXPECT_EQ(pull.receive_all(), frames{"alone"});
}

INSTANTIATE_TEST_SUITE_P(waiting_or_not, iov, testing::Values(0, ZMQ_DONTWAIT));

TEST_F(iov, receives_the_parts_of_one_message_as_far_as_there_is_room) {
    push.send_all({"1", "", "333"});
    EXPECT_EQ(receive_iov(pull, 8), (frames{"1", "", "333"}));
    push.send_all({"1", "22", "333"});
    push.send("next");
    EXPECT_EQ(receive_iov(pull, 2), (frames{"1", "22"}));
    EXPECT_EQ(receive_iov(pull, 8), frames{"333"});
    EXPECT_EQ(receive_iov(pull, 8), frames{"next"});
    EXPECT_EQ(receive_iov(pull, 8, ZMQ_DONTWAIT), frames{});
    EXPECT_EQ(zmq_errno(), EAGAIN);
}

TEST_F(iov, refuses_lists_of_nothing) {
    iovec one{nullptr, 0};
    std::size_t none = 0;
    EXPECT_FAILS(EINVAL, zmq_sendiov(push.handle(), nullptr, 1, 0));
    EXPECT_FAILS(EINVAL, zmq_sendiov(push.handle(), &one, 0, 0));
    EXPECT_FAILS(EINVAL, zmq_recviov(pull.handle(), &one, nullptr, 0));
    EXPECT_FAILS(EINVAL, zmq_recviov(pull.handle(), nullptr, &none, 0));
}

}  // namespace
