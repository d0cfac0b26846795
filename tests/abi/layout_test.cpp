// Size, alignment and member offsets of the public structures, as programs built against libzmq
// have them compiled in.

#include <zmq.h>

#include <gtest/gtest.h>

#include <cstddef>

TEST(abi, a_message_is_64_bytes_aligned_like_a_pointer) {
    EXPECT_EQ(sizeof(zmq_msg_t), 64u);
    EXPECT_EQ(alignof(zmq_msg_t), alignof(void *));
}

TEST(abi, a_poll_item_has_libzmqs_layout) {
    EXPECT_EQ(sizeof(zmq_pollitem_t), 16u);
    EXPECT_EQ(alignof(zmq_pollitem_t), alignof(void *));
    EXPECT_EQ(offsetof(zmq_pollitem_t, socket), 0u);
    EXPECT_EQ(offsetof(zmq_pollitem_t, fd), 8u);
    EXPECT_EQ(offsetof(zmq_pollitem_t, events), 12u);
    EXPECT_EQ(offsetof(zmq_pollitem_t, revents), 14u);
}

TEST(abi, a_poller_event_has_libzmqs_layout) {
    EXPECT_EQ(sizeof(zmq_poller_event_t), 32u);
    EXPECT_EQ(alignof(zmq_poller_event_t), alignof(void *));
    EXPECT_EQ(offsetof(zmq_poller_event_t, socket), 0u);
    EXPECT_EQ(offsetof(zmq_poller_event_t, fd), 8u);
    EXPECT_EQ(offsetof(zmq_poller_event_t, user_data), 16u);
    EXPECT_EQ(offsetof(zmq_poller_event_t, events), 24u);
}

TEST(abi, the_version_programs_test_is_4_3_5) { EXPECT_EQ(ZMQ_VERSION, 40305); }
