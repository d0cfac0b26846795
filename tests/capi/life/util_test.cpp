// Versions, error texts, capabilities, counters, stopwatch and threads.
#include <zmq.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <vector>

#include "sockets.hpp"

namespace {

TEST(version, is_the_one_of_the_interface) {
    int major = 0, minor = 0, patch = 0;
    zmq_version(&major, &minor, &patch);
    EXPECT_EQ(ZMQ_MAKE_VERSION(major, minor, patch), ZMQ_VERSION);
    EXPECT_EQ(ZMQ_VERSION, 40305);
    zlink_version(&major, nullptr, nullptr);
    EXPECT_EQ(major, ZLINK_VERSION_MAJOR);
}

TEST(strerror, knows_the_numbers_of_the_library_and_of_the_system) {
    EXPECT_STREQ(zmq_strerror(EFSM), "Operation cannot be accomplished in current state");
    EXPECT_STREQ(zmq_strerror(ENOCOMPATPROTO), "The protocol is not compatible with the socket type");
    EXPECT_STREQ(zmq_strerror(ETERM), "Context was terminated");
    EXPECT_STREQ(zmq_strerror(EMTHREAD), "No thread available");
    EXPECT_STREQ(zmq_strerror(EHOSTUNREACH), "Host unreachable");
    EXPECT_STREQ(zmq_strerror(EAGAIN), std::strerror(EAGAIN));
    EXPECT_NE(zmq_strerror(-1), nullptr);
    EXPECT_NE(zmq_strerror(ZMQ_HAUSNUMERO), nullptr);
}

TEST(errno_of_the_library, is_the_one_of_the_thread) {
    (void)zmq_msg_close(nullptr);
    EXPECT_EQ(zmq_errno(), EFAULT);
    std::thread([] { EXPECT_EQ(zmq_errno(), 0); }).join();
}

TEST(has, answers_for_what_is_there) {
    for (const char *name : {"tcp", "ipc", "inproc"})
        EXPECT_EQ(zmq_has(name), 1) << name;
    for (const char *name : {"draft", "gssapi", "pgm", "norm", "vmci", "tipc", "IPC", "nonsense", ""})
        EXPECT_EQ(zmq_has(name), 0) << name;
    EXPECT_EQ(zmq_has("ws"), zmq_has("WS"));
    EXPECT_EQ(zmq_has("wss"), zmq_has("WSS"));
    EXPECT_EQ(zmq_has(nullptr), 0);
}

TEST(curve, makes_keys_where_it_is_there) {
    char pub[41] = {}, secret[41] = {};
    if (zmq_has("curve")) {
        EXPECT_EQ(zmq_curve_keypair(pub, secret), 0);
    } else {
        EXPECT_FAILS(ENOTSUP, zmq_curve_keypair(pub, secret));
        EXPECT_FAILS(ENOTSUP, zmq_curve_public(pub, "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"));
    }
}

TEST(curve, makes_pairs_that_belong_together) {
    if (!zmq_has("curve"))
        GTEST_SKIP() << "built without CURVE";
    char pub[41] = {}, secret[41] = {}, derived[41] = {};
    ASSERT_EQ(zmq_curve_keypair(pub, secret), 0);
    EXPECT_EQ(std::strlen(pub), 40u);
    EXPECT_EQ(std::strlen(secret), 40u);
    ASSERT_EQ(zmq_curve_public(derived, secret), 0);
    EXPECT_STREQ(derived, pub);
    char other[41] = {}, other_secret[41] = {};
    ASSERT_EQ(zmq_curve_keypair(other, other_secret), 0);
    EXPECT_STRNE(other, pub);
}

TEST(curve, derives_the_public_key_of_the_manual_pages_example) {
    if (!zmq_has("curve"))
        GTEST_SKIP() << "built without CURVE";
    char derived[41] = {};
    ASSERT_EQ(zmq_curve_public(derived, "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"), 0);
    EXPECT_STREQ(derived, "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7");
}

TEST(curve, refuses_what_is_no_key) {
    char derived[41] = {};
    EXPECT_EQ(zmq_curve_public(derived, "short"), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(curve, says_first_what_is_wrong_with_a_text_and_then_that_there_is_no_place) {
    const char *const key = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6";
    char other[41];
    EXPECT_FAILS(EINVAL, zmq_curve_public(nullptr, "short"));
    EXPECT_FAILS(EFAULT, zmq_curve_public(nullptr, key));
    EXPECT_FAILS(EFAULT, zmq_curve_public(other, nullptr));
    EXPECT_FAILS(EFAULT, zmq_curve_keypair(other, nullptr));
    EXPECT_FAILS(EFAULT, zmq_curve_keypair(nullptr, other));
}

TEST(atomic_counter, counts_and_tells_when_it_reaches_zero) {
    void *counter = zmq_atomic_counter_new();
    ASSERT_NE(counter, nullptr);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_inc(counter), 0);
    EXPECT_EQ(zmq_atomic_counter_inc(counter), 1);
    EXPECT_EQ(zmq_atomic_counter_dec(counter), 1);
    EXPECT_EQ(zmq_atomic_counter_dec(counter), 0);
    zmq_atomic_counter_set(counter, 7);
    EXPECT_EQ(zmq_atomic_counter_value(counter), 7);
    zmq_atomic_counter_destroy(&counter);
    EXPECT_EQ(counter, nullptr);
    zmq_atomic_counter_destroy(&counter);
}

TEST(atomic_counter, loses_no_step_between_threads) {
    void *counter = zmq_atomic_counter_new();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([counter] {
            for (int n = 0; n < 10000; ++n)
                zmq_atomic_counter_inc(counter);
        });
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(zmq_atomic_counter_value(counter), 40000);
    zmq_atomic_counter_destroy(&counter);
}

TEST(stopwatch, never_runs_backwards) {
    void *watch = zmq_stopwatch_start();
    ASSERT_NE(watch, nullptr);
    const unsigned long first = zmq_stopwatch_intermediate(watch);
    EXPECT_GE(zmq_stopwatch_stop(watch), first);
    EXPECT_EQ(zmq_stopwatch_stop(nullptr), 0u);
}

TEST(sleep_of_no_seconds, returns) { zmq_sleep(0); }

TEST(thread, runs_with_its_argument_and_is_joined) {
    int value = 0;
    void *thread = zmq_threadstart([](void *arg) { *static_cast<int *>(arg) = 42; }, &value);
    ASSERT_NE(thread, nullptr);
    zmq_threadclose(thread);
    EXPECT_EQ(value, 42);
}

TEST(thread, has_signals_blocked) {
    int is_blocked = -1;
    zmq_threadclose(zmq_threadstart(
        [](void *arg) {
            sigset_t now;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
            *static_cast<int *>(arg) = ::sigismember(&now, SIGTERM);
        },
        &is_blocked));
    EXPECT_EQ(is_blocked, 1);
}

TEST(thread, without_a_function_is_refused) {
    errno = 0;
    EXPECT_EQ(zmq_threadstart(nullptr, nullptr), nullptr);
    EXPECT_EQ(errno, EFAULT);
    zmq_threadclose(nullptr);
}

TEST(thread, that_the_system_refuses_is_reported) {
    pthread_attr_t before, impossible;
    ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
    ::pthread_attr_init(&impossible);
    // A stack larger than the address space.
    ASSERT_EQ(::pthread_attr_setstacksize(&impossible, std::size_t{1} << 50), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
    errno = 0;
    void *thread = zmq_threadstart([](void *) {}, nullptr);
    const int number = errno;
    ::pthread_setattr_default_np(&before);
    EXPECT_EQ(thread, nullptr);
    EXPECT_EQ(number, EAGAIN);
    zmq_threadclose(thread);
    ::pthread_attr_destroy(&before);
    ::pthread_attr_destroy(&impossible);
}

}  // namespace
