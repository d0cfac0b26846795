// ZLINK_LOG: what a program that looks at no monitor reads on stderr.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <future>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "sockets.hpp"
#include "zap_handler.hpp"

namespace {

using namespace zlink_test;

class a_log : public ::testing::Test {
protected:
    ~a_log() override { ::unsetenv("ZLINK_LOG"); }

    /// Returns what is written while this is done in a context made at this level.
    template <class Act>
    static std::string written_at(const char *level, const Act &act) {
        if (level)
            ::setenv("ZLINK_LOG", level, 1);
        ::testing::internal::CaptureStderr();
        {
            context zmq;
            act(zmq);
        }
        return ::testing::internal::GetCapturedStderr();
    }
    /// While an address is bound a second time.
    static std::string written_at(const char *level) {
        return written_at(level, [](context &zmq) {
            test_socket first = zmq.socket(ZMQ_PULL), second = zmq.socket(ZMQ_REP);
            const std::string endpoint = first.bind("tcp://127.0.0.1:*");
            EXPECT_FAILS(EADDRINUSE, zmq_bind(second.handle(), endpoint.c_str()));
        });
    }
};

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST_F(a_log, is_not_written_where_nobody_asks_for_it) { EXPECT_EQ(written_at(nullptr), ""); }

TEST_F(a_log, tells_at_the_level_of_errors_what_could_not_be_bound_and_why) {
    const std::string text = written_at("error");
    EXPECT_TRUE(text.starts_with("zlink: error: REP tcp://127.0.0.1:")) << text;
    EXPECT_TRUE(has(text, " is in use by another socket")) << text;
    EXPECT_TRUE(text.ends_with(": bind has failed\n")) << text;
    EXPECT_EQ(written_at("warn").find("warn"), std::string::npos) << "it is no warning beside";
}

TEST_F(a_log, tells_at_the_level_of_errors_why_a_call_has_failed_of_which_a_monitor_has_no_event) {
    const std::string text = written_at("error", [](context &zmq) {
        test_socket dealer = zmq.socket(ZMQ_DEALER), other = zmq.socket(ZMQ_DEALER);
        EXPECT_FAILS(EINVAL, zmq_connect(dealer.handle(), "tcp://127.0.0.1"));
        EXPECT_FAILS(EINVAL, zmq_bind(dealer.handle(), "127.0.0.1:5555"));
        EXPECT_FAILS(EPROTONOSUPPORT, zmq_connect(dealer.handle(), "carrier://pigeon"));
        dealer.bind("inproc://name");
        EXPECT_FAILS(EADDRINUSE, zmq_bind(other.handle(), "inproc://name"));
        other.connect("inproc://nobody");
    });
    EXPECT_EQ(text, "zlink: error: DEALER tcp://127.0.0.1: there is no port behind 127.0.0.1\n"
                    "zlink: error: DEALER 127.0.0.1:5555: there is no scheme in front, such as tcp://\n"
                    "zlink: error: DEALER carrier://pigeon: there is no transport carrier in this library\n"
                    "zlink: error: DEALER inproc://name: another socket of this context has the name name\n");
}

TEST_F(a_log, tells_of_a_call_that_finds_no_thread_or_a_name_that_is_taken) {
    EXPECT_EQ(written_at("error",
                         [](context &zmq) {
                             ASSERT_EQ(zmq_ctx_set(zmq.handle(), ZMQ_IO_THREADS, 0), 0);
                             test_socket dealer = zmq.socket(ZMQ_DEALER);
                             EXPECT_FAILS(EMTHREAD, zmq_connect(dealer.handle(), "tcp://127.0.0.1:1"));
                         }),
              "zlink: error: DEALER tcp://127.0.0.1:1: the context has no I/O thread, or none that "
              "ZMQ_AFFINITY allows\n");
    EXPECT_EQ(written_at("error",
                         [](context &zmq) {
                             test_socket router = zmq.socket(ZMQ_ROUTER), peer = zmq.socket(ZMQ_DEALER);
                             peer.bind("inproc://peer");
                             ASSERT_EQ(router.set(ZMQ_CONNECT_ROUTING_ID, std::string("peer")), 0);
                             router.connect("inproc://peer");
                             ASSERT_EQ(router.set(ZMQ_CONNECT_ROUTING_ID, std::string("peer")), 0);
                             EXPECT_FAILS(EADDRINUSE, zmq_connect(router.handle(), "inproc://peer"));
                         }),
              "zlink: error: ROUTER inproc://peer: a peer is there with the name in "
              "ZMQ_CONNECT_ROUTING_ID\n");
}

TEST_F(a_log, tells_which_library_this_is_in_the_first_context_that_has_the_level_for_it) {
    const std::string text = written_at("info");
    EXPECT_TRUE(has(text, "zlink: info: zlink ")) << text;
    EXPECT_TRUE(has(text, " (libzmq 4.3.5 compatible), /")) << text;
    EXPECT_TRUE(has(text, "PULL tcp://127.0.0.1:")) << text;
    EXPECT_TRUE(has(text, ": listening\n")) << text;
    EXPECT_FALSE(has(written_at("info"), "compatible"));
}

TEST_F(a_log, is_not_written_at_a_level_that_there_is_not_and_says_so) {
    const std::string text = written_at("loud");
    EXPECT_EQ(text, "zlink: ZLINK_LOG=loud is ignored: error, warn, info or debug is expected\n");
}

TEST_F(a_log, does_not_end_the_program_when_nobody_reads_it) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[0]);
    EXPECT_EXIT(
        {
            ::signal(SIGPIPE, SIG_DFL);
            ::setenv("ZLINK_LOG", "debug", 1);
            ::dup2(ends[1], STDERR_FILENO);
            context zmq;
            test_socket pull = zmq.socket(ZMQ_PULL);
            pull.bind("tcp://127.0.0.1:*");
            ::_exit(0);
        },
        ::testing::ExitedWithCode(0), "");
    ::close(ends[1]);
}

