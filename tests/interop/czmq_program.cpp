// Programs of czmq, the C binding, on the library that LD_LIBRARY_PATH names: its actors, pollers,
// proxies, monitors and gossip. czmq looks at what a socket's pointer points to before it takes it
// for one.
//
// ZMQ_LIBRARY_DIR says which library it must be.
#include <zmq.h>

#include <czmq.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int patience_ms = 30000;

/// Returns what czmq gives away as text.
std::string text(char *given) {
    const std::unique_ptr<char, decltype(&std::free)> owned(given, &std::free);
    return owned ? owned.get() : "(nothing)";
}

struct sock {
    explicit sock(zsock_t *made) : self(made) {
        EXPECT_NE(self, nullptr) << zmq_strerror(errno);
        zsock_set_rcvtimeo(self, patience_ms);
        zsock_set_sndtimeo(self, patience_ms);
    }
    ~sock() { zsock_destroy(&self); }
    sock(const sock &) = delete;
    sock &operator=(const sock &) = delete;
    operator zsock_t *() const { return self; }
    void *handle() const { return zsock_resolve(self); }
    zsock_t *self;
};

struct actor {
    actor(zactor_fn *run, void *argument) : self(zactor_new(run, argument)) {
        EXPECT_NE(self, nullptr);
        zsock_set_rcvtimeo(zactor_sock(self), patience_ms);
    }
    ~actor() { zactor_destroy(&self); }
    actor(const actor &) = delete;
    actor &operator=(const actor &) = delete;
    operator zactor_t *() const { return self; }
    zactor_t *self;
};

struct poller {
    ~poller() { zpoller_destroy(&self); }
    /// The one of the readers that has something.
    void *wait() const { return zpoller_wait(self, patience_ms); }
    zpoller_t *self;
};

/// Sends back what it is told, until the end.
void echo(zsock_t *pipe, void *) {
    (void)zsock_signal(pipe, 0);
    for (;;) {
        const std::string said = text(zstr_recv(pipe));
        if (said == "$TERM" || said == "(nothing)")
            return;
        (void)zstr_sendf(pipe, "echo of %s", said.c_str());
    }
}

TEST(czmq, runs_on_the_library_that_is_tested) {
    Dl_info used{};
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&zmq_ctx_new), &used), 0);
    const char *wanted = std::getenv("ZMQ_LIBRARY_DIR");
    ASSERT_TRUE(wanted);
    EXPECT_TRUE(std::filesystem::equivalent(std::filesystem::path(used.dli_fname).parent_path(), wanted))
        << used.dli_fname;
}

TEST(czmq, takes_every_socket_for_what_it_is) {
    sock z(zsock_new(ZMQ_PULL));
    EXPECT_EQ(zsock_resolve(z.handle()), z.handle());
    EXPECT_FALSE(zsock_is(z.handle()));
    EXPECT_FALSE(zactor_is(z.handle()));
}

