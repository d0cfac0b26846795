// A name server that takes its time: nothing but the connection waits for it.
//
// getaddrinfo() is this program's own, and answers when it is told to.
#include "sockets.hpp"

#include <condition_variable>
#include <dlfcn.h>
#include <mutex>
#include <netdb.h>
#include <thread>

namespace {

struct name_server {
    std::mutex mutex;
    std::condition_variable news;
    int asked = 0;
    int answered = 0;
    bool answers = false;

    void wait_for_answer() {
        std::unique_lock lock(mutex);
        ++asked;
        news.notify_all();
        news.wait(lock, [this] { return answers; });
        ++answered;
        news.notify_all();
    }
    bool waits_for(const int &count) {
        std::unique_lock lock(mutex);
        return news.wait_for(lock, zlink_test::patience, [&] { return count > 0; });
    }
    void answer() {
        std::lock_guard guard(mutex);
        answers = true;
        news.notify_all();
    }
};
name_server &server() {
    static name_server &only = *new name_server;  // the library's thread may outlive main()
    return only;
}

}  // namespace

extern "C" int getaddrinfo(const char *host, const char *service, const addrinfo *hints, addrinfo **found) {
    const bool asks_nobody = hints && (hints->ai_flags & AI_NUMERICHOST);
    if (!asks_nobody && host && std::strcmp(host, "slow.example") == 0) {
        server().wait_for_answer();
        return EAI_NONAME;
    }
    static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(host, service, hints, found);
}

namespace {

using namespace zlink_test;

TEST(slow_names, do_not_hold_up_the_end_of_a_context) {
    void *context = zmq_ctx_new();
    void *push = zmq_socket(context, ZMQ_PUSH);
    ASSERT_EQ(zmq_connect(push, "tcp://slow.example:5555"), 0);
    ASSERT_TRUE(server().waits_for(server().asked));
    EXPECT_EQ(zmq_close(push), 0);
    std::atomic<bool> has_ended{false};
    std::thread ends([&] {
        EXPECT_EQ(zmq_ctx_term(context), 0);
        has_ended = true;
    });
    EXPECT_TRUE(eventually([&] { return has_ended.load(); }));
    server().answer();
    ends.join();
    EXPECT_TRUE(server().waits_for(server().answered));
}

}  // namespace
