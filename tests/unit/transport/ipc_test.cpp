// Tests what ipc has beside the contract of transports: files, who may use them, whose they are,
// and abstract names.
#include "transport/transport.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/reason.hpp"
#include "placed_memory.hpp"
#include "support/transport_bench.hpp"
#include "transport/socket_options.hpp"

namespace zlink {
namespace {

using namespace test;

/// The rights of nobody in particular, for a process that has all of them.
class without_rights {
public:
    without_rights() { EXPECT_EQ(::seteuid(65533), 0); }
    ~without_rights() { EXPECT_EQ(::seteuid(0), 0); }
    without_rights(const without_rights &) = delete;
    without_rights &operator=(const without_rights &) = delete;
};

/// Another working directory.
class in_directory {
public:
    explicit in_directory(const std::string &path) : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
        EXPECT_EQ(::chdir(path.c_str()), 0);
    }
    ~in_directory() { EXPECT_EQ(::fchdir(before_.get()), 0); }
    in_directory(const in_directory &) = delete;
    in_directory &operator=(const in_directory &) = delete;

private:
    const owned_descriptor before_;
};

class ipc_test : public ::testing::Test {
protected:
    std::string in_folder(const std::string &name) const {
        return bench.knobs.temporary_directory + "/" + name;
    }
    static bool exists(const std::string &path) {
        struct stat found {};
        return ::stat(path.c_str(), &found) == 0;
    }
    /// A file left by a program that ended without removing it.
    static void leave_stale(const std::string &path) {
        owned_descriptor socket;
        ASSERT_EQ(open_socket(AF_UNIX, socket), error::none);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    }
    void serve(const std::string &address) {
        const outcome near = bench.dial(address);
        EXPECT_EQ(near.failure, error::none);
        EXPECT_EQ(bench.next(bench.accepted).failure, error::none);
    }

    /// Whether any loop would wake when there is room in this socket.
    static bool is_watched_for_room(int socket) {
        for (const int each : open_descriptors()) {
            std::ifstream facts("/proc/self/fdinfo/" + std::to_string(each));
            for (std::string line; std::getline(facts, line);) {
                int target = -1;
                unsigned events = 0;
                if (std::sscanf(line.c_str(), "tfd: %d events: %x", &target, &events) == 2 &&
                    target == socket)
                    return events & EPOLLOUT;
            }
        }
        return false;
    }