TEST(czmq, takes_a_socket_for_one_after_its_context_has_ended) {
    void *context = zmq_ctx_new();
    void *handle = zmq_socket(context, ZMQ_PAIR);
    EXPECT_EQ(zmq_ctx_shutdown(context), 0);
    EXPECT_EQ(zmq_recv(handle, nullptr, 0, ZMQ_DONTWAIT), -1);
    int type = 0;
    std::size_t size = sizeof type;
    EXPECT_EQ(zmq_getsockopt(handle, ZMQ_TYPE, &type, &size), -1) << "so that czmq looks behind the pointer";
    EXPECT_EQ(zsock_resolve(handle), handle);
    EXPECT_EQ(zmq_close(handle), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
}

/// Bindings do this that know less of zmq_getsockopt() than of descriptors.
TEST(czmq, a_pointer_does_not_begin_with_the_number_of_a_descriptor) {
    void *context = zmq_ctx_new();
    void *handle = zmq_socket(context, ZMQ_PAIR);
    int first = 0;
    std::memcpy(&first, handle, sizeof first);
    int type = -1;
    socklen_t size = sizeof type;
    EXPECT_EQ(::getsockopt(first, SOL_SOCKET, SO_TYPE, &type, &size), -1);
    EXPECT_EQ(errno, EBADF) << first;
    EXPECT_EQ(zmq_close(handle), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
}

TEST(czmq, strings_pass) {
    sock pull(zsock_new_pull("@tcp://127.0.0.1:*"));
    sock push(zsock_new_push(zsock_endpoint(pull)));
    EXPECT_EQ(zstr_send(push, "alone"), 0);
    EXPECT_EQ(text(zstr_recv(pull)), "alone");
    EXPECT_EQ(zstr_sendx(push, "of", "three", "parts", nullptr), 0);
    char *a = nullptr, *b = nullptr, *c = nullptr;
    EXPECT_EQ(zstr_recvx(pull, &a, &b, &c, nullptr), 3);
    EXPECT_EQ(text(a) + text(b) + text(c), "ofthreeparts");
}

TEST(czmq, frames_and_messages_pass) {
    sock one(zsock_new_pair("@inproc://frames"));
    sock other(zsock_new_pair(">inproc://frames"));
    zframe_t *frame = zframe_new("octets", 6);
    EXPECT_EQ(zframe_send(&frame, one, ZFRAME_REUSE | ZFRAME_MORE), 0);
    EXPECT_EQ(zframe_send(&frame, one, 0), 0);
    zmsg_t *message = zmsg_recv(other);
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(zmsg_size(message), 2u);
    EXPECT_EQ(zmsg_content_size(message), 12u);
    zmsg_destroy(&message);
}

TEST(czmq, raw_sockets_pass_what_its_calls_are_given) {
    void *context = zmq_ctx_new();
    void *one = zmq_socket(context, ZMQ_PAIR);
    void *other = zmq_socket(context, ZMQ_PAIR);
    ASSERT_EQ(zmq_bind(one, "inproc://raw"), 0);
    ASSERT_EQ(zmq_connect(other, "inproc://raw"), 0);
    EXPECT_EQ(zstr_send(one, "to a raw socket"), 0);
    EXPECT_EQ(text(zstr_recv(other)), "to a raw socket");
    EXPECT_EQ(zmq_close(one), 0);
    EXPECT_EQ(zmq_close(other), 0);
    EXPECT_EQ(zmq_ctx_term(context), 0);
}

TEST(czmq, an_actor_answers_and_ends) {
    actor a(&echo, nullptr);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(zstr_send(a, "word"), 0);
        ASSERT_EQ(text(zstr_recv(a)), "echo of word");
    }
}

TEST(czmq, a_poller_tells_sockets_actors_raw_sockets_and_descriptors_apart) {
    sock pull(zsock_new_pull("@inproc://polled"));
    sock push(zsock_new_push(">inproc://polled"));
    actor a(&echo, nullptr);
    void *raw = zmq_socket(zsys_init(), ZMQ_PULL);
    ASSERT_EQ(zmq_bind(raw, "inproc://raw"), 0);
    sock to_raw(zsock_new_push(">inproc://raw"));
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    poller p{zpoller_new(pull.self, a.self, raw, &pipe_ends[0], nullptr)};
    ASSERT_NE(p.self, nullptr);

    EXPECT_EQ(zpoller_wait(p.self, 0), nullptr);
    EXPECT_TRUE(zpoller_expired(p.self));
    EXPECT_EQ(zstr_send(push, "one"), 0);
    EXPECT_EQ(p.wait(), pull.self);
    EXPECT_EQ(text(zstr_recv(pull)), "one");
    EXPECT_EQ(zstr_send(a, "two"), 0);
    EXPECT_EQ(p.wait(), a.self);
    EXPECT_EQ(text(zstr_recv(a)), "echo of two");
    EXPECT_EQ(zstr_send(to_raw, "three"), 0);
    EXPECT_EQ(p.wait(), raw);
    EXPECT_EQ(text(zstr_recv(raw)), "three");
    EXPECT_EQ(::write(pipe_ends[1], "x", 1), 1);
    EXPECT_EQ(p.wait(), &pipe_ends[0]);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    zmq_close(raw);
}

TEST(czmq, a_proxy_forwards) {
    actor proxy(zproxy, nullptr);
    EXPECT_EQ(zstr_sendx(proxy, "FRONTEND", "PULL", "inproc://frontend", nullptr), 0);
    EXPECT_EQ(zsock_wait(proxy), 0);
    EXPECT_EQ(zstr_sendx(proxy, "BACKEND", "PUSH", "inproc://backend", nullptr), 0);
    EXPECT_EQ(zsock_wait(proxy), 0);
    EXPECT_EQ(zstr_sendx(proxy, "CAPTURE", "inproc://capture", nullptr), 0);
    EXPECT_EQ(zsock_wait(proxy), 0);
    sock source(zsock_new_push(">inproc://frontend"));
    sock sink(zsock_new_pull(">inproc://backend"));
    sock copies(zsock_new_pull("@inproc://capture"));
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(zstr_sendx(source, "a", "b", nullptr), 0);
        char *a = nullptr, *b = nullptr;
        ASSERT_EQ(zstr_recvx(sink, &a, &b, nullptr), 2);
        EXPECT_EQ(text(a) + text(b), "ab");
    }
    EXPECT_EQ(zstr_sendx(proxy, "PAUSE", nullptr), 0);
    EXPECT_EQ(zsock_wait(proxy), 0);
    EXPECT_EQ(zstr_sendx(proxy, "RESUME", nullptr), 0);
    EXPECT_EQ(zsock_wait(proxy), 0);
    EXPECT_EQ(zstr_send(source, "again"), 0);
    EXPECT_EQ(text(zstr_recv(sink)), "again");
}

