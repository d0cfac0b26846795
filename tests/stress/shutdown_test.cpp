// Random programs that bind, connect, send, disconnect, close and terminate, from several threads:
// nothing hangs, nothing is used after it is gone.
//
// Chance:   the seeds are fixed; the schedule of the threads is not. ZLINK_STRESS_SECONDS prolongs
//           the run.
#include <zmq.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

clock_type::time_point end_of_run() {
    const char *text = std::getenv("ZLINK_STRESS_SECONDS");
    return clock_type::now() + std::chrono::seconds(text ? std::atoi(text) : 3);
}

/// A dozen endpoints that everybody knows: some are bound at a time, some by another context, some
/// by nobody.
std::string endpoint(unsigned number) {
    const std::string own = std::to_string(::getpid());
    switch (number % 3) {
    case 0:
        return "tcp://127.0.0.1:" + std::to_string(20000 + ::getpid() % 10000 + static_cast<int>(number));
    case 1:
        return "ipc://@zlink-shutdown-" + own + "-" + std::to_string(number);
    default:
        return "inproc://shutdown-" + std::to_string(number);
    }
}
constexpr unsigned endpoint_count = 12;

/// Types that go together, so that connections come about; a program keeps to one of the lists.
const std::vector<std::vector<int>> families = {{ZMQ_DEALER, ZMQ_ROUTER, ZMQ_REQ, ZMQ_REP},
                                                {ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_XSUB},
                                                {ZMQ_PUSH, ZMQ_PULL},
                                                {ZMQ_PAIR},
                                                {ZMQ_PAIR, ZMQ_PUB, ZMQ_SUB, ZMQ_REQ, ZMQ_REP, ZMQ_DEALER,
                                                 ZMQ_ROUTER, ZMQ_PULL, ZMQ_PUSH, ZMQ_XPUB, ZMQ_XSUB}};

/// One thread's sockets and what it does to them.
class program {
public:
    program(void *context, const std::vector<int> &types, unsigned seed)
        : context_(context), types_(types), generator_(seed) {}
    ~program() {
        for (void *s : sockets_)
            EXPECT_EQ(zmq_close(s), 0);
    }
    /// False when the context is over.
    bool step() {
        if (sockets_.empty() || (sockets_.size() < 6 && chance(10)))
            return open();
        void *s = sockets_[below(sockets_.size())];
        const std::string where = endpoint(below(endpoint_count));
        switch (below(10)) {
        case 0:
            return is_alive(zmq_bind(s, where.c_str()));
        case 1:
        case 2:
            return is_alive(zmq_connect(s, where.c_str()));
        case 3:
            return is_alive(zmq_unbind(s, where.c_str()));
        case 4:
            return is_alive(zmq_disconnect(s, where.c_str()));
        case 5:
            return chance(8) ? close(s) : wait(s);
        case 6:
            return receive(s);
        case 7:
            return monitor(s);
        default:
            return send(s);
        }
    }

private:
    unsigned below(std::size_t limit) { return static_cast<unsigned>(generator_() % limit); }
    bool chance(unsigned one_in) { return below(one_in) == 0; }
    static bool is_alive(int result) { return result >= 0 || zmq_errno() != ETERM; }

    bool open() {
        void *s = zmq_socket(context_, types_[below(types_.size())]);
        if (!s)
            return zmq_errno() != ETERM;
        sockets_.push_back(s);
        const auto set = [&](int option, int value) { zmq_setsockopt(s, option, &value, sizeof value); };
        set(ZMQ_LINGER, chance(2) ? 0 : 50);
        set(ZMQ_RECONNECT_IVL, 1);
        set(ZMQ_RECONNECT_IVL_MAX, 20);
        set(ZMQ_HANDSHAKE_IVL, chance(2) ? 30000 : 5);
        set(ZMQ_SNDHWM, chance(3) ? 1 : 100);
        set(ZMQ_RCVHWM, chance(3) ? 1 : 100);
        set(ZMQ_IMMEDIATE, chance(3));
        set(ZMQ_HEARTBEAT_IVL, chance(2) ? 0 : 5);
        zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
        return true;
    }
    bool close(void *s) {
        std::erase(sockets_, s);
        EXPECT_EQ(zmq_close(s), 0);
        return true;
    }
    bool send(void *s) {
        static const std::string content(100000, 'x');
        constexpr std::array<std::size_t, 5> sizes = {0, 10, 300, 9000, 100000};
        const int flags = ZMQ_DONTWAIT | (chance(4) ? ZMQ_SNDMORE : 0);
        return is_alive(zmq_send(s, content.data(), sizes[below(sizes.size())], flags));
    }
    /// Lets the I/O threads come to something.
    bool wait(void *s) {
        zmq_pollitem_t item{s, 0, ZMQ_POLLIN, 0};
        return is_alive(zmq_poll(&item, 1, static_cast<long>(below(3))));
    }
    bool receive(void *s) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        int result = 0;
        for (int i = 0; i < 20 && result >= 0; ++i)
            result = zmq_msg_recv(&part, s, ZMQ_DONTWAIT);
        const bool alive = is_alive(result);
        zmq_msg_close(&part);
        return alive;
    }
    bool monitor(void *s) {
        if (!chance(3))
            return is_alive(zmq_socket_monitor(s, nullptr, 0));
        const std::string name = "inproc://monitor-" + std::to_string(below(endpoint_count));
        return is_alive(zmq_socket_monitor(s, name.c_str(), ZMQ_EVENT_ALL));
    }

    void *context_;
    const std::vector<int> &types_;
    std::mt19937 generator_;
    std::vector<void *> sockets_;
};

