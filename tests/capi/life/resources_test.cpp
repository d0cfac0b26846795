// Tests what happens when the system has no descriptors or threads left: errno comes back, nothing
// aborts or hangs, and what runs goes on. Each test limits a process of its own.
#include <zmq.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "raw_peer.hpp"

using namespace zlink::test;

extern "C" void __lsan_disable() __attribute__((weak));

namespace {

/// Ends the process unless `holds`: the tests below run in processes of their own.
void check(bool holds, const char *what, int line) {
    if (holds)
        return;
    std::fprintf(stderr, "line %d: %s, errno %d (%s)\n", line, what, errno, std::strerror(errno));
    std::_Exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

/// Runs `body` in a process of its own and expects it to come to its end.
void in_another_process(const std::function<void()> &body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(100);  // a hang is a failure
        body();
        std::_Exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "failed");
}

int open_descriptors() {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd)
        count += ::fcntl(fd, F_GETFD) != -1;
    return count;
}

void limit_descriptors(int more) {
    const rlimit limit{static_cast<rlim_t>(open_descriptors() + more), 4096};
    CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}
void lift_limit() {
    const rlimit limit{4096, 4096};
    CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

bool is_shortage() { return errno == EMFILE || errno == ENFILE; }

/// Takes every descriptor that is left.
std::vector<int> take_all_descriptors() {
    std::vector<int> taken;
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        taken.push_back(fd);
    return taken;
}
void give_back(const std::vector<int> &taken) {
    for (const int fd : taken)
        ::close(fd);
}

void set(void *s, int option, int value) { CHECK(zmq_setsockopt(s, option, &value, sizeof value) == 0); }

std::string last_endpoint(void *s) {
    char text[256];
    std::size_t size = sizeof text;
    CHECK(zmq_getsockopt(s, ZMQ_LAST_ENDPOINT, text, &size) == 0);
    return text;
}

/// A little of everything; each step that fails for want of descriptors ends it. True when it came
/// to the end.
bool talk(const std::string &where) {
    void *context = zmq_ctx_new();
    if (!context)
        return CHECK(is_shortage()), false;
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = pull ? zmq_socket(context, ZMQ_PUSH) : nullptr;
    bool is_done = false;
    if (!pull || !push) {
        CHECK(is_shortage());
    } else {
        set(pull, ZMQ_LINGER, 0);
        set(push, ZMQ_LINGER, 0);
        // The connection may not come about, and both try again for ever.
        set(pull, ZMQ_RCVTIMEO, 300);
        set(push, ZMQ_SNDTIMEO, 300);
        char octet = 'x';
        const auto is_ok = [](int result) {
            return result >= 0 || (CHECK(is_shortage() || errno == EAGAIN), false);
        };
        is_done = is_ok(zmq_bind(pull, where.c_str())) &&
                  is_ok(zmq_connect(push, last_endpoint(pull).c_str())) &&
                  is_ok(zmq_socket_monitor(push, "inproc://monitor", ZMQ_EVENT_ALL)) &&
                  is_ok(zmq_send(push, &octet, 1, 0)) && is_ok(zmq_recv(pull, &octet, 1, 0));
    }
    if (push)
        CHECK(zmq_close(push) == 0);
    if (pull)
        CHECK(zmq_close(pull) == 0);
    CHECK(zmq_ctx_term(context) == 0);
    return is_done;
}

class shortage : public testing::TestWithParam<const char *> {};

TEST_P(shortage, of_descriptors_gives_an_error_at_each_step_and_then_works) {
    for (int more = 0;; ++more) {
        ASSERT_LT(more, 40);
        int status = 0;
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(60);
            limit_descriptors(more);
            const int before = open_descriptors();
            const bool is_done = talk(GetParam());
            CHECK(open_descriptors() == before);
            lift_limit();
            CHECK(talk(GetParam()));
            std::_Exit(is_done ? 2 : 3);
        }
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status)) << more << " descriptors, signal " << WTERMSIG(status);
        ASSERT_GE(WEXITSTATUS(status), 2) << more << " descriptors";
        if (WEXITSTATUS(status) == 2)
            break;
    }
}