TEST(czmq, a_monitor_tells_what_happens) {
    sock server(zsock_new(ZMQ_DEALER));
    actor monitor(zmonitor, server.self);
    EXPECT_EQ(zstr_sendx(monitor, "LISTEN", "LISTENING", "ACCEPTED", nullptr), 0);
    EXPECT_EQ(zstr_sendx(monitor, "START", nullptr), 0);
    EXPECT_EQ(zsock_wait(monitor), 0);
    const int port = zsock_bind(server, "tcp://127.0.0.1:*");
    ASSERT_GT(port, 0);
    sock client(zsock_new(ZMQ_DEALER));
    EXPECT_EQ(zsock_connect(client, "tcp://127.0.0.1:%d", port), 0);
    for (const char *expected : {"LISTENING", "ACCEPTED"}) {
        zmsg_t *told = zmsg_recv(monitor);
        ASSERT_NE(told, nullptr);
        EXPECT_EQ(text(zmsg_popstr(told)), expected);
        zmsg_destroy(&told);
    }
}

TEST(czmq, gossip_spreads) {
    actor base(zgossip, const_cast<char *>("base"));
    EXPECT_EQ(zstr_sendx(base, "BIND", "inproc://gossip", nullptr), 0);
    actor alpha(zgossip, const_cast<char *>("alpha"));
    EXPECT_EQ(zstr_sendx(alpha, "CONNECT", "inproc://gossip", nullptr), 0);
    actor beta(zgossip, const_cast<char *>("beta"));
    EXPECT_EQ(zstr_sendx(beta, "CONNECT", "inproc://gossip", nullptr), 0);
    EXPECT_EQ(zstr_sendx(alpha, "PUBLISH", "key", "value", nullptr), 0);
    zmsg_t *told = zmsg_recv(beta);
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(text(zmsg_popstr(told)), "DELIVER");
    EXPECT_EQ(text(zmsg_popstr(told)), "key");
    EXPECT_EQ(text(zmsg_popstr(told)), "value");
    zmsg_destroy(&told);
}

}  // namespace