/// One context from beginning to end, ended by chance while its threads are at work.
void live(int io_threads, unsigned seed) {
    std::mt19937 generator(seed);
    const std::vector<int> &types = families[generator() % families.size()];
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads);
    std::atomic<int> steps{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&, mine = generator()] {
            program p(context, types, static_cast<unsigned>(mine));
            for (int n = 0; n < 1000 && p.step(); ++n)
                ++steps;
        });
    const int enough = static_cast<int>(generator() % 600);
    while (steps < enough)
        std::this_thread::yield();
    if (generator() % 2) {
        EXPECT_EQ(zmq_ctx_shutdown(context), 0);
    }
    EXPECT_EQ(zmq_ctx_term(context), 0);  // returns once the threads have closed their sockets
    for (std::thread &t : threads)
        t.join();
}

TEST(shutdown, ends_whatever_is_going_on) {
    const auto end = end_of_run();
    for (unsigned seed = 0; clock_type::now() < end; ++seed)
        live(static_cast<int>(seed % 3), seed);
}

TEST(shutdown, ends_beside_another_context_at_the_same_endpoints) {
    const auto end = end_of_run();
    std::thread other([&] {
        for (unsigned seed = 10000; clock_type::now() < end; ++seed)
            live(4, seed);
    });
    for (unsigned seed = 20000; clock_type::now() < end; ++seed)
        live(1, seed);
    other.join();
}

TEST(shutdown, is_quick_with_many_sockets_and_peers) {
    void *context = zmq_ctx_new();
    std::vector<void *> sockets;
    void *router = zmq_socket(context, ZMQ_ROUTER);
    const int backlog = 400;
    ASSERT_EQ(zmq_setsockopt(router, ZMQ_BACKLOG, &backlog, sizeof backlog), 0);
    ASSERT_EQ(zmq_bind(router, "tcp://127.0.0.1:*"), 0);
    char where[256];
    std::size_t size = sizeof where;
    ASSERT_EQ(zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, where, &size), 0);
    for (int i = 0; i < 200; ++i) {
        sockets.push_back(zmq_socket(context, ZMQ_DEALER));
        ASSERT_EQ(zmq_connect(sockets.back(), where), 0);
        ASSERT_EQ(zmq_send(sockets.back(), "x", 1, 0), 1);
    }
    for (int i = 0; i < 200; ++i) {
        char id[16];
        ASSERT_GT(zmq_recv(router, id, sizeof id, 0), 0);
        ASSERT_EQ(zmq_recv(router, id, sizeof id, 0), 1);
    }
    for (void *s : sockets)
        EXPECT_EQ(zmq_close(s), 0);
    EXPECT_EQ(zmq_close(router), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
}

/// Says how long the end of a context takes whose socket has sent to nobody, with this linger.
std::chrono::milliseconds time_to_end(int linger_ms, const char *where) {
    void *context = zmq_ctx_new();
    void *s = zmq_socket(context, ZMQ_PUSH);
    zmq_setsockopt(s, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    EXPECT_EQ(zmq_connect(s, where), 0);
    EXPECT_EQ(zmq_send(s, "x", 1, 0), 1);
    const auto begin = clock_type::now();
    EXPECT_EQ(zmq_close(s), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_type::now() - begin);
}

TEST(linger, keeps_the_context_for_as_long_as_asked_and_not_without_end) {
    for (const std::string where : {"tcp://127.0.0.1:1", "ipc://@zlink-nobody-is-there"}) {
        (void)time_to_end(0, where.c_str());  // returns
        EXPECT_GE(time_to_end(100, where.c_str()), std::chrono::milliseconds(100));
    }
    (void)time_to_end(-1, "inproc://nobody-is-there");  // nobody can come any more
}

TEST(linger, delivers_what_was_sent_before_the_close) {
    void *receiving = zmq_ctx_new();
    void *pull = zmq_socket(receiving, ZMQ_PULL);
    ASSERT_EQ(zmq_bind(pull, "tcp://127.0.0.1:*"), 0);
    char where[256];
    std::size_t size = sizeof where;
    ASSERT_EQ(zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, where, &size), 0);
    constexpr int count = 300;
    std::thread sender([&] {
        void *context = zmq_ctx_new();
        void *push = zmq_socket(context, ZMQ_PUSH);
        EXPECT_EQ(zmq_connect(push, where), 0);
        const std::string body(20000, 'x');
        for (int i = 0; i < count; ++i)
            EXPECT_EQ(zmq_send(push, body.data(), body.size(), 0), static_cast<int>(body.size()));
        EXPECT_EQ(zmq_close(push), 0);
        EXPECT_EQ(zmq_ctx_term(context), 0);
    });
    std::string body(20000, '\0');
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(zmq_recv(pull, body.data(), body.size(), 0), static_cast<int>(body.size()));
    sender.join();
    zmq_close(pull);
    zmq_ctx_term(receiving);
}

}  // namespace
