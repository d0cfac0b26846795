// LAST_ENDPOINT: the name of what was bound or connected last, without wild-cards.
#include "sockets.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace zlink_test;

TEST(last_endpoint, is_empty_before_anything_is_bound) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_EQ(any.get_text(ZMQ_LAST_ENDPOINT), std::string(1, '\0'));
}

TEST(last_endpoint, names_the_port_that_was_chosen) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    for (const char *wildcard : {"tcp://127.0.0.1:*", "tcp://127.0.0.1:0"}) {
        const std::string name = any.bind(wildcard);
        EXPECT_EQ(name.rfind("tcp://127.0.0.1:", 0), 0u) << name;
        EXPECT_GT(std::stoi(name.substr(16)), 0);
    }
}

TEST(last_endpoint, names_any_address_as_zeros) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_EQ(any.bind("tcp://*:*").rfind("tcp://0.0.0.0:", 0), 0u);
}

TEST(last_endpoint, names_the_path_that_was_chosen) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    const std::string name = any.bind("ipc://*");
    ASSERT_EQ(name.rfind("ipc://", 0), 0u) << name;
    struct stat found;
    EXPECT_EQ(::stat(name.c_str() + 6, &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
}

TEST(last_endpoint, names_abstract_and_inproc_addresses_as_they_are) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    const std::string abstract = "ipc://@zlink-last-endpoint-" + std::to_string(::getpid());
    EXPECT_EQ(any.bind(abstract), abstract);
    const std::string name = scratch_endpoint("inproc");
    EXPECT_EQ(any.bind(name), name);
}

TEST(last_endpoint, unbinds_by_the_name_it_gave) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    for (const char *transport : {"tcp", "ipc", "inproc"}) {
        const std::string name = any.bind(scratch_endpoint(transport));
        EXPECT_EQ(any.unbind(name), 0) << name;
        EXPECT_FAILS(ENOENT, any.unbind(name));
    }
}

TEST(last_endpoint, fails_when_the_buffer_is_too_small) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    any.bind("tcp://127.0.0.1:*");
    char text[8];
    std::size_t size = sizeof text;
    EXPECT_FAILS(EINVAL, zmq_getsockopt(any.handle(), ZMQ_LAST_ENDPOINT, text, &size));
}

}  // namespace