    transport_bench bench{"ipc"};
};

TEST_F(ipc_test, takes_over_a_file_that_nobody_listens_at_any_more) {
    const std::string path = in_folder("stale");
    ASSERT_NO_FATAL_FAILURE(leave_stale(path));
    EXPECT_EQ(bench.dial(path).failure, error::connection_refused);
    bench.listen(path);
    EXPECT_EQ(bench.listening->endpoint(), "ipc://" + path);
    serve(path);
    bench.listening.reset();
    EXPECT_FALSE(exists(path));
}

TEST_F(ipc_test, leaves_a_file_that_somebody_has_taken_over_since) {
    const std::string path = in_folder("taken");
    bench.listen(path);
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_NO_FATAL_FAILURE(leave_stale(path));
    bench.listening.reset();
    EXPECT_TRUE(exists(path));
    EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST_F(ipc_test, removes_its_file_wherever_the_program_has_gone_meanwhile) {
    const std::string elsewhere = in_folder("elsewhere");
    ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
    {
        const in_directory there(bench.knobs.temporary_directory);
        bench.listen("here");
        EXPECT_EQ(bench.listening->endpoint(), "ipc://here") << "as it was given";
        serve("here");
    }
    ASSERT_NO_FATAL_FAILURE(leave_stale(elsewhere + "/here"));
    {
        const in_directory there(elsewhere);
        bench.listening.reset();
    }
    EXPECT_FALSE(exists(in_folder("here")));
    EXPECT_TRUE(exists(elsewhere + "/here"));
    EXPECT_EQ(::unlink((elsewhere + "/here").c_str()), 0);
    EXPECT_EQ(::rmdir(elsewhere.c_str()), 0);
}

TEST_F(ipc_test, replaces_no_file_that_is_no_socket) {
    const std::string path = in_folder("regular"), link = in_folder("link");
    std::ofstream(path) << "not to be lost";
    ASSERT_EQ(::symlink("regular", link.c_str()), 0);
    EXPECT_EQ(bench.bind(path), error::address_in_use);
    EXPECT_EQ(reason::take(), path + " is there already, and is no socket");
    EXPECT_EQ(bench.bind(link), error::address_in_use);
    std::string text;
    std::getline(std::ifstream(link), text);
    EXPECT_EQ(text, "not to be lost");
    EXPECT_EQ(::unlink(link.c_str()), 0);
    EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST_F(ipc_test, takes_a_path_over_from_who_listens_there) {
    const std::string path = in_folder("used");
    bench.listen(path);
    const auto first = std::move(bench.listening);
    bench.listen(path);
    serve(path);
}

TEST_F(ipc_test, reads_bodies_straight_wherever_they_are_to_stand) {
    bench.listen(in_folder("socket"));
    const outcome near = bench.dial(in_folder("socket"));
    ASSERT_TRUE(near.bytes);
    placed_memory of_heap(1, 16), other(1, 64);
    EXPECT_FALSE(near.bytes->way_round(of_heap.data(), of_heap.data() + 1, other.data()));
}

TEST_F(ipc_test, does_not_wake_the_loop_for_room_that_nobody_waits_for_any_more) {
    bench.listen(in_folder("room"));
    stream_end near(*bench.drive, bench.dial(in_folder("room")).bytes);
    ASSERT_TRUE(near.bytes);
    stream_end far(*bench.drive, bench.next(bench.accepted).bytes);
    ASSERT_TRUE(far.bytes);
    const int socket = near->descriptor();
    for (int round = 0; round < 2; ++round) {
        near->wait_readable();
        const int readable = near.heard->readable;
        near->wait_writable();
        bench.drive->until([&] { return near.heard->writable > round; });
        EXPECT_TRUE(is_watched_for_room(socket));
        bench.drive->until([&] { return !is_watched_for_room(socket); });
        EXPECT_EQ(near.heard->readable, readable);
        far.write("a");
        bench.drive->until([&] { return near.heard->readable > readable; });
        EXPECT_EQ(near.read(10), "a") << "the wait to read goes on";
    }
    near->wait_writable();
    bench.drive->until([&] { return near.heard->writable > 2; });
    ASSERT_TRUE(near->lease_out());
    ASSERT_EQ(near->take_back(), error::none);
    EXPECT_FALSE(is_watched_for_room(socket));
}

TEST_F(ipc_test, does_not_mind_a_file_that_was_removed) {
    const std::string path = in_folder("removed");
    bench.listen(path);
    ASSERT_EQ(::unlink(path.c_str()), 0);
    EXPECT_EQ(to_errno(bench.dial(path).failure), ENOENT);
    bench.listening.reset();
    bench.listen(path);
    serve(path);
}

TEST_F(ipc_test, leaves_the_file_of_a_socket_that_the_application_made) {
    bench.listen(in_folder("given"));
    const auto first = std::move(bench.listening);
    bench.options.use_fd = ::fcntl(first->descriptor(), F_DUPFD_CLOEXEC, 0);
    bench.listen(bench.there);
    serve(bench.there);
    bench.listening.reset();
    EXPECT_TRUE(exists(bench.there)) << "whose it is, is not known";
}

TEST_F(ipc_test, removes_no_file_that_it_could_not_bind) {
    const std::string path = in_folder("folder");
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(bench.bind(path), error::address_in_use);
    EXPECT_TRUE(exists(path));
    EXPECT_EQ(bench.bind(path + "/none/socket"), error::no_entry);
    EXPECT_EQ(::rmdir(path.c_str()), 0);
}

TEST_F(ipc_test, says_when_the_system_does_not_allow_it) {
    if (::getuid() != 0)
        GTEST_SKIP() << "needs another user";
    bench.listen(in_folder("mine"));
    const auto mine = std::move(bench.listening);
    ASSERT_EQ(::chmod(bench.knobs.temporary_directory.c_str(), 0711), 0);
    const without_rights nobody;
    EXPECT_EQ(to_errno(bench.dial(bench.there).failure), EACCES) << "to connect";
    EXPECT_EQ(to_errno(bench.bind(in_folder("another"))), EACCES) << "to bind";
    EXPECT_EQ(to_errno(bench.bind("*")), EACCES) << "to make a folder";
}

TEST_F(ipc_test, takes_paths_as_long_as_the_system_does_and_no_longer) {
    const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
    const std::string longest = in_folder(std::string(most - in_folder("").size(), 'x'));
    ASSERT_EQ(longest.size(), most);
    bench.listen(longest);
    EXPECT_EQ(bench.listening->endpoint(), "ipc://" + longest);
    auto [near, far] = bench.connect();
    EXPECT_EQ(near->remote_endpoint(), "ipc://" + longest);
    EXPECT_EQ(bench.kind.check_connect(longest + "x", bench.options), error::name_too_long);
    std::unique_ptr<dialer> none;
    EXPECT_EQ(bench.kind.make_dialer(longest + "x", bench.options, {}, *bench.drive, none),
              error::name_too_long);
    bench.listening.reset();
    EXPECT_EQ(bench.bind(longest + "x"), error::name_too_long);
}

TEST_F(ipc_test, of_an_abstract_name_leaves_no_file_and_frees_it) {
    const std::string name = "@ipc_test_" + std::to_string(::getpid());
    bench.listen(name);
    EXPECT_EQ(bench.listening->endpoint(), "ipc://" + name);
    auto [near, far] = bench.connect();
    EXPECT_EQ(near->remote_endpoint(), "ipc://" + name);
    EXPECT_EQ(far->local_endpoint(), "ipc://" + name);
    auto first = std::move(bench.listening);
    EXPECT_EQ(bench.bind(name), error::address_in_use) << "it is not taken over";
    EXPECT_FALSE(exists(name));
    // A name is the whole of it.
    EXPECT_EQ(bench.dial(name + "x").failure, error::connection_refused);
    EXPECT_EQ(bench.dial(name.substr(0, name.size() - 1)).failure, error::connection_refused);
    first.reset();
    EXPECT_EQ(bench.dial(name).failure, error::connection_refused);
    EXPECT_EQ(bench.bind(name), error::none);
}

TEST_F(ipc_test, is_told_to_come_again_where_too_many_wait) {
    bench.options.backlog = 1;
    ASSERT_EQ(bench.bind(in_folder("full")), error::none);
    const std::string path = in_folder("full");
    std::vector<outcome> waiting;
    do
        waiting.push_back(bench.dial(path));
    while (!failed(waiting.back().failure) && waiting.size() < 10);
    EXPECT_EQ(waiting.back().failure, error::again);
    EXPECT_GE(bench.dialing->descriptor(), 0);
    bench.start();
    bench.drive->until([&] { return bench.accepted.size() == waiting.size() - 1; });
    bench.accepted.clear();
    serve(path);
}

TEST_F(ipc_test, keeps_out_whom_its_filters_do_not_name) {
    bench.options.ipc_pid_filters = {::getpid() + 1};
    bench.listen(in_folder("filtered"));
    stream_end near(*bench.drive, bench.dial(bench.there).bytes);
    ASSERT_TRUE(near.bytes);
    EXPECT_EQ(bench.next(bench.accepted).failure, error::connection_refused);
    near.expect_end();
    EXPECT_TRUE(exists(bench.there)) << "it goes on";
}

}  // namespace
}  // namespace zlink