INSTANTIATE_TEST_SUITE_P(transports, shortage,
                         testing::Values("tcp://127.0.0.1:*", "ipc://*", "inproc://name"),
                         [](const auto &info) {
                             return std::string(info.param).substr(0, std::string(info.param).find(':'));
                         });

sockaddr_in address_of(const std::string &endpoint) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    return out;
}

TEST(shortage_while_running, leaves_what_is_there_alone_and_ends_when_descriptors_are_free) {
    in_another_process([] {
        void *context = zmq_ctx_new();
        void *pull = zmq_socket(context, ZMQ_PULL);
        void *push = zmq_socket(context, ZMQ_PUSH);
        void *log = zmq_socket(context, ZMQ_PAIR);
        CHECK(pull && push && log);
        set(pull, ZMQ_RCVTIMEO, patience_ms);
        set(push, ZMQ_SNDTIMEO, patience_ms);
        set(log, ZMQ_RCVTIMEO, patience_ms);
        CHECK(zmq_socket_monitor(pull, "inproc://log", ZMQ_EVENT_ACCEPT_FAILED) == 0);
        CHECK(zmq_connect(log, "inproc://log") == 0);
        CHECK(zmq_bind(pull, "tcp://127.0.0.1:*") == 0);
        const std::string where = last_endpoint(pull);
        CHECK(zmq_connect(push, where.c_str()) == 0);
        char octet = 'x';
        // All have what they wait with.
        CHECK(zmq_send(push, &octet, 1, 0) == 1 && zmq_recv(pull, &octet, 1, 0) == 1);
        set(pull, ZMQ_RCVTIMEO, 1);
        CHECK(zmq_recv(pull, &octet, 1, 0) == -1 && errno == EAGAIN);
        set(log, ZMQ_RCVTIMEO, 1);
        CHECK(zmq_recv(log, &octet, 1, 0) == -1 && errno == EAGAIN);
        set(pull, ZMQ_RCVTIMEO, patience_ms);
        set(log, ZMQ_RCVTIMEO, patience_ms);

        std::vector<raw_peer> peers;
        limit_descriptors(8);
        for (int i = 0; i < 4; ++i) {  // sockets of the system's, connected later
            const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            CHECK(fd >= 0);
            peers.emplace_back(fd);
        }
        const std::vector<int> taken = take_all_descriptors();
        const sockaddr_in to = address_of(where);
        for (raw_peer &peer : peers)
            CHECK(::connect(peer.descriptor(), reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0);
        // The listener says so, more than once, and the others go on.
        for (int i = 0; i < 2; ++i) {
            char record[6];
            CHECK(zmq_recv(log, record, sizeof record, 0) == 6);
            int value = 0;
            std::memcpy(&value, record + 2, 4);
            CHECK(value == EMFILE);
            CHECK(zmq_recv(log, record, sizeof record, 0) >= 0);
            CHECK(zmq_send(push, &octet, 1, 0) == 1 && zmq_recv(pull, &octet, 1, 0) == 1);
        }
        CHECK(zmq_bind(pull, "tcp://127.0.0.1:*") == -1 && is_shortage());
        CHECK(zmq_bind(pull, "ipc://*") == -1 && is_shortage());
        CHECK(zmq_connect(push, "tcp://127.0.0.1:1") == 0);  // tries again for ever
        CHECK(zmq_disconnect(push, "tcp://127.0.0.1:1") == 0);
        give_back(taken);
        for (raw_peer &peer : peers)
            CHECK(peer.shake_hands("PUSH"));
        CHECK(peers[3].send(message("y")));
        CHECK(zmq_recv(pull, &octet, 1, 0) == 1 && octet == 'y');
        set(push, ZMQ_LINGER, 0);
        CHECK(zmq_close(push) == 0 && zmq_close(pull) == 0 && zmq_close(log) == 0 &&
              zmq_ctx_term(context) == 0);
    });
}

/// Listens to the events of a socket; in a process of its own.
class event_log {
public:
    event_log(void *context, void *watched, const char *name, int events)
        : listener_(zmq_socket(context, ZMQ_PAIR)) {
        CHECK(listener_ && zmq_socket_monitor(watched, name, events) == 0);
        CHECK(zmq_connect(listener_, name) == 0);
        set(listener_, ZMQ_RCVTIMEO, patience_ms);
    }
    int next() {
        char record[6], endpoint[256];
        CHECK(zmq_recv(listener_, record, sizeof record, 0) == 6);
        CHECK(zmq_recv(listener_, endpoint, sizeof endpoint, 0) >= 0);
        std::uint16_t event = 0;
        std::memcpy(&event, record, sizeof event);
        return event;
    }
    void close() { CHECK(zmq_close(listener_) == 0); }

private:
    void *const listener_;
};

TEST(shortage_while_running, is_made_up_for_by_peers_that_have_had_their_last_words) {
    in_another_process([] {
        void *context = zmq_ctx_new();
        void *pull = zmq_socket(context, ZMQ_PULL);
        void *push = zmq_socket(context, ZMQ_PUSH);
        void *far = zmq_socket(context, ZMQ_PULL);
        CHECK(pull && push && far);
        set(push, ZMQ_LINGER, 0);
        event_log accepts(context, pull, "inproc://accepts", ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED);
        event_log connects(context, push, "inproc://connects",
                           ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
        CHECK(zmq_bind(pull, "tcp://127.0.0.1:*") == 0 && zmq_bind(far, "tcp://127.0.0.1:*") == 0);
        const std::string where = last_endpoint(pull);
        // Refused in words, they stay as long as they are let.
        std::vector<raw_peer> refused;
        for (int i = 0; i < 3; ++i) {
            refused.emplace_back(where);
            CHECK(refused.back().send(greeting() + ready("PULL")));
            CHECK(refused.back().receive(65536).find("ERROR") != std::string::npos);
            CHECK(accepts.next() == ZMQ_EVENT_ACCEPTED);
        }
        raw_peer wanted(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        limit_descriptors(0);
        const std::vector<int> taken = take_all_descriptors();
        const sockaddr_in to = address_of(where);
        CHECK(::connect(wanted.descriptor(), reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0);
        CHECK(accepts.next() == ZMQ_EVENT_ACCEPTED);
        CHECK(wanted.shake_hands("PUSH"));
        CHECK(zmq_connect(push, last_endpoint(far).c_str()) == 0);
        CHECK(connects.next() == ZMQ_EVENT_CONNECTED);
        give_back(taken);
        lift_limit();
        accepts.close();
        connects.close();
        CHECK(zmq_close(push) == 0 && zmq_close(pull) == 0 && zmq_close(far) == 0 &&
              zmq_ctx_term(context) == 0);
    });
}

TEST(shortage_while_running, does_not_keep_a_socket_from_waiting) {
    in_another_process([] {
        void *context = zmq_ctx_new();
        void *pull = zmq_socket(context, ZMQ_PULL);
        void *push = zmq_socket(context, ZMQ_PUSH);
        set(pull, ZMQ_RCVTIMEO, 1);
        set(push, ZMQ_SNDTIMEO, 1);
        limit_descriptors(8);
        const std::vector<int> taken = take_all_descriptors();
        char octet = 0;
        CHECK(zmq_recv(pull, &octet, 1, 0) == -1 && errno == EAGAIN);
        CHECK(zmq_send(push, &octet, 1, 0) == -1 && errno == EAGAIN);
        zmq_pollitem_t items[] = {{pull, 0, ZMQ_POLLIN, 0}, {push, 0, ZMQ_POLLOUT, 0}};
        CHECK(zmq_poll(items, 2, 1) == 0);
        // One that could not wait is not made.
        CHECK(!zmq_socket(context, ZMQ_PULL) && is_shortage());
        give_back(taken);
        CHECK(zmq_close(pull) == 0 && zmq_close(push) == 0 && zmq_ctx_term(context) == 0);
    });
}

TEST(shortage_of_threads, is_an_error_of_the_first_socket) {
    in_another_process([] {
        // The limit counts all threads of the user, and does not hold for root.
        if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0))
            return;
        const rlimit none{0, 4096};
        CHECK(::setrlimit(RLIMIT_NPROC, &none) == 0);
        void *context = zmq_ctx_new();
        CHECK(context);
        for (int i = 0; i < 3; ++i)
            CHECK(!zmq_socket(context, ZMQ_PULL) && errno == EAGAIN);
        const rlimit some{4096, 4096};
        CHECK(::setrlimit(RLIMIT_NPROC, &some) == 0);
        void *s = zmq_socket(context, ZMQ_PULL);
        CHECK(s);
        CHECK(zmq_bind(s, "tcp://127.0.0.1:*") == 0);
        CHECK(zmq_close(s) == 0);
        CHECK(zmq_ctx_term(context) == 0);
    });
}

TEST(shortage_of_threads, is_not_felt_without_io_threads) {
    in_another_process([] {
        void *context = zmq_ctx_new();
        CHECK(zmq_ctx_set(context, ZMQ_IO_THREADS, 0) == 0);
        void *s = zmq_socket(context, ZMQ_PAIR);
        void *t = zmq_socket(context, ZMQ_PAIR);
        CHECK(s && t);
        CHECK(zmq_bind(s, "tcp://127.0.0.1:*") == -1 && errno == EMTHREAD);
        CHECK(zmq_connect(s, "tcp://127.0.0.1:1") == -1 && errno == EMTHREAD);
        CHECK(zmq_bind(s, "inproc://x") == 0 && zmq_connect(t, "inproc://x") == 0);
        CHECK(zmq_send(t, "x", 1, 0) == 1);
        char octet = 0;
        CHECK(zmq_recv(s, &octet, 1, 0) == 1);
        CHECK(zmq_close(s) == 0 && zmq_close(t) == 0 && zmq_ctx_term(context) == 0);
    });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their own memory is more

/// Octets that this process has mapped, or holds.
struct memory {
    long mapped = 0;
    long resident = 0;
};
memory own_memory() {
    memory found;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    CHECK(file && std::fscanf(file, "%ld %ld", &found.mapped, &found.resident) == 2);
    std::fclose(file);
    found.mapped *= ::sysconf(_SC_PAGESIZE);
    found.resident *= ::sysconf(_SC_PAGESIZE);
    return found;
}

/// A PULL that is bound, and a PUSH that is connected to it, without marks.
struct two_sockets {
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    std::string where;

    two_sockets() {
        CHECK(pull && push);
        set(pull, ZMQ_RCVHWM, 0);
        set(push, ZMQ_SNDHWM, 0);
        set(push, ZMQ_LINGER, 0);
        set(pull, ZMQ_RCVTIMEO, patience_ms);
        CHECK(zmq_bind(pull, "tcp://127.0.0.1:*") == 0);
        where = last_endpoint(pull);
        CHECK(zmq_connect(push, where.c_str()) == 0);
    }
    void end() { CHECK(zmq_close(push) == 0 && zmq_close(pull) == 0 && zmq_ctx_term(context) == 0); }
    /// Has much under way, in messages of many sizes, and takes it.
    void pass_much() {
        for (const std::size_t size : {100u, 1000u, 5000u, 30000u, 60000u}) {
            const std::string body(size, 'x');
            std::string into(size, '\0');
            const int count = static_cast<int>((std::size_t{64} << 20) / size);
            for (int i = 0; i < count; ++i)
                CHECK(zmq_send(push, body.data(), size, 0) == static_cast<int>(size));
            for (int i = 0; i < count; ++i)
                CHECK(zmq_recv(pull, into.data(), size, 0) == static_cast<int>(size));
        }
    }
};

/// Takes all memory that is left, and keeps it.
void take_all_memory() {
    const rlimit tight{static_cast<rlim_t>(own_memory().mapped), RLIM_INFINITY};
    CHECK(::setrlimit(RLIMIT_AS, &tight) == 0);
    static void *volatile taken;  // else the compiler may leave it out
    for (std::size_t size = 1 << 20; size >= 16; size /= 2)
        do
            taken = std::malloc(size);
        while (taken);
}

TEST(shortage_of_memory, does_not_keep_peers_out_while_much_is_idle) {
    in_another_process([] {
        (void)::mallopt(M_ARENA_MAX, 1);  // others would have room that they do not use
        two_sockets sockets;
        sockets.pass_much();
        int go[2];
        CHECK(::pipe(go) == 0);
        const pid_t peers = ::fork();
        CHECK(peers >= 0);
        if (peers == 0) {
            char octet = 0;
            ::close(go[1]);
            CHECK(::read(go[0], &octet, 1) == 1);
            // More than find room in what lies about.
            std::vector<raw_peer> came;
            for (int i = 0; i < 1000 && came.size() < 300; ++i) {
                raw_peer peer(sockets.where);
                if (peer.shake_hands("PUSH"))
                    came.push_back(std::move(peer));
            }
            CHECK(came.size() == 300 && came.back().send(message("y")));
            (void)::read(go[0], &octet, 1);  // until the other process has got it
            std::_Exit(0);
        }
        char octet = 'g';
        take_all_memory();
        CHECK(::write(go[1], &octet, 1) == 1);
        int got = -1;
        for (int i = 0; i < 100 && got < 0; ++i) {
            got = zmq_recv(sockets.pull, &octet, 1, 0);
            CHECK(got == 1 || errno == ENOMEM);
        }
        CHECK(got == 1 && octet == 'y');
    });
}

TEST(end_of_a_context, gives_its_memory_back) {
    in_another_process([] {
        two_sockets().end();
        const long before = own_memory().resident;
        two_sockets sockets;
        sockets.pass_much();
        sockets.end();
        CHECK(own_memory().resident - before < 32 << 20);
    });
}

#endif

TEST(limit_of_sockets, is_an_error_and_room_comes_back) {
    zmq_context context;
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 2);
    void *a = zmq_socket(context, ZMQ_PAIR);
    void *b = zmq_socket(context, ZMQ_PAIR);
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(zmq_socket(context, ZMQ_PAIR));
    EXPECT_EQ(errno, EMFILE);
    zmq_close(a);
    void *c = zmq_socket(context, ZMQ_PAIR);
    EXPECT_TRUE(c);
    zmq_close(b);
    zmq_close(c);
}

TEST(end_of_a_program, that_never_terminates_its_context_is_quiet) {
    in_another_process([] {
        if (__lsan_disable)
            __lsan_disable();  // what is left behind is left on purpose
        void *context = zmq_ctx_new();
        zmq_ctx_set(context, ZMQ_IO_THREADS, 4);
        void *pull = zmq_socket(context, ZMQ_PULL);
        CHECK(zmq_bind(pull, "tcp://127.0.0.1:*") == 0);
        for (int i = 0; i < 8; ++i) {
            void *push = zmq_socket(context, ZMQ_PUSH);
            set(push, ZMQ_RECONNECT_IVL, 1);
            CHECK(zmq_connect(push, last_endpoint(pull).c_str()) == 0);
            CHECK(zmq_connect(push, "tcp://127.0.0.1:1") == 0);
            for (int n = 0; n < 500; ++n)
                CHECK(zmq_send(push, "x", 1, 0) == 1);
        }
        std::exit(0);  // with the threads at work
    });
}

}  // namespace