TEST_F(a_log, names_a_peer_that_is_cut_off_and_the_user_that_it_is) {
    const std::string text = written_at("warn", [](context &zmq) {
        const handler judge(zmq, ZMQ_REP, [](const frames &asked) { return reply_to(asked, "200"); });
        test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
        pull.set(ZMQ_ZAP_DOMAIN, "domain");
        push.set(ZMQ_RECONNECT_IVL, -1);
        push.connect(pull.bind("tcp://127.0.0.1:*"));
        ASSERT_EQ(zlink_wait_ready(pull.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
        zlink_peer_t first{};
        const auto keep = [](void *arg, const zlink_peer_t *peer, std::size_t) {
            *static_cast<zlink_peer_t *>(arg) = *peer;
            return 1;
        };
        (void)zlink_peers(pull.handle(), keep, &first);
        ASSERT_EQ(zlink_disconnect(pull.handle(), first.id), 0);
        EXPECT_TRUE(
            eventually([&] { return zlink_wait_ready(pull.handle(), ZLINK_READY_PEERS, 1, 0) != 0; }));
    });
    EXPECT_TRUE(has(text, "this side has cut the peer off (zlink_disconnect) (the peer is gone): "
                          "tcp://127.0.0.1:"))
        << text;
    EXPECT_TRUE(has(text, ", user alice\n")) << text;
}

TEST_F(a_log, names_a_peer_that_is_slow) {
    const std::string text = written_at("warn", [](context &zmq) {
        test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
        router.set(ZMQ_SNDHWM, 2);
        dealer.set(ZMQ_RCVHWM, 2);
        dealer.set(ZMQ_ROUTING_ID, "worker");
        dealer.connect(router.bind(scratch_endpoint("inproc")));
        for (int i = 0; i < 6; ++i)
            EXPECT_TRUE(router.send_all({"worker", "task"}));
    });
    EXPECT_TRUE(has(text, "zlink: warn: ROUTER ")) << text;
    EXPECT_TRUE(has(text, "the queue of a peer is full")) << text;
}

// ---- zlink_set_log ------------------------------------------------------------------------------

/// A function that keeps what it is told.
class kept_log {
public:
    static void keep(void *arg, int level, const char *line) {
        auto *const self = static_cast<kept_log *>(arg);
        std::lock_guard guard(self->mutex_);
        self->lines_.push_back(std::to_string(level) + ' ' + line);
    }
    std::vector<std::string> lines() {
        std::lock_guard guard(mutex_);
        return lines_;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST_F(a_log, is_told_to_a_function_of_sockets_that_are_there_until_it_is_taken_back) {
    kept_log log;
    std::string endpoint;
    const std::string written = written_at(nullptr, [&](context &zmq) {
        test_socket first = zmq.socket(ZMQ_PULL), second = zmq.socket(ZMQ_REP);
        endpoint = first.bind("tcp://127.0.0.1:*");
        ASSERT_EQ(zlink_set_log(zmq.handle(), kept_log::keep, &log, ZLINK_LOG_ERROR), 0);
        EXPECT_FAILS(EINVAL, zmq_connect(second.handle(), "tcp://127.0.0.1"));
        EXPECT_FAILS(EINVAL, zmq_connect(second.handle(), "tcp://127.0.0.1"));
        ASSERT_EQ(zlink_set_log(zmq.handle(), nullptr, nullptr, 0), 0);
        EXPECT_FAILS(EINVAL, zmq_connect(second.handle(), "carrier"));
    });
    EXPECT_EQ(written, "");
    EXPECT_EQ(log.lines(),
              std::vector<std::string>{"1 REP tcp://127.0.0.1: there is no port behind 127.0.0.1"})
        << "once, and with nothing in front";
}

TEST_F(a_log, is_told_whole_before_the_context_has_ended) {
    kept_log log;
    std::string endpoint;
    {
        context zmq;
        ASSERT_EQ(zlink_set_log(zmq.handle(), kept_log::keep, &log, ZLINK_LOG_INFO), 0);
        test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
        push.connect(endpoint = pull.bind("tcp://127.0.0.1:*"));
        ASSERT_EQ(push.send("one"), 3);
        ASSERT_EQ(pull.receive(), "one");
    }
    const std::vector<std::string> lines = log.lines();
    ASSERT_GE(lines.size(), 3u);
    EXPECT_TRUE(lines[0].starts_with("3 zlink ")) << lines[0];
    EXPECT_EQ(lines[1], "3 PULL " + endpoint + ": listening");
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                            [](const auto &each) { return has(each, "a peer is there"); }));
}

TEST_F(a_log, is_told_beside_stderr_each_at_its_level) {
    kept_log log;
    const std::string written = written_at("error", [&](context &zmq) {
        ASSERT_EQ(zlink_set_log(zmq.handle(), kept_log::keep, &log, ZLINK_LOG_INFO), 0);
        test_socket pull = zmq.socket(ZMQ_PULL);
        (void)pull.bind("tcp://127.0.0.1:*");
        EXPECT_FAILS(EINVAL, zmq_connect(pull.handle(), "tcp://127.0.0.1"));
    });
    EXPECT_EQ(written, "zlink: error: PULL tcp://127.0.0.1: there is no port behind 127.0.0.1\n");
    const std::vector<std::string> lines = log.lines();
    ASSERT_GE(lines.size(), 3u);
    EXPECT_EQ(lines[2], "1 PULL tcp://127.0.0.1: there is no port behind 127.0.0.1");
}

TEST_F(a_log, may_call_the_library_and_takes_its_time) {
    struct slow_log {
        void *context;
        std::promise<void> was_called, may_go_on;
        int of_itself = 0, calls = 0;
        std::string last{};
        static void keep(void *arg, int, const char *line) {
            auto *const self = static_cast<slow_log *>(arg);
            self->last = line;
            if (++self->calls > 1)
                return;
            void *const own = zmq_socket(self->context, ZMQ_PAIR);
            EXPECT_EQ(zmq_close(own), 0);
            self->of_itself = zlink_set_log(self->context, nullptr, nullptr, 0) == 0 ? 0 : zmq_errno();
            self->was_called.set_value();
            self->may_go_on.get_future().wait();
        }
    };
    context zmq;
    slow_log log{zmq.handle(), {}, {}};
    test_socket pull = zmq.socket(ZMQ_PULL);
    ASSERT_EQ(zlink_set_log(zmq.handle(), slow_log::keep, &log, ZLINK_LOG_DEBUG), 0);
    log.was_called.get_future().wait();
    for (int i = 0; i < 1010; ++i)
        EXPECT_EQ(zmq_bind(pull.handle(), "tcp://127.0.0.1"), -1);
    log.may_go_on.set_value();
    ASSERT_EQ(zlink_set_log(zmq.handle(), nullptr, nullptr, 0), 0);
    EXPECT_EQ(log.of_itself, EBUSY);
    EXPECT_EQ(log.calls, 1 + 1000 + 1);
    EXPECT_EQ(log.last, "10 lines were left out: the log is slow");
}

TEST_F(a_log, does_not_run_any_more_when_its_context_has_ended_which_it_cannot_end_itself) {
    struct ending_log {
        void *context;
        int of_end = 0, of_itself = 0;
        static void keep(void *arg, int, const char *) {
            auto *const self = static_cast<ending_log *>(arg);
            self->of_end = zmq_ctx_term(self->context) == 0 ? 0 : zmq_errno();
            self->of_itself = zlink_set_log(self->context, keep, arg, ZLINK_LOG_ERROR) == 0 ? 0 : zmq_errno();
        }
    };
    ending_log log{zmq_ctx_new()};
    ASSERT_EQ(zlink_set_log(log.context, ending_log::keep, &log, ZLINK_LOG_INFO), 0);
    ASSERT_EQ(zmq_ctx_term(log.context), 0);
    EXPECT_EQ(log.of_end, EBUSY);
    EXPECT_EQ(log.of_itself, EBUSY);
}

TEST_F(a_log, answers_busy_to_a_function_in_whose_place_another_one_is_already) {
    struct old_log {
        void *context;
        std::promise<void> was_called, may_go_on;
        int of_itself = 0;
        static void keep(void *arg, int, const char *) {
            auto *const self = static_cast<old_log *>(arg);
            self->was_called.set_value();
            self->may_go_on.get_future().wait();
            self->of_itself = zlink_set_log(self->context, nullptr, nullptr, 0) == 0 ? 0 : zmq_errno();
        }
    };
    struct new_log {
        std::promise<void> was_called;
        static void keep(void *arg, int, const char *) {
            static_cast<new_log *>(arg)->was_called.set_value();
        }
    };
    context zmq;
    old_log before{zmq.handle(), {}, {}};
    new_log next;
    ASSERT_EQ(zlink_set_log(zmq.handle(), old_log::keep, &before, ZLINK_LOG_INFO), 0);
    before.was_called.get_future().wait();
    auto set = std::async(std::launch::async,
                          [&] { return zlink_set_log(zmq.handle(), new_log::keep, &next, ZLINK_LOG_INFO); });
    next.was_called.get_future().wait();
    before.may_go_on.set_value();
    EXPECT_EQ(set.get(), 0);
    EXPECT_EQ(before.of_itself, EBUSY);
}

TEST_F(a_log, is_of_a_context_and_has_a_level) {
    context zmq;
    EXPECT_FAILS(EFAULT, zlink_set_log(nullptr, kept_log::keep, nullptr, ZLINK_LOG_WARN));
    EXPECT_FAILS(EINVAL, zlink_set_log(zmq.handle(), kept_log::keep, nullptr, 0));
    EXPECT_FAILS(EINVAL, zlink_set_log(zmq.handle(), kept_log::keep, nullptr, 5));
}

}  // namespace
